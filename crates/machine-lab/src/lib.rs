//! For tests: several machines on one. A [`Lab`] has a git remote and [`Machine`]s. A machine has
//! its own host name, ids, processes, home and checkout of the remote, by Linux namespaces. All of
//! its processes end when it is killed, and when the test ends, however it ends.
//!
//! All machines see their home at the same path, and none sees the home of another one. They share
//! the network of this machine.

mod lab;
mod machine;
mod namespaces;
mod process;
mod remote;

pub use lab::Lab;
pub use machine::{Machine, MachineIdentity};
pub use process::MachineProcess;
pub use remote::Remote;
