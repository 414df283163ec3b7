//! [`McpServerSpec`]: one server of `mcp_servers`, which the built-in agent starts and whose tools it
//! calls.
//!
//! `command`, `args` and the values of `env` may contain `${NAME}` and `${NAME:-default}`. They are
//! replaced when the server is started ([`McpServerSpec::expand`]), and no shell reads the result.
//! Secrets and model keys can be used in `env` only: arguments are visible to every user of a
//! machine.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::hook::FilePlace;
use hookwright_engine::variables::PREFIX;
use serde_json::{Map, Value, json};

use super::action::env;
use super::node::{Field, Node};
use super::notes::Notes;
use super::{FaultKind, MissingKey, SourceFile};
use crate::limits::MCP_SERVER_NAME_CHARS_MAX;

/// The keys of a server.
pub(super) const SERVER_KEYS: &[&str] =
    &["command", "args", "env", "timeout", "start_timeout", "enabled"];

/// A server, and its place in a file.
#[derive(Debug, Clone)]
pub struct McpServerSpec {
    /// Its name, which is part of the names of its tools.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables for it.
    pub env: Vec<(String, String)>,
    /// The longest duration of a call, if the file sets it.
    pub timeout: Option<Duration>,
    /// The longest duration of its start, if the file sets it.
    pub start_timeout: Option<Duration>,
    /// Whether it is started.
    pub enabled: bool,
    /// The file.
    pub source: Arc<SourceFile>,
    /// The place in it.
    pub place: FilePlace,
    /// The path of the file, if another program reads it too: `.mcp.json`.
    pub foreign_file: Option<PathBuf>,
}

/// A server's program, arguments and variables, with all values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedServer {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables.
    pub env: Vec<(String, String)>,
}

/// Why a server's values cannot be expanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpansionError {
    /// A variable has no value and no default.
    #[error("the variable `{name}` is not set, and `${{{name}}}` has no default")]
    Unset {
        /// Its name.
        name: String,
    },
    /// A secret or a key outside of `env`.
    #[error("`{name}` is a secret, which only `env` may name: arguments are visible to others")]
    SecretInArguments {
        /// Its name.
        name: String,
    },
    /// A value that cannot be passed to a program.
    #[error("the value of `{name}` contains a NUL byte")]
    NulByte {
        /// The variable.
        name: String,
    },
}

/// Looks up the values of variables.
pub trait ServerValues {
    /// A variable of the environment that every server has.
    fn variable(&self, name: &str) -> Option<String>;

    /// A secret or a model's key.
    fn secret(&self, name: &str) -> Option<String>;
}

impl McpServerSpec {
    /// Replaces `${NAME}` and `${NAME:-default}`.
    pub fn expand(&self, values: &dyn ServerValues) -> Result<ExpandedServer, ExpansionError> {
        let open = |name: &str| match (values.variable(name), values.secret(name)) {
            (_, Some(_)) => Err(ExpansionError::SecretInArguments { name: name.to_owned() }),
            (known, None) => Ok(known),
        };
        let hidden = |name: &str| Ok(values.secret(name).or_else(|| values.variable(name)));
        let env = self.env.iter().map(|(name, value)| {
            let value = expanded(value, &hidden)?;
            match value.contains('\0') {
                true => Err(ExpansionError::NulByte { name: name.clone() }),
                false => Ok((name.clone(), value)),
            }
        });
        Ok(ExpandedServer {
            command: expanded(&self.command, &open)?,
            args: self.args.iter().map(|text| expanded(text, &open)).collect::<Result<_, _>>()?,
            env: env.collect::<Result<_, _>>()?,
        })
    }

    /// The server as JSON, with the values as they are written.
    pub fn to_json(&self) -> Value {
        let env: Map<String, Value> =
            self.env.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let mut json = json!({
            "command": self.command, "args": self.args, "env": env, "enabled": self.enabled,
        });
        for (key, time) in [("timeout", self.timeout), ("start_timeout", self.start_timeout)] {
            if let Some(time) = time {
                json[key] = time.as_secs_f64().into();
            }
        }
        json
    }

    /// The program and its arguments for lists, unexpanded.
    pub fn summary(&self) -> String {
        let words = std::iter::once(&self.command).chain(&self.args);
        let quoted = |word: &String| match word.contains(char::is_whitespace) || word.is_empty() {
            true => format!("'{word}'"),
            false => word.clone(),
        };
        let mut summary = words.map(quoted).collect::<Vec<_>>().join(" ");
        if !self.enabled {
            summary.push_str(" (not enabled)");
        }
        summary
    }
}

