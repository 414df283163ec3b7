//! `hookwright approvals`: lists the open questions.

use clap::Args;
use hookwright_events::Wait;
use hookwright_server::Approvals;
use hookwright_server::approvals::{iso, offered_words};
use hookwright_server::span::in_words;
use serde_json::{Value, json};

use crate::error::{ApprovalFailure, Failure};
use crate::screen::Screen;
use crate::store_time;
use crate::text::{one_line, visible};
use crate::{approvals, exit_code};

/// Characters of a question that are shown.
const QUESTION_CHARS_MAX: usize = 100;

/// List the questions that wait for a person's decision, oldest first
///
/// Shows each question, its session, the time left, and the address where it can be answered.
/// `approve` and `reject` answer in the terminal, from any folder, also while no server listens at
/// the address.
#[derive(Debug, Args)]
pub(crate) struct ApprovalsArguments {
    /// Print a JSON list on standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn approvals(arguments: &ApprovalsArguments, screen: &Screen) -> Result<u8, Failure> {
    let known = approvals::existing()?;
    let waiting = known.as_ref().map(Approvals::waiting).transpose();
    let waiting = waiting
        .map_err(|error| Failure::Approval(ApprovalFailure::Wait(error)))?
        .unwrap_or_default();
    if arguments.json {
        let list: Vec<Value> = known
            .iter()
            .flat_map(|known| waiting.iter().map(|wait| as_json(known, wait)))
            .collect();
        screen.json(&list)?;
        return Ok(exit_code::GO_ON);
    }
    let Some(known) = known.filter(|_| !waiting.is_empty()) else {
        screen.talk("nothing waits for a decision\n");
        return Ok(exit_code::GO_ON);
    };
    let blocks: Vec<String> = waiting.iter().map(|wait| block(&known, wait)).collect();
    screen.result(&visible(&blocks.join("\n")))?;
    screen.talk("decide with: hookwright approve ID, or hookwright reject ID\n");
    Ok(exit_code::GO_ON)
}

/// A question in a few lines.
fn block(known: &Approvals, wait: &Wait) -> String {
    let question = match one_line(&wait.question, QUESTION_CHARS_MAX) {
        question if question.is_empty() => wait.hook.clone(),
        question => question,
    };
    let mut facts = vec![wait.event.clone()];
    facts.extend(wait.session.iter().map(|session| format!("session {session}")));
    facts.extend(wait.stage.iter().map(|stage| format!("stage {stage}")));
    facts.extend(wait.iteration.iter().map(|iteration| format!("iteration {iteration}")));
    facts.push(format!("{} left", in_words(wait.until_ms.saturating_sub(store_time::now_ms()))));
    if !known.is_attended(wait) {
        facts.push("its session is not running".to_owned());
    }
    let id = &wait.id;
    let indent = " ".repeat(id.len());
    let (facts, url) = (one_line(&facts.join(", "), 200), known.url_of(wait));
    format!("{id}  {question}\n{indent}  {facts}\n{indent}  {url}\n")
}

fn as_json(known: &Approvals, wait: &Wait) -> Value {
    let words: Vec<String> = offered_words(wait).into_iter().map(|(word, _)| word).collect();
    json!({
        "version": 1,
        "id": wait.id,
        "session": wait.session,
        "event": wait.event,
        "question": wait.question,
        "since": iso(wait.since_ms),
        "until": iso(wait.until_ms),
        "url": known.url_of(wait),
        "project": wait.project,
        "hook": wait.hook,
        "pipeline": wait.pipeline,
        "stage": wait.stage,
        "iteration": wait.iteration,
        "actions": words,
        "running": known.is_attended(wait),
    })
}
