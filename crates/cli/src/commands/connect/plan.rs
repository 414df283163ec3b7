//! What has to change in the files of an agent. Nothing is written here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hookwright_config::Fault;
use hookwright_dialects::hosts::{FileShare, Host, HostFile, connected, disconnected};

use super::settings_file::SettingsFile;
use super::undo_record::{LockedRecord, UndoRecord};
use crate::error::{ConnectFailure, SettingsFileError};

/// Where an agent's files are.
#[derive(Debug, Clone)]
pub(super) struct AgentFolders {
    pub(super) home: Option<PathBuf>,
    /// The project, if its settings are meant.
    pub(super) project: Option<PathBuf>,
    /// This user's state of hookwright.
    pub(super) state: PathBuf,
}

/// A file, and what has to happen to it.
#[derive(Debug)]
pub(super) struct FilePlan {
    pub(super) file: SettingsFile,
    pub(super) change: FileChange,
    /// Whether the agent starts it as a program.
    pub(super) is_program: bool,
}

/// What has to happen to a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileChange {
    Nothing,
    Write(String),
    /// It becomes a program.
    MakeExecutable,
    /// It was created by a connection, and these folders with it.
    Remove(Vec<PathBuf>),
}

/// Why no plan could be made.
#[derive(Debug)]
pub(super) enum PlanFailure {
    /// Another error.
    Failed(ConnectFailure),
    /// The settings are broken, or have something unexpected.
    Fault(Box<Fault>),
}

impl From<ConnectFailure> for PlanFailure {
    fn from(failure: ConnectFailure) -> Self {
        Self::Failed(failure)
    }
}

impl From<SettingsFileError> for PlanFailure {
    fn from(error: SettingsFileError) -> Self {
        Self::Failed(ConnectFailure::File(error))
    }
}

impl AgentFolders {
    /// The path of an agent's file.
    pub(super) fn path(&self, host: &Host, file: &HostFile) -> Result<PathBuf, ConnectFailure> {
        match &self.project {
            Some(project) => Ok(file.of_project(project)),
            None => file
                .of_user(self.home.as_deref(), &variable)
                .ok_or(ConnectFailure::NoHome { agent: host.display_name }),
        }
    }
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// What connecting changes in one file, and what to tell the user about it.
pub(super) fn to_connect(
    host: &Host,
    target: &HostFile,
    path: &Path,
) -> Result<(FilePlan, Vec<String>), PlanFailure> {
    let file = SettingsFile::read(path)?;
    if target.share == FileShare::Own
        && let Some(content) = &file.content
        && !host.is_own_file(target, &content.text)
    {
        let (agent, path) = (host.display_name, file.named);
        return Err(ConnectFailure::NotOurs { agent, path }.into());
    }
    let merged = connected(host, target, file.text())
        .map_err(|fault| PlanFailure::Fault(Box::new(fault.in_file(path, file.text()))))?;
    let is_same = file.content.as_ref().is_some_and(|content| content.text == merged.text);
    let change = match (is_same, target.is_program && !file.is_executable()) {
        (false, _) => FileChange::Write(merged.text),
        (true, true) => FileChange::MakeExecutable,
        (true, false) => FileChange::Nothing,
    };
    Ok((FilePlan { file, change, is_program: target.is_program }, merged.notes))
}

/// What `--undo` changes in one file. A file that is as we left it gets its old content back;
/// otherwise only our entries go.
pub(super) fn to_disconnect(
    host: &Host,
    target: &HostFile,
    path: &Path,
    state: &Path,
) -> Result<FilePlan, PlanFailure> {
    let file = SettingsFile::read(path)?;
    let plan = |file, change| FilePlan { file, change, is_program: target.is_program };
    let Some(content) = file.content.clone() else { return Ok(plan(file, FileChange::Nothing)) };
    let record = LockedRecord::of(state, &file)?.read()?;
    if let Some(change) = restored(record.as_ref(), &content.text) {
        return Ok(plan(file, change));
    }
    if record.is_none() && !content.text.contains("hookwright") {
        return Ok(plan(file, FileChange::Nothing));
    }
    let original = record.as_ref().map_or(Some(""), UndoRecord::original_text);
    let left = disconnected(host, target, &content.text, original)
        .map_err(|fault| PlanFailure::Fault(Box::new(fault.in_file(path, &content.text))))?;
    let change = match left {
        None => FileChange::Remove(record.map(|record| record.folders).unwrap_or_default()),
        Some(text) if text == content.text => FileChange::Nothing,
        Some(text) => FileChange::Write(text),
    };
    Ok(plan(file, change))
}

/// What gives a file its old content back, if it is as we left it.
pub(super) fn restored(record: Option<&UndoRecord>, text: &str) -> Option<FileChange> {
    let record = record?;
    if !record.is_edited && record.original_text() == Some(text) {
        return Some(FileChange::Nothing);
    }
    if !record.is_as_written(text) {
        return None;
    }
    Some(match record.original_text() {
        Some(original) => FileChange::Write(original.to_owned()),
        None => FileChange::Remove(record.folders.clone()),
    })
}

impl FilePlan {
    /// Writes the change, and what `--undo` needs first.
    pub(super) fn connect(&self, state: &Path) -> Result<(), ConnectFailure> {
        let text = match &self.change {
            FileChange::Write(text) => text,
            FileChange::MakeExecutable => self.file.text(),
            FileChange::Nothing | FileChange::Remove(_) => return Ok(()),
        };
        let locked = LockedRecord::of(state, &self.file)?;
        let record = UndoRecord::for_write(locked.read()?, &self.file, text);
        locked.write(&record, &self.file.named)?;
        self.file.replace(text, self.is_program).map_err(ConnectFailure::File)
    }

    /// Takes the change back, and forgets the file.
    pub(super) fn disconnect(&self, state: &Path) -> Result<(), ConnectFailure> {
        let locked = LockedRecord::of(state, &self.file)?;
        match &self.change {
            FileChange::Write(text) => self.file.replace(text, false),
            FileChange::Remove(folders) => self.file.remove(folders),
            FileChange::Nothing | FileChange::MakeExecutable => Ok(()),
        }
        .map_err(ConnectFailure::File)?;
        locked.remove()
    }

    /// The text before and after.
    pub(super) fn texts(&self) -> (&str, &str) {
        let before = self.file.text();
        match &self.change {
            FileChange::Write(after) => (before, after),
            FileChange::Remove(_) => (before, ""),
            FileChange::Nothing | FileChange::MakeExecutable => (before, before),
        }
    }
}
