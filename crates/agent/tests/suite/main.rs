//! Tests of the agent from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod tools;
