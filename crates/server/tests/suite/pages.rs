//! The text of the pages.

use axum::http::StatusCode;
use hookwright_events::wait::{Paths, Wait};

use crate::situation::{Situation, wait};

/// The text between tags, one line for each piece.
fn text_of(page: &str) -> Vec<String> {
    let body = page.split("<body>").nth(1).expect("a body");
    let mut pieces = Vec::new();
    for part in body.split('<') {
        let text = part.split_once('>').map_or(part, |(_, text)| text).trim();
        if !text.is_empty() {
            pieces.push(text.to_owned());
        }
    }
    pieces
}

#[tokio::test]
async fn the_page_shows_the_question_its_origin_the_changes_and_the_time_left() {
    let situation = Situation::new();
    // The last millisecond of 13 minutes, in an hour far in the future.
    let since_ms = 4_102_444_800_000;
    let asked = Wait {
        since_ms,
        until_ms: since_ms + 3_600_000,
        changed_files: Paths { first: vec!["src/main.rs".into()], more: 0 },
        stage_outputs: Paths { first: vec!["stage-01-plan/output.md".into()], more: 0 },
        ..wait("aaaaaaaa")
    };
    let path = situation.keep(&asked);
    let page = situation.get(&path).await;
    assert_eq!(page.status, StatusCode::OK);
    let mut text = text_of(&page.text);
    let left = text.remove(3);
    assert!(left.ends_with(" left"), "{left}");
    let expected = [
        "Hookwright",
        "Your decision is needed",
        "Plan ready. Shall the work begin?",
        "· until",
        "1 January 2100, 01:00 UTC",
        "Pipeline",
        "full-workflow",
        "Stage",
        "plan",
        "Iteration",
        "3",
        "Event",
        "stage:complete",
        "Session",
        "calm-fox",
        "Project",
        "/home/ann/shop",
        "Asked",
        "1 January 2100, 00:00 UTC",
        "What changed",
        "1 file",
        "src/main.rs",
        "Outputs of the stage",
        "1 file",
        "stage-01-plan/output.md",
        "Decide",
        "Comment",
        "(optional)",
        "Approve",
        "Reject",
        "The first answer counts and cannot be undone. The comment is sent with it.",
        "Wait",
        "aaaaaaaa",
        "of the hook",
        "hookwright/stage:complete#0",
        "In a terminal:",
        "hookwright approve aaaaaaaa",
        "or",
        "hookwright reject aaaaaaaa",
    ];
    assert_eq!(text, expected);
}

#[tokio::test]
async fn every_offered_word_has_a_button_and_there_is_always_a_yes_and_a_no() {
    let buttons = async |offered: &[&str], query: &str| -> Vec<String> {
        let situation = Situation::new();
        let offered = offered.iter().map(|word| (*word).to_owned()).collect();
        let path = situation.keep(&Wait { offered, ..wait("aaaaaaaa") });
        let page = situation.get(&format!("{path}{query}")).await.text;
        let values = page.split("<button").skip(1).map(|button| {
            let part = |name: &str| {
                let rest = button.split_once(&format!("{name}=\"")).expect("an attribute").1;
                rest.split('"').next().expect("its value").to_owned()
            };
            format!("{} {}", part("class"), part("value"))
        });
        values.collect()
    };
    assert_eq!(buttons(&[], "").await, ["yes approve", "no reject"]);
    assert_eq!(
        buttons(&["later", "abort", "later"], "").await,
        ["yes approve", "offered later", "no abort"]
    );
    assert_eq!(buttons(&["yes", "no"], "").await, ["yes yes", "no no"]);
    // A link that suggests a word puts it first and decides nothing.
    assert_eq!(buttons(&["later"], "?action=Later").await[0], "offered later");
    assert_eq!(buttons(&[], "?action=nonsense").await, ["yes approve", "no reject"]);
}

#[tokio::test]
async fn a_long_question_is_below_a_heading_and_many_files_are_folded() {
    let situation = Situation::new();
    let files = |count: usize| (0..count).map(|number| format!("f{number}")).collect();
    let asked = Wait {
        question: "first line\nsecond line".into(),
        changed_files: Paths { first: files(20), more: 480 },
        ..wait("aaaaaaaa")
    };
    let path = situation.keep(&asked);
    let page = situation.get(&path).await.text;
    assert!(page.contains("<h1>Continue?</h1><p class=\"asked\">first line\nsecond line</p>"));
    assert!(page.contains("<span class=\"count\">500 files</span>"), "{page}");
    assert!(page.contains("<li>f7</li></ul><details><summary>492 more files</summary>"), "{page}");
    assert!(page.contains("<li>f19</li></ul><p class=\"quiet\">and 480 more files</p>"), "{page}");
}
