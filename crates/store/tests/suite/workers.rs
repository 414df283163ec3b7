//! Workers in Postgres: who lives, who is declared dead, and who may take the leases of whom.

use std::time::Duration;

use hookwright_postgres_server::{Cluster, Relay};
use hookwright_store::{
    Acquired, BeatReply, ClaimLane, ClaimLease, ClaimRequest, Commit, Durability, Expected, Fence,
    Held, Kind, LeaseState, Life, PostgresStore, Put, Queued, SqliteStore, Store, StoreError,
    WatchedWorker, WorkerId, Workers, limits,
};

use crate::situation::{access, database, put};

/// A store of one process, which is a worker.
struct Machine {
    store: PostgresStore,
    id: WorkerId,
}

impl Machine {
    fn of(database: &str) -> Self {
        let store = open(database);
        let id = WorkerId::random().unwrap();
        store.workers().unwrap().join(id, &format!("{{\"host\":\"{id}\"}}")).unwrap();
        Self { store, id }
    }

    fn beat(&self, held: &[Fence]) -> BeatReply {
        self.store.workers().unwrap().beat(self.id, held).unwrap()
    }

    fn acquire(&self, lease: &str, instead_of: Option<u64>) -> Result<Acquired, StoreError> {
        self.store.acquire(lease, "a process", instead_of)
    }

    fn granted(&self, lease: &str) -> Fence {
        match self.acquire(lease, None).unwrap() {
            Acquired::Granted { token } => Fence { lease: lease.into(), token },
            Acquired::Held(held) => panic!("{held:?}"),
        }
    }

    /// Declares another worker dead with the number that it has.
    fn declare_dead(&self, other: &Machine) {
        let watched = self.beat(&[]).watched.into_iter().find(|watched| watched.id == other.id);
        let workers = self.store.workers().unwrap();
        assert!(workers.declare_dead(watched.expect("it lives")).unwrap());
    }
}

fn open(database: &str) -> PostgresStore {
    PostgresStore::open(&access(&Cluster::shared().address(database))).unwrap()
}

fn machines<const N: usize>() -> [Machine; N] {
    let database = database();
    std::array::from_fn(|_| Machine::of(&database))
}

#[test]
fn a_store_of_one_machine_has_no_workers() {
    assert!(SqliteStore::in_memory().unwrap().workers().is_none());
}

#[test]
fn a_beat_changes_the_number_that_others_see() {
    let [one, two] = machines();
    let number = |watched: &[WatchedWorker]| match watched {
        [watched] if watched.id == two.id => watched.number,
        _ => panic!("{watched:?}"),
    };
    let before = number(&one.beat(&[]).watched);
    assert_eq!(number(&one.beat(&[]).watched), before, "only its own beats change it");
    assert!(two.beat(&[]).is_living);
    assert_eq!(number(&one.beat(&[]).watched), before + 1);
}

#[test]
fn a_worker_watches_those_behind_it_and_the_first_follows_the_last() {
    let database = database();
    let mut machines: Vec<_> = (0..4).map(|_| Machine::of(&database)).collect();
    machines.sort_by_key(|machine| machine.id);
    let ids: Vec<_> = machines.iter().map(|machine| machine.id).collect();
    for (place, machine) in machines.iter().enumerate() {
        let watched: Vec<_> = machine.beat(&[]).watched.iter().map(|other| other.id).collect();
        let expected: Vec<_> = ids[place + 1..].iter().chain(&ids[..place]).copied().collect();
        assert_eq!(watched, expected);
    }
}

#[test]
fn a_worker_watches_no_more_than_its_limit() {
    let database = database();
    let machine = Machine::of(&database);
    let all = limits::WATCHED_WORKERS_MAX + 20;
    for _ in 0..all {
        let id = WorkerId::random().unwrap();
        machine.store.workers().unwrap().join(id, "{}").unwrap();
    }
    let watching = Machine::of(&database);
    let watched = watching.beat(&[]).watched;
    assert_eq!(watched.len(), limits::WATCHED_WORKERS_MAX);
    let after: Vec<_> = watched.iter().take_while(|other| other.id > watching.id).collect();
    let (first, rest) = watched.split_at(after.len());
    assert!(first.is_sorted_by_key(|other| other.id) && rest.is_sorted_by_key(|other| other.id));
}

