//! `hookwright connect`: makes agents run our hooks, and stops them from doing so.
//!
//! It changes people's settings, so it shows every change and asks first, and `--undo` gives a file
//! back byte for byte.
//!
//! | module | does |
//! |---|---|
//! | `agent_plan` | what has to change for an agent |
//! | `plan` | what has to change in one of its files |
//! | `settings_file` | reads a file, and replaces it atomically |
//! | `undo_record` | what `--undo` needs |
//! | `agent_trust` | makes an agent trust our hooks, by its own program |
//! | `agent_dialogue` | requests to that program |
//! | `plugin_check` | checks that a plugin loads |
//! | `warnings` | what keeps connected hooks from running |
//! | `detected` | `--detect` |
//! | `output` | plans as people and programs read them |
//! | `difference` | the difference of two texts |
//!
//! How entries are merged into a text is in `dialects` (`settings_merge`, `settings_text`).

mod agent_dialogue;
mod agent_plan;
mod agent_trust;
mod detected;
mod difference;
mod limits;
mod output;
mod plan;
mod plugin_check;
mod settings_file;
mod undo_record;
mod warnings;

use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hookwright_dialects::hosts::{self, Host};

use self::agent_plan::AgentPlan;
use self::output::{as_json, shown};
use self::plan::{AgentFolders, FileChange};
use crate::config_files::working_dir;
use crate::error::{ConnectFailure, Failure, PersonalDecision};
use crate::exit_code;
use crate::person_check::check_that_a_person_asks;
use crate::screen::Screen;
use crate::state;
use crate::text::{count, visible};
use crate::user_folders::UserFolders;

/// Make agents run your hooks, or stop them from doing so
///
/// Adds the entries that call hookwright to the settings of the named agents, for all your
/// projects, and leaves everything else in these files as it is: order, comments, formatting. Shows
/// the difference and asks. Without a terminal it does not ask and changes nothing, unless --yes is
/// given. A second run changes nothing. Then trust your hook files: `hookwright trust`.
///
/// --undo gives a file back byte for byte. If the file was edited meanwhile, only the entries of
/// hookwright are removed.
#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {
    /// The agents
    #[arg(value_name = "AGENT", value_parser = host_names())]
    #[arg(required_unless_present_any = ["all", "detect"], conflicts_with_all = ["all", "detect"])]
    agents: Vec<&'static Host>,

    /// Every agent that is installed
    #[arg(long, conflicts_with = "detect")]
    all: bool,

    /// List the agents, their versions, and whether they are connected; change nothing
    #[arg(long, conflicts_with_all = ["undo", "dry_run", "yes"])]
    detect: bool,

    /// Change the settings of this project instead of yours
    #[arg(long)]
    project: bool,

    /// Remove the entries again
    #[arg(long)]
    undo: bool,

    /// Show the differences and change nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,

    /// Do not ask
    #[arg(long)]
    yes: bool,

    /// Print one JSON value on standard output; never ask
    #[arg(long)]
    json: bool,

    /// Act as if started in this folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

fn host_names() -> impl TypedValueParser<Value = &'static Host> {
    let names = hosts::all().iter();
    let names = names.map(|host| PossibleValue::new(host.name).help(host.display_name));
    PossibleValuesParser::new(names)
        .map(|name| hosts::named(&name).expect("clap lets no other name pass"))
}

pub(crate) fn connect(arguments: &ConnectArguments, screen: &Screen) -> Result<u8, Failure> {
    let work = Work::new(arguments, screen)?;
    if arguments.detect {
        return work.detect();
    }
    if !arguments.dry_run {
        check_that_a_person_asks(PersonalDecision::Connect)?;
    }
    let Some(plans) = work.plans()? else { return Ok(exit_code::OUR_FAULT) };
    work.carry_out(&plans)
}

/// What all steps need.
struct Work<'a> {
    arguments: &'a ConnectArguments,
    screen: &'a Screen,
    folders: AgentFolders,
    here: PathBuf,
    path: OsString,
}

