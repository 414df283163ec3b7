//! A POST decides, and nothing else does.

use axum::body::Body;
use axum::http::StatusCode;
use hookwright_events::wait::{AnswerMeaning, Wait, WaitState};
use serde_json::{Value, json};

use crate::situation::{DEAD, Situation, request, wait};

// Conformance: agent-pipelines-035, agent-pipelines-098
#[tokio::test]
async fn a_json_answer_decides_and_is_kept_whole() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    let body = json!({ "action": " Approve", "message": "go", "ticket": { "id": 7 } });
    let answer = situation.post_json(&path, body.clone()).await;
    assert_eq!(answer.status, StatusCode::OK);
    let WaitState::Decided(decision) = situation.state_of(&asked) else { panic!("decided") };
    assert_eq!(decision.response, body);
    assert_eq!((decision.action.as_str(), decision.word), ("approve", AnswerMeaning::Yes));
    assert_eq!((decision.message.as_deref(), decision.by.as_str()), (Some("go"), "a request"));
    let at = hookwright_server::approvals::iso(decision.at_ms);
    let told = json!({
        "version": 1, "status": "decided", "id": "aaaaaaaa", "action": "approve", "message": "go",
        "by": "a request", "at": at, "session": "calm-fox", "running": true,
    });
    assert_eq!(answer.json(), told);
}

// Conformance: agent-pipelines-098
#[tokio::test]
async fn a_form_decides_and_gets_a_page() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    let answer = situation.post_form(&path, "message=not+yet%21&action=reject").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
    assert!(answer.text.contains("<h1>Rejected</h1>"), "{}", answer.text);
    let WaitState::Decided(decision) = situation.state_of(&asked) else { panic!("decided") };
    assert_eq!(decision.response, json!({ "message": "not yet!", "action": "reject" }));
    assert_eq!((decision.word, decision.message.as_deref()), (AnswerMeaning::No, Some("not yet!")));
    assert_eq!(decision.by, "a person at the page");
}

// Conformance: agent-pipelines-037
#[tokio::test]
async fn the_action_is_in_the_body_else_in_the_query() {
    for (query, body, expected) in [
        ("?action=approve", None, json!({ "action": "approve" })),
        ("?action=reject", Some(json!({ "action": "yes" })), json!({ "action": "yes" })),
        ("?action=no", Some(json!({ "x": 1 })), json!({ "x": 1, "action": "no" })),
    ] {
        let situation = Situation::new();
        let asked = wait("aaaaaaaa");
        let path = format!("{}{query}", situation.keep(&asked));
        let answer = match body {
            Some(body) => situation.post_json(&path, body).await,
            None => situation.ask(request("POST", &path).body(Body::empty()).unwrap()).await,
        };
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let response = situation.state_of(&asked).decision().unwrap().response.clone();
        assert_eq!(response, expected);
    }
}

// Conformance: agent-pipelines-087
#[tokio::test]
async fn both_spellings_with_the_token_in_the_query_are_taken() {
    for (at, join) in ["&", "?"].into_iter().enumerate() {
        let situation = Situation::new();
        let asked = wait(&format!("aaaaaaa{at}"));
        situation.keep(&asked);
        let path = format!("/callback?token={}{join}action=approve", situation.token_of(&asked));
        assert_eq!(situation.get(&path).await.status, StatusCode::OK);
        assert_eq!(situation.state_of(&asked), WaitState::Waiting);
        let answer = situation.ask(request("POST", &path).body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        assert_eq!(situation.state_of(&asked).decision().unwrap().action, "approve");
    }
}

#[tokio::test]
async fn words_that_mean_nothing_here_are_refused_and_the_wait_stays() {
    let situation = Situation::new();
    let asked = Wait { offered: vec!["later".into()], ..wait("aaaaaaaa") };
    let path = situation.keep(&asked);
    let refused = situation.post_json(&path, json!({ "action": "maybe" })).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let told = json!({
        "version": 1, "status": "refused", "error": "this question does not accept this action",
        "expected": ["approve", "later", "reject"],
    });
    assert_eq!(refused.json(), told);
    let page = situation.post_form(&path, "action=maybe").await;
    assert_eq!(page.status, StatusCode::BAD_REQUEST);
    assert_eq!(situation.state_of(&asked), WaitState::Waiting);
    let offered = situation.post_json(&path, json!({ "action": "LATER" })).await;
    assert_eq!(offered.status, StatusCode::OK);
    assert_eq!(situation.state_of(&asked).decision().unwrap().word, AnswerMeaning::Offered);
}

#[tokio::test]
async fn an_empty_answer_is_refused_and_the_wait_stays() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    for (media_type, body, status) in [
        ("application/json", "", StatusCode::BAD_REQUEST),
        ("application/json", "{}", StatusCode::BAD_REQUEST),
        ("application/json", "{\"action\": true}", StatusCode::BAD_REQUEST),
        ("application/json", "[\"approve\"]", StatusCode::BAD_REQUEST),
        ("application/json", "{\"action\": \"approve\"", StatusCode::BAD_REQUEST),
        ("application/x-www-form-urlencoded", "message=x", StatusCode::BAD_REQUEST),
        ("application/x-www-form-urlencoded", "action=+", StatusCode::BAD_REQUEST),
        ("multipart/form-data", "action=approve", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("text/plain", "action=approve", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        let answer = situation.post(&path, media_type, body).await;
        assert_eq!(answer.status, status, "{media_type}: {body}");
    }
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"] {
        let body = Body::from("{\"action\": \"approve\"}");
        let answer = situation.ask(request(method, &path).body(body).unwrap()).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(answer.headers["allow"], "GET, HEAD, POST");
    }
    assert_eq!(situation.state_of(&asked), WaitState::Waiting);
}

// Conformance: agent-pipelines-088
#[tokio::test]
async fn a_second_answer_learns_who_decided_and_when() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    let first = situation.post_json(&path, json!({ "action": "approve", "message": "go" })).await;
    let second = situation.post_json(&path, json!({ "action": "reject" })).await;
    assert_eq!(second.status, StatusCode::CONFLICT);
    let told = json!({
        "version": 1, "status": "used", "error": "this has already been decided",
        "id": "aaaaaaaa", "action": "approve", "message": "go", "by": "a request",
        "at": first.json()["at"],
    });
    assert_eq!(second.json(), told);
    // Also after the session has used the answer, and also for a GET.
    situation.waits.settle(&asked.id, 0).unwrap();
    let third = situation.post_json(&path, json!({ "action": "reject" })).await;
    assert_eq!((third.status, third.json()), (StatusCode::CONFLICT, told));
    let page = situation.get(&path).await;
    assert_eq!(page.status, StatusCode::CONFLICT);
    assert!(page.text.contains("<h1>Already approved</h1>"), "{}", page.text);
    assert!(page.text.contains("Decided by <b>a request</b> on <time"), "{}", page.text);
    assert_eq!(situation.state_of(&asked).decision().unwrap().word, AnswerMeaning::Yes);
}

