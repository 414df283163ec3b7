//! [`Transcript`]: the file with everything that was said, one JSON object a line, in the shape that
//! scripts read which hooks at `session:stop` start (`transcript_path`).
//!
//! Results of calls have a line each, written as soon as the call has ended. `reading.rs` continues a
//! transcript.
//!
//! A line is written whole or not at all: a line that the disk had no room for is taken back. If the
//! program is killed in the middle of one, what there is of it goes when the work is continued
//! ([`make_whole`]).

mod reading;
mod wholeness;

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hookwright_process::faults;
use serde_json::{Map, Value, json};

use crate::agent::{CallResult, CompactTrigger};
use crate::hook_stream::uuid;
use crate::message::{Block, Message, Role};
use crate::model::ModelAnswer;
use crate::tool::ToolEnd;

pub use reading::{ContinuedTranscript, TranscriptError, TranscriptMark};
pub use wholeness::make_whole;

/// The transcript of a session.
pub struct Transcript {
    file: File,
    path: PathBuf,
    written: u64,
    lines: u64,
    /// Of all that is written.
    digest: hmac_sha256::Hash,
    facts: TranscriptFacts,
    last_uuid: Option<String>,
}

/// What every line says.
#[derive(Debug, Clone)]
pub struct TranscriptFacts {
    /// The session's id.
    pub session_id: String,
    /// Where the agent works.
    pub cwd: String,
    /// The version of this program.
    pub version: String,
    /// The id of the subagent whose transcript it is; `None` for the session's own agent.
    pub agent_id: Option<String>,
}

/// Where the transcript of a subagent is: in a folder beside the session's own.
pub fn subagent_path(of_session: &Path, agent_id: &str) -> PathBuf {
    subagents_folder(of_session).join(format!("agent-{agent_id}.jsonl"))
}

fn subagents_folder(of_session: &Path) -> PathBuf {
    of_session.with_extension("").join("subagents")
}

