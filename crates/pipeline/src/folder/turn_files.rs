//! The texts of a turn: the prompt, and what the agent printed while it worked.
//!
//! `output.md` is what an agent leaves for later stages, and it may write that itself. These two
//! files are for people who want to know what happened. Both are bounded, and secrets are redacted
//! in both.

use std::path::Path;

use hookwright_process::Captured;

use super::open_folder::Read;
use super::{
    FolderError, IterationAt, OpenIteration, SessionFolder, SessionName, StageAt, numbers,
};
use crate::limits::{PROMPT_KEPT_BYTES_MAX, SAID_KEPT_BYTES_MAX};
use crate::record::SessionRecord;

/// A turn of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnAt<'a> {
    /// The iteration whose folder has its files.
    pub iteration: IterationAt<'a>,
    /// The kind of turn in that folder.
    pub kind: TurnKind,
}

/// The kinds of turns in an iteration's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnKind {
    /// The iteration itself.
    Iteration,
    /// The delivery of raw hook output after that iteration, which was the last.
    RawDelivery,
}

impl TurnKind {
    /// The names of its files: the prompt, and what the agent said.
    fn files(self) -> [&'static str; 2] {
        match self {
            Self::Iteration => ["prompt.md", "said.md"],
            Self::RawDelivery => ["final-prompt.md", "final-said.md"],
        }
    }
}

/// The stored texts of a turn; `None` if there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnTexts {
    /// The agent's prompt.
    pub prompt: Option<String>,
    /// The agent's output, both streams in the order in which it came.
    pub said: Option<String>,
}

/// The part of a prompt that is stored.
pub(crate) fn kept_prompt(prompt: &str) -> String {
    let mut kept = Captured::default();
    kept.push(prompt.as_bytes(), PROMPT_KEPT_BYTES_MAX);
    kept.text().into_owned()
}

impl OpenIteration {
    /// Stores a prompt, and removes what an earlier attempt said.
    pub fn keep_prompt(&self, turn: TurnKind, prompt: &str) -> Result<(), FolderError> {
        let [prompt_file, said_file] = turn.files();
        self.0.remove(said_file)?;
        self.0.replace(prompt_file, prompt.as_bytes())
    }

    /// Stores what an agent said.
    pub fn keep_said(&self, turn: TurnKind, said: &str) -> Result<(), FolderError> {
        let [_, said_file] = turn.files();
        self.0.replace(said_file, said.as_bytes())
    }
}

impl SessionFolder {
    /// The folder of a recorded session; `None` if the record names no valid one.
    pub fn of_record(record: &SessionRecord) -> Option<Self> {
        let session: SessionName = record.name.parse().ok()?;
        let Some(folder) = &record.folder else {
            return Some(Self::new(&record.workspace, session));
        };
        let names = Path::new(folder).components().map(|part| match part {
            std::path::Component::Normal(name) => name.to_str().map(str::to_owned),
            _ => None,
        });
        Some(Self::at((&record.workspace).into(), session, names.collect::<Option<_>>()?))
    }

    /// The last iteration of a stage that has a folder; 1 if there is none.
    pub fn last_iteration(&self, stage: StageAt<'_>) -> Result<u32, FolderError> {
        let iterations = self.open(&[&stage.folder_name(), "iterations"])?;
        let numbers = iterations.as_ref().map(numbers).transpose()?;
        Ok(numbers.and_then(|numbers| numbers.last().copied()).unwrap_or(1))
    }

    /// The stored texts of a turn.
    pub fn read_turn(&self, turn: TurnAt<'_>) -> Result<TurnTexts, FolderError> {
        let Some(folder) = self.open_iteration(turn.iteration)? else {
            return Ok(TurnTexts::default());
        };
        // The agent can write here too.
        let most = (PROMPT_KEPT_BYTES_MAX.max(SAID_KEPT_BYTES_MAX) * 2) as u64;
        let [prompt, said] = turn.kind.files().map(|name| match folder.0.read(name, most)? {
            Read::Missing | Read::NotAFile { .. } => Ok(None),
            Read::TooBig { bytes } => Ok(Some(format!("[{bytes} bytes, too many to be read]"))),
            Read::Whole(whole) => Ok(Some(String::from_utf8_lossy(&whole).into_owned())),
        });
        Ok(TurnTexts { prompt: prompt?, said: said? })
    }
}
