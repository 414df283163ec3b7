//! Files in someone else's format. The engine knows none of them; a crate that does implements
//! [`Dialect`] and says of a [`ConfigFile`] that it is one of theirs.
//!
//! A native file stops a run when it has a fault. A foreign one does not: its own program would have
//! gone on, so what cannot be used is left out with a warning ([`Loaded::leave_out`]) and the rest
//! decides; where a guard may have stood, it can block instead ([`Loaded::block_until_mended`]).

use std::fmt;
use std::sync::Arc;

use hookwright_engine::Full;
use hookwright_engine::hook::Hook;
use hookwright_engine::limits::HOOKS_MAX;
use hookwright_engine::pattern::Pattern;
use hookwright_engine::policy::Policy;
use hookwright_engine::variables::Environment;

use super::node::Node;
use super::notes::Notes;
use super::{ConfigFile, Fault, FaultKind, Loaded, SourceFile};

/// A foreign format.
pub trait Dialect: fmt::Debug + Send + Sync {
    /// Its name, as `dialect:` and `--dialect` say it.
    fn name(&self) -> &'static str {
        self.policy().dialect
    }

    /// The rules for a hook of a native file that says `dialect:`.
    fn policy(&self) -> &'static Policy;

    /// Reads all of its files that were found, in the order in which they were given.
    fn read(&self, files: &[ForeignFile<'_>], environment: &Environment, loaded: &mut Loaded);
}

/// The systems that hooks of a native file may name.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownSystems {
    /// Those whose rules a hook may ask for, with `dialect:`.
    pub dialects: &'static [&'static dyn Dialect],
    /// The agents that call us, which a hook may name as its `host:`.
    pub hosts: &'static [&'static str],
}

/// A file of a dialect.
#[derive(Debug)]
pub struct ForeignFile<'a> {
    /// Which one.
    pub file: &'a ConfigFile,
    /// Its text, or why there is none.
    pub text: Result<Arc<SourceFile>, Fault>,
}

impl Loaded {
    /// Adds a hook of a dialect.
    pub fn add(&mut self, hook: Hook) -> Result<(), Full> {
        self.hooks.add(hook)
    }

    /// What cannot be used of a foreign file is left out, and said. Its own program would have left it out too;
    /// but that program does not have our limits, so what is over one of those may be a guard, and blocks.
    pub fn leave_out(&mut self, faults: impl IntoIterator<Item = Fault>) {
        for fault in faults {
            if fault.kind.is_over_a_limit() {
                self.block_until_mended(None, [fault]);
            } else {
                self.left_out.push(Arc::new(fault));
            }
        }
    }

    /// A hook of a foreign file for which there is no room: what it would have woken for is blocked, where it can
    /// be.
    pub fn no_room_for(&mut self, pattern: Pattern, node: &Node, source: &Arc<SourceFile>) {
        let mut notes = Notes::new(source);
        notes.note(node.at, FaultKind::TooManyHooks { hooks_max: HOOKS_MAX });
        self.block_until_mended(Some(pattern), notes.faults);
    }

    /// The same where a guard may have stood: what it would have woken for is blocked, where it can
    /// be. Without a pattern that is every event.
    pub fn block_until_mended(
        &mut self,
        pattern: Option<Pattern>,
        faults: impl IntoIterator<Item = Fault>,
    ) {
        let faults = self.remember_broken(pattern, faults);
        self.left_out.extend(faults);
    }

    /// Looks for likely mistakes in the hook at `node`, if the caller asked for warnings.
    pub fn look_at(
        &mut self,
        hook: &Hook,
        node: &Node,
        source: &Arc<SourceFile>,
        environment: &Environment,
    ) {
        if let Some(warnings) = &mut self.warnings {
            warnings.look_at(node, hook, None, source, environment);
            warnings.look_for_program(node, hook, source, environment);
        }
    }

    /// How the ids of a file's hooks begin, so that no other file's do: two files may have the same
    /// stem.
    pub fn unused_stem(&self, stem: &str) -> String {
        let taken = |stem: &str| {
            let prefix = format!("{stem}/");
            self.hooks.hooks().iter().any(|hook| hook.id.starts_with(&prefix))
        };
        if !taken(stem) {
            return stem.to_owned();
        }
        (2u32..)
            .map(|number| format!("{stem}~{number}"))
            .find(|candidate| !taken(candidate))
            .expect("there are more numbers than files")
    }
}
