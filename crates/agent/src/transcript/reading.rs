//! Continuing a transcript: the conversation that it contains, and the file itself, ready for more
//! lines.
//!
//! The conversation is rebuilt as the model saw it: with the inputs that hooks rewrote and the contexts
//! that they added, and without what a compaction replaced. A call without a result gets the result
//! that it was cut off; it is not repeated.
//!
//! A transcript is checked before it is used. Its lines form a chain, each names the one before it, and
//! the host knows the digest of its beginnings ([`TranscriptMark`]). One that was edited is refused. If
//! its end is missing, because the machine or the disk failed, the rest is used, with a notice. A
//! boundary without everything that belongs behind it is such an end too: the conversation in front
//! of it goes on.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::Value;

use super::{Transcript, TranscriptFacts};
use crate::limits::{TRANSCRIPT_BYTES_MAX, TRANSCRIPT_LINE_BYTES_MAX};
use crate::message::{Block, Message, Role};

/// What the model reads of a call whose end is unknown.
const CUT_OFF: &str = "This call was cut off: the program was ended before the call's result was \
    recorded. It may have run, in part or to its end. It was not run again.";

/// The length of a transcript at one moment, and the digest of what it contained then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptMark {
    /// Its bytes.
    pub bytes: u64,
    /// SHA-256 of these bytes, in hexadecimal.
    pub digest: String,
}

/// A transcript that is continued.
#[derive(Debug)]
pub struct ContinuedTranscript {
    /// The file, ready for more lines.
    pub transcript: Transcript,
    /// The conversation. Every call in it has a result, except those of `cut_off`.
    pub messages: Vec<Message>,
    /// The results of the last calls, if these were cut off: for the next message of the user.
    pub cut_off: Vec<Block>,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// Why a transcript cannot be continued.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// It is larger than the limit.
    #[error("it has {bytes} bytes, and {TRANSCRIPT_BYTES_MAX} is the limit")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// It is not as the session wrote it.
    #[error("it was changed after the session wrote it, in line {line} or before")]
    Edited {
        /// The line at which that was noticed, from 1.
        line: u64,
    },
    /// A line is not what a transcript contains.
    #[error("line {line} is no line of this session's transcript: {cause}")]
    BadLine {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        cause: String,
    },
}

impl Transcript {
    /// Opens the transcript of a session to continue it. `marks` are those that the host has recorded,
    /// oldest first.
    pub fn reopen(
        path: &Path,
        facts: TranscriptFacts,
        marks: &[TranscriptMark],
    ) -> Result<ContinuedTranscript, TranscriptError> {
        // A link in its place would lead us to write into another file.
        let no_links = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).custom_flags(no_links).open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file").into());
        }
        let bytes = metadata.len();
        if bytes > TRANSCRIPT_BYTES_MAX {
            return Err(TranscriptError::TooLarge { bytes });
        }
        let mut transcript = Transcript {
            file,
            path: path.to_owned(),
            written: 0,
            lines: 0,
            digest: hmac_sha256::Hash::new(),
            facts,
            last_uuid: None,
        };
        let mut rebuilt = Rebuilt::default();
        let is_cut = transcript.read_lines(marks, &mut rebuilt)?;
        let lacks_summary = rebuilt.unfinished.is_some();
        if let Some(before) = rebuilt.unfinished.take() {
            transcript.written = before.written;
            transcript.lines = before.lines;
            transcript.digest = before.digest;
            transcript.last_uuid = before.last_uuid;
            rebuilt.messages = before.messages;
        }
        let mut notices = Vec::new();
        let expected = marks.last().map_or(0, |mark| mark.bytes);
        if transcript.written < expected {
            notices.push(format!(
                "the end of the transcript is missing: {} of at least {expected} bytes are left; the \
                 model does not know what was said there",
                transcript.written
            ));
        } else if lacks_summary {
            notices.push(
                "the last compaction was cut off while it was written; the conversation goes on \
                 without it"
                    .to_owned(),
            );
        } else if is_cut {
            notices.push(
                "the last line of the transcript was cut off in the middle; it is left out"
                    .to_owned(),
            );
        }
        transcript.file.set_len(transcript.written)?;
        transcript.file.seek(SeekFrom::Start(transcript.written))?;
        super::wholeness::subagents_whole(path);
        let (messages, cut_off) = rebuilt.finish();
        Ok(ContinuedTranscript { transcript, messages, cut_off, notices })
    }

    /// Reads all whole lines. Returns whether half a line follows them.
    fn read_lines(
        &mut self,
        marks: &[TranscriptMark],
        rebuilt: &mut Rebuilt,
    ) -> Result<bool, TranscriptError> {
        let mut reader = BufReader::new(File::try_clone(&self.file)?);
        let mut marks = marks.iter().peekable();
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = TRANSCRIPT_LINE_BYTES_MAX + 1;
            let read = reader.by_ref().take(most).read_until(b'\n', &mut line)? as u64;
            let number = self.lines + 1;
            if read == 0 {
                return Ok(false);
            }
            if line.last() != Some(&b'\n') {
                if read == most {
                    let cause = format!("it has more than {TRANSCRIPT_LINE_BYTES_MAX} bytes");
                    return Err(TranscriptError::BadLine { line: number, cause });
                }
                return Ok(true);
            }
            let so_far = (self.written, self.lines, self.digest);
            self.written += read;
            self.lines = number;
            self.digest.update(&line);
            while let Some(mark) = marks.next_if(|mark| mark.bytes <= self.written) {
                if *mark != self.mark() {
                    return Err(TranscriptError::Edited { line: number });
                }
            }
            let bad = |cause: String| TranscriptError::BadLine { line: number, cause };
            let value: Value =
                serde_json::from_slice(&line).map_err(|error| bad(error.to_string()))?;
            if value["sessionId"] != self.facts.session_id.as_str() {
                return Err(bad("it names another session".to_owned()));
            }
            // A boundary begins a new conversation, and names the line before it by another field.
            let is_boundary = value["subtype"] == "compact_boundary";
            let before = if is_boundary { "logicalParentUuid" } else { "parentUuid" };
            if value[before].as_str() != self.last_uuid.as_deref() {
                return Err(bad("it does not follow the line before it".to_owned()));
            }
            let uuid = value["uuid"].as_str().map(str::to_owned);
            let last_uuid = std::mem::replace(&mut self.last_uuid, uuid);
            if is_boundary {
                let (written, lines, digest) = so_far;
                let messages = std::mem::take(&mut rebuilt.messages);
                let missing = value["messagesBehind"].as_u64().unwrap_or(0);
                let before =
                    BeforeBoundary { missing, written, lines, digest, last_uuid, messages };
                rebuilt.unfinished = Some(before).filter(|before| before.missing > 0);
            }
            rebuilt.add(value).map_err(bad)?;
        }
    }
}

