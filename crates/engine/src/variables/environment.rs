//! The environment: the host's, and a child's made from it.
//!
//! The kernel refuses an environment string of 128 KiB, and no string can contain a NUL. A value
//! that does not fit is left out, never cut: `<NAME>_FILE` then names a file with the whole value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::sync::Arc;

use super::steering::steers_interpreters;
use super::{PREFIX, STORE_VARIABLE, VARIABLES, Variables, is_ours};
use crate::limits::{ENV_TOTAL_BYTES_MAX, ENV_VALUE_BYTES_MAX};
use crate::template::{GENERATED, PathReference};

/// The host's environment. Libraries don't read it themselves; the host passes it in.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    all: BTreeMap<OsString, OsString>,
    /// What agents inherit: everything except built-in variables, which would describe another
    /// event.
    for_agents: Arc<[(OsString, OsString)]>,
    /// What hooks inherit: the same, without variables that make interpreters run code.
    for_hooks: Arc<[(OsString, OsString)]>,
}

impl Environment {
    /// The host's environment, without [`STORE_VARIABLE`].
    pub fn new(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut all: BTreeMap<OsString, OsString> = all.into_iter().collect();
        all.remove(OsStr::new(STORE_VARIABLE));
        let for_agents: Arc<[(OsString, OsString)]> = all
            .iter()
            .filter(|(name, _)| !name.to_str().is_some_and(speaks_of_another_event))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        // Most environments have none of them: then both share one list.
        let for_hooks = match for_agents.iter().any(|(name, _)| steers_interpreters(name)) {
            true => {
                for_agents.iter().filter(|(name, _)| !steers_interpreters(name)).cloned().collect()
            }
            false => Arc::clone(&for_agents),
        };
        Self { all, for_agents, for_hooks }
    }

    /// The same with one variable set.
    #[must_use]
    pub fn with(&self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let set = [(name.into(), value.into())];
        Self::new(self.all.clone().into_iter().chain(set))
    }

    /// The same without these variables.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let rest = self.all.iter().filter(|(name, _)| !names.iter().any(|known| name == known));
        Self::new(rest.map(|(name, value)| (name.clone(), value.clone())))
    }

    /// A variable's value, if it is set and valid UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.to_str()
    }

    /// A variable's raw value.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.all.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// What agents inherit: everything except built-in variables.
    pub fn for_agents(&self) -> &Arc<[(OsString, OsString)]> {
        &self.for_agents
    }

    /// What hooks inherit: everything except built-in variables and those that make interpreters
    /// run code.
    pub fn for_hooks(&self) -> &Arc<[(OsString, OsString)]> {
        &self.for_hooks
    }

    /// All names that are valid UTF-8.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.keys().filter_map(|name| name.to_str())
    }
}

fn speaks_of_another_event(name: &str) -> bool {
    is_ours(name) || name.strip_suffix("_FILE").is_some_and(is_ours) || name.starts_with(GENERATED)
}

/// A value that did not fit into the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The variable's name.
    pub name: String,
    /// The reference as written: `${NAME}`, `${NAME.path}` or `{{name}}`.
    pub shown_as: String,
    /// The whole value.
    pub value: String,
}

/// The environment of one child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildEnvironment {
    /// The variables from the host's environment.
    pub inherited: Arc<[(OsString, OsString)]>,
    /// Variables that override those; if a name occurs twice, the last one counts.
    pub strings: Vec<(OsString, OsString)>,
    /// The values that did not fit.
    pub left_out: Vec<LeftOut>,
}

