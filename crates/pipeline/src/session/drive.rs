//! An agent does a turn: the first one of its stage who can.
//!
//! One who is asked too often, has nothing left, is not let in or cannot be reached gives its turn to the
//! next in the list, and is asked again when its time has come. When none can work, the session waits for
//! the one who can soonest, and says so; where waiting would not help, it is left to a person. Such a turn
//! is no iteration, and no hook hears of an error. What costs too much is found in `spending.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hookwright_agents::agent::joined;
use hookwright_agents::limits::TURN_TIMEOUT;
use hookwright_agents::presets::Reset;
use hookwright_agents::{Turn, TurnEnd, TurnPorts};
use hookwright_events::{
    Event, FailureCause, Outcome, PauseCause, RunEventKind, TurnName, TurnResult, Usage,
};
use hookwright_process::faults;

use super::spending::Spending;
use super::watching::Watching;
use super::{Leave, Session};
use crate::availability::{Availability, Choice};
use crate::folder::{
    Decision, FolderError, IterationAt, OpenIteration, Status, StatusFile, TurnKind, kept_prompt,
};
use crate::history::History;
use crate::limits::{PAUSE_LOOK, PAUSE_MAX};
use crate::plan::Candidate;
use crate::record::milliseconds;

/// What a session knows of its agents.
pub(super) struct AgentsInUse {
    availability: Availability,
    /// Who worked last.
    at_work: Option<String>,
    /// When the session waited, for them or for a person, and how long.
    pauses: Vec<(Instant, Duration)>,
    pub(super) spending: Spending,
    /// Agents of which it was said that they tell no cost.
    pub(super) without_cost: BTreeSet<String>,
}

/// A turn that was done.
pub(super) struct Done {
    pub(super) ended: TurnEnd,
    /// What the agent answered.
    pub(super) status: StatusFile,
    /// The folder in which it did, if it is there.
    pub(super) folder: Option<OpenIteration>,
    /// Who did it, where that is a question.
    agent: Option<String>,
    agent_session: Option<String>,
    usage: Option<Usage>,
}

/// What an agent has left when it ended.
struct Attempted {
    ended: TurnEnd,
    /// The folder of its iteration, opened again: the agent may have replaced it.
    folder: Result<OpenIteration, FolderError>,
}

/// A turn that is to be done.
pub(super) struct Task<'a> {
    pub(super) name: &'a TurnName,
    /// The folder of its iteration, if it is open already.
    pub(super) folder: Option<OpenIteration>,
    /// Who does it first, see [`Session::available`].
    pub(super) by: Candidate,
    pub(super) prompt: Vec<String>,
    pub(super) event: &'a Event,
    /// What is left of the stage's time.
    pub(super) left: Option<Duration>,
}

/// An agent is about to do a turn.
struct Attempt<'a> {
    /// The iteration whose files the agent has.
    of: u32,
    folder: Option<OpenIteration>,
    name: &'a TurnName,
    prompt: &'a [String],
    event: &'a Event,
    left: Option<Duration>,
}

/// Why an agent could not do its turn.
struct GivenUp {
    cause: FailureCause,
    reason: String,
    /// In milliseconds since 1970.
    until: Option<i64>,
}

impl GivenUp {
    /// A time that nobody would wait for is none: the agent has nothing left for this session, and whoever
    /// resumes it asks again.
    fn within(self, now: i64, most: Duration) -> Self {
        match self.until {
            Some(until) if until > later(now, most) => {
                Self { cause: FailureCause::Quota, until: None, ..self }
            }
            _ => self,
        }
    }
}

impl AgentsInUse {
    /// As the journal has left it.
    pub(super) fn new(history: &mut History) -> Self {
        Self {
            availability: std::mem::take(&mut history.availability),
            at_work: history.at_work.take(),
            pauses: Vec::new(),
            spending: Spending::new(std::mem::take(&mut history.usage)),
            without_cost: BTreeSet::new(),
        }
    }

    /// The session has waited since then; that is no part of any stage's time.
    pub(super) fn has_paused(&mut self, since: Instant) {
        self.pauses.push((since, since.elapsed()));
    }

    /// How long the session has waited since then, for agents or for a person.
    pub(super) fn paused_since(&self, since: Instant) -> Duration {
        self.pauses.iter().filter(|(at, _)| *at >= since).map(|(_, waited)| *waited).sum()
    }
}

