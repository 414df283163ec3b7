//! agent-pipelines: its format is the native one, so there is nothing here but where its files for all
//! projects are. They come with every loop and every pipeline: the hooks behind those of the loop, the
//! pipeline and the project, the secrets only where a hook names them.

mod files;

pub use files::{global_file, secrets_file};
