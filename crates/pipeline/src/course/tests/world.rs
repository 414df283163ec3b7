//! [`World`]: answers the steps of a course from a script, and writes the journal that a driver
//! would.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use hookwright_events::{
    Decision, Event, EventName, FiringEvent, FiringKey, ItemState, RunEvent, RunEventKind,
    SessionEvent, TaskState, TurnEvent, TurnName, TurnResult, Verdict, WorkItem, WorkSource,
};

use super::super::way::{SessionBounds, StageBounds};
use super::super::{Course, Decided, EarlyEnd, GivenUp, Happening, Measured, Step};
use crate::history::History;
use crate::pending_output::Last;
use crate::plan::{Reason, Until};
use crate::queue::Queue;

/// The answers to the steps of a course.
#[derive(Clone, Default)]
pub(super) struct World {
    /// The results of turns, by iteration (from 1) of the first stage; by default they continue.
    results: HashMap<u32, TurnResult>,
    /// The decisions of hooks, by key; by default everything proceeds.
    decisions: HashMap<String, Decision>,
    /// How each attempt ends, in order; by default it works.
    attempts: VecDeque<Option<GivenUp>>,
    /// The items in the queue.
    items: VecDeque<&'static str>,
    /// The output of the queue's command, if it is one.
    lines: Option<Vec<&'static str>>,
    /// What was left to other sessions when a work item was last taken.
    pub(super) put_back: Vec<String>,
    source: Option<WorkSource>,
    /// Work items that another session has taken.
    lost: Vec<&'static str>,
    /// The states that agents give tasks.
    tasks: HashMap<String, TaskState>,
    /// Why tasks are refused.
    refused: HashMap<String, String>,
    /// How long each turn takes.
    turn_takes: Duration,
    cost_of_turn: f64,
    /// What hooks report, by the key of the firing that reports it.
    reports: HashMap<String, Last>,
    /// The step at which the session ends early.
    leaves: Option<(String, EarlyEnd)>,
    measured: Measured,
    turn: Option<TurnName>,
    /// The stage, the execution and the key of the work item.
    place: (u32, u32),
    item: String,
    firings: u64,
    pub(super) journal: Vec<RunEvent>,
}

/// The limits of a loop with this number of iterations.
pub(super) fn fixed(iterations: u32) -> StageBounds {
    StageBounds {
        name: "loop".into(),
        until: Until::Fixed,
        iterations_max: iterations,
        at_the_latest: Reason::Completed,
        hard_max: None,
        max_runtime: None,
        max_cost: None,
        delay: Duration::ZERO,
        agents: vec!["one".into()],
    }
}

pub(super) fn judgment(consensus: u32, min_iterations: u32, most: u32) -> StageBounds {
    let until = Until::Judgment { consensus, min_iterations };
    StageBounds { until, at_the_latest: Reason::MaxIterations, ..fixed(most) }
}

pub(super) fn queue(per_item: u32, most: u32) -> StageBounds {
    let until = Until::Queue { queue: Queue::Tasks, per_item };
    StageBounds { until, at_the_latest: Reason::MaxIterations, ..fixed(most) }
}

pub(super) fn failed(error: &str) -> TurnResult {
    TurnResult { decision: "error".into(), error: Some(error.into()), ..TurnResult::default() }
}

pub(super) fn decides(decision: &str) -> TurnResult {
    TurnResult { decision: decision.into(), ..TurnResult::default() }
}

pub(super) fn blocks(reason: &str) -> Decision {
    verdict(Verdict::Block { reason: reason.into() })
}

pub(super) fn aborts(reason: &str) -> Decision {
    verdict(Verdict::Abort { reason: reason.into() })
}

pub(super) fn verdict(verdict: Verdict) -> Decision {
    Decision { verdict, ..Decision::default() }
}

pub(super) fn answers() -> Decision {
    Decision { survives_error: true, ..Decision::default() }
}

