//! Colour and weight by meaning, if the terminal has them and the user wants them.
//!
//! Success is green, failure red, a block or a question to a person yellow; skipped things are
//! faint, names and headings bold. Only the program's own words are painted, after padding: foreign
//! text is made visible first and gets no colour.

use std::sync::OnceLock;

/// When to use colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// The colours of standard output. Set once, when the program begins; unit tests see no colour.
static RESULTS: OnceLock<Paint> = OnceLock::new();

/// Paints text, or leaves it unchanged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    /// Without colour.
    const NONE: Self = Self { colour: false };

    /// The colours of standard output.
    pub(crate) fn of_results() -> Self {
        RESULTS.get().copied().unwrap_or(Self::NONE)
    }

    /// Sets the colours of standard output.
    pub(crate) fn set_results(self) {
        // The first call counts.
        let _ = RESULTS.set(self);
    }

    /// A word for a status or a decision, perhaps with spaces around it.
    pub(crate) fn outcome(self, word: &str) -> String {
        let blank = |at: usize| &word[at..];
        let text = word.trim();
        let (start, end) = match word.find(text) {
            Some(start) if !text.is_empty() => (start, start + text.len()),
            _ => return word.to_owned(),
        };
        let painted = match text {
            "success" | "ok" | "completed" | "done" | "runs" | "passed" | "allow" | "approved"
            | "stop" | "continue" => self.good(text),
            "failed" | "timed out" | "FAILED" | "fails" | "aborted" | "abort" | "error"
            | "gone" | "changed" => self.wrong(text),
            "blocked" | "block" | "ask" | "rejected" | "interrupted" | "cut off" | "paused"
            | "deleting" | "waiting" | "depends" | "lapsed" => self.odd(text),
            "skipped" | "started" | "no" | "disabled" => self.faint(text),
            "active" | "in_progress" | "in progress" => self.strong(text),
            _ => text.to_owned(),
        };
        format!("{}{painted}{}", &word[..start], blank(end))
    }

    /// Success.
    pub(crate) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    /// Less important text.
    pub(crate) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    /// An error.
    pub(crate) fn wrong(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// A warning.
    pub(crate) fn odd(self, text: &str) -> String {
        self.with("1;33", text)
    }

    /// Advice.
    pub(crate) fn advice(self, text: &str) -> String {
        self.with("1;36", text)
    }

    /// Line numbers, arrows and edges.
    pub(crate) fn frame(self, text: &str) -> String {
        self.with("1;34", text)
    }

    /// A heading.
    pub(crate) fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, style: &str, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{style}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// A help text with bold headings, commands and options.
pub(crate) fn help(text: &str, paint: Paint) -> String {
    let mut painted = String::new();
    for line in text.split_inclusive('\n') {
        let words = line.trim_end();
        let begins = words.trim_start();
        let indent = &words[..words.len() - begins.len()];
        let is_heading = indent.is_empty() && words.ends_with(':');
        let name = match begins.split_once("  ") {
            _ if indent.is_empty() => "",
            Some((name, _)) => name,
            None if begins.starts_with('-') => begins,
            None => "",
        };
        let is_name = name.starts_with('-') || name.split(' ').count() == 1;
        match (is_heading, is_name && !name.is_empty()) {
            (true, _) => painted.push_str(&paint.strong(words)),
            (false, true) => {
                painted.push_str(indent);
                painted.push_str(&paint.with("36", name));
                painted.push_str(&begins[name.len()..]);
            }
            (false, false) => painted.push_str(words),
        }
        painted.push_str(&line[words.len()..]);
    }
    painted
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOUR: Paint = Paint { colour: true };

    #[test]
    fn a_word_is_painted_by_what_it_means_and_its_blanks_are_not() {
        for (word, painted) in [
            ("success  ", "\x1b[32msuccess\x1b[0m  "),
            ("failed", "\x1b[1;31mfailed\x1b[0m"),
            (" blocked ", " \x1b[1;33mblocked\x1b[0m "),
            ("skipped", "\x1b[2mskipped\x1b[0m"),
            ("another", "another"),
            ("   ", "   "),
        ] {
            assert_eq!(COLOUR.outcome(word), painted);
            assert_eq!(Paint::NONE.outcome(word), word);
        }
    }

    #[test]
    fn headings_commands_and_options_of_a_help_text_stand_out() {
        let text = "Hooks.\n\nOptions:\n  run  Runs it\n  -h, --help\n      Print help\n";
        let painted = "Hooks.\n\n\x1b[1mOptions:\x1b[0m\n  \x1b[36mrun\x1b[0m  Runs it\n  \
                       \x1b[36m-h, --help\x1b[0m\n      Print help\n";
        assert_eq!(help(text, COLOUR), painted);
        assert_eq!(help(text, Paint::NONE), text);
    }
}
