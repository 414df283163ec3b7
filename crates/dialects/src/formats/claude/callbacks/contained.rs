//! [`Contained`]: a future whose panics reach nobody but as a message.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A member's future. Empty once it has ended.
pub(super) struct Contained<T> {
    future: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
}

impl<T> Contained<T> {
    /// Makes the future, or gives the message of the panic in which that ended.
    pub(super) fn start(
        make: impl FnOnce() -> Pin<Box<dyn Future<Output = T> + Send>>,
    ) -> Result<Self, String> {
        contain(make).map(|future| Self { future: Some(future) })
    }
}

impl<T> Future for Contained<T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.future.as_mut() else { return Poll::Pending };
        let polled = match contain(|| future.as_mut().poll(context)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(message) => Err(message),
        };
        let future = self.future.take();
        // What it has said counts, however it goes.
        let _ = contain(|| drop(future));
        Poll::Ready(polled)
    }
}

impl<T> Drop for Contained<T> {
    fn drop(&mut self) {
        let future = self.future.take();
        let _ = contain(|| drop(future));
    }
}

/// Does it, or gives the message of the panic that it ended in.
fn contain<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = message_of(&*payload);
        // A payload may panic in its turn when it is dropped.
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(again);
        }
        message
    })
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("without a message").to_owned()
}
