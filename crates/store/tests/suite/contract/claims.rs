//! Rules for claims.

use std::collections::BTreeSet;
use std::sync::Mutex;

use hookwright_store::{
    Acquired, ClaimLane, ClaimLease, ClaimRequest, ClaimedRecord, Commit, Durability, Expected,
    Fence, Kind, LaneKey, LeaseState, Put, Queued, Store, StoreError, limits,
};

use super::{granted, write};
use crate::situation::{key, put};

const OPEN: ClaimLane<'_> = ClaimLane { lane: "open/", only_while: None, aside: None };

/// A claim from the lane `open/`.
fn request<'a>() -> ClaimRequest<'a> {
    ClaimRequest {
        durability: Durability::Unsynced,
        fence: None,
        kind: Kind::Session,
        project: "/projects/one",
        lanes: &[OPEN],
        done: "done",
        offers: &[],
        skip: &[],
        status: "taken",
        to: Some("by/me/"),
        note: "me",
        lease: None,
    }
}

fn queue(store: &dyn Store, name: &str, queued: Queued) -> u64 {
    let status = "open".to_owned();
    write(store, Put { status, queued: Some(queued), ..put(name, Expected::Any, name) })
}

fn end(store: &dyn Store, name: &str) {
    let status = "done".to_owned();
    write(store, Put { status, ..put(name, Expected::Any, "ended") });
}

fn claim(store: &dyn Store, request: &ClaimRequest<'_>) -> Option<ClaimedRecord> {
    store.claim(request).unwrap()
}

fn name(store: &dyn Store, request: &ClaimRequest<'_>) -> Option<String> {
    claim(store, request).map(|claimed| claimed.before.key.name)
}

fn in_lane(store: &dyn Store, lane: &str) -> Vec<String> {
    let lane = LaneKey { kind: Kind::Session, project: "/projects/one", lane };
    let page = store.queue(lane, i64::MIN, 100).unwrap();
    page.into_iter().map(|(_, record)| record.key.name).collect()
}

fn after(names: &[&str], rank: i64) -> Queued {
    let waits_for = names.iter().map(|name| (*name).to_owned()).collect();
    Queued { waits_for, ..Queued::at("open/", rank) }
}

pub(super) fn a_claim_takes_the_first_record_of_all_its_lanes(store: &dyn Store) {
    queue(store, "b", Queued::at("open/", 2));
    queue(store, "c", Queued::at("open/", 2));
    queue(store, "a", Queued::at("left/", 1));
    queue(store, "d", Queued::at("left/", 3));
    queue(store, "elsewhere", Queued::at("other/", 0));
    write(store, Put { kind: Kind::Task, ..put("t", Expected::Any, "no session") });
    let lanes = [OPEN, ClaimLane { lane: "left/", ..OPEN }];
    let request = ClaimRequest { lanes: &lanes, ..request() };
    let order: Vec<String> = std::iter::from_fn(|| name(store, &request)).collect();
    assert_eq!(order, ["a", "b", "c", "d"]);
    assert_eq!(in_lane(store, "by/me/"), ["a", "b", "c", "d"]);
    assert_eq!(in_lane(store, "other/"), ["elsewhere"]);
}

pub(super) fn a_claim_writes_status_lane_and_note_and_keeps_the_value(store: &dyn Store) {
    let version = queue(store, "a", Queued::at("open/", 1));
    let before = store.get(Kind::Session, &key("a")).unwrap().unwrap();
    assert_eq!((before.version, before.claim_note.as_deref()), (version, None));
    let changes = store.changes().unwrap();
    let claimed = claim(store, &request()).unwrap();
    assert_ne!(store.changes().unwrap(), changes, "readers learn of it");
    assert_eq!((claimed.before, claimed.fence), (before.clone(), None));
    assert!(claimed.version > version);
    let now = store.get(Kind::Session, &key("a")).unwrap().unwrap();
    assert_eq!((now.version, now.status.as_str()), (claimed.version, "taken"));
    assert_eq!((now.value, now.place), (before.value, before.place));
    assert_eq!(now.claim_note.as_deref(), Some("me"));
    // A writer that read the record before the claim is too late.
    let late = Commit { puts: vec![put("a", Expected::Version(version), "x")], ..Commit::synced() };
    store.commit(&late).unwrap_err();
    // Without a new lane it leaves the queue.
    queue(store, "b", Queued::at("open/", 1));
    assert!(claim(store, &ClaimRequest { to: None, ..request() }).is_some());
    assert_eq!((in_lane(store, "open/"), in_lane(store, "by/me/").len()), (vec![], 1));
}

