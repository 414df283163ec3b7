//! [`HostAnswer`]: runs the hooks of one call, and prints the reply in the host's format.

use std::sync::Arc;
use std::time::Duration;

use hookwright_dialects::hosts::{Host, HostCall, HostReply};
use hookwright_engine::ports::Keepsake;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Answer, Background, Chain, Engine, Fired, Firing, Interest};
use hookwright_events::{Decision, Event, Power, Status, Verdict};

use super::deadline::Deadline;
use super::memory::SessionMemory;
use super::repeated_call::DeliveredCall;
use super::trace::CallTrace;
use super::{detached, guarding_files, runnable_hooks};
use crate::chain_above::chain_above;
use crate::error::Failure;
use crate::exit_code;
use crate::host::{EngineOptions, ProjectHooks, runtime};
use crate::interrupts::Interrupts;
use crate::screen::Screen;
use crate::state;
use crate::unasked::{self, Asker, Unasked};
use crate::user_folders::UserFolders;

/// Answers one call of a host.
pub(super) struct HostAnswer<'a> {
    pub(super) host: &'static Host,
    pub(super) deadline: Deadline,
    pub(super) memory: Arc<SessionMemory>,
    /// Messages for the user, whatever the hooks decide.
    pub(super) notices: Vec<String>,
    pub(super) screen: &'a Screen,
}

impl HostAnswer<'_> {
    /// Runs the hooks, records what they did, and prints the reply. `environment` is the hooks'
    /// environment.
    pub(super) fn answer(
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
            self.host.display_name
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

pub(super) fn seconds(span: Duration) -> String {
    format!("{} s", span.as_millis() as f64 / 1000.0)
}

/// Whether a reply that is not delivered has to become a block.
pub(super) fn has_to_block(event: &Event, decision: &Decision) -> bool {
    match event.name.power() {
        Power::Blocks => true,
        Power::BlocksOnPurpose => matches!(decision.verdict, Verdict::Block { .. }),
        Power::Annotates | Power::Observes => false,
    }
}

/// Prints the reply and nothing else. A denial must not depend on a reader: if printing fails, the
/// exit code says it.
pub(super) fn print(reply: &HostReply, blocks: bool, screen: &Screen) -> Result<u8, Failure> {
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
pub(super) fn refused_or_told(event: &Event, reason: String) -> Decision {
    unasked::decision(event, Unasked::NotStarted, Asker::Agent, reason)
}

/// The decision if no hook could run at all.
fn without_hooks(event: &Event, failure: &Failure) -> Decision {
    refused_or_told(event, format!("no hook could run: {}", failure.message().in_one_line()))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use hookwright_config::{ConfigFile, load_text};
    use hookwright_dialects::hosts;
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
            memory: Arc::new(SessionMemory::new(host.name, None)),
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
