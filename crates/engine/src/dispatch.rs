//! Dispatch: how hooks become a decision. It makes every choice and has no IO and no clock.
//!
//! What happened goes in through [`Dispatch::advance`]; what to do next comes out as [`HookStep`]s:
//! start a hook, sleep, record, remember, finished. A resumed run is the same machine, fed with the
//! journalled outcomes.
//!
//! 1. Matching hooks run in order. Disabled, unmet, done and skipped ones are passed over with a
//!    reason.
//! 2. Awaited actions run one by one, or a whole group at once if the policy says so. Other actions
//!    start and continue in the background.
//! 3. What a hook leaves behind (`LAST_HOOK_STATUS`…) is visible to later hooks.
//! 4. The hook's terms handle a failure. A block is not a failure and is never retried.
//! 5. The first block ends the awaited hooks. Hooks that only observe still start, so that an audit
//!    log sees what was denied. An abort ends all.
//!
//! The rest is in `dispatch/`: `deciding.rs` combines the answers, `run.rs` computes what one hook
//! adds, and `going_async.rs` handles hooks that move to the background. `engine.rs` runs the
//! steps.

mod deciding;
mod going_async;
mod run;
pub(crate) mod start_check;
mod step;
mod stop;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hookwright_events::{Event, FiringEvent, Outcome, Power, ProcessOutcome, Report, Status};

use crate::chain::Chain;
use crate::dispatch::run::{Run, RunState, milliseconds};
use crate::dispatch::start_check::StartCheck;
use crate::dispatch::step::Steps;
pub(crate) use crate::dispatch::step::{HookHappening, HookStep};
pub use crate::dispatch::stop::can_block;
use crate::handed_over::Background;
use crate::hook::{Exhausted, Hook, Terms};
use crate::past::PastHook;
use crate::policy::{At, Meaning, Order, Policy};
use crate::ports::{Keepsake, Remembered};
use crate::variables::{Carried, Environment, Variables};

/// The input of one firing.
#[derive(Debug, Clone)]
pub(crate) struct DispatchInput {
    pub event: Arc<Event>,
    /// The matching hooks, in the order in which they run.
    pub hooks: Vec<Arc<Hook>>,
    /// Invalid entries that would have matched.
    pub broken: Vec<String>,
    /// Ids of hooks to skip.
    pub skip: Arc<[String]>,
    /// Keys of the hooks that started this session.
    pub started_by: Arc<[String]>,
    pub remembered: Remembered,
    pub chain: Chain,
    /// Where conditions look up names that are not built in.
    pub environment: Arc<Environment>,
    /// No person can approve anything, so a question is denied.
    pub no_approver: bool,
    /// Whether anything reads run events; if not, none are built.
    pub is_watched: bool,
    /// A random number, for what has to differ between firings.
    pub chance: u64,
    /// What each hook did before a crash; empty for a new firing.
    pub past: Vec<PastHook>,
    /// Where hooks run whose end nothing awaits.
    pub background: Background,
}

/// One firing of one event.
#[derive(Debug)]
pub(crate) struct Dispatch {
    given: DispatchInput,
    power: Power,
    runs: Vec<Run>,
    /// The numbers of the hooks that run in the background.
    in_background: BTreeSet<usize>,
    /// Those that have ended since [`Self::take_out_of_background`] was last called.
    out_of_background: Vec<usize>,
    /// For identical hooks: the one that runs.
    strictest_twins: OnceLock<HashMap<Box<str>, Option<usize>>>,
    carried: Carried,
    next: usize,
    /// Awaited hooks that run now. The decision waits for all of them.
    batch: Vec<usize>,
    ended: Option<EndedBy>,
    finished: bool,
    /// Set by an interrupt or an abort: nothing is retried.
    over: bool,
}

/// Why no further awaited hook starts.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EndedBy {
    Unreadable,
    Block(usize),
    Stop(usize),
    Abort(usize),
    Interrupt,
}

impl Dispatch {
    pub(crate) fn new(given: DispatchInput) -> Self {
        let power = given.event.name.power();
        let runs = given.hooks.iter().map(|hook| Run::new(Arc::clone(hook), power)).collect();
        let carried = given.remembered.carried.clone();
        let ended = (!given.broken.is_empty() && power.can_block()).then_some(EndedBy::Unreadable);
        Self {
            given,
            power,
            runs,
            in_background: BTreeSet::new(),
            out_of_background: Vec::new(),
            strictest_twins: OnceLock::new(),
            carried,
            next: 0,
            batch: Vec::new(),
            ended,
            finished: false,
            over: false,
        }
    }

