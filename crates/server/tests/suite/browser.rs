//! The page of a question in a real browser.

use std::time::Duration;

use fantoccini::Locator;
use fantoccini::key::Key;
use hookwright_engine::ports::{AnswerMeaning, NewWait, OpenWait, WaitEnd, Waits};
use hookwright_server::WaitDesk;
use serde_json::{Value, json};

use crate::desk::{desk, new_wait};
use crate::driver::{
    DESK, Driver, LOOK, PHONE, Setup, focused, picture, press, text, until_heading,
};
use crate::situation::Situation;

/// A question, as a pipeline asks it.
fn question() -> NewWait {
    NewWait {
        pipeline: Some("full-workflow".into()),
        stage: Some("plan".into()),
        subject: Some("plan".into()),
        iteration: Some(3),
        question: "Plan ready. Shall the work begin?".into(),
        offered: vec!["approve".into(), "revise".into(), "reject".into()],
        changed_files: vec![
            "docs/plan.md".into(),
            "docs/decisions/004-payment-provider.md".into(),
            "src/checkout/mod.rs".into(),
        ],
        stage_outputs: vec![
            ".hookwright/sessions/calm-fox/stage-01-plan/iterations/003/output.md".into(),
        ],
        hook: "pipeline/on_stage_complete#0".into(),
        ..new_wait("1")
    }
}

async fn asked(situation: &Situation, wait: NewWait) -> (WaitDesk, OpenWait) {
    let desk = desk(situation);
    let open = desk.open(wait).await.unwrap();
    (desk, open)
}

// Conformance: agent-pipelines-039
#[tokio::test]
async fn a_person_decides_with_a_click_with_and_without_scripts() {
    let Some(driver) = Driver::start() else { return };
    for scripts in [true, false] {
        let situation = Situation::new();
        let (desk, open) = asked(&situation, question()).await;
        let browser = driver.browser(Setup { scripts, ..DESK }).await;
        // A link that suggests a word decides nothing when it is opened, reloaded and left.
        browser.goto(&format!("{}?action=reject", open.callback_url)).await.unwrap();
        browser.refresh().await.unwrap();
        assert_eq!(text(&browser, "h1").await, "Plan ready. Shall the work begin?");
        assert_eq!(situation.approvals.waiting().unwrap().len(), 1);
        let comment = browser.find(Locator::Id("message")).await.unwrap();
        comment.send_keys("looks good,\ngo on").await.unwrap();
        let revise = browser.find(Locator::Css("button[value=revise]")).await.unwrap();
        assert_eq!(revise.text().await.unwrap(), "Revise");
        let (clicked, end) = tokio::join!(revise.click(), desk.decided(&open.id));
        clicked.unwrap();
        let WaitEnd::Decided { response, word, by, .. } = end.unwrap() else { panic!("decided") };
        let expected = json!({ "message": "looks good,\r\ngo on", "action": "revise" });
        assert_eq!((response, word), (expected, AnswerMeaning::Offered));
        assert_eq!(by, "a person at the page, from 127.0.0.1");
        until_heading(&browser, "Answered: revise").await;
        if scripts {
            assert_eq!(browser.execute(LOOK, vec![]).await.unwrap(), json!([]));
            picture(&browser, "approval-decided").await;
        }
        let now = "The session calm-fox continues now. You can close this page.";
        assert_eq!(text(&browser, ".lead").await, now);
        assert_eq!(text(&browser, "blockquote").await, "looks good,\ngo on");
        // A later visitor sees the decision.
        browser.goto(&open.callback_url).await.unwrap();
        assert_eq!(text(&browser, "h1").await, "Already answered: revise");
        browser.close().await.unwrap();
    }
}

#[tokio::test]
async fn the_keyboard_reaches_everything_in_reading_order_and_decides() {
    let Some(driver) = Driver::start() else { return };
    let situation = Situation::new();
    let many = (0..30).map(|number| format!("src/file{number}.rs")).collect();
    let wait = NewWait { changed_files: many, ..question() };
    let (desk, open) = asked(&situation, wait).await;
    let browser = driver.browser(DESK).await;
    browser.goto(&open.callback_url).await.unwrap();
    let mut order = Vec::new();
    for _ in 0..5 {
        press(&browser, Key::Tab).await;
        order.push(focused(&browser).await);
    }
    let expected = ["summary", "textareamessage", "buttonapprove", "buttonrevise", "buttonreject"];
    assert_eq!(order, expected);
    let (_, end) = tokio::join!(press(&browser, Key::Enter), desk.decided(&open.id));
    assert!(matches!(end.unwrap(), WaitEnd::Decided { word: AnswerMeaning::No, .. }));
    until_heading(&browser, "Rejected").await;
    browser.close().await.unwrap();
}

#[tokio::test]
async fn every_page_can_be_read_used_and_heard_on_a_desk_and_on_a_phone_by_day_and_by_night() {
    let Some(driver) = Driver::start() else { return };
    let situation = Situation::new();
    let (desk, open) = asked(&situation, question()).await;
    let unknown = format!("{}x", open.callback_url);
    let late = NewWait { timeout: Duration::ZERO, ..new_wait("late") };
    let late = desk.open(late).await.unwrap().callback_url;
    let left = desk.open(new_wait("left")).await.unwrap();
    desk.abandon(&left.id).await.unwrap();
    for (name, setup) in [
        ("light", DESK),
        ("dark", Setup { dark: true, ..DESK }),
        ("phone", PHONE),
        ("phone-dark", Setup { dark: true, ..PHONE }),
    ] {
        let browser = driver.browser(setup).await;
        for url in [&open.callback_url, &unknown, &late, &left.callback_url] {
            browser.goto(url).await.unwrap();
            let is_dark = browser
                .execute("return matchMedia('(prefers-color-scheme: dark)').matches", vec![])
                .await;
            assert_eq!(is_dark.unwrap(), Value::from(setup.dark));
            let problems = browser.execute(LOOK, vec![]).await.unwrap();
            assert_eq!(problems, json!([]), "{name} {url}");
        }
        if ["light", "phone-dark"].contains(&name) {
            browser.goto(&open.callback_url).await.unwrap();
            picture(&browser, &format!("approval-{name}")).await;
        }
        browser.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_form_on_another_site_is_refused_by_a_real_browser_too() {
    let Some(driver) = Driver::start() else { return };
    let situation = Situation::new();
    let (_desk, open) = asked(&situation, question()).await;
    let browser = driver.browser(DESK).await;
    let page = format!(
        "data:text/html,<form method=post action='{}'><button name=action value=approve>x</button>",
        open.callback_url
    );
    browser.goto(&page).await.unwrap();
    let button = browser.find(Locator::Css("button")).await.unwrap();
    button.click().await.unwrap();
    until_heading(&browser, "Not allowed from there").await;
    assert_eq!(situation.approvals.waiting().unwrap().len(), 1);
    browser.close().await.unwrap();
}
