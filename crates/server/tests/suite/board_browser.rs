//! The sessions page in a real browser, with realistic sessions.

use fantoccini::Client;
use hookwright_events::wait::Wait;
use hookwright_events::{
    FiringEvent, ItemState, PauseCause, Report, RunEventKind, SessionEvent, Status, TurnResult,
    Usage, WorkItem, WorkSource,
};
use hookwright_pipeline::record::Parent;
use serde_json::{Value, json};

use crate::driver::{DESK, Driver, LOOK, PHONE, Setup, follow, picture, until, until_live};
use crate::played::{Played, report, result};
use crate::situation::{Situation, wait};
use crate::visitor::board_of_project;

fn used(input_tokens: u64, output_tokens: u64, cost: f64) -> Option<Usage> {
    Some(Usage { input_tokens, output_tokens, cost_usd: Some(cost) })
}

fn turn(summary: &str, files: &[&str], usage: Option<Usage>) -> TurnResult {
    let changed_files = files.iter().map(|file| (*file).to_owned()).collect();
    TurnResult { changed_files, usage, ..result(summary) }
}

/// The hooks after an iteration: format, test, commit.
fn hooks(played: &mut Played, took: [i64; 3], tests: Report) {
    let firing = played.fires("iteration:complete", None);
    for (took, report) in took.into_iter().zip([report("format"), tests, report("commit")]) {
        played.starts(firing, &report.id);
        played.reports(firing, took, report);
    }
}

fn issue(played: &mut Played, execution: u32, key: &str, title: &str) {
    let item = WorkItem {
        source: WorkSource::Issues,
        key: key.into(),
        title: title.into(),
        content: None,
        file: None,
        plan_file: None,
    };
    played
        .happens(0, RunEventKind::Session(SessionEvent::ItemStarted { stage: 2, execution, item }));
}

fn issue_ends(played: &mut Played, execution: u32, key: &str, iterations: u32, took: f64) {
    played.happens(
        0,
        RunEventKind::Session(SessionEvent::ItemEnded {
            stage: 2,
            execution,
            key: key.into(),
            state: ItemState::Done,
            reason: None,
            iterations,
            duration_ms: took,
        }),
    );
}

/// A pipeline in the middle of its work.
fn at_work(situation: &Situation) -> Played {
    let mut played = Played::begin(situation, "calm-fox", 860, &["plan", "build", "review"]);
    played.record.metadata.git_branch = Some("checkout".into());
    played.record.metadata.git_commit = Some("3f9c2a7be1d0".into());
    played.stage(1, 3);
    played.works(1, 1);
    let plan = turn(
        "Wrote the plan: three issues, smallest first",
        &["docs/plan.md"],
        used(18_400, 2_100, 0.11),
    );
    played.worked(1, 1, 96_000, plan);
    hooks(&mut played, [180, 9_400, 310], report("tests"));
    played.stage_ends(1, 1);
    played.stage(2, 30);
    issue(&mut played, 1, "12", "Cart keeps its content over a restart");
    played.works(2, 1);
    let cart = turn(
        "Cart is stored with the session; one test is still red",
        &["src/cart/store.rs", "src/cart/mod.rs", "tests/cart.rs"],
        used(61_200, 7_900, 0.42),
    );
    played.worked(2, 1, 214_000, cart);
    let red = Report {
        status: Status::Failed,
        exit_code: Some(101),
        stdout: "test cart::survives_a_restart ... FAILED\n\nfailures:\n    cart::survives_a_restart\n\n\
                 test result: FAILED. 41 passed; 1 failed; 0 ignored"
            .into(),
        reason: Some("exit code 101, output goes to the agent".into()),
        ..report("tests")
    };
    hooks(&mut played, [210, 31_800, 290], red);
    played.works(2, 2);
    let green =
        turn("The cart survives a restart", &["src/cart/store.rs"], used(48_000, 3_300, 0.27));
    played.worked(2, 2, 121_000, green);
    hooks(&mut played, [190, 33_100, 340], report("tests"));
    issue_ends(&mut played, 1, "12", 2, 401_000.0);
    issue(&mut played, 2, "15", "Payment asks again when the bank does not answer");
    let paused = RunEventKind::Session(SessionEvent::Paused {
        cause: PauseCause::RateLimit,
        reason: "the agent's limit is reached".into(),
        until: None,
    });
    played.happens(0, paused);
    played.passes(154_000);
    played.happens(0, RunEventKind::Session(SessionEvent::Continued {}));
    played.works(2, 3);
    let retries = turn(
        "Three attempts with growing pauses, then a clear error",
        &["src/payment/retry.rs", "src/payment/mod.rs", "tests/payment.rs"],
        used(72_500, 9_400, 0.51),
    );
    played.worked(2, 3, 187_000, retries);
    let firing = played.fires("iteration:complete", None);
    played.starts(firing, "format");
    played.reports(firing, 200, report("format"));
    let (hook, session) = ("review".to_owned(), "calm-fox-review-3".to_owned());
    let pipeline = "review".to_owned();
    played.happens(
        firing,
        RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, pipeline }),
    );
    played.starts(firing, "tests");
    played.passes(12_000);
    reviewed(situation);
    played
}

