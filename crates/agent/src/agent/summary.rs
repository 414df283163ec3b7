//! The summary that takes the place of a conversation: what the model is asked for, and what comes of
//! it. Nothing here does IO.
//!
//! What has not been answered yet is kept as it is: a prompt, or the last calls with their results. Both
//! parts of such a pair stay or go together, so every call that is kept has its result. Results that
//! would fill the context again are summarised too.

use serde_json::{Map, Value};

use super::context_size::{bytes, to_tokens};
use crate::limits::{SUMMARISED_BYTES_STEPS, SUMMARY_TASK_BYTES_MAX};
use crate::message::{Block, Message, Role};

/// How the request for a summary begins. It is the last text of the last message.
pub(super) const SUMMARY_WANTED: &str = "A summary will take the place of this conversation. Write \
    it now, and call no tool. Say what the task is, what was done and found, which \
    files matter and how they were changed, what failed and why, what the user and hooks demanded, and \
    what comes next. Whatever you leave out is forgotten.";

/// What is left of a conversation beside its summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeptPart {
    /// The last message, which is a prompt: it follows the summary within the same message.
    Prompt,
    /// The last calls and their results.
    Calls,
    /// Nothing.
    Nothing,
}

impl KeptPart {
    /// What is kept of a conversation; `None` if there is nothing to compact yet.
    pub(super) fn of(messages: &[Message], tokens_max: u64) -> Option<Self> {
        let last = messages.last().filter(|last| last.role == Role::User)?;
        if !messages.iter().any(|message| message.role == Role::Assistant) {
            return None;
        }
        let has_results =
            last.content.iter().any(|block| matches!(block, Block::ToolResult { .. }));
        if !has_results {
            return Some(Self::Prompt);
        }
        let calls = &messages[messages.len().saturating_sub(2)..];
        // If only the first prompt came before them, there would be nothing to summarise.
        let fits = messages.len() > 3 && to_tokens(bytes(calls)) <= tokens_max;
        Some(if fits { Self::Calls } else { Self::Nothing })
    }

    /// The conversation with a summary in place of what came before this part.
    pub(super) fn with_summary(
        self,
        messages: &[Message],
        summary: &str,
        task: &str,
    ) -> Vec<Message> {
        let mut head =
            "This conversation was compacted: a summary takes the place of what came before."
                .to_owned();
        let last_text = messages.last().map(Message::plain_text).unwrap_or_default();
        if self != Self::Prompt || !last_text.contains(task) {
            let task = beginning(task, SUMMARY_TASK_BYTES_MAX);
            head.push_str(&format!("\n\nThe task, as it was given:\n{task}"));
        }
        head.push_str(&format!("\n\nThe summary:\n{summary}"));
        let last = messages.last().map(|last| last.content.clone()).unwrap_or_default();
        match self {
            Self::Nothing => {
                head.push_str("\n\nGo on with the task.");
                vec![Message::user(vec![Block::text(head)])]
            }
            Self::Prompt => {
                let mut content = vec![Block::text(head)];
                content.extend(last);
                vec![Message::user(content)]
            }
            Self::Calls => {
                let mut new = vec![Message::user(vec![Block::text(head)])];
                new.extend_from_slice(&messages[messages.len().saturating_sub(2)..]);
                new
            }
        }
    }
}

/// What is sent for a summary: the conversation, shortened to so many bytes if it must be, and what is
/// wanted behind its last message.
pub(super) fn request(messages: &[Message], wanted: &str, bytes_max: usize) -> Vec<Message> {
    let mut sent = shortened(messages, bytes_max);
    match sent.last_mut().filter(|last| last.role == Role::User) {
        Some(last) => last.content.push(Block::text(wanted)),
        None => sent.push(Message::user(vec![Block::text(wanted)])),
    }
    sent
}

/// The instructions for a summary, with those of the user and of hooks.
pub(super) fn wanted(of_user: Option<&str>, of_hooks: &[String]) -> String {
    let mut text = SUMMARY_WANTED.to_owned();
    if let Some(instructions) = of_user {
        text.push_str(&format!("\n\nThe user adds: {instructions}"));
    }
    for instructions in of_hooks {
        text.push_str(&format!("\n\nFrom a hook:\n{instructions}"));
    }
    text
}

/// The conversation in at most so many bytes: long results and inputs are cut more and more; then whole
/// rounds are left out, the oldest first. The first message and the last round always stay.
fn shortened(messages: &[Message], bytes_max: usize) -> Vec<Message> {
    let mut sent = messages.to_vec();
    for longest in SUMMARISED_BYTES_STEPS {
        if bytes(&sent) <= bytes_max {
            return sent;
        }
        sent = messages.iter().map(|message| cut(message, *longest)).collect();
    }
    // An answer goes with the message behind it, in which its calls have their results.
    while bytes(&sent) > bytes_max && sent.len() > 3 {
        sent.drain(1..3);
    }
    sent
}

