//! The spawn action: runs a pipeline as a session of its own, and returns its output.
//!
//! The port [`Pipelines`](crate::ports::Pipelines) runs it. This file fills its inputs, enforces
//! its timeout, and turns its end into an outcome. It holds no slot: the processes of the child
//! hold theirs.

use std::time::Duration;

use hookwright_events::{Outcome, Output, WorkOutcome};
use hookwright_process::end_run;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep, timeout};

use super::HookAttempt;
use super::cut::Cut;
use crate::hook::Spawn;
use crate::limits::{KILL_GRACE, OUTPUT_BYTES_MAX, SPAWN_GRACE};
use crate::native::why_not;
use crate::ports::{Child, ChildEnd, EndRequest, NotRun, StartedBy};
use crate::variables::is_ours;

pub(super) async fn run(attempt: &HookAttempt, spawn: &Spawn) -> (Outcome, Duration) {
    let begun = Instant::now();
    let outcome = outcome(attempt, spawn).await;
    (outcome, begun.elapsed())
}

async fn outcome(attempt: &HookAttempt, spawn: &Spawn) -> Outcome {
    if attempt.cancel.is_cancelled() {
        return Cut::Short.outcome(attempt);
    }
    let inputs = match inputs(attempt, spawn) {
        Ok(inputs) => inputs,
        Err(cause) => return failed(cause, false, Output::default()),
    };
    let end = EndRequest::default();
    let mut running = attempt.pipelines.start(child(attempt, spawn, inputs, end.clone()));
    let cut = tokio::select! {
        biased;
        () = attempt.cancel.cancelled() => Cut::Short,
        ended = &mut running => return ended_by_itself(attempt, ended),
        () = sleep(attempt.terms.timeout) => Cut::OutOfTime,
    };
    // The reason for the child's record.
    end.ask(&why_not(&cut.outcome(attempt)).unwrap_or_default());
    match timeout(SPAWN_GRACE, &mut running).await {
        // It completed at the last moment.
        Ok(Ok(ended)) if ended.completed => ended_by_itself(attempt, Ok(ended)),
        Ok(_) => cut.outcome(attempt),
        Err(_) => {
            drop(running);
            end_run(&attempt.run_id, KILL_GRACE).await;
            cut.outcome(attempt)
        }
    }
}

/// The child's inputs. Values are placed inside the JSON, never into its text.
fn inputs(attempt: &HookAttempt, spawn: &Spawn) -> Result<Map<String, Value>, String> {
    let names = spawn.inputs.names();
    if names.iter().any(|name| name.ends_with("CALLBACK_URL") && is_ours(name)) {
        return Err("`CALLBACK_URL` has no value in `inputs`".to_owned());
    }
    let within = |error: crate::template::FillError| error.within("`inputs`");
    let filled = spawn.inputs.fill(&attempt.filling()).map_err(within)?;
    match filled.reveal(&attempt.surroundings.secrets).map_err(within)? {
        Value::Object(inputs) => Ok(inputs),
        other => Err(format!("expected a map in `inputs` but found `{other}`")),
    }
}

fn child(
    attempt: &HookAttempt,
    spawn: &Spawn,
    inputs: Map<String, Value>,
    end: EndRequest,
) -> Child {
    let (hook, event) = (&attempt.hook, &attempt.event);
    let started_by = StartedBy {
        hook: hook.id.clone(),
        key: hook.key(),
        file: hook.source.path.clone(),
        event: event.name.clone(),
        iteration: event.data.get("iteration").and_then(Value::as_u64).unwrap_or(0),
        firing: attempt.place.number,
        awaited: attempt.terms.awaited,
        run_id: attempt.run_id.clone(),
    };
    let (pipeline, working_dir) = (spawn.pipeline.clone(), spawn.working_dir);
    Child { pipeline, inputs, working_dir, started_by, end }
}

fn ended_by_itself(attempt: &HookAttempt, ended: Result<ChildEnd, NotRun>) -> Outcome {
    let ChildEnd { completed, what, output } = match ended {
        Ok(ended) => ended,
        Err(NotRun { cause, may_retry }) => return failed(cause, may_retry, Output::default()),
    };
    let stdout = output.map(|mut output| {
        attempt.surroundings.secrets.hide_in(&mut output);
        output.to_string()
    });
    let stdout = stdout.unwrap_or_default();
    if stdout.len() > OUTPUT_BYTES_MAX {
        let cause = format!(
            "{what}, but its output has {} bytes, expected at most {OUTPUT_BYTES_MAX}",
            stdout.len()
        );
        return failed(cause, false, Output::default());
    }
    let output = Output { stdout, ..Output::default() };
    match completed {
        true => Outcome::Work(WorkOutcome::Done { what, output, said: Box::default() }),
        false => failed(what, true, output),
    }
}

fn failed(cause: String, may_retry: bool, output: Output) -> Outcome {
    Outcome::Work(WorkOutcome::Failed {
        cause,
        may_retry,
        exit_code: None,
        output,
        said: Box::default(),
    })
}
