//! What only a store in Postgres promises: one round trip a commit, indexes for every list, and
//! that nothing is lost or done twice when the connection fails.

use std::time::Duration;

use hookwright_postgres_server::{Cluster, PASSWORD, Relay, WORKER};
use hookwright_store::{
    Acquired, Append, ClaimLane, ClaimLease, ClaimRequest, Commit, Durability, Expected, Fence,
    Filter, Kind, LaneKey, Password, PostgresAccess, PostgresStore, Put, Queued, RecordPosition,
    Rewrite, Store, StoreError, limits,
};

use crate::situation::{access, append, database, journal, key, postgres, put, texts, values};

/// A store behind a relay, in a new database.
fn relayed() -> (Relay, String, PostgresStore) {
    let (relay, database) = (Relay::to(Cluster::shared().port()), database());
    let store = PostgresStore::open(&access(&relay.address(&database))).unwrap();
    (relay, database, store)
}

/// The same, with a short limit for calls.
fn relayed_with(call_max: Duration) -> (Relay, String, PostgresStore) {
    let (relay, database) = (Relay::to(Cluster::shared().port()), database());
    let access = PostgresAccess { call_max, ..access(&relay.address(&database)) };
    let store = PostgresStore::open(&access).unwrap();
    (relay, database, store)
}

fn granted(store: &dyn Store, lease: &str) -> Fence {
    match store.acquire(lease, "me", None).unwrap() {
        Acquired::Granted { token } => Fence { lease: lease.into(), token },
        Acquired::Held(held) => panic!("{held:?}"),
    }
}

fn opening(access: &PostgresAccess) -> StoreError {
    match PostgresStore::open(access) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error,
    }
}

#[test]
fn a_commit_behind_a_fence_is_one_round_trip() {
    let (relay, _, store) = relayed();
    let fence = granted(&store, "run");
    let (journal, entries) = (journal("a"), texts(["1", "2"]));
    let before = relay.round_trips();
    for number in 0..10 {
        let append = Append { journal: &journal, expected: number * 2, entries: &entries };
        let commit = Commit {
            fence: Some(&fence),
            append: Some(append),
            puts: vec![put("a", Expected::Any, "1")],
            ..Commit::synced()
        };
        store.commit(&commit).unwrap();
    }
    assert_eq!(relay.round_trips() - before, 10);
    store.list(Kind::Session, &Filter::newest(10)).unwrap();
    assert_eq!(relay.round_trips() - before, 11);
}

/// Thousands of records, entries, journals and leases, so that reading all of a table is slow.
fn fill(database: &str) {
    Cluster::shared().sql(
        database,
        "INSERT INTO hookwright.projects (digest, path)
            SELECT sha256(path), path FROM (
                SELECT convert_to('/projects/' || n, 'UTF8') AS path FROM generate_series(0, 2) AS n
            ) AS new;
        INSERT INTO hookwright.records
            (kind, project, name, version, created_at, status, lane, rank, value)
            SELECT kind, 1 + n % 3, convert_to('name ' || n, 'UTF8'), n, n,
                CASE WHEN n % 50 = 0 THEN 'open'::bytea ELSE 'completed' END,
                convert_to('lane ' || n % 7 || '/', 'UTF8'), n, 'value'
            FROM unnest(ARRAY['task', 'session']) AS kind, generate_series(1, 20000) AS n;
        INSERT INTO hookwright.journals (project, session, last)
            SELECT 1, convert_to('s ' || n, 'UTF8'), 10 FROM generate_series(1, 3000) AS n;
        INSERT INTO hookwright.entries (journal, sequence, value)
            SELECT id, n, 'entry' FROM hookwright.journals, generate_series(100, 110) AS n;
        INSERT INTO hookwright.workers (id, number, description)
            SELECT decode(md5(n::text), 'hex'), 1, '{}' FROM generate_series(1, 3000) AS n;
        INSERT INTO hookwright.leases (name, token, holder, worker)
            SELECT convert_to('lease ' || n, 'UTF8'), n, 'me', decode(md5(n::text), 'hex')
            FROM generate_series(1, 3000) AS n;
        ANALYZE",
    );
}

