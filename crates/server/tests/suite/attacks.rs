//! Attacks. None of them decides anything, reveals anything, or keeps others out.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::StatusCode;
use hookwright_events::visible_text::{acts, breaks};
use hookwright_events::wait::{Paths, Wait, WaitState};
use serde_json::json;

use crate::situation::{Answer, Situation, request, wait};

// Conformance: agent-pipelines-086
#[tokio::test]
async fn guessed_cut_replayed_and_foreign_tokens_get_one_and_the_same_answer() {
    let situation = Situation::new();
    let elsewhere = Situation::new();
    let asked = wait("aaaaaaaa");
    situation.keep(&asked);
    let token = situation.token_of(&asked);
    let foreign = elsewhere.token_of(&asked);
    elsewhere.keep(&asked);
    let unknown_wait = situation.token_of(&wait("zzzzzzzz"));
    let cut = &token[..token.len() - 1];
    let swapped = format!("bbbbbbbb{}", &token[8..]);
    let mut answers: Vec<(String, Answer)> = Vec::new();
    for bad in ["", "x", cut, &token[..8], &foreign, &unknown_wait, &swapped, "%00", "..%2f"] {
        for path in [format!("/callback/{bad}"), format!("/callback?token={bad}&action=approve")] {
            let look = situation.get(&path).await;
            answers.push((format!("GET {path}"), look));
            let form = situation.post_form(&path, "action=approve").await;
            answers.push((format!("POST {path}"), form));
        }
    }
    for path in ["/", "/callback", "/callback/", "/favicon.ico", "/callback/a/b", "/approvals"] {
        answers.push((path.to_owned(), situation.get(path).await));
    }
    let expected = answers[0].1.clone();
    assert_eq!(expected.status, StatusCode::NOT_FOUND);
    for (path, answer) in answers {
        assert_eq!(answer, expected, "{path}");
    }
    assert_eq!(situation.state_of(&asked), WaitState::Waiting);
    let json = situation.post_json(&format!("/callback/{cut}"), json!({ "action": "ok" })).await;
    assert_eq!(json.status, StatusCode::NOT_FOUND);
    let error = "there is no question at this address";
    assert_eq!(json.json(), json!({ "version": 1, "status": "unknown", "error": error }));
}

// Conformance: agent-pipelines-086
#[tokio::test]
async fn the_token_of_one_session_decides_nothing_of_another() {
    let situation = Situation::new();
    let (ours, theirs) = (wait("aaaaaaaa"), wait("bbbbbbbb"));
    let path = situation.keep(&ours);
    situation.keep(&theirs);
    situation.post_json(&path, json!({ "action": "approve", "id": "bbbbbbbb" })).await;
    assert!(situation.state_of(&ours).decision().is_some());
    assert_eq!(situation.state_of(&theirs), WaitState::Waiting);
}

