//! [`Termination`]: when a loop is enough.

use std::path::PathBuf;

use super::node::{Field, Node};
use super::notes::Notes;
use super::{FilePlace, MissingKey};
use crate::limits::ITERATIONS_MAX;

/// When it is enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Termination {
    /// Ends after a number of iterations.
    Fixed {
        /// The number; `None` leaves it to `runs` and `max_iterations`.
        iterations: Option<u32>,
    },
    /// Ends when the agent decides to stop several times in a row.
    Judgment {
        /// The number of decisions in a row.
        consensus: u32,
        /// The least number of iterations.
        min_iterations: u32,
    },
    /// Ends when the queue is empty.
    Queue {
        /// The queue.
        source: QueueSpec,
        /// The most iterations for one work item.
        per_item: u32,
    },
}

/// The source of a queue's work items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueSpec {
    /// What a command prints, one a line.
    Command(String),
    /// A folder of issues, named from the project root.
    Issues(PathBuf, FilePlace),
    /// The project's own list of tasks.
    Tasks,
}

const WORDS: &[&str] = &["fixed", "judgment", "queue"];
const SOURCES: &[&str] = &["command", "issues", "tasks"];
const ITERATIONS_EXPECTED: &str = "a whole number from 1 to 1000000";

pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> Option<Termination> {
    let fields = notes.map(node, "a map with `type`")?;
    let get = |key: &str| fields.iter().find(|field| &*field.key == key);
    let Some(kind) = get("type") else {
        notes.missing(node.at, MissingKey::TerminationType);
        return None;
    };
    let kind = notes.word(&kind.value, WORDS, WORDS)?;
    let known: &'static [&'static str] = match kind {
        "fixed" => &["type", "iterations"],
        "judgment" => &["type", "consensus", "min_iterations"],
        _ => &["type", "source", "per_item"],
    };
    for field in fields.iter().filter(|field| !known.contains(&&*field.key)) {
        notes.unknown_key(field.at, &field.key, known);
    }
    let mut number = |key: &str| get(key).and_then(|field| iterations(&field.value, notes));
    Some(match kind {
        "fixed" => Termination::Fixed { iterations: number("iterations") },
        "judgment" => Termination::Judgment {
            consensus: number("consensus").unwrap_or(2),
            min_iterations: number("min_iterations").unwrap_or(1),
        },
        _ => Termination::Queue {
            per_item: number("per_item").unwrap_or(1),
            source: match get("source") {
                Some(field) => source(field, notes)?,
                // As agent-pipelines writes it.
                None => QueueSpec::Tasks,
            },
        },
    })
}

/// A number of iterations.
pub(super) fn iterations(node: &Node, notes: &mut Notes<'_>) -> Option<u32> {
    debug_assert_eq!(ITERATIONS_MAX, 1_000_000);
    notes.whole_number(node, 1..=ITERATIONS_MAX, ITERATIONS_EXPECTED)
}

fn source(field: &Field, notes: &mut Notes<'_>) -> Option<QueueSpec> {
    const EXPECTED: &str = "one of `command: …`, `issues: FOLDER` or `tasks: true`";
    let fields = notes.map(&field.value, EXPECTED)?;
    let [one] = fields else {
        notes.wrong_kind(&field.value, EXPECTED);
        return None;
    };
    match &*one.key {
        "command" => {
            let command = notes.text(&one.value, "a command that prints the open items")?;
            Some(QueueSpec::Command(command.to_owned()))
        }
        "issues" => {
            let folder = notes.text(&one.value, "a folder of issues")?;
            Some(QueueSpec::Issues(folder.into(), one.value.at.place(notes.source)))
        }
        "tasks" => match notes.bool(&one.value)? {
            true => Some(QueueSpec::Tasks),
            false => {
                notes.wrong_kind(&one.value, "true, or another source");
                None
            }
        },
        other => {
            notes.unknown_key(one.at, other, SOURCES);
            None
        }
    }
}
