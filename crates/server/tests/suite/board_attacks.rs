//! Attacks on the sessions page. None reveals anything, decides anything, or keeps others out.

use std::io::{Read, Write};
use std::net::TcpStream;

use hookwright_events::wait::{Paths, Wait, WaitState};
use hookwright_events::{
    FiringEvent, PauseCause, Report, RunEventKind, SessionEvent, Status, TurnEvent, TurnResult,
    WorkItem, WorkSource,
};
use hookwright_server::limits;

use crate::client::parts;
use crate::played::{Played, report};
use crate::situation::{Situation, wait};
use crate::visitor::{Shown, Visitor, ask, board_of_project, try_ask};

#[test]
fn a_visitor_without_a_cookie_gets_the_same_response_to_everything() {
    let situation = Situation::new();
    Played::begin(&situation, "calm-fox", 60, &["a"]);
    let asked = wait("aaaaaaaa");
    situation.keep(&asked);
    let board = board_of_project(&situation);
    let (address, path) = parts(&board.url);
    let visitor = Visitor::of(&board);
    let token = path.strip_prefix("/open/").unwrap().to_owned();
    let (name, value) = visitor.cookie.split_once('=').unwrap();
    let cut = format!("{name}={}", &value[..value.len() - 1]);
    let other = Visitor::of(&board_of_project(&situation)).cookie;
    let cookies = [
        "",
        "a=b",
        &cut,
        &format!("{name}="),
        &format!("{name}={token}"),
        &other,
        &format!("x{name}={value}"),
    ];
    let mut answers: Vec<(String, Shown)> = Vec::new();
    for cookie in cookies {
        for path in [
            "/",
            "/stream",
            "/sessions/calm-fox",
            "/sessions/calm-fox/stream",
            "/sessions/calm-fox/reports/1",
            "/sessions/nobody",
            "/answers/aaaaaaaa",
            "/favicon.ico",
            "/open/",
            "/open/x",
            &format!("/open/{}", &token[1..]),
            &format!("/?token={token}"),
        ] {
            for method in ["GET", "POST", "DELETE"] {
                let request = format!(
                    "{method} {path} HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\
                     Content-Length: 0\r\n\r\n"
                );
                answers.push((format!("{cookie} {method} {path}"), ask(address, &request)));
            }
        }
    }
    let expected = answers[0].1.clone();
    assert_eq!(expected.status, 404);
    for (request, answer) in answers {
        assert_eq!(answer, expected, "{request}");
    }
    // A signed-in visitor gets it for pages that do not exist.
    assert_eq!(visitor.get("/sessions/nobody"), expected);
    assert_eq!(situation.state_of(&asked), WaitState::Waiting);
}

#[test]
fn the_address_signs_a_browser_in_and_redirects_to_a_path_without_the_token() {
    let situation = Situation::new();
    let board = board_of_project(&situation);
    let (address, path) = parts(&board.url);
    assert_eq!(path.len(), "/open/".len() + 52);
    let opened = ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    assert_eq!((opened.status, opened.header("location")), (303, Some("/")));
    let cookie = opened.header("set-cookie").unwrap();
    let port = address.port();
    assert!(cookie.starts_with(&format!("hookwright-{port}=")), "{cookie}");
    assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
    // The cookie does not contain the address's token: having one does not give the other.
    assert!(!cookie.contains(path.strip_prefix("/open/").unwrap()));
    let page = Visitor::of(&board).get("/");
    assert!(!page.body.contains(path.strip_prefix("/open/").unwrap()));
    // Nor does a link on another site that only changes the method.
    let posted = format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(ask(address, &posted).status, 404);
}