/// Whatever the filter, no statement reads a whole table.
#[test]
fn every_list_uses_an_index() {
    let database = database();
    let store = PostgresStore::open(&access(&Cluster::shared().address(&database))).unwrap();
    fill(&database);
    let projects = [None, Some("/projects/1".to_owned())];
    let statuses = [vec![], texts(["open"]).to_vec(), texts(["open", "running"]).to_vec()];
    let prefixes = [None, Some("name 1".to_owned())];
    let befores = [None, Some(RecordPosition { created_at_ms: 9_000, inserted: 9_000 })];
    let plans = store.plans(|store| {
        for project in &projects {
            for statuses in &statuses {
                for name_prefix in &prefixes {
                    for before in befores {
                        let filter = Filter {
                            project: project.clone(),
                            statuses: statuses.clone(),
                            name_prefix: name_prefix.clone(),
                            before,
                            limit: 20,
                        };
                        store.list(Kind::Task, &filter).unwrap();
                        store.headings(Kind::Session, &filter).unwrap();
                    }
                }
            }
        }
        let lane = LaneKey { kind: Kind::Task, project: "/projects/1", lane: "lane 3/" };
        store.queue(lane, 5, 10).unwrap();
        store.next_lane(lane).unwrap();
        store.queued(lane).unwrap();
        store.journal(&journal("s 7"), 3, 10).unwrap();
        store.last(&journal("s 7")).unwrap();
        store.get(Kind::Task, &key("name 7")).unwrap();
        store.holder("lease 7").unwrap();
    });
    assert_eq!(plans.len(), 2 * 24 + 7);
    for plan in plans {
        // Three projects need no index.
        let of_tables = plan.lines().filter(|line| !line.contains(" on projects "));
        let whole: Vec<_> = of_tables.filter(|line| line.contains("Seq Scan")).collect();
        assert!(plan.contains("Index") && whole.is_empty(), "{plan}");
    }
}

/// The statements inside the functions of the database, too.
#[test]
fn no_change_reads_a_whole_table() {
    let database = database();
    let store = PostgresStore::open(&access(&Cluster::shared().address(&database))).unwrap();
    append(&store, "s", 0, &vec!["entry".to_owned(); 50]);
    fill(&database);
    let read = || {
        Cluster::shared().sql(
            &database,
            "SELECT pg_stat_force_next_flush(); SELECT sum(seq_tup_read) FROM pg_stat_user_tables \
             WHERE relname IN ('records', 'entries', 'journals', 'leases', 'workers')",
        )
    };
    // A new connection plans anew. Its statistics are written when it ends.
    drop(store);
    wait_for_the_end_of_connections(&database);
    let before = read();
    let store = PostgresStore::open(&access(&Cluster::shared().address(&database))).unwrap();
    let fence = granted(&store, "another");
    for number in 0..20_u64 {
        let (journal, entries) = (journal("s"), texts(["more"]));
        let expected = 50 + number;
        let commit = Commit {
            fence: Some(&fence),
            append: Some(Append { journal: &journal, expected, entries: &entries }),
            puts: vec![
                put("name 7", Expected::Any, "2"),
                put(&format!("n {number}"), Expected::Absent, "2"),
            ],
            ..Commit::synced()
        };
        store.commit(&commit).unwrap();
    }
    let lanes = [ClaimLane { lane: "lane 3/", only_while: None, aside: None }];
    let claim = ClaimRequest { kind: Kind::Task, project: "/projects/1", ..request(&lanes, None) };
    assert!(store.claim(&claim).unwrap().is_some());
    store.release("another", fence.token).unwrap();
    drop(store);
    wait_for_the_end_of_connections(&database);
    assert_eq!(read(), before);
}

fn wait_for_the_end_of_connections(database: &str) {
    let count = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{database}' \
         AND application_name = 'hookwright'"
    );
    while Cluster::shared().sql("postgres", &count) != "0" {}
}

