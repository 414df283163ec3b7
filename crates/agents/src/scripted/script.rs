//! A script as data, and its reader. All faults of a script are found here, before a turn is
//! played.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hookwright_config::{ExpectedValue, Fault, MissingKey, SourceFile};
use serde_json::{Map, Value};

use super::tree::{Node, Raw, ScriptNotes};
use super::work_tree::is_inside;

/// A file of turns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Script {
    turns: Vec<ScriptTurn>,
    then: Then,
    /// The actions of the turn that gets the output of hooks after the last iteration.
    at_end: Vec<ScriptAction>,
}

/// What happens in one iteration.
#[derive(Debug, Clone, PartialEq)]
struct ScriptTurn {
    /// The stage that it is for; `None` for all stages without turns of their own.
    stage: Option<String>,
    actions: Vec<ScriptAction>,
}

/// What happens after the last turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    Repeat,
    Stop,
    Fail,
}

/// The part of the script for an iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ScriptPart<'a> {
    /// These actions.
    Actions(&'a [ScriptAction]),
    /// The agent reports that the work is done.
    Stop,
    /// The agent fails, because there are no more turns.
    Fail,
    /// The script has no turns for this stage.
    Nothing,
}

/// One thing that the agent does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScriptAction {
    Say(String),
    Complain(String),
    Write(Vec<(String, String)>),
    Append(Vec<(String, String)>),
    Delete(Vec<String>),
    Status(Map<String, Value>),
    RawStatus(String),
    Fail(String),
    Exit(i32),
    Sleep(Duration),
    WaitFor(String),
    Run(String),
    IfPrompt { contains: String, then: Vec<ScriptAction>, otherwise: Vec<ScriptAction> },
}

const KEYS: &[&str] = &["turns", "then", "at_end"];
const TURN_KEYS: &[&str] = &["stage", "do"];
const DEEDS: &[&str] = &[
    "say",
    "complain",
    "write",
    "append",
    "delete",
    "status",
    "raw_status",
    "fail",
    "exit",
    "sleep",
    "wait_for",
    "run",
    "if_prompt",
];
const STATUS_KEYS: &[&str] = &[
    "decision",
    "reason",
    "summary",
    "work",
    "failure",
    "resets_at",
    "retry_after",
    "usage",
    "agent_session",
];
const FAILURES: &[&str] = &["rate_limit", "quota", "auth", "outage", "crash"];
const DECISIONS: &[&str] = &["continue", "stop", "error"];
const IF_PROMPT_KEYS: &[&str] = &["contains", "then", "else"];
const PATH_EXPECTED: &str = "a path within the working directory";
const FILES_EXPECTED: &str = "a map from paths to strings";
const ACTIONS_EXPECTED: &str = "a list of actions";

impl Script {
    /// Reads a script, or returns all its faults.
    pub(super) fn read(text: &str, shown_as: &Path) -> Result<Self, Vec<Fault>> {
        let source = Arc::new(SourceFile { path: shown_as.to_owned(), text: text.into() });
        let mut notes = ScriptNotes::new(&source);
        let script = notes.parse().map(|node| script(&node, &mut notes));
        match (script, notes.into_faults()) {
            (Some(script), faults) if faults.is_empty() => Ok(script),
            (_, faults) => Err(faults),
        }
    }

    /// The part for the turn after the last iteration.
    pub(super) fn at_end(&self) -> ScriptPart<'_> {
        ScriptPart::Actions(&self.at_end)
    }

    /// The part for this iteration (from 1) of this stage.
    pub(super) fn part(&self, stage: &str, iteration: u32) -> ScriptPart<'_> {
        let is_its_own = |turn: &&ScriptTurn| turn.stage.as_deref() == Some(stage);
        let mut turns: Vec<&ScriptTurn> = self.turns.iter().filter(is_its_own).collect();
        if turns.is_empty() {
            turns = self.turns.iter().filter(|turn| turn.stage.is_none()).collect();
        }
        let Some(last) = turns.last() else {
            return ScriptPart::Nothing;
        };
        match (turns.get(iteration.saturating_sub(1) as usize), self.then) {
            (Some(turn), _) => ScriptPart::Actions(&turn.actions),
            (None, Then::Repeat) => ScriptPart::Actions(&last.actions),
            (None, Then::Stop) => ScriptPart::Stop,
            (None, Then::Fail) => ScriptPart::Fail,
        }
    }
}

/// What a script that is to stop does when it has no more turns.
pub(super) fn no_more_turns() -> ScriptAction {
    let status = [("decision", "stop"), ("reason", "the script has no more turns")];
    ScriptAction::Status(
        status.map(|(key, value)| (key.to_owned(), Value::from(value))).into_iter().collect(),
    )
}

fn script(node: &Node, notes: &mut ScriptNotes<'_>) -> Script {
    let mut script = Script { turns: Vec::new(), then: Then::Repeat, at_end: Vec::new() };
    let fields = notes.map(node, "a map with `turns`");
    for field in fields {
        match &*field.key {
            "turns" => {
                let items = notes.list(&field.value, "a list of turns");
                script.turns = items.iter().map(|item| turn(item, notes)).collect();
            }
            "then" => {
                let words = &["repeat", "stop", "fail"];
                let meanings = [Then::Repeat, Then::Stop, Then::Fail];
                script.then = notes.word(&field.value, words, &meanings).unwrap_or(script.then);
            }
            "at_end" => script.at_end = actions(&field.value, notes),
            _ => notes.unknown_key(field, KEYS),
        }
    }
    if !fields.is_empty() && !fields.iter().any(|field| &*field.key == "turns") {
        notes.missing(node.at, MissingKey::Turns);
    }
    script
}

