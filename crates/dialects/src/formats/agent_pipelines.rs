//! agent-pipelines: its format is the native one, so this module only locates its global files.
//! They apply to every loop and pipeline: their hooks run after those of the loop, the pipeline and
//! the project, and a hook gets a secret only if it names it.

mod files;

pub use files::{global_file, secrets_file};
