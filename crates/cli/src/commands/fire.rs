//! `hookwright fire`: one event, its hooks, what they decided.
//!
//! The decision is printed as soon as it is made; hooks that nothing waits for are then waited for,
//! so that none is lost because the program ended first.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use hookwright_config::{Fault, Loaded};
use hookwright_engine::chain::Chain;
use hookwright_engine::dispatch::can_block;
use hookwright_engine::hook_set::HookSet;
use hookwright_engine::ports::Ports;
use hookwright_engine::{Engine, Fired, Firing, Interest, Setup};
use hookwright_events::{Decision, Event, Power, Report, RunEvent, RunEventKind, Verdict};

use super::event_data::{EventArguments, warn_of_unknown_keys, with_session};
use super::late::{Late, with_late};
use crate::approvals::{self, Asking};
use crate::chain_above::chain_above;
use crate::config_files::{ConfigFiles, ConfigOptions, process_environment};
use crate::env_file::EnvFile;
use crate::error::{Failure, advice};
use crate::interrupts::{Interrupts, check_descriptors};
use crate::render::{human, visible};
use crate::screen::Screen;
use crate::{exit_code, state};

/// Fire an event and say what its hooks decided
///
/// Runs the hooks that listen to the event and prints how each ended and what the host must do now.
/// The exit code says it too: 0 go on, 2 block, 3 abort or `continue: false`, 4 ask, 1 our own
/// fault or bad usage, 130 interrupted. A faulty configuration starts nothing; where something can
/// be blocked it blocks (2), elsewhere it is 1.
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

/// What switches hooks off for one call.
#[derive(Debug, Args)]
pub(crate) struct HookSwitches {
    /// Skip the hook with this id; may be given more than once
    #[arg(long, value_name = "ID")]
    pub(crate) skip: Vec<String>,

    /// Run no hooks at all
    #[arg(long)]
    pub(crate) no_hooks: bool,
}

impl FireArguments {
    /// Whether a fault of ours has to block: a guard may stand behind it.
    pub(crate) fn guards(&self) -> bool {
        self.event.can_block()
    }
}

impl HookSwitches {
    /// Why no hook runs, if none does.
    pub(crate) fn all_off(&self) -> Option<&'static str> {
        if self.no_hooks {
            return Some("--no-hooks");
        }
        off_by_environment()
    }

    /// Says which ids name no hook.
    pub(crate) fn warn_of_unknown(&self, hooks: &HookSet, screen: &Screen) {
        for id in &self.skip {
            if !hooks.hooks().iter().any(|hook| hook.id == *id) {
                screen.talk(&format!("warning: --skip: no hook has the id `{}`\n", visible(id)));
            }
        }
    }
}

/// The variable that switches all hooks off when it is `0`.
pub(super) const SWITCH: &str = "HOOKWRIGHT";

/// What in the environment says that no hook runs.
pub(crate) fn off_by_environment() -> Option<&'static str> {
    std::env::var_os(SWITCH).filter(|value| value == "0").map(|_| "HOOKWRIGHT=0")
}

pub(crate) fn fire(arguments: &FireArguments, screen: &Screen) -> Result<u8, Failure> {
    let event = arguments.event.event(arguments.options.cwd.as_deref())?;
    warn_of_unknown_keys(&event, screen);
    let answer = Answering { arguments, screen };
    if let Some(why) = arguments.switches.all_off() {
        screen.talk(&format!("hooks are switched off ({why})\n"));
        return answer.with(event, Decision::default());
    }
    let found = match ConfigFiles::find(&arguments.options) {
        Ok(found) => found,
        Err(failure) => return answer.without_files(event, failure),
    };
    let environment = process_environment();
    let (loaded, secrets) = found.load(&environment);
    if !loaded.faults.is_empty() {
        return answer.with_faults(event, &loaded);
    }
    screen.left_out(&loaded.left_out);
    arguments.switches.warn_of_unknown(&loaded.hooks, screen);
    let chain = chain_above();
    let skip = arguments.switches.skip.clone();
    let session = arguments.session.as_deref();
    let lent = EnvFile::lend(&event, session, &loaded.hooks, &environment);
    let lent = lent.unwrap_or_else(|error| {
        screen.talk(&format!("warning: no file can be lent to the hooks: {error}\n"));
        None
    });
    let environment = lent.as_ref().map_or(environment, EnvFile::environment);
    let project = found.project_root.to_string_lossy().into_owned();
    let asking = Asking { project, pipeline: None, address: loaded.callback };
    let waits = approvals::port(asking, state::store);
    let ports = Ports { waits, ..Ports::default() };
    let setup = Setup::new(loaded.hooks, found.project_root, environment);
    let engine = Engine::new(Setup { secrets, skip, ports, ..setup });
    match runtime() {
        Ok(runtime) => runtime.block_on(answer.by_firing(&engine, event, chain)),
        Err(failure) => answer.without_hooks(event, failure),
    }
}

