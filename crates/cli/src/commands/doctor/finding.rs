//! [`Finding`]: one thing that `doctor` looked at, how it is, and what to do.

use serde_json::{Value, json};

use crate::text::visible;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// As it should be.
    Good,
    /// Something to know; guards hold all the same.
    Note,
    /// A guard is open.
    Open,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// What it is about, in a word or two.
    subject: &'static str,
    pub(super) standing: Standing,
    /// What was found.
    text: String,
    /// What to do, with a literal command where there is one.
    help: Option<String>,
}

impl Finding {
    pub(super) fn good(subject: &'static str, text: impl Into<String>) -> Self {
        Self { subject, standing: Standing::Good, text: text.into(), help: None }
    }

    pub(super) fn note(
        subject: &'static str,
        text: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { subject, standing: Standing::Note, text: text.into(), help: Some(help.into()) }
    }

    pub(super) fn open(
        subject: &'static str,
        text: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { subject, standing: Standing::Open, text: text.into(), help: Some(help.into()) }
    }

    /// Its lines for people.
    pub(super) fn lines(&self) -> String {
        let word = self.standing.word();
        let mut lines = format!("  {word:<4}  {:<11} {}\n", self.subject, visible(&self.text));
        if let Some(help) = &self.help {
            lines.push_str(&format!("{:20}help: {}\n", "", visible(help)));
        }
        lines
    }

    /// The same for programs.
    pub(super) fn json(&self) -> Value {
        json!({ "subject": self.subject, "standing": self.standing.word(), "text": self.text,
            "help": self.help })
    }
}

impl Standing {
    fn word(self) -> &'static str {
        match self {
            Standing::Good => "ok",
            Standing::Note => "note",
            Standing::Open => "open",
        }
    }
}
