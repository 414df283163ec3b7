//! [`Normal`]: what differs from run to run, replaced by words that stay the same.

use serde_json::Value;

/// Fields whose numbers are times.
const DURATIONS: &[&str] = &[
    "duration_ms",
    "durationMs",
    "totalDurationMs",
    "durationSeconds",
    "duration_api_ms",
    "retry_delay_ms",
];

/// Variables that are times.
const VARIABLES: &[&str] = &["FORGE_TIMESTAMP", "FORGE_DURATION_MS", "TIMESTAMP", "DURATION_MS"];

/// Names of one run.
pub(super) struct Normal {
    /// The home folder.
    pub(super) home: String,
    /// The session's id.
    pub(super) session: Option<String>,
    /// The session's name.
    pub(super) name: Option<String>,
    /// The server's base URL.
    pub(super) server: String,
    /// The ids of its subagents.
    pub(super) agents: Vec<String>,
    /// Whether the pieces of answers are kept.
    pub(super) stream_events: bool,
    /// Whether the progress of hooks is kept. When it comes depends on the time, not on the agent.
    pub(super) hook_progress: bool,
}

impl Normal {
    /// Lines, of which some are JSON values.
    pub(super) fn lines(&self, text: &str) -> String {
        let mut all = String::new();
        for line in text.lines() {
            match serde_json::from_str::<Value>(line) {
                Ok(value) if value["type"] == "stream_event" && !self.stream_events => {}
                Ok(value) if value["subtype"] == "hook_progress" && !self.hook_progress => {}
                Ok(mut value) if value.is_object() => {
                    durations(&mut value);
                    all.push_str(&format!("{value}\n"));
                }
                _ => all.push_str(&format!("{line}\n")),
            }
        }
        self.text(&all)
    }

    /// Any text.
    pub(super) fn text(&self, text: &str) -> String {
        let mut text = text.replace(&self.home, "$HOME");
        text = text.replace(&self.server, "http://SERVER");
        let address = self.server.trim_start_matches("http://");
        text = text.replace(address, "SERVER");
        if let Some(session) = &self.session {
            text = text.replace(session, "SESSION");
        }
        if let Some(name) = &self.name {
            text = text.replace(name, "NAME");
        }
        for (number, agent) in self.agents.iter().enumerate() {
            text = text.replace(agent, &format!("AGENT-{}", number + 1));
        }
        uuids(&replaced(&text, TIME_SHAPE, |_| "TIME".to_owned()))
    }
}

/// A time, up to its seconds: `d` is a digit, everything else itself.
const TIME_SHAPE: &str = "dddd-dd-ddTdd:dd:dd";

/// A UUID: `x` is a hexadecimal digit.
const UUID_SHAPE: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

/// UUIDs, numbered in the order in which they appear.
fn uuids(text: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    replaced(text, UUID_SHAPE, |uuid| {
        let number = known.iter().position(|one| one == uuid).unwrap_or_else(|| {
            known.push(uuid.to_owned());
            known.len() - 1
        });
        format!("uuid-{}", number + 1)
    })
}

/// Replaces all that has this shape; a time goes on to its `Z`.
fn replaced(text: &str, shape: &str, mut by: impl FnMut(&str) -> String) -> String {
    let (mut all, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        if let Some(head) = rest.get(..shape.len()).filter(|head| fits(head, shape)) {
            all.push_str(&by(head));
            rest = &rest[shape.len()..];
            if shape == TIME_SHAPE {
                rest = rest.trim_start_matches(|char: char| char == '.' || char.is_ascii_digit());
                rest = rest.strip_prefix('Z').unwrap_or(rest);
            }
        } else {
            all.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    all
}

fn fits(text: &str, shape: &str) -> bool {
    text.chars().zip(shape.chars()).all(|(char, wanted)| match wanted {
        'd' => char.is_ascii_digit(),
        'x' => char.is_ascii_hexdigit(),
        other => char == other,
    })
}

fn durations(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                if DURATIONS.contains(&name.as_str()) && field.is_number() {
                    *field = 0.into();
                } else if VARIABLES.contains(&name.as_str()) && field.is_string() {
                    *field = "TIME".into();
                } else if name == "version" && *field == env!("CARGO_PKG_VERSION") {
                    *field = "VERSION".into();
                } else {
                    durations(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(durations),
        _ => {}
    }
}