/// The same message with its results and inputs cut.
fn cut(message: &Message, longest: usize) -> Message {
    let content = message.content.iter().map(|block| match block {
        Block::ToolResult { tool_use_id, content, is_error } => Block::ToolResult {
            tool_use_id: tool_use_id.clone(),
            content: beginning(content, longest),
            is_error: *is_error,
        },
        Block::ToolUse { id, name, input } => {
            Block::ToolUse { id: id.clone(), name: name.clone(), input: cut_input(input, longest) }
        }
        Block::Text { .. } | Block::Thinking { .. } | Block::RedactedThinking { .. } => {
            block.clone()
        }
    });
    Message { role: message.role, content: content.collect() }
}

fn cut_input(input: &Map<String, Value>, longest: usize) -> Map<String, Value> {
    let fields = input.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => beginning(text, longest).into(),
            Value::Array(_) | Value::Object(_) if value.to_string().len() > longest => {
                beginning(&value.to_string(), longest).into()
            }
            other => other.clone(),
        };
        (name.clone(), value)
    });
    fields.collect()
}

fn beginning(text: &str, longest: usize) -> String {
    if text.len() <= longest {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(longest);
    format!("{}… ({} bytes are left out here)", &text[..end], text.len() - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str) -> Message {
        let input = Map::from_iter([("command".to_owned(), Value::from("x".repeat(5000)))]);
        Message::assistant(vec![Block::ToolUse { id: id.into(), name: "bash".into(), input }])
    }

    fn result(id: &str, bytes: usize) -> Message {
        let content = "y".repeat(bytes);
        let tool_use_id = id.to_owned();
        Message::user(vec![Block::ToolResult { tool_use_id, content, is_error: false }])
    }

    fn prompt(text: &str) -> Message {
        Message::user(vec![Block::text(text)])
    }

    fn said(text: &str) -> Message {
        Message::assistant(vec![Block::text(text)])
    }

    #[test]
    fn calls_are_kept_with_their_results_or_summarised_with_them() {
        let messages = [prompt("go"), call("1"), result("1", 10), call("2"), result("2", 10)];
        assert_eq!(KeptPart::of(&messages, 10_000), Some(KeptPart::Calls));
        let new = KeptPart::Calls.with_summary(&messages, "S", "go");
        assert_eq!(new[1..], messages[3..]);
        assert!(new[0].plain_text().ends_with("given:\ngo\n\nThe summary:\nS"));
        assert_eq!(KeptPart::of(&messages, 10), Some(KeptPart::Nothing));
        assert_eq!(KeptPart::of(&messages[..3], 10_000), Some(KeptPart::Nothing));
        let new = KeptPart::Nothing.with_summary(&messages, "S", "go");
        assert_eq!(new.len(), 1);
        assert!(new[0].plain_text().ends_with("S\n\nGo on with the task."));
    }

    #[test]
    fn a_prompt_is_kept_as_it_is_and_without_an_answer_there_is_nothing_to_compact() {
        let messages = [prompt("one"), said("done"), prompt("two")];
        assert_eq!(KeptPart::of(&messages, 1), Some(KeptPart::Prompt));
        let new = KeptPart::Prompt.with_summary(&messages, "S", "two");
        assert_eq!(new.len(), 1);
        assert!(!new[0].plain_text().contains("The task"), "it follows");
        assert_eq!(new[0].content[1], Block::text("two"));
        let new = KeptPart::Prompt.with_summary(&messages, "S", "one");
        assert!(new[0].plain_text().contains("The task, as it was given:\none"));
        assert_eq!(KeptPart::of(&messages[..1], 1), None);
        assert_eq!(KeptPart::of(&messages[..2], 1), None);
        assert_eq!(KeptPart::of(&[], 1), None);
    }

    #[test]
    fn a_request_for_a_summary_fits_and_every_call_in_it_has_its_result() {
        let mut messages = vec![prompt("go")];
        for number in 0..50 {
            messages.extend([call(&number.to_string()), result(&number.to_string(), 40_000)]);
        }
        for bytes_max in [3_000_000, 1_000_000, 100_000, 20_000] {
            let sent = request(&messages, "SUMMARISE", bytes_max);
            assert!(bytes(&sent) <= bytes_max + 100, "{bytes_max}: {}", bytes(&sent));
            assert_eq!(sent[0], messages[0]);
            assert!(sent.last().expect("a message").plain_text().ends_with("SUMMARISE"));
            for pair in sent[1..].chunks(2) {
                let (Block::ToolUse { id, .. }, Block::ToolResult { tool_use_id, .. }) =
                    (&pair[0].content[0], &pair[1].content[0])
                else {
                    panic!("a call and its result: {pair:?}");
                };
                assert_eq!(id, tool_use_id);
            }
        }
        assert_eq!(request(&messages, "S", usize::MAX)[..100], messages[..100]);
    }

    #[test]
    fn the_user_and_hooks_add_instructions() {
        let text = wanted(Some("keep names"), &["keep numbers".to_owned()]);
        assert!(text.starts_with(SUMMARY_WANTED));
        assert!(text.ends_with("The user adds: keep names\n\nFrom a hook:\nkeep numbers"));
    }
}
