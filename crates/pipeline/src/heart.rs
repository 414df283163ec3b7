//! [`Heart`]: sends the beats of a worker, watches the others, and gives its sessions their
//! [`Orders`]. Between two beats the store can wake it: for an answer, a request, or an end.
//!
//! What to do is decided in `heart/pulse.rs`. One thread keeps the time and gives orders; another
//! one makes the calls of the store, which may take as long as the network is down. A process that
//! runs a session for a worker has no heart, but a [`Watchdog`].

mod contact;
mod pulse;
mod watchdog;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hookwright_process::faults;
use hookwright_store::{Fence, StoreError, WatchedWorker, WorkerId, Workers};

pub use self::watchdog::Watchdog;

use self::contact::Moment;
use self::pulse::{Happened, Pulse, PulseStep};
use crate::lease::LeaseOwner;
use crate::limits::CLOCK_LOOK;
use crate::orders::{GivenOrder, Order, Orders};

/// This process as a worker of a store. Its beats end with this value.
pub struct Heart {
    id: WorkerId,
    interval: Duration,
    sessions: Arc<Mutex<HeldSessions>>,
    messages: SyncSender<HeartMessage>,
}

/// Why this process cannot be a worker.
#[derive(Debug, thiserror::Error)]
pub enum HeartError {
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There are no random numbers, or no thread can be started.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// The sessions of a process, and what applies to all of them. One lock, so that a session which is
/// added hears every order.
struct HeldSessions {
    all: Vec<(Fence, Orders)>,
    /// The last order that was given to all.
    order: GivenOrder,
    /// When the last beat that has arrived was sent.
    last_beat: Moment,
    is_dead: bool,
}

enum HeartMessage {
    Happened(Happened),
    Stop,
}

/// A call of the store.
enum BeatCall {
    Beat(Vec<Fence>),
    Look(Vec<Fence>),
    DeclareDead(WatchedWorker),
}

impl Heart {
    /// Makes this process a worker, and starts its beats. The description is what other processes
    /// and people see; it says which process this is, with the worker's id.
    pub fn start(
        workers: Arc<dyn Workers>,
        describe: impl FnOnce(LeaseOwner) -> String,
    ) -> Result<Self, HeartError> {
        let (id, interval) = (WorkerId::random()?, workers.beat_interval()?);
        let joined = since_boot();
        workers.join(id, &describe(LeaseOwner { worker: Some(id), ..LeaseOwner::this() }))?;
        let sessions = HeldSessions {
            all: Vec::new(),
            order: GivenOrder::default(),
            last_beat: joined,
            is_dead: false,
        };
        let sessions = Arc::new(Mutex::new(sessions));
        // More than are ever waiting, so that the thread with the calls does not wait.
        let (messages, received) = sync_channel(4);
        let (calls, to_call) = channel();
        let answers = messages.clone();
        let ear = messages.clone();
        // If there is no room, a beat tells soon.
        let woken = move || drop(ear.try_send(HeartMessage::Happened(Happened::Woken)));
        workers.listen(id, Box::new(woken));
        let calling = move || make_calls(&*workers, id, &to_call, &answers);
        thread::Builder::new().name("beats".to_owned()).spawn(calling)?;
        let keeper =
            PulseKeeper { pulse: Pulse::new(interval, joined), sessions: Arc::clone(&sessions) };
        let keeping = move || keeper.keep(&received, |call| drop(calls.send(call)));
        thread::Builder::new().name("heart".to_owned()).spawn(keeping)?;
        Ok(Self { id, interval, sessions, messages })
    }

    /// The worker's id.
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// The pause between the answer to a beat and the next one.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// When the last beat that has arrived was sent, since this machine's boot.
    pub fn last_beat(&self) -> Duration {
        lock(&self.sessions).last_beat
    }

    /// The order that applies to all sessions now.
    pub fn order(&self) -> GivenOrder {
        lock(&self.sessions).order.clone()
    }

    /// Whether other workers have declared this one dead.
    pub fn is_dead(&self) -> bool {
        lock(&self.sessions).is_dead
    }

    /// Gives orders to the session that runs under this lease, first the one that applies now.
    pub fn hold(&self, fence: Fence, orders: Orders) {
        let mut sessions = lock(&self.sessions);
        orders.give(sessions.order.order, &sessions.order.why);
        sessions.all.push((fence, orders));
    }

