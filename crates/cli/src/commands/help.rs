//! The program's help: its commands, grouped by purpose, and examples.

use clap::CommandFactory;

use super::Arguments;

/// The commands by purpose. Each is in one group.
const GROUPS: &[(&str, &[&str])] = &[
    ("Write hooks", &["init", "template", "events", "check", "list", "schema"]),
    ("Try them without an agent", &["fire", "explain", "test"]),
    ("Let an agent work", &["run", "agent", "resume", "stop", "status", "sessions"]),
    ("Give it work", &["task", "reopen", "project"]),
    ("Answer its questions", &["approvals", "approve", "reject", "serve"]),
    ("Put hooks inside an agent", &["connect", "trust", "hook", "doctor"]),
    ("Move from another system", &["import", "config"]),
    ("Share sessions between machines", &["store", "worker", "workers"]),
    ("Get help", &["help", "completions"]),
];

/// What the command `help` is for.
const HELP: &str = "Print the full help of a command, with an example";

/// Examples of every command, as people type them.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("init", &["hookwright init --template block-sudo"]),
    ("template", &["hookwright template list", "hookwright template show block-sudo"]),
    ("template list", &["hookwright template list"]),
    ("template show", &["hookwright template show block-sudo"]),
    ("events", &["hookwright events", "hookwright events tool:pre_execute"]),
    ("check", &["hookwright check", "hookwright check --strict pipeline.yaml"]),
    ("list", &["hookwright list"]),
    ("schema", &["hookwright schema"]),
    (
        "fire",
        &[
            "hookwright fire session:start",
            "hookwright fire tool:pre_execute --data '{\"tool_name\": \"bash\", \"tool_input\": \
             {\"command\": \"sudo ls\"}}'",
        ],
    ),
    ("explain", &["hookwright explain iteration:complete --data '{\"iteration\": 10}'"]),
    ("test", &["hookwright test"]),
    (
        "run",
        &[
            "hookwright run loop.yaml --dry-run",
            "hookwright run loop.yaml --agent claude",
            "hookwright run loop.yaml --on workers --sessions 3",
        ],
    ),
    ("workers", &["hookwright workers"]),
    ("worker", &["hookwright worker", "hookwright worker --at-once 4 --label gpu"]),
    (
        "agent",
        &[
            "hookwright agent -p 'fix the failing test'",
            "hookwright agent -p 'try my hooks' --model scripted:turns.yaml",
        ],
    ),
    ("resume", &["hookwright resume calm-fox"]),
    ("stop", &["hookwright stop calm-fox"]),
    ("status", &["hookwright status"]),
    ("sessions", &["hookwright sessions list", "hookwright sessions show calm-fox"]),
    ("sessions list", &["hookwright sessions list --limit 3"]),
    ("sessions show", &["hookwright sessions show calm-fox"]),
    ("sessions log", &["hookwright sessions log calm-fox"]),
    ("sessions current", &["hookwright sessions current"]),
    ("sessions prune", &["hookwright sessions prune --older-than 30d"]),
    ("task", &["hookwright task add 'fix the login page'", "hookwright task list"]),
    ("task add", &["hookwright task add 'fix the login page' --priority 1"]),
    ("task list", &["hookwright task list"]),
    ("task done", &["hookwright task done TAS-3"]),
    ("task update", &["hookwright task update TAS-3 --priority 1"]),
    ("reopen", &["hookwright reopen 3"]),
    ("project", &["hookwright project confirm shop"]),
    ("project confirm", &["hookwright project confirm shop"]),
    ("approvals", &["hookwright approvals"]),
    ("approve", &["hookwright approve a1b2"]),
    ("reject", &["hookwright reject a1b2"]),
    ("serve", &["hookwright serve"]),
    ("store", &["hookwright store check"]),
    ("store init", &["hookwright store init"]),
    ("store upgrade", &["hookwright store upgrade"]),
    ("store check", &["hookwright store check"]),
    ("store move", &["hookwright store move"]),
    (
        "connect",
        &[
            "hookwright connect --all",
            "hookwright connect claude --dry-run",
            "hookwright connect claude --undo",
        ],
    ),
    ("trust", &["hookwright trust"]),
    ("hook", &["hookwright hook claude"]),
    ("doctor", &["hookwright doctor", "hookwright doctor --probe codex"]),
    ("import", &["hookwright import .iteratr.hooks.yml"]),
    ("config", &["hookwright config set-auto-commit true"]),
    ("config set-auto-commit", &["hookwright config set-auto-commit true"]),
    ("config set-auto-push", &["hookwright config set-auto-push false"]),
    ("completions", &["hookwright completions bash"]),
];

