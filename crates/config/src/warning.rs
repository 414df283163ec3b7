//! What [`check`](super::check) reports about a hook's command beyond faults: places that probably
//! don't do what their author thinks. `template/warnings.rs` finds them; this module gives them
//! their place in the file.

mod tools;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_engine::hook::{Action, Hook, Layer, Shell};
use hookwright_engine::nearest;
use hookwright_engine::policy::{VariableContent, Wire};
use hookwright_engine::template::{self, Names, warnings};
use hookwright_engine::variables::{self, Environment, PREFIX};

use super::node::{Field, Mark, Node, Raw};
use super::written::WrittenText;
use super::{FilePlace, SourceFile};
use crate::first_program::{CannotRunCause, cannot_run};
use crate::limits::WARNINGS_OF_A_COMMAND_MAX;

/// A place in a configuration that probably doesn't do what its author thinks. The hook runs
/// anyway.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// The file.
    pub source: Arc<SourceFile>,
    /// The place of the variable's name, or of the other subject of the warning.
    pub place: FilePlace,
    /// The kind of warning.
    pub kind: WarningKind,
    /// The variable's name, or what else was found there.
    pub name: String,
    /// The variable as it would be written in quotes: `$NAME`, or `${NAME.path}`. For a warning
    /// about a whole hook, the hook's id.
    pub reference: String,
    /// For an unknown name: a similar known one.
    pub nearest: Option<String>,
}

/// The kinds of warnings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WarningKind {
    /// A variable in a command.
    Variable(template::CommandWarningKind),
    /// Rules that this program does not enforce.
    NotEnforced,
    /// A hook whose event is never fired. Its name is the event, as written.
    NothingFires {
        /// The hosts that it is for; all if empty.
        hosts: Vec<Box<str>>,
    },
    /// A program or script that a hook cannot run.
    CannotRun(CannotRunCause),
    /// A tool that no agent has.
    UnknownTool,
    /// A part of the input that no tool of the hook has.
    UnknownInput {
        /// The tools that the hook looks at.
        tools: Vec<String>,
    },
}

/// The warnings so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Warnings {
    pub(super) found: Vec<Warning>,
    /// The project's own path contains a character that is special to a shell, and so do all paths
    /// below it.
    are_paths_odd: bool,
    /// The project root, where commands run, if known.
    root: Option<PathBuf>,
}

impl Warnings {
    /// For commands of a project with this root.
    pub(super) fn below(root: &Path) -> Self {
        let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+@%:,=".contains(letter);
        let are_paths_odd = !root.to_string_lossy().chars().all(is_plain);
        Self { found: Vec::new(), are_paths_odd, root: Some(root.to_owned()) }
    }
}

impl Warning {
    /// File, line and column, as an editor opens them.
    pub fn location(&self) -> String {
        let FilePlace { line, column, .. } = self.place;
        format!("{}:{line}:{column}", self.source.path.display())
    }
}

/// Shells whose commands the lexer reads correctly. Zsh splits nothing, and fish has another
/// syntax.
const SHELLS: &[&str] = &["sh", "bash", "dash", "ash", "ksh", "mksh"];

/// Names that a session has, wherever the check itself may run.
const SESSION_VARIABLES: &[&str] =
    &["HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ"];

/// Variables of ours that a command gets in addition to those of the event.
const RUN_VARIABLES: &[&str] = &[
    "HOOKWRIGHT_HOOK",
    "HOOKWRIGHT_ATTEMPT",
    "HOOKWRIGHT_CHAIN",
    "HOOKWRIGHT_RUN",
    "HOOKWRIGHT_BIN",
    PROJECT,
];

/// The project root, in the environment of a session's commands.
const PROJECT: &str = "HOOKWRIGHT_PROJECT";

impl Warnings {
    /// Adds the warnings about a hook. `entry` is its node, `event_at` the place of its event.
    pub(super) fn check_hook(
        &mut self,
        entry: &Node,
        hook: &Hook,
        event_at: Option<Mark>,
        source: &Arc<SourceFile>,
        environment: &Environment,
    ) {
        if let Action::Shell(shell) = &hook.action {
            let (wire, are_paths_odd) = (hook.policy.wire, self.are_paths_odd);
            self.found.extend(shell_warnings(
                entry,
                shell,
                wire,
                source,
                environment,
                are_paths_odd,
            ));
        }
        self.found.extend(tools::tool_warnings(entry, hook, event_at, source));
    }

    /// Adds a warning if the hook's program or script does not exist.
    pub(super) fn check_program(
        &mut self,
        entry: &Node,
        hook: &Hook,
        source: &Arc<SourceFile>,
        environment: &Environment,
    ) {
        if let Action::Shell(shell) = &hook.action {
            let cannot_run = self.cannot_run(entry, hook, shell, source, environment);
            // One warning per file, even if many of its hooks run the program.
            let is_new = |warning: &Warning| {
                let same =
                    |known: &Warning| known.kind == warning.kind && known.name == warning.name;
                !self.found.iter().any(|known| same(known) && Arc::ptr_eq(&known.source, source))
            };
            let cannot_run = cannot_run.filter(is_new);
            self.found.extend(cannot_run);
        }
    }

