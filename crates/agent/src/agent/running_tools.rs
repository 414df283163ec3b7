//! [`RunningTools`]: the calls of one answer that run at once.

use std::sync::Arc;
use std::time::Instant;

use hookwright_process::faults;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::CallResult;
use super::calls::Planned;
use crate::limits::TOOLS_AT_ONCE_MAX;
use crate::tool::{ToolCall, ToolEnd};

/// Calls that run at once. Their ends come in the order of the calls. Dropping it ends them.
pub(super) struct RunningTools {
    tasks: JoinSet<(usize, ToolEnd)>,
    /// Each call with its end, as far as it has one.
    calls: std::vec::IntoIter<(CallResult, Option<Result<ToolEnd, String>>)>,
    ends: Vec<Option<ToolEnd>>,
    next: usize,
}

impl RunningTools {
    pub(super) fn start(planned: Vec<Planned>, cancel: &CancellationToken) -> Self {
        let slots = Arc::new(Semaphore::new(TOOLS_AT_ONCE_MAX));
        let mut tasks = JoinSet::new();
        let mut calls = Vec::new();
        for (number, plan) in planned.into_iter().enumerate() {
            let (call, permit) = match plan {
                Planned::Answered(result, text) => {
                    calls.push((result, Some(Err(text))));
                    continue;
                }
                Planned::Granted(call, permit) => (call, permit),
            };
            calls.push((call.result(None, None), None));
            let (slots, cancel) = (Arc::clone(&slots), cancel.clone());
            tasks.spawn(async move {
                let _slot = slots.acquire().await;
                let (id, input, judged) = (&*call.id, &call.input, &permit.touches);
                let run_id = &*call.run_id;
                let call = ToolCall { id, input, judged, run_id, cancel: &cancel };
                faults::point("call starts");
                let end = permit.tool.run(call).await;
                faults::point("call ended");
                (number, end)
            });
        }
        let ends = vec![None; calls.len()];
        Self { tasks, calls: calls.into_iter(), ends, next: 0 }
    }

    /// Whether every call has been returned.
    pub(super) fn is_done(&self) -> bool {
        self.calls.len() == 0
    }

    /// The next call in order, when it has ended: how, or what the model reads of one that did not run.
    pub(super) async fn next(&mut self) -> Option<(CallResult, Result<ToolEnd, String>)> {
        let (mut result, known) = self.calls.next()?;
        let number = self.next;
        self.next += 1;
        if let Some(known) = known {
            return Some((result, known));
        }
        let began = Instant::now();
        while self.ends[number].is_none() {
            match self.tasks.join_next().await {
                Some(Ok((ended, end))) => self.ends[ended] = Some(end),
                // A tool that panics has failed; the session goes on.
                Some(Err(_)) => {}
                None => break,
            }
        }
        let end = self.ends[number].take().unwrap_or_else(|| ToolEnd::Failed {
            error: "The tool failed: it panicked. This is a defect of hookwright.".to_owned(),
            is_interrupt: false,
            took: began.elapsed(),
        });
        result.end = Some(end.clone());
        Some((result, Ok(end)))
    }
}