/// The conversation, as far as it is read.
#[derive(Default)]
struct Rebuilt {
    messages: Vec<Message>,
    /// What there was in front of a boundary, while messages behind it are missing.
    unfinished: Option<BeforeBoundary>,
}

/// What there was in front of a boundary.
struct BeforeBoundary {
    /// Messages that belong behind the boundary, and that have not come yet.
    missing: u64,
    written: u64,
    lines: u64,
    digest: hmac_sha256::Hash,
    last_uuid: Option<String>,
    messages: Vec<Message>,
}

impl Rebuilt {
    fn add(&mut self, mut line: Value) -> Result<(), String> {
        if line["isSidechain"] == true {
            return Ok(());
        }
        match line["type"].as_str() {
            Some("user" | "assistant") => {
                let message = serde_json::from_value(line["message"].take());
                let message: Message = message.map_err(|error| error.to_string())?;
                if let Some(before) = &mut self.unfinished {
                    before.missing -= 1;
                    if before.missing == 0 {
                        self.unfinished = None;
                    }
                }
                match self.messages.last_mut().filter(|last| last.role == message.role) {
                    Some(last) => last.content.extend(message.content),
                    None => self.messages.push(message),
                }
            }
            Some("system") if line["subtype"] == "compact_boundary" => self.messages.clear(),
            Some("system") => self.rewrite(&line["rewrittenInput"]),
            _ => {}
        }
        Ok(())
    }

    /// A hook has rewritten the input of a call.
    fn rewrite(&mut self, rewritten: &Value) {
        let (Some(call), Some(new)) =
            (rewritten["tool_use_id"].as_str(), rewritten["input"].as_object())
        else {
            return;
        };
        let blocks = self.messages.iter_mut().rev().flat_map(|message| &mut message.content);
        for block in blocks {
            if let Block::ToolUse { id, input, .. } = block
                && id == call
            {
                input.clone_from(new);
                return;
            }
        }
    }

    /// Every call gets a result behind it; those of the last calls are returned. Results without a call
    /// are left out: no server accepts them.
    fn finish(self) -> (Vec<Message>, Vec<Block>) {
        let mut messages: Vec<Message> = Vec::new();
        let mut open: Vec<String> = Vec::new();
        for mut message in self.messages {
            if message.role == Role::User {
                let is_stray = |block: &Block| matches!(block, Block::ToolResult { tool_use_id, .. } if !open.contains(tool_use_id));
                message.content.retain(|block| !is_stray(block));
                open.retain(|call| !has_result(&message, call));
                if message.content.is_empty() {
                    continue;
                }
            } else {
                close(&mut messages, &mut open);
                open = calls(&message).map(str::to_owned).collect();
            }
            messages.push(message);
        }
        let results = |message: &Message| {
            message.content.iter().all(|block| matches!(block, Block::ToolResult { .. }))
        };
        // Results come before all else in a message, so they can only follow results.
        if messages.last().is_some_and(|last| last.role == Role::User && !results(last)) {
            close(&mut messages, &mut open);
        }
        (messages, open.iter().map(|call| cut_off(call)).collect())
    }
}

/// Gives these calls of the last answer their results.
fn close(messages: &mut Vec<Message>, open: &mut Vec<String>) {
    let missing: Vec<Block> = open.drain(..).map(|call| cut_off(&call)).collect();
    if missing.is_empty() {
        return;
    }
    match messages.last_mut().filter(|last| last.role == Role::User) {
        Some(last) => {
            let is_result = |block: &Block| matches!(block, Block::ToolResult { .. });
            let at = last.content.iter().rposition(is_result).map_or(0, |at| at + 1);
            last.content.splice(at..at, missing);
        }
        None => messages.push(Message::user(missing)),
    }
}

fn calls(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|block| match block {
        Block::ToolUse { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

fn has_result(message: &Message, call: &str) -> bool {
    let is_its = |block: &Block| matches!(block, Block::ToolResult { tool_use_id, .. } if tool_use_id == call);
    message.content.iter().any(is_its)
}

fn cut_off(call: &str) -> Block {
    let (tool_use_id, content) = (call.to_owned(), CUT_OFF.to_owned());
    Block::ToolResult { tool_use_id, content, is_error: true }
}

#[cfg(test)]
mod tests;
