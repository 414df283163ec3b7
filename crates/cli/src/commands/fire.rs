//! `hookwright fire`: fires one event and prints the decision of its hooks.
//!
//! The decision is printed as soon as it is made. The command then waits for hooks in the
//! background, so that none is lost when the program ends.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use hookwright_config::{Fault, Loaded};
use hookwright_engine::{Chain, Engine, Fired, Firing, Interest};
use hookwright_events::{
    Decision, Event, Power, Report, RunEvent, RunEventKind, SessionEvent, Verdict,
};

use super::event_data::{EventArguments, warn_of_unknown_keys};
use super::late::{Late, with_late};
use crate::chain_above::chain_above;
use crate::config_files::{ConfigFiles, ConfigOptions, process_environment};
use crate::env_file::EnvFile;
use crate::error::{Failure, advice};
use crate::exit_code;
use crate::hook_switches::HookSwitches;
use crate::host::{EngineOptions, MayRun, ProjectHooks, runtime, with_session};
use crate::interrupts::Interrupts;
use crate::render::human;
use crate::screen::Screen;
use crate::text::visible;
use crate::unasked::{self, Asker, Unasked};

/// Fire an event and print what its hooks decided
///
/// Runs the hooks that listen to the event and prints how each ended and what the host must do now.
/// The exit code tells the same: 0 continue, 2 block, 3 abort or `continue: false`, 4 ask, 1 an
/// error of hookwright or bad usage, 130 interrupted. With a faulty configuration nothing is
/// started: an event that can be blocked is blocked (2), for others the exit code is 1.
#[derive(Debug, Args)]
pub(crate) struct FireArguments {
    #[command(flatten)]
    event: EventArguments,

    /// The session's name
    #[arg(long, value_name = "NAME")]
    session: Option<String>,

    /// Print the decision as one JSON value on standard output
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    switches: HookSwitches,

    #[command(flatten)]
    options: ConfigOptions,
}

impl FireArguments {
    /// What hooks can do at its event.
    pub(crate) fn power(&self) -> Power {
        self.event.power()
    }
}

pub(crate) fn fire(arguments: &FireArguments, screen: &Screen) -> Result<u8, Failure> {
    let event = arguments.event.event(arguments.options.cwd.as_deref())?;
    warn_of_unknown_keys(&event, screen);
    let answer = FireAnswer { arguments, screen };
    if let Some(why) = arguments.switches.all_off() {
        screen.talk(&format!("hooks are switched off ({why})\n"));
        return answer.with(event, Decision::default());
    }
    let found = match ConfigFiles::find(&arguments.options) {
        Ok(found) => found,
        Err(failure) => return answer.without_files(event, failure),
    };
    let mut hooks = ProjectHooks::read(found, process_environment(), MayRun::Everything);
    if !hooks.loaded.faults.is_empty() {
        return answer.with_faults(event, &hooks.loaded);
    }
    screen.left_out(&hooks.loaded.left_out);
    arguments.switches.warn_of_unknown(&hooks.loaded.hooks, screen);
    let chain = chain_above();
    let session = arguments.session.as_deref();
    let lent = EnvFile::lend(&event, session, &hooks.loaded.hooks, &hooks.environment);
    let lent = lent.unwrap_or_else(|error| {
        screen.talk(&format!(
            "warning: cannot create the file for variables that hooks set: {error}\n"
        ));
        None
    });
    if let Some(lent) = &lent {
        hooks.environment = lent.environment();
    }
    let skip = arguments.switches.skip.clone();
    let engine = hooks.engine(EngineOptions { skip, ..EngineOptions::default() });
    match runtime() {
        Ok(runtime) => runtime.block_on(answer.by_firing(&engine, event, chain)),
        Err(failure) => answer.without_hooks(event, failure),
    }
}

/// Prints the result as text or as JSON.
struct FireAnswer<'a> {
    arguments: &'a FireArguments,
    screen: &'a Screen,
}

