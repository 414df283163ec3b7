//! `hookwright trust`: shows hook files, and allows them to run inside agents.
//!
//! The command reads each file once, shows that text, and stores its digest after the answer, even
//! if the file has changed meanwhile.

mod listed;
mod shown;

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use self::shown::Candidate;
use crate::config_files::{ConfigFiles, ConfigOptions, process_environment};
use crate::configuration;
use crate::error::{Failure, PersonalDecision};
use crate::exit_code;
use crate::person_check::check_that_a_person_asks;
use crate::screen::Screen;
use crate::state;
use crate::text::{count, visible};
use crate::trust::{self, Standing, Trust};

/// Review hook files and let them run inside agents
///
/// Hook files that hookwright finds by itself run inside an agent only if they are trusted. Shows
/// every file that is not trusted, with each of its hooks and what it runs, and asks. Without a
/// terminal it does not ask and changes nothing, unless --yes is given. Trust holds for a file's
/// path and content: a file that changes has to be trusted again. The scripts that it calls are not
/// checked. Exits with 0 if all the files are trusted, and with 1 if one is not.
#[derive(Debug, Args)]
pub(crate) struct TrustArguments {
    /// Files to trust instead of searching, like --config
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Do not ask
    #[arg(long, conflicts_with_all = ["list", "revoke"])]
    yes: bool,

    /// List every trusted file, since when it is trusted, and whether it has changed
    #[arg(long, conflicts_with_all = ["files", "config", "revoke"])]
    list: bool,

    /// Stop trusting the files
    #[arg(long)]
    revoke: bool,

    /// Print one JSON value on standard output; never ask
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    options: ConfigOptions,
}

pub(crate) fn trust(mut arguments: TrustArguments, screen: &Screen) -> Result<u8, Failure> {
    arguments.options.config.append(&mut arguments.files);
    if arguments.list {
        return listed::list(arguments.json, screen);
    }
    let mut found = ConfigFiles::find(&arguments.options)?;
    if arguments.revoke {
        return revoke(&arguments, &found, screen);
    }
    let trust = Trust::of_user().or_problem().map_err(Failure::Trust)?;
    if !arguments.options.config.is_empty() {
        found.look_inside();
    }
    let candidates = shown::candidates(&found.read(), &trust, &process_environment());
    if arguments.json {
        return answer_in_json(&arguments, &candidates, screen);
    }
    if candidates.is_empty() {
        configuration::say_nothing_was_found(&found, screen);
        return Ok(exit_code::GO_ON);
    }
    decide(&arguments, &candidates, screen)
}

/// Asks in a terminal about the files that are not trusted. Returns whether all of them are now.
pub(crate) fn ask(options: &ConfigOptions, screen: &Screen) -> Result<bool, Failure> {
    if !may_be_asked() {
        return Ok(false);
    }
    let found = ConfigFiles::find(options)?;
    let trust = Trust::of_user().or_problem().map_err(Failure::Trust)?;
    let candidates = shown::candidates(&found.read(), &trust, &process_environment());
    let open: Vec<&Candidate> = candidates.iter().filter(|file| file.can_be_trusted()).collect();
    for file in &open {
        screen.talk(&file.to_string());
    }
    if !says_yes(open.len(), screen) {
        return Ok(false);
    }
    write_down(&open)?;
    Ok(true)
}

/// Shows the untrusted files, and trusts them if the user confirms.
fn decide(
    arguments: &TrustArguments,
    candidates: &[Candidate],
    screen: &Screen,
) -> Result<u8, Failure> {
    let open: Vec<&Candidate> = candidates.iter().filter(|file| file.can_be_trusted()).collect();
    for file in candidates.iter().filter(|file| file.standing != Some(Standing::Trusted)) {
        screen.result(&file.to_string())?;
        screen.left_out(&file.loaded.left_out);
        screen.faults(file.loaded.faults.iter().map(AsRef::as_ref));
    }
    if !open.is_empty() {
        if !arguments.yes && !may_be_asked() {
            let places = open.iter().map(|file| file.place.clone()).collect();
            return Err(Failure::NoTerminalToAsk { places });
        }
        if !arguments.yes && !says_yes(open.len(), screen) {
            screen.talk("nothing was changed\n");
            return Ok(exit_code::OUR_FAULT);
        }
        write_down(&open)?;
        screen.result(&format!("trusted {}\n", count(open.len(), "file")))?;
    } else if candidates.iter().all(|file| file.standing.is_some()) {
        for file in candidates {
            let place = file.place.to_string_lossy();
            screen.result(&format!("{}: trusted\n", visible(&place).replace('\n', "␊")))?;
        }
        screen.talk("nothing to do\n");
    }
    Ok(ended(candidates))
}

/// 1 if there is an unreadable file, which cannot be trusted.
fn ended(candidates: &[Candidate]) -> u8 {
    let all = candidates.iter().all(|file| file.standing.is_some());
    if all { exit_code::GO_ON } else { exit_code::OUR_FAULT }
}

fn may_be_asked() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Only an explicit yes counts: not an empty answer, the end of the input or an unreadable
/// terminal.
fn says_yes(files: usize, screen: &Screen) -> bool {
    let these = if files == 1 { "this file" } else { &format!("these {files} files") };
    screen.talk(&format!("trust {these}? [y/N] "));
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

fn write_down(files: &[&Candidate]) -> Result<(), Failure> {
    check_that_a_person_asks(PersonalDecision::Trust)?;
    let seen: Vec<_> =
        files.iter().filter_map(|file| Some((file.place.clone(), file.sha256?))).collect();
    trust::add(&state::folder()?, &seen).map_err(Failure::Trust)
}

fn answer_in_json(
    arguments: &TrustArguments,
    candidates: &[Candidate],
    screen: &Screen,
) -> Result<u8, Failure> {
    let open: Vec<&Candidate> = candidates.iter().filter(|file| file.can_be_trusted()).collect();
    let asks = !open.is_empty() && !arguments.yes;
    if !open.is_empty() && arguments.yes {
        write_down(&open)?;
    }
    let code = if asks { exit_code::OUR_FAULT } else { ended(candidates) };
    screen.json(&json!({
        "version": 1,
        "files": candidates.iter().map(Candidate::json).collect::<Vec<_>>(),
        "trusted": code == exit_code::GO_ON,
    }))?;
    Ok(code)
}

fn revoke(arguments: &TrustArguments, found: &ConfigFiles, screen: &Screen) -> Result<u8, Failure> {
    let places: Vec<PathBuf> = found.files.iter().map(|file| trust::place(&file.path)).collect();
    let forgotten = trust::forget(&state::folder()?, &places).map_err(Failure::Trust)?;
    let names: Vec<String> =
        forgotten.iter().map(|place| place.to_string_lossy().into_owned()).collect();
    if arguments.json {
        screen.json(&json!({ "version": 1, "revoked": names }))?;
    } else if names.is_empty() {
        screen.talk("nothing to do: none of these files was trusted\n");
    } else {
        for name in names {
            let name = visible(&name).replace('\n', "␊");
            screen.result(&format!("{name}: no longer trusted\n"))?;
        }
    }
    Ok(exit_code::GO_ON)
}