#[test]
fn a_worker_is_declared_dead_only_with_its_last_number() {
    let [one, two] = machines();
    let seen = one.beat(&[]).watched[0];
    // It beats at the last moment.
    two.beat(&[]);
    let workers = one.store.workers().unwrap();
    assert!(!workers.declare_dead(seen).unwrap());
    assert!(two.beat(&[]).is_living);
    let seen = one.beat(&[]).watched[0];
    assert!(workers.declare_dead(seen).unwrap());
    assert!(workers.declare_dead(seen).unwrap(), "a repeated call says the same");
    let found = workers.find(two.id).unwrap().unwrap();
    assert!(found.is_dead && found.watched == seen, "{found:?}");
    let reply = two.beat(&[]);
    assert!(!reply.is_living, "a beat does not bring it back");
    two.store.workers().unwrap().join(two.id, "a late copy").unwrap();
    assert!(!two.beat(&[]).is_living);
    assert_eq!(one.beat(&[]).watched, []);
}

#[test]
fn a_lease_of_a_living_worker_is_not_taken_whatever_the_caller_believes() {
    let [one, two] = machines();
    let fence = two.granted("run");
    let held = |life| Held { holder: "a process".into(), token: fence.token, life: Some(life) };
    let refused = one.acquire("run", Some(fence.token)).unwrap();
    assert_eq!(refused, Acquired::Held(held(Life::MayRun)));
    assert_eq!(one.store.holder("run").unwrap(), Some(held(Life::MayRun)));
    one.declare_dead(&two);
    assert_eq!(one.store.holder("run").unwrap(), Some(held(Life::Ended)));
    assert_eq!(one.acquire("run", None).unwrap(), Acquired::Held(held(Life::Ended)));
    let taken = one.acquire("run", Some(fence.token)).unwrap();
    assert!(matches!(taken, Acquired::Granted { token } if token > fence.token), "{taken:?}");
    let commit = Commit { fence: Some(&fence), ..Commit::synced() };
    let refused = two.store.commit(&commit).unwrap_err();
    assert!(matches!(refused, StoreError::Fenced { .. }), "{refused:?}");
}

#[test]
fn a_worker_that_was_declared_dead_gets_no_lease() {
    let [one, two] = machines();
    one.declare_dead(&two);
    let refused = two.acquire("run", None).unwrap_err();
    assert_eq!(refused, StoreError::DeclaredDead { worker: two.id });
    assert_eq!(one.store.holder("run").unwrap(), None);
}

#[test]
fn the_reply_to_a_beat_names_lost_leases() {
    let [one, two] = machines();
    let (kept, lost) = (one.granted("kept"), one.granted("lost"));
    let held = [kept.clone(), lost.clone()];
    assert_eq!(one.beat(&held).lost, []);
    // Some other process has it, or none.
    assert!(two.store.release("lost", lost.token).unwrap());
    assert_eq!(one.beat(&held).lost, std::slice::from_ref(&lost));
    two.granted("lost");
    assert_eq!(one.beat(&held).lost, [lost]);
    two.declare_dead(&one);
    assert_eq!(one.beat(&held).lost, held, "a dead worker has lost all");
}

#[test]
fn a_worker_that_is_woken_hears_it_at_once_and_from_its_next_beat() {
    let [one, two] = machines();
    let (heard, ear) = std::sync::mpsc::channel();
    one.store
        .workers()
        .unwrap()
        .listen(one.id, Box::new(move || heard.send(()).unwrap_or_default()));
    assert_eq!(one.beat(&[]).wakes, 0);
    let others = two.store.workers().unwrap();
    assert!(others.wake(two.id).unwrap());
    assert!(others.wake(one.id).unwrap());
    ear.recv_timeout(Duration::from_secs(60)).expect("it was woken");
    assert!(ear.try_recv().is_err(), "it hears what concerns itself");
    assert_eq!(one.store.workers().unwrap().look(one.id, &[]).unwrap().wakes, 1);
    assert_eq!(one.beat(&[]).wakes, 1);
    assert!(!others.wake(WorkerId::random().unwrap()).unwrap(), "there is none");
}

