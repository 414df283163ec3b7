//! Claude Code: its settings files, what it tells hooks, what hooks answer.
//!
//! | part | holds |
//! |---|---|
//! | `event` | [`HookInput`]: what it tells a hook, typed, to and from our events |
//! | `answer` | [`HookOutput`]: what a hook answers, typed, to and from our answers |
//! | `decision` | [`Reply`]: what we answer it when our own hooks run inside it |
//! | `capability` | what each of its events can carry |
//! | `tool_name` | what it calls its tools |

pub mod answer;
pub mod capability;
mod decision;
pub mod event;
mod tool_name;

pub use answer::HookOutput;
pub use decision::{Reply, reply_to};
pub use event::{HookInput, InputError};