impl<'a> Work<'a> {
    fn new(arguments: &'a ConnectArguments, screen: &'a Screen) -> Result<Self, Failure> {
        let here = working_dir(arguments.cwd.as_deref())?;
        let folders = AgentFolders {
            home: UserFolders::current().home.clone(),
            project: arguments.project.then(|| here.clone()),
            state: state::folder()?,
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        Ok(Self { arguments, screen, folders, here, path })
    }

    /// Shows the plans, asks, and changes the files.
    fn carry_out(&self, plans: &[AgentPlan]) -> Result<u8, Failure> {
        let files = || plans.iter().flat_map(|plan| &plan.files);
        let changed = files().filter(|file| file.change != FileChange::Nothing).count();
        let asks = changed > 0 || plans.iter().any(|plan| !plan.to_trust.is_empty());
        let warnings = plans.iter().flat_map(|plan| &plan.warnings);
        if !self.arguments.json {
            for file in files() {
                self.screen.result(&shown(file))?;
            }
            for plan in plans.iter().filter(|plan| !plan.to_trust.is_empty()) {
                let commands =
                    plan.to_trust.iter().map(|command| format!("  {}\n", visible(command)));
                let agent = plan.host.display_name;
                let commands = commands.collect::<String>();
                self.screen.result(&format!("{agent} will be told to trust:\n{commands}"))?;
            }
            warnings.for_each(|it| self.screen.talk(&format!("warning: {}\n", visible(it))));
        }
        if self.arguments.dry_run || (self.arguments.json && asks && !self.arguments.yes) {
            if self.arguments.json {
                self.screen.json(&as_json(plans, false))?;
            } else if asks {
                self.screen.talk("nothing was changed (--dry-run)\n");
            }
            let done = self.arguments.dry_run || !asks;
            return Ok(if done { exit_code::GO_ON } else { exit_code::OUR_FAULT });
        }
        if asks && !self.arguments.yes {
            if !may_be_asked() {
                let command = self.command_to_type();
                return Err(Failure::Connect(ConnectFailure::NobodyToAsk {
                    files: changed,
                    command,
                }));
            }
            if !says_yes(changed, self.screen) {
                self.screen.talk("nothing was changed\n");
                return Ok(exit_code::OUR_FAULT);
            }
        }
        let mut is_done = true;
        for plan in plans {
            if let Err(failure) = self.apply(plan) {
                self.screen.failure(&failure);
                is_done = false;
            }
        }
        if self.arguments.json {
            self.screen.json(&as_json(plans, is_done))?;
        } else if !asks && is_done {
            self.screen.talk("nothing to do\n");
        }
        Ok(if is_done { exit_code::GO_ON } else { exit_code::OUR_FAULT })
    }

    /// Changes the files of one agent, and its trust.
    fn apply(&self, plan: &AgentPlan) -> Result<(), Failure> {
        let agent = plan.host.display_name;
        let state = &self.folders.state;
        let changes = plan.files.iter().any(|file| file.change != FileChange::Nothing);
        if self.arguments.undo {
            for file in &plan.files {
                file.disconnect(state).map_err(Failure::Connect)?;
            }
            if plan.to_forget
                && let Some(trust) = self.trust_of(plan)
            {
                trust.forget().map_err(Failure::Connect)?;
            }
            return match changes {
                true => self.say(&format!("{agent}: disconnected\n")),
                false => self.say(&format!("{agent}: was not connected\n")),
            };
        }
        for file in &plan.files {
            file.connect(state).map_err(Failure::Connect)?;
        }
        let mut told = match changes {
            true => format!("{agent}: connected"),
            false => format!("{agent}: already connected"),
        };
        if let (Some(trust), false) = (self.trust_of(plan), plan.to_trust.is_empty()) {
            let given = trust.give(plan.entries).map_err(Failure::Connect)?;
            told += &format!(", and it now trusts {}", entries(given));
        }
        self.say(&format!("{told}\n"))
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.arguments.json { Ok(()) } else { self.screen.result(text) }
    }

    /// The same command for a script.
    fn command_to_type(&self) -> String {
        let mut command = "hookwright connect".to_owned();
        if self.arguments.all {
            command += " --all";
        }
        for host in &self.arguments.agents {
            command += &format!(" {}", host.name);
        }
        for (option, is_set) in
            [("--project", self.arguments.project), ("--undo", self.arguments.undo)]
        {
            if is_set {
                command += &format!(" {option}");
            }
        }
        command + " --yes"
    }
}

fn entries(number: usize) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}

fn may_be_asked() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Only an explicit yes counts: not an empty answer, the end of the input or an unreadable
/// terminal.
fn says_yes(files: usize, screen: &Screen) -> bool {
    let question = match files {
        0 => "trust these commands".to_owned(),
        files => format!("change {}", count(files, "file")),
    };
    screen.talk(&format!("{question}? [y/N] "));
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests;
