//! `hookwright hook`: the command that an agent's own settings call for any event.
//!
//! It reads the agent's JSON, runs the hooks, and prints the answer in the agent's format; nothing
//! else goes to standard output. It finishes before the agent's own timeout, and does not wait for
//! hooks in the background.
//!
//! | module | does |
//! |---|---|
//! | `input` | reads the agent's input within the time limit |
//! | `host_answer` | runs the hooks of a call and prints the answer |
//! | `runnable_hooks` | finds, checks the trust of, and reads the hook files |
//! | `guarding_files` | files that guarded the session and are gone |
//! | `deadline` | the time limit |
//! | `memory` | what a session remembers between calls |
//! | `repeated_call` | a tool call that the agent delivers twice |
//! | `detached` | background hooks, in a separate process |
//! | `trace` | what hooks did, for `sessions` and the page |

mod deadline;
mod detached;
mod guarding_files;
mod host_answer;
mod input;
mod limits;
mod memory;
mod repeated_call;
mod runnable_hooks;
mod trace;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hookwright_dialects::hosts::{self, Host, HostReply, Inject, UnreadableCall};
use hookwright_events::{Event, EventName};
use hookwright_pipeline::trace::TraceFolder;

use self::deadline::Deadline;
use self::host_answer::{HostAnswer, has_to_block, print, refused_or_told};
use self::memory::SessionMemory;
use self::trace::CallTrace;
use crate::error::Failure;
use crate::exit_code;
use crate::hook_switches::SWITCH;
use crate::screen::Screen;
use crate::start_environment::CommandStarter;
use crate::user_folders::UserFolders;
use crate::{probe, span, state, store_settings};

/// Run your hooks inside an agent; the agent's settings call this
///
/// Reads an event from standard input as the agent sends it, runs the hooks of hookwright.yaml and
/// of the file for all projects, and answers in the agent's format. Files have to be trusted first
/// (`hookwright trust`). docs/hosts.md names the page of each agent, with the settings to paste.
#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// The agent that calls hookwright
    #[arg(value_name = "AGENT", value_parser = host_names(), required_unless_present = "detached")]
    host: Option<&'static Host>,

    /// How long the agent waits for this command, if its settings limit that (`timeout`)
    #[arg(long, value_name = "SECONDS", value_parser = patience)]
    deadline: Option<Duration>,

    /// Run what an earlier call handed over
    #[arg(long, hide = true, conflicts_with = "host")]
    detached: bool,
}

/// Parses the arguments as settings and this program write them.
pub(super) fn quick(arguments: impl Iterator<Item = OsString>) -> Option<HookArguments> {
    let words: Option<Vec<String>> = arguments.map(|word| word.into_string().ok()).collect();
    let words = words?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (host, deadline, detached) = match words[..] {
        ["--detached"] => (None, None, true),
        [host] => (Some(hosts::named(host)?), None, false),
        [host, "--deadline", deadline] => {
            (Some(hosts::named(host)?), Some(patience(deadline).ok()?), false)
        }
        _ => return None,
    };
    Some(HookArguments { host, deadline, detached })
}

pub(super) fn host_names() -> impl TypedValueParser<Value = &'static Host> {
    let names = hosts::all().iter();
    let names = names.map(|host| PossibleValue::new(host.name).help(host.display_name));
    PossibleValuesParser::new(names)
        .map(|name| hosts::named(&name).expect("clap lets no other name pass"))
}

fn patience(text: &str) -> Result<Duration, String> {
    match span::parse(text)? {
        Duration::ZERO => Err("expected a duration greater than zero".to_owned()),
        span => Ok(span),
    }
}

pub(crate) fn hook(arguments: &HookArguments, screen: &Screen) -> Result<u8, Failure> {
    let called = Instant::now();
    let Some(host) = arguments.host else { return detached::run(screen) };
    // A repository's settings may have set the variables that an agent passes. The agent may be the
    // command of another one, so the marks of all of them count.
    let starter = CommandStarter::find(&hosts::marks());
    UserFolders::decide(UserFolders::of_starter(&starter));
    store_settings::ignore_variable();
    let switched_off = |value: Option<OsString>| value.is_some_and(|value| value == "0");
    if switched_off(starter.variable(SWITCH)) {
        screen.talk(&format!("hooks are switched off ({SWITCH}=0)\n"));
        return Ok(exit_code::GO_ON);
    }
    let mut notices = Vec::new();
    if switched_off(std::env::var_os(SWITCH)) {
        notices.push(format!(
            "{SWITCH}=0 is ignored, and hooks run: settings or the agent have set it; to switch hooks \
             off, start {} with it",
            host.display_name
        ));
    }
    let sent = match input::read(host, called, arguments.deadline, screen) {
        Ok(sent) => sent,
        Err(failure) => return answer_no_event(host, &failure, screen),
    };
    let call = match host.read_call(&sent) {
        Ok(call) => call.from_host(host),
        Err(unreadable) => return answer_unreadable(host, unreadable, screen),
    };
    let name = &call.event.name;
    let patience = arguments.deadline.unwrap_or_else(|| host.patience(name));
    if has_to_look_at_probe(name) {
        let state = state::folder().ok();
        notices.extend(state.and_then(|state| probe::record::notice(&state, host)));
    }
    let memory = SessionMemory::new(host.name, state::folder().ok())
        .handing_out(host.capability(name).inject == Inject::Here);
    let memory = Arc::new(memory);
    let environment = starter.environment(|name| host.sets_for_hooks(name));
    let deadline = Deadline::new(called, patience);
    let session = call.event.text("session_id").unwrap_or_default();
    let trace = match state::folder() {
        Ok(state) => CallTrace::new(TraceFolder::new(&state), host, session, starter.agent()),
        Err(_) => CallTrace::off(),
    };
    let answering = HostAnswer { host, deadline, memory, notices, screen };
    answering.answer(&call, environment, trace)
}

/// Whether a call is one of the few of a session at which it is worth the time to see if the agent is
/// still the program that was probed.
fn has_to_look_at_probe(event: &EventName) -> bool {
    *event == EventName::SESSION_START || *event == EventName::USER_PROMPT_SUBMIT
}

/// An unreadable event may be one that a guard checks.
fn answer_unreadable(host: &Host, what: UnreadableCall, screen: &Screen) -> Result<u8, Failure> {
    match what {
        UnreadableCall::NoEvent { cause } => {
            let failure = Failure::NoEventOfAgent { agent: host.display_name, cause };
            answer_no_event(host, &failure, screen)
        }
        UnreadableCall::OtherHost(reply) => {
            screen.talk(&reply.stderr);
            if let Err(failure) = screen.result(&reply.stdout) {
                screen.failure(&failure);
            }
            Ok(reply.exit_code)
        }
        UnreadableCall::BadData { event, cause } => {
            let event = Event::new(event, serde_json::Map::new());
            let reason = format!("{cause}, so no hook could check it");
            let decision = refused_or_told(&event, reason);
            let blocks = has_to_block(&event, &decision);
            print(&host.reply(&event.into(), &decision), blocks, screen)
        }
    }
}

/// Without an event there is nothing to check, so what may have been announced is refused.
fn answer_no_event(host: &Host, failure: &Failure, screen: &Screen) -> Result<u8, Failure> {
    let reply = host.refuse_unread(&failure.message().in_one_line());
    screen.failure(failure);
    print(&HostReply { stderr: String::new(), ..reply }, true, screen)
}
