//! Changes an agent's settings as text: JSON with comments and trailing commas. Order, comments,
//! formatting, line endings and a byte order mark stay as they are.
//!
//! | module | does |
//! |---|---|
//! | `document` | the values of a text, with their places |
//! | `change` | adds, replaces and removes values, and checks the result |
//! | `layout` | how new values are written |
//!
//! A changed text is parsed again. It must have exactly the intended meaning; otherwise nothing is
//! changed.

mod change;
mod document;
mod layout;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use hookwright_config::{Fault, FaultKind, FilePlace, SourceFile, SyntaxKind};

pub(crate) use change::{NewPart, SettingsChange, changed, filled};
pub(crate) use document::{SettingsPart, SettingsValue, parse};

/// Why settings cannot be read or changed, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFault {
    /// The place in the text.
    pub at: Range<usize>,
    /// What was found and what was expected.
    pub message: String,
}

impl SettingsFault {
    pub(crate) fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// The same as a fault of a file.
    pub fn in_file(self, path: &Path, text: &str) -> Fault {
        let start = self.at.start.min(text.len());
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let number = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
        let place = FilePlace {
            line: number(before.matches('\n').count()),
            column: number(text[line_start..start].trim_start_matches('\u{feff}').chars().count()),
            range: start..self.at.end.clamp(start, text.len()),
        };
        let source = Arc::new(SourceFile { path: path.to_owned(), text: text.into() });
        let kind = FaultKind::Syntax { kind: SyntaxKind::Other, message: self.message };
        Fault { source, place: Some(place), kind }
    }
}

#[cfg(test)]
pub(crate) mod tests;
