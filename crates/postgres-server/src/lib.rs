//! For tests: a real Postgres in a temporary folder ([`Cluster`]), pgbouncer in transaction mode
//! before it, and a network that a test can close, stop and delay ([`Relay`]).

mod cluster;
mod keeper;
mod relay;

pub use cluster::{Cluster, OWNER, PASSWORD, WORKER};
pub use relay::Relay;
