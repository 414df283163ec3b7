//! Which kind of file a text is, by its top-level keys.

use std::path::PathBuf;
use std::sync::Arc;

use super::{SourceFile, keys, node};

/// Whether a text is that of a pipeline: it has stages. What cannot be read is none.
pub fn is_pipeline(text: &str) -> bool {
    has_any(text, &["stages"])
}

/// Whether a text is that of a loop: it has a key that only loops have. What cannot be read is none.
pub fn is_loop(text: &str) -> bool {
    has_any(text, ONLY_LOOPS)
}

/// Keys that only loops have.
const ONLY_LOOPS: &[&str] =
    &["prompt", "prompt_file", "termination", "max_iterations", "max_runtime", "delay"];

/// The top-level keys of a file that may be a loop, a pipeline or something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopLevel {
    /// Whether one of them is a key that only loops have, or `stages` that name loops.
    pub tells_of_run: bool,
    /// How many are keys of loops and pipelines, beside those that any file may have.
    pub known: usize,
    /// How many are not.
    pub others: usize,
}

impl TopLevel {
    /// Keys of loops and pipelines that files of other programs have as well.
    const OF_ANYBODY: &'static [&'static str] = &["version", "name", "description"];

    /// The keys of a text; `None` if it cannot be read.
    pub fn read(text: &str) -> Option<Self> {
        let source = Arc::new(SourceFile { path: PathBuf::new(), text: text.into() });
        let root = node::parse(&source).ok()?;
        let node::Raw::Map(fields) = &root.raw else {
            return Some(Self { tells_of_run: false, known: 0, others: 1 });
        };
        let names_loop = |stage: &node::Node| match &stage.raw {
            node::Raw::Map(fields) => fields.iter().any(|field| &*field.key == "loop"),
            _ => false,
        };
        let has_loops = |field: &node::Field| match &field.value.raw {
            node::Raw::List(stages) => &*field.key == "stages" && stages.iter().any(names_loop),
            _ => false,
        };
        let tells = |field: &node::Field| ONLY_LOOPS.contains(&&*field.key) || has_loops(field);
        let is_known = |field: &&node::Field| keys::is_key_of_run(&field.key);
        let is_ours = |field: &&node::Field| !Self::OF_ANYBODY.contains(&&*field.key);
        let known = fields.iter().filter(is_known).count();
        Some(Self {
            tells_of_run: fields.iter().any(tells),
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
