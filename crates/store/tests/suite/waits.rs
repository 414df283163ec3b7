//! Questions to people: stored before they are sent, decided once.

use std::sync::{Arc, Barrier};

use hookwright_events::wait::{AnswerMeaning, Paths, PersonsDecision, Wait, WaitKey, WaitState};
use hookwright_store::{
    AllButOneLive, Decide, KeptWaits, Opened, SqliteStore, Store, StoreError, WaitError, limits,
};
use serde_json::{Value, json};

use crate::actor::{self, Actor, listen, tell};
use crate::situation::for_every_store;

const DAY_MS: i64 = 86_400_000;

fn wait(id: &str) -> Wait {
    Wait {
        id: id.into(),
        project: "/projects/one".into(),
        root: None,
        session: Some("calm-fox".into()),
        key: None,
        keeper: "alive".into(),
        bell: String::new(),
        hook: "deploy".into(),
        event: "stage:complete".into(),
        subject: None,
        pipeline: None,
        stage: None,
        iteration: None,
        question: "deploy?".into(),
        offered: Vec::new(),
        changed_files: Paths::default(),
        stage_outputs: Paths::default(),
        since_ms: 1_000,
        until_ms: 9_000,
        base_url: "http://127.0.0.1:8765".into(),
        port: 8765,
        request: json!({ "body": "${CALLBACK_URL}" }),
        sent: false,
        state: WaitState::Waiting,
    }
}

fn decision(action: &str, by: &str, at_ms: i64) -> PersonsDecision {
    PersonsDecision {
        action: action.into(),
        word: AnswerMeaning::Yes,
        message: None,
        by: by.into(),
        at_ms,
        response: json!({ "action": action, "score": 7 }),
    }
}

fn every(rule: impl Fn(KeptWaits)) {
    for_every_store(|store| rule(KeptWaits::new(store, Arc::new(AllButOneLive::default()))));
}

#[test]
fn a_wait_is_kept_whole_and_found_again_instead_of_being_made_twice() {
    every(|waits| {
        assert_eq!(waits.get("k7", 2_000).unwrap(), None);
        assert_eq!(waits.open(&wait("k7")).unwrap(), Opened::New);
        assert_eq!(waits.get("k7", 2_000).unwrap(), Some(wait("k7")));
        waits.sent("k7", 2_000).unwrap();
        let other = Wait { question: "another?".into(), ..wait("k7") };
        let there = Wait { sent: true, ..wait("k7") };
        assert_eq!(waits.open(&other).unwrap(), Opened::AlreadyOpen(Box::new(there)));
    });
}

#[test]
fn opening_and_deciding_are_on_the_disk_when_they_return() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path()).unwrap());
    let waits = KeptWaits::new(store.clone(), Arc::new(AllButOneLive::default()));
    waits.open(&wait("k7")).unwrap();
    assert_eq!(store.syncs(), 1);
    waits.sent("k7", 2_000).unwrap();
    assert_eq!(store.syncs(), 2);
    waits.decide("k7", &decision("approve", "ann", 3_000)).unwrap();
    assert_eq!(store.syncs(), 3);
}

#[test]
fn the_first_decision_counts_and_the_second_is_told_of_it() {
    every(|waits| {
        waits.open(&wait("k7")).unwrap();
        let first = decision("approve", "ann", 3_000);
        let decided = Wait { state: WaitState::Decided(first.clone()), ..wait("k7") };
        let counts = Decide::Counts(Box::new(decided.clone()));
        assert_eq!(waits.decide("k7", &first).unwrap(), counts);
        let second = waits.decide("k7", &decision("reject", "bob", 4_000)).unwrap();
        assert_eq!(second, Decide::TooLate(Box::new(decided)));
        let used = Wait { state: WaitState::Used(first), ..wait("k7") };
        assert_eq!(waits.settle("k7", 5_000).unwrap(), Some(used.clone()));
        // A session that was killed before it could record the answer asks again.
        assert_eq!(waits.settle("k7", 99_000).unwrap(), Some(used.clone()));
        let third = waits.decide("k7", &decision("reject", "bob", 6_000)).unwrap();
        assert_eq!(third, Decide::TooLate(Box::new(used)));
        assert_eq!(waits.decide("k8", &decision("ok", "bob", 1)).unwrap(), Decide::Unknown);
    });
}

