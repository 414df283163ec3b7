//! An agent's attempt at a turn: its input, its output, and why it could not work.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_agents::agent::joined;
use hookwright_agents::limits::TURN_TIMEOUT;
use hookwright_agents::presets::Reset;
use hookwright_agents::{Turn, TurnEnd, TurnEvents, TurnPorts};
use hookwright_events::{
    FailureCause, PauseCause, ProcessOutcome, SessionEvent, TurnEvent, TurnName, Usage,
};
use hookwright_process::faults;

use super::turn::OpenTurn;
use super::watching::WatchedAgent;
use super::{Halt, Session};
use crate::course::{EarlyEnd, GivenUp, Happening, TurnAttempt};
use crate::folder::{
    AgentStatus, FolderError, IterationAt, OpenIteration, StatusDecision, StatusFile, TurnKind,
    kept_prompt,
};
use crate::limits::{PAUSE_LOOK, PAUSE_MAX};
use crate::orders::Order;
use crate::plan::StageAgent;

/// A finished attempt.
pub(super) struct Done {
    by: String,
    /// From 1.
    pub(super) attempt: u32,
    pub(super) ended: TurnEnd,
    /// The agent's answer.
    pub(super) status: StatusFile,
    /// The folder with the answer, if it exists.
    pub(super) folder: Option<OpenIteration>,
    /// The agent, if there is more than one or it has a name.
    pub(super) agent: Option<String>,
    pub(super) agent_session: Option<String>,
    pub(super) usage: Option<Usage>,
}