#[test]
fn a_commit_whose_answer_was_lost_is_done_once() {
    let (relay, _, store) = relayed();
    let fence = granted(&store, "run");
    let (journal, entries) = (journal("a"), texts(["1"]));
    let commit = Commit {
        fence: Some(&fence),
        append: Some(Append { journal: &journal, expected: 0, entries: &entries }),
        puts: vec![put("a", Expected::Absent, "1")],
        ..Commit::synced()
    };
    let committed = std::thread::scope(|scope| {
        relay.hold_answers();
        let committing = scope.spawn(|| store.commit(&commit));
        // The server has done it, and its answer is held back.
        relay.wait_until_held(1);
        relay.cut();
        relay.release();
        committing.join().unwrap()
    });
    let committed = committed.expect("it was found out that it is done");
    assert_eq!(committed.last, 1);
    assert_eq!(values(&store, "a"), ["1"]);
    let version = store.get(Kind::Session, &key("a")).unwrap().unwrap().version;
    assert_eq!(committed.versions, [version]);
}

#[test]
fn a_commit_that_never_arrived_is_repeated_and_its_late_copy_changes_nothing() {
    let (relay, database, store) = relayed_with(Duration::from_millis(300));
    let fence = granted(&store, "run");
    let (journal, entries) = (journal("a"), texts(["1"]));
    let commit = Commit {
        fence: Some(&fence),
        append: Some(Append { journal: &journal, expected: 0, entries: &entries }),
        // Without a condition of its own.
        puts: vec![put("a", Expected::Any, "1")],
        ..Commit::synced()
    };
    let direct = PostgresStore::open(&access(&Cluster::shared().address(&database))).unwrap();
    std::thread::scope(|scope| {
        relay.hold_requests();
        let committing = scope.spawn(|| store.commit(&commit));
        // The request is held back; the store gives it up and connects again, which is held too.
        relay.wait_until_held(2);
        relay.release();
        committing.join().unwrap().expect("it is repeated");
    });
    assert_eq!(values(&direct, "a"), ["1"]);
    let first = direct.get(Kind::Session, &key("a")).unwrap().unwrap();
    // The copy that was held back arrives now, or has arrived first; in either case it was one.
    append(&direct, "a", 1, &texts(["2"]));
    store.get(Kind::Session, &key("a")).unwrap();
    assert_eq!(direct.get(Kind::Session, &key("a")).unwrap().unwrap(), first);
    assert_eq!(values(&direct, "a"), ["1", "2"]);
}

#[test]
fn the_calls_of_a_process_that_has_run_for_long_are_known_all_the_same() {
    let (cluster, database) = (Cluster::shared(), database());
    let store = PostgresStore::open(&access(&cluster.address(&database))).unwrap();
    append(&store, "a", 0, &texts(["1"]));
    cluster.sql(
        &database,
        "INSERT INTO hookwright.clients (id, number, result) VALUES ('ended', 1, '{}');
        UPDATE hookwright.clients SET created = now() - interval '8 days'",
    );
    append(&store, "a", 1, &texts(["2"]));
    // A new process removes the rows of old ones.
    let other = PostgresStore::open(&access(&cluster.address(&database))).unwrap();
    append(&other, "b", 0, &texts(["1"]));
    let known = "SELECT count(*), count(*) FILTER (WHERE id = 'ended') FROM hookwright.clients";
    assert_eq!(cluster.sql(&database, known), "2|0");
}

#[test]
fn commits_are_synced_although_the_server_does_not_do_so_by_default() {
    let cluster = Cluster::start();
    cluster.create_named("work");
    let access = access(&cluster.address("work"));
    PostgresStore::init(&access).unwrap();
    cluster.sql("work", "ALTER SYSTEM SET wal_writer_delay = '10s'");
    cluster.sql("work", "ALTER DATABASE work SET synchronous_commit = off");
    // The server reads both anew.
    cluster.crash();
    cluster.start_again();
    assert_eq!(cluster.sql("work", "SHOW synchronous_commit"), "off");
    let store = PostgresStore::open(&access).unwrap();
    append(&store, "a", 0, &texts(["1"]));
    let fence = granted(&store, "run");
    cluster.crash();
    cluster.start_again();
    assert_eq!(values(&store, "a"), ["1"]);
    assert_eq!(store.holder("run").unwrap().unwrap().token, fence.token);
}