impl Done {
    /// Adds who did it and what that took.
    pub(super) fn note_in(&self, result: &mut TurnResult) {
        result.agent.clone_from(&self.agent);
        result.agent_session.clone_from(&self.agent_session);
        result.usage = self.usage;
    }
}

impl Session {
    /// Lets an agent do the turn, however many have to be asked for it.
    pub(super) async fn drive(&mut self, index: usize, task: Task<'_>) -> Result<Done, Leave> {
        let Task { name, mut folder, by: mut candidate, mut prompt, event, left } = task;
        let mut said = usize::from(!self.pending.is_empty());
        // A raw delivery has the files of the last iteration.
        let of = match name.iteration {
            0 => self.last_stage.iteration.max(1),
            number => number,
        };
        let mut worked = Duration::ZERO;
        loop {
            let left = left.map(|left| left.saturating_sub(worked));
            let at = Attempt { of, folder, name, prompt: &prompt, event, left };
            let attempted = self.attempt(index, &candidate, at).await?;
            worked += attempted.ended.took;
            let mut done = self.done(index, &candidate, attempted);
            self.in_use.spending.add(name.stage, done.usage.as_ref());
            match self.given_up(&done.ended, done.status.read()) {
                Some(given_up) if self.gives_way(index, &candidate, &given_up) => {
                    self.write_given_up(name, &candidate, &done, given_up)?;
                    folder = done.folder.take();
                    if let Some(folder) = &folder {
                        folder.forget_status()?;
                        folder.forget_output()?;
                    }
                    candidate = self.available(index).await?;
                    // What hooks had to say meanwhile.
                    let more = match name.iteration {
                        0 => self.pending.raw_block(),
                        _ => self.pending.block(),
                    };
                    if let Some(more) = more {
                        prompt.insert(said, more);
                        said += 1;
                    }
                }
                _ => {
                    self.in_use.availability.has_worked(&candidate.name);
                    self.note_missing_cost(index, &candidate.name, done.usage.as_ref())?;
                    return Ok(done);
                }
            }
        }
    }

    /// Somebody who can work, as soon as there is one. It is asked for before a prompt is made: what hooks
    /// say while the session waits belongs into that.
    pub(super) async fn available(&mut self, index: usize) -> Result<Candidate, Leave> {
        self.check_cost(index)?;
        loop {
            let candidates = &self.plan.stages[index].agents;
            let names: Vec<&str> =
                candidates.iter().map(|candidate| candidate.name.as_str()).collect();
            match self.in_use.availability.choose(&names, self.now()) {
                Choice::Ask(place) => {
                    let chosen = candidates[place].clone();
                    self.tell_change(index, &chosen.name)?;
                    return Ok(chosen);
                }
                Choice::Wait { until, cause, reason } => self.pause(until, cause, reason).await?,
                Choice::GiveUp { cause, reason } => return Err(Leave::Paused { cause, reason }),
            }
        }
    }

    fn tell_change(&mut self, index: usize, to: &str) -> Result<(), Leave> {
        let before = self.in_use.at_work.replace(to.to_owned());
        let candidates = &self.plan.stages[index].agents;
        let Some(from) = before.filter(|from| {
            from != to && candidates.iter().any(|candidate| candidate.name == *from)
        }) else {
            return Ok(());
        };
        let reason = self
            .in_use
            .availability
            .reason(&from)
            .map_or_else(|| format!("{to} may be asked again"), str::to_owned);
        let to = to.to_owned();
        Ok(self.write(vec![RunEventKind::AgentChanged { from, to, reason }])?)
    }