#[test]
fn a_request_for_another_name_is_not_answered() {
    let situation = Situation::new();
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let (address, open) = parts(&board.url);
    for host in ["evil.example", "evil.example:80", "127.0.0.2", "localhost.evil.example", ""] {
        for path in ["/", &open, "/stream"] {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {}\r\n\r\n",
                visitor.cookie
            );
            let answer = ask(address, &request);
            assert_eq!((answer.status, answer.header("set-cookie")), (421, None), "{host} {path}");
        }
    }
}

#[test]
fn every_response_forbids_what_a_page_does_not_need() {
    let situation = Situation::new();
    Played::begin(&situation, "calm-fox", 60, &["a"]);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let not_let_in = Visitor { cookie: "x".into(), ..Visitor::of(&board) };
    for answer in [
        visitor.get("/"),
        visitor.get("/sessions/calm-fox"),
        visitor.get("/sessions/nobody"),
        visitor.post("/", "", ""),
        not_let_in.get("/"),
    ] {
        let policy = answer.header("content-security-policy").unwrap();
        let parts: Vec<&str> = policy.split("; ").collect();
        assert!(parts[1].starts_with("style-src 'sha256-"), "{policy}");
        assert!(parts[2].starts_with("script-src 'sha256-"), "{policy}");
        let rest = ["connect-src 'self'", "form-action 'self'", "base-uri 'none'"];
        assert_eq!((parts[0], &parts[3..6]), ("default-src 'none'", &rest[..]));
        assert_eq!(parts[6..], ["frame-ancestors 'none'"]);
        for (name, value) in [
            ("cache-control", "no-store"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
            ("referrer-policy", "no-referrer"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("x-robots-tag", "noindex, nofollow"),
        ] {
            assert_eq!(answer.header(name), Some(value));
        }
        assert_eq!(answer.header("access-control-allow-origin"), None);
        for word in
            ["src=", "http:", "https:", "<link", "<img", "@import", "url(", "onclick", "style="]
        {
            assert!(!answer.body.contains(word), "{word}");
        }
    }
}

#[test]
fn a_form_that_is_not_ours_decides_nothing() {
    let situation = Situation::new();
    let asked = wait("aaaaaaaa");
    situation.keep(&asked);
    situation.keep(&wait("bbbbbbbb"));
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let page = visitor.get("/").body;
    let of_other = page.split("action=\"/answers/bbbbbbbb\"").nth(1).unwrap();
    let of_other = of_other.split("value=\"").nth(1).unwrap().split('"').next().unwrap();
    let ours = page.split("action=\"/answers/aaaaaaaa\"").nth(1).unwrap();
    let ours = ours.split("value=\"").nth(1).unwrap().split('"').next().unwrap();
    for (headers, body) in [
        ("Origin: https://evil.example\r\n", format!("form={ours}&action=approve")),
        ("Origin: http://127.0.0.1:1\r\n", format!("form={ours}&action=approve")),
        ("Sec-Fetch-Site: cross-site\r\n", format!("form={ours}&action=approve")),
        // A server on another port of this machine is another origin on the same site.
        ("Sec-Fetch-Site: same-site\r\n", format!("form={ours}&action=approve")),
        ("", "action=approve".to_owned()),
        ("", "form=&action=approve".to_owned()),
        ("", format!("form={of_other}&action=approve")),
        ("", format!("form={}&action=approve", &ours[1..])),
    ] {
        let answer = visitor.post("/answers/aaaaaaaa", headers, &body);
        assert_eq!(answer.status, 403, "{headers} {body}");
    }
    for (body, status) in [
        (format!("form={ours}"), 400),
        (format!("form={ours}&action=perhaps"), 400),
        ("{".to_owned(), 400),
    ] {
        assert_eq!(visitor.post("/answers/aaaaaaaa", "", &body).status, status, "{body}");
    }
    let looked = visitor.get(&format!("/answers/aaaaaaaa?form={ours}&action=approve"));
    assert_eq!(looked.status, 405);
    assert_eq!(situation.state_of(&asked), WaitState::Waiting);
}

#[test]
fn names_that_lead_elsewhere_lead_nowhere() {
    let situation = Situation::new();
    Played::begin(&situation, "calm-fox", 60, &["a"]);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    for path in [
        "/sessions/..",
        "/sessions/../../etc/passwd",
        "/sessions/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/sessions/calm-fox/../calm-fox",
        "/sessions/calm-fox%00",
        "/sessions/calm%2dfox",
        "/sessions/calm-fox/reports/-1",
        "/sessions/calm-fox/reports/1/..",
        "//sessions/calm-fox",
        "/sessions//calm-fox",
        "/board.css",
        "/store.sqlite3",
    ] {
        assert_eq!(visitor.get(path).status, 404, "{path}");
    }
    let long = format!("/sessions/{}", "a".repeat(5_000));
    assert_eq!(visitor.get(&long).status, 404);
    for query in ["?before=x", "?before=-1", "?before=99999999999999999999", "?project=%ff", "?%"] {
        assert_eq!(visitor.get(&format!("/sessions/calm-fox{query}")).status, 200, "{query}");
        assert_eq!(visitor.get(&format!("/{query}")).status, 200, "{query}");
    }
}

const EVIL: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;\u{202e}";

/// A session in which every foreign text is hostile.
fn evil(situation: &Situation) {
    let mut played = Played::begin(situation, "calm-fox", 60, &[EVIL]);
    played.record.plan = EVIL.into();
    played.record.provider = EVIL.into();
    played.record.reason = EVIL.into();
    played.record.metadata.git_branch = Some(EVIL.into());
    played.record.metadata.git_commit = Some(EVIL.into());
    let evil = || EVIL.to_owned();
    played.stage(1, 3);
    let (source, content, file, plan_file) = (WorkSource::Command, None, None, None);
    let item = WorkItem { source, key: evil(), title: evil(), content, file, plan_file };
    played.happens(
        0,
        RunEventKind::Session(SessionEvent::ItemStarted { stage: 1, execution: 1, item }),
    );
    played.works(1, 1);
    played.happens(
        0,
        RunEventKind::Turn(TurnEvent::AgentChanged { from: evil(), to: evil(), reason: evil() }),
    );
    played.worked(
        1,
        1,
        10,
        TurnResult {
            decision: evil(),
            reason: evil(),
            summary: evil(),
            error: Some(evil()),
            changed_files: vec![evil()],
            agent: Some(evil()),
            agent_session: Some(evil()),
            ..TurnResult::default()
        },
    );
    let firing = played.fires("iteration:complete", None);
    played.starts(firing, EVIL);
    let failed = Report {
        status: Status::Failed,
        stdout: evil(),
        stderr: format!("{EVIL}\n{EVIL}"),
        reason: Some(evil()),
        action: evil(),
        source: evil(),
        ..report(EVIL)
    };
    played.reports(firing, 10, failed);
    let (hook, session, pipeline) = (evil(), evil(), evil());
    played.happens(
        firing,
        RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, pipeline }),
    );
    played.happens(
        firing,
        RunEventKind::Firing(FiringEvent::HookSkipped {
            hook: evil(),
            reason: evil(),
            ended_by: Some(evil()),
        }),
    );
    played.happens(0, RunEventKind::Session(SessionEvent::Noted { note: evil() }));
    let paused = RunEventKind::Session(SessionEvent::Paused {
        cause: PauseCause::Person,
        reason: evil(),
        until: Some(evil()),
    });
    played.happens(0, paused);
    played.starts(firing, EVIL);
    let wait = "aaaaaaaa".to_owned();
    let (hook, question, since, until) = (evil(), evil(), evil(), evil());
    let waiting = RunEventKind::Firing(FiringEvent::HookWaiting {
        hook,
        wait,
        question,
        since,
        until,
        url: None,
    });
    played.happens(firing, waiting);
}