/// As after a commit that waits for a standby server: its client counts it as lost, and repeats it.
#[test]
fn a_call_that_waits_behind_its_own_first_copy_is_repeated_until_that_has_ended() {
    let (cluster, database) = (Cluster::shared(), database());
    let store = PostgresStore::open(&access(&cluster.address(&database))).unwrap();
    append(&store, "a", 0, &texts(["1"]));
    cluster.sql(
        &database,
        "CREATE TABLE public.go (number int);
        CREATE OR REPLACE FUNCTION hookwright.begin_change() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN PERFORM set_config('lock_timeout', '50ms', true); END $$",
    );
    let first_copy = "DO $$ BEGIN PERFORM c.id FROM hookwright.clients AS c FOR UPDATE; \
                      WHILE NOT EXISTS (SELECT FROM public.go) LOOP PERFORM pg_sleep(0.01); \
                      END LOOP; END $$";
    let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'RowShareLock' AND granted \
                  AND relation = 'hookwright.clients'::regclass";
    let (journal, entries) = (journal("a"), texts(["2"]));
    let append = Append { journal: &journal, expected: 1, entries: &entries };
    let committed = std::thread::scope(|scope| {
        scope.spawn(|| cluster.sql(&database, first_copy));
        while cluster.sql(&database, locked) != "1" {}
        let go = {
            let database = database.clone();
            move || drop(cluster.sql(&database, "INSERT INTO public.go VALUES (1)"))
        };
        let first_failed = go.clone();
        store.patience().listen(Box::new(move |_| first_failed()));
        let committed = store.commit(&Commit { append: Some(append), ..Commit::synced() });
        go();
        committed
    });
    assert_eq!(committed.map(|committed| committed.last), Ok(2));
    assert_eq!(values(&store, "a"), ["1", "2"]);
}

#[test]
fn a_lease_whose_grant_was_lost_belongs_to_its_taker() {
    let (relay, _, store) = relayed();
    let acquired = std::thread::scope(|scope| {
        relay.hold_answers();
        let acquiring = scope.spawn(|| store.acquire("run", "me", None));
        relay.wait_until_held(1);
        relay.cut();
        relay.release();
        acquiring.join().unwrap()
    });
    let Ok(Acquired::Granted { token }) = acquired else { panic!("{acquired:?}") };
    assert_eq!(store.holder("run").unwrap().unwrap().token, token);
}

#[test]
fn a_holder_that_was_away_learns_that_it_is_fenced() {
    let (relay, database, store) = relayed();
    let fence = granted(&store, "run");
    relay.close();
    let heir = PostgresStore::open(&access(&Cluster::shared().address(&database))).unwrap();
    let Ok(Acquired::Granted { token }) = heir.acquire("run", "heir", Some(fence.token)) else {
        panic!("the holder is found dead")
    };
    relay.open();
    let commit = Commit { fence: Some(&fence), ..Commit::synced() };
    let current = Some(token);
    let fenced = StoreError::Fenced { lease: "run".into(), token: fence.token, current };
    assert_eq!(store.commit(&commit).unwrap_err(), fenced);
}

#[test]
fn a_server_that_is_killed_and_starts_again_loses_nothing() {
    let cluster = Cluster::start();
    cluster.create_named("work");
    let access = access(&cluster.address("work"));
    PostgresStore::init(&access).unwrap();
    let store = PostgresStore::open(&access).unwrap();
    append(&store, "a", 0, &texts(["1"]));
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            for number in 1..200 {
                append(&store, "a", number, &texts(["more"]));
            }
        });
        cluster.crash();
        cluster.start_again();
        writing.join().unwrap();
    });
    assert_eq!(values(&store, "a").len(), 200);
}