#[test]
fn a_look_is_no_sign_of_life_and_names_lost_leases() {
    let [one, two] = machines();
    let number = |of: &Machine| of.beat(&[]).watched[0].number;
    let (kept, lost) = (two.granted("kept"), Fence { lease: "lost".into(), token: 1 });
    let before = number(&one);
    let looked = two.store.workers().unwrap().look(two.id, &[kept, lost.clone()]).unwrap();
    assert_eq!((looked.is_living, looked.lost), (true, vec![lost]));
    assert_eq!(number(&one), before);
    one.declare_dead(&two);
    assert!(!two.store.workers().unwrap().look(two.id, &[]).unwrap().is_living);
}

#[test]
fn the_holder_of_a_lease_learns_how_often_it_was_asked_to_end() {
    let [one, two] = machines();
    let (first, second) = (one.granted("first"), one.granted("second"));
    let others = two.store.workers().unwrap();
    assert!(others.ask_to_stop(&second).unwrap());
    assert!(others.ask_to_stop(&second).unwrap());
    let reply = one.beat(&[first.clone(), second.clone()]);
    assert_eq!((reply.stops, reply.wakes), (vec![(second.clone(), 2)], 2));
    // Who takes the lease next was not asked.
    assert!(one.store.release("second", second.token).unwrap());
    let next = one.granted("second");
    assert!(!others.ask_to_stop(&second).unwrap(), "this holder has ended");
    assert_eq!(one.beat(&[first, next]).stops, []);
}

/// The names of a worker's leases.
fn leases(workers: &dyn Workers, id: WorkerId) -> Vec<String> {
    let mut names: Vec<String> =
        workers.leases(id).unwrap().into_iter().map(|lease| lease.fence.lease).collect();
    names.sort();
    names
}

#[test]
fn a_worker_that_leaves_gives_all_back() {
    let [one, two] = machines();
    two.granted("a");
    two.granted("b");
    let workers = two.store.workers().unwrap();
    assert_eq!(leases(&*workers, two.id), ["a", "b"]);
    workers.leave(two.id).unwrap();
    workers.leave(two.id).unwrap();
    assert_eq!(workers.find(two.id).unwrap(), None);
    one.granted("a");
    assert_eq!(one.beat(&[]).watched, []);
    assert!(!two.beat(&[]).is_living);
}

#[test]
fn a_process_of_a_worker_holds_leases_as_that_worker() {
    let database = database();
    let machine = Machine::of(&database);
    let process = open(&database);
    let workers = process.workers().unwrap();
    assert_eq!(workers.own_id(), None);
    workers.act_as(machine.id);
    process.acquire("run", "a child", None).unwrap();
    assert_eq!(leases(&*workers, machine.id), ["run"]);
    assert_eq!(workers.leases(machine.id).unwrap()[0].holder, "a child");
}

#[test]
fn workers_are_listed_with_what_they_say_of_themselves() {
    let machines: [Machine; 3] = machines();
    let mut ids = machines.each_ref().map(|machine| machine.id);
    ids.sort();
    machines[0].declare_dead(&machines[1]);
    let workers = machines[2].store.workers().unwrap();
    let list = workers.list(None).unwrap();
    assert_eq!(list.iter().map(|worker| worker.watched.id).collect::<Vec<_>>(), ids);
    for worker in &list {
        assert_eq!(worker.description, format!("{{\"host\":\"{}\"}}", worker.watched.id));
        assert_eq!(worker.is_dead, worker.watched.id == machines[1].id);
        assert!(worker.silent_for < Duration::from_mins(10));
    }
    let after = |id| workers.list(Some(id)).unwrap().into_iter().map(|worker| worker.watched.id);
    assert_eq!(after(ids[0]).collect::<Vec<_>>(), ids[1..]);
    assert_eq!(after(ids[2]).count(), 0);
}

