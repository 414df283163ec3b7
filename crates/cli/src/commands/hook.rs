//! `hookwright hook`: the command that an agent's own settings call for any event.
//!
//! It reads the agent's JSON, runs the hooks, and prints the answer in the agent's format; nothing
//! else goes to standard output. It finishes before the agent's own timeout, and does not wait for
//! hooks in the background.
//!
//! | module | does |
//! |---|---|
//! | `input` | reads the agent's input within the time limit |
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
use hookwright_dialects::hosts::{self, Host, HostCall, HostReply, Inject, UnreadableCall};
use hookwright_engine::ports::Keepsake;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Answer, Background, Chain, Engine, Fired, Firing, Interest};
use hookwright_events::{Decision, Event, EventName, Power, Status, Verdict};
use hookwright_pipeline::trace::TraceFolder;

use self::deadline::Deadline;
use self::memory::SessionMemory;
use self::repeated_call::DeliveredCall;
use self::trace::CallTrace;
use crate::chain_above::chain_above;
use crate::error::Failure;
use crate::exit_code;
use crate::hook_switches::SWITCH;
use crate::host::{EngineOptions, ProjectHooks, runtime};
use crate::interrupts::Interrupts;
use crate::screen::Screen;
use crate::start_environment::CommandStarter;
use crate::unasked::{self, Asker, Unasked};
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
    host: Option<&'static dyn Host>,

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

