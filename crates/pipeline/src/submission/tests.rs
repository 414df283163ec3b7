use hookwright_engine::ports::Ports;
use hookwright_store::SqliteStore;

use super::*;
use crate::sources::{RunRequest, Source, SourceRole, Sources};

const NOW: &str = "2026-11-18T20:00:00Z";

fn sources() -> Sources {
    let source = Source {
        role: SourceRole::Loop,
        path: "/p/loop.yaml".into(),
        shown_as: "loop.yaml".into(),
        dialect: None,
        text: "prompt: say hunter22".to_owned(),
    };
    let (loops, children, asked) = (Vec::new(), Vec::new(), RunRequest::default());
    Sources { all: vec![source], loops, children, asked }
}

fn record(name: &str, needs: Needs) -> SessionRecord {
    SessionRecord {
        name: name.to_owned(),
        workspace: "/p".to_owned(),
        start_time: NOW.to_owned(),
        status: SessionStatus::Queued,
        submission: Some(Submission { needs, ..Submission::default() }),
        ..SessionRecord::default()
    }
}

fn submit(store: &dyn Store, name: &str, needs: Needs) {
    let secrets = Secrets::new(vec![("PIN".to_owned(), "hunter22".to_owned())]);
    let clock = Ports::default().clock;
    let submitter = Submitter { store, secrets: &secrets, clock: &*clock };
    let sources = serde_json::to_value(sources()).expect("plain data");
    submitter.submit(&record(name, needs), sources).expect("stored");
}

fn store() -> SqliteStore {
    SqliteStore::in_memory().expect("memory")
}

fn key(name: &str) -> RecordKey {
    RecordKey { project: "/p".to_owned(), name: name.to_owned() }
}

fn stored(store: &dyn Store, name: &str) -> (String, SessionRecord) {
    let found = store.get(Kind::Session, &key(name)).expect("read").expect("it is there");
    (found.status, serde_json::from_str(&found.value).expect("a record"))
}

fn claim(
    store: &dyn Store,
    project: &str,
    worker: &str,
    offers: &[String],
) -> Result<Option<ClaimedSession>, StoreError> {
    let holder = lease::living(store).this();
    super::claim(store, project, Claimer { worker, holder: &holder, offers, skip: &[] })
}

/// A worker takes the session and is lost after these iterations.
fn lose(store: &dyn Store, worker: &str, iterations: u32) -> Returned {
    let claimed = claim(store, "/p", worker, &[]).expect("asked").expect("it is ready");
    let key = key(&claimed.name);
    let found = store.get(Kind::Session, &key).expect("read").expect("it is there");
    let mut record = claimed.record;
    record.status = SessionStatus::Active;
    record.iterations += iterations;
    record.submission.as_mut().expect("submitted").worker = Some(worker.to_owned());
    let puts = vec![put(&record, Expected::Version(found.version))];
    let commit = Commit { fence: Some(&claimed.fence), puts, ..Commit::synced() };
    store.commit(&commit).expect("written");
    give_back(store, &key, &claimed.fence, NOW.to_owned(), Return::Lost).expect("given back")
}

#[test]
fn a_submitted_session_has_its_sources_without_secrets_and_has_not_begun() {
    let store = store();
    submit(&store, "s", Needs::default());
    let journal = JournalKey { project: "/p".into(), session: "s".into() };
    let history = crate::history::History::read(&store, &journal).expect("read");
    assert!(!history.has_begun);
    let kept = history.sources.expect("kept");
    assert_eq!(kept.all[0].text, "prompt: say [secret PIN]");
    assert_eq!(stored(&store, "s").0, "queued");
}

