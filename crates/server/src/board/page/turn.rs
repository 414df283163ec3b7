//! One turn's conversation: the agent's prompt, and the agent's messages while it worked.

use hookwright_pipeline::folder::TurnTexts;
use maud::{Markup, html};

use super::super::SeenTurn;
use super::report::printed;
use super::words::shortened;

pub(super) fn content(turn: &SeenTurn) -> Markup {
    let TurnTexts { prompt, said: answer } = &turn.texts;
    html! {
        div.sheet.report {
            h1 { (title(turn)) }
            p.quiet { "Stage " (turn.stage) ": " (shortened(&turn.stage_name)) }
            (kept("Prompt", prompt.as_deref()))
            (kept("Output of the agent", answer.as_deref()))
        }
    }
}

/// `Iteration 3`, `Final delivery`.
pub(super) fn title(turn: &SeenTurn) -> String {
    match turn.iteration {
        0 => "Final delivery".to_owned(),
        number => format!("Iteration {number}"),
    }
}

fn kept(heading: &str, text: Option<&str>) -> Markup {
    match text {
        Some(text) => printed(heading, text.trim_end()),
        None => html! { section { h2 { (heading) } p.quiet { "Not kept." } } },
    }
}