#[test]
fn a_wait_whose_time_is_over_cannot_be_decided_and_one_decided_in_time_stays_so() {
    every(|waits| {
        waits.open(&wait("late")).unwrap();
        waits.open(&wait("just")).unwrap();
        let in_time = decision("approve", "ann", 8_999);
        assert!(matches!(waits.decide("just", &in_time).unwrap(), Decide::Counts(_)));
        let just = waits.settle("just", 9_001).unwrap().unwrap();
        assert_eq!(just.state, WaitState::Used(in_time));
        let expired = Wait { state: WaitState::Expired, ..wait("late") };
        let late = waits.decide("late", &decision("approve", "ann", 9_000)).unwrap();
        assert_eq!(late, Decide::TooLate(Box::new(expired.clone())));
        assert!(waits.is_waiting("late").unwrap(), "no process has recorded it yet");
        assert_eq!(waits.settle("late", 9_000).unwrap(), Some(expired.clone()));
        assert!(!waits.is_waiting("late").unwrap());
        // Setting the clock back does not undo a decision.
        let back = waits.decide("late", &decision("approve", "ann", 2_000)).unwrap();
        assert_eq!(back, Decide::TooLate(Box::new(expired)));
    });
}

#[test]
fn a_wait_that_cannot_be_adopted_is_abandoned_with_its_keeper() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("memory"));
    let waits = KeptWaits::new(
        store,
        Arc::new(AllButOneLive { ended: "dead".into(), ..Default::default() }),
    );
    let key = Some(WaitKey {
        session: "calm-fox".into(),
        firing: "1".into(),
        hook: "deploy".into(),
        digest: "d".into(),
    });
    let kept = |id: &str, keeper: &str| Wait { keeper: keeper.into(), ..wait(id) };
    waits.open(&kept("a", "alive")).unwrap();
    waits.open(&kept("b", "dead")).unwrap();
    waits.open(&Wait { key, ..kept("c", "dead") }).unwrap();
    let ids: Vec<String> = waits.waiting(2_000).unwrap().into_iter().map(|wait| wait.id).collect();
    assert_eq!(ids, ["a", "c"]);
    let gone = Wait { state: WaitState::Abandoned, ..kept("b", "dead") };
    let told = waits.decide("b", &decision("approve", "ann", 2_000)).unwrap();
    assert_eq!(told, Decide::TooLate(Box::new(gone)));
    let adopted = waits.get("c", 2_000).unwrap().unwrap();
    assert!(!waits.is_attended(&adopted), "a session can be resumed");
    let adopted =
        waits.adopt("c", "alive", "itsbell", Some("/other/shop"), 2_000).unwrap().unwrap();
    assert!(waits.is_attended(&adopted) && adopted.bell == "itsbell");
    assert_eq!(adopted.project_root(), "/other/shop", "it continues in another checkout");
    assert_eq!(waits.abandon("c", 2_000).unwrap().unwrap().state, WaitState::Abandoned);
    let told = waits.decide("c", &decision("approve", "ann", 2_000)).unwrap();
    assert!(matches!(told, Decide::TooLate(wait) if wait.state == WaitState::Abandoned));
}

#[test]
fn abandoning_leaves_a_decision_as_it_is() {
    every(|waits| {
        waits.open(&wait("k7")).unwrap();
        let first = decision("approve", "ann", 3_000);
        waits.decide("k7", &first).unwrap();
        let left = waits.abandon("k7", 4_000).unwrap().unwrap();
        assert_eq!(left.state, WaitState::Decided(first));
    });
}

#[test]
fn what_ended_long_ago_is_forgotten_as_new_ones_come() {
    every(|waits| {
        waits.open(&wait("old")).unwrap();
        let since_ms = 61 * DAY_MS;
        waits.open(&Wait { since_ms, until_ms: since_ms + 1, ..wait("young") }).unwrap();
        assert_eq!(waits.get("old", since_ms).unwrap(), None);
        let since_ms = since_ms + 59 * DAY_MS;
        waits.open(&Wait { since_ms, until_ms: since_ms + 1, ..wait("new") }).unwrap();
        assert!(waits.get("young", since_ms).unwrap().is_some());
    });
}