    /// Waits, with nothing running meanwhile.
    async fn pause(&mut self, until: i64, cause: PauseCause, reason: String) -> Result<(), Leave> {
        self.write(vec![RunEventKind::Paused { cause, reason, until: Some(time(until)) }])?;
        let since = Instant::now();
        loop {
            let left = u64::try_from(until - self.now()).unwrap_or(0);
            if left == 0 {
                break;
            }
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(left).min(PAUSE_LOOK)) => {}
                () = self.interrupt.cancelled() => return Err(Leave::Interrupted),
            }
        }
        self.in_use.has_paused(since);
        Ok(self.write(vec![RunEventKind::Continued {}])?)
    }

    /// Records the beginning, then lets this agent work.
    async fn attempt(
        &mut self,
        index: usize,
        candidate: &Candidate,
        attempt: Attempt<'_>,
    ) -> Result<Attempted, Leave> {
        let Attempt { of, folder, name, prompt, event, left } = attempt;
        let past = self.history.turns.entry(name.clone()).or_default();
        past.attempts += 1;
        let attempt = past.attempts;
        let run_id = self.new_run_id();
        let at = self.iteration_at(index, of);
        let shown_prompt = self.keep_prompt(folder, at, name, prompt)?;
        self.write(vec![RunEventKind::TurnStarting {
            turn: name.clone(),
            attempt,
            run_id: run_id.clone(),
            agent: self.is_worth_naming(index, candidate).then(|| candidate.name.clone()),
        }])?;
        match name.iteration {
            0 => self.pending.drain_raw(),
            _ => drop(self.pending.drain()),
        }
        let told = RunEventKind::AgentPrompted { turn: name.clone(), prompt: shown_prompt };
        self.show(&self.event(told));
        let at = self.iteration_at(index, of);
        let mut environment = self.agent_environment(event, at, attempt);
        environment.set("HOOKWRIGHT_AGENT", candidate.name.clone());
        let _left_out = self.place_left_out(&mut environment)?;
        let turn = Turn {
            prompt: prompt.to_vec(),
            shared_env: Arc::clone(self.environment.for_agents()),
            env: environment.strings,
            working_dir: self.agent_dir.clone(),
            stage: self.plan.stages[index].name.clone(),
            iteration: name.iteration,
            is_final_delivery: name.iteration == 0 || self.history.is_final_delivery(name),
            attempt,
            status_file: self.folder.status(at),
            timeout: left.unwrap_or(TURN_TIMEOUT).min(TURN_TIMEOUT),
            run_id,
        };
        let events = self.fired_in_turn(index, name, attempt, event);
        faults::point("turn starts");
        let mut watching = Watching::new(self);
        let ports = TurnPorts { watch: &mut watching, events: &events, cancel: &events.cancel };
        let ended = candidate.agent.run(&turn, ports).await;
        let said = watching.finish();
        let folder = self.keep_said(self.iteration_at(index, of), name, &said)?;
        faults::point("turn ended");
        if let Some(reason) = events.aborted() {
            return Err(Leave::Aborted(reason.to_owned()));
        }
        if matches!(ended.outcome, Outcome::Interrupted { .. }) || self.interrupt.is_cancelled() {
            return Err(Leave::Interrupted);
        }
        match self.journal.failure() {
            Some(error) => Err(error.into()),
            None => Ok(Attempted { ended, folder }),
        }
    }

    /// Keeps what an agent is about to be told, for people. Returns what is to be shown of it.
    fn keep_prompt(
        &self,
        folder: Option<OpenIteration>,
        at: IterationAt<'_>,
        name: &TurnName,
        prompt: &[String],
    ) -> Result<String, Leave> {
        let prompt = kept_prompt(&self.secrets.hide(&joined(prompt)));
        let folder = folder.map_or_else(|| self.folder.make_iteration(at), Ok);
        let kept = folder.and_then(|folder| folder.keep_prompt(kind(name), &prompt));
        self.note_unkept(kept.as_ref().err())?;
        Ok(prompt)
    }

    /// Keeps what an agent said, for people. Returns the folder of its iteration.
    fn keep_said(
        &self,
        at: IterationAt<'_>,
        name: &TurnName,
        said: &str,
    ) -> Result<Result<OpenIteration, FolderError>, Leave> {
        let folder = self.folder.make_iteration(at);
        match &folder {
            Ok(folder) => self.note_unkept(folder.keep_said(kind(name), said).as_ref().err())?,
            Err(error) => self.note_unkept(Some(error))?,
        }
        Ok(folder)
    }

    /// A session goes on without files that only people read.
    fn note_unkept(&self, error: Option<&FolderError>) -> Result<(), Leave> {
        let Some(error) = error else { return Ok(()) };
        let note = format!("what is said in this turn cannot be kept: {error}");
        Ok(self.write(vec![RunEventKind::Noted { note }])?)
    }

    /// What came of a turn, for which the agent had the files of this iteration.
    fn done(&self, index: usize, candidate: &Candidate, attempted: Attempted) -> Done {
        let Attempted { ended, folder } = attempted;
        let (folder, status) = match folder {
            Ok(folder) => {
                let status = folder.read_status();
                (Some(folder), status)
            }
            Err(error) => (None, StatusFile::unreadable(&error)),
        };
        let (session, usage) = match (&ended.said, status.read()) {
            (Some(said), _) => (said.session.clone(), said.usage.map(Usage::believable)),
            (None, Some(status)) => (status.agent_session.clone(), status.usage),
            (None, None) => (None, None),
        };
        let is_question = self.is_worth_naming(index, candidate)
            || self.in_use.availability.reason(&candidate.name).is_some()
            || session.is_some()
            || usage.is_some();
        let agent_session = session.map(|session| self.secrets.hide(&session).into_owned());
        let agent = is_question.then(|| candidate.name.clone());
        Done { ended, status, folder, agent, agent_session, usage }
    }

    /// Whether it says something who works.
    fn is_worth_naming(&self, index: usize, candidate: &Candidate) -> bool {
        candidate.is_named || self.plan.stages[index].agents.len() > 1
    }

    /// Why the turn was not done at all, if it was not.
    fn given_up(&self, ended: &TurnEnd, status: Option<&Status>) -> Option<GivenUp> {
        let now = self.now();
        let hide = |text: &str| self.secrets.hide(text).into_owned();
        if let Some(said) = &ended.said {
            let failure = said.failure.as_ref()?;
            let until = failure.resets.map(|reset| match reset {
                Reset::At(second) => second.saturating_mul(1000),
                Reset::After(wait) => later(now, wait),
            });
            let (cause, reason) = (failure.cause, hide(&failure.reason));
            return Some(GivenUp { cause, reason, until }.within(now, PAUSE_MAX));
        }
        // Whoever has worked is not asked to do it again.
        let status = status.filter(|status| status.decision == Decision::Error)?;
        let cause = status.failure?;
        let reason = [&status.reason, &status.summary].into_iter().find(|said| !said.is_empty());
        let reason = reason.map_or_else(|| cause.as_str().to_owned(), |said| hide(said));
        let until = status.resets_at.or(status.retry_after.map(|wait| later(now, wait)));
        Some(GivenUp { cause, reason, until }.within(now, PAUSE_MAX))
    }

    /// Whether the turn is another one's now, or is done again later. A crash is a failed iteration, and
    /// so is it when nobody is let in: no wait fixes that, and hooks should hear of it.
    fn gives_way(&mut self, index: usize, candidate: &Candidate, given_up: &GivenUp) -> bool {
        let GivenUp { cause, reason, until } = given_up;
        if *cause == FailureCause::Crash {
            return false;
        }
        let now = self.now();
        let AgentsInUse { availability, .. } = &mut self.in_use;
        availability.refuse(&candidate.name, *cause, reason, *until, now);
        let candidates = &self.plan.stages[index].agents;
        let names: Vec<&str> = candidates.iter().map(|candidate| candidate.name.as_str()).collect();
        let is_hopeless = availability.all_are_shut_out(&names);
        if is_hopeless {
            names.iter().for_each(|name| availability.has_worked(name));
        }
        !is_hopeless
    }

    fn write_given_up(
        &mut self,
        name: &TurnName,
        candidate: &Candidate,
        done: &Done,
        given_up: GivenUp,
    ) -> Result<(), Leave> {
        Ok(self.write(vec![RunEventKind::TurnGivenUp {
            turn: name.clone(),
            attempt: self.attempt_of(name),
            agent: candidate.name.clone(),
            cause: given_up.cause,
            reason: given_up.reason,
            until: given_up.until.map(time),
            agent_session: done.agent_session.clone(),
            usage: done.usage,
            duration_ms: done.ended.took.as_secs_f64() * 1000.0,
        }])?)
    }

    /// Milliseconds since 1970.
    fn now(&self) -> i64 {
        milliseconds(&self.clock.now()).unwrap_or_default()
    }

    pub(super) fn attempt_of(&self, name: &TurnName) -> u32 {
        self.history.turns.get(name).map_or(1, |past| past.attempts)
    }

    /// What an agent's end means, in words; `None` if it did what it should.
    pub(super) fn failure_in_words(&self, ended: &TurnEnd) -> Option<String> {
        let said = ended.said.as_ref().and_then(|said| said.failure.as_ref());
        let words = match (&ended.outcome, said) {
            (Outcome::Exited { .. }, Some(failure)) => failure.reason.clone(),
            (outcome, _) => super::turn::failure_of("the agent", outcome)?,
        };
        Some(self.secrets.hide(&words).into_owned())
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
