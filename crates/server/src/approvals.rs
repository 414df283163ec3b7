//! [`Approvals`]: lists and answers waits, for the page, the terminal and chat tools alike.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use hookwright_events::wait::{AnswerMeaning, PersonsDecision, Wait, WaitKey, WaitState};
use hookwright_store::{Decide, KeptWaits, Living, Store, WaitError};
use serde_json::{Value, json};

use crate::bell::Bells;
use crate::limits;
use crate::port_turn::PortTurns;
use crate::signing_key::{KeyError, SigningKey};

/// The waits of one state folder.
pub struct Approvals {
    is_inside: fn(&Wait, Origin) -> bool,
    pub(crate) waits: KeptWaits,
    pub(crate) key: SigningKey,
    pub(crate) bells: Bells,
    pub(crate) port_turns: PortTurns,
}

/// An answer to a wait.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonsAnswer {
    /// The word that decides, such as `approve`.
    pub action: String,
    /// The comment, if any.
    pub message: Option<String>,
    /// Who answers, as far as that is known.
    pub by: String,
    /// Where the answer comes from, as far as that is known.
    pub origin: Origin,
    /// The whole answer, for later hooks; `None` if it has only a word and a message.
    pub whole: Option<Value>,
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A key that a person pressed in the live view; a program cannot press it.
    View,
    /// A command: the process with this id.
    Process(u32),
    /// A connection from this machine: the addresses of both ends.
    Connection {
        /// The address of the answering program.
        client: SocketAddr,
        /// The address of this listener.
        server: SocketAddr,
    },
    /// Another machine.
    Elsewhere,
}

/// Result of [`Approvals::answer`].
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerResult {
    /// The answer counts.
    Counts(Box<Wait>),
    /// The wait had ended before; its state says how.
    TooLate(Box<Wait>),
    /// The word is not one of the offered ones; the wait stays open.
    UnknownWord(Box<Wait>),
    /// The answer comes from inside the session that asks: from its agent, a hook, or a process
    /// that they started. A person outside must answer; the wait stays open.
    FromInside(Box<Wait>),
    /// There is no such wait.
    Unknown,
}

impl Approvals {
    /// The waits of this folder, in this store. `living` judges the processes that keep them.
    pub fn of_folder(
        folder: &Path,
        store: Arc<dyn Store>,
        living: Arc<dyn Living>,
    ) -> Result<Self, KeyError> {
        let key = SigningKey::of_folder(folder)?;
        let waits = KeptWaits::new(store, living);
        let (bells, port_turns) = (Bells::of_folder(folder), PortTurns::of_folder(folder));
        Ok(Self { is_inside: |_, _| false, waits, key, bells, port_turns })
    }

    /// Rejects answers for which `is_inside` returns true: those from inside the session that asks.
    pub fn refusing(self, is_inside: fn(&Wait, Origin) -> bool) -> Self {
        Self { is_inside, ..self }
    }

    /// The store's time, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        self.waits.now_ms()
    }

    /// The waits that can be answered now, oldest first.
    pub fn waiting(&self) -> Result<Vec<Wait>, WaitError> {
        self.waits.waiting(self.now_ms())
    }

    /// The wait with this id, in its current state.
    pub fn get(&self, id: &str) -> Result<Option<Wait>, WaitError> {
        self.waits.get(id, self.now_ms())
    }

    /// The wait that a token is for.
    pub fn of_token(&self, token: &str) -> Result<Option<Wait>, WaitError> {
        match self.key.id_in(token) {
            Some(id) => self.get(id),
            None => Ok(None),
        }
    }

    /// The address at which a wait can be answered.
    pub fn url_of(&self, wait: &Wait) -> String {
        format!("{}/callback/{}", wait.base_url, self.key.token(&wait.id))
    }

    /// Whether the asking process may still be running.
    pub fn is_attended(&self, wait: &Wait) -> bool {
        self.waits.is_attended(wait)
    }

    /// Wakes the asking process, on this machine or another one.
    pub(crate) fn wake(&self, wait: &Wait) {
        self.bells.ring(wait);
        self.waits.wake_keeper(wait);
    }

    /// The id of a wait that can be found again: always the same for this key and attempt. If other
    /// machines share the store, it has to be the same for all of them, so it does not depend on
    /// this machine's key.
    pub(crate) fn id_of(&self, project: &str, key: &WaitKey, attempt: u32) -> String {
        match self.waits.is_shared() {
            true => SigningKey::of_all_machines().id_of(project, key, attempt),
            false => self.key.id_of(project, key, attempt),
        }
    }

    /// Answers a wait. The first answer counts, wherever it comes from.
    pub fn answer(&self, id: &str, answer: PersonsAnswer) -> Result<AnswerResult, WaitError> {
        let now_ms = self.now_ms();
        let Some(wait) = self.waits.get(id, now_ms)? else {
            return Ok(AnswerResult::Unknown);
        };
        let PersonsAnswer { action, message, by, origin, whole } = answer;
        if wait.state == WaitState::Waiting && (self.is_inside)(&wait, origin) {
            return Ok(AnswerResult::FromInside(Box::new(wait)));
        }
        let Some(word) = AnswerMeaning::parse(&action, &wait.offered) else {
            return Ok(AnswerResult::UnknownWord(Box::new(wait)));
        };
        let action = action.trim().to_lowercase();
        let response = whole.unwrap_or_else(|| json!({ "action": action, "message": message }));
        let decision = PersonsDecision { action, word, message, by, at_ms: now_ms, response };
        let decided = self.waits.decide(id, &decision)?;
        Ok(match decided {
            Decide::Counts(wait) => {
                self.wake(&wait);
                AnswerResult::Counts(wait)
            }
            Decide::TooLate(wait) => AnswerResult::TooLate(wait),
            Decide::Unknown => AnswerResult::Unknown,
        })
    }
}

/// The words to offer for a wait, without duplicates: the hook's words, and always one that
/// approves and one that rejects.
pub fn offered_words(wait: &Wait) -> Vec<(String, AnswerMeaning)> {
    let mut words: Vec<(String, AnswerMeaning)> = Vec::new();
    for word in &wait.offered {
        let is_short = word.chars().count() <= limits::ACTION_CHARS_MAX;
        let Some(meaning) = AnswerMeaning::parse(word, &wait.offered).filter(|_| is_short) else {
            continue;
        };
        let word = word.trim().to_lowercase();
        if !words.iter().any(|(known, _)| *known == word) {
            words.push((word, meaning));
        }
    }
    if !words.iter().any(|(_, meaning)| *meaning == AnswerMeaning::Yes) {
        words.insert(0, ("approve".to_owned(), AnswerMeaning::Yes));
    }
    if !words.iter().any(|(_, meaning)| *meaning == AnswerMeaning::No) {
        words.push(("reject".to_owned(), AnswerMeaning::No));
    }
    words
}

/// This machine's time, in milliseconds since 1970. Deadlines follow [`Approvals::now_ms`].
pub fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// A time in ISO 8601 and UTC, as in journals.
pub fn iso(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