#[test]
fn what_is_no_wait_of_ours_is_named() {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory().expect("memory"));
    let waits = KeptWaits::new(store.clone(), Arc::new(AllButOneLive::default()));
    waits.open(&wait("k7")).unwrap();
    let huge = Wait { request: Value::from("x".repeat(limits::VALUE_BYTES_MAX)), ..wait("k8") };
    let refused = waits.open(&huge).unwrap_err();
    assert!(matches!(refused, WaitError::Store(StoreError::TooLarge { .. })), "{refused}");
    let key = hookwright_store::RecordKey { project: String::new(), name: "k7".into() };
    let put = hookwright_store::Put {
        kind: hookwright_store::Kind::Wait,
        key,
        expected: hookwright_store::Expected::Any,
        value: "{}".into(),
        created_at_ms: 0,
        status: "waiting".into(),
        queued: None,
        moves: None,
    };
    let commit = hookwright_store::Commit::synced();
    store.commit(&hookwright_store::Commit { puts: vec![put], ..commit }).unwrap();
    let unreadable = waits.get("k7", 0).unwrap_err();
    assert!(matches!(&unreadable, WaitError::Unreadable { id, .. } if id == "k7"), "{unreadable}");
}

#[test]
fn of_many_threads_that_decide_at_once_exactly_one_counts() {
    every(|waits| {
        for round in 0..20 {
            let id = format!("w{round}");
            waits.open(&wait(&id)).unwrap();
            let together = Barrier::new(8);
            let counted: Vec<bool> = std::thread::scope(|scope| {
                let decide = |by: usize| {
                    let (waits, together, id) = (&waits, &together, &id);
                    scope.spawn(move || {
                        together.wait();
                        let told = waits.decide(id, &decision("ok", &by.to_string(), 2_000));
                        matches!(told.unwrap(), Decide::Counts(_))
                    })
                };
                let all: Vec<_> = (0..8).map(decide).collect();
                all.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(counted.iter().filter(|counts| **counts).count(), 1);
            let winner = counted.iter().position(|counts| *counts).unwrap().to_string();
            let kept = waits.get(&id, 2_000).unwrap().unwrap();
            assert_eq!(kept.state.decision().unwrap().by, winner);
        }
    });
}

#[test]
fn of_many_processes_that_decide_at_once_exactly_one_counts() {
    const WAITS: usize = 30;
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(folder.path()).unwrap());
    let waits = KeptWaits::new(store, Arc::new(AllButOneLive::default()));
    for number in 0..WAITS {
        waits.open(&wait(&number.to_string())).unwrap();
    }
    let mut actors: Vec<Actor> =
        (0..4).map(|_| Actor::start("waits::decides", folder.path())).collect();
    for (number, actor) in actors.iter_mut().enumerate() {
        actor.say(&number.to_string());
    }
    let mut won: Vec<String> = actors.into_iter().flat_map(Actor::end).collect();
    won.sort();
    let by = |number: usize| {
        let kept = waits.get(&number.to_string(), 2_000).unwrap().unwrap();
        format!("{number} {}", kept.state.decision().unwrap().by)
    };
    let mut expected: Vec<String> = (0..WAITS).map(by).collect();
    expected.sort();
    assert_eq!(won, expected);
}

#[test]
#[ignore = "a part that other tests start"]
fn decides() {
    let (store, me) = (actor::store(), listen());
    let waits = KeptWaits::new(Arc::new(store), Arc::new(AllButOneLive::default()));
    for number in 0..30 {
        let id = number.to_string();
        match waits.decide(&id, &decision("ok", &me, 2_000)).unwrap() {
            Decide::Counts(_) => tell(&format!("{id} {me}")),
            Decide::TooLate(wait) => assert_ne!(wait.state.decision().unwrap().by, me),
            Decide::Unknown => panic!("{id} is there"),
        }
    }
}