    /// The session under this lease has ended.
    pub fn let_go(&self, fence: &Fence) {
        lock(&self.sessions).all.retain(|(held, _)| held != fence);
    }
}

impl Drop for Heart {
    fn drop(&mut self) {
        let _ = self.messages.send(HeartMessage::Stop);
    }
}

/// The thread that keeps the time.
struct PulseKeeper {
    pulse: Pulse,
    sessions: Arc<Mutex<HeldSessions>>,
}

impl PulseKeeper {
    fn keep(mut self, messages: &Receiver<HeartMessage>, call: impl Fn(BeatCall)) {
        loop {
            // This thread's waiting does not count the time in which the machine sleeps, so it
            // looks at the clock now and then.
            let pause = self.pulse.pause(since_boot()).min(CLOCK_LOOK);
            let happened = match messages.recv_timeout(pause) {
                Ok(HeartMessage::Happened(happened)) => happened,
                Err(RecvTimeoutError::Timeout) => Happened::Nothing,
                Ok(HeartMessage::Stop) | Err(RecvTimeoutError::Disconnected) => return,
            };
            for step in self.pulse.advance(happened, since_boot()) {
                self.carry_out(step, &call);
            }
        }
    }

    fn carry_out(&self, step: PulseStep, call: &impl Fn(BeatCall)) {
        match step {
            PulseStep::Beat => call(BeatCall::Beat(self.held())),
            PulseStep::Look => call(BeatCall::Look(self.held())),
            PulseStep::Arrived(sent) => {
                lock(&self.sessions).last_beat = sent;
                self.orders(|_| true).iter().for_each(|orders| orders.beat_arrived(sent));
            }
            PulseStep::Wake => self.orders(|_| true).iter().for_each(Orders::wake),
            PulseStep::Stop(stops) => {
                for (fence, times) in stops {
                    self.orders(|held| *held == fence).iter().for_each(|orders| orders.stop(times));
                }
            }
            PulseStep::DeclareDead(worker) => call(BeatCall::DeclareDead(worker)),
            PulseStep::Lose(lost) => {
                let why = "another process has taken over the session";
                for orders in self.orders(|held| lost.contains(held)) {
                    orders.give(Order::Kill, why);
                }
            }
            PulseStep::Die => {
                lock(&self.sessions).is_dead = true;
                self.give_all(Order::Kill, "other machines have declared this process dead");
            }
            PulseStep::Give(order) => {
                let why = match order {
                    Order::Continue => "the store gets signs of life again",
                    Order::StartNoTurn | Order::End | Order::Kill => {
                        "the store gets no sign of life from this process"
                    }
                };
                self.give_all(order, why);
            }
        }
    }

    fn held(&self) -> Vec<Fence> {
        lock(&self.sessions).all.iter().map(|(fence, _)| fence.clone()).collect()
    }

    /// The orders of some sessions.
    fn orders(&self, is_meant: impl Fn(&Fence) -> bool) -> Vec<Orders> {
        let sessions = lock(&self.sessions);
        let meant = sessions.all.iter().filter(|(fence, _)| is_meant(fence));
        meant.map(|(_, orders)| orders.clone()).collect()
    }

    fn give_all(&self, order: Order, why: &str) {
        let mut sessions = lock(&self.sessions);
        sessions.order = GivenOrder { order, why: why.to_owned() };
        sessions.all.iter().for_each(|(_, orders)| orders.give(order, why));
    }
}

/// The thread that makes the calls. It ends when the other one has.
fn make_calls(
    workers: &dyn Workers,
    id: WorkerId,
    calls: &Receiver<BeatCall>,
    answers: &SyncSender<HeartMessage>,
) {
    for call in calls {
        match call {
            BeatCall::DeclareDead(worker) => {
                faults::point("worker is declared dead");
                // If it was not declared dead, the next beat tells.
                let _ = workers.declare_dead(worker);
                faults::point("worker declared dead");
            }
            BeatCall::Look(held) => {
                let reply = workers.look(id, &held).ok();
                if answers.send(HeartMessage::Happened(Happened::Looked { reply })).is_err() {
                    return;
                }
            }
            BeatCall::Beat(held) => {
                let sent = since_boot();
                let happened = match workers.beat(id, &held) {
                    Ok(reply) => Happened::Answered { sent, reply },
                    Err(_) => Happened::Failed,
                };
                if answers.send(HeartMessage::Happened(happened)).is_err() {
                    return;
                }
            }
        }
    }
}

/// The time since boot, which counts sleep.
fn since_boot() -> Moment {
    #[cfg(target_os = "linux")]
    let clock = rustix::time::ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = rustix::time::ClockId::Monotonic;
    let time = rustix::time::clock_gettime(clock);
    Duration::try_from(time).unwrap_or_default()
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
