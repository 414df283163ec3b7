//! The file that Claude Code provides to its hooks, for events that we fire: hooks append variables
//! for later commands of the same session.
//!
//! Claude Code itself has one, and so has a session with its own folder. Otherwise a named session
//! gets one in the user's state folder, and a single call a temporary one.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use hookwright_dialects::claude::{ENV_FILE_VARIABLE, wants_env_file};
use hookwright_engine::HookSet;
use hookwright_engine::variables::Environment;
use hookwright_events::Event;
use tempfile::TempPath;

use crate::trust::Sha256;
use crate::user_folders::UserFolders;

/// Such a file, for as long as it is needed.
pub(crate) struct EnvFile {
    path: PathBuf,
    /// Removes the file after the call.
    _only_now: Option<TempPath>,
}

impl EnvFile {
    /// The file for this event's hooks, if they need one and the host provides none. `session` is
    /// their session's name.
    pub(crate) fn lend(
        event: &Event,
        session: Option<&str>,
        hooks: &HookSet,
        environment: &Environment,
    ) -> io::Result<Option<Self>> {
        let has_claudes = || hooks.woken(event).iter().any(|hook| hook.policy.dialect == "claude");
        if !wants_env_file(event) || environment.get(ENV_FILE_VARIABLE).is_some() || !has_claudes()
        {
            return Ok(None);
        }
        let session = session.or(event.text("session")).or(event.text("session_id"));
        match session.filter(|name| !name.is_empty()) {
            Some(session) => Self::of_session(session).map(Some),
            None => {
                let file = tempfile::Builder::new().prefix("hookwright-env-").tempfile()?;
                let path = file.path().to_owned();
                Ok(Some(Self { path, _only_now: Some(file.into_temp_path()) }))
            }
        }
    }

    fn of_session(session: &str) -> io::Result<Self> {
        let state = UserFolders::current().own_state();
        let state = state.ok_or_else(|| io::Error::other("cannot locate the state folder"))?;
        let folder = state.join("env");
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        // The host chooses the session's name, which may not be a valid file name.
        let name = Sha256::digest(session.as_bytes()).to_hex();
        let path = folder.join(format!("{}.sh", &name[..32]));
        OpenOptions::new().create(true).append(true).mode(0o600).open(&path)?;
        Ok(Self { path, _only_now: None })
    }

    /// The hooks' environment, with the file's variable.
    pub(crate) fn environment(&self) -> Environment {
        let own = (ENV_FILE_VARIABLE.into(), self.path.clone().into_os_string());
        Environment::new(std::env::vars_os().chain([own]))
    }
}
