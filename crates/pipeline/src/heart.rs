//! [`Heart`]: sends the beats of a worker, watches the others, and gives its sessions their
//! [`Orders`]. Between two beats the store can wake it: for an answer, a request, or an end.
//!
//! What to do is decided in `heart/pulse.rs`. One thread keeps the time and gives orders; another
//! one makes the calls of the store, which may take as long as the network is down.

mod pulse;

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hookwright_store::{Fence, StoreError, WatchedWorker, WorkerId, Workers};

use self::pulse::{Happened, Moment, Pulse, PulseStep};
use crate::lease::LeaseOwner;
use crate::limits::CLOCK_LOOK;
use crate::orders::{Order, Orders};

/// This process as a worker of a store. Its beats end with this value.
pub struct Heart {
    id: WorkerId,
    interval: Duration,
    sessions: Arc<Mutex<Vec<(Fence, Orders)>>>,
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
        let sessions = Arc::new(Mutex::new(Vec::new()));
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

    /// Gives orders to the session that runs under this lease.
    pub fn hold(&self, fence: Fence, orders: Orders) {
        lock(&self.sessions).push((fence, orders));
    }

    /// The session under this lease has ended.
    pub fn let_go(&self, fence: &Fence) {
        lock(&self.sessions).retain(|(held, _)| held != fence);
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
    sessions: Arc<Mutex<Vec<(Fence, Orders)>>>,
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
            PulseStep::Wake => {
                let sessions: Vec<_> = lock(&self.sessions).clone();
                sessions.iter().for_each(|(_, orders)| orders.wake());
            }
            PulseStep::Stop(stops) => {
                let sessions: Vec<_> = lock(&self.sessions).clone();
                for (fence, times) in stops {
                    let asked = sessions.iter().filter(|(held, _)| *held == fence);
                    asked.for_each(|(_, orders)| orders.stop(times));
                }
            }
            PulseStep::DeclareDead(worker) => call(BeatCall::DeclareDead(worker)),
            PulseStep::Lose(lost) => {
                let why = "another process has taken over the session";
                self.give(Order::Kill, why, |fence| lost.contains(fence));
            }
            PulseStep::Die => {
                let why = "other machines have declared this process dead";
                self.give(Order::Kill, why, |_| true);
            }
            PulseStep::Give(order) => {
                let why = match order {
                    Order::Continue => "the store gets signs of life again".to_owned(),
                    Order::StartNoTurn | Order::End | Order::Kill => {
                        "the store gets no sign of life from this process".to_owned()
                    }
                };
                self.give(order, &why, |_| true);
            }
        }
    }

    fn held(&self) -> Vec<Fence> {
        lock(&self.sessions).iter().map(|(fence, _)| fence.clone()).collect()
    }

    fn give(&self, order: Order, why: &str, is_meant: impl Fn(&Fence) -> bool) {
        let sessions: Vec<_> = lock(&self.sessions).clone();
        for (_, orders) in sessions.iter().filter(|(fence, _)| is_meant(fence)) {
            orders.give(order, why);
        }
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
            // If it was not declared dead, the next beat tells.
            BeatCall::DeclareDead(worker) => drop(workers.declare_dead(worker)),
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