// Conformance: agent-pipelines-039
#[tokio::test]
async fn link_scanners_that_look_as_often_and_as_they_like_decide_nothing() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = format!("{}?action=approve", situation.keep(&asked));
    for (method, name, value) in [
        ("HEAD", "user-agent", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"),
        ("GET", "user-agent", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"),
        ("GET", "purpose", "prefetch"),
        ("GET", "sec-purpose", "prefetch;prerender"),
        ("GET", "x-moz", "prefetch"),
        ("GET", "x-http-method-override", "POST"),
        ("HEAD", "user-agent", "Mozilla/5.0 (Windows NT 10.0) SafeLinks"),
        ("GET", "accept", "application/json"),
    ] {
        let request = request(method, &path).header(name, value);
        let answer = situation.ask(request.body(Body::empty()).unwrap()).await;
        assert_eq!(answer.status, StatusCode::OK, "{method} {name}");
        assert_eq!(answer.headers["content-type"], "text/html; charset=utf-8");
        assert_eq!(situation.state_of(&asked), WaitState::Waiting, "{method} {name}");
    }
    // Nor does the body of a GET.
    let body = Body::from("{\"action\": \"approve\"}");
    situation.ask(request("GET", &path).body(body).unwrap()).await;
    assert_eq!(situation.state_of(&asked), WaitState::Waiting);
}

#[tokio::test]
async fn a_request_for_another_name_is_not_answered() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    for host in ["evil.example", "evil.example:8765", "127.0.0.2:8765", "localhost.evil.example"] {
        for (method, path) in [("GET", path.as_str()), ("POST", &path), ("GET", "/nothing")] {
            let request = axum::http::Request::builder().method(method).uri(path);
            let request = request.header("host", host).header("accept", "text/html");
            let answer = situation.ask(request.body(Body::from("action=ok")).unwrap()).await;
            assert_eq!(answer.status, StatusCode::MISDIRECTED_REQUEST, "{host} {method} {path}");
            assert!(!answer.text.contains("Plan ready"), "{}", answer.text);
        }
    }
    let nameless = axum::http::Request::builder().uri(&path).body(Body::empty()).unwrap();
    assert_eq!(situation.ask(nameless).await.status, StatusCode::MISDIRECTED_REQUEST);
    let proof = axum::http::Request::builder().uri("/.well-known/hookwright?challenge=1");
    let proof = proof.header("host", "evil.example").body(Body::empty()).unwrap();
    assert_eq!(situation.ask(proof).await.status, StatusCode::MISDIRECTED_REQUEST);
    assert_eq!(situation.state_of(&asked), WaitState::Waiting);
}

#[tokio::test]
async fn the_public_name_of_the_process_that_asks_is_known_to_all_listeners() {
    let situation = Situation::new();
    let asked = Wait { base_url: "https://hooks.example.org/x".into(), ..wait("aaaaaaaa") };
    let path = situation.keep(&asked);
    let request = axum::http::Request::builder().uri(&path).header("host", "hooks.example.org");
    let answer = situation.ask(request.body(Body::empty()).unwrap()).await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn a_form_on_a_page_of_another_site_decides_nothing() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    for headers in [
        vec![("origin", "https://evil.example")],
        vec![("origin", "null"), ("sec-fetch-site", "cross-site")],
        vec![("origin", "http://127.0.0.1:9999")],
        vec![("sec-fetch-site", "same-site")],
    ] {
        let mut request = request("POST", &path);
        for (name, value) in &headers {
            request = request.header(*name, *value);
        }
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let answer = situation.ask(request.body(Body::from("action=approve")).unwrap()).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{headers:?}");
        assert_eq!(situation.state_of(&asked), WaitState::Waiting);
    }
}

#[tokio::test]
async fn every_response_forbids_what_a_page_does_not_need() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    let mut answers = vec![situation.get(&path).await, situation.get("/callback/x").await];
    answers.push(situation.get("/.well-known/hookwright?challenge=1").await);
    answers.push(situation.post_json(&path, json!({ "action": "maybe" })).await);
    answers.push(situation.post_form(&path, "action=approve").await);
    for answer in answers {
        let mut headers: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, value) in &answer.headers {
            headers.insert(name.as_str(), value.to_str().unwrap());
        }
        headers.remove("content-type");
        headers.remove("content-length");
        let policy = headers.remove("content-security-policy").unwrap();
        let expected = BTreeMap::from([
            ("cache-control", "no-store"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            // Following a link must not reveal the page's address, which holds the token.
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("x-robots-tag", "noindex, nofollow"),
        ]);
        assert_eq!(headers, expected);
        let parts: Vec<&str> = policy.split("; ").collect();
        assert_eq!(parts[0], "default-src 'none'");
        assert!(parts[1].starts_with("style-src 'sha256-"), "{policy}");
        let rest = ["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"];
        assert_eq!(parts[2..], rest);
    }
}

#[tokio::test]
async fn no_page_leads_elsewhere_or_loads_anything() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    let page = situation.get(&path).await.text;
    for word in ["src=", "href=", "http:", "https:", "<script", "<link", "<img", "@import", "url("]
    {
        assert!(!page.contains(word), "{word}");
    }
    // The page does not contain its own address either.
    assert!(!page.contains(&situation.token_of(&asked)));
}

