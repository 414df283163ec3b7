//! [`HostFile`]: a file that makes a host call this program.

use serde_json::Value;

/// A file below the user's home folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFile {
    /// Its path below the home folder.
    pub path: &'static str,
    /// Its content.
    pub text: String,
    /// Whether the host starts it as a program.
    pub is_program: bool,
}

impl HostFile {
    /// A file of settings.
    pub(super) fn json(path: &'static str, content: &Value) -> Self {
        let mut text = serde_json::to_string_pretty(content).expect("plain data");
        text.push('\n');
        Self { path, text, is_program: false }
    }
}