pub(super) fn host_names() -> impl TypedValueParser<Value = &'static dyn Host> {
    let names = hosts::all().iter();
    let names = names.map(|host| PossibleValue::new(host.name()).help(host.display_name()));
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
            host.display_name()
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
    let memory = SessionMemory::new(host.name(), state::folder().ok())
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
fn answer_unreadable(
    host: &dyn Host,
    what: UnreadableCall,
    screen: &Screen,
) -> Result<u8, Failure> {
    match what {
        UnreadableCall::NoEvent { cause } => {
            let failure = Failure::NoEventOfAgent { agent: host.display_name(), cause };
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
fn answer_no_event(host: &dyn Host, failure: &Failure, screen: &Screen) -> Result<u8, Failure> {
    let reply = host.refuse_unread(&failure.message().in_one_line());
    screen.failure(failure);
    print(&HostReply { stderr: String::new(), ..reply }, true, screen)
}

/// Whether a reply that is not delivered has to become a block.
fn has_to_block(event: &Event, decision: &Decision) -> bool {
    match event.name.power() {
        Power::Blocks => true,
        Power::BlocksOnPurpose => matches!(decision.verdict, Verdict::Block { .. }),
        Power::Annotates | Power::Observes => false,
    }
}

/// Prints the reply and nothing else. A denial must not depend on a reader: if printing fails, the
/// exit code says it.
fn print(reply: &HostReply, blocks: bool, screen: &Screen) -> Result<u8, Failure> {
    screen.talk(&reply.stderr);
    let told = screen.result_while_read(&reply.stdout);
    match told {
        Ok(true) if !(blocks && !reply.stdout.is_empty() && screen.is_discarded()) => {
            Ok(reply.exit_code)
        }
        Ok(_) if blocks => {
            screen.talk("hookwright: the reply could not be delivered, so this is blocked\n");
            Ok(exit_code::BLOCK)
        }
        Ok(_) => Ok(reply.exit_code),
        Err(failure) if blocks => {
            screen.failure(&failure);
            Ok(exit_code::BLOCK)
        }
        Err(failure) => Err(failure),
    }
}

/// A block if that prevents something, otherwise a message.
fn refused_or_told(event: &Event, reason: String) -> Decision {
    unasked::decision(event, Unasked::NotStarted, Asker::Agent, reason)
}

/// The decision if no hook could run at all.
fn without_hooks(event: &Event, failure: &Failure) -> Decision {
    refused_or_told(event, format!("no hook could run: {}", failure.message().in_one_line()))
}

/// Answers one call of a host.
struct HostAnswer<'a> {
    host: &'static dyn Host,
    deadline: Deadline,
    memory: Arc<SessionMemory>,
    /// Messages for the user, whatever the hooks decide.
    notices: Vec<String>,
    screen: &'a Screen,
}

impl HostAnswer<'_> {
    /// Runs the hooks, records what they did, and prints the reply. `environment` is the hooks'
    /// environment.
    fn answer(
        &self,
        call: &HostCall,
        environment: Environment,
        trace: CallTrace,
    ) -> Result<u8, Failure> {
        let event = &call.event;
        let found = match UserFolders::current().config() {
            None => Err(Failure::NoStateFolder),
            Some(_) => runnable_hooks::find(self.host, call, environment),
        };
        let found = match found {
            Ok(found) => found,
            Err(failure) => {
                let decision = without_hooks(event, &failure);
                let folder = event.text("cwd").unwrap_or_default().to_owned();
                trace.write(call, &decision, folder, None);
                let blocks = has_to_block(event, &decision);
                return print(&self.reply(call, &decision), blocks, self.screen);
            }
        };
        let wakes_any = call.events().any(|event| !found.loaded.hooks.woken(event).is_empty());
        let state = state::folder().ok().filter(|_| wakes_any);
        let due = self.deadline.of_hooks;
        match DeliveredCall::begin(self.host, call, state.as_deref(), due) {
            DeliveredCall::Repeated(reply) => {
                print(&reply, event.name.power() == Power::Blocks, self.screen)
            }
            DeliveredCall::First(delivery) => {
                let trace = if found.loaded.untraced { CallTrace::off() } else { trace };
                let project = found.root.to_string_lossy().into_owned();
                let secrets = found.secrets.clone();
                let decision = self.decide(call, found, &trace);
                trace.write(call, &decision, project, Some(&secrets));
                let reply = self.reply(call, &decision);
                delivery.answered(&reply);
                print(&reply, has_to_block(event, &decision), self.screen)
            }
        }
    }

    /// The reply in the host's format. What the event cannot carry to the agent waits for one that
    /// can.
    fn reply(&self, call: &HostCall, decision: &Decision) -> HostReply {
        let reply = self.host.reply(call, decision);
        if let Some(text) = &reply.later {
            let answer = Answer { additional_context: vec![text.clone()], ..Answer::default() };
            let session = call.event.text("session_id").unwrap_or_default();
            self.memory.keep_now(session, Keepsake::LateAnswer { answer: Box::new(answer) });
        }
        reply
    }

    /// The hooks' decision.
    fn decide(&self, call: &HostCall, found: ProjectHooks, trace: &CallTrace) -> Decision {
        let event = &call.event;
        let mut parts = Vec::new();
        let session = event.text("session_id").unwrap_or_default();
        let gone = guarding_files::refusal(&self.memory, session, &found.trusted);
        parts
            .extend(found.refusal.iter().cloned().chain(gone).map(|it| refused_or_told(event, it)));
        let mut notices = match event.name.power().can_block() {
            // At these events an unreadable entry blocks, with its own message.
            true => Vec::new(),
            false => runnable_hooks::notices(&found.loaded, event),
        };
        notices.extend(self.notices.iter().cloned());
        // Notices are shown once per session.
        notices.extend(parts.iter_mut().flat_map(|part| std::mem::take(&mut part.system_messages)));
        match self.by_firing(call, found, trace) {
            Ok(all) => {
                notices.extend(all.iter().flat_map(failures));
                parts.extend(all.into_iter().map(|fired| fired.decision));
            }
            Err(failure) => parts.push(without_hooks(event, &failure)),
        }
        self.with_notices(event, Decision::combine(parts), notices)
    }

    fn by_firing(
        &self,
        call: &HostCall,
        mut found: ProjectHooks,
        trace: &CallTrace,
    ) -> Result<Vec<Fired>, Failure> {
        let chain = chain_above();
        // The engine is quicker at events that no hook hears if nothing receives its run events.
        let is_heard = call.events().any(|event| !found.loaded.hooks.woken(event).is_empty());
        let memory: Arc<SessionMemory> = Arc::clone(&self.memory);
        let engine = found.engine(EngineOptions {
            memory: Some(memory),
            background: Background::Elsewhere,
            ..EngineOptions::default()
        });
        if let Some(observer) = trace.observer().filter(|_| is_heard) {
            engine.observe(Interest::NoProcesses, observer);
        }
        let mut all = Vec::new();
        runtime()?.block_on(async {
            for event in call.events() {
                trace.fires(event);
                all.push(self.in_time(&engine, event, chain.clone()).await?);
            }
            Ok::<(), Failure>(())
        })?;
        let handed_over = engine.handed_over();
        if !handed_over.is_empty()
            && let Err(error) =
                detached::start(self.host, &found, handed_over, trace.of_background())
            && let Some(last) = all.last_mut()
        {
            let message = format!("background hooks could not be started: {error}");
            last.decision.system_messages.push(message);
        }
        Ok(all)
    }

    /// Fires the event; hooks that are not done at the deadline are killed.
    async fn in_time(
        &self,
        engine: &Engine,
        event: &Event,
        chain: Chain,
    ) -> Result<Fired, Failure> {
        let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
        let power = Some(event.name.power());
        interrupts.code = unasked::exit_code(power, Unasked::Interrupted, Asker::Agent);
        let firing = Firing { chain, skips_unheard: true, ..Firing::default() };
        let firing = engine.fire(event.clone(), firing);
        let fired = match self.within(engine, interrupts.ending(engine, self.screen, firing)).await
        {
            (Some(fired), false) => fired,
            (Some(fired), true) => return Ok(self.too_late(fired)),
            (None, _) => {
                let (event, decision) = (Arc::new(event.clone()), Decision::default());
                return Ok(self.too_late(Fired { event, decision, reports: Vec::new() }));
            }
        };
        // A hook that moved itself to the background is our child, and ends with this process.
        if !engine.in_background().is_empty() {
            let settled = interrupts.ending(engine, self.screen, engine.settle());
            self.within(engine, settled).await;
        }
        Ok(fired)
    }

    /// The result of `work`, if it finishes before the answer is due, and whether hooks had to be
    /// killed.
    async fn within<T>(&self, engine: &Engine, work: impl Future<Output = T>) -> (Option<T>, bool) {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            done = &mut work => return (Some(done), false),
            () = tokio::time::sleep_until(self.deadline.of_hooks.into()) => engine.interrupt(),
        }
        tokio::select! {
            done = &mut work => (Some(done), true),
            () = tokio::time::sleep_until(self.deadline.of_answer.into()) => {
                hookwright_process::kill_everything_now();
                (None, true)
            }
        }
    }

    /// Makes guards that have not answered block, with a reason.
    fn too_late(&self, mut fired: Fired) -> Fired {
        let ended = fired.reports.iter().filter(|report| report.interrupted);
        let ids: Vec<&str> = ended.map(|report| report.id.as_str()).collect();
        let who = match ids[..] {
            [] => "its hooks".to_owned(),
            [id] => format!("hook {id}"),
            _ => format!("hooks {}", ids.join(", ")),
        };
        let reason = format!(
            "{who} had not answered after {}, shortly before {} would have continued without an \
             answer",
            seconds(self.deadline.span),
            self.host.display_name()
        );
        let late = unasked::decision(&fired.event, Unasked::TooLate, Asker::Agent, reason);
        let decision = &mut fired.decision;
        // A hook that ended the session earlier has its own reason.
        let ends = matches!(decision.verdict, Verdict::Stop { .. } | Verdict::Abort { .. });
        if matches!(late.verdict, Verdict::Block { .. }) && !ends {
            decision.verdict = late.verdict;
        }
        decision.system_messages.extend(late.system_messages);
        fired
    }

    /// The decision with the notices that the user has not seen in this session.
    fn with_notices(
        &self,
        event: &Event,
        mut decision: Decision,
        notices: Vec<String>,
    ) -> Decision {
        if self.host.capability(&event.name).message {
            let session = event.text("session_id").unwrap_or_default();
            decision.system_messages.extend(self.memory.untold(session, notices));
        }
        decision
    }
}

