//! Texts with references that no shell reads: messages, addresses, headers, inputs, JSON bodies.
//!
//! `${NAME}` and `${NAME.path}` are replaced by their values, once: a value that looks like a
//! reference stays unchanged. An unknown name is an error, so that nothing is sent with a hole in
//! it. An unclosed reference is literal text.
//!
//! The target determines how a value is written ([`ValueWriting`]). In JSON, values are placed
//! inside the parsed value, never into its text; that is `json.rs`.
//!
//! Secrets stay names until [`FilledText::reveal`] is called, so that a filled text can be stored
//! and shown without them.

mod path_segment;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use self::path_segment::PathSegment;
use super::rewrite::templates;
use super::{self as template, Reference};
use crate::condition::Values;
use crate::policy::Wire;
use crate::secrets::{Secrets, for_url};
use crate::variables::{PREFIX, Variables, is_ours, nearest_to, text_of};

/// A text with references in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextTemplate {
    source: Box<str>,
    parts: Vec<TextPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TextPart {
    Text(Box<str>),
    Reference {
        name: Box<str>,
        path: Vec<String>,
    },
    /// `{{name}}` in a dialect that has it.
    Template {
        name: Box<str>,
    },
}

/// How values are written into a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueWriting {
    /// Unchanged.
    Plain,
    /// Percent-encoded, and never leading out of the address's path; except for a reference that is
    /// the whole text and so an address itself.
    Url,
    /// Unchanged; a value that would end the header is an error.
    Header,
}

/// Where values come from.
#[derive(Debug, Clone, Copy)]
pub struct Filling<'a> {
    /// The built-in variables, and the environment.
    pub variables: Variables<'a>,
    /// The secrets, for texts that name them.
    pub secrets: &'a Secrets,
    /// The dialect whose `{{name}}` the text contains.
    pub wire: &'a dyn Wire,
    /// Whether `CALLBACK_URL` will have a value: it is known only once the text is stored, and
    /// stays a reference until then.
    pub has_callback: bool,
}

/// The values of the references that are left in a text.
#[derive(Debug, Clone, Copy)]
pub struct Revealing<'a> {
    /// The values of secrets.
    pub secrets: &'a Secrets,
    /// The value of `CALLBACK_URL`.
    pub callback_url: &'a str,
}

/// The variable with the address for a person's answer.
const CALLBACK_URL: &str = "CALLBACK_URL";

/// Why a text cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    /// An unknown name.
    #[error("unknown variable `{name}`")]
    Unknown {
        /// The unknown name.
        name: String,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// A value that a header cannot contain.
    #[error("the value of `{name}` contains a line break or another control character")]
    ControlCharacter {
        /// The name of the value.
        name: String,
    },
    /// A value that makes a path segment `.` or `..`, which leads to another address. Encoding does
    /// not help: `%2e` means the same.
    #[error("the value of `{name}` adds the path segment `{segment}`, which changes the address")]
    DotSegment {
        /// The name of the value.
        name: String,
        /// `.` or `..`
        segment: &'static str,
    },
}

impl FillError {
    /// The whole message: what is wrong, in which text, and the most similar known name.
    pub fn within(&self, text: &str) -> String {
        match self {
            FillError::Unknown { nearest: Some(nearest), .. } => {
                format!("{self} in {text}, did you mean `{nearest}`?")
            }
            FillError::Unknown { nearest: None, .. }
            | FillError::ControlCharacter { .. }
            | FillError::DotSegment { .. } => {
                format!("{self} in {text}")
            }
        }
    }
}

impl TextTemplate {
    /// Parses a text. Every text is valid.
    pub fn new(source: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = source;
        while let Some((before, behind)) = rest.split_once("${") {
            let Some((reference, after)) = behind.split_once('}') else { break };
            push_text(&mut parts, before);
            let mut keys = reference.split('.');
            let name = keys.next().unwrap_or_default().into();
            parts.push(TextPart::Reference { name, path: keys.map(str::to_owned).collect() });
            rest = after;
        }
        push_text(&mut parts, rest);
        Self { source: source.into(), parts }
    }

    /// Parses a text of a dialect whose only references are `{{name}}`. Unknown names stay
    /// unchanged.
    pub fn of_dialect(source: &str, wire: &dyn Wire) -> Self {
        let mut parts = Vec::new();
        let mut copied = 0;
        for at in templates(source) {
            let name = &source[at.start + 2..at.end - 2];
            if wire.reference(name) == Reference::Unknown {
                continue;
            }
            push_text(&mut parts, &source[copied..at.start]);
            parts.push(TextPart::Template { name: name.into() });
            copied = at.end;
        }
        push_text(&mut parts, &source[copied..]);
        Self { source: source.into(), parts }
    }