/// The review that a hook started.
fn reviewed(situation: &Situation) {
    let mut child = Played::begin(situation, "calm-fox-review-3", 11, &["review"]);
    let (session, hook) = ("calm-fox".to_owned(), "review".to_owned());
    child.record.parent = Some(Parent { session, hook });
    child.stage(1, 1);
    child.works(1, 1);
    child.worked(1, 1, 8_400, result("No objections"));
    child.ends("completed", "completed");
}

fn question() -> Wait {
    Wait {
        question: "Payment retries change what customers see. Shall this be merged?".into(),
        offered: vec!["approve".into(), "revise".into(), "reject".into()],
        stage: Some("build".into()),
        event: "iteration:complete".into(),
        hook: "ask-before-merge".into(),
        ..wait("k7m2p9qx")
    }
}

fn other_sessions(situation: &Situation) {
    for (name, ago, status, reason) in [
        ("nightly-3", 86_400, "completed", "completed"),
        ("nightly-4", 43_000, "failed", "three errors in a row"),
        ("docs-sweep", 9_000, "completed", "completed"),
        ("try-gemini", 4_000, "interrupted", "interrupted"),
    ] {
        let mut played = Played::begin(situation, name, ago, &["fix"]);
        played.record.plan = if name == "docs-sweep" { "docs" } else { "fix" }.into();
        played.stage(1, 20);
        for iteration in 1..=3 {
            played.works(1, iteration);
            played.worked(1, iteration, 61_000, result("went on"));
        }
        played.ends(status, reason);
    }
}

async fn look(browser: &Client, name: &str) {
    // The list of faults is empty.
    assert_eq!(browser.execute(LOOK, vec![]).await.unwrap(), json!([]), "{name}");
}

