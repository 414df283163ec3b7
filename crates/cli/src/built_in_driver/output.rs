//! [`TurnAudience`]: what a turn of the built-in agent prints, and its transcripts.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_agent::agent::{AgentNews, Audience};
use hookwright_agent::hooks::SubagentFacts;
use hookwright_agent::message::{Block, Message};
use hookwright_agent::transcript::{Transcript, TranscriptFacts};
use hookwright_engine::ports::Clock as _;
use hookwright_engine::ports::memory::SystemClock;
use hookwright_process::Stream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Texts on their way to the session. They are taken whenever the agent waits, so there are never more
/// of them than one answer has.
pub(super) struct TurnOutput(UnboundedReceiver<(Stream, String)>);

impl TurnOutput {
    /// The next text.
    pub(super) async fn next(&mut self) -> Option<(Stream, String)> {
        self.0.recv().await
    }

    /// One that has come already.
    pub(super) fn waiting(&mut self) -> Option<(Stream, String)> {
        self.0.try_recv().ok()
    }
}

/// Prints what the agent says, and keeps its transcript.
#[derive(Clone)]
pub(super) struct TurnAudience {
    sender: UnboundedSender<(Stream, String)>,
    facts: TranscriptFacts,
    /// `None` if that of a subagent could not be created.
    transcript: Option<Arc<Mutex<Transcript>>>,
}

impl TurnAudience {
    pub(super) fn new(transcript: Transcript) -> (Self, TurnOutput) {
        let (sender, receiver) = unbounded_channel();
        let facts = transcript.facts().clone();
        let transcript = Some(Arc::new(Mutex::new(transcript)));
        (Self { sender, facts, transcript }, TurnOutput(receiver))
    }

    fn print(&self, stream: Stream, text: &str) {
        if !text.trim().is_empty() {
            // The driver takes them as long as the agent works.
            let _ = self.sender.send((stream, format!("{}\n", text.trim_end())));
        }
    }

    fn write(&self, line: impl FnOnce(&mut Transcript, &str) -> std::io::Result<()>) {
        let Some(transcript) = &self.transcript else { return };
        let mut transcript = transcript.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = line(&mut transcript, &SystemClock.now()) {
            self.print(Stream::Stderr, &format!("the transcript lacks a line: {error}"));
        }
    }
}

impl Audience for TurnAudience {
    fn see(&self, news: AgentNews<'_>) {
        match news {
            AgentNews::Answer { answer, message } => {
                self.write(|transcript, at| transcript.assistant(answer, message, at));
                self.print(Stream::Stdout, &message.plain_text());
            }
            AgentNews::UserMessage { message, results } => {
                // Results are in the transcript already.
                let is_new = |block: &&Block| {
                    results.is_empty() || !matches!(block, Block::ToolResult { .. })
                };
                let content: Vec<Block> = message.content.iter().filter(is_new).cloned().collect();
                if !content.is_empty() {
                    self.write(|transcript, at| transcript.user(&Message::user(content), at));
                }
            }
            AgentNews::CallResult { block, result } => {
                self.write(|transcript, at| transcript.result(block, result, at));
            }
            AgentNews::InputRewritten { call, input, text } => {
                self.write(|transcript, at| transcript.rewritten(call, input, text, at));
                self.print(Stream::Stderr, text);
            }
            AgentNews::HookMessage(text) | AgentNews::Notice(text) => {
                self.write(|transcript, at| transcript.notice(text, at));
                self.print(Stream::Stderr, text);
            }
            AgentNews::Compacted { trigger, tokens, messages } => {
                self.write(|transcript, at| transcript.compacted(trigger, tokens, messages, at));
                let text = format!("the conversation was compacted; it had about {tokens} tokens");
                self.print(Stream::Stderr, &text);
            }
            AgentNews::Retry { error, .. } => self.print(Stream::Stderr, &error.reason),
            AgentNews::Stream(_) => {}
        }
    }

    fn for_subagent(&self, subagent: &Arc<SubagentFacts>) -> Arc<dyn Audience> {
        let facts = TranscriptFacts { agent_id: Some(subagent.id.clone()), ..self.facts.clone() };
        let path = &subagent.transcript_path;
        let transcript = match Transcript::create_beside(Path::new(path), facts.clone()) {
            Ok(transcript) => Some(Arc::new(Mutex::new(transcript))),
            Err(error) => {
                let text = format!("{path}: the transcript of a subagent is missing: {error}");
                self.print(Stream::Stderr, &text);
                None
            }
        };
        Arc::new(Self { sender: self.sender.clone(), facts, transcript })
    }
}