type VariableLookup<'a> = dyn Fn(&str) -> Result<Option<String>, ExpansionError> + 'a;

/// A text with its variables replaced. Any `$` that does not begin `${NAME}` or `${NAME:-default}`
/// is kept.
fn expanded(text: &str, value_of: &VariableLookup<'_>) -> Result<String, ExpansionError> {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (front, behind) = rest.split_at(start);
        whole.push_str(front);
        let inner = behind[2..].split_once('}').map(|(inner, rest)| (reference(inner), rest));
        let Some((Some((name, default)), after)) = inner else {
            whole.push_str("${");
            rest = &behind[2..];
            continue;
        };
        match (value_of(name)?, default) {
            (Some(value), _) => whole.push_str(&value),
            (None, Some(default)) => whole.push_str(default),
            (None, None) => return Err(ExpansionError::Unset { name: name.to_owned() }),
        }
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

/// The name and the default of `NAME` or `NAME:-default`.
fn reference(inner: &str) -> Option<(&str, Option<&str>)> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins_well = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    (begins_well && name.bytes().all(is_name)).then_some((name, default))
}

/// Reads `mcp_servers`.
pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> Vec<McpServerSpec> {
    let mut servers: Vec<McpServerSpec> = Vec::new();
    for field in notes.map(node, "a map from names to servers").unwrap_or_default() {
        if !is_server_name(&field.key) {
            let expected = "a server's name: letters, digits, `-` and single `_` between them, at \
                 most 32 characters";
            notes.bad_value(field.at, &*field.key, expected);
            continue;
        }
        let same = servers.iter().find(|known| known.name.eq_ignore_ascii_case(&field.key));
        if let Some(same) = same {
            let (name, first_line) = (field.key.to_string(), same.place.line);
            notes.note(field.at, FaultKind::DuplicateName { name, first_line });
            continue;
        }
        servers.extend(server(field, notes));
    }
    servers
}