impl ChildEnvironment {
    /// A child's environment: the host's, built-in variables, references into their values, the
    /// dialect's additions, and last what the hook's configuration sets.
    pub fn new(
        variables: &Variables<'_>,
        references: &[PathReference],
        of_dialect: &[OfDialect<'_>],
        set_by_author: &[(String, String)],
    ) -> Self {
        let mut values: Vec<Ours<'_>> = Vec::with_capacity(VARIABLES.len());
        for (variable, text) in variables.texts() {
            if text.is_some() || variable.always_set {
                let (name, prefixed) = (variable.name.as_str(), Some(&variable.prefixed));
                let value = text.unwrap_or_default();
                values.push(Ours { name, prefixed, shown_as: None, value });
            }
        }
        for reference in references {
            let value = variables.at_path(&reference.variable, &reference.path);
            let path = reference.path.join(".");
            let shown_as = Some(format!("${{{}.{path}}}", reference.variable));
            values.push(Ours { name: &reference.generated, prefixed: None, shown_as, value });
        }
        for theirs in of_dialect {
            let value = theirs.value.to_owned();
            let shown_as = theirs.shown_as.clone();
            values.push(Ours { name: theirs.name, prefixed: None, shown_as, value });
        }
        let left_out = take_what_does_not_fit(&mut values);
        let mut strings = Vec::with_capacity(2 * values.len() + set_by_author.len() + 4);
        for ours in values {
            if let Some(prefixed) = ours.prefixed {
                strings.push((prefixed.clone(), OsString::from(&ours.value)));
            }
            strings.push((ours.name.into(), ours.value.into()));
        }
        strings.extend(set_by_author.iter().map(|(name, value)| (name.into(), value.into())));
        Self { inherited: Arc::clone(&variables.environment.for_hooks), strings, left_out }
    }

    /// Puts values that did not fit into files, and names the files in the environment. They exist
    /// as long as the returned folder.
    pub fn place_left_out(&mut self, host: &Environment) -> io::Result<Option<tempfile::TempDir>> {
        let left_out = std::mem::take(&mut self.left_out);
        if left_out.is_empty() {
            return Ok(None);
        }
        let temporary = host.get("TMPDIR").unwrap_or(OsStr::new("/tmp"));
        let folder = tempfile::Builder::new().prefix("hookwright-").tempdir_in(temporary)?;
        for LeftOut { name, value, .. } in &left_out {
            let path = folder.path().join(name);
            std::fs::write(&path, value)?;
            self.set(format!("{name}_FILE"), &path);
            self.set(format!("{PREFIX}{name}_FILE"), &path);
        }
        Ok(Some(folder))
    }

    /// Sets one more variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.strings.push((name.into(), value.into()));
    }
}

/// A variable that a dialect adds.
#[derive(Debug, Clone)]
pub struct OfDialect<'a> {
    /// The variable's name.
    pub name: &'a str,
    /// The reference as written, if that is not `${NAME}`.
    pub shown_as: Option<String>,
    /// The variable's value.
    pub value: &'a str,
}

struct Ours<'a> {
    name: &'a str,
    prefixed: Option<&'a OsString>,
    shown_as: Option<String>,
    value: String,
}

/// Removes values that are too large or contain a NUL, then the largest until the rest fits.
fn take_what_does_not_fit(values: &mut Vec<Ours<'_>>) -> Vec<LeftOut> {
    let mut total: usize = values.iter().map(|ours| ours.value.len()).sum();
    // Nearly always everything fits; then nothing is sorted or moved.
    let fits =
        |ours: &Ours<'_>| ours.value.len() <= ENV_VALUE_BYTES_MAX && !ours.value.contains('\0');
    if total <= ENV_TOTAL_BYTES_MAX && values.iter().all(fits) {
        return Vec::new();
    }
    let mut largest_first: Vec<usize> = (0..values.len()).collect();
    largest_first.sort_by_key(|at| std::cmp::Reverse(values[*at].value.len()));
    let mut out = vec![false; values.len()];
    for at in largest_first.iter().copied().filter(|at| !fits(&values[*at])) {
        out[at] = true;
        total -= values[at].value.len();
    }
    for at in largest_first {
        if total > ENV_TOTAL_BYTES_MAX && !out[at] {
            out[at] = true;
            total -= values[at].value.len();
        }
    }
    let mut left_out = Vec::new();
    let mut number = 0;
    values.retain_mut(|ours| {
        number += 1;
        if !out[number - 1] {
            return true;
        }
        let shown_as = ours.shown_as.take().unwrap_or_else(|| format!("${{{}}}", ours.name));
        let value = std::mem::take(&mut ours.value);
        left_out.push(LeftOut { name: ours.name.to_owned(), shown_as, value });
        false
    });
    left_out
}
