//! Turns panics of the host's functions into failures of hooks.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls the function and returns its result, or the message of its panic.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // State that a panic leaves half changed belongs to the function. The engine shares only the
    // event with it, which is immutable.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
        let message = message_of(&*payload);
        // A payload may itself panic when it is dropped.
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
