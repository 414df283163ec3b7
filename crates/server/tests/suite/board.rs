//! The sessions page: its content, its access control, and its updates.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use hookwright_events::wait::{Wait, WaitState};
use hookwright_events::{
    FiringEvent, Report, RunEventKind, SessionEvent, Status, TurnResult, Usage,
};
use hookwright_pipeline::record::Parent;
use hookwright_server::limits;
use serde_json::json;

use crate::played::{PROJECT, Played, report, result};
use crate::situation::{DEAD, Situation, wait};
use crate::visitor::{Visitor, board, board_of_project, board_over};

/// The text of a page in one line, without tags.
fn read(html: &str) -> String {
    let html = html.split("<main>").nth(1).unwrap_or(html).split("</main>").next().unwrap();
    let mut text = String::new();
    let mut in_tag = false;
    for letter in html.chars() {
        match letter {
            '<' => in_tag = true,
            '>' => {
                in_tag = false;
                text.push(' ');
            }
            letter if !in_tag => text.push(letter),
            _ => {}
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text between two others.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let rest = text.split_once(start).unwrap_or_else(|| panic!("no {start} in {text}")).1;
    rest.split_once(end).unwrap_or_else(|| panic!("no {end} in {rest}")).0
}

/// The token in the form of a question.
fn form_token(page: &str) -> &str {
    between(page, "name=\"form\" value=\"", "\"")
}

#[test]
fn sessions_are_listed_newest_first_with_their_status() {
    let situation = Situation::new();
    let mut first = Played::begin(&situation, "first", 300, &["fix"]);
    first.stage(1, 5);
    first.works(1, 1);
    first.worked(1, 1, 2_500, result("fixed"));
    let usage = Usage { input_tokens: 1_000, output_tokens: 100, cost_usd: Some(0.25) };
    first.record.usage = Some(usage.into());
    first.ends("failed", "the agent could not be started");
    let mut cut = Played::begin(&situation, "cut", 200, &["fix"]);
    cut.leave();
    let mut now = Played::begin(&situation, "now", 100, &["plan", "build"]);
    now.stage(1, 5);
    let board = board_of_project(&situation);
    let page = Visitor::of(&board).get("/").body;
    let rows: Vec<String> = page.split("<li class=\"session\"").skip(1).map(read).collect();
    let name = |row: &String| row.split(' ').nth(2).unwrap().to_owned();
    assert_eq!(rows.iter().map(name).collect::<Vec<_>>(), ["now", "cut", "first"]);
    assert!(rows[0].contains("now running full-workflow · plan (1 of 2) · 0 iterations since"));
    assert!(rows[1].contains("cut cut off full-workflow · 0 iterations"), "{}", rows[1]);
    let failed = "first failed full-workflow · 1 iteration · $0.25";
    assert!(rows[2].contains(failed) && rows[2].contains("· 2.50 s"), "{}", rows[2]);
    assert!(rows[2].contains("the agent could not be started"), "{}", rows[2]);
}

#[test]
fn the_usage_of_children_is_shown_separately() {
    let situation = Situation::new();
    let mut played = Played::begin(&situation, "calm-fox", 300, &["fix"]);
    played.stage(1, 5);
    let firing = played.fires("iteration:complete", None);
    let usage = Usage { input_tokens: 1_000, output_tokens: 100, cost_usd: Some(0.25) };
    let (hook, session) = ("review".into(), "calm-fox--iteration_complete-1".into());
    played.happens(
        firing,
        RunEventKind::Firing(FiringEvent::ChildUsed { hook, session, stage: 1, usage }),
    );
    played.record.usage = Some(usage.into());
    played.record.usage_of_children = Some(usage.into());
    played.ends("completed", "completed");
    let board = board_of_project(&situation);
    let page = read(&Visitor::of(&board).get("/sessions/calm-fox").body);
    let used = "Used $0.25: 1,000 tokens read, 100 written (children: $0.25)";
    assert!(page.contains(used), "{page}");
}

#[test]
fn a_page_without_sessions_shows_how_to_start_one() {
    let situation = Situation::new();
    let board = board_of_project(&situation);
    let page = Visitor::of(&board).get("/").body;
    let words = "Sessions No sessions yet. hookwright run FILE starts one, and it appears here.";
    assert_eq!(read(&page), words);
}

#[test]
fn a_session_is_found_by_its_name_even_if_many_newer_names_begin_like_it() {
    let situation = Situation::new();
    let ago = |number: usize| i64::try_from(number).unwrap();
    for number in 0..=limits::SESSIONS_ON_PAGE_MAX {
        Played::begin(&situation, &format!("fox-{number}"), ago(number), &["fix"]);
    }
    Played::begin(&situation, "fox", ago(limits::SESSIONS_ON_PAGE_MAX) + 1, &["fix"]);
    let board = board(&situation, None);
    let page = Visitor::of(&board).get("/sessions/fox");
    let title = between(&page.body, "<title>", "</title>");
    assert_eq!((page.status, title), (200, "fox · Hookwright"));
}

/// A session with one of everything.
fn busy(situation: &Situation) -> Played {
    let mut played = Played::begin(situation, "calm-fox", 600, &["plan", "build"]);
    played.stage(1, 3);
    played.works(1, 1);
    let changed_files = vec!["docs/plan.md".to_owned()];
    played.worked(1, 1, 4_310, TurnResult { changed_files, ..result("wrote a plan") });
    let firing = played.fires("iteration:complete", None);
    played.starts(firing, "tests");
    let printed = "running 3 tests\ncart ... FAILED\n\u{1b}[31mred\u{202e}";
    played.reports(
        firing,
        2_000,
        Report {
            status: Status::Failed,
            exit_code: Some(1),
            stdout: printed.into(),
            reason: Some("exit code 1".into()),
            ..report("tests")
        },
    );
    played.stage_ends(1, 1);
    played.stage(2, 10);
    played.works(2, 1);
    played
}

#[test]
fn a_session_shows_what_runs_its_stages_and_its_history() {
    let situation = Situation::new();
    let mut played = busy(&situation);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let page = visitor.get("/sessions/calm-fox").body;
    let now = read(between(&page, "<div id=\"now\">", "</div>"));
    assert!(now.starts_with("Now ▸ the agent works on iteration 1 since "), "{now}");
    let stages = read(between(&page, "<ol id=\"stages\"", "</ol>"));
    assert!(stages.contains("✓ plan completed 1 of at most 3 iterations 6.31 s"), "{stages}");
    assert!(stages.contains("▸ build running 0 of at most 10 iterations since"), "{stages}");
    let told = read(between(&page, "<ol id=\"timeline\">", "</ol>"));
    let newest = told.find("Stage 2 of 2: build").unwrap();
    let older = told.find("Stage 1 of 2: plan").unwrap();
    assert!(newest < older, "{told}");
    for words in [
        "Stage 1 of 2: plan completed after 1 iteration · 6.31 s",
        "! Iteration 1 1 hook failed · wrote a plan · 1 file changed 4.31 s",
        "docs/plan.md",
        "✕ iteration:complete tests failed 2.00 s exit code 1 running 3 tests cart ... FAILED \
         ␛[31mred\\u{202e}",
    ] {
        assert!(told.contains(words), "{words}\n{told}");
    }
    // The whole report is one click away.
    let path = between(&page, "<a href=\"/sessions/calm-fox/reports/", "\"");
    let report = read(&visitor.get(&format!("/sessions/calm-fox/reports/{path}")).body);
    assert_eq!(
        report,
        "tests ✕ failed exit code 1 Took 2.00 s Started 1 time Exit code 1 Action shell From \
         hookwright.yaml:4 Standard output running 3 tests cart ... FAILED ␛[31mred\\u{202e} Standard \
         error Nothing."
    );
    played.ends("completed", "completed");
    let page = visitor.get("/sessions/calm-fox").body;
    assert!(read(&page).contains("✓ completed Plan full-workflow"), "{}", read(&page));
    assert_eq!(read(between(&page, "<div id=\"now\">", "</div>")), "");
}

#[test]
fn an_output_of_any_size_makes_a_page_of_a_bounded_one() {
    let situation = Situation::new();
    let mut played = Played::begin(&situation, "calm-fox", 60, &["a"]);
    let firing = played.fires("session:start", None);
    played.starts(firing, "loud");
    let stdout = "x".repeat(1024 * 1024);
    let status = Status::Failed;
    played.reports(firing, 5, Report { status, stdout, ..report("loud") });
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let page = visitor.get("/sessions/calm-fox").body;
    assert!(page.len() < 64 * 1024, "{}", page.len());
    let path = between(&page, "<a href=\"/sessions/calm-fox/reports/", "\"");
    let report = visitor.get(&format!("/sessions/calm-fox/reports/{path}")).body;
    let left_out = 1024 * 1024 - limits::OUTPUT_BYTES_SHOWN_MAX;
    let words = format!("… {left_out} bytes between them are not shown …");
    assert!(report.contains(&words) && report.len() < 128 * 1024, "{}", report.len());
    for nothing in ["0", "1", "999", "18446744073709551615"] {
        assert_eq!(visitor.get(&format!("/sessions/calm-fox/reports/{nothing}")).status, 404);
    }
}

#[test]
fn five_thousand_iterations_are_paged_each_once_and_no_older_page_reads_the_whole_journal() {
    let situation = Situation::new();
    let mut played = Played::begin(&situation, "long", 60_000, &["fix"]);
    played.stage(1, 5_000);
    for iteration in 1..=5_000 {
        played.works(1, iteration);
        played.worked(1, iteration, 10, result("went on"));
    }
    played.stage_ends(1, 5_000);
    played.ends("completed", "completed");
    let store = situation.watched_store();
    let board = board_over(store.clone(), &situation);
    let visitor = Visitor::of(&board);
    let (mut path, mut seen, mut read) = ("/sessions/long".to_owned(), Vec::new(), Vec::new());
    loop {
        let before = store.entries_read();
        let page = visitor.get(&path).body;
        read.push(store.entries_read() - before);
        assert!(page.len() < 256 * 1024, "{}", page.len());
        assert!(page.contains("Stage 1 of 1: fix"), "every page says whose they are");
        let stages = between(&page, "<ol id=\"stages\"", "</ol>").to_owned();
        assert!(stages.contains("5000 of at most 5000 iterations"), "{stages}");
        let numbers = page.split("<li class=\"row in-stage\" id=\"iteration-1-").skip(1);
        let numbers = numbers.map(|row| row.split('-').next().unwrap().parse::<u32>().unwrap());
        seen.extend(numbers);
        let Some((link, _)) = page.split_once("\">Older: ") else { break };
        path = link.rsplit('"').next().unwrap().to_owned();
    }
    let newest_first: Vec<u32> = (1..=5_000).rev().collect();
    assert_eq!(seen, newest_first);
    // The first page reads the whole journal, each older one little more than its own rows.
    assert!(read[0] > 15_000, "{read:?}");
    let most = read[1..].iter().max().unwrap();
    assert!(*most < 1_500, "{read:?}");
    let again = store.entries_read();
    visitor.get("/sessions/long");
    assert_eq!(store.entries_read(), again, "the newest page has been read");
}

#[test]
fn an_older_page_also_shows_what_runs_now_and_the_open_questions() {
    let situation = Situation::new();
    let mut played = Played::begin(&situation, "calm-fox", 600, &["fix"]);
    played.stage(1, 500);
    for iteration in 1..=200 {
        played.works(1, iteration);
        played.worked(1, iteration, 10, result("went on"));
    }
    played.works(1, 201);
    situation.keep(&wait("aaaaaaaa"));
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let page = visitor.get("/sessions/calm-fox?before=100").body;
    let now = read(between(&page, "<div id=\"now\">", "</div>"));
    assert!(now.starts_with("Now ▸ the agent works on iteration 201 since "), "{now}");
    assert!(page.contains("name=\"form\"") && page.contains("id=\"iteration-1-99-99\""), "{page}");
    // Links lead to the next newer page, and from there to the newest.
    assert!(page.contains("<a href=\"/sessions/calm-fox?before=160\">Newer</a>"), "{page}");
    let newer = visitor.get("/sessions/calm-fox?before=160").body;
    assert!(newer.contains("<a href=\"/sessions/calm-fox\">Back to the newest</a>"), "{newer}");
    assert!(!newer.contains(">Newer</a>"), "{newer}");
}

#[test]
fn an_open_page_gets_the_changes_and_nothing_else() {
    let situation = Situation::new();
    let mut played = busy(&situation);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let page = visitor.get("/sessions/calm-fox").body;
    let state = between(&page, "data-state=\"", "\"");
    let mut stream =
        visitor.stream(&format!("/sessions/calm-fox/stream?state={state}"), None).unwrap();
    let mut of_all = visitor.stream("/stream?state=0", None).unwrap();
    assert!(of_all.whole().iter().any(|event| event.name == "sessions"));
    // The page shows everything, so the first update is the next change.
    stream.greeted();
    played.worked(2, 1, 1_000, result("built the cart"));
    let news = stream.whole();
    let names: Vec<&str> = news.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(names, ["head", "stages", "timeline"]);
    let timeline = &news[2];
    assert!(timeline.html.starts_with("<li class=\"row in-stage\" id=\"iteration-2-1-2\">"));
    assert_eq!(timeline.html.matches("<li").count(), 1, "{}", timeline.html);
    let order = json!(["row-3", "iteration-2-1-2", "row-0", "iteration-1-1-1"]);
    assert_eq!(timeline.order, order);
    assert!(read(&timeline.html).contains("built the cart"), "{}", timeline.html);
    let listed = of_all.whole();
    assert_eq!(listed.len(), 1);
    assert!(read(&listed[0].html).contains("build (2 of 2) · 2 iterations"), "{:?}", listed[0]);
}

#[test]
fn a_page_that_reconnects_gets_what_it_missed() {
    let situation = Situation::new();
    let mut played = busy(&situation);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let mut first = visitor.stream("/sessions/calm-fox/stream?state=0", None).unwrap();
    let id = first.whole().pop().unwrap().id.unwrap();
    drop(first);
    // Without a change nothing is sent.
    let mut same = visitor.stream("/sessions/calm-fox/stream?state=0", Some(&id)).unwrap();
    same.greeted();
    played.happens(0, RunEventKind::Session(SessionEvent::Noted { note: "the first note".into() }));
    let news = same.whole();
    assert_eq!(news.len(), 1, "{news:?}");
    assert!(news[0].html.contains("the first note"), "{news:?}");
    drop(same);
    // It reconnects with the state that it showed before the note.
    let mut late = visitor.stream("/sessions/calm-fox/stream", Some(&id)).unwrap();
    let all: Vec<String> = late.whole().into_iter().map(|event| event.name).collect();
    assert_eq!(all, ["questions", "head", "stages", "timeline", "older"]);
}

#[test]
fn a_killed_session_is_shown_as_such_although_nothing_recorded_it() {
    let situation = Situation::new();
    let mut played = busy(&situation);
    let mut process = Command::new("sleep").arg("600").spawn().unwrap();
    played.run_by(process.id());
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let mut stream = visitor.stream("/sessions/calm-fox/stream?state=0", None).unwrap();
    let first: String = stream.whole().into_iter().map(|event| event.html).collect();
    assert!(read(&first).contains(&format!("Process {}", process.id())), "{first}");
    process.kill().unwrap();
    process.wait().unwrap();
    let news = stream.whole();
    assert_eq!(news[0].name, "head");
    assert!(read(&news[0].html).contains("! cut off Plan"), "{}", news[0].html);
    assert!(read(&news[0].html).contains("Resume with hookwright resume calm-fox"));
}

#[test]
fn a_person_approves_on_the_page_and_later_hooks_read_the_answer() {
    let situation = Situation::new();
    busy(&situation);
    let asked = Wait { offered: vec!["later".into()], ..wait("aaaaaaaa") };
    situation.keep(&asked);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    for page in ["/", "/sessions/calm-fox"] {
        let words = read(&visitor.get(page).body);
        let asks = "‖ Your decision is needed Plan ready. Shall the work begin?";
        assert!(words.contains(asks), "{words}");
    }
    let page = visitor.get("/sessions/calm-fox").body;
    let token = form_token(&page);
    let body = format!("form={token}&message=go+on&action=later");
    let told = visitor.post("/answers/aaaaaaaa", "Sec-Fetch-Site: same-origin\r\n", &body);
    assert_eq!((told.status, told.header("location")), (303, Some("/sessions/calm-fox")));
    let WaitState::Decided(decision) = situation.state_of(&asked) else { panic!("decided") };
    assert_eq!(decision.response, json!({ "message": "go on", "action": "later" }));
    assert_eq!(decision.by, "a person at the page, from 127.0.0.1");
    // A second answer is told who was first.
    let again = visitor.post("/answers/aaaaaaaa", "", &body);
    assert_eq!(again.status, 409);
    let words = read(&again.body);
    assert!(words.contains("Decided by a person at the page, from 127.0.0.1"), "{words}");
    let page = visitor.get("/sessions/calm-fox").body;
    assert!(!page.contains("<form"), "{page}");
}

#[test]
fn an_unused_answer_is_shown_with_its_author() {
    let situation = Situation::new();
    let mut played = busy(&situation);
    played.worked(2, 1, 100, result("built"));
    let firing = played.fires("stage:complete", None);
    played.starts(firing, "deploy");
    let (since, until) = (played.now(), played.now());
    let hook = "deploy".to_owned();
    let waiting = RunEventKind::Firing(FiringEvent::HookWaiting {
        hook,
        wait: "aaaaaaaa".into(),
        question: "Deploy?".into(),
        since,
        until,
        url: None,
    });
    played.happens(firing, waiting);
    played.leave();
    let asked = Wait { keeper: DEAD.into(), question: "Deploy?".into(), ..wait("aaaaaaaa") };
    situation.keep(&asked);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let page = visitor.get("/sessions/calm-fox").body;
    let not_running = "This session is not running. Your answer is kept until it is resumed.";
    assert!(read(&page).contains(not_running), "{}", read(&page));
    let token = form_token(&page);
    let told = visitor.post("/answers/aaaaaaaa", "", &format!("form={token}&action=approve"));
    assert_eq!(told.status, 303);
    let words = read(&visitor.get("/sessions/calm-fox").body);
    assert!(words.contains("Approved by a person at the page, from 127.0.0.1, "), "{words}");
    let resumed = "It takes effect when the session is resumed: hookwright resume calm-fox";
    assert!(words.contains(resumed), "{words}");
}

#[test]
fn a_board_of_one_project_does_not_show_or_answer_questions_of_another() {
    let situation = Situation::new();
    busy(&situation);
    situation.keep(&wait("aaaaaaaa"));
    let (of_other, of_all) = (board(&situation, Some("/home/ann/blog")), board(&situation, None));
    let other = Visitor::of(&of_other);
    assert!(read(&other.get("/").body).starts_with("Sessions No sessions yet."));
    let query = "?project=%2Fhome%2Fann%2Fshop";
    assert_eq!(other.get(&format!("/sessions/calm-fox{query}")).status, 404);
    let all = Visitor::of(&of_all);
    let page = all.get("/").body;
    assert!(page.contains(&format!("<a href=\"/sessions/calm-fox{query}\">")), "{page}");
    assert!(read(&page).contains(PROJECT));
    assert_eq!(all.get(&format!("/sessions/calm-fox{query}")).status, 200);
    assert_eq!(all.get("/sessions/calm-fox?project=/elsewhere").status, 404);
    // Not even with a forged form.
    let token = form_token(&page).to_owned();
    assert_eq!(other.post("/answers/aaaaaaaa", "", &format!("form={token}&action=ok")).status, 403);
    let told = all.post("/answers/aaaaaaaa", "", &format!("form={token}&action=ok&back=overview"));
    assert_eq!((told.status, told.header("location")), (303, Some("/")));
}

#[test]
fn a_session_that_a_hook_started_is_shown_with_its_parent_and_asks_there_too() {
    let situation = Situation::new();
    let mut parent = busy(&situation);
    let firing = parent.fires("iteration:start", None);
    let (hook, session) = ("review".to_owned(), "calm-fox-review".to_owned());
    let pipeline = "reviewing".to_owned();
    parent.happens(
        firing,
        RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, pipeline }),
    );
    let mut child = Played::begin(&situation, "calm-fox-review", 50, &["review"]);
    let (session, hook) = ("calm-fox".to_owned(), "review".to_owned());
    child.record.parent = Some(Parent { session, hook });
    child.stage(1, 1);
    situation.keep(&Wait { session: Some("calm-fox-review".into()), ..wait("aaaaaaaa") });
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let list = visitor.get("/").body;
    assert_eq!(list.matches("<li class=\"session\"").count(), 1, "{list}");
    let page = read(&visitor.get("/sessions/calm-fox").body);
    assert!(page.contains("review started calm-fox-review · reviewing running"), "{page}");
    assert!(page.contains("calm-fox-review · stage:complete · stage plan"), "{page}");
    let page = read(&visitor.get("/sessions/calm-fox-review").body);
    assert!(page.contains("Started by calm-fox · review"), "{page}");
    child.ends("failed", "no idea");
    let page = read(&visitor.get("/sessions/calm-fox").body);
    assert!(page.contains("review started calm-fox-review · reviewing failed · 0 ms"), "{page}");
}

#[test]
fn every_page_learns_at_once_that_the_program_ends() {
    let situation = Situation::new();
    busy(&situation);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let streams: Vec<TcpStream> = (0..5)
        .map(|_| {
            let mut stream = TcpStream::connect(visitor.address).unwrap();
            let request = visitor.request("GET", "/sessions/calm-fox/stream", "", "");
            stream.write_all(request.as_bytes()).unwrap();
            let mut came = Vec::new();
            while !String::from_utf8_lossy(&came).contains("retry: 1000\n") {
                let mut chunk = [0; 4096];
                let number = stream.read(&mut chunk).unwrap();
                assert!(number > 0, "it ended before: {}", String::from_utf8_lossy(&came));
                came.extend_from_slice(&chunk[..number]);
            }
            stream
        })
        .collect();
    drop(board);
    // A graceful end: the streams were closed, not cut off after a timeout. The last chunk of a
    // closed stream is empty, which shows it.
    for mut stream in streams {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest.ends_with(b"0\r\n\r\n"), "{}", String::from_utf8_lossy(&rest));
    }
}
