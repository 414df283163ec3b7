//! [`Membership`]: this process as a worker of a store that several machines share. Without such a
//! store there is nothing to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hookwright_engine::variables::Environment;
use hookwright_pipeline::heart::{Heart, HeartError};
use hookwright_pipeline::lease::{self, LeaseError, LeaseOwner};
use hookwright_pipeline::leftovers;
use hookwright_pipeline::limits::BEATS_UNTIL_DEATH;
use hookwright_pipeline::orders::{GivenOrder, Order, Orders, SessionMessage};
use hookwright_process::{Leader, MARKER, kill_everything_now};
use hookwright_store::{Fence, Store, StoreError, Workers};

use crate::absence;
use crate::error::Failure;
use crate::host::runtime;
use crate::screen::Screen;
use crate::talk_thread::TalkThread;
use crate::text::visible;

/// A worker whose last beat is at most so many intervals old is not waited for: it most likely runs.
/// Whether its sessions are taken is never decided by that.
const RECENT_BEATS: u32 = 3;

/// Pause between two signals of a process to itself.
const SIGNAL_PAUSE: Duration = Duration::from_millis(50);

/// This process as a worker, until the value is dropped.
pub(crate) struct Membership {
    joined: Option<(Heart, Arc<dyn Workers>)>,
    orders: Orders,
    /// The mark of everything that its sessions start, by which a later worker finds what is left.
    marker: Option<String>,
    /// Prints what the orders are.
    talk: Option<TalkThread>,
}

impl Membership {
    /// Joins the workers of the store, if it has any. `no_wait` makes calls of the store fail at
    /// once: the session's agents have been killed, and nothing may wait any more.
    pub(crate) fn join(
        store: &dyn Store,
        no_wait: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        Self::join_and_tell(store, move |message, talk| obey_at_once(message, &no_wait, talk))
    }

    /// The same for a session of the built-in agent, which has one long turn: an order to end
    /// interrupts it.
    pub(crate) fn join_as_agent(
        store: &dyn Store,
        no_wait: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        Self::join_and_tell(store, move |message, talk| match message {
            SessionMessage::Order(GivenOrder {
                order: Order::Continue | Order::StartNoTurn,
                ..
            }) => {}
            SessionMessage::Order(GivenOrder { order: Order::End, why }) => {
                talk.talk(format!("{why}: ending the session\n"));
                interrupt_this_process(1);
            }
            SessionMessage::Order(GivenOrder { order: Order::Kill, .. })
            | SessionMessage::Wake
            | SessionMessage::Beat { .. }
            | SessionMessage::Stop { .. } => obey_at_once(message, &no_wait, talk),
        })
    }

    fn join_and_tell(
        store: &dyn Store,
        tell: impl Fn(&SessionMessage, &TalkThread) + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let Some(workers) = store.workers() else {
            let (orders, marker, talk) = (Orders::default(), None, None);
            return Ok(Self { joined: None, orders, marker, talk });
        };
        // Before anything is taken over.
        let ended = runtime()?.block_on(leftovers::end_leftovers(&*workers));
        let ended = ended.map_err(Failure::Store)?;
        if ended > 0 {
            Screen.talk("ended processes that a killed session had left running on this machine\n");
        }
        let talk = TalkThread::start();
        let telling = talk.clone();
        let orders = Orders::telling(move |message| tell(message, &telling));
        let describe = |owner: LeaseOwner| serde_json::to_string(&owner).unwrap_or_default();
        let heart = Heart::start(Arc::clone(&workers), describe).map_err(|error| match error {
            HeartError::Store(error) => Failure::Store(error),
            HeartError::System(cause) => Failure::NoRuntime { cause },
        })?;
        absence::beats_every(heart.interval());
        let marker = Some(leftovers::marker_of(heart.id()));
        Ok(Self { joined: Some((heart, workers)), orders, marker, talk: Some(talk) })
    }

    /// A process that runs one session of a worker: the worker sends the beats, and passes its orders
    /// on.
    pub(crate) fn of_session_process(orders: Orders, marker: String, talk: TalkThread) -> Self {
        Self { joined: None, orders, marker: Some(marker), talk: Some(talk) }
    }

    /// This environment with the mark of this worker, by which a later one finds what it leaves.
    pub(crate) fn marked(&self, environment: Environment) -> Environment {
        let Some(ours) = &self.marker else { return environment };
        let marker = match environment.text(MARKER).filter(|outer| !outer.is_empty()) {
            Some(outer) => format!("{outer}:{ours}"),
            None => ours.clone(),
        };
        environment.with(MARKER, marker)
    }

    /// The orders for the sessions of this process.
    pub(crate) fn orders(&self) -> Orders {
        self.orders.clone()
    }

