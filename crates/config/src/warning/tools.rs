//! Finds tools that no agent has, and inputs that a tool does not have. Such a hook never wakes, or
//! its condition is never true, without any error.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use hookwright_engine::hook::Hook;
use hookwright_engine::matcher::Matcher;
use hookwright_engine::nearest;
use hookwright_engine::variables::PREFIX;
use hookwright_events::tool;

use super::{Warning, WarningKind};
use crate::limits::WARNINGS_OF_A_COMMAND_MAX;
use crate::node::{Mark, Node, Raw};
use crate::written::WrittenText;
use crate::{FilePlace, SourceFile};

/// The variable whose parts are a tool's input.
const TOOL_INPUT: &str = "TOOL_INPUT";

/// The warnings about the tool names of a hook. `event_at` is the place of its event, unless the
/// event is a field of its own.
pub(super) fn tool_warnings(
    entry: &Node,
    hook: &Hook,
    event_at: Option<Mark>,
    source: &Arc<SourceFile>,
) -> Vec<Warning> {
    let names = named_tools(hook);
    let mut warnings: Vec<Warning> = names
        .iter()
        .filter(|name| !tool::is_known(name))
        .map(|name| Warning {
            source: Arc::clone(source),
            place: place_of_name(name, entry, event_at, source),
            kind: WarningKind::UnknownTool,
            name: (*name).to_owned(),
            reference: hook.id.clone(),
            nearest: nearest(name, tool::all_names()).map(str::to_owned),
        })
        .collect();
    let inputs: Option<Vec<&[&str]>> = names.iter().map(|name| tool::inputs(name)).collect();
    if let Some(inputs) = inputs.filter(|inputs| !inputs.is_empty()) {
        let known: Vec<&str> = inputs.into_iter().flatten().copied().collect();
        check_inputs(entry, &names, &known, source, &mut warnings);
    }
    warnings.truncate(WARNINGS_OF_A_COMMAND_MAX);
    warnings
}

/// The tools that a hook looks at, if it names all of them.
fn named_tools(hook: &Hook) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for point in &hook.pattern.points {
        if point.event.subject != Some("tool_name") {
            return Vec::new();
        }
        match (&point.subjects, &hook.matcher) {
            (Matcher::Named(named), _) | (_, Matcher::Named(named)) => {
                names.extend(named.iter().map(AsRef::as_ref));
            }
            _ => return Vec::new(),
        }
    }
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(*name));
    names
}

/// The place of a tool's name: in the matcher, or else in the event.
fn place_of_name(
    name: &str,
    entry: &Node,
    event_at: Option<Mark>,
    source: &Arc<SourceFile>,
) -> FilePlace {
    let field = |key: &str| match &entry.raw {
        Raw::Map(fields) => fields.iter().find(|field| &*field.key == key),
        _ => None,
    };
    for node in [field("matcher"), field("event")].into_iter().flatten().map(|field| &field.value) {
        if let Raw::Text(text) = &node.raw
            && let Some(start) = text.find(name)
        {
            let whole = node.at.place(source);
            let written =
                WrittenText::new(&whole, &source.text, text).place(&(start..start + name.len()));
            return written.unwrap_or(whole);
        }
    }
    event_at.unwrap_or(entry.at).place(source)
}

/// Adds warnings about `${TOOL_INPUT.x}` in any text of an entry if no tool of the hook has the
/// input `x`.
fn check_inputs(
    node: &Node,
    tools: &[&str],
    known: &[&str],
    source: &Arc<SourceFile>,
    warnings: &mut Vec<Warning>,
) {
    let mut below = |node: &Node| check_inputs(node, tools, known, source, warnings);
    match &node.raw {
        Raw::List(items) => items.iter().for_each(below),
        Raw::Map(fields) => fields.iter().for_each(|field| below(&field.value)),
        Raw::Text(text) => {
            let whole = node.at.place(source);
            let mut written = Some(WrittenText::new(&whole, &source.text, text));
            let unknown = inputs_in(text).filter(|at| !known.contains(&&text[at.clone()]));
            for at in unknown.take(WARNINGS_OF_A_COMMAND_MAX) {
                let exact = written.as_mut().and_then(|written| written.place(&at));
                if exact.is_none() {
                    // After one uncertain place no later one is certain.
                    written = None;
                }
                let name = &text[at];
                warnings.push(Warning {
                    source: Arc::clone(source),
                    place: exact.unwrap_or_else(|| whole.clone()),
                    kind: WarningKind::UnknownInput {
                        tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
                    },
                    name: name.to_owned(),
                    reference: format!("${{{TOOL_INPUT}.{name}}}"),
                    nearest: nearest(name, known.iter().copied()).map(str::to_owned),
                });
            }
        }
        Raw::Null | Raw::Bool(_) | Raw::Int(_) | Raw::Float(_) => {}
    }
}

/// The first part of every path into the tool's input.
fn inputs_in(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("${").filter_map(|(at, opening)| {
        let rest = &text[at + opening.len()..];
        let rest = rest.strip_prefix(PREFIX).unwrap_or(rest);
        let part = rest.strip_prefix(TOOL_INPUT)?.strip_prefix('.')?;
        let is_part = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        let end = part.find(|c| !is_part(c)).unwrap_or(part.len());
        let start = text.len() - part.len();
        (end > 0).then_some(start..start + end)
    })
}