#[test]
fn markup_in_texts_of_agents_hooks_and_issues_is_shown_as_text() {
    let situation = Situation::new();
    evil(&situation);
    let paths = || Paths { first: vec![EVIL.into()], more: 0 };
    situation.keep(&Wait {
        question: EVIL.into(),
        stage: Some(EVIL.into()),
        event: EVIL.into(),
        hook: EVIL.into(),
        // A word is sent back unchanged.
        offered: vec![EVIL.replace('\u{202e}', "")],
        changed_files: paths(),
        stage_outputs: paths(),
        ..wait("aaaaaaaa")
    });
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let page = visitor.get("/sessions/calm-fox").body;
    let sequence = page.split("/reports/").nth(1).unwrap().split('"').next().unwrap();
    let report = visitor.get(&format!("/sessions/calm-fox/reports/{sequence}")).body;
    let mut stream = visitor.stream("/sessions/calm-fox/stream?state=0", None).unwrap();
    let sent: String = stream.whole().into_iter().map(|event| event.html).collect();
    for (page, times) in [(visitor.get("/").body, 6), (page, 25), (report, 6), (sent, 25)] {
        let shown = page.matches("&lt;script&gt;alert(1)&lt;/script&gt;").count();
        assert!(shown >= times, "{shown}\n{page}");
        // Whole pages have one script, ours.
        assert!(page.matches("<script").count() <= 1 && !page.contains("<img"), "{page}");
        let hidden = page.split('\u{202e}').next().filter(|before| before.len() < page.len());
        assert_eq!(hidden, None, "nothing is hidden or reordered");
        assert!(!page.contains("onerror=alert(2)>&amp;\"") && !page.contains("=\"'>"), "{page}");
    }
}