impl Transcript {
    /// A new transcript of a subagent, whose folder is made if it is the first.
    pub fn create_beside(path: &Path, facts: TranscriptFacts) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        Self::create(path, facts)
    }

    /// A new transcript, which only its owner can read. It must not be there yet.
    pub fn create(path: &Path, facts: TranscriptFacts) -> io::Result<Self> {
        faults::point("transcript begins");
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        faults::point("transcript begun");
        let (path, digest) = (path.to_owned(), hmac_sha256::Hash::new());
        Ok(Self { file, path, written: 0, lines: 0, digest, facts, last_uuid: None })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What every line says.
    pub fn facts(&self) -> &TranscriptFacts {
        &self.facts
    }

    /// How long it is, and the digest of what it contains.
    pub fn mark(&self) -> TranscriptMark {
        let digest = self.digest.finalize();
        let digest = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        TranscriptMark { bytes: self.written, digest }
    }

    /// A message of the user.
    pub fn user(&mut self, message: &Message, at: &str) -> io::Result<()> {
        self.line("user", json!({ "message": message }), at)
    }

    /// The result of a call, as a message of its own.
    pub fn result(&mut self, block: &Block, result: &CallResult, at: &str) -> io::Result<()> {
        let mut more = json!({ "message": { "role": "user", "content": [block] } });
        if let Some(response) = response(result) {
            more["toolUseResult"] = response;
        }
        self.line("user", more, at)
    }

    /// What runs in place of the input that the model wrote.
    pub fn rewritten(
        &mut self,
        call: &str,
        input: &Map<String, Value>,
        text: &str,
        at: &str,
    ) -> io::Result<()> {
        let more = json!({
            "subtype": "informational", "content": text, "level": "notice",
            "rewrittenInput": { "tool_use_id": call, "input": input },
        });
        self.line("system", more, at)
    }

    /// An answer of the model.
    pub fn assistant(
        &mut self,
        answer: &ModelAnswer,
        message: &Message,
        at: &str,
    ) -> io::Result<()> {
        let more = json!({ "message": assistant_message(answer, message) });
        self.line("assistant", more, at)
    }

    /// A summary took the place of the conversation: a boundary, and behind it the whole conversation as
    /// it is now. What is in front of the boundary stays in the file, and is no longer sent. The boundary
    /// says how many messages are behind it: if some are missing, because the program was killed while
    /// it wrote them, none of the lines counts.
    pub fn compacted(
        &mut self,
        trigger: CompactTrigger,
        tokens: u64,
        messages: &[Message],
        at: &str,
    ) -> io::Result<()> {
        let boundary = json!({
            "parentUuid": null,
            "logicalParentUuid": self.last_uuid,
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "level": "info",
            "messagesBehind": messages.len(),
            "compactMetadata": { "trigger": trigger.word(), "preTokens": tokens },
        });
        let mut lines = vec![("system", boundary)];
        for (number, message) in messages.iter().enumerate() {
            let kind = if message.role == Role::User { "user" } else { "assistant" };
            let mut more = json!({ "message": message });
            if number == 0 {
                more["isCompactSummary"] = true.into();
            }
            lines.push((kind, more));
        }
        self.write(lines, at)
    }

    /// A message for the user.
    pub fn notice(&mut self, text: &str, at: &str) -> io::Result<()> {
        let more = json!({ "subtype": "informational", "content": text, "level": "notice" });
        self.line("system", more, at)
    }

    fn line(&mut self, kind: &str, more: Value, at: &str) -> io::Result<()> {
        self.write(vec![(kind, more)], at)
    }

    /// Writes lines, all or none.
    fn write(&mut self, lines: Vec<(&str, Value)>, at: &str) -> io::Result<()> {
        let halved = match lines.len() {
            1 => "transcript half line",
            _ => "transcript half block",
        };
        let mut text = String::new();
        let mut last_uuid = self.last_uuid.clone();
        for (kind, more) in lines {
            let (line, id) = self.next_line(kind, more, last_uuid, at);
            text.push_str(&line.to_string());
            text.push('\n');
            last_uuid = Some(id);
        }
        faults::point("transcript line");
        let (first, second) = text.as_bytes().split_at(cut_of(&text));
        let written = self.file.write_all(first).and_then(|()| {
            if !second.is_empty() {
                faults::point(halved);
            }
            self.file.write_all(second)
        });
        faults::point("transcript line written");
        if let Err(error) = written {
            // What is there of the lines goes, so that the last line is never half.
            self.file.set_len(self.written)?;
            self.file.seek(SeekFrom::Start(self.written))?;
            return Err(error);
        }
        self.written += text.len() as u64;
        self.digest.update(text.as_bytes());
        self.last_uuid = last_uuid;
        Ok(())
    }

    fn next_line(
        &mut self,
        kind: &str,
        more: Value,
        last_uuid: Option<String>,
        at: &str,
    ) -> (Value, String) {
        self.lines += 1;
        let facts = &self.facts;
        let id = uuid(&(&facts.session_id, "transcript", self.lines, &facts.agent_id));
        let mut line = json!({
            "parentUuid": last_uuid,
            "isSidechain": facts.agent_id.is_some(),
            "userType": "external",
            "cwd": facts.cwd,
            "sessionId": facts.session_id,
            "version": facts.version,
            "type": kind,
        });
        if let Some(agent_id) = &facts.agent_id {
            line["agentId"] = agent_id.as_str().into();
        }
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more);
        }
        line["uuid"] = id.as_str().into();
        line["timestamp"] = at.into();
        (line, id)
    }
}

impl fmt::Debug for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcript").field("path", &self.path).finish_non_exhaustive()
    }
}

impl From<Transcript> for ContinuedTranscript {
    /// A new transcript, in which nothing was said.
    fn from(transcript: Transcript) -> Self {
        let (messages, cut_off, notices) = Default::default();
        Self { transcript, messages, cut_off, notices }
    }
}

/// An answer as a message of the protocol.
pub fn assistant_message(answer: &ModelAnswer, message: &Message) -> Value {
    json!({
        "id": answer.id,
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": message.content,
        "stop_reason": answer.stop_reason,
        "stop_sequence": null,
        "usage": answer.usage,
    })
}

/// Where a text is divided so that a fault campaign can cut it; otherwise it is written at once. A system
/// that ends a program in the middle of a long write leaves such a part too.
fn cut_of(line: &str) -> usize {
    if cfg!(feature = "faults") { line.len() / 2 } else { line.len() }
}