    /// The whole of dispatch: what happened goes in, what to do next comes out.
    pub(crate) fn advance(&mut self, happening: HookHappening) -> Vec<HookStep> {
        let mut steps = Steps::new(self.given.is_watched);
        match happening {
            HookHappening::Fired => {
                let (event, given) = (&self.given.event, &self.given);
                steps.record(|| FiringEvent::Fired {
                    event: event.name.clone(),
                    subject: event.subject().map(str::to_owned),
                    key: None,
                    data: None,
                    late_answers: given.remembered.late_answers.clone(),
                });
            }
            HookHappening::Ended { hook, outcome, took } => {
                self.attempt_ended(hook, outcome, took, &mut steps);
            }
            HookHappening::WentAsync { hook, answer } => self.went_async(hook, answer, &mut steps),
            HookHappening::TimeToRetry { hook, slept } => self.try_again(hook, slept, &mut steps),
            HookHappening::Interrupted => self.interrupted(&mut steps),
        }
        self.start_next(&mut steps);
        steps.all
    }

    /// The matching hooks, by number.
    pub(crate) fn hooks(&self) -> &[Arc<Hook>] {
        &self.given.hooks
    }

    pub(crate) fn hook(&self, number: usize) -> &Arc<Hook> {
        &self.runs[number].hook
    }

    /// The terms of a hook at this event.
    pub(crate) fn terms(&self, number: usize) -> Terms {
        self.runs[number].terms
    }

    /// How many attempts of a hook were started.
    pub(crate) fn attempts(&self, number: usize) -> u32 {
        self.runs[number].attempts
    }

