//! Files in another system's format. The engine knows none of them. A crate that knows one
//! implements [`Dialect`] and sets it in [`ConfigFile`].
//!
//! A fault in a native file stops a run. A fault in a foreign one does not, because its own program
//! would have continued: what cannot be used is left out with a warning ([`Loaded::leave_out`]),
//! and the remaining hooks decide. If the faulty part may have been a guard, it can block instead
//! ([`Loaded::block_until_fixed`]).

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
    /// Its name, as in `dialect:` and `--dialect`.
    fn name(&self) -> &'static str {
        self.policy().dialect
    }

    /// The rules for a hook of a native file that sets `dialect:` to this name.
    fn policy(&self) -> &'static Policy;

    /// Reads all of its files that were found, in the order in which they were given.
    fn read(&self, files: &[ForeignFile<'_>], environment: &Environment, loaded: &mut Loaded);
}

/// The systems that hooks of a native file may name.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownSystems {
    /// The dialects that a hook may select with `dialect:`.
    pub dialects: &'static [&'static dyn Dialect],
    /// The agents that call us, which a hook may name as its `host:`.
    pub hosts: &'static [&'static str],
}

/// A file of a dialect.
#[derive(Debug)]
pub struct ForeignFile<'a> {
    /// The file.
    pub file: &'a ConfigFile,
    /// Its text, or why it cannot be read.
    pub text: Result<Arc<SourceFile>, Fault>,
}

impl Loaded {
    /// Adds a hook of a dialect.
    pub fn add(&mut self, hook: Hook) -> Result<(), Full> {
        self.hooks.add(hook)
    }

    /// Leaves out what cannot be used of a foreign file, with a warning. Its own program would
    /// leave it out too. But that program does not have our limits, so an entry over one of them
    /// may be a guard, and blocks.
    pub fn leave_out(&mut self, faults: impl IntoIterator<Item = Fault>) {
        for fault in faults {
            if fault.kind.is_over_a_limit() {
                self.block_until_fixed(None, [fault]);
            } else {
                self.left_out.push(Arc::new(fault));
            }
        }
    }

    /// Blocks what a foreign hook over the limit of hooks would have woken for, at events that can
    /// be blocked.
    pub fn block_over_hook_limit(
        &mut self,
        pattern: Pattern,
        node: &Node,
        source: &Arc<SourceFile>,
    ) {
        let mut notes = Notes::new(source);
        notes.note(node.at, FaultKind::TooManyHooks { hooks_max: HOOKS_MAX });
        self.block_until_fixed(Some(pattern), notes.faults);
    }

    /// Leaves out an entry that may have been a guard, and blocks what it would have woken for, at
    /// events that can be blocked. Without a pattern that is every event.
    pub fn block_until_fixed(
        &mut self,
        pattern: Option<Pattern>,
        faults: impl IntoIterator<Item = Fault>,
    ) {
        let faults = self.remember_broken(pattern, faults);
        self.left_out.extend(faults);
    }

    /// Looks for likely mistakes in the hook at `node`, if the caller requested warnings.
    pub fn warn_about(
        &mut self,
        hook: &Hook,
        node: &Node,
        source: &Arc<SourceFile>,
        environment: &Environment,
    ) {
        if let Some(warnings) = &mut self.warnings {
            warnings.check_hook(node, hook, None, source, environment);
            warnings.check_program(node, hook, source, environment);
        }
    }

    /// The beginning of the ids of a file's hooks, different from that of every other file: two
    /// files may have the same stem.
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