pub(super) fn the_next_put_removes_the_note_of_a_claim(store: &dyn Store) {
    queue(store, "a", Queued::at("open/", 1));
    let version = claim(store, &request()).unwrap().version;
    let queued = Some(Queued::at("by/me/", 1));
    let same = Put { status: "taken".into(), queued, ..put("a", Expected::Version(version), "2") };
    write(store, same);
    let now = store.get(Kind::Session, &key("a")).unwrap().unwrap();
    assert_eq!((now.value.as_str(), now.claim_note), ("2", None));
    queue(store, "a", Queued::at("open/", 1));
    assert!(claim(store, &request()).is_some());
    end(store, "a");
    assert_eq!(store.get(Kind::Session, &key("a")).unwrap().unwrap().claim_note, None);
}

pub(super) fn a_claim_passes_over_what_waits_for_a_record_that_is_not_done(store: &dyn Store) {
    for first in ["x", "y"] {
        write(store, put(first, Expected::Any, "not done"));
    }
    queue(store, "a", after(&["x", "y"], 1));
    queue(store, "b", after(&["never there"], 2));
    queue(store, "c", after(&[], 3));
    let claimed = |status: &str| {
        let taken = name(store, &request());
        let status = status.to_owned();
        taken.inspect(|name| {
            write(store, Put { status, ..put(name, Expected::Any, "ended") });
        })
    };
    assert_eq!(claimed("done").as_deref(), Some("c"));
    end(store, "x");
    assert_eq!(claimed("done"), None, "it waits for y, too");
    end(store, "y");
    assert_eq!(claimed("done").as_deref(), Some("a"));
    assert_eq!(in_lane(store, "open/"), ["b"]);
}

pub(super) fn a_claim_moves_what_waits_to_the_lane_of_what_it_waits_for(store: &dyn Store) {
    write(store, put("x", Expected::Any, "not done"));
    queue(store, "a", after(&["x"], 1));
    queue(store, "b", after(&[], 2));
    let lanes = [ClaimLane { aside: Some("after/"), ..OPEN }];
    let request = ClaimRequest { lanes: &lanes, ..request() };
    assert_eq!(name(store, &request).as_deref(), Some("b"));
    assert_eq!((in_lane(store, "open/"), in_lane(store, "after/x/")), (vec![], vec!["a".into()]));
    let moved = store.get(Kind::Session, &key("a")).unwrap().unwrap();
    assert_eq!((moved.status.as_str(), moved.claim_note), ("open", None));
    assert_eq!(name(store, &request), None);
}

pub(super) fn a_claim_passes_over_what_needs_more_than_is_offered(store: &dyn Store) {
    let needs = |labels: &[&str], rank| {
        let needs = labels.iter().map(|label| (*label).to_owned()).collect();
        Queued { needs, ..Queued::at("open/", rank) }
    };
    queue(store, "a", needs(&["gpu", "linux"], 1));
    queue(store, "b", needs(&["linux"], 2));
    queue(store, "c", needs(&[], 3));
    let (linux, both) = (["linux".to_owned()], ["linux".to_owned(), "gpu".to_owned()]);
    let with = |offers| name(store, &ClaimRequest { offers, ..request() });
    assert_eq!(with(&[]).as_deref(), Some("c"));
    assert_eq!(with(&linux).as_deref(), Some("b"));
    assert_eq!(with(&linux), None);
    assert_eq!(with(&both).as_deref(), Some("a"));
}

pub(super) fn a_claim_passes_over_the_names_to_skip(store: &dyn Store) {
    queue(store, "a", Queued::at("open/", 1));
    queue(store, "b", Queued::at("open/", 2));
    let skip = ["a".to_owned()];
    let request = ClaimRequest { skip: &skip, ..request() };
    assert_eq!(name(store, &request).as_deref(), Some("b"));
    assert_eq!(name(store, &request), None);
    assert_eq!(in_lane(store, "open/"), ["a"]);
}