/// What hooks run on, and from here on their orphans are ours: they are collected as they end.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    // Where the system has no subreapers, children of killed hooks go to init as ever.
    let _ = hookwright_process::become_subreaper();
    check_descriptors().map_err(|cause| Failure::NoRuntime { cause })?;
    // One thread: a command that lives for milliseconds has no use for more.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|cause| Failure::NoRuntime { cause })?;
    // It lives as long as the runtime.
    drop(runtime.spawn(hookwright_process::collect_orphans()));
    Ok(runtime)
}

/// How the answer leaves: as text or as JSON.
struct Answering<'a> {
    arguments: &'a FireArguments,
    screen: &'a Screen,
}

impl Answering<'_> {
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
        if event.name.power() == Power::Blocks {
            // Whoever leaves before a guard has answered must not let anything pass.
            interrupts.code = exit_code::BLOCK;
        }
        let firing = engine.fire(event, Firing { session, chain, ..Firing::default() });
        let mut fired = interrupts.ending(engine, self.screen, firing).await;
        let code = exit_code_of(&fired.decision.verdict, interrupts.came);
        interrupts.code = code;
        // Whoever cannot be told still gets the exit code, and every hook still gets to its end.
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

    /// The exit code stands above a failure to print: a block that nobody could read is a block.
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
            // Standard output holds one value, which is printed already.
            self.screen.talk(&lines);
            return Ok(());
        }
        self.screen.result(&lines)
    }

    /// Answers without having run anything.
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

    /// A faulty configuration starts nothing, and where something can be blocked it blocks.
    fn with_faults(&self, event: Event, loaded: &Loaded) -> Result<u8, Failure> {
        self.screen.faults(loaded.faults.iter().map(AsRef::as_ref));
        if !can_block(&event) {
            return Ok(exit_code::OUR_FAULT);
        }
        // The agent reads this, so it is as short as what a person reads on the screen.
        let first: &Fault = &loaded.faults[0];
        let advice = advice(first);
        let fault = format!("{}: {} ({})", first.location(), advice.heading, advice.help);
        self.with(event, blocked(&fault))
    }

    fn without_files(&self, event: Event, failure: Failure) -> Result<u8, Failure> {
        if failure.is_about_configuration() {
            self.without_hooks(event, failure)
        } else {
            Err(failure)
        }
    }

    /// No hook could be asked, so where one may block, nothing passes.
    fn without_hooks(&self, event: Event, failure: Failure) -> Result<u8, Failure> {
        if !can_block(&event) {
            return Err(failure);
        }
        self.screen.failure(&failure);
        let message = failure.message();
        let place = message.place.map(|place| format!("{place}: ")).unwrap_or_default();
        self.with(event, blocked(&format!("{place}{}", message.heading)))
    }
}

/// What whoever waits for the decision should know meanwhile.
fn talk_of(kind: &RunEventKind) -> Option<String> {
    match kind {
        RunEventKind::Noted { note } => Some(format!("note: {}\n", visible(note))),
        kind => human::waiting(kind),
    }
}

fn blocked(fault: &str) -> Decision {
    let reason = format!("the hooks cannot be read, so nothing may pass them: {fault}");
    Decision { verdict: Verdict::Block { reason }, ..Decision::default() }
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