/// A list of actions, or a map with the actions and a stage.
fn turn(node: &Node, notes: &mut ScriptNotes<'_>) -> ScriptTurn {
    const EXPECTED: &str = "a turn: a list of actions, or a map with `stage` and `do`";
    let mut turn = ScriptTurn { stage: None, actions: Vec::new() };
    if let Raw::List(_) = node.raw {
        turn.actions = actions(node, notes);
        return turn;
    }
    let fields = notes.map(node, EXPECTED);
    for field in fields {
        match &*field.key {
            "stage" => turn.stage = notes.full_text(&field.value, "a stage's name"),
            "do" => turn.actions = actions(&field.value, notes),
            _ => notes.unknown_key(field, TURN_KEYS),
        }
    }
    if !fields.is_empty() && !fields.iter().any(|field| &*field.key == "do") {
        notes.missing(node.at, MissingKey::Actions);
    }
    turn
}

fn actions(node: &Node, notes: &mut ScriptNotes<'_>) -> Vec<ScriptAction> {
    let items = notes.list(node, ACTIONS_EXPECTED);
    items.iter().filter_map(|item| action(item, notes)).collect()
}

fn action(node: &Node, notes: &mut ScriptNotes<'_>) -> Option<ScriptAction> {
    let Raw::Map(fields) = &node.raw else {
        notes.wrong_kind(node, "an action such as `say: hello`");
        return None;
    };
    // Each on its own: in a map their order would be easy to overlook.
    let [field] = &fields[..] else {
        notes.wrong_kind(node, "one action in each item of the list");
        return None;
    };
    let value = &field.value;
    Some(match &*field.key {
        "say" => ScriptAction::Say(notes.text(value, ExpectedValue::String)?),
        "complain" => ScriptAction::Complain(notes.text(value, ExpectedValue::String)?),
        "write" => ScriptAction::Write(files(value, notes)),
        "append" => ScriptAction::Append(files(value, notes)),
        "delete" => {
            let items = notes.list(value, "a list of paths");
            ScriptAction::Delete(items.iter().filter_map(|item| path(item, notes)).collect())
        }
        "status" => ScriptAction::Status(status(value, notes)),
        "raw_status" => ScriptAction::RawStatus(notes.text(value, ExpectedValue::String)?),
        "fail" => ScriptAction::Fail(notes.text(value, "a string with the reason")?),
        "exit" => ScriptAction::Exit(notes.exit_code(value)?),
        "sleep" => ScriptAction::Sleep(notes.duration(value)?),
        "wait_for" => ScriptAction::WaitFor(path(value, notes)?),
        "run" => ScriptAction::Run(notes.full_text(value, "a command")?),
        "if_prompt" => if_prompt(value, notes)?,
        _ => {
            notes.unknown_key(field, DEEDS);
            return None;
        }
    })
}

fn files(node: &Node, notes: &mut ScriptNotes<'_>) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for field in notes.map(node, FILES_EXPECTED) {
        if !is_inside(&field.key) {
            notes.bad_value(field.at, &*field.key, PATH_EXPECTED);
        }
        let text = notes.text(&field.value, ExpectedValue::String);
        files.extend(text.map(|text| (field.key.to_string(), text)));
    }
    files
}

fn path(node: &Node, notes: &mut ScriptNotes<'_>) -> Option<String> {
    let path = notes.full_text(node, PATH_EXPECTED)?;
    if !is_inside(&path) {
        notes.bad_value(node.at, path, PATH_EXPECTED);
        return None;
    }
    Some(path)
}

fn status(node: &Node, notes: &mut ScriptNotes<'_>) -> Map<String, Value> {
    let mut status = Map::new();
    let fields = notes.map(node, "a map with `decision`");
    for field in fields {
        let value = match &*field.key {
            "decision" => notes.word(&field.value, DECISIONS, DECISIONS).map(Value::from),
            "reason" | "summary" => {
                notes.text(&field.value, ExpectedValue::String).map(Value::from)
            }
            "failure" => notes.word(&field.value, FAILURES, FAILURES).map(Value::from),
            "retry_after" => {
                notes.duration(&field.value).map(|wait| Value::from(wait.as_secs_f64()))
            }
            "work" | "resets_at" | "usage" | "agent_session" => Some(field.value.to_json()),
            _ => {
                notes.unknown_key(field, STATUS_KEYS);
                None
            }
        };
        status.extend(value.map(|value| (field.key.to_string(), value)));
    }
    if !fields.is_empty() && !fields.iter().any(|field| &*field.key == "decision") {
        notes.missing(node.at, MissingKey::AgentDecision);
    }
    status
}

fn if_prompt(node: &Node, notes: &mut ScriptNotes<'_>) -> Option<ScriptAction> {
    let fields = notes.map(node, "a map with `contains`, `then` and `else`");
    let (mut contains, mut then, mut otherwise) = (None, Vec::new(), Vec::new());
    for field in fields {
        match &*field.key {
            "contains" => contains = notes.full_text(&field.value, "a string to look for"),
            "then" => then = actions(&field.value, notes),
            "else" => otherwise = actions(&field.value, notes),
            _ => notes.unknown_key(field, IF_PROMPT_KEYS),
        }
    }
    let has = |key: &str| fields.iter().any(|field| &*field.key == key);
    if !fields.is_empty() && !has("contains") {
        notes.missing(node.at, MissingKey::PromptPart);
    }
    if !fields.is_empty() && !has("then") && !has("else") {
        notes.missing(node.at, MissingKey::ThenOrElse);
    }
    Some(ScriptAction::IfPrompt { contains: contains?, then, otherwise })
}

#[cfg(test)]
mod tests;