    pub(crate) fn policy(&self, number: usize) -> &'static Policy {
        self.runs[number].policy
    }

    pub(crate) fn is_decided(&self) -> bool {
        self.finished
    }

    pub(crate) fn power(&self) -> Power {
        self.power
    }

    /// What earlier hooks have left for the next one.
    pub(crate) fn carried(&self) -> &Carried {
        &self.carried
    }

    /// The numbers of the hooks that have started, and that the decision waits for.
    pub(crate) fn awaited(&self) -> Vec<usize> {
        let awaits = |number: &usize| self.runs[*number].state == RunState::Awaited;
        (0..self.runs.len()).filter(awaits).collect()
    }

    /// The numbers of the hooks that still run in the background.
    pub(crate) fn in_background(&self) -> &BTreeSet<usize> {
        &self.in_background
    }

    /// The numbers of the background hooks that have ended since the last call.
    pub(crate) fn take_out_of_background(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.out_of_background)
    }

    /// The reports of all matching hooks, in the order in which they ran.
    pub(crate) fn reports(&self) -> Vec<Report> {
        self.runs.iter().map(Run::report).collect()
    }

    /// Starts hooks until one has to be awaited or the decision is made.
    fn start_next(&mut self, steps: &mut Steps) {
        loop {
            if !self.batch.is_empty() {
                if self.batch.iter().any(|number| self.runs[*number].is_awaited()) {
                    return;
                }
                self.settle_batch(steps);
            }
            if self.next == self.runs.len() {
                return self.finish(steps);
            }
            let first = self.next;
            self.next = self.end_of_turn(first);
            for number in first..self.next {
                self.take_turn(number, steps);
            }
        }
    }

    /// The end of the group that runs at once; a single hook is a group of one.
    fn end_of_turn(&self, first: usize) -> usize {
        let run = &self.runs[first];
        match run.policy.order {
            Order::OneByOne => first + 1,
            Order::AtOnce => {
                let same = |other: &&Run| other.policy.dialect == run.policy.dialect;
                first + self.runs[first..].iter().take_while(same).count()
            }
        }
    }

    fn set_state(&mut self, number: usize, state: RunState) {
        self.runs[number].state = state;
        match state {
            RunState::Background | RunState::BackgroundSleep => {
                self.in_background.insert(number);
            }
            RunState::Waiting
            | RunState::Awaited
            | RunState::AwaitedSleep
            | RunState::HandedOver
            | RunState::Skipped
            | RunState::Done => {
                let was_there = self.in_background.remove(&number);
                self.out_of_background.extend(was_there.then_some(number));
            }
        }
    }

    fn take_turn(&mut self, number: usize, steps: &mut Steps) {
        let check = match self.given.past.get(number) {
            Some(PastHook::Started) => StartCheck::Runs,
            Some(PastHook::Skipped(reason, ended_by)) => {
                let (reason, ended_by) = (reason.clone(), ended_by.clone());
                return self.pass(number, reason, ended_by, steps);
            }
            Some(PastHook::Unknown) | None => match self.reason_to_pass(number) {
                Some((reason, ended_by)) => return self.pass(number, reason, ended_by, steps),
                None => self.may_start(number),
            },
        };
        let refused = match check {
            StartCheck::Runs => None,
            StartCheck::Refused(cause) => Some(cause),
            StartCheck::RefusedByChain(cause) => {
                let run = &mut self.runs[number];
                if start_check::chain_blocks(&run.hook, &self.given.event, &self.given.chain) {
                    run.terms.fail_closed();
                }
                Some(cause)
            }
            StartCheck::Passed(reason) => return self.pass(number, reason, None, steps),
        };
        let run = &self.runs[number];
        let awaited = run.terms.awaited;
        let state = match awaited {
            true => RunState::Awaited,
            false if self.given.background.hands_over(&run.hook) => RunState::HandedOver,
            false => RunState::Background,
        };
        self.set_state(number, state);
        if awaited {
            self.batch.push(number);
        }
        if let Some(cause) = refused {
            // The hook did not start, so there is nothing to await or to retry.
            let outcome = Outcome::Process(ProcessOutcome::NotStarted { cause });
            let meaning = self.read(number, &outcome);
            self.set_state(number, RunState::Done);
            self.settled(number, outcome, meaning, steps);
            return;
        }
        self.start(number, steps);
    }

    fn pass(&mut self, number: usize, reason: String, ended_by: Option<String>, steps: &mut Steps) {
        self.set_state(number, RunState::Skipped);
        let run = &mut self.runs[number];
        run.reason = Some(reason.clone());
        let hook = run.hook.id.clone();
        steps.record(|| FiringEvent::HookSkipped { hook, reason, ended_by });
    }

    /// Checks the hook's condition, then the chain and the action itself.
    fn may_start(&self, number: usize) -> StartCheck {
        let (hook, given) = (&self.runs[number].hook, &self.given);
        match start_check::condition(hook, &self.variables()) {
            StartCheck::Runs => start_check::start(hook, &given.event, &given.chain),
            other => other,
        }
    }

    fn start(&mut self, number: usize, steps: &mut Steps) {
        let run = &mut self.runs[number];
        run.attempts += 1;
        let (attempt, awaited) = (run.attempts, run.terms.awaited);
        let hook = run.hook.id.clone();
        steps.record(|| FiringEvent::HookStarting {
            hook,
            attempt,
            awaited,
            run_id: None,
            digest: None,
        });
        // After the record: if the start cannot be journalled, the hook does not start and has not
        // run.
        if run.hook.once && attempt == 1 {
            steps.push(HookStep::Remember(Keepsake::Once { hook: run.hook.key() }));
        }
        steps.push(match run.state {
            RunState::HandedOver => HookStep::HandOver { hook: number },
            _ => HookStep::Start { hook: number, attempt },
        });
    }

    /// Why a hook is passed over, and which hook ended the session, if that is why.
    fn reason_to_pass(&self, number: usize) -> Option<(String, Option<String>)> {
        let run = &self.runs[number];
        let (hook, awaited) = (&run.hook, run.terms.awaited);
        let id_of = |number: &usize| &self.runs[*number].hook.id;
        if let Some(reason) = start_check::switched_off(hook, &self.given.event, &self.given.skip) {
            return Some((reason, None));
        }
        if start_check::starts_itself(hook, &self.given.started_by, self.power) {
            return Some(("it started this session".into(), None));
        }
        if let Some(stricter) = self.stricter_twin(number) {
            return Some((format!("{} does the same and runs", id_of(&stricter)), None));
        }
        let reason = match &self.ended {
            Some(EndedBy::Abort(by)) => {
                return Some((format!("{} aborted", id_of(by)), Some(id_of(by).clone())));
            }
            Some(EndedBy::Stop(by)) if awaited => {
                return Some((format!("{} ended the session", id_of(by)), Some(id_of(by).clone())));
            }
            Some(EndedBy::Interrupt) => Some("interrupted".into()),
            Some(EndedBy::Block(by)) if awaited => Some(format!("{} blocked", id_of(by))),
            Some(EndedBy::Unreadable) if awaited => {
                Some("a hook that cannot be read blocks this event".into())
            }
            Some(EndedBy::Block(_) | EndedBy::Stop(_) | EndedBy::Unreadable) | None => {
                let has_run = hook.once && self.given.remembered.once.contains(&hook.key());
                has_run.then(|| "once: it has already run in this session".into())
            }
        };
        reason.map(|reason| (reason, None))
    }

    /// The hook that runs in place of this one: the strictest of the identical hooks, and among
    /// equals the first.
    fn stricter_twin(&self, number: usize) -> Option<usize> {
        let twin = self.runs[number].hook.twin.as_deref()?;
        let strictest = self.strictest_twins.get_or_init(|| self.find_strictest_twins());
        strictest.get(twin).copied().flatten().filter(|strictest| *strictest != number)
    }

    /// The hook that runs, by the key that makes hooks identical. Computed once a firing: otherwise
    /// each of thousands of hooks would compare itself with all others.
    fn find_strictest_twins(&self) -> HashMap<Box<str>, Option<usize>> {
        let strictness = |number: usize| {
            let terms = self.runs[number].terms;
            (terms.awaited, terms.on_failure != Exhausted::Continue)
        };
        let mut strictest: HashMap<Box<str>, Option<usize>> = HashMap::new();
        for (number, run) in self.runs.iter().enumerate() {
            let Some(twin) = run.hook.twin.clone() else { continue };
            let first = strictest.entry(twin).or_default();
            let is_on =
                start_check::switched_off(&run.hook, &self.given.event, &self.given.skip).is_none();
            if is_on && first.is_none_or(|first| strictness(number) > strictness(first)) {
                *first = Some(number);
            }
        }
        strictest
    }

    fn variables(&self) -> Variables<'_> {
        Variables {
            event: &self.given.event,
            carried: &self.carried,
            environment: &self.given.environment,
        }
    }

    fn read(&self, number: usize, outcome: &Outcome) -> Meaning {
        let run = &self.runs[number];
        let at = At {
            event: &self.given.event,
            power: self.power,
            awaited: run.terms.awaited && run.is_awaited(),
        };
        let mut meaning = run.policy.wire.meaning(outcome, at);
        meaning.answer.settle_output(at.event.text("tool_name"));
        meaning
    }

    fn attempt_ended(
        &mut self,
        number: usize,
        outcome: Outcome,
        took: Duration,
        steps: &mut Steps,
    ) {
        let meaning = self.read(number, &outcome);
        let over = self.over;
        let run = &mut self.runs[number];
        run.took += took;
        steps.record(|| FiringEvent::HookEnded {
            hook: run.hook.id.clone(),
            attempt: run.attempts,
            outcome: outcome.clone(),
            duration_ms: milliseconds(took),
        });
        let is_failure = matches!(meaning.status, Status::Failed | Status::TimedOut);
        let tries_left = run.attempts <= run.terms.retries;
        if is_failure && meaning.may_retry && tries_left && !over {
            let delay = run.delay(&outcome, self.given.chance.rotate_left(run.attempts));
            let attempt = run.attempts + 1;
            let after_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            let reason = meaning.reason.clone().unwrap_or_default();
            let state = match run.state {
                RunState::Awaited => RunState::AwaitedSleep,
                _ => RunState::BackgroundSleep,
            };
            run.last = Some((outcome, meaning));
            steps.record(|| FiringEvent::HookRetrying {
                hook: run.hook.id.clone(),
                attempt,
                after_ms,
                reason,
            });
            self.set_state(number, state);
            steps.push(HookStep::Sleep { hook: number, delay });
            return;
        }
        let was_awaited = run.is_awaited();
        self.set_state(number, RunState::Done);
        if !was_awaited {
            let reports_failure = self.runs[number].reports_failure(&meaning);
            self.late_answer(number, &meaning.answer, reports_failure, steps);
        }
        self.settled(number, outcome, meaning, steps);
    }

    fn settled(&mut self, number: usize, outcome: Outcome, meaning: Meaning, steps: &mut Steps) {
        let run = &mut self.runs[number];
        let told = meaning.clone();
        run.last = Some((outcome, meaning));
        run.reason = run.explain(&told);
        steps.record(|| FiringEvent::HookReported { report: run.report() });
    }

    fn try_again(&mut self, number: usize, slept: Duration, steps: &mut Steps) {
        let state = match self.runs[number].state {
            RunState::AwaitedSleep => RunState::Awaited,
            RunState::BackgroundSleep => RunState::Background,
            // It was interrupted while it slept.
            RunState::Waiting
            | RunState::Awaited
            | RunState::Background
            | RunState::HandedOver
            | RunState::Skipped
            | RunState::Done => return,
        };
        self.runs[number].took += slept;
        self.set_state(number, state);
        self.start(number, steps);
    }

    fn interrupted(&mut self, steps: &mut Steps) {
        if !self.finished {
            self.ended = Some(EndedBy::Interrupt);
        }
        self.end_retries(steps);
    }

    /// Disables retries. Hooks that sleep before their next attempt have failed.
    fn end_retries(&mut self, steps: &mut Steps) {
        self.over = true;
        for number in 0..self.runs.len() {
            if matches!(self.runs[number].state, RunState::AwaitedSleep | RunState::BackgroundSleep)
            {
                self.set_state(number, RunState::Done);
                if let Some((outcome, meaning)) = self.runs[number].last.take() {
                    self.settled(number, outcome, meaning, steps);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