fn request<'a>(lanes: &'a [ClaimLane<'a>], lease: Option<ClaimLease<'a>>) -> ClaimRequest<'a> {
    ClaimRequest {
        durability: Durability::Synced,
        fence: None,
        kind: Kind::Session,
        project: "/projects/one",
        lanes,
        done: "completed",
        offers: &[],
        skip: &[],
        status: "taken",
        to: Some("open/"),
        note: "note",
        lease,
    }
}

fn queue(store: &dyn Store) {
    let queued = Some(Queued::at("open/", 1));
    let put = Put { queued, ..put("a", Expected::Absent, "1") };
    store.commit(&Commit { puts: vec![put], ..Commit::synced() }).unwrap();
}

#[test]
fn a_claim_takes_the_lease_of_a_dead_worker_and_of_no_other() {
    let [one, two, three] = machines();
    queue(&one.store);
    let lanes = [ClaimLane { lane: "open/", only_while: None, aside: None }];
    let lease = Some(ClaimLease { prefix: "session/", holder: "a process" });
    let claim = |machine: &Machine| machine.store.claim(&request(&lanes, lease)).unwrap();
    let first = claim(&two).expect("it is free").fence.expect("a lease");
    assert_eq!(claim(&one), None, "its holder lives");
    one.declare_dead(&two);
    let second = claim(&one).expect("its holder is dead").fence.expect("a lease");
    assert!(second.token > first.token);
    assert_eq!(leases(&*one.store.workers().unwrap(), one.id), ["session/a"]);
    assert_eq!(claim(&three), None, "its new holder lives");
    let refused = two.store.claim(&request(&lanes, lease)).unwrap_err();
    assert_eq!(refused, StoreError::DeclaredDead { worker: two.id });
}

#[test]
fn the_lane_of_a_session_is_claimed_from_once_its_worker_is_dead() {
    let [one, two] = machines();
    queue(&one.store);
    let token = two.granted("session/dead").token;
    let state = LeaseState { lease: "session/dead", token: Some(token) };
    let lanes = [ClaimLane { lane: "open/", only_while: Some(state), aside: None }];
    let claim = || one.store.claim(&request(&lanes, None)).unwrap();
    assert_eq!(claim(), None, "the session may run, whatever the caller believes");
    one.declare_dead(&two);
    assert!(claim().is_some());
}