impl World {
    pub(super) fn turn(mut self, iteration: u32, result: TurnResult) -> Self {
        self.results.insert(iteration, result);
        self
    }

    pub(super) fn hooks(mut self, key: &str, decision: Decision) -> Self {
        self.decisions.insert(key.into(), decision);
        self
    }

    pub(super) fn attempts(mut self, all: impl IntoIterator<Item = Option<GivenUp>>) -> Self {
        self.attempts = all.into_iter().collect();
        self
    }

    pub(super) fn items(mut self, source: WorkSource, all: &[&'static str]) -> Self {
        (self.items, self.source) = (all.iter().copied().collect(), Some(source));
        self
    }

    /// Work items that an earlier process has taken are no longer in the queue.
    pub(super) fn skip_items(&mut self, taken: usize) {
        self.items.drain(..taken);
    }

    /// The queue is a command that always prints these.
    pub(super) fn prints(mut self, lines: &[&'static str]) -> Self {
        self.lines = Some(lines.to_vec());
        self
    }

    pub(super) fn lost(mut self, item: &'static str) -> Self {
        self.lost.push(item);
        self
    }

    pub(super) fn task(mut self, task: &str, state: TaskState) -> Self {
        self.tasks.insert(task.into(), state);
        self
    }

    pub(super) fn refuses(mut self, task: &str, reason: &str) -> Self {
        self.refused.insert(task.into(), reason.into());
        self
    }

    pub(super) fn turns_take(mut self, seconds: u64) -> Self {
        self.turn_takes = Duration::from_secs(seconds);
        self
    }

    pub(super) fn turns_cost(mut self, dollars: f64) -> Self {
        self.cost_of_turn = dollars;
        self
    }

    pub(super) fn reports(mut self, key: &str, last: Last) -> Self {
        self.reports.insert(key.into(), last);
        self
    }

    pub(super) fn leaves(mut self, at: &str, leave: EarlyEnd) -> Self {
        self.leaves = Some((at.into(), leave));
        self
    }

    /// The steps of a session with these stages, without those that every turn has.
    pub(super) fn steps<const N: usize>(&mut self, stages: [StageBounds; N]) -> Vec<String> {
        self.steps_behind(stages, None, History::default())
    }

    pub(super) fn steps_behind<const N: usize>(
        &mut self,
        stages: [StageBounds; N],
        max_cost: Option<f64>,
        history: History,
    ) -> Vec<String> {
        self.firings = history.firings;
        self.measured.time = "2026-01-02T03:04:05.000Z".into();
        let bounds = SessionBounds { stages: stages.into(), max_cost };
        let mut course = Course::within(bounds, history);
        let mut happening = Happening::Done;
        let mut steps = Vec::new();
        while steps.len() < 1000 {
            let step = course.advance(self.measured.clone(), happening);
            if let Step::Finished { .. } = step {
                return steps;
            }
            let position = course.position();
            self.place = position.place();
            self.item = position.item.as_ref().map_or(String::new(), |item| item.key.clone());
            steps.extend(in_words(&step).map(|words| words.replace(THE_ITEM, &self.item)));
            happening = self.answer(step);
        }
        panic!("it goes on for ever: {steps:?}")
    }

    fn answer(&mut self, step: Step) -> Happening {
        let words = in_words(&step).map(|words| words.replace(THE_ITEM, &self.item));
        if let Some((_, leave)) = self.leaves.take_if(|(at, _)| words.as_ref() == Some(at)) {
            return Happening::Left(leave);
        }
        match step {
            Step::Begin | Step::Resume(_) => {
                let (tasks, with) = (Vec::new(), Vec::new());
                return Happening::Ready { tasks, with, aborted_by_task: None };
            }
            Step::Write(kind) => self.write(0, kind),
            Step::Fire(fire) => return self.fire(&fire.key, fire.with),
            Step::Pause { until, .. } => {
                let time = jiff::Timestamp::from_millisecond(until).expect("a time");
                self.measured.time = format!("{time:.3}");
            }
            Step::PrepareTurn(task) => self.turn = Some(task.name),
            Step::Attempt(attempt) => {
                let turn = self.turn.clone().expect("it was prepared");
                let (attempt, run_id) = (attempt.number, "run".to_owned());
                self.write(
                    0,
                    RunEventKind::Turn(TurnEvent::TurnStarting {
                        turn,
                        attempt,
                        run_id,
                        agent: None,
                    }),
                );
                let given_up = self.attempts.pop_front().flatten();
                self.measured.has_output = false;
                self.measured.last_output = Last::Nothing;
                return Happening::Attempted { given_up, usage: None };
            }
            Step::EndTurn => return self.end_turn(),
            Step::TakeItem { put_back, unless } => {
                if let Some(lines) = &self.lines {
                    return Happening::Lines(lines.iter().map(ToString::to_string).collect());
                }
                self.put_back = put_back.iter().cloned().collect();
                return match (self.items.pop_front(), unless) {
                    (Some(_), Some(leave)) => Happening::Left(leave),
                    (key, _) => Happening::Item(key.map(|key| self.item(key))),
                };
            }
            Step::RetakeItem(item) => {
                return Happening::Retaken(!self.lost.contains(&item.key.as_str()));
            }
            Step::LookAtTask(task) => {
                let state = self.tasks.get(&task.to_string()).copied();
                let state = state.unwrap_or(TaskState::InProgress);
                return Happening::TaskSeen { state, is_ours: state == TaskState::InProgress };
            }
            Step::CompleteTask { task, .. } => {
                let refused = self.refused.get(&task.to_string()).cloned();
                return Happening::TaskAsked { refused, aborted_by_task: None };
            }
            Step::EndItem { state, reason, iterations } => {
                let (stage, execution) = self.place;
                let (key, duration_ms) = (self.item.clone(), 1.0);
                self.write(
                    0,
                    RunEventKind::Session(SessionEvent::ItemEnded {
                        stage,
                        execution,
                        key,
                        state,
                        reason: reason.clone(),
                        iterations,
                        duration_ms,
                    }),
                );
                return Happening::ItemEnded { state, reason };
            }
            Step::LookForAbort => return Happening::TaskAborted(None),
            Step::Settle | Step::Cut => return Happening::Settled(Vec::new()),
            Step::End { status, reason } => {
                self.write(0, RunEventKind::Session(SessionEvent::SessionEnded { status, reason }));
            }
            Step::Tell(_) => self.measured.has_output = true,
            Step::PassGate
            | Step::Wait(_)
            | Step::GiveTurnUp(_)
            | Step::AwaitTasks
            | Step::CloseDesk
            | Step::NoteUndelivered(_)
            | Step::InterruptAll
            | Step::Finished { .. } => {}
        }
        Happening::Done
    }

    fn fire(&mut self, key: &FiringKey, with: Vec<RunEventKind>) -> Happening {
        self.firings += 1;
        let text = key.to_string();
        for kind in with {
            self.write(0, kind);
        }
        let event = key.event().expect("it is known");
        let (subject, data, late_answers) = (None, None, Vec::new());
        let name = Some(text.clone());
        self.write(
            self.firings,
            RunEventKind::Firing(FiringEvent::Fired {
                event,
                subject,
                key: name,
                data,
                late_answers,
            }),
        );
        let decision = self.decisions.get(&text).cloned().unwrap_or_default();
        let event = Event::new(EventName::SESSION_START, serde_json::Map::new());
        let record = decision.record(&event, &[]);
        self.write(self.firings, RunEventKind::Firing(FiringEvent::Decided { decision: record }));
        if let Some(last) = self.reports.get(&text) {
            self.measured.has_output = true;
            self.measured.last_output = *last;
        }
        let is_answered = decision.survives_error || !decision.piped_output.is_empty();
        Happening::Decided(Decided {
            verdict: decision.verdict,
            is_answered,
            aborted_by_task: None,
        })
    }

    fn end_turn(&mut self) -> Happening {
        let turn = self.turn.take().expect("it was prepared");
        let result = self.results.get(&turn.iteration).cloned().unwrap_or(decides("continue"));
        self.measured.worked += self.turn_takes;
        self.measured.cost += self.cost_of_turn;
        self.measured.stage_cost += self.cost_of_turn;
        let duration_ms = self.turn_takes.as_secs_f64() * 1000.0;
        let record = RunEventKind::Turn(TurnEvent::TurnEnded {
            turn,
            attempt: 1,
            result: result.clone(),
            duration_ms,
        });
        Happening::TurnEnded { result: Box::new(result), record: Box::new(record) }
    }

    fn item(&self, key: &str) -> WorkItem {
        WorkItem {
            source: self.source.unwrap_or(WorkSource::Command),
            key: key.to_owned(),
            title: key.to_owned(),
            content: None,
            file: None,
            plan_file: None,
        }
    }

    fn write(&mut self, firing: u64, kind: RunEventKind) {
        let (at, session) = (self.measured.time.clone(), None);
        self.journal.push(RunEvent { version: 1, firing, at, session, kind });
    }
}

/// The history of these entries.
pub(super) fn history(journal: &[RunEvent]) -> History {
    let mut history = History::default();
    for (place, event) in journal.iter().enumerate() {
        history.last = place as u64 + 1;
        history.add(event.clone());
    }
    history.end_interrupted();
    history
}

/// Replaces the key of the current work item.
const THE_ITEM: &str = "@ITEM@";

/// Describes a step; `None` for steps that every turn has.
pub(super) fn in_words(step: &Step) -> Option<String> {
    Some(match step {
        Step::Write(kind) => match kind {
            RunEventKind::Session(SessionEvent::Noted { note }) => format!("note: {note}"),
            RunEventKind::Turn(TurnEvent::FinalDelivery { .. }) => "final delivery".to_owned(),
            RunEventKind::Session(SessionEvent::Paused { reason, .. }) => {
                format!("paused: {reason}")
            }
            RunEventKind::Turn(TurnEvent::TurnEnded { .. }) => "write the turn".to_owned(),
            other => format!("{other:?}"),
        },
        Step::Fire(fire) => fire.key.to_string(),
        Step::Wait(delay) => format!("wait {delay:?}"),
        Step::Pause { reason, .. } => format!("wait for {reason}"),
        Step::PrepareTurn(task) => format!("turn {}.{}", task.name.stage, task.name.iteration),
        Step::Attempt(attempt) if attempt.agent > 0 || attempt.number > 1 => {
            format!("agent {} #{}", attempt.agent, attempt.number)
        }
        Step::GiveTurnUp(given_up) => format!("given up: {}", given_up.reason),
        Step::RetakeItem(item) => format!("take {} again", item.key),
        Step::CompleteTask { task, .. } => format!("complete {task}"),
        Step::EndItem { state, reason, iterations } => {
            let reason = reason.as_deref().unwrap_or("-");
            format!("{THE_ITEM} {} after {iterations}: {reason}", in_word(*state))
        }
        Step::Tell(text) => format!("tell: {text}"),
        Step::InterruptAll => "interrupt".to_owned(),
        Step::Cut => "cut".to_owned(),
        Step::End { status, reason } => format!("{status}: {reason}"),
        Step::Begin
        | Step::Resume(_)
        | Step::Attempt(_)
        | Step::PassGate
        | Step::EndTurn
        | Step::TakeItem { .. }
        | Step::LookAtTask(_)
        | Step::AwaitTasks
        | Step::CloseDesk
        | Step::LookForAbort
        | Step::NoteUndelivered(_)
        | Step::Settle
        | Step::Finished { .. } => return None,
    })
}

fn in_word(state: ItemState) -> &'static str {
    match state {
        ItemState::Done => "done",
        ItemState::Failed => "failed",
        ItemState::Blocked => "blocked",
        ItemState::Open => "open",
    }
}