/// Whether the names of the server's tools are unambiguous: `mcp__a__b` must not mean two tools.
pub fn is_server_name(name: &str) -> bool {
    let is_accepted = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    (1..=MCP_SERVER_NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(is_accepted)
        && !name.contains("__")
        && !name.starts_with('_')
        && !name.ends_with('_')
}

fn server(field: &Field, notes: &mut Notes<'_>) -> Option<McpServerSpec> {
    let fields = notes.map(&field.value, "a server, a map with `command`")?;
    for field in fields.iter().filter(|field| !SERVER_KEYS.contains(&&*field.key)) {
        notes.unknown_key(field.at, &field.key, SERVER_KEYS);
    }
    let get = |key: &str| fields.iter().find(|field| *field.key == *key).map(|field| &field.value);
    let command = match get("command") {
        Some(node) => command_of_server(node, notes),
        None => {
            notes.missing(field.at, MissingKey::Command);
            None
        }
    };
    let args = get("args").map(|node| args_of_server(node, notes)).unwrap_or_default();
    let env = get("env").map(|node| env_of_server(node, notes)).unwrap_or_default();
    let mut duration = |key: &str| {
        let node = get(key)?;
        let read = notes.duration(node)?;
        if read.is_zero() {
            notes.bad_value(node.at, node.to_json().to_string(), "a duration greater than zero");
            return None;
        }
        Some(read)
    };
    let (timeout, start_timeout) = (duration("timeout"), duration("start_timeout"));
    let enabled = get("enabled").and_then(|node| notes.bool(node)).unwrap_or(true);
    Some(McpServerSpec {
        name: field.key.to_string(),
        command: command?,
        args,
        env,
        timeout,
        start_timeout,
        enabled,
        source: Arc::clone(notes.source),
        place: field.at.place(notes.source),
        foreign_file: None,
    })
}

/// The program of a server.
pub fn command_of_server(node: &Node, notes: &mut Notes<'_>) -> Option<String> {
    let text = notes.text(node, "a program, without its arguments")?;
    if text.contains('\0') {
        notes.bad_value(node.at, text.replace('\0', "\\0"), "a program without NUL bytes");
        return None;
    }
    Some(text.to_owned())
}

/// The arguments of a server.
pub fn args_of_server(node: &Node, notes: &mut Notes<'_>) -> Vec<String> {
    let items = notes.list(node, "a list of arguments").unwrap_or_default();
    let mut args = Vec::with_capacity(items.len());
    for item in items {
        match notes.written(item) {
            Some(text) if text.contains('\0') => {
                notes.bad_value(
                    item.at,
                    text.replace('\0', "\\0"),
                    "an argument without NUL bytes",
                );
            }
            Some(text) => args.push(text),
            None => notes.wrong_kind(item, "an argument, a string"),
        }
    }
    args
}

/// The variables of a server. Our own names are reserved: one of them is used to find its
/// processes.
pub fn env_of_server(node: &Node, notes: &mut Notes<'_>) -> Vec<(String, String)> {
    let mut pairs = env(node, notes);
    pairs.retain(|(name, _)| {
        let is_ours = name.starts_with(PREFIX);
        if is_ours {
            notes.note(node.at, FaultKind::ReservedName { name: name.clone() });
        }
        !is_ours
    });
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FixedValues;

    impl ServerValues for FixedValues {
        fn variable(&self, name: &str) -> Option<String> {
            match name {
                "HOME" => Some("/home/me".to_owned()),
                "EMPTY" => Some(String::new()),
                _ => None,
            }
        }

        fn secret(&self, name: &str) -> Option<String> {
            (name == "TOKEN").then(|| "sesame".to_owned())
        }
    }

    fn spec(args: &[&str], env: &[(&str, &str)]) -> McpServerSpec {
        let source = Arc::new(SourceFile { path: "x.yaml".into(), text: "".into() });
        McpServerSpec {
            name: "s".to_owned(),
            command: "${HOME}/bin/server".to_owned(),
            args: args.iter().map(|text| (*text).to_owned()).collect(),
            env: env
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            timeout: None,
            start_timeout: None,
            enabled: true,
            source,
            place: FilePlace { line: 1, column: 1, range: 0..0 },
            foreign_file: None,
        }
    }

    #[test]
    fn variables_and_defaults_are_replaced_and_everything_else_is_kept() {
        let args = [
            "--root=${HOME}/x",
            "${NONE:-a b}",
            "${EMPTY:-full}",
            "${EMPTY}",
            "$HOME",
            "$(id)",
            "${not a name}",
            "${HOME",
            "${1}",
            "a${HOME}b${HOME}",
            "`id`",
        ];
        let read =
            spec(&args, &[("A", "${TOKEN}"), ("B", "${HOME}")]).expand(&FixedValues).unwrap();
        assert_eq!(read.command, "/home/me/bin/server");
        assert_eq!(
            read.args,
            [
                "--root=/home/me/x",
                "a b",
                "",
                "",
                "$HOME",
                "$(id)",
                "${not a name}",
                "${HOME",
                "${1}",
                "a/home/meb/home/me",
                "`id`",
            ]
        );
        let env = [("A", "sesame"), ("B", "/home/me")];
        assert_eq!(read.env, env.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[test]
    fn a_secret_is_replaced_in_env_only_and_a_missing_variable_is_named() {
        let failed = |spec: McpServerSpec| spec.expand(&FixedValues).unwrap_err();
        assert_eq!(
            failed(spec(&["${TOKEN}"], &[])),
            ExpansionError::SecretInArguments { name: "TOKEN".to_owned() }
        );
        assert_eq!(
            failed(spec(&["${TOKEN:-x}"], &[])),
            ExpansionError::SecretInArguments { name: "TOKEN".to_owned() }
        );
        let unset = ExpansionError::Unset { name: "NONE".to_owned() };
        assert_eq!(failed(spec(&["${NONE}"], &[])), unset);
        assert_eq!(failed(spec(&[], &[("A", "${NONE}")])), unset);
        assert_eq!(
            unset.to_string(),
            "the variable `NONE` is not set, and `${NONE}` has no default"
        );
    }

    #[test]
    fn two_servers_cannot_have_tools_of_the_same_name() {
        for name in ["a", "git-hub_2", "A1", &"x".repeat(32)] {
            assert!(is_server_name(name), "{name}");
        }
        for name in ["", "a__b", "_a", "a_", "a b", "ü", "a.b", &"x".repeat(33)] {
            assert!(!is_server_name(name), "{name}");
        }
    }
}
