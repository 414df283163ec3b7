//! Runs the steps of one firing and reports to dispatch what happened. It makes no choice.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use hookwright_events::{
    Answer, Decision, Event, FiringEvent, Outcome, Output, ProcessOutcome, Report, RunEvent,
    RunEventKind,
};
use tokio::sync::mpsc::{
    Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel,
};
use tokio::time::Instant;

use super::shared::Recording;
use super::{Engine, EngineState, Firing};
use crate::actions::{self, ActionNews, FiringPlace, HookAttempt};
use crate::dispatch::{Dispatch, HookHappening, HookStep};
use crate::handed_over::HandedOver;
use crate::hook::Hook;
use crate::limits::OUTPUT_CHUNKS_MAX;
use crate::past::WrittenRecords;
use crate::ports::Keepsake;

/// A firing in progress.
pub(super) struct Driver {
    shared: Arc<EngineState>,
    dispatch: Dispatch,
    event: Arc<Event>,
    firing: Firing,
    /// The name under which the engine remembers things.
    memory_of: String,
    number: u64,
    // Bounded by the running hooks: each attempt sends a few messages.
    messages: UnboundedReceiver<DriverMessage>,
    sender: UnboundedSender<DriverMessage>,
    // A hook may print faster than observers read. Output that does not fit is counted.
    output: Receiver<RunEventKind>,
    output_sender: Sender<RunEventKind>,
    decision: Option<Box<Decision>>,
    /// What an earlier process journalled of this firing.
    written: WrittenRecords,
    /// Its hooks by id, computed on first use.
    numbers: OnceLock<HashMap<String, usize>>,
    /// The marker of the attempt that is about to start, once it was recorded.
    run_id: Option<String>,
    was_interrupted: bool,
    /// The awaited actions that run now. They are part of the firing: if the host drops it, they
    /// end too.
    awaited: Vec<RunningAction>,
    /// The hooks that ended because the host dropped the firing.
    cut_off: Vec<usize>,
}

/// A running action, and the hook's number in this firing.
struct RunningAction {
    hook: usize,
    began: Instant,
    action: Pin<Box<dyn Future<Output = ()> + Send>>,
}

enum DriverMessage {
    Happened(HookHappening),
    Told(Box<RunEventKind>),
}

impl Driver {
    pub(super) fn new(
        shared: Arc<EngineState>,
        dispatch: Dispatch,
        event: &Arc<Event>,
        firing: Firing,
        memory_of: String,
        number: u64,
    ) -> Self {
        let (sender, messages) = unbounded_channel();
        let (output_sender, output) = channel(OUTPUT_CHUNKS_MAX);
        let written = firing.past.as_deref().map(WrittenRecords::from_past).unwrap_or_default();
        Self {
            written,
            numbers: OnceLock::new(),
            run_id: None,
            shared,
            dispatch,
            event: Arc::clone(event),
            firing,
            memory_of,
            number,
            messages,
            sender,
            output,
            output_sender,
            decision: None,
            was_interrupted: false,
            awaited: Vec::new(),
            cut_off: Vec::new(),
        }
    }

    /// Fires the event and runs until its hooks have answered.
    pub(super) async fn until_decided(&mut self) -> Decision {
        self.happened(HookHappening::Fired).await;
        loop {
            if let Some(decision) = self.decision.take() {
                return *decision;
            }
            self.next_message().await;
        }
    }

    /// Runs until all hooks have ended.
    pub(super) async fn until_quiet(mut self) {
        while !self.dispatch.in_background().is_empty() {
            self.next_message().await;
            for hook in self.dispatch.take_out_of_background() {
                self.shared.background().hooks.remove(&(self.number, hook));
            }
        }
        // Messages about the last hook still have to be shown.
        while let Ok(message) = self.messages.try_recv() {
            self.receive(message).await;
        }
        self.show_output().await;
    }

    pub(super) fn reports(&self) -> Vec<Report> {
        self.dispatch.reports()
    }