/// Hooks that failed without blocking, which nothing else reports.
fn failures(fired: &Fired) -> Vec<String> {
    let blocks = match &fired.decision.verdict {
        Verdict::Block { reason } | Verdict::Stop { reason } | Verdict::Abort { reason } => reason,
        Verdict::Proceed { .. } | Verdict::Allow { .. } | Verdict::Ask { .. } => "",
    };
    let failed = fired.reports.iter().filter(|report| {
        matches!(report.status, Status::Failed | Status::TimedOut) && !report.interrupted
    });
    let said = failed.filter_map(|report| Some((report, report.reason.as_deref()?)));
    let said = said.filter(|(_, reason)| *reason != blocks);
    said.map(|(report, reason)| format!("hook {} failed: {reason}", report.id)).collect()
}

fn seconds(span: Duration) -> String {
    format!("{} s", span.as_millis() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use hookwright_config::{ConfigFile, load_text};
    use hookwright_engine::hook::Layer;
    use serde_json::json;

    use super::*;

    fn tool_call(command: &str) -> Event {
        let data = json!({ "tool_name": "bash", "tool_input": { "command": command } });
        Event::named("tool:pre_execute", data).expect("known")
    }

    #[test]
    fn hooks_look_at_every_operation_of_a_call_and_the_strictest_decision_counts() {
        let host = hosts::named("claude").expect("a host");
        let answering = HostAnswer {
            host,
            deadline: Deadline::new(Instant::now(), host.least_patience()),
            memory: Arc::new(SessionMemory::new(host.name(), None)),
            notices: Vec::new(),
            screen: &Screen,
        };
        let environment = Environment::new(std::env::vars_os());
        let root = tempfile::tempdir().expect("a folder");
        let guard = "hooks: {tool:pre_execute: [{id: no-sudo, command: 'echo no >&2; exit 2', \
                     when: \"${TOOL_INPUT.command} matches 'sudo'\"}]}";
        let file = ConfigFile::native("guard.yaml", "guard.yaml", Layer::Project);
        let decide = |call: &HostCall| {
            let loaded = load_text(guard, &file, &environment);
            assert_eq!(loaded.faults, []);
            let root = root.path().to_owned();
            let hooks = ProjectHooks::loaded(root, environment.clone(), loaded);
            let fired = answering.by_firing(call, hooks, &CallTrace::off());
            let fired = fired.unwrap_or_else(|_| panic!("no runtime"));
            Decision::combine(fired.into_iter().map(|fired| fired.decision)).verdict
        };
        let [list, remove] = ["ls", "sudo rm -r x"].map(tool_call);
        let no = Verdict::Block { reason: "no".into() };
        assert_eq!(decide(&list.clone().into()), Decision::default().verdict);
        assert_eq!(decide(&HostCall { event: list.clone(), others: vec![remove.clone()] }), no);
        assert_eq!(decide(&HostCall { event: remove, others: vec![list] }), no);
    }
}
