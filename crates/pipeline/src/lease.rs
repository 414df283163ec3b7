//! One process at a time runs a session. The store has its [`LeaseOwner`], a process of a machine.
//! On the same machine, process id, start time and boot tell whether the owner is alive: a session
//! whose process was killed can be resumed at once, and never while it runs. An owner on another
//! machine counts as alive, unless the store knows its worker and says otherwise.

use hookwright_events::TaskId;
use hookwright_process::{Leader, faults};
use hookwright_store::{
    Acquired, DeadLease, Fence, Held, Life, Living, Store, StoreError, WorkerId, Workers,
};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// The process that runs a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseOwner {
    /// The worker that it is, or belongs to, in a store of several machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerId>,
    /// The process id.
    pub pid: u32,
    /// The start time, in clock ticks since boot.
    pub start_time: Option<u64>,
    /// The id of the machine's boot.
    pub boot_id: String,
    /// The namespace of its process id: containers of one machine have their own, and may have the
    /// same name and id. Earlier versions wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_namespace: Option<u64>,
    /// The machine on which it runs.
    #[serde(flatten)]
    pub machine: Machine,
}

/// A machine of an owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The host name, for people.
    pub host: String,
    /// Distinguishes it from others of the same name. Earlier versions wrote none, and not every
    /// system has one.
    #[serde(rename = "machine", default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Why a session cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Another process runs it.
    #[error("process {} is running this session", holder.pid)]
    Runs {
        /// The other process.
        holder: Box<LeaseOwner>,
    },
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Machine {
    /// This machine.
    pub fn this() -> Self {
        static ID: OnceLock<Option<String>> = OnceLock::new();
        let id = ID.get_or_init(|| derived_id(&text_of("/etc/machine-id")));
        Self { host: text_of("/proc/sys/kernel/hostname"), id: id.clone() }
    }

    /// Whether it is this machine. One of the same name with another id is not.
    pub fn is_this(&self) -> bool {
        self.is_same(&Self::this())
    }

    fn is_same(&self, other: &Self) -> bool {
        let ids = self.id.as_ref().zip(other.id.as_ref());
        self.host == other.host && ids.is_none_or(|(id, other)| id == other)
    }
}

/// The id of a machine for the store. The system's own id must stay secret (`machine-id(5)`), so a
/// digest of it is used.
fn derived_id(system_id: &str) -> Option<String> {
    let is_id = system_id.len() == 32 && system_id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digest = is_id.then(|| hmac_sha256::HMAC::mac(b"hookwright", system_id))?;
    Some(digest[..16].iter().map(|byte| format!("{byte:02x}")).collect())
}

fn text_of(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

impl LeaseOwner {
    /// This process.
    pub fn this() -> Self {
        Self::process(std::process::id())
    }

    /// A process of this machine.
    pub fn process(pid: u32) -> Self {
        Self {
            worker: None,
            pid,
            start_time: Leader { pid }.start_time(),
            boot_id: text_of("/proc/sys/kernel/random/boot_id"),
            pid_namespace: pid_namespace(),
            machine: Machine::this(),
        }
    }

    /// Whether it may still run. A process of another machine may, or of another container: its
    /// process id says nothing here.
    pub fn may_run(&self) -> bool {
        let this = Self::this();
        let namespaces = self.pid_namespace.zip(this.pid_namespace);
        let is_elsewhere = namespaces.is_some_and(|(its, ours)| its != ours);
        if is_elsewhere || !self.machine.is_same(&this.machine) {
            return true;
        }
        // A process that reuses the id has another start time.
        self.boot_id == this.boot_id
            && self.start_time.is_some_and(|then| Leader { pid: self.pid }.runs_since(then))
    }

    /// Whether its process id has the same meaning here: it is of this machine, no clone of it, and
    /// of this container. Earlier versions did not say of which container.
    pub fn is_here(&self) -> bool {
        let this = Self::this();
        let namespaces = self.pid_namespace.zip(this.pid_namespace);
        self.machine.is_same(&this.machine)
            && self.boot_id == this.boot_id
            && namespaces.is_none_or(|(its, ours)| its == ours)
    }

    /// Whether this machine sees that it runs.
    pub fn runs_here(&self) -> bool {
        let is_here = self.pid_namespace.is_some() && self.pid_namespace == pid_namespace();
        is_here && self.machine.is_this() && self.may_run()
    }

    /// Whether this very machine can tell that it has ended: its boot and its namespace are ours,
    /// and no process has its id and start time, of whatever user.
    pub(crate) fn has_ended_here(&self) -> bool {
        let this = Self::this();
        let is_here = self.machine == this.machine
            && self.machine.id.is_some()
            && self.boot_id == this.boot_id
            && self.pid_namespace.is_some()
            && self.pid_namespace == this.pid_namespace;
        let leader = Leader { pid: self.pid };
        let is_replaced =
            || leader.start_time().is_some_and(|found| Some(found) != self.start_time);
        is_here && (leader.is_gone() || is_replaced())
    }
}

/// The inode of this process's PID namespace.
fn pid_namespace() -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/pid").ok().map(|namespace| namespace.ino())
}