    /// Takes the lease of a session. If another machine has it that seems to be dead, waits until that
    /// is known: until its next beat, or until it is declared dead.
    pub(crate) fn take(
        &self,
        store: &dyn Store,
        lease: &str,
        name: &str,
    ) -> Result<Fence, LeaseError> {
        loop {
            let holder = match lease::take(store, lease) {
                Err(LeaseError::Runs { holder }) => holder,
                taken => {
                    if let (Ok(fence), Some((heart, _))) = (&taken, &self.joined) {
                        heart.hold(fence.clone(), self.orders.clone());
                    }
                    return taken;
                }
            };
            let is_gone = match (&self.joined, holder.worker) {
                // A process of this very machine runs it, so there is nothing to wait for.
                (Some(_), Some(_)) if holder.runs_here() => false,
                (Some((heart, workers)), Some(worker)) => {
                    let found = workers.find(worker)?.filter(|found| !found.is_dead);
                    found.map_or(Ok(true), |found| {
                        if found.silent_for < heart.interval() * RECENT_BEATS {
                            return Ok(false);
                        }
                        tell_waiting(name, &holder, found.silent_for, heart.interval());
                        died(&**workers, found.watched, heart.interval())
                    })?
                }
                _ => false,
            };
            if !is_gone {
                return Err(LeaseError::Runs { holder });
            }
            if holder.worker.is_some() && !holder.machine.is_this() {
                let host = visible(&holder.machine.host).to_string();
                Screen.talk(&format!("machine {host}, which ran session {name}, is dead\n"));
            }
        }
    }

    /// The session under this lease gives it back itself.
    pub(crate) fn let_go(&self, fence: &Fence) {
        if let Some((heart, _)) = &self.joined {
            heart.let_go(fence);
        }
    }

    /// The session under this lease has ended.
    pub(crate) fn release(&self, store: &dyn Store, fence: &Fence) {
        self.let_go(fence);
        // After this order nothing waits for the store any more, and the lease may be another's.
        if self.orders.current().order < Order::Kill {
            let _ = store.release(&fence.lease, fence.token);
        }
    }
}

/// Leaves. If the store cannot be reached, others declare this process dead.
impl Drop for Membership {
    fn drop(&mut self) {
        if let Some((heart, workers)) = self.joined.take() {
            let id = heart.id();
            drop(heart);
            if self.orders.current().order < Order::Kill {
                let _ = workers.leave(id);
            }
        }
        self.talk.iter().for_each(TalkThread::flush);
    }
}

/// What must not wait for the session's own thread, nor for anything else: the thread that gives the
/// orders does it.
pub(crate) fn obey_at_once(message: &SessionMessage, no_wait: &impl Fn(), talk: &TalkThread) {
    let given = match message {
        SessionMessage::Order(given) => given,
        // Whatever waits for something in the store hears it itself.
        SessionMessage::Wake | SessionMessage::Beat { .. } => return,
        SessionMessage::Stop { times } => return interrupt_this_process(*times),
    };
    if given.order == Order::Kill {
        no_wait();
        kill_everything_now();
    }
    let GivenOrder { order, why } = given;
    talk.talk(match order {
        Order::Continue => format!("{why}: turns start again\n"),
        Order::StartNoTurn => format!("{why}: no new turn starts until the store answers\n"),
        Order::End => format!("{why}: ending the agents\n"),
        Order::Kill => format!("{why}: the agents were killed\n"),
    });
}

/// Does what `hookwright stop` does on the same machine. From the second request on, which may come
/// by itself, this process exits at once.
fn interrupt_this_process(times: u64) {
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    let this = Leader { pid: std::process::id() };
    let Some(start_time) = this.start_time() else { return };
    let requests = REQUESTS.fetch_add(times, Ordering::Relaxed) + times;
    let _ = this.terminate(start_time);
    if requests > 1 {
        // It may receive two quick signals as one, so repeat until it exits.
        let repeat = move || {
            loop {
                std::thread::sleep(SIGNAL_PAUSE);
                let _ = this.terminate(start_time);
            }
        };
        drop(std::thread::Builder::new().name("stop".to_owned()).spawn(repeat));
    }
}

fn tell_waiting(name: &str, holder: &LeaseOwner, silent_for: Duration, interval: Duration) {
    let (pid, host) = (holder.pid, visible(&holder.machine.host).to_string());
    let (silent, at_most) = (silent_for.as_secs(), (interval * BEATS_UNTIL_DEATH).as_secs_f64());
    Screen.talk(&format!(
        "process {pid} on machine {host} has session {name} and gave its last sign of life {silent} s \
         ago; waiting for the next one, or until it is declared dead (about {at_most:.0} s)\n"
    ));
}

/// Waits for the next beat of a worker, or its death. Returns whether it is dead.
fn died(
    workers: &dyn Workers,
    seen: hookwright_store::WatchedWorker,
    interval: Duration,
) -> Result<bool, StoreError> {
    loop {
        // The heart of this process, or of another one, counts meanwhile.
        std::thread::sleep(interval);
        match workers.find(seen.id)? {
            Some(found) if found.is_dead => return Ok(true),
            Some(found) if found.watched.number != seen.number => return Ok(false),
            Some(_) => {}
            None => return Ok(true),
        }
    }
}