#[tokio::test]
async fn late_and_unexpected_answers_are_rejected_with_a_reason() {
    let situation = Situation::new();
    let late = Wait { until_ms: 1_000, ..wait("aaaaaaaa") };
    let alone = Wait { key: None, keeper: DEAD.into(), ..wait("bbbbbbbb") };
    for (asked, status, error, heading) in [
        (&late, "expired", "the time to decide is over", "Too late"),
        (&alone, "abandoned", "the process that asked no longer waits", "No longer needed"),
    ] {
        let path = situation.keep(asked);
        let answer = situation.post_json(&path, json!({ "action": "approve" })).await;
        assert_eq!(answer.status, StatusCode::GONE);
        let mut told = json!({ "version": 1, "status": status, "error": error, "id": asked.id });
        if status == "expired" {
            told["until"] = json!("1970-01-01T00:00:01.000Z");
        }
        assert_eq!(answer.json(), told);
        let page = situation.get(&path).await;
        assert_eq!(page.status, StatusCode::GONE);
        assert!(page.text.contains(&format!("<h1>{heading}</h1>")), "{}", page.text);
        assert_eq!(situation.state_of(asked).decision(), None);
    }
}

#[tokio::test]
async fn an_answer_for_a_session_that_is_not_running_is_stored_and_names_the_resume_command() {
    let situation = Situation::new();
    let asked = Wait { keeper: DEAD.into(), ..wait("aaaaaaaa") };
    let path = situation.keep(&asked);
    let page = situation.post_form(&path, "action=approve").await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("<code>hookwright resume calm-fox</code>"), "{}", page.text);
    assert!(situation.state_of(&asked).decision().is_some());
}

// Conformance: agent-pipelines-088
#[tokio::test]
async fn of_many_answers_at_once_exactly_one_counts() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..20 {
        let (mut router, path) = (situation.router(), path.clone());
        tasks.spawn(async move {
            let body = json!({ "action": "ok", "number": number }).to_string();
            let request = request("POST", &path).header("content-type", "application/json");
            let request = request.body(Body::from(body)).unwrap();
            let answer = tower_service::Service::call(&mut router, request).await.unwrap();
            (number, answer.status())
        });
    }
    let all = tasks.join_all().await;
    let winners: Vec<i32> =
        all.iter().filter(|(_, status)| *status == StatusCode::OK).map(|(at, _)| *at).collect();
    assert_eq!(winners.len(), 1, "{all:?}");
    let others = all.iter().filter(|(_, status)| *status == StatusCode::CONFLICT).count();
    assert_eq!(others, 19, "{all:?}");
    let response = situation.state_of(&asked).decision().unwrap().response.clone();
    assert_eq!(response["number"], Value::from(winners[0]));
}

#[tokio::test]
async fn a_failing_store_decides_nothing_and_reveals_nothing() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    let store = situation.folder.path().join("store.sqlite3");
    std::fs::rename(&store, store.with_extension("away")).unwrap();
    let answer = situation.post_json(&path, json!({ "action": "approve" })).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    let told = json!({
        "version": 1, "status": "failed",
        "error": "the decision could not be stored; try again later",
    });
    assert_eq!(answer.json(), told);
}