#[test]
fn a_database_that_stays_away_is_an_error_that_says_since_when() {
    let (relay, database) = (Relay::to(Cluster::shared().port()), database());
    let away_max = Duration::from_millis(200);
    let access = PostgresAccess { away_max, ..access(&relay.address(&database)) };
    let store = PostgresStore::open(&access).unwrap();
    let before = std::time::SystemTime::now();
    relay.close();
    let error = store.last(&journal("a")).unwrap_err();
    let StoreError::Away { since, .. } = &error else { panic!("{error:?}") };
    assert!(*since >= before);
    assert!(!error.to_string().contains(&relay.port().to_string()), "{error}");
    relay.open();
    assert_eq!(store.last(&journal("a")).unwrap(), 0);
}

#[test]
fn a_lease_is_not_taken_over_between_a_fence_and_its_commit() {
    let (relay, database, store) = relayed();
    let fence = granted(&store, "run");
    let heir = PostgresStore::open(&access(&Cluster::shared().address(&database))).unwrap();
    let (journal, entries) = (journal("a"), texts(["x"]));
    std::thread::scope(|scope| {
        let store = &store;
        let (fence, journal, entries) = (&fence, &journal, &entries);
        let writing = scope.spawn(move || {
            for expected in 0.. {
                let append = Append { journal, expected, entries };
                let commit =
                    Commit { fence: Some(fence), append: Some(append), ..Commit::unsynced() };
                if let Err(error) = store.commit(&commit) {
                    assert!(matches!(error, StoreError::Fenced { .. }), "{error}");
                    return expected;
                }
            }
            0
        });
        while heir.last(journal).unwrap() < 20 {}
        heir.acquire("run", "heir", Some(fence.token)).unwrap();
        let last = heir.last(journal).unwrap();
        assert_eq!(writing.join().unwrap(), last, "an entry behind the heir");
        assert_eq!(heir.last(journal).unwrap(), last);
    });
    drop(relay);
}

fn request<'a>(lanes: &'a [ClaimLane<'a>], fence: Option<&'a Fence>) -> ClaimRequest<'a> {
    ClaimRequest {
        durability: Durability::Synced,
        fence,
        kind: Kind::Session,
        project: "/projects/one",
        lanes,
        done: "completed",
        offers: &[],
        skip: &[],
        status: "taken",
        to: None,
        note: "note",
        lease: Some(ClaimLease { prefix: "task/", holder: "me" }),
    }
}

