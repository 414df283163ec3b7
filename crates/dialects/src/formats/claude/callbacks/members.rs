//! [`Members`]: runs the functions and commands of one group, and combines their answers.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::hook::Shell;
use hookwright_engine::limits::{ASYNC_TIMEOUT, ASYNC_TIMEOUT_MAX};
use hookwright_engine::policy::{At, Wire};
use hookwright_engine::{Call as EngineCall, CallbackFailure, CancellationToken};
use hookwright_events::{Answer, AnswerDecision, Event, EventName, Outcome, Status};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::contained::CaughtPanics;
use super::{Call, TypedInput};
use crate::claude::answer::HookOutput;
use crate::claude::event::HookInput;
use crate::claude::reply::ClaudeWire;

/// One function or command, whatever its input type.
pub(super) struct Member {
    call: Box<Calling>,
}

type Answering = Pin<Box<dyn Future<Output = Result<MemberSaid, CallbackFailure>> + Send>>;
type Calling = dyn Fn(HookInput, MemberCall) -> Answering + Send + Sync;

/// A member's result.
enum MemberSaid {
    Answer(Box<Answer>),
    /// Its work continues without it.
    GoesOn,
    /// A command that exceeded its group's time limit or its own.
    TooLate,
}

/// How the group continues after a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    GoesOn,
    /// The member's work continues without it.
    WentAsync,
    TooLate,
}

/// A member's input.
struct MemberCall {
    call: EngineCall,
    cancelled: CancellationToken,
    leaving: Leaving,
    /// The end of the group's time.
    deadline: Instant,
    is_strict: bool,
}

/// Sends a member to the background, with a new time limit.
#[derive(Debug, Clone)]
pub(super) struct Leaving {
    sender: UnboundedSender<Duration>,
}

impl Leaving {
    pub(super) fn go_async(&self, time: Option<Duration>) {
        let time = time.unwrap_or(ASYNC_TIMEOUT).min(ASYNC_TIMEOUT_MAX);
        // If the receiver is gone, the member has ended or is already in the background.
        let _ = self.sender.send(time);
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Member")
    }
}

impl Member {
    pub(super) fn function<T, F, R>(function: F) -> Self
    where
        T: TypedInput,
        F: Fn(Call<T>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<HookOutput, CallbackFailure>> + Send + 'static,
    {
        let call = move |input: HookInput, told: MemberCall| -> Answering {
            let MemberCall { call, cancelled, leaving, .. } = told;
            let Some(input) = T::from_input(input) else {
                let cause = "the event's data does not have the expected types";
                return Box::pin(async move { Err(CallbackFailure::from(cause)) });
            };
            let answering =
                function(Call { input, tool_use_id: call.tool_use_id, cancelled, leaving });
            Box::pin(async move {
                Ok(match answering.await? {
                    HookOutput::Async(_) => MemberSaid::GoesOn,
                    output @ HookOutput::Sync(_) => {
                        MemberSaid::Answer(Box::new(output.into_answer()))
                    }
                })
            })
        };
        Self { call: Box::new(call) }
    }

    /// A command with the input and output of Claude Code's command hooks.
    pub(super) fn command(shell: Shell) -> Self {
        let shell = Arc::new(shell);
        let call = move |_: HookInput, told: MemberCall| -> Answering {
            let shell = Arc::clone(&shell);
            Box::pin(async move {
                let MemberCall { mut call, cancelled, leaving, deadline, is_strict } = told;
                call.cancelled = cancelled;
                let time = deadline.saturating_duration_since(Instant::now());
                // Its own first line sets its time limit.
                let went_async = || leaving.go_async(Some(ASYNC_TIMEOUT_MAX));
                let outcome = call.run(&shell, time, went_async).await;
                heard(&outcome, &call.event, is_strict)
            })
        };
        Self { call: Box::new(call) }
    }
}

/// The meaning of a command's outcome.
fn heard(outcome: &Outcome, event: &Event, is_strict: bool) -> Result<MemberSaid, CallbackFailure> {
    let at = At { event, power: event.name.power(), awaited: true };
    let meaning = ClaudeWire { is_strict }.meaning(outcome, at);
    match meaning.status {
        Status::TimedOut => Ok(MemberSaid::TooLate),
        Status::Failed => {
            Err(CallbackFailure::from(meaning.reason.unwrap_or_else(|| "it failed".to_owned())))
        }
        Status::Success | Status::Blocked | Status::Skipped | Status::Started => {
            Ok(MemberSaid::Answer(Box::new(meaning.answer)))
        }
    }
}

/// The members of one group.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) all: Vec<Member>,
    pub(super) timeout: Duration,
    pub(super) blocks_on_failure: bool,
}

/// Events at which a timeout blocks, because a tool or a prompt is waiting.
const TOO_LATE_BLOCKS: &[EventName] = &[EventName::TOOL_PRE_EXECUTE, EventName::USER_PROMPT_SUBMIT];

/// How a member ended; the outer error is a panic's message.
type MemberEnd = Result<Result<MemberSaid, CallbackFailure>, String>;

impl Members {
    /// The group's answer. If a member goes to the background, the others answer now, and its own
    /// answer comes late.
    pub(super) async fn answer(
        self: Arc<Self>,
        call: EngineCall,
    ) -> Result<Answer, CallbackFailure> {
        let mut later = Later::default();
        let gathered = self.run(&call, &mut later).await;
        if !later.went_async {
            return gathered.answer(self.blocks_on_failure);
        }
        let answer = match gathered.answer(self.blocks_on_failure) {
            Ok(answer) => answer,
            Err(failure) => Answer::deny(failure.cause()),
        };
        // Each member in the background has its own time limit.
        call.answer_now(answer, Some(ASYNC_TIMEOUT_MAX));
        later.gathered(&call.event).await.answer(false)
    }

