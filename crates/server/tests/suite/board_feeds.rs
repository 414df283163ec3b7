//! Many pages that follow the same session: what each gets, and what that costs.

use std::time::Instant;

use hookwright_events::{FiringEvent, RunEventKind, SessionEvent};
use hookwright_server::limits;

use crate::played::{Played, result};
use crate::situation::{Situation, wait};
use crate::visitor::{Event, Stream, Visitor, board_of_project, board_over};

const PAGES: usize = 50;
const CHANGES: usize = 10;

fn followed(situation: &Situation) -> Played {
    let mut played = Played::begin(situation, "calm-fox", 600, &["build"]);
    played.stage(1, 10);
    played
}

/// This many pages of the session, each up to date.
fn pages(visitor: &Visitor, number: usize) -> Vec<Stream> {
    let open = || visitor.stream("/sessions/calm-fox/stream?state=0", None).unwrap();
    let mut pages: Vec<Stream> = (0..number).map(|_| open()).collect();
    for page in &mut pages {
        assert_eq!(page.whole().len(), 5, "everything");
    }
    pages
}

fn note(played: &mut Played, note: &str) {
    played.happens(0, RunEventKind::Session(SessionEvent::Noted { note: note.into() }));
}

/// The next events of all of these pages, which are the same.
fn next_of_all(pages: &mut [Stream]) -> Vec<Event> {
    let mut news: Vec<Vec<Event>> = pages.iter_mut().map(Stream::whole).collect();
    let first = news.pop().unwrap();
    assert!(news.iter().all(|other| *other == first), "{first:?}\n{news:?}");
    first
}

#[test]
fn fifty_pages_get_every_change_and_it_is_read_once_for_all() {
    let situation = Situation::new();
    let mut played = followed(&situation);
    let store = situation.watched_store();
    let board = board_over(store.clone(), &situation);
    let visitor = Visitor::of(&board);
    let began = Instant::now();
    let mut pages = pages(&visitor, PAGES);
    let before = store.journals_read();
    let ids: Vec<String> = (1..=CHANGES)
        .map(|number| {
            let words = format!("note number {number}");
            note(&mut played, &words);
            let mut news = next_of_all(&mut pages);
            let last = news.pop().unwrap();
            assert!(last.html.contains(&words), "{last:?}");
            assert!(news.is_empty(), "nothing but the timeline has changed: {news:?}");
            last.id.unwrap()
        })
        .collect();
    // One update reads twice: the new entries, and the end. A few reads happen without a change.
    let reads = store.journals_read() - before;
    let unasked = began.elapsed().as_secs() / limits::UNWRITTEN_LOOK_PAUSE.as_secs() + 1;
    let most = 2 * (CHANGES + usize::try_from(unasked).unwrap());
    assert!((CHANGES..=most).contains(&reads), "{reads} reads for {CHANGES} changes");
    // One task polls for all pages; each new page polls once, and so does each update.
    let asked = store.changes_asked();
    let ticks = began.elapsed().as_millis() / limits::CHANGES_LOOK_PAUSE.as_millis() + 1;
    let most = PAGES + usize::try_from(ticks).unwrap() + most;
    assert!(asked <= most, "{asked} times, at most {most}");
    // A late page gets everything at once; one that reconnects gets nothing that it already has.
    let mut late = visitor.stream("/sessions/calm-fox/stream?state=0", None).unwrap();
    let all = late.whole();
    assert_eq!(all.len(), 5);
    assert!(all[3].html.contains("note number 1<") && all[3].html.contains("note number 10"));
    let last = ids.last().unwrap();
    assert_eq!(all[4].id.as_ref(), Some(last));
    let mut back = visitor.stream("/sessions/calm-fox/stream?state=0", Some(last)).unwrap();
    back.greeted();
    pages.extend([late, back]);
    note(&mut played, "after that");
    let news = next_of_all(&mut pages);
    assert!(news.len() == 1 && news[0].html.contains("after that"), "{news:?}");
    // A page that has missed a change gets everything.
    let mut missed = visitor.stream("/sessions/calm-fox/stream", Some(last)).unwrap();
    assert_eq!(missed.whole().len(), 5);
}