/// The whole parser, with its help.
pub(crate) fn parser() -> clap::Command {
    let parser = with_examples(Arguments::command(), "");
    let commands = grouped(&parser);
    parser.help_template(format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} \
         {{usage}}\n\n{commands}Options:\n{{options}}\n\n`hookwright help COMMAND` shows the full \
         help, with an example.{{after-help}}"
    ))
}

/// The parsed arguments of this process, or the parser's error.
pub(crate) fn parse() -> Result<Arguments, clap::Error> {
    use clap::FromArgMatches;
    let mut parser = parser();
    let matches = parser.try_get_matches_from_mut(std::env::args_os())?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut parser))
}

fn with_examples(command: clap::Command, path: &str) -> clap::Command {
    let names: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(&name, |below| with_examples(below, path.trim_start()))
    });
    match EXAMPLES.iter().find(|(known, _)| *known == path) {
        Some((_, lines)) => {
            let heading = if lines.len() == 1 { "Example" } else { "Examples" };
            let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
            command.after_long_help(format!("{heading}:\n{}", lines.join("\n")))
        }
        None => command,
    }
}

/// The commands with their descriptions.
fn grouped(parser: &clap::Command) -> String {
    let widest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max();
    let widest = widest.unwrap_or_default();
    let mut text = String::new();
    for (heading, names) in GROUPS {
        text.push_str(&format!("{heading}:\n"));
        for name in *names {
            let about = parser.find_subcommand(name).and_then(clap::Command::get_about);
            // The parser itself adds this command.
            let about = about.map_or_else(|| HELP.to_owned(), ToString::to_string);
            text.push_str(&format!("  {name:widest$}  {about}\n"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Parser;

    use super::*;

    /// Every command that people type, with its subcommands.
    fn paths(command: &clap::Command, path: &str) -> Vec<String> {
        let mut all = Vec::new();
        for below in command.get_subcommands() {
            let path = format!("{path} {}", below.get_name()).trim_start().to_owned();
            all.extend(paths(below, &path));
            all.push(path);
        }
        all
    }

    #[test]
    fn every_command_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let once: BTreeSet<&str> = grouped.iter().copied().collect();
        assert_eq!(grouped.len(), once.len(), "{grouped:?}");
        let command = Arguments::command();
        let all = command.get_subcommands().map(clap::Command::get_name).chain(["help"]);
        assert_eq!(once, all.collect::<BTreeSet<&str>>());
    }

    #[test]
    fn every_command_has_an_example_and_every_example_can_be_typed() {
        let all: BTreeSet<String> = paths(&Arguments::command(), "").into_iter().collect();
        let known: BTreeSet<String> = EXAMPLES.iter().map(|(path, _)| (*path).to_owned()).collect();
        assert_eq!(all, known);
        for (path, lines) in EXAMPLES {
            for line in *lines {
                assert!(line.starts_with(&format!("hookwright {path}")), "{path}: {line}");
                let words = words(line);
                let parsed = Arguments::try_parse_from(&words);
                assert!(parsed.is_ok(), "{words:?}: {}", parsed.unwrap_err());
            }
            let mut parser = parser();
            let path: Vec<&str> = path.split(' ').collect();
            let command = path.iter().fold(&mut parser, |command, name| {
                command.find_subcommand_mut(name).expect("it is there")
            });
            let help = command.render_long_help().to_string();
            assert!(help.contains(&format!(":\n  {}\n", lines[0])), "{help}");
        }
    }

    /// The words of a command line, as a shell splits them.
    fn words(line: &str) -> Vec<String> {
        let script = format!("printf '%s\\0' {line}");
        let output = std::process::Command::new("sh").args(["-c", &script]).output();
        let output = String::from_utf8(output.expect("it starts").stdout).expect("text");
        output.split_terminator('\0').map(str::to_owned).collect()
    }
}
