//! The dialects: other systems' files and the agents that call us, under the rules of their own
//! specifications. Foreign spelling stops here.
//!
//! | part | holds |
//! |---|---|
//! | `formats` | systems whose files we read and whose hooks our engine runs |
//! | [`agents`] | programs that we drive, and what the lines mean that they print |
//! | `connection` | the events for which agents' own settings call this program |
//! | [`native`] | their hooks in the native format, for people who move |

#![warn(missing_docs)]

pub mod agents;
mod connection;
mod formats;
pub mod native;

pub use connection::{CONNECTABLE, Connectable, Connection, connections};
pub use formats::{Foreign, Location, Whereabouts, all, known, named, of_file};
pub use formats::{agent_pipelines, claude, code_forge, iteratr};