#[tokio::test]
async fn markup_in_names_and_comments_is_shown_as_text() {
    const EVIL: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;";
    let situation = Situation::new();
    let paths = || Paths { first: vec![EVIL.into()], more: 0 };
    let asked = Wait {
        question: EVIL.into(),
        pipeline: Some(EVIL.into()),
        stage: Some(EVIL.into()),
        session: Some(EVIL.into()),
        subject: Some(EVIL.into()),
        event: EVIL.into(),
        hook: EVIL.into(),
        project: EVIL.into(),
        offered: vec![EVIL.to_lowercase()],
        changed_files: paths(),
        stage_outputs: paths(),
        ..wait("aaaaaaaa")
    };
    let path = situation.keep(&asked);
    let escaped = form(EVIL);
    let question = situation.get(&format!("{path}?action={escaped}")).await.text;
    let word = form(&EVIL.to_lowercase());
    let decided =
        situation.post_form(&path, &format!("action={word}&message={escaped}")).await.text;
    let again = situation.get(&path).await.text;
    for page in [&question, &decided, &again] {
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    }
    assert!(decided.contains("<h1>Answered: &lt;script&gt;"), "{decided}");
}

#[tokio::test]
async fn characters_that_hide_or_reorder_are_made_visible() {
    const EVIL: &str = "a\u{202e}b\u{200b}c\u{feff}\x1bd";
    let situation = Situation::new();
    let paths = || Paths { first: vec![EVIL.into(); 12], more: 1 };
    let asked = Wait {
        question: format!("{EVIL}\n{EVIL}"),
        pipeline: Some(EVIL.into()),
        stage: Some(EVIL.into()),
        subject: Some(format!("{EVIL}!")),
        event: EVIL.into(),
        hook: EVIL.into(),
        project: EVIL.into(),
        offered: vec![EVIL.into()],
        changed_files: paths(),
        stage_outputs: paths(),
        session: Some(EVIL.into()),
        ..wait("aaaaaaaa")
    };
    let path = situation.keep(&asked);
    let word = form(EVIL);
    let mut pages = vec![situation.get(&path).await.text];
    let unknown = format!("action={word}-unknown");
    pages.push(situation.post_form(&path, &unknown).await.text);
    let answer = format!("action={word}&message={word}&by={word}");
    pages.push(situation.post_form(&path, &answer).await.text);
    pages.push(situation.get(&path).await.text);
    for page in &pages {
        assert!(page.contains("a\\u{202e}b\\u{200b}c\\u{feff}␛d"), "{page}");
        // A button sends the offered word, which is not shown.
        let shown = page.replace(&format!("value=\"{EVIL}\""), "");
        let raw = shown.chars().find(|letter| acts(*letter) && !breaks(*letter));
        assert_eq!(raw, None, "{shown}");
    }
}

fn form(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_and_decides_nothing() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    let message = "x".repeat(hookwright_server::limits::BODY_BYTES_MAX);
    let answer = situation.post_json(&path, json!({ "action": "ok", "message": message })).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    let answer = situation.post_form(&path, &format!("action=ok&message={message}")).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(situation.state_of(&asked), WaitState::Waiting);
    let fits = "x".repeat(hookwright_server::limits::BODY_BYTES_MAX - 100);
    let answer = situation.post_json(&path, json!({ "action": "ok", "message": fits })).await;
    assert_eq!(answer.status, StatusCode::OK);
}

/// A body that never arrives.
struct Silent;

impl axum::body::HttpBody for Silent {
    type Data = axum::body::Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_come_is_given_up() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    let path = situation.keep(&asked);
    let request = request("POST", &path).header("content-type", "application/json");
    let answer = situation.ask(request.body(Body::new(Silent)).unwrap()).await;
    assert_eq!(answer.status, StatusCode::REQUEST_TIMEOUT);
    let error = "the body did not arrive within 20 seconds";
    assert_eq!(answer.json(), json!({ "version": 1, "status": "refused", "error": error }));
    assert_eq!(situation.state_of(&asked), WaitState::Waiting);
}