    /// Runs the members one by one; those in the background run beside the others.
    async fn run(&self, call: &EngineCall, later: &mut Later) -> GroupAnswers {
        let deadline = Instant::now() + self.timeout;
        let input = HookInput::of_event(&call.event, "");
        let mut gathered = GroupAnswers::default();
        for member in &self.all {
            let cancelled = call.cancelled.child_token();
            let (sender, mut left) = unbounded_channel();
            let told = MemberCall {
                call: call.clone(),
                cancelled: cancelled.clone(),
                leaving: Leaving { sender },
                deadline,
                is_strict: self.blocks_on_failure,
            };
            let mut running = match CaughtPanics::start(|| (member.call)(input.clone(), told)) {
                Ok(running) => running,
                Err(panic) => {
                    gathered.ended(Err(panic));
                    continue;
                }
            };
            tokio::select! {
                biased;
                ended = &mut running => match gathered.ended(ended) {
                    After::GoesOn => {}
                    After::WentAsync => later.went_async = true,
                    After::TooLate => {
                        gathered.too_late(&call.event);
                        break;
                    }
                },
                Some(time) = left.recv() => later.keep(running, cancelled, time),
                () = sleep_until(deadline) => {
                    cancelled.cancel();
                    gathered.too_late(&call.event);
                    break;
                }
            }
            if gathered.whole.stop {
                break;
            }
        }
        gathered
    }
}

/// The members in the background. Dropping this ends them.
#[derive(Default)]
struct Later {
    went_async: bool,
    running: JoinSet<Option<MemberEnd>>,
}

impl Later {
    fn keep(
        &mut self,
        member: CaughtPanics<Result<MemberSaid, CallbackFailure>>,
        cancelled: CancellationToken,
        time: Duration,
    ) {
        self.went_async = true;
        self.running.spawn(async move {
            let ended = timeout(time, member).await.ok();
            if ended.is_none() {
                cancelled.cancel();
            }
            ended
        });
    }

    /// Their answers, once all have ended.
    async fn gathered(mut self, event: &Event) -> GroupAnswers {
        let mut gathered = GroupAnswers::default();
        while let Some(ended) = self.running.join_next().await {
            match ended {
                Ok(Some(ended)) => {
                    if gathered.ended(ended) == After::TooLate {
                        gathered.failed(&too_late(event));
                    }
                }
                Ok(None) => gathered.failed(&too_late(event)),
                // Panics are caught, and no task is aborted while this exists.
                Err(error) => gathered.failed(&error.to_string()),
            }
        }
        gathered
    }
}

fn too_late(event: &Event) -> String {
    format!("{} hook did not respond before its timeout", event.name.hook_event_name())
}

/// The answers so far.
#[derive(Default)]
struct GroupAnswers {
    whole: Answer,
    messages: Vec<String>,
    failure: Option<String>,
}

impl GroupAnswers {
    /// Adds a member's result.
    fn ended(&mut self, ended: MemberEnd) -> After {
        match ended {
            Ok(Ok(MemberSaid::Answer(answer))) => self.add(*answer),
            Ok(Ok(MemberSaid::GoesOn)) => return After::WentAsync,
            Ok(Ok(MemberSaid::TooLate)) => return After::TooLate,
            Ok(Err(failure)) => self.failed(failure.cause()),
            Err(panic) => self.failed(&format!("panicked: {panic}")),
        }
        After::GoesOn
    }

    fn add(&mut self, answer: Answer) {
        let rank = |decision: Option<AnswerDecision>| match decision {
            None => 0,
            Some(AnswerDecision::Ask) => 1,
            Some(AnswerDecision::Allow) => 2,
            Some(AnswerDecision::Deny) => 3,
        };
        let whole = &mut self.whole;
        if rank(answer.decision) > rank(whole.decision) {
            whole.decision = answer.decision;
            whole.reason = answer.reason;
        }
        whole.stop |= answer.stop;
        whole.stop_reason = whole.stop_reason.take().or(answer.stop_reason);
        whole.additional_context.extend(answer.additional_context);
        whole.updated_input = answer.updated_input.or(whole.updated_input.take());
        whole.updated_output = answer.updated_output.or(whole.updated_output.take());
        whole.updated_mcp_output = answer.updated_mcp_output.or(whole.updated_mcp_output.take());
        whole.suppress_output |= answer.suppress_output;
        whole.updated_permissions = whole.updated_permissions.take().or(answer.updated_permissions);
        self.messages.extend(answer.system_message);
    }

    fn failed(&mut self, cause: &str) {
        self.messages.push(format!("Hook callback failed: {cause}"));
        self.failure.get_or_insert_with(|| cause.to_owned());
    }

    fn too_late(&mut self, event: &Event) {
        let what = too_late(event);
        match TOO_LATE_BLOCKS.contains(&event.name) {
            true => self.add(Answer::deny(what)),
            false => self.failed(&what),
        }
    }

    /// A failure that blocks does not replace a deny or an end, which keep their own reason.
    fn answer(self, blocks_on_failure: bool) -> Result<Answer, CallbackFailure> {
        let Self { mut whole, messages, failure } = self;
        let refuses = whole.stop || whole.decision == Some(AnswerDecision::Deny);
        if let Some(cause) = failure.filter(|_| blocks_on_failure && !refuses) {
            return Err(CallbackFailure::from(cause));
        }
        whole.system_message = (!messages.is_empty()).then(|| messages.join("\n"));
        Ok(whole)
    }
}
