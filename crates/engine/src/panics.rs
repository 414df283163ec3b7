//! Functions of the host's program, whose panics are failures of hooks.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does the work, or gives the message of the panic in which it ended.
pub fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // What a panic leaves half done is the function's own; the engine shares only the event with it,
    // which nothing can change.
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
