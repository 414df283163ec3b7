//! What can be wrong with an agent's settings that are connected, in words for people.

use std::io;
use std::path::PathBuf;

use hookwright_dialects::hosts::{HostProgram, ProgramVersion};

use super::{Message, without_number};
use crate::text::{count, visible_path};

/// Why an agent was not connected or disconnected.
#[derive(Debug)]
pub(crate) enum ConnectFailure {
    /// Its program is not in `PATH`.
    NotInstalled { agent: &'static str, program: HostProgram },
    /// No agent's program is in `PATH`.
    NoneInstalled,
    /// Its program is too old for our entries.
    TooOld {
        agent: &'static str,
        found: ProgramVersion,
        program: HostProgram,
        missing: &'static str,
    },
    /// There is no home folder for the user's settings.
    NoHome { agent: &'static str },
    /// The path of this program cannot be written into settings.
    OwnPath { path: PathBuf },
    /// The system does not tell the path of this program.
    OwnPathUnknown { cause: io::Error },
    /// A file cannot be read or replaced.
    File(SettingsFileError),
    /// A file that has to be ours alone is someone else's.
    NotOurs { agent: &'static str, path: PathBuf },
    /// The record of what was changed cannot be read or written.
    Record { path: PathBuf, cause: io::Error },
    /// The record of what was changed is damaged.
    DamagedRecord { path: PathBuf },
    /// Another process is connecting the same file.
    Busy { path: PathBuf },
    /// The plugin does not load.
    PluginFails { agent: &'static str, cause: String },
    /// There is no terminal to ask in.
    NobodyToAsk { files: usize, command: String },
    /// The agent was not made to trust the hooks.
    NotTrusted { agent: &'static str, cause: String },
}

/// Why a file cannot be read or replaced. It stays as it is.
#[derive(Debug)]
pub(crate) enum SettingsFileError {
    DanglingLink { path: PathBuf, target: PathBuf },
    NotAFile { path: PathBuf },
    NotAFolder { path: PathBuf, file: PathBuf },
    OfOthers { path: PathBuf, owner: u32 },
    ReadOnly { path: PathBuf },
    FolderReadOnly { path: PathBuf, file: PathBuf },
    SeveralNames { path: PathBuf, names: u64 },
    TooLarge { path: PathBuf, bytes_max: u64 },
    NotText { path: PathBuf, at: usize },
    Unreadable { path: PathBuf, cause: io::Error },
    ChangedMeanwhile { path: PathBuf },
    CannotWrite { path: PathBuf, cause: io::Error },
}

impl ConnectFailure {
    /// What a person is told.
    pub(super) fn message(&self) -> Message {
        let (heading, place, help) = match self {
            ConnectFailure::NotInstalled { agent, program } => (
                format!("{agent} is not installed: found no program `{}` in PATH", program.name),
                None,
                format!("install it: `{}`", program.install_command()),
            ),
            ConnectFailure::NoneInstalled => (
                "found no program of an agent in PATH".into(),
                None,
                "install one; `hookwright connect --detect` lists them with the commands to type"
                    .into(),
            ),
            ConnectFailure::TooOld { agent, found, program, missing } => (
                format!("{agent} {found} is too old: {missing}"),
                None,
                format!(
                    "update it to {} or newer: `{}`",
                    program.measured,
                    program.install_command()
                ),
            ),
            ConnectFailure::NoHome { agent } => (
                format!("cannot locate the settings of {agent}: HOME is not set"),
                None,
                "set HOME, or connect a project: `--project`".into(),
            ),
            ConnectFailure::OwnPath { path } => (
                "the path of this program cannot be written into settings, or not be recognised there"
                    .into(),
                Some(path),
                "install it as `hookwright` in a folder whose path has no quotes, brackets or control \
                 characters"
                    .into(),
            ),
            ConnectFailure::OwnPathUnknown { cause } => (
                format!("cannot locate this program: {}", without_number(cause)),
                None,
                "call it by its full path".into(),
            ),
            ConnectFailure::File(error) => return error.message(),
            ConnectFailure::NotOurs { agent, path } => (
                format!("{agent} starts this program for its event, and it is not from hookwright"),
                Some(path),
                "nothing was changed; move it away, or call `hookwright hook` in it yourself".into(),
            ),
            ConnectFailure::Record { path, cause } => (
                format!("the record for `--undo` cannot be used: {}", without_number(cause)),
                Some(path),
                "check who owns the folder and whether the disk is full".into(),
            ),
            ConnectFailure::DamagedRecord { path } => (
                "the record for `--undo` is damaged".into(),
                Some(path),
                "remove it, then try again: `--undo` then removes only the entries of hookwright"
                    .into(),
            ),
            ConnectFailure::Busy { path } => (
                "another process is connecting this file".into(),
                Some(path),
                "end the other `hookwright connect`, then try again".into(),
            ),
            ConnectFailure::PluginFails { agent, cause } => (
                format!("{agent} would not load the plugin: {cause}"),
                None,
                "nothing was changed; please report this".into(),
            ),
            ConnectFailure::NobodyToAsk { files, command } => (
                match files {
                    0 => "hooks are not trusted yet, and there is no terminal to ask in".into(),
                    files => format!(
                        "{} would change, and there is no terminal to ask in",
                        count(*files, "file")
                    ),
                },
                None,
                format!("nothing was changed; read the differences above, then run: `{command}`"),
            ),
            ConnectFailure::NotTrusted { agent, cause } => (
                format!("{agent} does not run the hooks yet: {cause}"),
                None,
                "trust them in the agent itself, or try again".into(),
            ),
        };
        Message { heading, place: place.map(|path| visible_path(path)), help }
    }
}

impl SettingsFileError {
    fn message(&self) -> Message {
        let (heading, path, help) = match self {
            SettingsFileError::DanglingLink { path, target } => (
                format!("this is a link to `{}`, which does not exist", visible_path(target)),
                path,
                "create the file that it leads to, or remove the link".into(),
            ),
            SettingsFileError::NotAFile { path } => (
                "expected a file but found a folder, a pipe or a device".into(),
                path,
                "remove it, or move it away".into(),
            ),
            SettingsFileError::NotAFolder { path, file } => (
                format!("expected a folder for `{}` but found a file", visible_path(file)),
                path,
                "remove it, or move it away".into(),
            ),
            SettingsFileError::OfOthers { path, owner } => (
                format!("the file belongs to another user (uid {owner})"),
                path,
                "nothing was changed; run this as its owner".to_owned(),
            ),
            SettingsFileError::ReadOnly { path } => (
                "the file is read-only".into(),
                path,
                format!(
                    "nothing was changed; make it writable: `chmod u+w {}`",
                    visible_path(path)
                ),
            ),
            SettingsFileError::FolderReadOnly { path, file } => (
                format!("cannot write `{}`: its folder is read-only", visible_path(file)),
                path,
                "nothing was changed; make the folder writable".into(),
            ),
            SettingsFileError::SeveralNames { path, names } => (
                format!(
                    "the file has {names} names (hard links), and replacing it would part them"
                ),
                path,
                "nothing was changed; copy it, so that it has one name".into(),
            ),
            SettingsFileError::TooLarge { path, bytes_max } => (
                format!("the file has more than {bytes_max} bytes"),
                path,
                "nothing was changed; add the entries yourself: docs/hosts.md has them".into(),
            ),
            SettingsFileError::NotText { path, at } => (
                format!("the file is not UTF-8 (byte {at})"),
                path,
                "nothing was changed; save it as UTF-8".into(),
            ),
            SettingsFileError::Unreadable { path, cause } => (
                format!("the file cannot be read: {}", without_number(cause)),
                path,
                "nothing was changed; check who owns it and its folder".into(),
            ),
            SettingsFileError::ChangedMeanwhile { path } => (
                "the file was changed by another program after it was read".into(),
                path,
                "it was left as it is; try again".into(),
            ),
            SettingsFileError::CannotWrite { path, cause } => (
                format!("the file cannot be written: {}", without_number(cause)),
                path,
                "it was left as it is; check who owns it and whether the disk is full".into(),
            ),
        };
        Message { heading, place: Some(visible_path(path)), help }
    }
}
