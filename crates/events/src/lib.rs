//! The types that Hookwright's crates share: plain data and serde, no async, no files, no clock.
//!
//! | module | holds |
//! |---|---|
//! | [`event`] | [`Event`]: something that happened or is about to |
//! | [`table`] | the one table of event names, aliases, powers, subjects and fields |
//! | [`field`] | the one table of data fields, their aliases and meanings |
//! | [`tool`] | the canonical names of tools, and other agents' |
//! | [`answer`] | [`Answer`]: what a hook's output requests |
//! | [`decision`] | [`Decision`]: what the host must do, and how several answers become one |
//! | [`outcome`] | [`Outcome`]: how one action ended |
//! | [`report`] | [`Report`]: the record of one hook's run |
//! | [`turn`] | [`TurnResult`]: the result of an agent's turn, and what it used |
//! | [`wait`] | [`Wait`]: a question to a person, and the words that answer it |
//! | [`session_status`] | [`SessionStatus`]: what a session is doing, or how it ended |
//! | [`task`] | [`Task`]: something to do in a project |
//! | [`work_item`] | [`WorkItem`]: one item of a queue |
//! | [`visible_text`] | untrusted text, made safe to display |
//! | [`run_event`] | [`RunEvent`]: the one stream that screen, journal and pages read |
#![warn(missing_docs)]

mod words;

pub mod answer;
pub mod decision;
pub mod event;
pub mod field;
pub mod firing_key;
pub mod outcome;
pub mod report;
pub mod run_event;
pub mod session_status;
pub mod table;
pub mod task;
pub mod tool;
pub mod turn;
pub mod visible_text;
pub mod wait;
pub mod work_item;

pub use answer::{Answer, AnswerDecision};
pub use decision::{Decision, Verdict};
pub use event::{Event, EventError, EventName};
pub use field::{FieldKind, FieldSpec};
pub use firing_key::{FiringKey, Point};
pub use outcome::{
    FunctionOutcome, Outcome, Output, PersonOutcome, ProcessOutcome, RequestOutcome, WorkOutcome,
};
pub use report::{Report, Status};
pub use run_event::{FiringEvent, PauseCause, RunEvent, RunEventKind, SessionEvent, TurnEvent};
pub use session_status::SessionStatus;
pub use table::{EventSpec, Power};
pub use task::{Task, TaskId, TaskState};
pub use turn::{CallOutcome, FailureCause, TurnName, TurnResult, Usage};
pub use wait::Wait;
pub use work_item::{ItemState, WorkItem, WorkSource};
