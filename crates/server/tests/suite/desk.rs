//! The engine's port: waits that outlive the process, and the tasks that wait for them.

use std::sync::Arc;
use std::time::Duration;

use hookwright_config::CallbackAddress;
use hookwright_engine::ports::{AnswerMeaning, NewWait, OpenWait, WaitEnd, WaitKey, Waits};
use hookwright_events::wait::WaitState;
use hookwright_server::{Approvals, AskingProcess, AskingProject, Origin, PersonsAnswer, WaitDesk};
use hookwright_store::{SqliteStore, Store};
use serde_json::json;

use crate::client;
use crate::situation::{Situation, living};

/// A desk as in another process with the same state folder: only files are shared.
pub(crate) fn desk(situation: &Situation) -> WaitDesk {
    desk_at(situation, CallbackAddress { port: Some(0), ..CallbackAddress::default() }, 0)
}

pub(crate) fn desk_at(
    situation: &Situation,
    address: CallbackAddress,
    default_port: u16,
) -> WaitDesk {
    let folder = situation.folder.path().to_owned();
    WaitDesk::new(AskingProcess { pipeline: None, address, default_port }, move || {
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&folder).map_err(std::io::Error::other)?);
        let approvals = Approvals::of_folder(&folder, store, living());
        let project = AskingProject { name: "/home/ann/shop".to_owned(), root: None };
        Ok((approvals.map_err(std::io::Error::other)?, project))
    })
}

pub(crate) fn new_wait(firing: &str) -> NewWait {
    NewWait {
        key: Some(WaitKey {
            session: "calm-fox".into(),
            firing: firing.into(),
            hook: "deploy".into(),
            digest: "d".into(),
        }),
        session: Some("calm-fox".into()),
        hook: "deploy".into(),
        event: "stage:complete".into(),
        question: "deploy?".into(),
        timeout: Duration::from_secs(3600),
        request: json!({ "body": "rendered once" }),
        ..NewWait::default()
    }
}

fn said(action: &str) -> PersonsAnswer {
    PersonsAnswer {
        action: action.into(),
        message: None,
        by: "ann".into(),
        origin: Origin::Elsewhere,
        whole: None,
    }
}

#[tokio::test]
async fn a_wait_is_stored_and_listened_for_before_it_is_opened_and_ends_with_its_answer() {
    let situation = Situation::new();
    let desk = desk(&situation);
    let open = desk.open(new_wait("1")).await.unwrap();
    let kept = situation.approvals.get(&open.id).unwrap().unwrap();
    assert_eq!((kept.state.clone(), kept.sent), (WaitState::Waiting, false));
    assert_eq!(open.callback_url, situation.approvals.url_of(&kept));
    let expected = OpenWait {
        id: kept.id.clone(),
        callback_url: open.callback_url.clone(),
        since: hookwright_server::approvals::iso(kept.since_ms),
        until: hookwright_server::approvals::iso(kept.since_ms + 3_600_000),
        request: json!({ "body": "rendered once" }),
        was_sent: false,
        notes: Vec::new(),
    };
    assert_eq!(open, expected);
    desk.sent(&open.id).await.unwrap();
    assert!(situation.approvals.get(&open.id).unwrap().unwrap().sent);
    let url = open.callback_url.clone();
    let posting =
        tokio::task::spawn_blocking(move || client::post(&url, "{\"action\":\"ok\",\"n\":7}"));
    let WaitEnd::Decided { response, word, by, .. } = desk.decided(&open.id).await.unwrap() else {
        panic!("decided")
    };
    assert_eq!((response, word), (json!({ "action": "ok", "n": 7 }), AnswerMeaning::Yes));
    assert_eq!(by, "a request from 127.0.0.1");
    assert_eq!(posting.await.unwrap().unwrap().status, 200);
    let used = situation.approvals.get(&open.id).unwrap().unwrap();
    assert!(matches!(used.state, WaitState::Used(_)), "{:?}", used.state);
}

#[tokio::test]
async fn a_wait_from_before_a_crash_keeps_its_address_request_and_deadline() {
    let situation = Situation::new();
    let first = desk(&situation);
    let before = first.open(new_wait("1")).await.unwrap();
    first.sent(&before.id).await.unwrap();
    drop(first);
    assert!(client::get(&before.callback_url).is_err(), "no process listens");
    let second = desk(&situation);
    let key = new_wait("1").key.unwrap();
    assert_eq!(second.find(&new_wait("2").key.unwrap()).await.unwrap(), None);
    let after = second.find(&key).await.unwrap().unwrap();
    assert_eq!(after, OpenWait { was_sent: true, ..before.clone() });
    // Opening it without looking it up first finds it too, and creates no second one.
    let other = NewWait { request: json!("rendered again"), ..new_wait("1") };
    assert_eq!(second.open(other).await.unwrap(), after);
    assert_eq!(situation.approvals.waiting().unwrap().len(), 1);
    assert_eq!(client::get(&before.callback_url).unwrap().status, 200);
}

#[tokio::test]
async fn a_decision_without_a_listener_counts_and_counts_again_after_a_crash() {
    let situation = Situation::new();
    let first = desk(&situation);
    let before = first.open(new_wait("1")).await.unwrap();
    drop(first);
    situation.approvals.answer(&before.id, said("reject")).unwrap();
    for _ in 0..2 {
        let again = desk(&situation);
        let found = again.find(&new_wait("1").key.unwrap()).await.unwrap().unwrap();
        let end = again.decided(&found.id).await.unwrap();
        assert!(matches!(end, WaitEnd::Decided { word: AnswerMeaning::No, .. }), "{end:?}");
    }
}

