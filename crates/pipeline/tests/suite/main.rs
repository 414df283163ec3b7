//! The runner's parts with real shells and real files.

mod agents;