impl FireAnswer<'_> {
    async fn by_firing(&self, engine: &Engine, event: Event, chain: Chain) -> Result<u8, Failure> {
        let late = Arc::new(Mutex::new(Late::default()));
        let keep = Arc::clone(&late);
        let observer = move |event: &RunEvent| {
            if let Some(text) = talk_of(&event.kind) {
                Screen.talk(&text);
            }
            keep.lock().unwrap_or_else(PoisonError::into_inner).see(event);
        };
        engine.observe(Interest::NoOutput, Arc::new(observer));
        let mut interrupts = match Interrupts::new() {
            Ok(interrupts) => interrupts,
            Err(cause) => return self.without_hooks(event, Failure::NoRuntime { cause }),
        };
        let session = self.arguments.session.clone();
        let id = session
            .clone()
            .unwrap_or_else(|| format!("fire-{:016x}", RandomState::new().build_hasher().finish()));
        let event = with_session(event, &id);
        let power = Some(event.name.power());
        interrupts.code = unasked::exit_code(power, Unasked::Interrupted, Asker::Caller);
        let firing = engine.fire(event, Firing { session, chain, ..Firing::default() });
        let mut fired = interrupts.ending(engine, self.screen, firing).await;
        let code = exit_code_of(&fired.decision.verdict, interrupts.came);
        interrupts.code = code;
        // Without a reader the caller still gets the exit code, and every hook still finishes.
        let mut told = self.print(&fired);
        let waiting_for = engine.in_background();
        if !waiting_for.is_empty() {
            self.screen.talk(&human::waiting_for(&waiting_for));
            late.lock().unwrap_or_else(PoisonError::into_inner).reports.clear();
            interrupts.ending(engine, self.screen, engine.settle()).await;
            let late = std::mem::take(&mut *late.lock().unwrap_or_else(PoisonError::into_inner));
            told = told.and_then(|()| self.print_late(&late));
            fired.reports = with_late(std::mem::take(&mut fired.reports), late);
        }
        if !self.arguments.json {
            told = told.and_then(|()| self.screen.result(&human::summary(&fired)));
        }
        let code = exit_code_of(&fired.decision.verdict, interrupts.came);
        self.end_with(code, told)
    }

    /// The exit code matters more than a failure to print: an unread block is still a block.
    fn end_with(&self, code: u8, told: Result<(), Failure>) -> Result<u8, Failure> {
        match told {
            Err(failure) if code == exit_code::GO_ON => Err(failure),
            Err(failure) => {
                self.screen.failure(&failure);
                Ok(code)
            }
            Ok(()) => Ok(code),
        }
    }

    fn print(&self, fired: &Fired) -> Result<(), Failure> {
        if self.arguments.json {
            return self.screen.json_line(&fired.record());
        }
        if fired.reports.is_empty() {
            self.screen.talk(&human::no_hooks(&fired.event));
        }
        self.screen.result(&human::fired(fired))
    }

    fn print_late(&self, late: &Late) -> Result<(), Failure> {
        let line = |(firing, report): &(u64, Report)| human::report(&late.events[firing], report);
        let lines: String = late.reports.iter().map(line).collect();
        if self.arguments.json {
            // Standard output has one value, which is already printed.
            self.screen.talk(&lines);
            return Ok(());
        }
        self.screen.result(&lines)
    }

    /// Answers without running anything.
    fn with(&self, event: Event, decision: Decision) -> Result<u8, Failure> {
        let code = exit_code_of(&decision.verdict, false);
        let fired = Fired { event: Arc::new(event), decision, reports: Vec::new() };
        let told = if self.arguments.json {
            self.screen.json_line(&fired.record())
        } else {
            self.screen.result(&human::fired(&fired))
        };
        self.end_with(code, told)
    }

    /// With a faulty configuration nothing runs, and an event that can be blocked is blocked.
    fn with_faults(&self, event: Event, loaded: &Loaded) -> Result<u8, Failure> {
        self.screen.faults(loaded.faults.iter().map(AsRef::as_ref));
        if !unasked::refuses(&event, Unasked::NotStarted, Asker::Caller) {
            return Ok(exit_code::OUR_FAULT);
        }
        // The agent reads this too, so it is as short as the text for people.
        let first: &Fault = &loaded.faults[0];
        let advice = advice(first);
        let fault = format!("{}: {} ({})", first.location(), advice.heading, advice.help);
        let decision = blocked(&event, &fault);
        self.with(event, decision)
    }

    fn without_files(&self, event: Event, failure: Failure) -> Result<u8, Failure> {
        if failure.is_about_configuration() {
            self.without_hooks(event, failure)
        } else {
            Err(failure)
        }
    }

    /// No hook could run, so an event that can be blocked is blocked.
    fn without_hooks(&self, event: Event, failure: Failure) -> Result<u8, Failure> {
        if !unasked::refuses(&event, Unasked::NotStarted, Asker::Caller) {
            return Err(failure);
        }
        self.screen.failure(&failure);
        let message = failure.message();
        let place = message.place.map(|place| format!("{place}: ")).unwrap_or_default();
        let decision = blocked(&event, &format!("{place}{}", message.heading));
        self.with(event, decision)
    }
}

/// Progress messages for a person who waits for the decision.
fn talk_of(kind: &RunEventKind) -> Option<String> {
    match kind {
        RunEventKind::Session(SessionEvent::Noted { note }) => {
            Some(format!("note: {}\n", visible(note)))
        }
        kind => human::waiting(kind),
    }
}

fn blocked(event: &Event, fault: &str) -> Decision {
    let reason = format!("the hooks cannot be read, so the event is blocked: {fault}");
    unasked::decision(event, Unasked::NotStarted, Asker::Caller, reason)
}

fn exit_code_of(verdict: &Verdict, interrupted: bool) -> u8 {
    match verdict {
        Verdict::Proceed { .. } | Verdict::Allow { .. } if interrupted => exit_code::INTERRUPTED,
        Verdict::Proceed { .. } | Verdict::Allow { .. } => exit_code::GO_ON,
        Verdict::Block { .. } => exit_code::BLOCK,
        Verdict::Stop { .. } | Verdict::Abort { .. } => exit_code::ABORT,
        Verdict::Ask { .. } => exit_code::ASK,
    }
}
