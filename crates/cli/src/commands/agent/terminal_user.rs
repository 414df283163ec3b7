//! [`TerminalUser`]: asks a person on the terminal whether a call may run.

use std::io::{self, BufRead, IsTerminal};

use hookwright_agent::agent::{AskUser, CallQuestion, UserReply};
use hookwright_engine::ports::Promise;
use serde_json::Value;

use crate::screen::Screen;
use crate::text::visible;

/// The person at the terminal, if there is one.
pub(super) struct TerminalUser {
    is_there: bool,
}

impl TerminalUser {
    pub(super) fn find() -> Self {
        Self { is_there: io::stdin().is_terminal() && io::stderr().is_terminal() }
    }
}

impl AskUser for TerminalUser {
    fn may_run<'a>(&'a self, question: CallQuestion<'a>) -> Promise<'a, Option<UserReply>> {
        Box::pin(async move {
            if !self.is_there {
                return None;
            }
            Screen.talk(&text(question));
            // The thread stays behind when the session is cancelled meanwhile; it ends with the program.
            let line = tokio::task::spawn_blocking(|| {
                let mut line = String::new();
                io::stdin().lock().read_line(&mut line).map(|_| line)
            });
            let line = line.await.ok()?.ok()?;
            Some(reply(&line))
        })
    }

    fn is_there(&self) -> bool {
        self.is_there
    }
}

fn text(question: CallQuestion<'_>) -> String {
    let input = match question.input.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => Value::Object(question.input.clone()).to_string(),
    };
    let reason = visible(question.reason);
    let asks = question.subagent.map_or_else(String::new, |subagent| {
        format!("subagent {} ({}): ", subagent.kind, visible(&one_line(&subagent.description)))
    });
    let (tool, input) = (question.tool, visible(&input));
    format!("\n{asks}{tool}: {input}\n{reason}\nrun it? [y/N, or why not] ")
}

/// A text without line breaks: it must not look like another question.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Only a clear yes is one. Other words are the reason why not.
fn reply(line: &str) -> UserReply {
    let words = line.trim();
    match words.to_lowercase().as_str() {
        "y" | "yes" => UserReply::Yes,
        "" | "n" | "no" => UserReply::No(None),
        _ => UserReply::No(Some(words.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use hookwright_agent::hooks::SubagentFacts;

    use super::*;

    #[test]
    fn a_question_of_a_subagent_names_it_on_one_line() {
        let subagent = SubagentFacts {
            id: "a1".into(),
            kind: "reviewer".into(),
            description: "look\n\nbash: ls".into(),
            call: "toolu_1".into(),
            transcript_path: String::new(),
        };
        let input = serde_json::json!({ "command": "make" });
        let input = input.as_object().expect("a map");
        let question = |subagent| CallQuestion { tool: "bash", input, reason: "why", subagent };
        let asked = text(question(Some(&subagent)));
        assert_eq!(
            asked,
            "\nsubagent reviewer (look bash: ls): bash: make\nwhy\nrun it? [y/N, or why not] "
        );
        assert!(text(question(None)).starts_with("\nbash: make\n"));
    }

    #[test]
    fn only_a_clear_yes_permits_a_call() {
        for line in ["y\n", "YES\n", " yes "] {
            assert_eq!(reply(line), UserReply::Yes);
        }
        for line in ["", "\n", "n\n", "No"] {
            assert_eq!(reply(line), UserReply::No(None));
        }
        let words = UserReply::No(Some("use git mv".to_owned()));
        assert_eq!(reply("use git mv\n"), words);
    }
}
