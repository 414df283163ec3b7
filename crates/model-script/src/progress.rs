//! [`ScriptProgress`]: chooses the next turn of a script.
//!
//! An agent may have several conversations at once, and their requests come in any order. So each
//! conversation of a script has turns of its own and is recognised by a text in its first message.

use crate::{ModelScript, NO_MORE_TURNS, ScriptedAnswer, ScriptedTurn};

/// The turns of a conversation beside the main one.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedConversation {
    /// A text that only the first message of this conversation contains.
    pub prompt: String,
    /// One for each of its requests, in order.
    pub turns: Vec<ScriptedTurn>,
}

/// The distance between the turn numbers of two conversations, so that ids are unique.
const TURNS_BETWEEN: usize = 1000;

/// The number of turns used in each conversation.
#[derive(Debug, Default)]
pub struct ScriptProgress {
    used: Vec<usize>,
}

impl ScriptProgress {
    /// The turn for the next request of the conversation that begins with this message, and its
    /// number, from which ids are made. Numbers begin at 1 in the main conversation, and at 1001 in
    /// the first of the others.
    pub fn next(&mut self, script: &ModelScript, first_message: &str) -> (usize, ScriptedTurn) {
        let others = script.conversations.iter();
        let found = others.clone().position(|other| first_message.contains(&other.prompt));
        let place = found.map_or(0, |index| index + 1);
        if self.used.len() <= place {
            self.used.resize(place + 1, 0);
        }
        self.used[place] += 1;
        let number = self.used[place];
        let turn = match found {
            None => script.turn(number),
            Some(index) => script.conversations[index]
                .turns
                .get(number - 1)
                .cloned()
                .unwrap_or_else(|| ScriptedTurn::Answer(ScriptedAnswer::text(NO_MORE_TURNS))),
        };
        (place * TURNS_BETWEEN + number, turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_conversation_plays_its_own_turns_in_whatever_order_requests_come() {
        let script = ModelScript::parse(
            "
turns:
  - content: [{type: text, text: main 1}]
  - content: [{type: text, text: main 2}]
conversations:
  - prompt: look at a
    turns: [{content: [{type: text, text: a 1}]}]
  - prompt: look at b
    turns: [{content: [{type: text, text: b 1}]}, {content: [{type: text, text: b 2}]}]
",
        )
        .expect("a script");
        let mut progress = ScriptProgress::default();
        let said = |text: &str| ScriptedTurn::Answer(ScriptedAnswer::text(text));
        for (message, expected) in [
            ("go", (1, said("main 1"))),
            ("Please look at b.", (2001, said("b 1"))),
            ("look at a", (1001, said("a 1"))),
            ("look at b", (2002, said("b 2"))),
            ("go", (2, said("main 2"))),
            ("look at a", (1002, said(NO_MORE_TURNS))),
        ] {
            assert_eq!(progress.next(&script, message), expected, "{message}");
        }
    }
}
