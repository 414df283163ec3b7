//! [`Conversation`]: the messages of a session, and contexts on their way into the next one.

use crate::message::{Block, Message, Role};

/// The messages of a session.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    messages: Vec<Message>,
    contexts: Vec<String>,
}

impl From<Vec<Message>> for Conversation {
    fn from(messages: Vec<Message>) -> Self {
        Self { messages, contexts: Vec::new() }
    }
}

impl Conversation {
    /// The messages so far.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The content of the last message.
    pub(super) fn last_content(&self) -> &[Block] {
        self.messages.last().map_or(&[], |message| &message.content)
    }

    /// What hooks want the model to know with its next request.
    pub(super) fn add_contexts(&mut self, contexts: Vec<String>) {
        self.contexts.extend(contexts.into_iter().filter(|text| !text.trim().is_empty()));
    }

    /// Adds a message of the user, and behind its content the contexts that wait. If the last message is
    /// the user's too, as in a conversation that was cut off, it becomes longer. Returns what was added.
    pub(super) fn add_user(&mut self, content: Vec<Block>) -> Message {
        let mut added = Message::user(content);
        match self.messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => last.content.extend(added.content.iter().cloned()),
            None => self.messages.push(added.clone()),
        }
        added.content.extend(self.place_contexts());
        added
    }

    /// Replaces all messages. Contexts that wait still do.
    pub(super) fn replace(&mut self, messages: Vec<Message>) {
        self.messages = messages;
    }

    /// Adds a message of the model.
    pub(super) fn add_assistant(&mut self, message: Message) {
        self.messages.push(message);
    }

    /// Puts the contexts that wait into the last message, which is the user's and has not been sent: what
    /// was sent before stays as it was, and so stays in the prompt cache.
    /// Returns what it put there.
    pub(super) fn place_contexts(&mut self) -> Vec<Block> {
        let Some(last) = self.messages.last_mut().filter(|last| last.role == Role::User) else {
            return Vec::new();
        };
        let contexts = self.contexts.drain(..);
        let placed: Vec<Block> =
            contexts.map(|text| Block::text(format!("From a hook:\n{text}"))).collect();
        last.content.extend(placed.iter().cloned());
        placed
    }

    /// The model's input of a call becomes what runs. Returns whether it was another one.
    pub(super) fn rewrite_input(
        &mut self,
        id: &str,
        input: &serde_json::Map<String, serde_json::Value>,
    ) -> bool {
        let blocks = self.messages.iter_mut().rev().flat_map(|message| &mut message.content);
        for block in blocks {
            if let Block::ToolUse { id: known, input: written, .. } = block
                && known == id
            {
                let is_other = written != input;
                if is_other {
                    written.clone_from(input);
                }
                return is_other;
            }
        }
        false
    }

    /// What the model said last.
    pub(super) fn last_words(&self) -> String {
        let mut messages = self.messages.iter().rev();
        let last = messages.find(|message| message.role == Role::Assistant);
        last.map(Message::plain_text).unwrap_or_default()
    }
}