/// The name of a session's lease.
pub fn name_of(project: &str, session: &str) -> String {
    format!("session/{project}/{session}")
}

/// The name of the lease for completing a task, so that its hooks run once.
pub fn name_of_task(project: &str, id: TaskId) -> String {
    format!("task/{project}/{id}")
}

/// Judges holders by the processes of this machine.
#[derive(Debug, Clone, Copy)]
pub struct LocalProcesses;

impl Living for LocalProcesses {
    fn this(&self) -> String {
        serde_json::to_string(&LeaseOwner::this()).unwrap_or_default()
    }

    fn judge(&self, holder: &str) -> Life {
        match serde_json::from_str::<LeaseOwner>(holder) {
            Ok(holder) if holder.may_run() => Life::MayRun,
            Ok(_) => Life::Ended,
            Err(_) => Life::Unreadable,
        }
    }
}

/// Judges holders by the workers of a store. For holders that are none, the processes of this
/// machine count.
struct LivingWorkers(Arc<dyn Workers>);

impl Living for LivingWorkers {
    fn this(&self) -> String {
        let this = LeaseOwner { worker: self.0.own_id(), ..LeaseOwner::this() };
        serde_json::to_string(&this).unwrap_or_default()
    }

    fn judge(&self, holder: &str) -> Life {
        let worker = serde_json::from_str::<LeaseOwner>(holder).ok().and_then(|it| it.worker);
        match worker.map(|worker| self.0.find(worker)) {
            Some(Ok(found)) if found.as_ref().is_none_or(|worker| worker.is_dead) => Life::Ended,
            // Its process on this machine may have ended all the same.
            Some(_) | None => LocalProcesses.judge(holder),
        }
    }

    fn wake(&self, holder: &str) {
        // Also on this machine: a process of another user or home hears no other bell.
        let holder = serde_json::from_str::<LeaseOwner>(holder).ok();
        if let Some(worker) = holder.and_then(|holder| holder.worker) {
            let _ = self.0.wake(worker);
        }
    }
}

/// Who judges the holders of a store: the store itself, if it knows them.
pub fn living(store: &dyn Store) -> Arc<dyn Living> {
    match (store.living(), store.workers()) {
        (Some(living), _) => living,
        (None, Some(workers)) => Arc::new(LivingWorkers(workers)),
        (None, None) => Arc::new(LocalProcesses),
    }
}

/// The process that runs a session now.
pub fn holder(store: &dyn Store, lease: &str) -> Result<Option<LeaseOwner>, StoreError> {
    let held = store.holder(lease)?;
    let holder = held.filter(|held| may_hold(store, held));
    Ok(holder.and_then(|held| serde_json::from_str(&held.holder).ok()))
}

/// A lease whose holder does not run any more, or that is free; `None` if the holder may run.
pub fn dead(store: &dyn Store, lease: &str) -> Result<Option<DeadLease>, StoreError> {
    let held = store.holder(lease)?;
    let is_dead = held.as_ref().is_none_or(|held| !may_hold(store, held));
    let token = held.map(|held| held.token);
    Ok(is_dead.then(|| DeadLease { lease: lease.to_owned(), token }))
}

