//! Completes a task without a session: runs the project's hooks as `fire` does.

use std::sync::Arc;

use hookwright_dialects::hosts;
use hookwright_engine::{Chain, Fired, Firing, HookSet, Interest, RunEvent};
use hookwright_events::{Decision, Event, EventName, Task, TaskState, Verdict};
use hookwright_process::MARKER;
use hookwright_store::KeptTasks;
use serde_json::Map;

use super::completing::Completed;
use super::{Tasks, task_failure};
use crate::config_files::{ConfigFiles, process_environment};
use crate::error::{Failure, advice};
use crate::hook_switches::off_by_environment;
use crate::host::{EngineOptions, MayRun, ProjectHooks, runtime, with_session};
use crate::interrupts::Interrupts;
use crate::render::human;
use crate::screen::Screen;
use crate::store_time;
use crate::unasked::{self, Asker, Unasked};

/// Completes a task unless the project's hooks block it.
pub(super) fn complete(
    tasks: &Tasks,
    kept: &KeptTasks,
    task: &Task,
    chain: Chain,
    screen: &Screen,
) -> Result<Completed, Failure> {
    let set_completed = || -> Result<(), Failure> {
        kept.set_state(task.id, TaskState::Completed, store_time::now_ms())
            .map_err(task_failure)?;
        Ok(())
    };
    if let Some(why) = off_by_environment() {
        // The person's environment counts, not that of an agent or its processes.
        let marks = [vec![MARKER], hosts::marks()].concat();
        if !tasks.caller.was_started_with_any(&marks) {
            screen.talk(&format!("hooks are switched off ({why})\n"));
            set_completed()?;
            return Ok(Completed::Done { said: Vec::new() });
        }
        screen.talk(&format!("{why} is ignored, and hooks run: an agent or a hook set it\n"));
    }
    let found = ConfigFiles::find(&tasks.options)?;
    let hooks = ProjectHooks::read(found, process_environment(), MayRun::Everything);
    let loaded = &hooks.loaded;
    let event = event_of(task);
    if let Some(first) = loaded.faults.first() {
        screen.faults(loaded.faults.iter().map(AsRef::as_ref));
        let heading = advice(first).heading;
        let reason = format!("the hooks cannot be read: {}: {heading}", first.location());
        if unasked::refuses(&event, Unasked::NotStarted, Asker::Caller) {
            return Ok(Completed::Blocked { reason });
        }
    }
    screen.left_out(&loaded.left_out);
    let (before, after) = loaded.hooks.clone().split_after_the_fact(&EventName::TASK_COMPLETE);
    let project = AskedProject { hooks: &hooks, event, chain, screen };
    runtime()?.block_on(async {
        let fired = project.fire(before).await?;
        let Some(fired) = fired else { return Ok(Completed::Interrupted) };
        if !fired.decision.verdict.lets_pass() {
            return Ok(Completed::Blocked { reason: reason_of(fired.decision) });
        }
        let mut said = said_to_the_agent(&fired.decision);
        set_completed()?;
        if let Some(after) = after
            && let Some(fired) = project.fire(after).await?
        {
            said.extend(said_to_the_agent(&fired.decision));
        }
        Ok(Completed::Done { said })
    })
}

/// The project whose hooks decide about a task.
struct AskedProject<'a> {
    hooks: &'a ProjectHooks,
    event: Event,
    chain: Chain,
    screen: &'a Screen,
}

impl AskedProject<'_> {
    /// Fires the event and waits for all that it starts; `None` if the user interrupts.
    async fn fire(&self, hooks: HookSet) -> Result<Option<Fired>, Failure> {
        let engine = self.hooks.engine_of(hooks, EngineOptions::default());
        engine.observe(
            Interest::NoOutput,
            Arc::new(|event: &RunEvent| {
                human::waiting(&event.kind).iter().for_each(|text| Screen.talk(text));
            }),
        );
        let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
        let firing = Firing { chain: self.chain.clone(), ..Firing::default() };
        let firing = engine.fire(self.event.clone(), firing);
        let fired = interrupts.ending(&engine, self.screen, firing).await;
        if !fired.reports.is_empty() {
            self.screen.talk(&human::fired(&fired));
        }
        let waiting_for = engine.in_background();
        if !waiting_for.is_empty() {
            self.screen.talk(&human::waiting_for(&waiting_for));
            interrupts.ending(&engine, self.screen, engine.settle()).await;
        }
        Ok((!interrupts.came).then_some(fired))
    }
}

fn event_of(task: &Task) -> Event {
    let mut data = Map::new();
    data.insert("task_id".to_owned(), task.id.to_string().into());
    data.insert("task_content".to_owned(), task.content.clone().into());
    with_session(Event::new(EventName::TASK_COMPLETE, data), &format!("task-{}", task.id))
}

fn reason_of(decision: Decision) -> String {
    match decision.verdict {
        Verdict::Proceed { .. } | Verdict::Allow { .. } => String::new(),
        Verdict::Ask { reason, .. } => {
            reason.unwrap_or_else(|| "a person has to decide first".to_owned())
        }
        Verdict::Block { reason } | Verdict::Stop { reason } | Verdict::Abort { reason } => reason,
    }
}

/// The hooks' messages for the agent. There is no next prompt, so it gets them now.
fn said_to_the_agent(decision: &Decision) -> Vec<String> {
    let piped = Some(&decision.piped_output).filter(|text| !text.trim().is_empty());
    piped.into_iter().chain(&decision.additional_context).cloned().collect()
}