#[test]
fn the_oldest_session_whose_needs_are_offered_is_taken_with_its_lease() {
    let store = store();
    let gpu = Needs { labels: vec!["gpu".to_owned()], ..Needs::default() };
    submit(&store, "a", gpu);
    submit(&store, "b", Needs::default());
    submit(&store, "c", Needs::default());
    let claimed = |offers: &[String]| {
        let claimed = claim(&store, "/p", "w", offers).expect("asked");
        claimed.map(|claimed| claimed.name)
    };
    assert_eq!(claimed(&[]).as_deref(), Some("b"));
    assert_eq!(claimed(&["label gpu".to_owned()]).as_deref(), Some("a"));
    assert_eq!(claimed(&[]).as_deref(), Some("c"));
    assert_eq!(claimed(&[]), None);
    assert!(store.holder("session//p/b").expect("read").is_some());
    let names = held(&store, "/p", "w").expect("read");
    let names: Vec<_> = names.into_iter().map(|record| record.key.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(holder_behind(&store, "/p", "").expect("read").as_deref(), Some("w"));
}

#[test]
fn a_session_that_is_given_back_waits_again_without_a_lease() {
    let store = store();
    submit(&store, "s", Needs::default());
    for worker in ["a", "b", "c", "d"] {
        let claimed = claim(&store, "/p", worker, &[]).expect("asked").expect("it is ready");
        let key = key("s");
        let now = || NOW.to_owned();
        let returned = give_back(&store, &key, &claimed.fence, now(), Return::GivenBack);
        assert_eq!(returned.expect("given back"), Returned::Queued);
        let late = give_back(&store, &key, &claimed.fence, now(), Return::Lost);
        assert_eq!(late.expect("too late"), Returned::Untouched);
    }
    let (status, record) = stored(&store, "s");
    assert_eq!((status.as_str(), record.submission.expect("submitted").losses), ("queued", 0));
    assert_eq!(store.holder("session//p/s").expect("read"), None);
    assert_eq!(holder_behind(&store, "/p", "").expect("read"), None);
}

#[test]
fn three_workers_in_a_row_without_an_iteration_pause_the_session() {
    let store = store();
    submit(&store, "s", Needs::default());
    assert_eq!(lose(&store, "a", 0), Returned::Queued);
    assert_eq!(lose(&store, "b", 0), Returned::Queued);
    // It got on with its work, so the count starts again.
    assert_eq!(lose(&store, "c", 1), Returned::Queued);
    assert_eq!(lose(&store, "d", 0), Returned::Queued);
    assert_eq!(lose(&store, "e", 0), Returned::Queued);
    let reason =
        "3 workers in a row were lost while they ran it, before an iteration ended".to_owned();
    assert_eq!(lose(&store, "f", 0), Returned::Paused { reason: reason.clone() });
    let (status, record) = stored(&store, "s");
    assert_eq!((status.as_str(), record.reason), ("paused", reason));
    assert!(claim(&store, "/p", "g", &[]).expect("asked").is_none());
    // A person lets it go on.
    let fence = lease::take(&store, "session//p/s").expect("free");
    let found = store.get(Kind::Session, &key("s")).expect("read").expect("it is there");
    queue_again(&store, &found, &fence, Vec::new(), None).expect("queued");
    assert_eq!(lose(&store, "g", 0), Returned::Queued);
}

/// A worker takes the session, and cannot run it.
fn refuse(store: &dyn Store, worker: &str) -> Returned {
    let claimed = claim(store, "/p", worker, &[]).expect("asked").expect("it is ready");
    let why = Return::Refused { reason: "no agent".to_owned() };
    give_back(store, &key("s"), &claimed.fence, NOW.to_owned(), why).expect("given back")
}

#[test]
fn a_worker_that_cannot_run_a_session_counts_once_however_often_it_tries() {
    let store = store();
    submit(&store, "s", Needs::default());
    let entries = || {
        let journal = JournalKey { project: "/p".into(), session: "s".into() };
        store.last(&journal).expect("read")
    };
    for _ in 0..10 {
        assert_eq!(refuse(&store, "a"), Returned::Queued);
        assert_eq!(entries(), 2, "its journal says it once");
    }
    assert_eq!(refuse(&store, "b"), Returned::Queued);
    assert_eq!(refuse(&store, "a"), Returned::Queued);
    let Returned::Paused { reason } = refuse(&store, "c") else { panic!("three refused it") };
    let expected = "3 workers in a row could not run it; on ";
    assert!(reason.starts_with(expected) && reason.ends_with(": no agent"), "{reason}");
    // A person lets it go on.
    let fence = lease::take(&store, "session//p/s").expect("free");
    let found = store.get(Kind::Session, &key("s")).expect("read").expect("it is there");
    queue_again(&store, &found, &fence, Vec::new(), None).expect("queued");
    for worker in ["a", "b", "a"] {
        assert_eq!(refuse(&store, worker), Returned::Queued);
    }
}

#[test]
fn only_sessions_of_a_worker_that_has_ended_are_recovered() {
    let store = store();
    submit(&store, "s", Needs::default());
    let now = || NOW.to_owned();
    let claimed = claim(&store, "/p", "w", &[]).expect("asked").expect("it is ready");
    assert_eq!(recover(&store, "/p", "w", &|_| false, &now).expect("looked"), []);
    // The same lease of a process that has ended.
    let mut child = std::process::Command::new("true").spawn().expect("it starts");
    let dead = lease::LeaseOwner { pid: child.id(), ..lease::LeaseOwner::this() };
    child.wait().expect("it ends");
    let dead = serde_json::to_string(&dead).expect("plain data");
    store.acquire("session//p/s", &dead, Some(claimed.fence.token)).expect("asked");
    let recovered = recover(&store, "/p", "w", &|_| false, &now).expect("looked");
    assert_eq!(recovered, [("s".to_owned(), Returned::Queued)]);
    assert!(claim(&store, "/p", "v", &[]).expect("asked").is_some());
}

#[test]
fn a_session_is_withdrawn_only_while_it_waits() {
    let store = store();
    submit(&store, "s", Needs::default());
    let found = || store.get(Kind::Session, &key("s")).expect("read").expect("it is there");
    let before = found();
    let claimed = claim(&store, "/p", "w", &[]).expect("asked").expect("it is ready");
    assert!(!withdraw(&store, &before, NOW.to_owned()).expect("asked"), "it was taken");
    assert!(!withdraw(&store, &found(), NOW.to_owned()).expect("asked"), "it runs");
    let why = Return::GivenBack;
    give_back(&store, &key("s"), &claimed.fence, NOW.to_owned(), why).expect("given back");
    assert!(withdraw(&store, &found(), NOW.to_owned()).expect("asked"));
    assert_eq!(stored(&store, "s").0, "interrupted");
    assert!(claim(&store, "/p", "w", &[]).expect("asked").is_none());
}

#[test]
fn what_no_worker_has_is_told_apart_from_what_no_worker_has_together() {
    let needs = |labels: &[&str], agents: &[&str]| Needs {
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        agents: agents.iter().map(|agent| (*agent).to_owned()).collect(),
        ..Needs::default()
    };
    let offer = |labels: &[&str], agents: &[&str]| {
        let Needs { labels, agents, .. } = needs(labels, agents);
        WorkerOffer { labels, agents, ..WorkerOffer::default() }
    };
    let needed = needs(&["gpu"], &["codex"]);
    for (workers, expected) in [
        (vec![], Some(UnmetNeeds::NoWorker)),
        (vec![offer(&[], &["codex"])], Some(UnmetNeeds::Nowhere(needs(&["gpu"], &[])))),
        (vec![offer(&[], &[])], Some(UnmetNeeds::Nowhere(needed.clone()))),
        (
            vec![offer(&["gpu"], &[]), offer(&[], &["codex"])],
            Some(UnmetNeeds::NotTogether(needed.clone())),
        ),
        (vec![offer(&["gpu"], &["codex", "claude"])], None),
    ] {
        assert_eq!(unmet_needs(&needed, &workers), expected);
    }
    let folder = Some(PathBuf::from("/srv/trees"));
    let needed = Needs { secrets: vec!["TOKEN".to_owned()], folder, ..Needs::default() };
    let unmet = unmet_needs(&needed, &[offer(&[], &[])]);
    assert_eq!(unmet, Some(UnmetNeeds::Nowhere(needed)));
}

#[test]
fn a_claim_looks_only_into_lanes_whose_sessions_the_worker_can_take() {
    let store = store();
    let label = |label: &str| Needs { labels: vec![label.to_owned()], ..Needs::default() };
    for number in 0..3 {
        submit(&store, &format!("gpu-{number}"), label("gpu"));
    }
    submit(&store, "plain", Needs::default());
    let lanes = |offers: &[String]| waiting_lanes(&store, "/p", offers).expect("read");
    assert_eq!(lanes(&[]), ["waiting/[]"]);
    assert_eq!(lanes(&label("gpu").marks()), ["waiting/[\"label gpu\"]", "waiting/[]"]);
    let take = |offers: &[String]| {
        let claimed = claim(&store, "/p", "w", offers).expect("asked");
        claimed.map(|claimed| claimed.name)
    };
    assert_eq!(take(&[]).as_deref(), Some("plain"));
    assert_eq!(take(&[]), None);
    assert_eq!(take(&label("gpu").marks()).as_deref(), Some("gpu-0"), "the oldest one");
}

#[test]
fn needs_that_do_not_fit_into_the_name_of_a_lane_count_all_the_same() {
    let store = store();
    let labels: Vec<String> = (0..100).map(|number| format!("{number:060}")).collect();
    let needs = Needs { labels, ..Needs::default() };
    submit(&store, "s", needs.clone());
    assert!(claim(&store, "/p", "w", &[]).expect("asked").is_none());
    let claimed = claim(&store, "/p", "w", &needs.marks()).expect("asked");
    assert_eq!(claimed.expect("it is ready").name, "s");
}
