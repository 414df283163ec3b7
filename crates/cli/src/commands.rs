//! The commands: one file each, with its arguments and its function. A new command is a file, a
//! variant of [`Command`] and a line in [`run()`].

mod agent;
mod approvals;
mod approve;
mod check;
mod completions;
mod config;
mod connect;
mod doctor;
mod event_data;
mod events;
mod explain;
mod fire;
mod help;
mod hook;
mod import;
mod init;
mod late;
mod list;
mod project;
mod reject;
mod reopen;
mod resume;
pub(crate) mod run;
mod schema;
mod serve;
mod sessions;
mod status;
mod stop;
mod store;
mod task;
mod template;
mod test;
mod trust;
mod worker;
mod workers;

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};
use hookwright_events::EventName;

pub(crate) use help::parse;

use crate::error::Failure;
use crate::exit_code;
use crate::screen::Screen;
use crate::text::ColorChoice;
use crate::unasked::{self, Asker, Unasked};

/// Hooks for AI agents: rules that always run.
///
/// Hookwright runs your own commands when something happens in an agent's session: before a tool
/// runs, after an iteration, when a session ends. A hook can observe, or say no. Hooks are kept in
/// hookwright.yaml, in the working directory or a folder above it.
#[derive(Debug, Parser)]
#[command(name = "hookwright", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colour: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub(crate) color: ColorChoice,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Agent(agent::AgentArguments),
    Run(run::RunArguments),
    Resume(resume::ResumeArguments),
    Status(status::StatusArguments),
    Worker(worker::WorkerArguments),
    Workers(workers::WorkersArguments),
    Stop(stop::StopArguments),
    Sessions(sessions::SessionsArguments),
    Task(task::TaskArguments),
    Serve(serve::ServeArguments),
    Store(store::StoreArguments),
    Approvals(approvals::ApprovalsArguments),
    Approve(approve::ApproveArguments),
    Reject(reject::RejectArguments),
    Reopen(reopen::ReopenArguments),
    Project(project::ProjectArguments),
    Fire(fire::FireArguments),
    Hook(hook::HookArguments),
    Explain(explain::ExplainArguments),
    Test(test::TestArguments),
    Check(check::CheckArguments),
    Doctor(doctor::DoctorArguments),
    List(list::ListArguments),
    Connect(connect::ConnectArguments),
    Trust(trust::TrustArguments),
    Events(events::EventsArguments),
    Import(import::ImportArguments),
    Init(init::InitArguments),
    Template(template::TemplateArguments),
    Config(config::ConfigArguments),
    Schema(schema::SchemaArguments),
    Completions(completions::CompletionsArguments),
}

impl Command {
    /// The exit code after a crash of this program.
    pub(crate) fn crash_code(&self) -> u8 {
        let code = |power, asker| unasked::exit_code(power, Unasked::Crashed, asker);
        match self {
            Command::Fire(arguments) => code(Some(arguments.power()), Asker::Caller),
            Command::Task(arguments) if arguments.completes() => {
                code(Some(EventName::TASK_COMPLETE.power()), Asker::Caller)
            }
            // The event is unknown before it has been read.
            Command::Hook(_) => code(None, Asker::Agent),
            Command::Agent(_)
            | Command::Task(_)
            | Command::Explain(_)
            | Command::Run(_)
            | Command::Resume(_)
            | Command::Status(_)
            | Command::Worker(_)
            | Command::Workers(_)
            | Command::Stop(_)
            | Command::Sessions(_)
            | Command::Serve(_)
            | Command::Store(_)
            | Command::Approvals(_)
            | Command::Approve(_)
            | Command::Reject(_)
            | Command::Reopen(_)
            | Command::Project(_)
            | Command::Test(_)
            | Command::Check(_)
            | Command::Doctor(_)
            | Command::List(_)
            | Command::Connect(_)
            | Command::Trust(_)
            | Command::Events(_)
            | Command::Import(_)
            | Command::Init(_)
            | Command::Template(_)
            | Command::Config(_)
            | Command::Schema(_)
            | Command::Completions(_) => exit_code::OUR_FAULT,
        }
    }
}

