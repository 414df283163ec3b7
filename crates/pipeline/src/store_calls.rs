//! [`StoreCalls`]: a session's calls to its store, without blocking the session's thread.
//!
//! Everything that a session does happens on one thread. A call to a remote store may take minutes
//! while the store is away, and hooks' timeouts, the agent's output and interrupts must not wait for
//! it. So another thread makes these calls, one after the other: they take effect in the order in
//! which the session made them. A local store is faster than another thread, and is called directly.
//!
//! A session and its child sessions have one value of this type, so that the order holds among them
//! too.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, ready};
use std::thread;

use hookwright_store::{Store, StoreError};
use tokio::sync::oneshot;

/// Makes the calls of a session, and of the sessions below it.
#[derive(Clone)]
pub struct StoreCalls {
    store: Arc<dyn Store>,
    /// The thread of a remote store. Callers wait for their results, so there are never more calls
    /// than a session has parts that can wait.
    thread: Option<mpsc::Sender<Call>>,
}

type Call = Box<dyn FnOnce(&dyn Store) + Send>;

/// A call that was made; it is not undone if this is dropped. Awaiting it returns the result.
#[must_use = "the result of a call has to be looked at"]
#[derive(Debug)]
pub struct StoreCall<T>(Progress<T>);

#[derive(Debug)]
enum Progress<T> {
    Done(Option<T>),
    Underway(oneshot::Receiver<T>),
}

impl StoreCalls {
    /// Calls to this store. Fails if the system has no thread for a remote one.
    pub fn new(store: Arc<dyn Store>) -> Result<Self, StoreError> {
        let thread = match store.is_remote() {
            true => Some(calling_thread(Arc::clone(&store))?),
            false => None,
        };
        Ok(Self { store, thread })
    }

    /// Makes a call. It takes its place in the order at once, not when the result is awaited.
    pub fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Store) -> T + Send + 'static,
    ) -> StoreCall<T> {
        let Some(thread) = &self.thread else { return StoreCall::done(call(&*self.store)) };
        let (done, underway) = oneshot::channel();
        let call = move |store: &dyn Store| {
            // A caller that has gone needs no result.
            let _ = done.send(call(store));
        };
        // If the thread has ended by a panic, awaiting the result panics too.
        let _ = thread.send(Box::new(call));
        StoreCall(Progress::Underway(underway))
    }

    /// Whether another thread makes the calls.
    pub(crate) fn is_remote(&self) -> bool {
        self.thread.is_some()
    }

    /// The store, for what is called on it within [`Self::call`].
    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }
}

fn calling_thread(store: Arc<dyn Store>) -> Result<mpsc::Sender<Call>, StoreError> {
    let (thread, calls) = mpsc::channel::<Call>();
    let run = move || calls.into_iter().for_each(|call| call(&*store));
    let started = thread::Builder::new().name("store calls".to_owned()).spawn(run);
    started.map_err(|error| StoreError::Io { cause: error.to_string() })?;
    Ok(thread)
}

impl<T> StoreCall<T> {
    /// One that has its result.
    pub(crate) fn done(result: T) -> Self {
        Self(Progress::Done(Some(result)))
    }

    /// The result, if it is there already.
    pub(crate) fn into_result(self) -> Result<T, Self> {
        match self.0 {
            Progress::Done(Some(result)) => Ok(result),
            progress => Err(Self(progress)),
        }
    }
}

impl<T: Unpin> Future for StoreCall<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.0 {
            Progress::Done(result) => {
                Poll::Ready(result.take().expect("a result is awaited only once"))
            }
            Progress::Underway(underway) => {
                let result = ready!(Pin::new(underway).poll(context));
                Poll::Ready(result.expect("a call of the store does not panic"))
            }
        }
    }
}
