//! [`SubagentTranscripts`]: the transcripts of a session's subagents, in an order that is the same in
//! every run: by their prompts.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::check_lines;

/// Transcripts of subagents, each with its id.
#[derive(Default)]
pub(super) struct SubagentTranscripts(Vec<(String, String)>);

impl SubagentTranscripts {
    /// Those below the folder of a session.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let Ok(files) = fs::read_dir(folder.join("subagents")) else { return Ok(Self::default()) };
        let mut found = Vec::new();
        for file in files {
            let path = file.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let id = name.strip_prefix("agent-").ok_or_else(|| format!("a file {name}"))?;
            let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
            check_lines(&text)?;
            found.push((prompt(&text), (id.to_owned(), text)));
        }
        found.sort();
        Ok(Self(found.into_iter().map(|(_, transcript)| transcript).collect()))
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.0.iter().map(|(id, _)| id.clone()).collect()
    }

    /// All lines, one transcript after the other.
    pub(super) fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// The first message of a subagent, which is its prompt.
fn prompt(text: &str) -> String {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut messages = lines.filter(|line| line["type"] == "user");
    messages.next().map(|line| line["message"]["content"].to_string()).unwrap_or_default()
}