/// What a tool gave, as hooks read it.
fn response(result: &CallResult) -> Option<Value> {
    match &result.end {
        Some(ToolEnd::Ran { response, .. }) => Some(response.clone()),
        Some(ToolEnd::Failed { error, .. }) => Some(format!("Error: {error}").into()),
        None => result.denied.as_ref().map(|reason| format!("Error: {reason}").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Usage;

    fn facts() -> TranscriptFacts {
        TranscriptFacts {
            session_id: "session-1".to_owned(),
            cwd: "/srv/app".to_owned(),
            version: "1.0.0".to_owned(),
            agent_id: None,
        }
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).expect("readable");
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    #[test]
    fn every_line_names_the_one_before_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.jsonl");
        let mut transcript = Transcript::create(&path, facts()).expect("created");
        transcript.user(&Message::user(vec![Block::text("go")]), "T1").expect("written");
        let message = Message::assistant(vec![Block::text("done")]);
        let answer = ModelAnswer {
            id: "msg_1".to_owned(),
            model: "m".to_owned(),
            content: message.content.clone(),
            broken_inputs: Vec::new(),
            stop_reason: Some("end_turn".to_owned()),
            usage: Usage { input_tokens: 1, output_tokens: 2, ..Usage::default() },
        };
        transcript.assistant(&answer, &message, "T2").expect("written");
        let lines = lines(&path);
        assert_eq!(lines[0]["parentUuid"], Value::Null);
        assert_eq!(lines[1]["parentUuid"], lines[0]["uuid"]);
        assert_eq!(lines[0]["type"], "user");
        assert_eq!(lines[0]["message"]["content"][0]["text"], "go");
        assert_eq!(lines[1]["message"]["usage"]["output_tokens"], 2);
        assert_eq!(lines[1]["timestamp"], "T2");
        assert_eq!(lines[1]["sessionId"], "session-1");
    }

    #[test]
    fn a_subagent_has_a_transcript_of_its_own_beside_the_sessions() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = subagent_path(&folder.path().join("s.1.jsonl"), "a7");
        assert_eq!(path, folder.path().join("s.1/subagents/agent-a7.jsonl"));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        let facts = TranscriptFacts { agent_id: Some("a7".to_owned()), ..facts() };
        let mut transcript = Transcript::create(&path, facts).expect("created");
        transcript.notice("hello", "T1").expect("written");
        let line = &lines(&path)[0];
        assert_eq!((&line["isSidechain"], &line["agentId"]), (&json!(true), &json!("a7")));
    }

    #[test]
    fn behind_a_boundary_is_the_whole_conversation_as_it_is_now() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.jsonl");
        let mut transcript = Transcript::create(&path, facts()).expect("created");
        let user = |text: &str| Message::user(vec![Block::text(text)]);
        transcript.user(&user("go"), "T1").expect("written");
        let now = [user("S"), Message::assistant(vec![Block::text("so far")]), user("next")];
        transcript.compacted(CompactTrigger::Auto, 170_000, &now, "T2").expect("written");
        let lines = lines(&path);
        assert_eq!(lines.len(), 5, "what was said before stays");
        let boundary = &lines[1];
        assert_eq!(boundary["subtype"], "compact_boundary");
        assert_eq!(boundary["parentUuid"], Value::Null);
        assert_eq!(boundary["logicalParentUuid"], lines[0]["uuid"]);
        let metadata = json!({ "trigger": "auto", "preTokens": 170_000 });
        assert_eq!(boundary["compactMetadata"], metadata);
        assert_eq!(lines[2]["isCompactSummary"], true);
        assert_eq!(lines[2]["parentUuid"], boundary["uuid"]);
        for (line, message) in lines[2..].iter().zip(&now) {
            assert_eq!(line["message"], serde_json::to_value(message).expect("JSON"));
        }
        // Without room there is no boundary either.
        transcript.file = File::open(&path).expect("opened");
        assert!(transcript.compacted(CompactTrigger::Manual, 1, &now, "T3").is_err());
        assert_eq!(self::lines(&path).len(), 5);
    }

    #[test]
    fn a_transcript_that_is_there_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, "mine").expect("written");
        let error = Transcript::create(&path, facts()).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }

    /// A file system without room, as big as a few lines.
    #[test]
    fn the_last_line_is_never_half() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.jsonl");
        let mut transcript = Transcript::create(&path, facts()).expect("created");
        transcript.notice("first", "T1").expect("written");
        // A file that is open for reading only refuses every write.
        transcript.file = File::open(&path).expect("opened");
        let error = transcript.notice("second", "T2");
        assert!(error.is_err());
        assert_eq!(lines(&path).len(), 1);
    }
}