/// Takes a lease for this process.
pub fn take(store: &dyn Store, lease: &str) -> Result<Fence, LeaseError> {
    let ours = living(store).this();
    let mut instead_of = None;
    loop {
        faults::point("lease");
        let acquired = store.acquire(lease, &ours, instead_of)?;
        faults::point("lease answered");
        match acquired {
            Acquired::Granted { token } => return Ok(Fence { lease: lease.to_owned(), token }),
            Acquired::Held(held) => {
                let holder = serde_json::from_str::<LeaseOwner>(&held.holder).ok();
                let may_hold = match held.life {
                    // The store gives nothing away until the worker is declared dead.
                    Some(Life::MayRun) => !declared_dead_here(store, holder.as_ref())?,
                    _ => holder.is_some() && may_hold(store, &held),
                };
                match (may_hold, holder) {
                    (false, _) => instead_of = Some(held.token),
                    (true, Some(holder)) => {
                        return Err(LeaseError::Runs { holder: Box::new(holder) });
                    }
                    (true, None) => {
                        let cause = "the holder of a lease cannot be read".to_owned();
                        return Err(StoreError::Damaged { cause }.into());
                    }
                }
            }
        }
    }
}

/// Declares the worker of a lease dead if it ran on this machine and has ended. Returns whether it
/// is gone.
fn declared_dead_here(store: &dyn Store, holder: Option<&LeaseOwner>) -> Result<bool, StoreError> {
    let worker = holder.and_then(|holder| holder.worker);
    let Some((workers, id)) = store.workers().zip(worker) else { return Ok(false) };
    let Some(found) = workers.find(id)?.filter(|worker| !worker.is_dead) else { return Ok(true) };
    // The process that sends the beats. The holder may be another one, which it has started.
    let process = serde_json::from_str::<LeaseOwner>(&found.description);
    match process.is_ok_and(|process| process.has_ended_here()) {
        true => workers.declare_dead(found.watched),
        false => Ok(false),
    }
}

/// Whether a holder may run. One that cannot be read does not hold anything.
fn may_hold(store: &dyn Store, held: &Held) -> bool {
    match held.life {
        Some(Life::Ended) => false,
        // Its process on this machine may have ended all the same.
        Some(_) => LocalProcesses.judge(&held.holder) != Life::Ended,
        None => living(store).judge(&held.holder) == Life::MayRun,
    }
}

#[cfg(test)]
mod tests {
    use hookwright_store::{AllButOneLive, SqliteStore, WatchedStore};

    use super::*;

    #[test]
    fn a_living_holder_keeps_others_out_and_a_dead_one_does_not() {
        let store = SqliteStore::in_memory().expect("memory");
        let fence = take(&store, "x").expect("it is free");
        assert!(matches!(take(&store, "x"), Err(LeaseError::Runs { .. })));
        assert_eq!(holder(&store, "x").expect("read"), Some(LeaseOwner::this()));
        store.release("x", fence.token).expect("given back");
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        let dead = LeaseOwner { pid: child.id(), ..LeaseOwner::this() };
        child.wait().expect("it ends");
        let dead = serde_json::to_string(&dead).expect("plain data");
        store.acquire("x", &dead, None).expect("free");
        assert_eq!(holder(&store, "x").expect("read"), None);
        let taken = take(&store, "x").expect("its holder is dead");
        assert!(taken.token > fence.token);
    }