pub(super) fn a_claim_takes_the_lease_of_its_record(store: &dyn Store) {
    queue(store, "a", Queued::at("open/", 1));
    queue(store, "b", Queued::at("open/", 2));
    let held = granted(store, "run/a", "another", None);
    let lease = Some(ClaimLease { prefix: "run/", holder: "me" });
    let request = ClaimRequest { lease, ..request() };
    let claimed = claim(store, &request).unwrap();
    assert_eq!(claimed.before.key.name, "b", "the lease of the other one is held");
    let fence = claimed.fence.unwrap();
    assert_eq!(fence.lease, "run/b");
    assert!(fence.token > held);
    let holder = store.holder("run/b").unwrap().unwrap();
    assert_eq!((holder.holder.as_str(), holder.token), ("me", fence.token));
    assert!(matches!(store.acquire("run/b", "late", None).unwrap(), Acquired::Held(_)));
    let commit = Commit { fence: Some(&fence), ..Commit::synced() };
    store.commit(&commit).unwrap();
    assert_eq!(claim(store, &request), None);
    assert!(store.release("run/a", held).unwrap());
    assert!(claim(store, &request).is_some());
}

pub(super) fn a_claim_behind_a_fence_fails_once_the_lease_was_passed_on(store: &dyn Store) {
    queue(store, "a", Queued::at("open/", 1));
    let token = granted(store, "run", "old", None);
    let fence = Fence { lease: "run".into(), token };
    let request = ClaimRequest { fence: Some(&fence), ..request() };
    let newer = granted(store, "run", "new", Some(token));
    let fenced = StoreError::Fenced { lease: "run".into(), token, current: Some(newer) };
    assert_eq!(store.claim(&request).unwrap_err(), fenced);
    assert_eq!(in_lane(store, "open/"), ["a"]);
    let fence = Fence { lease: "run".into(), token: newer };
    assert!(claim(store, &ClaimRequest { fence: Some(&fence), ..request }).is_some());
}

pub(super) fn a_lane_is_claimed_from_only_while_its_lease_is_as_it_was_found(store: &dyn Store) {
    queue(store, "a", Queued::at("by/a/", 1));
    let from = |token: Option<u64>| {
        let only_while = Some(LeaseState { lease: "session/a", token });
        let lanes = [ClaimLane { lane: "by/a/", only_while, aside: None }];
        name(store, &ClaimRequest { lanes: &lanes, ..request() })
    };
    let dead = granted(store, "session/a", "dead", None);
    assert_eq!(from(None), None, "it is held");
    let alive = granted(store, "session/a", "resumed", Some(dead));
    assert_eq!(from(Some(dead)), None, "it was resumed");
    assert!(store.release("session/a", alive).unwrap());
    assert_eq!(from(Some(alive)), None, "it was given back");
    assert_eq!(from(None).as_deref(), Some("a"));
}

pub(super) fn a_claim_that_is_too_large_is_refused(store: &dyn Store) {
    queue(store, "a", Queued::at("open/", 1));
    let long = "x".repeat(limits::CLAIM_NOTE_BYTES_MAX + 1);
    let lanes = vec![OPEN; limits::CLAIM_LANES_MAX + 1];
    for request in [
        ClaimRequest { note: &long, ..request() },
        ClaimRequest { status: &long, ..request() },
        ClaimRequest { to: Some(&long), ..request() },
        ClaimRequest { lanes: &lanes, ..request() },
    ] {
        assert!(matches!(store.claim(&request), Err(StoreError::TooLarge { .. })), "{request:?}");
    }
    assert_eq!(in_lane(store, "open/"), ["a"]);
}

pub(super) fn threads_that_claim_at_once_get_each_record_once(store: &dyn Store) {
    const RECORDS: usize = 60;
    for number in 0..RECORDS {
        queue(store, &format!("{number:02}"), Queued::at("open/", 1));
    }
    let all = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                while let Some(name) = name(store, &request()) {
                    all.lock().unwrap().push(name);
                }
            });
        }
    });
    let all = all.into_inner().unwrap();
    assert_eq!((all.len(), all.iter().collect::<BTreeSet<_>>().len()), (RECORDS, RECORDS));
}
