//! An event from the command line: its name, and its data from the argument, a file or standard
//! input.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clap::Args;
use hookwright_engine::nearest;
use hookwright_events::field::{self, FIELDS};
use hookwright_events::{Event, EventName, Power, table};
use serde_json::{Map, Value};

use crate::error::{DataFailure, Failure, unknown_field};
use crate::screen::Screen;
use crate::text::count;

/// Several copies of an event's data are in memory at once; real data are smaller.
const DATA_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The event that a command is about.
#[derive(Debug, Args)]
pub(crate) struct EventArguments {
    /// The event, by its name or an alias; `hookwright events` lists them
    event: String,

    /// The event's data as a JSON object, `@FILE` to read it from a file, `-` from standard input
    #[arg(long, short, value_name = "JSON")]
    data: Option<String>,
}

impl EventArguments {
    /// The event with its data; a file's path is relative to `cwd`, like every path.
    pub(crate) fn event(&self, cwd: Option<&Path>) -> Result<Event, Failure> {
        event(&self.event, DataSource::parse(self.data.as_deref(), cwd))
    }

    /// What hooks can do at the event; nothing if the event is unknown.
    pub(crate) fn power(&self) -> Power {
        EventName::resolve(&self.event).map_or(Power::Observes, |event| event.power())
    }
}

/// Keys that one warning lists.
const UNKNOWN_KEYS_MAX: usize = 5;

/// Warns about data keys that the event does not have. Hooks get them in the JSON, but not as
/// variables.
pub(super) fn warn_of_unknown_keys(event: &Event, screen: &Screen) {
    // The data of an event of the open namespace are not listed anywhere.
    let Some(spec) = event.name.spec() else { return };
    let unknown: Vec<&String> = event.data.keys().filter(|key| !field::is_known(key)).collect();
    for key in unknown.iter().take(UNKNOWN_KEYS_MAX) {
        let own = spec.fields.iter().chain(field::COMMON_FIELDS).copied();
        let near =
            nearest(key, own).or_else(|| nearest(key, FIELDS.iter().map(|field| field.name)));
        screen.advice("warning:", &[unknown_field(key, near)]);
    }
    if let Some(more) = unknown.len().checked_sub(UNKNOWN_KEYS_MAX).filter(|more| *more > 0) {
        screen.talk(&format!("and {} that no event has\n", count(more, "other field")));
    }
}

/// The source of an event's data.
#[derive(Debug)]
enum DataSource<'a> {
    /// No data.
    Nothing,
    /// The command line.
    Text(&'a str),
    /// A file.
    File(PathBuf),
    /// Standard input.
    StandardInput,
}

impl<'a> DataSource<'a> {
    /// Parses the argument of `--data`; a file's path is relative to `cwd`, like every path.
    fn parse(argument: Option<&'a str>, cwd: Option<&Path>) -> Self {
        match argument {
            None => DataSource::Nothing,
            Some("-") => DataSource::StandardInput,
            Some(text) => match text.strip_prefix('@') {
                Some(path) => DataSource::File(cwd.unwrap_or(Path::new("")).join(path)),
                None => DataSource::Text(text),
            },
        }
    }

    fn display_name(&self) -> String {
        match self {
            DataSource::Nothing | DataSource::Text(_) => "--data".into(),
            DataSource::File(path) => path.display().to_string(),
            DataSource::StandardInput => "standard input".into(),
        }
    }

    fn read(&self) -> Result<String, DataFailure> {
        let cannot_read = |cause| DataFailure::Unreadable { source: self.display_name(), cause };
        let limited = |reader: &mut dyn Read| {
            let mut bytes = Vec::new();
            reader.take(DATA_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(cannot_read)?;
            if bytes.len() as u64 > DATA_BYTES_MAX {
                let bytes_max = DATA_BYTES_MAX;
                return Err(DataFailure::TooLarge { source: self.display_name(), bytes_max });
            }
            String::from_utf8(bytes)
                .map_err(|error| cannot_read(io::Error::new(io::ErrorKind::InvalidData, error)))
        };
        match self {
            DataSource::Nothing => Ok("{}".into()),
            DataSource::Text(text) => Ok((*text).to_owned()),
            DataSource::File(path) => limited(&mut File::open(path).map_err(cannot_read)?),
            DataSource::StandardInput => limited(&mut io::stdin().lock()),
        }
    }
}

/// The requested event.
fn event(name: &str, source: DataSource<'_>) -> Result<Event, Failure> {
    let Some(resolved) = EventName::resolve(name) else {
        let nearest = nearest(name, table::all_names());
        return Err(Failure::UnknownEvent { name: name.to_owned(), nearest });
    };
    let text = source.read()?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let data = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(data)) => data,
        Ok(other) => {
            let found = kind_of(&other);
            return Err(DataFailure::NotAnObject { source: source.display_name(), found }.into());
        }
        Err(cause) => {
            return Err(DataFailure::NotJson { source: source.display_name(), cause }.into());
        }
    };
    check_same_event(&resolved, &data, &source)?;
    Ok(Event::new(resolved, data))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Data that an agent sent name their event; they must not be fired as another one.
fn check_same_event(
    event: &EventName,
    data: &Map<String, Value>,
    source: &DataSource<'_>,
) -> Result<(), Failure> {
    for field in ["event", "hook_event_name"] {
        let Some(named) = data.get(field).and_then(Value::as_str) else { continue };
        if EventName::resolve(named).is_some_and(|named| named != *event) {
            return Err(DataFailure::OfOtherEvent {
                source: source.display_name(),
                field,
                named: named.to_owned(),
                fired: event.to_string(),
            }
            .into());
        }
    }
    Ok(())
}