#[test]
fn a_flood_of_headers_or_of_a_body_is_cut_off() {
    let situation = Situation::new();
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let many: String = (0..100).map(|number| format!("X-{number}: 1\r\n")).collect();
    let long = format!("X: {}\r\n", "x".repeat(64 * 1024));
    for headers in [many, long] {
        let came = try_ask(visitor.address, &visitor.request("GET", "/", &headers, ""));
        let status = came.map(|came| came.status);
        assert!(matches!(status, Ok(431) | Err(_)), "{status:?}");
    }
    let announced = format!(
        "POST /answers/aaaaaaaa HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nContent-Length: 104857600\r\n\r\n",
        visitor.address, visitor.cookie
    );
    assert_eq!(ask(visitor.address, &announced).status, 413);
    assert_eq!(visitor.get("/").status, 200);
}

#[test]
fn a_thousand_connections_held_open_keep_no_other_client_out() {
    let situation = Situation::new();
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    crate::listeners::more_files();
    let mut held: Vec<TcpStream> = Vec::new();
    for number in 0..1000 {
        let mut stream = TcpStream::connect(visitor.address).unwrap();
        if number % 2 == 0 {
            // Half of a request; the connection may have been closed already.
            let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: ");
        }
        held.push(stream);
    }
    assert_eq!(visitor.get("/").status, 200);
    // The oldest connection had to make room: it was closed or reset.
    let end = held.swap_remove(0).read(&mut [0; 1]);
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
}

#[test]
fn the_number_of_updated_pages_is_limited_and_a_closed_page_frees_its_place() {
    let situation = Situation::new();
    Played::begin(&situation, "calm-fox", 60, &["a"]);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let mut open: Vec<_> = (0..limits::STREAMS_MAX)
        .map(|_| visitor.stream("/sessions/calm-fox/stream", None).unwrap())
        .collect();
    assert_eq!(visitor.stream("/stream", None).err(), Some(503));
    assert_eq!(visitor.get("/").status, 200);
    open.pop();
    // The server notices the closed page with its next write.
    let again = loop {
        match visitor.stream("/stream", None) {
            Ok(stream) => break stream,
            Err(status) => assert_eq!(status, 503),
        }
    };
    drop(again);
}