#[test]
fn every_page_shows_that_the_session_has_ended_and_stays_open() {
    let situation = Situation::new();
    let mut played = followed(&situation);
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let mut pages = pages(&visitor, 5);
    played.works(1, 1);
    while !next_of_all(&mut pages).iter().any(|event| event.html.contains("the agent works")) {}
    played.worked(1, 1, 100, result("built"));
    played.stage_ends(1, 1);
    played.ends("completed", "completed");
    while !next_of_all(&mut pages).iter().any(|event| {
        let is_over = event.html.contains("class=\"status good\"");
        event.name == "head" && is_over && !event.html.contains("<h2>Now</h2>")
    }) {}
    // The session can be resumed, so the streams stay open.
    note(&mut played, "once more");
    while !next_of_all(&mut pages).iter().any(|event| event.html.contains("once more")) {}
}

#[test]
fn pages_of_a_deleted_session_learn_that_and_end_while_others_continue() {
    let situation = Situation::new();
    let mut other = Played::begin(&situation, "other", 600, &["build"]);
    let mut played = followed(&situation);
    note(&mut played, "of the first one");
    let board = board_of_project(&situation);
    let visitor = Visitor::of(&board);
    let mut pages = pages(&visitor, 5);
    let mut of_other = visitor.stream("/sessions/other/stream?state=0", None).unwrap();
    of_other.whole();
    played.delete();
    for page in &mut pages {
        let names: Vec<String> =
            std::iter::from_fn(|| page.event()).map(|event| event.name).collect();
        assert_eq!(names, ["gone"]);
    }
    note(&mut other, "goes on");
    assert!(of_other.whole()[0].html.contains("goes on"));
    // Another session of the same name is a different one.
    let mut again = followed(&situation);
    let mut page = visitor.stream("/sessions/calm-fox/stream?state=0", None).unwrap();
    assert!(page.whole().iter().all(|event| !event.html.contains("of the first one")));
    note(&mut again, "of the second one");
    assert!(page.whole()[0].html.contains("of the second one"));
}

#[test]
fn forms_come_with_the_token_of_the_program_that_serves_the_page() {
    let situation = Situation::new();
    let _played = followed(&situation);
    let boards = [board_of_project(&situation), board_of_project(&situation)];
    let visitors = boards.each_ref().map(Visitor::of);
    let mut streams = visitors.each_ref().map(|visitor| pages(visitor, 2));
    situation.keep(&wait("aaaaaaaa"));
    let tokens = streams.each_mut().map(|pages| {
        let news = next_of_all(pages);
        let form = &news[0].html;
        form.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    });
    assert_ne!(tokens[0], tokens[1]);
    let [ours, others] = tokens.map(|token| format!("form={token}&action=approve"));
    assert_eq!(visitors[0].post("/answers/aaaaaaaa", "", &others).status, 403);
    assert_eq!(visitors[0].post("/answers/aaaaaaaa", "", &ours).status, 303);
    // It disappears from all pages of both.
    for pages in &mut streams {
        assert!(!next_of_all(pages).iter().any(|event| event.html.contains("<form")));
    }
    let stranger = Visitor { cookie: String::new(), ..Visitor::of(&boards[0]) };
    assert_eq!(stranger.stream("/sessions/calm-fox/stream", None).err(), Some(404));
}

#[test]
fn a_page_gets_updates_for_everything_that_it_shows_and_not_for_other_sessions() {
    let situation = Situation::new();
    let mut played = followed(&situation);
    let mut other = Played::begin(&situation, "other", 600, &["build"]);
    let firing = played.fires("iteration:start", None);
    let (hook, session) = ("review".to_owned(), "calm-fox-review".to_owned());
    let pipeline = "reviewing".to_owned();
    played.happens(
        firing,
        RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, pipeline }),
    );
    let board = board_of_project(&situation);
    let mut pages = pages(&Visitor::of(&board), 2);
    let mut told = |what: &str| {
        let news = next_of_all(&mut pages);
        assert!(news.iter().any(|event| event.html.contains(what)), "{what}: {news:?}");
    };
    // A child that begins and ends, a question with its answer, and a change of the record alone.
    let mut child = Played::begin(&situation, "calm-fox-review", 50, &["review"]);
    told("running");
    child.ends("failed", "no idea");
    told("failed");
    let asked = wait("aaaaaaaa");
    situation.keep(&asked);
    told("<form");
    note(&mut other, "elsewhere");
    played.record.metadata.git_branch = Some("main".into());
    note(&mut played, "on a branch");
    told("main");
    played.leave();
    told("cut off");
}
