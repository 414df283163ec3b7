//! `hookwright events`: the table of events, or the details of one.

use clap::Args;
use hookwright_engine::nearest;
use hookwright_engine::variables::{MADE_BY_THE_ENGINE, PREFIX};
use hookwright_events::field::{self, COMMON_FIELDS, FIELDS};
use hookwright_events::table::{self, Alias, EVENTS};
use hookwright_events::{EventName, EventSpec, FieldKind, FieldSpec};
use serde_json::{Value, json};

use crate::error::{Failure, fired_by};
use crate::exit_code;
use crate::render::Table;
use crate::screen::Screen;

/// List the events that hooks can listen to
///
/// Without a name: every event with its aliases, what a block does, which part of its data a
/// matcher compares, and when it happens. With a name or alias: the details of that event, with its
/// data fields and their variables. On a terminal, the output fits the width.
#[derive(Debug, Args)]
pub(crate) struct EventsArguments {
    /// An event's name or one of its aliases
    name: Option<String>,

    /// Print one JSON value on standard output instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn events(arguments: &EventsArguments, screen: &Screen) -> Result<u8, Failure> {
    let one = arguments.name.as_deref().map(resolve).transpose()?;
    if arguments.json {
        screen.json(&as_json(one))?;
    } else {
        let columns = screen.columns();
        screen.result(&one.map_or_else(|| overview(columns), |spec| details(spec, columns)))?;
    }
    Ok(exit_code::GO_ON)
}

fn resolve(name: &str) -> Result<&'static EventSpec, Failure> {
    if let Some(spec) = table::resolve(name) {
        return Ok(spec);
    }
    let name = name.to_owned();
    Err(match EventName::resolve(&name) {
        Some(_) => Failure::UnlistedEvent { name },
        None => Failure::UnknownEvent { nearest: nearest(&name, table::all_names()), name },
    })
}

fn overview(columns: Option<usize>) -> String {
    let mut table = Table::with_headings(&["event", "aliases", "a block", "subject", "when"]);
    for spec in EVENTS {
        table.row([
            spec.name,
            &aliases(spec),
            spec.block_does.unwrap_or("no"),
            spec.subject.unwrap_or_default(),
            spec.when,
        ]);
    }
    table.fitted(columns)
}

fn details(spec: &'static EventSpec, columns: Option<usize>) -> String {
    let mut facts = Table::default();
    facts.row(["event", spec.name]);
    facts.row(["when", spec.when]);
    if !spec.aliases.is_empty() {
        let all: Vec<String> = spec.aliases.iter().map(alias_in_full).collect();
        facts.row(["aliases", &all.join(", ")]);
    }
    facts.row(["a block", spec.block_does.unwrap_or("no")]);
    facts.row(["subject", spec.subject.unwrap_or("none")]);
    let fired_by = fired_by(spec);
    let fired_by = if fired_by.is_empty() {
        "so far only `hookwright fire`".to_owned()
    } else {
        fired_by.join(", ")
    };
    facts.row(["fired by", &fired_by]);

    let mut fields = Table::with_headings(&["field", "variable", "kind", "meaning", "aliases"]);
    for field in own_fields(spec) {
        field_row(&mut fields, field);
    }
    fields.row([""; 0]);
    fields.row(["in every event"]);
    for field in COMMON_FIELDS.iter().filter_map(|name| field::named(name)) {
        field_row(&mut fields, field);
    }
    for (name, meaning) in MADE_BY_THE_ENGINE {
        fields.row(["", name, "", meaning]);
    }
    let (facts, fields) = (facts.fitted(columns), fields.fitted(columns));
    format!("{facts}\n{fields}\nEvery variable exists also with the prefix {PREFIX}.\n")
}

fn own_fields(spec: &EventSpec) -> impl Iterator<Item = &'static FieldSpec> {
    spec.fields.iter().filter_map(|name| field::named(name))
}

fn field_row(table: &mut Table, field: &FieldSpec) {
    table.row([
        field.name,
        &field.variable(),
        kind_word(field.kind),
        field.meaning,
        &field.aliases.join(", "),
    ]);
}

fn kind_word(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Text => "text",
        FieldKind::Number => "number",
        FieldKind::Bool => "bool",
        FieldKind::Path => "path",
        FieldKind::Paths => "paths",
        FieldKind::Json => "json",
    }
}

fn aliases(spec: &EventSpec) -> String {
    let names: Vec<&str> = spec.aliases.iter().map(|alias| alias.name).collect();
    names.join(", ")
}

fn alias_in_full(alias: &Alias) -> String {
    if alias.only_reasons.is_empty() {
        return alias.name.to_owned();
    }
    format!("{} (only if the reason is {})", alias.name, alias.only_reasons.join(" or "))
}

fn as_json(one: Option<&'static EventSpec>) -> Value {
    let events: Vec<&EventSpec> = one.map_or_else(|| EVENTS.iter().collect(), |spec| vec![spec]);
    let named = |field: &FieldSpec| {
        one.is_none_or(|spec| {
            spec.fields.contains(&field.name) || COMMON_FIELDS.contains(&field.name)
        })
    };
    let fields: Vec<Value> = FIELDS.iter().filter(|field| named(field)).map(field_json).collect();
    let variables: Vec<Value> = MADE_BY_THE_ENGINE
        .iter()
        .map(|(name, meaning)| json!({ "name": name, "meaning": meaning }))
        .collect();
    json!({
        "version": 1,
        "events": events,
        "fields": fields,
        "everywhere": COMMON_FIELDS,
        "variables": variables,
    })
}

fn field_json(field: &FieldSpec) -> Value {
    json!({
        "name": field.name,
        "variable": field.variable(),
        "kind": field.kind,
        "free_text": field.is_free_text,
        "meaning": field.meaning,
        "aliases": field.aliases,
    })
}
