//! Recognises the kind of a file by its top-level keys.

use std::path::PathBuf;
use std::sync::Arc;

use super::{SourceFile, keys, node};

/// Whether a text is a pipeline: it has stages. `false` if it cannot be read.
pub fn is_pipeline(text: &str) -> bool {
    has_any(text, &["stages"])
}

/// Whether a text is a loop: it has a key that only loops have. `false` if it cannot be read.
pub fn is_loop(text: &str) -> bool {
    has_any(text, LOOP_ONLY_KEYS)
}

/// Keys that only loops have.
const LOOP_ONLY_KEYS: &[&str] =
    &["prompt", "prompt_file", "termination", "max_iterations", "max_runtime", "delay"];

/// The top-level keys of a file that may be a loop, a pipeline or something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopLevel {
    /// Whether it has a key that only loops have, or `stages` that name loops.
    pub has_run_keys: bool,
    /// The number of keys of loops and pipelines, without those that any file may have.
    pub known: usize,
    /// The number of other keys.
    pub others: usize,
}

impl TopLevel {
    /// Keys of loops and pipelines that files of other programs have as well.
    const COMMON_KEYS: &'static [&'static str] = &["version", "name", "description"];

    /// Counts the keys of a text; `None` if it cannot be read.
    pub fn read(text: &str) -> Option<Self> {
        let source = Arc::new(SourceFile { path: PathBuf::new(), text: text.into() });
        let root = node::parse(&source).ok()?;
        let node::Raw::Map(fields) = &root.raw else {
            return Some(Self { has_run_keys: false, known: 0, others: 1 });
        };
        let names_loop = |stage: &node::Node| match &stage.raw {
            node::Raw::Map(fields) => fields.iter().any(|field| &*field.key == "loop"),
            _ => false,
        };
        let has_loops = |field: &node::Field| match &field.value.raw {
            node::Raw::List(stages) => &*field.key == "stages" && stages.iter().any(names_loop),
            _ => false,
        };
        let is_of_run =
            |field: &node::Field| LOOP_ONLY_KEYS.contains(&&*field.key) || has_loops(field);
        let is_known = |field: &&node::Field| keys::is_key_of_run(&field.key);
        let is_ours = |field: &&node::Field| !Self::COMMON_KEYS.contains(&&*field.key);
        let known = fields.iter().filter(is_known).count();
        Some(Self {
            has_run_keys: fields.iter().any(is_of_run),
            known: fields.iter().filter(is_known).filter(is_ours).count(),
            others: fields.len() - known,
        })
    }
}

fn has_any(text: &str, keys: &[&str]) -> bool {
    let source = Arc::new(SourceFile { path: PathBuf::new(), text: text.into() });
    let has_one = |root: node::Node| match root.raw {
        node::Raw::Map(fields) => fields.iter().any(|field| keys.contains(&&*field.key)),
        _ => false,
    };
    node::parse(&source).is_ok_and(has_one)
}