impl Session {
    /// Waits until an agent can work again, while nothing runs.
    pub(super) async fn pause(
        &mut self,
        until: i64,
        cause: PauseCause,
        reason: String,
    ) -> Result<(), Halt> {
        let is_until = Some(time(until));
        self.recorder.write(SessionEvent::Paused { cause, reason, until: is_until }).await?;
        let since = Instant::now();
        loop {
            let left = u64::try_from(until - self.recorder.now_ms()).unwrap_or(0);
            if left == 0 {
                break;
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(left).min(PAUSE_LOOK)) => {}
                () = self.interrupt.token().cancelled() => return Err(self.interrupted()),
            }
        }
        self.stopwatch.has_paused(since);
        Ok(self.recorder.write(SessionEvent::Continued {}).await?)
    }

    /// Lets an agent work on the turn.
    pub(super) async fn attempt(&mut self, mut attempt: TurnAttempt) -> Result<Happening, Halt> {
        let mut turn = self.turn.take().expect("a turn was prepared before it begins");
        let stage = &self.plan.stages[self.course.position().index()];
        let candidate = stage.agents[attempt.agent].clone();
        self.until_turns_may_start().await?;
        if let Some(change) = attempt.change.take() {
            self.recorder.write(change).await?;
        }
        // Output that is recorded before the start of this turn has to be in its prompt.
        self.recorder.journal.settled().await;
        // From here until the start has its place in the journal nothing is awaited: output of hooks
        // in between would neither be in this prompt nor wait for the next.
        if turn.prompt.is_empty() {
            turn.said = usize::from(!self.pending.lock().is_empty());
            turn.prompt = self.prompt(&turn);
        } else if let Some(more) = match turn.task.name.iteration {
            0 => self.pending.lock().raw_block(),
            _ => self.pending.lock().block(),
        } {
            // Output of hooks in the meantime.
            turn.prompt.insert(turn.said, more);
            turn.said += 1;
        }
        let folder = turn.folder.take();
        let (ended, folder) =
            self.run_agent(&turn, folder, &candidate, attempt.number, attempt.time_left).await?;
        let done = self.done(&candidate, &attempt, ended, folder);
        self.spending.add(turn.task.name.stage, done.usage.as_ref());
        let given_up = self.given_up(&done.ended, done.status.read());
        let usage = done.usage;
        turn.done = Some(done);
        self.turn = Some(turn);
        Ok(Happening::Attempted { given_up, usage })
    }

    /// Waits while the store gets no sign of life from this process.
    async fn until_turns_may_start(&self) -> Result<(), Halt> {
        let given = self.orders.current();
        if given.order < Order::StartNoTurn {
            return Ok(());
        }
        self.recorder.show_note(format!("no turn starts for now: {}", given.why));
        tokio::select! {
            () = self.orders.turns_may_start() => Ok(()),
            () = self.interrupt.token().cancelled() => Err(self.interrupted()),
        }
    }

    /// Records that the agent of the last attempt could not work.
    pub(super) async fn give_turn_up(&mut self, given_up: GivenUp) -> Result<(), Halt> {
        let mut turn = self.turn.take().expect("a turn was prepared before it is given up");
        let mut done = turn.done.take().expect("an attempt ended before it is given up");
        self.recorder
            .write(TurnEvent::TurnGivenUp {
                turn: turn.task.name.clone(),
                attempt: done.attempt,
                agent: done.by.clone(),
                cause: given_up.cause,
                reason: given_up.reason,
                until: given_up.until.map(time),
                agent_session: done.agent_session.clone(),
                usage: done.usage,
                duration_ms: done.ended.took.as_secs_f64() * 1000.0,
            })
            .await?;
        turn.folder = done.folder.take();
        if let Some(folder) = &turn.folder {
            folder.forget_status()?;
            folder.forget_output()?;
        }
        self.turn = Some(turn);
        Ok(())
    }

    /// Records the start, then lets this agent work. Returns how it ended, and the folder of its
    /// iteration, opened again: the agent may have replaced it.
    async fn run_agent(
        &mut self,
        open: &OpenTurn,
        folder: Option<OpenIteration>,
        candidate: &StageAgent,
        attempt: u32,
        time_left: Option<Duration>,
    ) -> Result<(TurnEnd, Result<OpenIteration, FolderError>), Halt> {
        let (name, prompt) = (&open.task.name, &open.prompt);
        let is_host = candidate.agent.is_host();
        let events = self.fired_in_turn(name, attempt, Arc::clone(&open.event), is_host);
        let events = Arc::new(events);
        // A raw delivery has the files of the last iteration.
        let at = self.current_iteration();
        let at = IterationAt { iteration: at.iteration.max(1), ..at };
        let run_id = self.new_run_id();
        let (shown_prompt, unkept) = self.keep_prompt(folder, at, name, prompt);
        let starting = TurnEvent::TurnStarting {
            turn: name.clone(),
            attempt,
            run_id: run_id.clone(),
            agent: self.is_worth_naming(candidate).then(|| candidate.name.clone()),
        };
        let starting = self.recorder.begin_entry(0, starting);
        match name.iteration {
            0 => drop(self.pending.lock().drain_raw()),
            _ => drop(self.pending.lock().drain()),
        }
        self.recorder.written(starting).await?;
        self.note_unkept(unkept.as_ref()).await?;
        let told = TurnEvent::AgentPrompted { turn: name.clone(), prompt: shown_prompt };
        self.recorder.show(&self.recorder.event(told));
        let mut environment = self.agent_environment(&open.event, at, attempt);
        environment.set("HOOKWRIGHT_AGENT", candidate.name.clone());
        let _left_out = self.place_left_out(&mut environment).await?;
        let turn = Turn {
            prompt: prompt.clone(),
            shared_env: Arc::clone(self.workplace.environment.for_agents()),
            env: environment.strings,
            working_dir: self.workplace.agent_dir.clone(),
            stage: at.stage.name.to_owned(),
            iteration: name.iteration,
            is_final_delivery: open.task.is_final_delivery,
            attempt,
            status_file: self.folder.status(at),
            timeout: time_left.unwrap_or(TURN_TIMEOUT).min(TURN_TIMEOUT),
            run_id,
        };
        faults::point("turn starts");
        let mut watching = WatchedAgent::new(self);
        let fire = Arc::clone(&events) as Arc<dyn TurnEvents>;
        let ports = TurnPorts { watch: &mut watching, events: fire, cancel: &events.cancel };
        let ended = candidate.agent.run(&turn, ports).await;
        let said = watching.finish();
        let folder = self.keep_said(at, name, &said).await?;
        faults::point("turn ended");
        if let Some(error) = self.recorder.journal.failure() {
            return Err(error.into());
        }
        if let Some(reason) = events.aborted() {
            return Err(Halt::Leave(EarlyEnd::Aborted(reason.to_owned())));
        }
        if matches!(ended.outcome, ProcessOutcome::Interrupted { .. })
            || self.interrupt.token().is_cancelled()
        {
            return Err(self.interrupted());
        }
        Ok((ended, folder))
    }

    /// Stores an agent's prompt, for people. Returns what to show of it, and why it is not stored.
    fn keep_prompt(
        &self,
        folder: Option<OpenIteration>,
        at: IterationAt<'_>,
        name: &TurnName,
        prompt: &[String],
    ) -> (String, Option<FolderError>) {
        let prompt = kept_prompt(&self.workplace.secrets.hide(&joined(prompt)));
        let folder = folder.map_or_else(|| self.folder.make_iteration(at), Ok);
        let kept = folder.and_then(|folder| folder.keep_prompt(kind(name), &prompt));
        (prompt, kept.err())
    }

    /// Stores what an agent said, for people. Returns the folder of its iteration.
    async fn keep_said(
        &self,
        at: IterationAt<'_>,
        name: &TurnName,
        said: &str,
    ) -> Result<Result<OpenIteration, FolderError>, Halt> {
        let folder = self.folder.make_iteration(at);
        match &folder {
            Ok(folder) => {
                self.note_unkept(folder.keep_said(kind(name), said).as_ref().err()).await?
            }
            Err(error) => self.note_unkept(Some(error)).await?,
        }
        Ok(folder)
    }

    /// Notes an error with files that only people read; the session continues.
    async fn note_unkept(&self, error: Option<&FolderError>) -> Result<(), Halt> {
        let Some(error) = error else { return Ok(()) };
        let note = format!("the output of this turn cannot be saved: {error}");
        Ok(self.recorder.note(note).await?)
    }

    /// The result of an attempt with the files of this iteration.
    fn done(
        &self,
        candidate: &StageAgent,
        attempt: &TurnAttempt,
        ended: TurnEnd,
        folder: Result<OpenIteration, FolderError>,
    ) -> Done {
        let (folder, status) = match folder {
            Ok(folder) => {
                let status = folder.read_status();
                (Some(folder), status)
            }
            Err(error) => (None, StatusFile::unreadable(&error)),
        };
        let (session, usage) = match (&ended.report, status.read()) {
            (Some(report), _) => (report.session.clone(), report.usage.map(Usage::believable)),
            (None, Some(status)) => (status.agent_session.clone(), status.usage),
            (None, None) => (None, None),
        };
        let is_question = self.is_worth_naming(candidate)
            || attempt.was_refused
            || session.is_some()
            || usage.is_some();
        let agent_session = session.map(|session| self.workplace.hide(&session));
        let agent = is_question.then(|| candidate.name.clone());
        let by = candidate.name.clone();
        Done { by, attempt: attempt.number, ended, status, folder, agent, agent_session, usage }
    }

    /// Whether the name of the agent tells anything.
    fn is_worth_naming(&self, candidate: &StageAgent) -> bool {
        let stage = &self.plan.stages[self.course.position().index()];
        candidate.is_named || stage.agents.len() > 1
    }

    /// Why the agent could not work at all, if so.
    fn given_up(&self, ended: &TurnEnd, status: Option<&AgentStatus>) -> Option<GivenUp> {
        let now = self.recorder.now_ms();
        let hide = |text: &str| self.workplace.hide(text);
        if let Some(report) = &ended.report {
            let failure = report.failure.as_ref()?;
            let until = failure.resets.map(|reset| match reset {
                Reset::At(second) => second.saturating_mul(1000),
                Reset::After(wait) => later(now, wait),
            });
            let (cause, reason) = (failure.cause, hide(&failure.reason));
            return Some(within_reach(GivenUp { cause, reason, until }, now));
        }
        // An agent that has worked is not asked to repeat it.
        let status = status.filter(|status| status.decision == StatusDecision::Error)?;
        let cause = status.failure?;
        let reason = [&status.reason, &status.summary].into_iter().find(|said| !said.is_empty());
        let reason = reason.map_or_else(|| cause.as_str().to_owned(), |said| hide(said));
        let until = status.resets_at.or(status.retry_after.map(|wait| later(now, wait)));
        Some(within_reach(GivenUp { cause, reason, until }, now))
    }

    /// Describes how an agent failed; `None` if it did not.
    pub(super) fn failure_in_words(&self, ended: &TurnEnd) -> Option<String> {
        let report = ended.report.as_ref().and_then(|report| report.failure.as_ref());
        let words = match (&ended.outcome, report) {
            (ProcessOutcome::Exited { .. }, Some(failure)) => failure.reason.clone(),
            (outcome, _) => super::turn::failure_of("the agent", outcome)?,
        };
        Some(self.workplace.hide(&words))
    }
}

/// Drops a time that is too far away to wait for: the agent is asked again when the session is
/// resumed.
fn within_reach(given_up: GivenUp, now: i64) -> GivenUp {
    match given_up.until {
        Some(until) if until > later(now, PAUSE_MAX) => {
            GivenUp { cause: FailureCause::Quota, until: None, ..given_up }
        }
        _ => given_up,
    }
}

fn kind(name: &TurnName) -> TurnKind {
    if name.iteration == 0 { TurnKind::RawDelivery } else { TurnKind::Iteration }
}

fn later(now: i64, wait: Duration) -> i64 {
    now.saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

/// ISO 8601 in UTC.
fn time(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds)
        .map_or_else(|_| String::new(), |time| format!("{time:.3}"))
}