#[tokio::test]
async fn every_page_can_be_read_used_and_heard_on_a_desk_and_on_a_phone_by_day_and_by_night() {
    let Some(driver) = Driver::start() else { return };
    let situation = Situation::new();
    other_sessions(&situation);
    let _running = at_work(&situation);
    situation.keep(&question());
    let board = board_of_project(&situation);
    let desk = Setup { height: 1_500, ..DESK };
    let phone = Setup { height: 2_400, ..PHONE };
    for (name, setup) in [
        ("light", desk),
        ("dark", Setup { dark: true, ..desk }),
        ("phone", phone),
        ("phone-dark", Setup { dark: true, ..phone }),
        ("without-scripts", Setup { scripts: false, ..desk }),
    ] {
        let browser = driver.browser(setup).await;
        browser.goto(&board.url).await.unwrap();
        let address = browser.current_url().await.unwrap();
        assert_eq!(address.path(), "/", "the address is not seen any more");
        if setup.scripts {
            until_live(&browser).await;
        }
        look(&browser, &format!("{name} sessions")).await;
        if ["light", "phone-dark"].contains(&name) {
            picture(&browser, &format!("sessions-{name}")).await;
        }
        follow(&browser, "//a[text()='calm-fox']", "calm-fox").await;
        if setup.scripts {
            until_live(&browser).await;
        }
        look(&browser, &format!("{name} session")).await;
        if ["light", "dark", "phone-dark"].contains(&name) {
            picture(&browser, &format!("session-{name}")).await;
        }
        follow(&browser, "//a[text()='tests'][1]", "tests").await;
        look(&browser, &format!("{name} report")).await;
        let nothing = board.url.replace("/open/", "/nothing/");
        browser.goto(&nothing).await.unwrap();
        look(&browser, &format!("{name} nothing")).await;
        browser.close().await.unwrap();
    }
}

#[tokio::test]
async fn an_update_keeps_what_a_person_has_unfolded_typed_and_scrolled_to() {
    let Some(driver) = Driver::start() else { return };
    let situation = Situation::new();
    let mut played = at_work(&situation);
    situation.keep(&question());
    let board = board_of_project(&situation);
    let browser = driver.browser(Setup { height: 600, ..DESK }).await;
    browser.goto(&board.url).await.unwrap();
    follow(&browser, "//a[text()='calm-fox']", "calm-fox").await;
    until_live(&browser).await;
    // One iteration is folded and another unfolded, against the defaults; a comment is begun.
    let fold = "
        const [newest, oldest] = ['iteration-2-3-4-more', 'iteration-1-1-1-more'].map(id => document.getElementById(id));
        newest.open = false; oldest.open = true;
        const field = document.querySelector('textarea');
        field.focus(); field.value = 'not before'; field.setSelectionRange(3, 3);
        oldest.scrollIntoView();
        return Math.round(oldest.getBoundingClientRect().top);";
    let top = browser.execute(fold, vec![]).await.unwrap();
    let firing = played.fires("iteration:complete", None);
    played.reports(firing, 33_000, report("tests"));
    played.works(2, 4);
    let newest = "//*[@id='iteration-2-4-5']";
    until(&browser, newest).await;
    let kept = "
        const [newest, oldest] = ['iteration-2-3-4-more', 'iteration-1-1-1-more'].map(id => document.getElementById(id));
        const field = document.querySelector('textarea');
        return [newest.open, oldest.open, field.value, document.activeElement === field,
            field.selectionStart, Math.round(oldest.getBoundingClientRect().top)];";
    let kept = browser.execute(kept, vec![]).await.unwrap();
    assert_eq!(kept, json!([false, true, "not before", true, 3, top]));
    let order =
        "return [...document.querySelectorAll('#timeline > li')].slice(0, 4).map(e => e.id)";
    let order: Value = browser.execute(order, vec![]).await.unwrap();
    assert_eq!(order[2], "iteration-2-4-5", "{order}");
    browser.close().await.unwrap();
}

#[tokio::test]
async fn a_page_reports_that_its_session_was_deleted_and_keeps_its_content() {
    let Some(driver) = Driver::start() else { return };
    let situation = Situation::new();
    let played = at_work(&situation);
    let board = board_of_project(&situation);
    let browser = driver.browser(DESK).await;
    browser.goto(&board.url).await.unwrap();
    follow(&browser, "//a[text()='calm-fox']", "calm-fox").await;
    until_live(&browser).await;
    played.delete();
    until(&browser, "//*[@id='live'][text()='removed from the store']").await;
    until(&browser, "//*[@id='iteration-2-3-4']").await;
    look(&browser, "removed").await;
    browser.close().await.unwrap();
}
