//! Finds shells.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::variables::Environment;

/// Caches the shells that were found, so that `PATH` is searched once.
#[derive(Debug, Default)]
pub(crate) struct Shells {
    found: Mutex<HashMap<String, PathBuf>>,
}

impl Shells {
    pub(super) fn find(
        &self,
        name: &str,
        environment: &Environment,
        folder: &Path,
    ) -> Option<PathBuf> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = found.get(name) {
            return Some(path.clone());
        }
        let path = environment.get("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        let program = hookwright_process::find_program(OsStr::new(name), path, folder)?;
        // A relative path depends on the folder, so it is searched each time.
        if program.is_absolute() && !name.contains('/') {
            found.insert(name.to_owned(), program.clone());
        }
        Some(program)
    }
}