    pub(super) fn shared(&self) -> &Arc<EngineState> {
        &self.shared
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The host needs no decision any more: ends the awaited hooks and starts nothing new. Observers
    /// are shown how the hooks ended. For the journal they have not: a host that resumes the firing
    /// repeats them.
    pub(super) fn abandon(&mut self) {
        if self.dispatch.is_decided() {
            return;
        }
        let running = std::mem::take(&mut self.awaited);
        let took: HashMap<usize, Duration> =
            running.iter().map(|running| (running.hook, running.began.elapsed())).collect();
        drop(running);
        self.was_interrupted = true;
        while let Ok(chunk) = self.output.try_recv() {
            self.show(chunk);
        }
        let mut steps = self.dispatch.advance(HookHappening::Interrupted);
        self.cut_off = self.dispatch.awaited();
        for hook in self.cut_off.clone() {
            let output = Output::default();
            let outcome = Outcome::Process(ProcessOutcome::Interrupted { output });
            let took = took.get(&hook).copied().unwrap_or_default();
            steps.extend(self.dispatch.advance(HookHappening::Ended { hook, outcome, took }));
        }
        for step in steps {
            if let HookStep::Record(kind) = step
                && let Some(kind) = self.completed(*kind)
            {
                self.show(kind.into());
            }
        }
    }

    /// Numbers and ids of the hooks that still run in the background.
    pub(super) fn in_background(&self) -> Vec<(usize, String)> {
        let numbers = self.dispatch.in_background().iter();
        numbers.map(|number| (*number, self.dispatch.hook(*number).id.clone())).collect()
    }

    async fn next_message(&mut self) {
        let interrupted = self.shared.interrupted.clone();
        tokio::select! {
            biased;
            // First, so that a hook that the interrupt ended does not look as if it had ended by
            // itself.
            () = interrupted.cancelled(), if !self.was_interrupted => {
                self.was_interrupted = true;
                self.happened(HookHappening::Interrupted).await;
            }
            message = self.messages.recv() => {
                let message = message.expect("the driver holds a sender itself");
                self.receive(message).await;
            }
            // Before output: a background hook that prints without end must not keep a guard
            // waiting.
            () = ended(&mut self.awaited) => {}
            chunk = self.output.recv() => {
                let chunk = chunk.expect("the driver holds a sender itself");
                let _ = self.record(vec![chunk]).await;
            }
        }
    }

    /// Shows the output so far.
    async fn show_output(&mut self) {
        // No more than is there now: another hook may print without end.
        for _ in 0..self.output.len() {
            let Ok(chunk) = self.output.try_recv() else { return };
            let _ = self.record(vec![chunk]).await;
        }
    }

    async fn receive(&mut self, message: DriverMessage) {
        match message {
            // What a dropped action still sent.
            DriverMessage::Happened(
                HookHappening::Ended { hook, .. } | HookHappening::WentAsync { hook, .. },
            ) if self.cut_off.contains(&hook) => {}
            DriverMessage::Happened(happening) => {
                match happening {
                    HookHappening::WentAsync { hook, .. } => self.detach(hook),
                    // A hook's output is shown before its end.
                    HookHappening::Ended { .. } => self.show_output().await,
                    HookHappening::Fired
                    | HookHappening::TimeToRetry { .. }
                    | HookHappening::Interrupted => {}
                }
                self.happened(happening).await;
            }
            DriverMessage::Told(kind) => {
                // A journal error matters only before an effect; this one has happened.
                let _ = self.record(vec![*kind]).await;
            }
        }
    }

    /// Lets an action that moved to the background run without the firing.
    fn detach(&mut self, hook: usize) {
        if let Some(at) = self.awaited.iter().position(|running| running.hook == hook) {
            tokio::spawn(self.awaited.swap_remove(at).action);
        }
    }

    async fn happened(&mut self, happening: HookHappening) {
        let mut unwritten = Unwritten::default();
        if happening == HookHappening::Fired {
            unwritten.kinds = std::mem::take(&mut self.firing.with);
        }
        for step in self.dispatch.advance(happening) {
            match step {
                HookStep::Record(kind) => {
                    unwritten.kinds.extend(self.completed(*kind).map(Into::into))
                }
                HookStep::Remember(keepsake) => {
                    let keeps = self.shared.ports.journal.keeps_memory();
                    let kind = keeps.then(|| as_record(&keepsake)).flatten();
                    let is_written = kind.as_ref().is_some_and(|kind| self.written.take(kind));
                    unwritten.kinds.extend(kind.filter(|_| !is_written).map(Into::into));
                    // A decided firing has already remembered this, and it may be outdated since.
                    let is_decided =
                        self.firing.past.as_ref().is_some_and(|past| past.is_decided());
                    if !(is_written && is_decided) {
                        unwritten.keepsakes.push(keepsake);
                    }
                }
                HookStep::Start { hook, attempt } => {
                    let refused = self.write(&mut unwritten, Recording::Now).await.err();
                    self.start(hook, attempt, refused);
                }
                HookStep::HandOver { hook } => {
                    // A hook whose start cannot be journalled does not start, here or elsewhere.
                    if self.write(&mut unwritten, Recording::Now).await.is_ok() {
                        self.hand_over(hook);
                    }
                }
                HookStep::Sleep { hook, delay } => self.sleep(hook, delay),
                HookStep::Finished(decision) => self.decision = Some(decision),
            }
        }
        let is_quiet = self.decision.as_deref() == Some(&Decision::default());
        if self.firing.skips_unheard && is_quiet && self.dispatch.hooks().is_empty() {
            unwritten.forget_unheard();
        }
        let is_over = self.decision.is_some() && self.dispatch.in_background().is_empty();
        let recording = match self.firing.ends_with_next && is_over {
            true => Recording::WithNext,
            false => Recording::Now,
        };
        // A journal error matters only before an effect; this one has happened.
        let _ = self.write(&mut unwritten, recording).await;
    }

    /// The record for the journal; `None` if the journal has it already.
    fn completed(&mut self, mut kind: FiringEvent) -> Option<FiringEvent> {
        if self.written.take(&kind) {
            // Observers of this process have not seen the firing begin.
            if let FiringEvent::Fired { event, subject, .. } = kind {
                self.show(FiringEvent::TakenUp { event, subject }.into());
            }
            return None;
        }
        let keeps = self.shared.ports.journal.keeps();
        match &mut kind {
            FiringEvent::Fired { key, data, .. } if keeps => {
                *key = self.firing.key.clone();
                let is_read = !self.dispatch.hooks().is_empty() || !self.firing.remakes_data;
                *data = is_read.then(|| self.event.data.clone());
            }
            FiringEvent::HookStarting { hook, attempt, run_id, digest, .. } if keeps => {
                *attempt += self.firing.past.as_ref().map_or(0, |past| past.cut_off(hook));
                *run_id = Some(self.shared.new_run_id());
                self.run_id.clone_from(run_id);
                let number =
                    self.numbers.get_or_init(|| numbers_of(self.dispatch.hooks())).get(hook);
                *digest = number.map(|number| self.dispatch.hooks()[*number].digest());
            }
            FiringEvent::HookEnded { hook, attempt, .. }
            | FiringEvent::HookRetrying { hook, attempt, .. } => {
                *attempt += self.firing.past.as_ref().map_or(0, |past| past.cut_off(hook));
            }
            _ => {}
        }
        Some(kind)
    }

    /// Journals what is pending, and only then remembers it.
    async fn write(
        &mut self,
        unwritten: &mut Unwritten,
        recording: Recording,
    ) -> std::io::Result<()> {
        let Unwritten { kinds, keepsakes } = std::mem::take(unwritten);
        let session = Some(self.memory_of.as_str()).filter(|name| !name.is_empty());
        let recorded = self.shared.record(self.number, session, kinds, recording);
        let written = while_they_run(recorded, &mut self.awaited).await;
        for keepsake in keepsakes {
            // A hook whose start cannot be journalled will not start, and has not run.
            if written.is_ok() || !matches!(keepsake, Keepsake::Once { .. }) {
                self.shared.ports.memory.keep(&self.memory_of, keepsake).await;
            }
        }
        written
    }

    async fn record(&mut self, kinds: Vec<RunEventKind>) -> std::io::Result<()> {
        self.shared.record(self.number, self.session(), kinds, Recording::Now).await
    }

    /// Shows an event that is not journalled.
    fn show(&self, kind: RunEventKind) {
        self.shared.show(&[RunEvent {
            version: hookwright_events::run_event::VERSION,
            firing: self.number,
            at: self.shared.ports.clock.now(),
            session: self.session().map(str::to_owned),
            kind,
        }]);
    }

    fn session(&self) -> Option<&str> {
        Some(self.memory_of.as_str()).filter(|name| !name.is_empty())
    }

    fn start(&mut self, hook: usize, attempt: u32, refused: Option<std::io::Error>) {
        let mut ending = AttemptEnd { hook, sender: self.sender.clone(), sent: false };
        if let Some(error) = refused {
            let cause = format!("its start could not be recorded in the journal: {error}");
            return ending
                .send(Outcome::Process(ProcessOutcome::NotStarted { cause }), Duration::ZERO);
        }
        let id = &self.dispatch.hook(hook).id;
        let past = self.firing.past.as_ref();
        if let Some((outcome, took)) = past.and_then(|past| past.ended(id, attempt)) {
            if let Some(answer) = past.and_then(|past| past.went_async(id)) {
                let _ = self
                    .sender
                    .send(DriverMessage::Happened(HookHappening::WentAsync { hook, answer }));
            }
            return ending.send(outcome, took);
        }
        let cut_off = past.and_then(|past| past.cut_off_run(id, attempt));
        let attempt = attempt + past.map_or(0, |past| past.cut_off(id));
        let attempt = HookAttempt {
            cut_off,
            hook: Arc::clone(self.dispatch.hook(hook)),
            event: Arc::clone(&self.event),
            carried: self.dispatch.carried().clone(),
            number: attempt,
            terms: self.dispatch.terms(hook),
            power: self.dispatch.power(),
            policy: self.dispatch.policy(hook),
            chain: self.firing.chain.clone(),
            place: self.place(),
            try_number: self.dispatch.attempts(hook),
            waits: Arc::clone(&self.shared.ports.waits),
            pipelines: Arc::clone(&self.shared.ports.pipelines),
            no_approver: self.firing.no_approver,
            run_id: self.run_id.take().unwrap_or_else(|| self.shared.new_run_id()),
            surroundings: Arc::clone(&self.shared.surroundings),
            // An attempt ends, and the engine holds none, so this reference is no leak.
            engine: Engine { shared: Arc::clone(&self.shared) },
            cancel: self.shared.interrupted.clone(),
        };
        let mut news = Reporter {
            hook,
            sender: self.sender.clone(),
            output: self.shared.output_is_watched().then(|| self.output_sender.clone()),
            #[cfg(feature = "http")]
            is_watched: self.shared.is_watched(),
            wants_processes: self.shared.processes_are_watched(),
            left_out: 0,
        };
        let is_awaited = attempt.terms.awaited;
        if let Some(answer) = past.and_then(|past| past.went_async(id)) {
            // The hook is already in the background, so the answer to this changes nothing.
            let _ = self
                .sender
                .send(DriverMessage::Happened(HookHappening::WentAsync { hook, answer }));
        }
        let action = async move {
            let (outcome, took) = actions::run(attempt, &mut news).await;
            ending.send(outcome, took);
        };
        if is_awaited {
            let (began, action) = (Instant::now(), Box::pin(action));
            self.awaited.push(RunningAction { hook, began, action });
        } else {
            tokio::spawn(action);
        }
    }

    fn place(&self) -> FiringPlace {
        let firing = &self.firing;
        FiringPlace {
            session: self.memory_of.clone(),
            number: self.number,
            firing: firing.within.clone().unwrap_or_else(|| self.number.to_string()),
            is_kept: firing.within.is_some() || firing.key.is_some() || firing.past.is_some(),
            engine: self.shared.name,
        }
    }

    fn hand_over(&self, hook: usize) {
        let hook = self.dispatch.hook(hook);
        self.shared.hand_over(HandedOver {
            event: Event::clone(&self.event),
            hook: hook.key(),
            digest: hook.digest(),
            carried: self.dispatch.carried().clone(),
            session: self.memory_of.clone(),
            firing: self.number,
            chain: self.firing.chain.clone(),
            no_approver: self.firing.no_approver,
        });
    }

    fn sleep(&self, hook: usize, delay: Duration) {
        let sender = self.sender.clone();
        let (id, next) = (&self.dispatch.hook(hook).id, self.dispatch.attempts(hook) + 1);
        let has_ended = self.firing.past.as_ref().and_then(|past| past.ended(id, next)).is_some();
        if has_ended {
            // Another process has waited before the next attempt.
            let woken = HookHappening::TimeToRetry { hook, slept: delay };
            let _ = sender.send(DriverMessage::Happened(woken));
            return;
        }
        tokio::spawn(async move {
            let begun = tokio::time::Instant::now();
            tokio::time::sleep(delay).await;
            let woken = HookHappening::TimeToRetry { hook, slept: begun.elapsed() };
            let _ = sender.send(DriverMessage::Happened(woken));
        });
    }
}

/// The hooks of a firing by id; of several with one id, the first.
fn numbers_of(hooks: &[Arc<Hook>]) -> HashMap<String, usize> {
    let numbered = hooks.iter().enumerate().rev();
    numbered.map(|(number, hook)| (hook.id.clone(), number)).collect()
}

/// What has happened and is not yet journalled.
#[derive(Default)]
struct Unwritten {
    kinds: Vec<RunEventKind>,
    keepsakes: Vec<Keepsake>,
}

impl Unwritten {
    /// Drops the records of a firing that no hook heard, unless something else belongs to them.
    fn forget_unheard(&mut self) {
        let is_of_firing = |kind: &RunEventKind| {
            matches!(
                kind,
                RunEventKind::Firing(FiringEvent::Fired { .. } | FiringEvent::Decided { .. })
            )
        };
        if self.kinds.iter().all(is_of_firing) {
            self.kinds.clear();
        }
    }
}

fn as_record(keepsake: &Keepsake) -> Option<FiringEvent> {
    Some(FiringEvent::Remembered { what: serde_json::to_value(keepsake).ok()? })
}

/// Waits for a journal that may be slow. The awaited actions go on meanwhile, with their timeouts.
async fn while_they_run<T>(
    recorded: impl Future<Output = T>,
    awaited: &mut Vec<RunningAction>,
) -> T {
    let mut recorded = std::pin::pin!(recorded);
    loop {
        tokio::select! {
            biased;
            written = &mut recorded => return written,
            () = ended(awaited) => {}
        }
    }
}

/// Polls the awaited actions until one has ended; pending forever if there is none. A panic ends
/// only the action: its `AttemptEnd` reports it.
async fn ended(awaited: &mut Vec<RunningAction>) {
    std::future::poll_fn(|context| {
        for at in 0..awaited.len() {
            let action = awaited[at].action.as_mut();
            let polled = catch_unwind(AssertUnwindSafe(|| action.poll(context)));
            if !matches!(polled, Ok(Poll::Pending)) {
                awaited.swap_remove(at);
                return Poll::Ready(());
            }
        }
        Poll::Pending
    })
    .await;
}

/// Reports how an attempt ended, even if the action panicked or was dropped, so that the driver
/// never waits forever.
struct AttemptEnd {
    hook: usize,
    sender: UnboundedSender<DriverMessage>,
    sent: bool,
}

impl AttemptEnd {
    fn send(&mut self, outcome: Outcome, took: Duration) {
        self.sent = true;
        let ended = HookHappening::Ended { hook: self.hook, outcome, took };
        // The receiver is gone only if the host dropped the firing.
        let _ = self.sender.send(DriverMessage::Happened(ended));
    }
}

impl Drop for AttemptEnd {
    fn drop(&mut self) {
        if !self.sent {
            let cause = "it was abandoned before it ended".to_owned();
            self.send(Outcome::Process(ProcessOutcome::NotStarted { cause }), Duration::ZERO);
        }
    }
}

struct Reporter {
    hook: usize,
    sender: UnboundedSender<DriverMessage>,
    output: Option<Sender<RunEventKind>>,
    #[cfg(feature = "http")]
    is_watched: bool,
    wants_processes: bool,
    /// Bytes of output dropped since the last line that fit.
    left_out: u64,
}

impl ActionNews for Reporter {
    fn went_async(&mut self, answer: Option<Box<Answer>>) {
        let happening = HookHappening::WentAsync { hook: self.hook, answer };
        let _ = self.sender.send(DriverMessage::Happened(happening));
    }

    #[cfg(feature = "http")]
    fn is_watched(&self) -> bool {
        self.is_watched
    }

    fn wants_processes(&self) -> bool {
        self.wants_processes
    }

    fn report(&mut self, kind: RunEventKind) {
        let _ = self.sender.send(DriverMessage::Told(Box::new(kind)));
    }

    fn wants_output(&self) -> bool {
        self.output.is_some()
    }

    fn prints(&mut self, hook: &str, stream: &'static str, text: String) {
        let Some(output) = self.output.as_ref().filter(|_| !text.is_empty()) else { return };
        let bytes = text.len() as u64;
        let left_out = self.left_out;
        let (hook, stream) = (hook.to_owned(), stream.to_owned());
        match output.try_send(RunEventKind::Firing(FiringEvent::HookOutput {
            hook,
            stream,
            text,
            left_out,
        })) {
            Ok(()) => self.left_out = 0,
            Err(_) => self.left_out += bytes,
        }
    }
}
