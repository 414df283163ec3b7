//! [`TrustDialogue`]: how a host that runs only trusted hooks is asked to trust ours: by its own program,
//! in JSON messages of one line each.
//!
//! Every function is pure; `cli` starts the program and exchanges the messages.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// How a host is asked to trust hooks.
#[derive(Debug, Clone, Copy)]
pub struct TrustDialogue {
    /// The arguments with which its program answers messages.
    pub arguments: &'static [&'static str],
    /// The file with its trust, beside the settings of the user.
    pub file: &'static str,
    /// The first request.
    pub hello: fn() -> HostRequest,
    /// The message after the answer to it.
    pub ready: fn() -> Value,
    /// Asks for the hooks that it finds for a project in this folder.
    pub list: fn(&Path) -> HostRequest,
    /// Reads the answer. `Err` is why it reads the settings not at all.
    pub listed: fn(&Value) -> Result<Vec<ListedHook>, String>,
    /// Asks it to trust these hooks.
    pub trust: fn(&[ListedHook]) -> HostRequest,
    /// Asks it to forget the trust of the hooks with these names.
    pub forget: fn(&[String]) -> HostRequest,
}

/// A request to a host's program.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRequest {
    /// Its number; the answer has the same.
    pub id: u64,
    /// The message.
    pub message: Value,
}

/// A hook that a host finds in its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedHook {
    /// The host's name for it.
    pub name: String,
    /// The file that it is from.
    pub file: PathBuf,
    /// Its command.
    pub command: String,
    /// The host's digest of it.
    pub digest: String,
    /// Whether the host runs it.
    pub is_trusted: bool,
    /// Whether the command is a call of this program.
    pub is_ours: bool,
}
