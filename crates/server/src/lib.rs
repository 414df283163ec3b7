//! People's answers: the pages that a link opens, the addresses that programs answer at, and the
//! port through which the engine waits for either.
//!
//! | module | contains |
//! |---|---|
//! | [`approvals`] | [`Approvals`]: lists and answers waits |
//! | [`wait_desk`] | [`WaitDesk`]: the engine's port for people's answers |
//! | [`routes`] | the routes of a listener; a GET never decides |
//! | `reply`, `reach` | parsing a POST, and which requests are accepted |
//! | `page`, `results` | responses for people and for programs |
//! | [`board`] | [`Board`]: the sessions page, which updates itself |
//! | [`listeners`], `port_turn` | ports, shared between processes |
//! | `listener`, `reception` | connections, and the thread that serves them |
//! | [`signing_key`] | makes the address of a wait unguessable |
//! | [`bell`], `waiting` | wake a process when its question is decided |
//! | [`limits`] | all limits, each with its reason |
//!
//! All state is in the store: a listener is a door to it, and any number of listeners, in any
//! process, lead to the same waits. A decision counts once it is stored.
#![warn(missing_docs)]

pub mod approvals;
pub mod bell;
pub mod board;
pub mod limits;
mod listener;
pub mod listener_address;
pub mod listeners;
mod page;
mod port_turn;
mod reception;
mod reply;
mod results;
pub mod routes;
pub mod signing_key;
pub mod span;
pub mod wait_desk;
mod waiting;

pub use approvals::{AnswerResult, Approvals, Origin, PersonsAnswer};
pub use board::Board;
pub use listener_address::ListenerAddress;
pub use routes::router;
pub use wait_desk::{AskingProcess, AskingProject, WaitDesk};
pub use waiting::Wakes;