    fn cannot_run(
        &self,
        entry: &Node,
        hook: &Hook,
        shell: &Shell,
        source: &Arc<SourceFile>,
        environment: &Environment,
    ) -> Option<Warning> {
        let sets_path = || shell.env.iter().any(|(name, _)| name == "PATH");
        if !hook.enabled || shell.exec.is_some() || !is_plain_shell(shell) || sets_path() {
            return None;
        }
        let (node, text) = command_of(entry)?;
        let root = self.root.as_ref()?;
        let folder = shell.working_dir.as_ref().map_or_else(|| root.clone(), |dir| root.join(dir));
        // Hooks for all projects run in each of them.
        let paths_count = hook.layer != Layer::Global;
        let found = cannot_run(text, environment.for_hooks(), &folder, paths_count)?;
        let whole = node.at.place(source);
        let start = text.find(found.name)?;
        let part = start..start + found.name.len();
        let place = WrittenText::new(&whole, &source.text, text).place(&part).unwrap_or(whole);
        Some(Warning {
            source: Arc::clone(source),
            place,
            kind: WarningKind::CannotRun(found.cause),
            name: found.name.to_owned(),
            reference: hook.id.clone(),
            nearest: None,
        })
    }
}

/// Whether a hook's shell reads commands as the lexer does.
fn is_plain_shell(shell: &Shell) -> bool {
    let program = shell.shell.as_deref().unwrap_or("bash");
    SHELLS.contains(&program.rsplit('/').next().unwrap_or(program))
}

/// The warnings of a shell hook, in the order of its command.
fn shell_warnings(
    entry: &Node,
    shell: &Shell,
    wire: &dyn Wire,
    source: &Arc<SourceFile>,
    environment: &Environment,
    are_paths_odd: bool,
) -> Vec<Warning> {
    let Some((node, text)) = command_of(entry).filter(|_| is_plain_shell(shell)) else {
        return Vec::new();
    };
    let is_set = |name: &str| {
        let by_author = shell.env.iter().any(|(set, _)| set == name);
        let of_a_run = RUN_VARIABLES.contains(&name)
            || name.strip_suffix("_FILE").is_some_and(variables::is_ours)
            || name.starts_with(hookwright_engine::template::GENERATED);
        by_author
            || of_a_run
            || SESSION_VARIABLES.contains(&name)
            || environment.get(name).is_some()
    };
    // The author's `env` overrides our variables, so its value is known.
    let is_ours = |name: &str| {
        (variables::is_ours(name) || name == PROJECT || wire.variable(name).is_some())
            && !shell.env.iter().any(|(set, _)| set == name)
    };
    let is_free_text = |name: &str| match wire.variable(name) {
        Some(known) => known == VariableContent::FreeText,
        None => {
            let is_path = name == PROJECT || variables::is_path(name);
            variables::is_free_text(name) || (are_paths_odd && is_path)
        }
    };
    let names = Names {
        is_ours: &is_ours,
        is_free_text: &is_free_text,
        is_list: &variables::is_list,
        is_in_environment: &is_set,
    };
    let whole = node.at.place(source);
    let mut written = Some(WrittenText::new(&whole, &source.text, text));
    let found = warnings(text, &names).into_iter().take(WARNINGS_OF_A_COMMAND_MAX);
    found
        .map(|warning| {
            let exact = written.as_mut().and_then(|written| written.place(&warning.name_at));
            if exact.is_none() {
                // After one uncertain place no later one is certain.
                written = None;
            }
            Warning {
                source: Arc::clone(source),
                place: exact.unwrap_or_else(|| whole.clone()),
                nearest: match warning.kind {
                    template::CommandWarningKind::Unknown => {
                        nearest_name(&warning.name, environment)
                    }
                    template::CommandWarningKind::Literal
                    | template::CommandWarningKind::Unquoted
                    | template::CommandWarningKind::EvaluatedAgain(_) => None,
                },
                kind: WarningKind::Variable(warning.kind),
                name: warning.name,
                reference: warning.reference,
            }
        })
        .collect()
}

/// The warning about `permissions`: this version does not enforce them, so a rule protects nothing.
pub(super) fn permission_warning(field: &Field, source: &Arc<SourceFile>) -> Option<Warning> {
    let Raw::Map(kinds) = &field.value.raw else { return None };
    let has_rules =
        |kind: &&Field| matches!(&kind.value.raw, Raw::List(rules) if !rules.is_empty());
    let rules = kinds.iter().find(has_rules)?;
    Some(Warning {
        source: Arc::clone(source),
        place: field.at.place(source),
        kind: WarningKind::NotEnforced,
        name: "permissions".to_owned(),
        reference: format!("permissions.{}", rules.key),
        nearest: None,
    })
}

fn command_of(entry: &Node) -> Option<(&Node, &str)> {
    let Raw::Map(fields) = &entry.raw else { return None };
    let node = fields.iter().find(|field| &*field.key == "command").map(|field| &field.value)?;
    match &node.raw {
        Raw::Text(text) => Some((node, text)),
        _ => None,
    }
}

fn nearest_name(name: &str, environment: &Environment) -> Option<String> {
    let plain = name.strip_prefix(PREFIX).unwrap_or(name);
    // The prefix of an environment variable is part of its name.
    let of_environment = || nearest(name, environment.names()).map(str::to_owned);
    nearest(plain, variables::names()).map(str::to_owned).or_else(of_environment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_of_an_event_hides_a_variable_of_the_hooks_run() {
        let ours: Vec<&str> =
            RUN_VARIABLES.iter().filter_map(|name| name.strip_prefix(PREFIX)).collect();
        assert_eq!(variables::names().find(|name| ours.contains(name)), None);
    }
}
