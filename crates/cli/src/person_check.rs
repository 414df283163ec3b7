//! Refuses what only a person may do, if an agent or a hook does it: to decide which files may run,
//! and to change or remove the settings that make an agent run them.
//!
//! The process tree counts, not only the environment, because an agent sets the environment of its
//! commands. Not detected: a process that a daemon starts for the agent, or one whose parents have
//! ended and that cleared its environment.

use std::ffi::OsStr;
use std::path::Path;

use hookwright_dialects::hosts::{self, Host};
use hookwright_pipeline::caller::Caller;
use hookwright_process::AncestorProcess;

use crate::error::{CallerPlace, Failure, PersonalDecision};
use crate::inside;

/// Programs that run an agent's script, or a shell that started it.
const INTERPRETERS: &[&str] = &["node", "nodejs", "bun", "deno", "sh", "bash", "dash", "env"];

/// Arguments of an interpreter among which its script is.
const ARGUMENTS_MAX: usize = 4;

/// Fails inside of a session, a hook or an agent.
pub(crate) fn check_that_a_person_asks(decision: PersonalDecision) -> Result<(), Failure> {
    let caller = Caller::this();
    match place_of(&caller)? {
        None => Ok(()),
        Some(place) => Err(Failure::NotAPerson { decision, place }),
    }
}

fn place_of(caller: &Caller) -> Result<Option<CallerPlace>, Failure> {
    if inside::is_inside_a_session()? {
        return Ok(Some(CallerPlace::Session));
    }
    for host in hosts::all() {
        let name = host.display_name;
        if let Some(process) = caller.process_above(|process| runs(process, host)) {
            return Ok(Some(CallerPlace::Agent { name, pid: Some(process.pid) }));
        }
        if is_marked(caller, host) {
            return Ok(Some(CallerPlace::Agent { name, pid: None }));
        }
    }
    Ok(None)
}

/// Whether the caller, or a process above it, has a variable that the host sets for its commands. On
/// systems without `/proc`, only the caller's own environment is known.
fn is_marked(caller: &Caller, host: &Host) -> bool {
    caller.was_started_with_any(host.marks)
        || host.marks.iter().any(|mark| std::env::var_os(mark).is_some())
}

/// Whether a process runs the program of a host.
fn runs(process: &AncestorProcess, host: &Host) -> bool {
    let program = process.program();
    is_program_of(host, process.name().as_deref(), program.as_deref(), &process.arguments())
}

/// The same for the name that the system shows, the file and the arguments.
fn is_program_of(
    host: &Host,
    shown: Option<&str>,
    program: Option<&Path>,
    arguments: &[impl AsRef<OsStr>],
) -> bool {
    let own = host.program;
    let file_name = |path: &OsStr| {
        Path::new(path).file_name().and_then(OsStr::to_str).map(str::to_owned).unwrap_or_default()
    };
    let is_package = format!("/node_modules/{}", own.package);
    let is_own = |word: &OsStr| {
        let text = word.to_string_lossy();
        let below = text.split_once(&is_package).map(|(_, below)| below);
        // `@openai/codex-linux-x64` is a part of `@openai/codex`.
        file_name(word) == own.name || below.is_some_and(|it| it.starts_with(['/', '-']))
    };
    let first = arguments.first().map(AsRef::as_ref).unwrap_or_default();
    let program = program.map(Path::as_os_str).unwrap_or_default();
    if shown == Some(own.name) || is_own(program) || is_own(first) {
        return true;
    }
    let is_interpreter =
        [first, program].iter().any(|it| INTERPRETERS.contains(&file_name(it).as_str()));
    let mut script = arguments.iter().skip(1).take(ARGUMENTS_MAX).map(AsRef::as_ref);
    // A word without a slash may be the script's argument, and one with blanks is a whole command.
    let is_path = |word: &OsStr| {
        let text = word.to_string_lossy();
        text.contains('/') && !text.contains(char::is_whitespace)
    };
    is_interpreter && script.any(|word| is_path(word) && is_own(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(command: &str) -> Vec<&'static str> {
        let words: Vec<&str> = command.split(' ').collect();
        let program = Path::new("/usr/bin").join(Path::new(words[0]).file_name().unwrap());
        let is_here = |host: &&&'static Host| {
            let program = if words[0].starts_with('/') { Path::new(words[0]) } else { &program };
            is_program_of(host, None, Some(program), &words)
        };
        hosts::all().iter().filter(is_here).map(|host| host.name).collect()
    }

    #[test]
    fn the_processes_of_agents_are_known_however_they_were_installed() {
        for (command, host) in [
            ("claude -p hello", "claude"),
            ("/home/me/.local/bin/claude", "claude"),
            ("node /usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js -p x", "gemini"),
            ("node --no-warnings /usr/bin/qwen", "qwen"),
            ("/opt/node_modules/@openai/codex-linux-x64/vendor/bin/x exec", "codex"),
            ("/bin/sh /usr/local/bin/droid exec", "droid"),
            ("bun /home/me/node_modules/cline/dist/cli.mjs", "cline"),
        ] {
            assert_eq!(inside(command), [host], "{command}");
        }
    }

    #[test]
    fn a_person_who_only_names_an_agent_is_none() {
        for command in [
            "bash -l",
            "vim codex",
            "grep -r claude /home/me",
            "bash -c codex",
            "/usr/bin/python3 /opt/claude.py",
            "node /home/me/claude-notes/server.js",
            "/usr/bin/tmux new -s claude",
        ] {
            assert_eq!(inside(command), [""; 0], "{command}");
        }
    }
}