    #[test]
    fn a_store_that_knows_its_holders_judges_them_itself() {
        let ours = LocalProcesses.this();
        let living = AllButOneLive { this: "us".to_owned(), ended: ours.clone() };
        let memory = Arc::new(SqliteStore::in_memory().expect("memory"));
        let Ok(Acquired::Granted { token }) = memory.acquire("x", &ours, None) else {
            panic!("it is free");
        };
        assert!(dead(&*memory, "x").expect("read").is_none(), "this process runs");
        let store = WatchedStore::new(Arc::clone(&memory) as Arc<dyn Store>);
        let store = store.judging(Arc::new(living));
        assert_eq!(holder(&store, "x").expect("read"), None);
        let found = dead(&store, "x").expect("read");
        assert_eq!(found, Some(DeadLease { lease: "x".to_owned(), token: Some(token) }));
        take(&store, "x").expect("its holder is dead");
        let held = memory.holder("x").expect("read").map(|held| held.holder);
        assert_eq!(held.as_deref(), Some("us"));
    }

    /// A stored owner, with this text in place of the machine.
    fn stored(machine: &str) -> String {
        format!(r#"{{"pid":4000000,"start_time":1,"boot_id":"b",{machine}}}"#)
    }

    #[test]
    fn a_dead_process_id_on_another_machine_proves_nothing() {
        let Machine { host, id } = Machine::this();
        let id = id.unwrap_or_default();
        for (machine, may_run) in [
            // As earlier versions wrote it.
            (format!(r#""host":"{host}""#), false),
            (format!(r#""host":"{host}x""#), true),
            (format!(r#""host":"{host}","machine":"{id}""#), false),
            (format!(r#""host":"{host}x","machine":"{id}""#), true),
        ] {
            let owner: LeaseOwner = serde_json::from_str(&stored(&machine)).expect("understood");
            assert_eq!(owner.may_run(), may_run, "{machine}");
        }
        let other = Machine { host: host.clone(), id: Some("00".to_owned()) };
        let twin = Machine { host, id: Some("11".to_owned()) };
        assert!(!other.is_same(&twin), "two machines may have one name");
    }

    #[test]
    fn a_process_of_a_container_or_of_a_clone_of_this_machine_is_not_here() {
        let this = LeaseOwner::this();
        assert!(this.is_here());
        assert!(LeaseOwner { pid_namespace: None, ..this.clone() }.is_here());
        assert!(!LeaseOwner { pid_namespace: Some(1), ..this.clone() }.is_here());
        assert!(!LeaseOwner { boot_id: "another".to_owned(), ..this.clone() }.is_here());
        let machine = Machine { host: "another".to_owned(), id: None };
        assert!(!LeaseOwner { machine, ..this }.is_here());
    }

    #[test]
    fn an_owner_is_stored_with_its_machines_id_in_a_form_that_earlier_versions_read() {
        let machine = Machine { host: "h".to_owned(), id: Some("00ff".to_owned()) };
        let owner = LeaseOwner {
            pid: 7,
            start_time: Some(1),
            boot_id: "b".to_owned(),
            machine,
            worker: None,
            pid_namespace: None,
        };
        let text = r#"{"pid":7,"start_time":1,"boot_id":"b","host":"h","machine":"00ff"}"#;
        assert_eq!(serde_json::to_string(&owner).expect("plain data"), text);
        assert_eq!(serde_json::from_str::<LeaseOwner>(text).expect("understood"), owner);
    }

    #[test]
    fn the_systems_own_id_is_not_stored() {
        let id = "0123456789abcdef0123456789abcdef";
        let derived = derived_id(id).expect("an id");
        assert_eq!((derived.len(), derived == id), (32, false));
        assert_eq!(derived_id(id), Some(derived));
        for none in ["", "uninitialized", "0123"] {
            assert_eq!(derived_id(none), None);
        }
    }

    #[test]
    fn an_owner_that_is_a_zombie_holds_nothing() {
        let mut command = std::process::Command::new("cat");
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("it starts");
        let leader = Leader { pid: child.id() };
        let holder =
            LeaseOwner { pid: child.id(), start_time: leader.start_time(), ..LeaseOwner::this() };
        assert!(holder.may_run());
        drop(child.stdin.take());
        let began = std::time::Instant::now();
        while holder.may_run() {
            assert!(began.elapsed().as_secs() < 30, "it counts as running");
            std::thread::yield_now();
        }
        assert_eq!(leader.start_time(), holder.start_time, "it has not been collected");
        child.wait().expect("it has ended");
    }
}
