//! Serves the callers at a session's desk, beside everything else that the session does.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use tokio::time::Instant;

use super::task_desk::{Hours, TaskDesk};
use crate::desk::{DeskAnswer, DeskCaller, DeskRequest, OpenDesk};
use crate::limits::{DESK_CALLERS_MAX, DESK_LOOK_FIRST, DESK_LOOK_MAX, LONG_WAIT};

impl TaskDesk {
    /// Serves callers, forever.
    pub(super) async fn serve(&self, desk: &mut Option<Box<dyn OpenDesk>>) -> Infallible {
        let mut callers = Together::default();
        let Some(desk) = desk else { return std::future::pending().await };
        let mut pause = DESK_LOOK_FIRST;
        let mut look = std::pin::pin!(tokio::time::sleep(pause));
        loop {
            tokio::select! {
                caller = desk.next(), if callers.len() < DESK_CALLERS_MAX => {
                    callers.push(self.attend(caller));
                }
                () = callers.one_ended() => {}
                () = &mut look => {
                    pause = DESK_LOOK_MAX.min(pause * 2);
                    look.as_mut().reset(Instant::now() + pause);
                    // Another process has removed the socket, or replaced it.
                    let waiting = desk.renew_if_gone();
                    waiting.into_iter().for_each(|caller| callers.push(self.attend(caller)));
                }
            }
        }
    }

    /// Tells callers that came at the last moment that the session has ended.
    pub(super) async fn dismiss(&self, desk: Option<Box<dyn OpenDesk>>) {
        self.close();
        let mut callers = Together::default();
        let waiting = desk.map(OpenDesk::close).unwrap_or_default();
        waiting.into_iter().for_each(|caller| callers.push(self.attend(caller)));
        let dismissed = async {
            while callers.len() > 0 {
                callers.one_ended().await;
            }
        };
        // A caller that sends nothing does not delay the session.
        let _ = tokio::time::timeout(LONG_WAIT, dismissed).await;
    }

    /// Serves one caller. Its failures affect no other caller.
    async fn attend(&self, mut caller: Box<dyn DeskCaller>) {
        let answer = match caller.request().await {
            Ok(request) => self.answer(request).await,
            Err(error) => {
                DeskAnswer::Failed { reason: format!("the request cannot be parsed: {error}") }
            }
        };
        let _ = caller.answer(&answer).await;
    }

    async fn answer(&self, request: DeskRequest) -> DeskAnswer {
        let DeskRequest { project, session, complete_task: id, chain, .. } = request;
        if project != self.tasks.project() || session != self.session {
            return DeskAnswer::Closed;
        }
        let failed = |reason: String| DeskAnswer::Failed { reason };
        let mut hours = self.hours.subscribe();
        if *hours.borrow() == Hours::NotYet && chain.depth() > 0 {
            // The session may be waiting for the very hook that asks.
            return match self.is_left(id) {
                true => DeskAnswer::Underway,
                false => failed("the session has not resumed its work yet; try again later".into()),
            };
        }
        // The sender lives as long as `self`.
        let _ = hours.wait_for(|hours| *hours != Hours::NotYet).await;
        if *self.hours.borrow() == Hours::Closed {
            return DeskAnswer::Closed;
        }
        match self.other_holder(id).await {
            Ok(None) => self.complete(id, None, chain).await,
            Ok(Some(other)) => {
                failed(format!("session `{other}` is working on it and has to complete it"))
            }
            Err(error) => failed(error.to_string()),
        }
    }
}

/// Futures that are polled together, as parts of the future that waits for them.
#[derive(Default)]
struct Together<'a>(Vec<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>);

impl<'a> Together<'a> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn push(&mut self, one: impl Future<Output = ()> + Send + 'a) {
        self.0.push(Box::pin(one));
    }

    /// Returns when at least one of them has ended.
    async fn one_ended(&mut self) {
        std::future::poll_fn(|context| {
            let before = self.0.len();
            self.0.retain_mut(|one| one.as_mut().poll(context).is_pending());
            if self.0.len() < before { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
