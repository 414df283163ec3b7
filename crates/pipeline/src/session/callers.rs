//! Those who stand at a session's desk, attended to beside everything else.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use tokio::net::UnixStream;

use super::task_desk::TaskDesk;
use crate::desk::{self, Answer, Reception, Request};
use crate::limits::DESK_CALLERS_MAX;

impl TaskDesk {
    /// Attends to callers, for ever.
    pub(super) async fn serve(&self, reception: Option<Reception>) -> Infallible {
        let mut reception = reception;
        let mut callers = Together::default();
        let mut is_open = self.is_open.subscribe();
        loop {
            let next = async {
                match &reception {
                    Some(reception) => reception.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                caller = next, if callers.len() < DESK_CALLERS_MAX => {
                    callers.push(self.attend(caller));
                }
                () = callers.one_ended() => {}
                _ = is_open.wait_for(|is_open| !is_open), if reception.is_some() => {
                    let waiting = reception.take().map(Reception::close).unwrap_or_default();
                    waiting.into_iter().for_each(|caller| callers.push(self.attend(caller)));
                }
            }
        }
    }

    /// One caller. Nothing that it does or leaves undone matters to anybody else.
    async fn attend(&self, mut caller: UnixStream) {
        let answer = match desk::read::<Request>(&mut caller).await {
            Ok(request) => self.answer(request).await,
            Err(error) => {
                Answer::Failed { reason: format!("the request cannot be understood: {error}") }
            }
        };
        let _ = desk::write(&mut caller, &answer).await;
    }

    async fn answer(&self, request: Request) -> Answer {
        let is_ours = request.project == self.tasks.project() && request.session == self.session;
        if !is_ours || !*self.is_open.borrow() {
            return Answer::Closed;
        }
        self.complete(request.complete_task, None, request.chain).await
    }
}

/// Futures that are polled together, as parts of whoever waits for them.
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