#[test]
fn a_beat_is_one_round_trip_and_does_not_wait_for_other_calls() {
    let (relay, database) = (Relay::to(Cluster::shared().port()), database());
    let store = PostgresStore::open(&access(&relay.address(&database))).unwrap();
    let (workers, id) = (store.workers().unwrap(), WorkerId::random().unwrap());
    workers.join(id, "{}").unwrap();
    let Acquired::Granted { token } = store.acquire("run", "me", None).unwrap() else {
        panic!("it is free")
    };
    let held = [Fence { lease: "run".into(), token }];
    workers.beat(id, &held).unwrap();
    let before = relay.round_trips();
    workers.beat(id, &held).unwrap();
    assert_eq!(relay.round_trips() - before, 1);
    let commit = Commit { fence: Some(&held[0]), ..Commit::synced() };
    let sql = |text: &str| Cluster::shared().sql(&database, text);
    sql("CREATE TABLE public.signals (is_given boolean)");
    std::thread::scope(|scope| {
        // Another transaction has locked the lease for which the commit waits.
        let locking = scope.spawn(|| {
            sql("SELECT token FROM hookwright.leases WHERE name = 'run' FOR UPDATE;
                DO $$ BEGIN
                    WHILE NOT EXISTS (SELECT FROM public.signals) LOOP
                        PERFORM pg_sleep(0.01);
                    END LOOP;
                END $$");
        });
        let waiting = |event: &str| {
            let count = format!(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND wait_event = '{event}'"
            );
            while sql(&count) == "0" {}
        };
        waiting("PgSleep");
        let committing = scope.spawn(|| store.commit(&commit));
        waiting("transactionid");
        let reply = workers.beat(id, &held).unwrap();
        assert!(reply.is_living && reply.lost.is_empty() && !committing.is_finished());
        sql("INSERT INTO public.signals VALUES (true)");
        locking.join().unwrap();
        committing.join().unwrap().unwrap();
    });
}

#[test]
fn a_beat_that_does_not_arrive_fails_and_the_next_one_connects_again() {
    let (relay, database) = (Relay::to(Cluster::shared().port()), database());
    let store = PostgresStore::open(&access(&relay.address(&database))).unwrap();
    let (workers, id) = (store.workers().unwrap(), WorkerId::random().unwrap());
    workers.join(id, "{}").unwrap();
    workers.beat(id, &[]).unwrap();
    relay.close();
    let failed = workers.beat(id, &[]).unwrap_err();
    assert!(matches!(failed, StoreError::Away { .. }), "{failed:?}");
    relay.open();
    assert!(workers.beat(id, &[]).unwrap().is_living);
}

#[test]
fn the_beat_of_a_store_is_chosen_when_it_is_made() {
    let cluster = Cluster::shared();
    cluster.create_named("short_beats");
    let access = access(&cluster.address("short_beats"));
    PostgresStore::init_with_beat(&access, Duration::from_millis(50)).unwrap();
    // A second time changes nothing.
    PostgresStore::init(&access).unwrap();
    let workers = PostgresStore::open(&access).unwrap().workers().unwrap();
    assert_eq!(workers.beat_interval().unwrap(), Duration::from_millis(50));
    let usual = open(&database()).workers().unwrap();
    assert_eq!(usual.beat_interval().unwrap(), limits::BEAT);
}

/// Neither the statements nor those inside the functions read a whole table.
#[test]
fn no_call_of_workers_reads_a_whole_table() {
    let database = database();
    Cluster::shared().sql(
        &database,
        "INSERT INTO hookwright.workers (id, number, description, died)
            SELECT decode(md5(n::text), 'hex'), 1, '{}',
                CASE WHEN n % 2 = 0 THEN now() - n * interval '1 hour' END
            FROM generate_series(1, 5000) AS n;
        INSERT INTO hookwright.leases (name, token, holder, worker)
            SELECT convert_to('lease ' || n, 'UTF8'), n, 'me', decode(md5(n::text), 'hex')
            FROM generate_series(1, 5000) AS n;
        ANALYZE",
    );
    let read = || {
        wait_for_the_end_of_connections(&database);
        Cluster::shared().sql(
            &database,
            "SELECT pg_stat_force_next_flush(); SELECT sum(seq_tup_read) FROM pg_stat_user_tables \
             WHERE relname IN ('workers', 'leases')",
        )
    };
    let before = read();
    let one = Machine::of(&database);
    let held: Vec<_> = (0..20).map(|number| one.granted(&format!("own {number}"))).collect();
    for _ in 0..20 {
        assert_eq!(one.beat(&held).lost, []);
    }
    let two = Machine::of(&database);
    let workers = one.store.workers().unwrap();
    assert!(workers.ask_to_stop(&held[7]).unwrap());
    assert_eq!(workers.look(one.id, &held).unwrap().stops, [(held[7].clone(), 1)]);
    let found = workers.find(two.id).unwrap().unwrap();
    assert!(workers.declare_dead(found.watched).unwrap());
    assert_eq!(workers.leases(one.id).unwrap().len(), held.len());
    assert_eq!(workers.list(None).unwrap().len(), limits::WORKERS_PER_PAGE);
    one.store.holder("lease 7").unwrap();
    workers.leave(one.id).unwrap();
    drop((one, two, workers));
    assert_eq!(read(), before);
}

fn wait_for_the_end_of_connections(database: &str) {
    let count = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' \
         AND application_name = 'hookwright'"
    );
    while Cluster::shared().sql("postgres", &count) != "0" {}
}
