//! One process at a time runs a session. Who it is stands in the store; whether it is still alive is
//! seen by its process id, start time and the machine's boot, so that a session whose process was
//! killed can be taken up at once, and never while it runs.

use hookwright_events::TaskId;
use hookwright_process::{Leader, faults};
use hookwright_store::{Acquired, Fence, Held, Store, StoreError};
use serde::{Deserialize, Serialize};

/// The process that runs a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its start time, in clock ticks since boot.
    pub start_time: Option<u64>,
    /// Which boot of the machine.
    pub boot_id: String,
    /// Which machine.
    pub host: String,
}

/// Why a session cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another process runs it.
    #[error("process {} runs this session", holder.pid)]
    Runs {
        /// Which.
        holder: Box<Holder>,
    },
    /// The store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Holder {
    /// This process.
    pub fn this() -> Self {
        let pid = std::process::id();
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        Self {
            pid,
            start_time: Leader { pid }.start_time(),
            boot_id: read("/proc/sys/kernel/random/boot_id"),
            host: read("/proc/sys/kernel/hostname"),
        }
    }

    /// Whether it may still run. A process of another machine may: nobody here can tell.
    pub fn may_run(&self) -> bool {
        let this = Self::this();
        if self.host != this.host {
            return true;
        }
        // A process that has become another one has another start time.
        self.boot_id == this.boot_id
            && self.start_time.is_some_and(|then| Leader { pid: self.pid }.runs_since(then))
    }
}

/// The lease of a session.
pub fn name_of(project: &str, session: &str) -> String {
    format!("session/{project}/{session}")
}

/// The lease of a task that is being completed, so that its hooks run once.
pub fn name_of_task(project: &str, id: TaskId) -> String {
    format!("task/{project}/{id}")
}

/// Who runs a session now.
pub fn holder(store: &dyn Store, lease: &str) -> Result<Option<Holder>, StoreError> {
    let held = store.holder(lease)?;
    let holder = held.and_then(|held| serde_json::from_str::<Holder>(&held.holder).ok());
    Ok(holder.filter(Holder::may_run))
}

/// Takes a lease for this process.
pub fn take(store: &dyn Store, lease: &str) -> Result<Fence, LeaseError> {
    let ours = serde_json::to_string(&Holder::this()).unwrap_or_default();
    let mut instead_of = None;
    loop {
        faults::point("lease");
        let acquired = store.acquire(lease, &ours, instead_of)?;
        faults::point("lease answered");
        match acquired {
            Acquired::Granted { token } => return Ok(Fence { lease: lease.to_owned(), token }),
            Acquired::Held(Held { holder, token }) => {
                match serde_json::from_str::<Holder>(&holder) {
                    Ok(holder) if holder.may_run() => {
                        return Err(LeaseError::Runs { holder: Box::new(holder) });
                    }
                    // Dead, or nobody we could ask.
                    Ok(_) | Err(_) => instead_of = Some(token),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hookwright_store::MemoryStore;

    use super::*;

    #[test]
    fn a_living_holder_keeps_others_out_and_a_dead_one_does_not() {
        let store = MemoryStore::default();
        let fence = take(&store, "x").expect("nobody holds it");
        assert!(matches!(take(&store, "x"), Err(LeaseError::Runs { .. })));
        assert_eq!(holder(&store, "x").expect("read"), Some(Holder::this()));
        store.release("x", fence.token).expect("given back");
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        let dead = Holder { pid: child.id(), ..Holder::this() };
        child.wait().expect("it ends");
        let dead = serde_json::to_string(&dead).expect("plain data");
        store.acquire("x", &dead, None).expect("free");
        assert_eq!(holder(&store, "x").expect("read"), None);
        let taken = take(&store, "x").expect("its holder is dead");
        assert!(taken.token > fence.token);
    }

    #[test]
    fn a_holder_that_has_ended_holds_nothing_although_nobody_collected_it() {
        let mut command = std::process::Command::new("cat");
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("it starts");
        let leader = Leader { pid: child.id() };
        let holder = Holder { pid: child.id(), start_time: leader.start_time(), ..Holder::this() };
        assert!(holder.may_run());
        drop(child.stdin.take());
        let began = std::time::Instant::now();
        while holder.may_run() {
            assert!(began.elapsed().as_secs() < 30, "it counts as running");
            std::thread::yield_now();
        }
        assert_eq!(leader.start_time(), holder.start_time, "nobody has collected it");
        child.wait().expect("it has ended");
    }
}
