//! People's answers: the pages that a link opens, the addresses that programs answer at, and the port
//! through which the engine waits for either.
//!
//! | module | holds |
//! |---|---|
//! | [`approvals`] | [`Approvals`]: everything that can be asked about waits and done with them |
//! | [`wait_desk`] | [`WaitDesk`]: the engine's port for people's answers |
//! | [`routes`] | what a listener answers; looking never decides |
//! | `reply`, `reach` | what a POST says, and whose requests are taken |
//! | `page`, `results` | what people see, and what programs are told |
//! | [`board`] | [`Board`]: the page of sessions, which shows what happens as it happens |
//! | [`listeners`], `port_turn` | the ports that are listened at, shared between processes |
//! | `listener`, `reception` | connections, and the thread they live in |
//! | [`signing_key`] | what makes the address of a wait unguessable |
//! | [`bell`], `waiting` | how those who wait hear of a decision |
//! | [`limits`] | what is bounded, and why |
//!
//! Everything that matters is in the store: a listener is a door to it, and any number of them, in any
//! process, are doors to the same waits. A decision counts once it is stored, whoever listens.
#![warn(missing_docs)]

pub mod approvals;
pub mod bell;
pub mod board;
pub mod limits;
mod listener;
pub mod listeners;
mod page;
mod port_turn;
pub mod reach;
mod reception;
mod reply;
mod results;
pub mod routes;
pub mod signing_key;
pub mod span;
pub mod wait_desk;
mod waiting;

pub use approvals::{Approvals, Origin, Said, Told};
pub use board::Board;
pub use reach::Reach;
pub use routes::router;
pub use wait_desk::{About, WaitDesk};
