//! [`Members`]: the functions of one group, run one by one, and their answers as one.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::{Call as EngineCall, CancellationToken, Failure};
use hookwright_events::{Answer, AnswerDecision, Event};
use tokio::time::{Instant, timeout_at};

use super::contained::Contained;
use super::{Call, TypedInput};
use crate::claude::answer::HookOutput;
use crate::claude::event::HookInput;

/// One function, whatever its input is.
pub(super) struct Member {
    call: Box<Calling>,
}

type Answering = Pin<Box<dyn Future<Output = Result<HookOutput, Failure>> + Send>>;
type Calling = dyn Fn(HookInput, Told) -> Answering + Send + Sync;

/// What a member is told beside the event.
struct Told {
    tool_use_id: Option<String>,
    cancelled: CancellationToken,
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Member")
    }
}

impl Member {
    pub(super) fn new<T, F, R>(function: F) -> Self
    where
        T: TypedInput,
        F: Fn(Call<T>) -> R + Send + Sync + 'static,
        R: Future<Output = Result<HookOutput, Failure>> + Send + 'static,
    {
        let call = move |input: HookInput, told: Told| -> Answering {
            let Told { tool_use_id, cancelled } = told;
            match T::of(input) {
                Some(input) => Box::pin(function(Call { input, tool_use_id, cancelled })),
                None => Box::pin(async {
                    Err(Failure::from("the event's data do not have the types that they should"))
                }),
            }
        };
        Self { call: Box::new(call) }
    }
}

/// The functions of one group, and what they share.
#[derive(Debug)]
pub(super) struct Members {
    pub(super) all: Vec<Member>,
    pub(super) timeout: Duration,
    pub(super) blocks_on_failure: bool,
}

/// Events at which somebody waits for what is then not done.
const TOO_LATE_BLOCKS: &[&str] = &["tool:pre_execute", "user:prompt_submit"];

impl Members {
    /// What the group answers.
    pub(super) async fn answer(self: Arc<Self>, call: EngineCall) -> Result<Answer, Failure> {
        let deadline = Instant::now() + self.timeout;
        let input = HookInput::of_event(&call.event, "");
        let mut gathered = Gathered::default();
        for member in &self.all {
            let cancelled = call.cancelled.child_token();
            let told = Told { tool_use_id: call.tool_use_id.clone(), cancelled: cancelled.clone() };
            let answer = match Contained::start(|| (member.call)(input.clone(), told)) {
                Ok(running) => match timeout_at(deadline, running).await {
                    Ok(ended) => ended,
                    Err(_) => {
                        cancelled.cancel();
                        gathered.too_late(&call.event);
                        break;
                    }
                },
                Err(panic) => Err(panic),
            };
            match answer {
                Ok(Ok(output)) => gathered.add(output.into_answer()),
                Ok(Err(failure)) => gathered.failed(failure.cause()),
                Err(panic) => gathered.failed(&format!("panicked: {panic}")),
            }
            if gathered.whole.stop {
                break;
            }
        }
        gathered.answer(self.blocks_on_failure)
    }
}

/// What the members have said so far.
#[derive(Default)]
struct Gathered {
    whole: Answer,
    messages: Vec<String>,
    failure: Option<String>,
}

impl Gathered {
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
        whole.suppress_output |= answer.suppress_output;
        whole.updated_permissions = whole.updated_permissions.take().or(answer.updated_permissions);
        self.messages.extend(answer.system_message);
    }

    fn failed(&mut self, cause: &str) {
        self.messages.push(format!("Hook callback failed: {cause}"));
        self.failure.get_or_insert_with(|| cause.to_owned());
    }

    fn too_late(&mut self, event: &Event) {
        let name = event.name.hook_event_name();
        let what = format!("{name} hook did not respond before its timeout");
        match TOO_LATE_BLOCKS.contains(&event.name.as_str()) {
            true => self.add(Answer::deny(what)),
            false => self.failed(&what),
        }
    }

    /// A failure that blocks takes nothing back: a deny or an end counts with its own reason.
    fn answer(self, blocks_on_failure: bool) -> Result<Answer, Failure> {
        let Self { mut whole, messages, failure } = self;
        let refuses = whole.stop || whole.decision == Some(AnswerDecision::Deny);
        if let Some(cause) = failure.filter(|_| blocks_on_failure && !refuses) {
            return Err(Failure::from(cause));
        }
        whole.system_message = (!messages.is_empty()).then(|| messages.join("\n"));
        Ok(whole)
    }
}
