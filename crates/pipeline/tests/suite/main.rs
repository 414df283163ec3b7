//! The guarantees of `hookwright-pipeline`, with real files, real programs and real repositories.

mod changed_files;
mod folder;
mod sessions;
mod trees;
