//! [`Candidate`]: a file to review before it is trusted.
//!
//! Nothing is cut, unlike in `list`: the hidden end of a long command would run too. An entry with
//! a fault is not a hook here, but may be one elsewhere: a condition may use a variable that only
//! an agent sets. So for a file with faults the whole text is shown.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use hookwright_config::{self as config, Fault, Loaded, ReadFile, WrittenRule};
use hookwright_engine::hook::Hook;
use hookwright_engine::variables::Environment;
use serde_json::{Value, json};

use crate::commands::list;
use crate::error::fault_json;
use crate::text::{count, visible};
use crate::trust::{self, Sha256, Standing, Trust};

/// A file, its trust, and its content.
pub(super) struct Candidate {
    pub(super) place: PathBuf,
    /// `None` if it cannot be read.
    pub(super) standing: Option<Standing>,
    pub(super) sha256: Option<Sha256>,
    pub(super) loaded: Loaded,
    /// As it was read; empty if it cannot be.
    text: String,
}

/// The files, each once.
pub(super) fn candidates(
    files: &[ReadFile],
    trust: &Trust,
    environment: &Environment,
) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for read in files {
        let place = trust::place(&read.file().path);
        if all.iter().any(|known| known.place == place) {
            continue;
        }
        let content = read.text().map(str::as_bytes);
        all.push(Candidate {
            place,
            standing: content.map(|content| trust.standing(read.file(), content)),
            sha256: content.map(Sha256::digest),
            loaded: config::load_read([read], environment),
            text: read.text().unwrap_or_default().to_owned(),
        });
    }
    all
}

impl Candidate {
    /// Whether there is something to decide.
    pub(super) fn can_be_trusted(&self) -> bool {
        matches!(self.standing, Some(Standing::Changed | Standing::Unknown))
    }

    pub(super) fn json(&self) -> Value {
        let hooks = self.loaded.hooks.hooks().iter();
        let faults = |all: &[Arc<Fault>]| -> Vec<Value> {
            all.iter().map(|fault| fault_json(fault)).collect()
        };
        let mut record = json!({
            "path": self.place.to_string_lossy(),
            "standing": self.word(),
            "sha256": self.sha256.map(Sha256::to_hex),
            "hooks": hooks.map(|hook| list::hook_json(hook)).collect::<Vec<_>>(),
            "faults": faults(&self.loaded.faults),
            "left_out": faults(&self.loaded.left_out),
        });
        record.as_object_mut().expect("an object").extend(self.agent_settings());
        record
    }

    /// What it says for the built-in agent, as far as it says something.
    fn agent_settings(&self) -> Vec<(String, Value)> {
        let settings = &self.loaded.agent_settings;
        let texts = |rules: &[WrittenRule]| -> Vec<Value> {
            rules.iter().map(|rule| rule.text.as_str().into()).collect()
        };
        let mut said = Vec::new();
        if let Some(model) = settings.model() {
            said.push(("model".to_owned(), model.into()));
        }
        if settings.rules().next().is_some() {
            let (allow, ask, deny) =
                (texts(&settings.allow), texts(&settings.ask), texts(&settings.deny));
            let rules = json!({ "allow": allow, "ask": ask, "deny": deny });
            said.push(("permissions".to_owned(), rules));
        }
        if settings.mcp_servers().next().is_some() {
            let servers = settings.mcp_servers();
            let servers = servers.map(|server| (server.name.clone(), server.to_json()));
            said.push(("mcp_servers".to_owned(), Value::Object(servers.collect())));
        }
        said
    }

    /// Whether an entry is not a hook here, for whatever reason.
    fn has_faults(&self) -> bool {
        !self.loaded.faults.is_empty() || !self.loaded.left_out.is_empty()
    }

    fn word(&self) -> &'static str {
        match self.standing {
            Some(Standing::Trusted) => "trusted",
            Some(Standing::Changed) => "changed",
            Some(Standing::Unknown) => "new",
            None => "unreadable",
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standing = match self.standing {
            Some(Standing::Trusted) => "trusted",
            Some(Standing::Changed) => "changed since it was trusted",
            Some(Standing::Unknown) => "new",
            None => {
                return writeln!(f, "{}: cannot be read", in_line(&self.place.to_string_lossy()));
            }
        };
        let hooks = self.loaded.hooks.hooks();
        let mut parts = vec![standing.to_owned(), count(hooks.len(), "hook")];
        let servers = self.loaded.agent_settings.mcp_servers().count();
        if servers > 0 {
            parts.push(count(servers, "MCP server"));
        }
        if self.has_faults() {
            let faults = self.loaded.faults.len() + self.loaded.left_out.len();
            parts.push(count(faults, "fault"));
        }
        writeln!(f, "{}: {}", in_line(&self.place.to_string_lossy()), parts.join(", "))?;
        if let Ok(target) = fs::read_link(&self.place) {
            writeln!(f, "  a link to {}", in_line(&target.to_string_lossy()))?;
        }
        for agent in self.loaded.agents.iter().flat_map(|(_, agents)| agents) {
            detail(f, "  ", "agent", &agent.definition.summary())?;
        }
        let settings = &self.loaded.agent_settings;
        if let Some(model) = settings.model() {
            detail(f, "  ", "model", model)?;
        }
        for (kind, rule) in settings.rules() {
            detail(f, "  ", &format!("permissions.{kind}"), &rule.text)?;
        }
        for server in settings.mcp_servers() {
            let name = format!("mcp_servers.{}", server.name);
            detail(f, "  ", &name, &server.summary())?;
            for (variable, value) in &server.env {
                detail(f, "  ", &format!("{name}.env.{variable}"), value)?;
            }
        }
        hooks.iter().try_for_each(|hook| write_hook(f, hook))?;
        if !self.has_faults() {
            return Ok(());
        }
        writeln!(f, "  entries with faults are not listed; the whole file:")?;
        let width = self.text.lines().count().to_string().len();
        for (at, line) in self.text.split_terminator('\n').enumerate() {
            writeln!(f, "    {:>width$} | {}", at + 1, in_line(line))?;
        }
        Ok(())
    }
}

fn write_hook(f: &mut fmt::Formatter<'_>, hook: &Hook) -> fmt::Result {
    let (id, event, kind) = (in_line(&hook.id), in_line(&hook.event), hook.action.kind());
    writeln!(f, "  {id}  {event}  {kind}, line {}", hook.source.line)?;
    for line in hook.action.summary().trim_end_matches('\n').split('\n') {
        writeln!(f, "    | {}", in_line(line))?;
    }
    for flag in list::flags(hook, false, str::to_owned) {
        writeln!(f, "    {}", in_line(&flag))?;
    }
    for (name, value) in hook.action.details() {
        detail(f, "    ", name, &value)?;
    }
    Ok(())
}

fn detail(f: &mut fmt::Formatter<'_>, margin: &str, name: &str, value: &str) -> fmt::Result {
    writeln!(f, "{margin}{}: {}", in_line(name), in_line(value))
}

/// Foreign text, escaped so that it cannot look like one of our lines.
fn in_line(text: &str) -> String {
    visible(text).replace('\n', "␊")
}
