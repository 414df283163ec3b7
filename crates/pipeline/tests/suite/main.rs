//! The runner's parts with real shells and real files.

mod agents;
//! What `hookwright-pipeline` promises, with real files, real programs and real repositories.

mod folder;