/// Parses the command lines that agents and their hosts call most often, without the parser of all
/// commands, which would take longer than the rest. `None` leaves the command line to the full
/// parser.
pub(crate) fn quick(mut words: impl Iterator<Item = OsString>) -> Option<Command> {
    match words.next()?.to_str()? {
        "hook" => hook::quick(words).map(Command::Hook),
        "fire" => alone(words).map(Command::Fire),
        "task" => alone(words).map(Command::Task),
        _ => None,
    }
}

/// The arguments of one command, if they are valid.
fn alone<A: Args>(words: impl Iterator<Item = OsString>) -> Option<A> {
    let parser = A::augment_args(clap::Command::new("hookwright").no_binary_name(true));
    A::from_arg_matches(&parser.try_get_matches_from(words).ok()?).ok()
}

/// Runs a command and returns its exit code.
pub(crate) fn run(command: Command, screen: &Screen) -> Result<u8, Failure> {
    match command {
        Command::Agent(arguments) => agent::agent(&arguments, screen),
        Command::Run(arguments) => run::run(&arguments, screen),
        Command::Resume(arguments) => resume::resume(&arguments, screen),
        Command::Status(arguments) => status::status(&arguments, screen),
        Command::Worker(arguments) => worker::worker(&arguments, screen),
        Command::Workers(arguments) => workers::workers(&arguments, screen),
        Command::Stop(arguments) => stop::stop(&arguments, screen),
        Command::Sessions(arguments) => sessions::sessions(&arguments, screen),
        Command::Task(arguments) => task::task(&arguments, screen),
        Command::Serve(arguments) => serve::serve(&arguments, screen),
        Command::Store(arguments) => store::store(&arguments, screen),
        Command::Approvals(arguments) => approvals::approvals(&arguments, screen),
        Command::Approve(arguments) => approve::approve(&arguments, screen),
        Command::Reject(arguments) => reject::reject(&arguments, screen),
        Command::Reopen(arguments) => reopen::reopen(&arguments, screen),
        Command::Project(arguments) => project::project(&arguments, screen),
        Command::Fire(arguments) => fire::fire(&arguments, screen),
        Command::Hook(arguments) => hook::hook(&arguments, screen),
        Command::Explain(arguments) => explain::explain(&arguments, screen),
        Command::Test(arguments) => test::test(&arguments, screen),
        Command::Check(arguments) => check::check(arguments, screen),
        Command::Doctor(arguments) => doctor::doctor(&arguments, screen),
        Command::List(arguments) => list::list(&arguments, screen),
        Command::Connect(arguments) => connect::connect(&arguments, screen),
        Command::Trust(arguments) => trust::trust(arguments, screen),
        Command::Events(arguments) => events::events(&arguments, screen),
        Command::Import(arguments) => import::import(&arguments, screen),
        Command::Init(arguments) => init::init(&arguments, screen),
        Command::Template(arguments) => template::template(&arguments, screen),
        Command::Config(arguments) => config::config(&arguments, screen),
        Command::Schema(arguments) => schema::schema(&arguments, screen),
        Command::Completions(arguments) => completions::completions(&arguments, screen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quickly(line: &str) -> Option<String> {
        quick(line.split(' ').map(OsString::from)).map(|command| format!("{command:?}"))
    }

    #[test]
    fn what_is_read_quickly_is_what_the_whole_parser_reads() {
        for line in [
            "hook claude",
            "hook claude --deadline 5s",
            "hook --detached",
            "fire iteration:complete",
            "fire tool:pre -d {} --session s --json --skip a --skip b --cwd .",
            "task add fix --priority 1",
            "task list --json",
            "task done 3",
        ] {
            let whole =
                Arguments::try_parse_from(["hookwright"].into_iter().chain(line.split(' ')));
            let whole = whole.ok().map(|arguments| format!("{:?}", arguments.command));
            assert!(whole.is_some(), "{line}");
            assert_eq!(quickly(line), whole, "{line}");
        }
    }

    #[test]
    fn help_and_what_is_wrong_is_left_to_the_whole_parser() {
        for line in [
            "",
            "--version",
            "fire",
            "fire --help",
            "fire a:b --no-such",
            "task",
            "task help",
            "hook",
            "hook nobody",
            "list",
        ] {
            assert_eq!(quickly(line), None, "{line}");
        }
    }
}
