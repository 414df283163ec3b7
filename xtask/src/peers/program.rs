//! [`Program`]: the four agents with presets, from npm. How each is redirected to a local server is in
//! the dialects (`hosts/NAME/offline.rs`), where the probe has it from too.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_dialects::hosts;

/// One agent's program.
pub(crate) struct Program {
    /// The name of its preset and its program.
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    /// The version that was recorded.
    pub(crate) version: &'static str,
    /// Its arguments, as in its preset. The recordings keep them, and a test compares.
    pub(crate) arguments: &'static [&'static str],
    /// The model that a test requests.
    pub(crate) model: &'static str,
    /// The folder below the home directory in which it records its sessions, if its preset reads
    /// that.
    pub(crate) session_files: Option<&'static str>,
}

pub(crate) const ALL: &[Program] = &[
    Program {
        name: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.197",
        arguments: &[
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
        ],
        model: "claude-opus-4-5",
        session_files: None,
    },
    Program {
        name: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        arguments: &[
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
        ],
        model: "gpt-5",
        session_files: Some(".codex/sessions"),
    },
    Program {
        name: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        arguments: &["--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"],
        model: "gemini-2.5-pro",
        session_files: None,
    },
    Program {
        name: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        arguments: &["run", "--format", "json", "--auto"],
        model: "script/model",
        session_files: None,
    },
];

impl Program {
    /// Redirects it to this address, and returns its environment.
    pub(crate) fn point_at(&self, url: &str, home: &Path) -> Result<Vec<(String, String)>, String> {
        let host = hosts::named(self.name).ok_or(format!("no host `{}`", self.name))?;
        for (name, text) in host.offline.files(url) {
            let path = home.join(name);
            let folder = path.parent().ok_or("a folder")?;
            fs::create_dir_all(folder).map_err(|error| error.to_string())?;
            fs::write(&path, text).map_err(|error| error.to_string())?;
        }
        Ok(host.offline.environment(url))
    }
}

/// The folder with the programs, installed if they are missing.
pub(crate) fn installed(folder: &Path) -> Result<PathBuf, String> {
    let programs = folder.join("node_modules/.bin");
    if ALL.iter().all(|program| programs.join(program.name).exists()) {
        return Ok(programs);
    }
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let prefix = folder.to_string_lossy();
    let packages: Vec<String> =
        ALL.iter().map(|program| format!("{}@{}", program.package, program.version)).collect();
    let mut args = vec!["install", "--prefix", &prefix, "--no-save", "--no-audit", "--no-fund"];
    args.extend(packages.iter().map(String::as_str));
    crate::run("npm", &args)?;
    Ok(programs)
}
