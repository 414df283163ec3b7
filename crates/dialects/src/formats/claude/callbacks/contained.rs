//! [`CaughtPanics`]: a future that turns panics into errors.

use std::pin::Pin;
use std::task::{Context, Poll};

use hookwright_engine::catch_panic;

/// A member's future; empty once it has ended.
pub(super) struct CaughtPanics<T> {
    future: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
}

impl<T> CaughtPanics<T> {
    /// Creates the future, or returns the message of a panic in `make`.
    pub(super) fn start(
        make: impl FnOnce() -> Pin<Box<dyn Future<Output = T> + Send>>,
    ) -> Result<Self, String> {
        catch_panic(make).map(|future| Self { future: Some(future) })
    }
}

impl<T> Future for CaughtPanics<T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = self.future.as_mut() else { return Poll::Pending };
        let polled = match catch_panic(|| future.as_mut().poll(context)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(message) => Err(message),
        };
        let future = self.future.take();
        // Its answer counts even if dropping it panics.
        let _ = catch_panic(|| drop(future));
        Poll::Ready(polled)
    }
}

impl<T> Drop for CaughtPanics<T> {
    fn drop(&mut self) {
        let future = self.future.take();
        let _ = catch_panic(|| drop(future));
    }
}
