use std::sync::atomic::{AtomicBool, Ordering};

use hookwright_store::{BeatReply, StoredWorker, WorkerLease};

use super::*;

/// So short that an outage is over soon.
const BEAT: Duration = Duration::from_millis(2);

/// A store that answers beats, or none.
#[derive(Default)]
struct FlakyWorkers {
    is_away: AtomicBool,
    has_declared_dead: AtomicBool,
}

impl FlakyWorkers {
    fn beats(self: &Arc<Self>) -> Heart {
        let workers: Arc<dyn Workers> = Arc::clone(self) as Arc<dyn Workers>;
        Heart::start(workers, |_| String::new()).expect("it joins")
    }

    fn reply(&self) -> Result<BeatReply, StoreError> {
        match self.is_away.load(Ordering::SeqCst) {
            true => Err(StoreError::Io { cause: "away".to_owned() }),
            false => {
                let is_living = !self.has_declared_dead.load(Ordering::SeqCst);
                Ok(BeatReply { is_living, ..BeatReply::default() })
            }
        }
    }
}

impl Workers for FlakyWorkers {
    fn join(&self, _id: WorkerId, _description: &str) -> Result<(), StoreError> {
        Ok(())
    }

    fn act_as(&self, _id: WorkerId) {}

    fn own_id(&self) -> Option<WorkerId> {
        None
    }

    fn beat_interval(&self) -> Result<Duration, StoreError> {
        Ok(BEAT)
    }

    fn beat(&self, _id: WorkerId, _held: &[Fence]) -> Result<BeatReply, StoreError> {
        self.reply()
    }

    fn look(&self, _id: WorkerId, _held: &[Fence]) -> Result<BeatReply, StoreError> {
        self.reply()
    }

    fn listen(&self, _id: WorkerId, _woken: Box<dyn Fn() + Send + Sync>) {}

    fn wake(&self, _id: WorkerId) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn ask_to_stop(&self, _fence: &Fence) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn declare_dead(&self, _watched: WatchedWorker) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn leave(&self, _id: WorkerId) -> Result<(), StoreError> {
        Ok(())
    }

    fn find(&self, _id: WorkerId) -> Result<Option<StoredWorker>, StoreError> {
        Ok(None)
    }

    fn list(&self, _after: Option<WorkerId>) -> Result<Vec<StoredWorker>, StoreError> {
        Ok(Vec::new())
    }

    fn leases(&self, _id: WorkerId) -> Result<Vec<WorkerLease>, StoreError> {
        Ok(Vec::new())
    }
}

/// A new session of this process.
fn hold(heart: &Heart, token: u64) -> Orders {
    let orders = Orders::default();
    heart.hold(Fence { lease: format!("session {token}"), token }, orders.clone());
    orders
}

/// Waits for an order that no session is told.
fn until(holds: impl Fn() -> bool) {
    let began = std::time::Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain");
        thread::sleep(BEAT);
    }
}

fn away(workers: &FlakyWorkers, is_away: bool) {
    workers.is_away.store(is_away, Ordering::SeqCst);
}

#[tokio::test]
async fn a_session_that_begins_after_an_outage_is_killed_in_the_next_one() {
    let workers = Arc::new(FlakyWorkers::default());
    let heart = workers.beats();
    let first = hold(&heart, 1);
    away(&workers, true);
    first.reached(Order::Kill).await;
    away(&workers, false);
    until(|| heart.order().order == Order::Continue);
    let second = hold(&heart, 2);
    assert_eq!(first.current().order, Order::Kill, "it is final");
    away(&workers, true);
    second.reached(Order::Kill).await;
}

#[tokio::test]
async fn a_session_that_begins_in_an_outage_gets_the_order_that_is_in_force() {
    let workers = Arc::new(FlakyWorkers::default());
    let heart = workers.beats();
    away(&workers, true);
    hold(&heart, 1).reached(Order::Kill).await;
    let given = hold(&heart, 2).current();
    let why = "the store gets no sign of life from this process".to_owned();
    assert_eq!(given, GivenOrder { order: Order::Kill, why });
}

#[tokio::test]
async fn a_session_that_begins_when_its_worker_is_dead_is_killed() {
    let workers = Arc::new(FlakyWorkers::default());
    let heart = workers.beats();
    assert!(!heart.is_dead());
    workers.has_declared_dead.store(true, Ordering::SeqCst);
    until(|| heart.is_dead());
    hold(&heart, 1).reached(Order::Kill).await;
}

#[tokio::test]
async fn a_watchdog_gives_the_orders_that_the_worker_cannot_give() {
    let orders = Orders::default();
    let watchdog = Watchdog::start(BEAT, since_boot(), orders.clone()).expect("a thread");
    orders.reached(Order::Kill).await;
    assert_eq!(orders.current().why, "its worker gives no sign of life");
    drop(watchdog);
}

#[tokio::test]
async fn a_watchdog_lets_a_session_continue_while_beats_arrive() {
    let orders = Orders::default();
    // No turn may start, and no agent has to end for a while.
    let interval = Duration::from_secs(1);
    let last_beat = since_boot().saturating_sub(interval * 13);
    let watchdog = Watchdog::start(interval, last_beat, orders.clone()).expect("a thread");
    orders.reached(Order::StartNoTurn).await;
    watchdog.beat_arrived(since_boot());
    orders.turns_may_start().await;
    // An earlier beat that comes late.
    watchdog.beat_arrived(last_beat);
    assert_eq!(orders.current().order, Order::Continue);
}