#[tokio::test]
async fn a_decision_of_another_process_wakes_the_waiting_task() {
    let situation = Situation::new();
    let desk = desk(&situation);
    let open = desk.open(new_wait("1")).await.unwrap();
    let waiting = desk.decided(&open.id);
    let deciding = async {
        // It is waiting by now, or sees the decision in its first check.
        tokio::task::yield_now().await;
        situation.approvals.answer(&open.id, said("approve")).unwrap();
    };
    let (end, ()) = tokio::join!(waiting, deciding);
    assert!(matches!(end.unwrap(), WaitEnd::Decided { word: AnswerMeaning::Yes, .. }));
}

#[tokio::test(start_paused = true)]
async fn a_decision_is_found_even_if_the_deciding_process_was_killed_before_ringing() {
    let situation = Situation::new();
    let desk = desk(&situation);
    let open = desk.open(new_wait("1")).await.unwrap();
    let deciding = async {
        tokio::task::yield_now().await;
        let decision = hookwright_events::wait::PersonsDecision {
            action: "approve".into(),
            word: AnswerMeaning::Yes,
            message: None,
            by: "ann".into(),
            at_ms: hookwright_server::approvals::now_ms(),
            response: json!({ "action": "approve" }),
        };
        situation.waits.decide(&open.id, &decision).unwrap();
    };
    let (end, ()) = tokio::join!(desk.decided(&open.id), deciding);
    assert!(matches!(end.unwrap(), WaitEnd::Decided { word: AnswerMeaning::Yes, .. }));
}

#[tokio::test]
async fn a_wait_expires_and_can_no_longer_be_answered() {
    let situation = Situation::new();
    let desk = desk(&situation);
    let short = NewWait { timeout: Duration::from_millis(20), ..new_wait("1") };
    let open = desk.open(short).await.unwrap();
    assert_eq!(desk.decided(&open.id).await.unwrap(), WaitEnd::TimedOut);
    assert_eq!(client::post(&open.callback_url, "{\"action\":\"ok\"}").unwrap().status, 410);
    assert_eq!(desk.decided(&open.id).await.unwrap(), WaitEnd::TimedOut);
}

#[tokio::test]
async fn a_wait_without_a_key_is_always_new_and_can_be_abandoned() {
    let situation = Situation::new();
    let desk = desk(&situation);
    let keyless = || NewWait { key: None, session: None, ..new_wait("1") };
    let first = desk.open(keyless()).await.unwrap();
    let second = desk.open(keyless()).await.unwrap();
    assert_ne!(first.id, second.id);
    let leaving = async {
        tokio::task::yield_now().await;
        desk.abandon(&first.id).await.unwrap();
    };
    let (end, ()) = tokio::join!(desk.decided(&first.id), leaving);
    assert_eq!(end.unwrap(), WaitEnd::Abandoned);
    let late = client::post(&first.callback_url, "{\"action\":\"ok\"}").unwrap();
    assert_eq!(late.status, 410);
    assert_eq!(client::get(&second.callback_url).unwrap().status, 200);
    assert!(desk.decided("nobody00").await.is_err());
    assert!(desk.sent("nobody00").await.is_err());
}

#[tokio::test]
async fn a_response_being_sent_arrives_although_the_session_is_done() {
    for round in 0..10 {
        let situation = Situation::new();
        let desk = desk(&situation);
        let open = desk.open(new_wait(&round.to_string())).await.unwrap();
        let url = open.callback_url.clone();
        let posting =
            tokio::task::spawn_blocking(move || client::post(&url, "{\"action\":\"ok\"}"));
        desk.decided(&open.id).await.unwrap();
        drop(desk);
        assert_eq!(posting.await.unwrap().unwrap().status, 200);
    }
}

#[tokio::test]
async fn a_connection_without_a_request_ends_with_the_desk() {
    use std::io::Read;
    let situation = Situation::new();
    let desk = desk(&situation);
    let open = desk.open(new_wait("1")).await.unwrap();
    let mut spare = std::net::TcpStream::connect(client::parts(&open.callback_url).0).unwrap();
    assert_eq!(client::get(&open.callback_url).unwrap().status, 200);
    drop(desk);
    let end = spare.read(&mut [0; 1]);
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
}

#[tokio::test]
async fn a_thousand_waits_at_once_are_each_decided_in_any_order() {
    const WAITS: usize = 1000;
    let situation = Situation::new();
    let desk = Arc::new(desk(&situation));
    let mut waiting = tokio::task::JoinSet::new();
    let mut ids = Vec::new();
    for number in 0..WAITS {
        let open = desk.open(new_wait(&number.to_string())).await.unwrap();
        ids.push(open.id.clone());
        let desk = Arc::clone(&desk);
        waiting.spawn(async move { (number, desk.decided(&open.id).await.unwrap()) });
    }
    let approvals = Arc::clone(&situation.approvals);
    let deciding = tokio::task::spawn_blocking(move || {
        // 619 and 1000 have no common divisor, so every wait is decided.
        for turn in 0..WAITS {
            let number = turn * 619 % WAITS;
            let action = if number.is_multiple_of(3) { "no" } else { "yes" };
            approvals.answer(&ids[number], said(action)).unwrap();
        }
    });
    let mut ends = waiting.join_all().await;
    deciding.await.unwrap();
    ends.sort_by_key(|(number, _)| *number);
    assert_eq!(ends.len(), WAITS);
    for (number, end) in ends {
        let expected =
            if number.is_multiple_of(3) { AnswerMeaning::No } else { AnswerMeaning::Yes };
        assert!(matches!(&end, WaitEnd::Decided { word, .. } if *word == expected), "{number}");
    }
}
