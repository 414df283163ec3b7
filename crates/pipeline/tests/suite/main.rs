//! What `hookwright-pipeline` promises, with real files, real programs and real repositories.

mod changed_files;
mod folder;
mod sessions;