const OPEN: &[ClaimLane<'_>] = &[ClaimLane { lane: "open/", only_while: None, aside: None }];

fn waiting(store: &dyn Store, count: i64) {
    let puts = (0..count).map(|number| Put {
        queued: Some(Queued::at("open/", number)),
        ..put(&format!("{number}"), Expected::Absent, "1")
    });
    store.commit(&Commit { puts: puts.collect(), ..Commit::synced() }).unwrap();
}

#[test]
fn claimers_at_once_get_each_record_once() {
    let database = database();
    let address = Cluster::shared().address(&database);
    let store = PostgresStore::open(&access(&address)).unwrap();
    waiting(&store, 200);
    let mut names: Vec<String> = std::thread::scope(|scope| {
        let claim_all = || {
            let store = PostgresStore::open(&access(&address)).unwrap();
            let mut names = Vec::new();
            while let Some(claimed) = store.claim(&request(OPEN, None)).unwrap() {
                names.push(claimed.before.key.name);
            }
            names
        };
        let claimers: Vec<_> = (0..8).map(|_| scope.spawn(claim_all)).collect();
        claimers.into_iter().flat_map(|claimer| claimer.join().unwrap()).collect()
    });
    names.sort_by_key(|name| name.parse::<u32>().unwrap());
    assert_eq!(names, (0..200).map(|number| number.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_claim_reads_a_page_of_a_long_lane() {
    let database = database();
    let cluster = Cluster::shared();
    let store = PostgresStore::open(&access(&cluster.address(&database))).unwrap();
    // The order of the ranks is not that on the disk, so that sorting all seems to be cheaper.
    let puts = (0..2_000).map(|number| Put {
        queued: Some(Queued::at("open/", number * 7 % 5)),
        value: "x".repeat(500),
        ..put(&format!("{number}"), Expected::Absent, "1")
    });
    store.commit(&Commit { puts: puts.collect(), ..Commit::synced() }).unwrap();
    cluster.sql(&database, "ANALYZE");
    // Both in one transaction, whose reads alone are counted.
    let read = cluster.sql(
        &database,
        "SELECT r.found_name FROM hookwright.projects AS p, hookwright.first_ready( \
         'session', p.id, 'open/', NULL, 'done', '{}', '{}', 'task/', -9223372036854775808, 0, 10, \
         true \
         ) AS r; SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) \
         FROM pg_stat_xact_user_tables WHERE relid = 'hookwright.records'::regclass",
    );
    let (found, fetched) = read.split_once('\n').unwrap();
    assert_eq!(found, "\\x30", "the first one is chosen");
    assert!(fetched.parse::<u64>().unwrap() < 100, "it reads {fetched} records");
}

#[test]
fn a_claim_whose_answer_was_lost_is_made_once_and_is_one_round_trip() {
    let (relay, _, store) = relayed();
    waiting(&store, 2);
    let before = relay.round_trips();
    let first = store.claim(&request(OPEN, None)).unwrap().unwrap();
    assert_eq!(relay.round_trips() - before, 1);
    assert_eq!((first.before.key.name.as_str(), first.before.status.as_str()), ("0", "running"));
    let second = std::thread::scope(|scope| {
        relay.hold_answers();
        let claiming = scope.spawn(|| store.claim(&request(OPEN, None)));
        relay.wait_until_held(1);
        relay.cut();
        relay.release();
        claiming.join().unwrap().unwrap().unwrap()
    });
    assert_eq!((second.before.key.name.as_str(), second.before.status.as_str()), ("1", "running"));
    let now = store.get(Kind::Session, &key("1")).unwrap().unwrap();
    assert_eq!((now.version, now.status.as_str()), (second.version, "taken"));
    let token = store.holder("task/1").unwrap().map(|held| held.token);
    assert_eq!(token, second.fence.map(|fence| fence.token));
    assert_eq!(store.claim(&request(OPEN, None)).unwrap(), None);
}

#[test]
fn entries_of_dropped_journals_are_deleted_in_steps() {
    let database = database();
    let store = PostgresStore::open(&access(&Cluster::shared().address(&database))).unwrap();
    let entries = vec!["x".to_owned(); 2_500];
    append(&store, "gone", 0, &entries);
    append(&store, "kept", 0, &texts(["1"]));
    store.commit(&Commit { drop_journals: vec![journal("gone")], ..Commit::unsynced() }).unwrap();
    assert_eq!(store.reclaim(Rewrite::IfQuick).unwrap().entries, 2_500);
    let left = Cluster::shared().sql(&database, "SELECT count(*) FROM hookwright.entries");
    assert_eq!(left, "1");
    assert_eq!(store.reclaim(Rewrite::IfQuick).unwrap(), Default::default());
    assert_eq!(values(&store, "kept"), ["1"]);
}

#[test]
fn a_lane_that_does_not_fit_into_an_index_is_refused() {
    let lane = "x".repeat(limits::POSTGRES_LANE_BYTES_MAX + 1);
    let queued = Some(Queued::at(lane, 1));
    let puts = vec![Put { queued, ..put("a", Expected::Any, "1") }];
    let refused = postgres().commit(&Commit { puts, ..Commit::synced() }).unwrap_err();
    assert!(matches!(refused, StoreError::TooLarge { what: "bytes of a lane", .. }), "{refused}");
}

#[test]
fn everything_of_the_largest_size_fits() {
    let store = postgres();
    let long = |bytes: usize| {
        // Without repetition, which an index entry could compress.
        let mut number = 0x2545_F491_4F6C_DD1D_u64;
        let mut letter = || {
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            char::from(b'!' + u8::try_from(number % 90).unwrap())
        };
        (0..bytes).map(|_| letter()).collect::<String>()
    };
    let mut large = put("", Expected::Absent, "1");
    large.key.project = long(limits::PROJECT_BYTES_MAX);
    large.key.name = long(limits::NAME_BYTES_MAX);
    large.status = long(limits::STATUS_BYTES_MAX);
    large.queued = Some(Queued::at(long(limits::POSTGRES_LANE_BYTES_MAX), 1));
    let key = large.key.clone();
    store.commit(&Commit { puts: vec![large], ..Commit::synced() }).unwrap();
    assert_eq!(store.get(Kind::Session, &key).unwrap().unwrap().key, key);
    granted(&store, &long(limits::NAME_BYTES_MAX));
}

#[test]
fn a_database_that_cannot_be_used_is_an_error_of_its_own() {
    let cluster = Cluster::shared();
    let empty = cluster.create_database("template1");
    assert_eq!(opening(&access(&cluster.address(&empty))), StoreError::NoSchema);
    let none = opening(&access(&cluster.address("no_such_database")));
    assert!(matches!(&none, StoreError::Denied { cause } if cause.contains("no such database")));

    let newer = database();
    cluster.sql(&newer, "UPDATE hookwright.schema_version SET version = 99");
    let supported = 1;
    assert_eq!(
        opening(&access(&cluster.address(&newer))),
        StoreError::Newer { found: 99, supported }
    );
    cluster.sql(&newer, "UPDATE hookwright.schema_version SET version = 0");
    let older = StoreError::Older { found: 0, needed: supported };
    assert_eq!(opening(&access(&cluster.address(&newer))), older);

    let of_worker = |database: &str| {
        let address = cluster.address(database).replace("owner@", &format!("{WORKER}@"));
        access(&address)
    };
    let without = opening(&of_worker(&newer));
    assert!(
        matches!(&without, StoreError::Denied { cause } if cause.contains("asks for a password"))
    );
    let with = |password: &str| {
        let password = Some(Password::new(password.into()));
        PostgresAccess { password, ..of_worker(&newer) }
    };
    let wrong = opening(&with("wrong"));
    assert!(matches!(&wrong, StoreError::Denied { cause } if cause.contains("password is wrong")));
    // The right password, but no right to use the schema.
    let denied = opening(&with(PASSWORD));
    assert!(matches!(&denied, StoreError::Denied { cause } if cause.contains("permission denied")));
    assert!(!denied.to_string().contains(PASSWORD));
}

#[test]
fn something_else_than_a_postgres_is_told_apart() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        use std::io::Write;
        for mut client in listener.incoming().flatten() {
            let _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let address = access(&format!("postgres://me@127.0.0.1:{port}/work"));
    assert_eq!(opening(&address), StoreError::NotPostgres);
}

#[test]
fn an_encrypted_connection_verifies_the_name_and_the_authority() {
    let cluster = Cluster::shared();
    let database = database();
    let root = std::fs::read(cluster.certificate()).unwrap();
    let at = |host: &str, root_certificate: Option<Vec<u8>>| {
        let address = cluster.address(&database).replace("127.0.0.1", host);
        PostgresAccess { root_certificate, ..access(&address) }
    };
    let store = PostgresStore::open(&at("localhost", Some(root.clone()))).unwrap();
    append(&store, "a", 0, &texts(["1"]));
    let is_encrypted = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE \
                        application_name = 'hookwright' AND datname = ";
    assert_eq!(cluster.sql("postgres", &format!("{is_encrypted}'{database}'")), "t");
    // The certificate has another name.
    let error = opening(&at("127.0.0.1", Some(root)));
    assert!(matches!(error, StoreError::Untrusted { .. }), "{error:?}");
    // Another authority.
    let other = std::process::Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other"])
        .args(["-keyout", "/dev/null"])
        .output()
        .unwrap();
    let error = opening(&at("localhost", Some(other.stdout)));
    assert!(matches!(error, StoreError::Untrusted { .. }), "{error:?}");
}