    /// The text with built-in variables in place of its `{{name}}`; `None` if one of them has none.
    pub fn with_variables(
        &self,
        variable: &dyn Fn(&str) -> Option<&'static str>,
    ) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                TextPart::Text(text) => Some(text.to_string()),
                TextPart::Reference { name, path } => {
                    let keys = [&**name].into_iter().chain(path.iter().map(String::as_str));
                    Some(format!("${{{}}}", keys.collect::<Vec<_>>().join(".")))
                }
                TextPart::Template { name } => Some(format!("${{{}}}", variable(name)?)),
            })
            .collect()
    }

    /// The text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The names that it references.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            TextPart::Reference { name, .. } => Some(&**name),
            TextPart::Text(_) | TextPart::Template { .. } => None,
        })
    }

    /// Whether it has no references.
    pub fn is_constant(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, TextPart::Text(_)))
    }

    /// Fills in the values; secrets stay names.
    pub fn fill(
        &self,
        filling: &Filling<'_>,
        writing: ValueWriting,
    ) -> Result<FilledText, FillError> {
        let is_whole = matches!(self.parts[..], [TextPart::Reference { .. }]);
        let writing =
            if is_whole && writing == ValueWriting::Url { ValueWriting::Plain } else { writing };
        let pieces = self.parts.iter().map(|part| match part {
            TextPart::Text(text) => Ok(Piece::Text(text.to_string())),
            TextPart::Reference { name, path } => piece(name, path, filling, writing),
            TextPart::Template { name } => {
                let value = match filling.wire.value(name, filling.variables.event) {
                    template::Value::Scalar(value) => value,
                    template::Value::List(elements) => Cow::Owned(elements.join(" ")),
                };
                value_piece(name, &value, writing)
            }
        });
        let filled = FilledText { writing, pieces: pieces.collect::<Result<_, _>>()? };
        if writing == ValueWriting::Url {
            // A text that could not be sent is not stored either.
            filled.reveal(filling.secrets)?;
        }
        Ok(filled)
    }
}

fn push_text(parts: &mut Vec<TextPart>, text: &str) {
    if !text.is_empty() {
        parts.push(TextPart::Text(text.into()));
    }
}

fn piece(
    name: &str,
    path: &[String],
    filling: &Filling<'_>,
    writing: ValueWriting,
) -> Result<Piece, FillError> {
    let variables = &filling.variables;
    if filling.has_callback && path.is_empty() && plain(name) == CALLBACK_URL {
        return Ok(Piece::Callback { callback_url: true });
    }
    let secret = filling.secrets.get(name).filter(|_| path.is_empty());
    let value = match secret {
        Some(secret) => Cow::Borrowed(secret),
        None if !path.is_empty() && is_ours(name) => Cow::Owned(variables.at_path(name, path)),
        None if !path.is_empty() => return Err(unknown(name)),
        None => match variables.value(name) {
            Some(value) => Cow::Owned(text_of(&value)),
            None if is_ours(name) => Cow::Borrowed(""),
            None => return Err(unknown(name)),
        },
    };
    let piece = value_piece(name, &value, writing)?;
    Ok(match secret {
        Some(_) => Piece::Secret { secret: name.to_owned() },
        None => piece,
    })
}

fn value_piece(name: &str, value: &str, writing: ValueWriting) -> Result<Piece, FillError> {
    if writing == ValueWriting::Header && value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(FillError::ControlCharacter { name: name.to_owned() });
    }
    Ok(Piece::Value { name: name.to_owned(), value: written(value, writing).into_owned() })
}

/// A built-in variable's name without its prefix.
fn plain(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

fn unknown(name: &str) -> FillError {
    FillError::Unknown { name: name.to_owned(), nearest: nearest_to(name) }
}

fn written(value: &str, writing: ValueWriting) -> Cow<'_, str> {
    match writing {
        ValueWriting::Plain | ValueWriting::Header => Cow::Borrowed(value),
        ValueWriting::Url => Cow::Owned(for_url(value)),
    }
}

/// A text with its values filled in, secrets still by name. It can be stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilledText {
    writing: ValueWriting,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Piece {
    Text(String),
    Value {
        name: String,
        value: String,
    },
    Secret {
        secret: String,
    },
    /// The field's value means nothing; its name identifies the piece.
    Callback {
        callback_url: bool,
    },
}

impl FilledText {
    /// The whole text, including secrets, for its receiver. A secret that no longer exists is an
    /// error.
    pub fn reveal(&self, secrets: &Secrets) -> Result<String, FillError> {
        self.reveal_all(Revealing { secrets, callback_url: "" })
    }

    /// Like [`Self::reveal`], and also fills in the address for a person's answer.
    pub fn reveal_all(&self, revealing: Revealing<'_>) -> Result<String, FillError> {
        let mut all = String::new();
        let mut path = PathSegment::default();
        for piece in &self.pieces {
            let (name, text) = match piece {
                Piece::Text(text) => (None, Cow::Borrowed(&**text)),
                Piece::Value { name, value } => (Some(&**name), Cow::Borrowed(&**value)),
                Piece::Secret { secret } => match revealing.secrets.get(secret) {
                    Some(value) => (Some(&**secret), written(value, self.writing)),
                    None => return Err(unknown(secret)),
                },
                Piece::Callback { .. } => {
                    (Some(CALLBACK_URL), written(revealing.callback_url, self.writing))
                }
            };
            if self.writing == ValueWriting::Url {
                path.push(name, &text)?;
            }
            all.push_str(&text);
        }
        path.end()?;
        Ok(all)
    }

    /// Everything except secrets, for display.
    pub fn redacted(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) | Piece::Value { value: text, .. } => text.clone(),
                Piece::Secret { secret } => format!("[secret {secret}]"),
                Piece::Callback { .. } => format!("${{{CALLBACK_URL}}}"),
            })
            .collect()
    }

    /// The names of its secrets.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Secret { secret } => Some(secret.as_str()),
            Piece::Text(_) | Piece::Value { .. } | Piece::Callback { .. } => None,
        })
    }

    /// Whether it contains the address for a person's answer.
    pub fn names_callback(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Callback { .. }))
    }

    /// Names and values that were filled in, without secrets.
    pub fn values(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Value { name, value } => Some((name.as_str(), value.as_str())),
            Piece::Text(_) | Piece::Secret { .. } | Piece::Callback { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests;
