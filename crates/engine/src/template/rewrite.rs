//! Replaces each `{{x}}` in a command by a reference to a generated variable, according to its
//! place.
//!
//! The value is never in the text, so it can't be read as part of it, and a `{{y}}` within a value
//! means nothing. If a reference can't give exactly the value, or the shell would evaluate the
//! value again, [`rewrite`] refuses and says what to write instead.
//!
//! The length of a list is known only when the command runs. So [`rewrite`] checks and places once,
//! when the configuration is read, and [`Rewritten::fill`] inserts the elements' references for
//! each run: one variable per element, which every shell understands, no array.

use std::borrow::Cow;
use std::ops::Range;

use super::GENERATED;
use super::lexer::{self, Quoting, ShellPlace};

mod problem;

#[cfg(test)]
mod tests;

pub use problem::{Fix, Problem, TemplateError};

/// What a name in `{{name}}` refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// One value.
    Scalar,
    /// A value of several elements.
    List,
    /// An unknown name: the text stays unchanged.
    Unknown,
}

/// A value at the time of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<'v> {
    /// One value.
    Scalar(Cow<'v, str>),
    /// The elements of a list.
    List(Vec<Cow<'v, str>>),
}

/// A command with its `{{x}}` placed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    text: String,
    references: Vec<GeneratedReference>,
    /// The places where lists are spread into words, in order.
    spreads: Vec<Spread>,
}

/// A generated variable and the name that it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneratedReference {
    /// The variable: `HOOKWRIGHT_REF_T1`. The elements of a list are `HOOKWRIGHT_REF_T1_1` and so
    /// on.
    pub generated: String,
    /// The name between the braces.
    pub name: String,
    /// Whether the text contains the variable itself.
    pub whole: bool,
    /// Whether some place needs one word per element.
    pub spread: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Spread {
    /// The byte offset in the text.
    at: usize,
    reference: usize,
    /// The word contains other text too, so it remains if the list is empty.
    glued: bool,
}

/// The command for one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled<'t> {
    /// The command's text.
    pub text: Cow<'t, str>,
    /// The generated variables, for the child's environment.
    pub environment: Vec<(String, String)>,
}

impl Rewritten {
    /// The text, if no list has to be spread into words.
    pub fn text(&self) -> Option<&str> {
        self.spreads.is_empty().then_some(self.text.as_str())
    }

    /// The text with built-in variables in place of the generated ones; `None` if a name has none,
    /// or if a list has to be spread into words.
    pub fn with_variables(
        &self,
        variable: &dyn Fn(&str) -> Option<&'static str>,
    ) -> Option<String> {
        let mut text = self.text()?.to_owned();
        for reference in &self.references {
            let name = format!("${{{}}}", variable(&reference.name)?);
            text = text.replace(&format!("${{{}}}", reference.generated), &name);
        }
        Some(text)
    }

    /// The generated variables, each name once.
    pub fn references(&self) -> &[GeneratedReference] {
        &self.references
    }

    /// The text and the variables for one run. A list in quotes is joined by spaces.
    pub fn fill<'v>(&self, value: &dyn Fn(&str) -> Value<'v>) -> Filled<'_> {
        let mut environment = Vec::with_capacity(self.references.len());
        let mut counts = Vec::with_capacity(self.references.len());
        for reference in &self.references {
            let elements = match value(&reference.name) {
                Value::Scalar(value) => vec![value],
                Value::List(elements) => elements,
            };
            counts.push(elements.len());
            if reference.whole {
                environment.push((reference.generated.clone(), elements.join(" ")));
            }
            if reference.spread {
                environment.extend(elements.into_iter().enumerate().map(|(index, element)| {
                    (format!("{}_{}", reference.generated, index + 1), element.into_owned())
                }));
            }
        }
        if self.spreads.is_empty() {
            return Filled { text: Cow::Borrowed(&self.text), environment };
        }
        let mut text = String::with_capacity(self.text.len() + 64);
        let mut copied = 0;
        for spread in &self.spreads {
            text.push_str(&self.text[copied..spread.at]);
            copied = spread.at;
            let generated = &self.references[spread.reference].generated;
            for index in 1..=counts[spread.reference] {
                let space = if index == 1 { "" } else { " " };
                text.push_str(&format!("{space}\"${{{generated}_{index}}}\""));
            }
            if counts[spread.reference] == 0 && spread.glued {
                // `{{list}}#x` must not become a comment.
                text.push_str("\"\"");
            }
        }
        text.push_str(&self.text[copied..]);
        Filled { text: Cow::Owned(text), environment }
    }
}

/// Places every `{{x}}` with a known name. A text without any stays unchanged, valid or not.
pub fn rewrite(
    source: &str,
    known: &dyn Fn(&str) -> Reference,
) -> Result<Rewritten, TemplateError> {
    let (ranges, kinds): (Vec<_>, Vec<_>) = templates(source)
        .map(|at| (known(&source[at.start + 2..at.end - 2]), at))
        .filter(|(kind, _)| *kind != Reference::Unknown)
        .map(|(kind, at)| (at, kind))
        .unzip();
    if ranges.is_empty() {
        return Ok(Rewritten { text: source.to_owned(), references: vec![], spreads: vec![] });
    }
    let places = lexer::places(source, &ranges).map_err(|error| TemplateError {
        at: error.at.clone(),
        problem: Problem::Unreadable(error),
    })?;
    let mut written = Rewritten {
        text: String::with_capacity(source.len() * 2),
        references: vec![],
        spreads: vec![],
    };
    let mut copied = 0;
    for ((at, kind), place) in ranges.into_iter().zip(kinds).zip(places) {
        check(source, &at, kind, place)
            .map_err(|problem| TemplateError { problem, at: at.clone() })?;
        written.text.push_str(&source[copied..at.start]);
        copied = at.end;
        let spreads = kind == Reference::List && place.quoting == Quoting::Bare && place.splits;
        let reference = written.reference(&source[at.start + 2..at.end - 2], spreads);
        if spreads {
            let glued = is_glued(source.as_bytes(), &at);
            written.spreads.push(Spread { at: written.text.len(), reference, glued });
        } else {
            let (before, after) = match place.quoting {
                Quoting::Bare | Quoting::DoublePattern => ("\"${", "}\""),
                Quoting::Single => ("'\"${", "}\"'"),
                _ => ("${", "}"),
            };
            written.text.push_str(before);
            written.text.push_str(&written.references[reference].generated);
            written.text.push_str(after);
        }
    }
    written.text.push_str(&source[copied..]);
    Ok(written)
}

impl Rewritten {
    fn reference(&mut self, name: &str, spread: bool) -> usize {
        let found = self.references.iter().position(|known| known.name == name);
        let index = found.unwrap_or_else(|| {
            self.references.push(GeneratedReference {
                generated: format!("{GENERATED}T{}", self.references.len() + 1),
                name: name.to_owned(),
                whole: false,
                spread: false,
            });
            self.references.len() - 1
        });
        self.references[index].spread |= spread;
        self.references[index].whole |= !spread;
        index
    }
}

fn check(
    source: &str,
    at: &Range<usize>,
    kind: Reference,
    place: ShellPlace,
) -> Result<(), Problem> {
    let reference = || source[at.clone()].to_owned();
    if let Some(evaluation) = place.evaluation {
        return Err(Problem::EvaluatedAgain { reference: reference(), evaluation });
    }
    match place.quoting {
        Quoting::Bare if kind == Reference::List && place.splits && place.names_command => {
            Err(Problem::ListAsCommand { reference: reference() })
        }
        Quoting::Bare if kind == Reference::List && place.splits => {
            match place.evaluated_as_words {
                Some(evaluation) => {
                    Err(Problem::EvaluatedAgain { reference: reference(), evaluation })
                }
                // Its elements could be a whole command.
                None if place.in_default => {
                    let quoting = Quoting::Disputed;
                    Err(Problem::Misplaced { reference: reference(), quoting })
                }
                None => Ok(()),
            }
        }
        Quoting::Bare
        | Quoting::Single
        | Quoting::Double
        | Quoting::DoublePattern
        | Quoting::HereDocument => Ok(()),
        quoting @ (Quoting::AnsiC
        | Quoting::QuotedHereDocument
        | Quoting::Comment
        | Quoting::NestedBackticks
        | Quoting::Escaped
        | Quoting::AfterDollar
        | Quoting::ParameterName
        | Quoting::Disputed) => Err(Problem::Misplaced { reference: reference(), quoting }),
    }
}

fn is_glued(source: &[u8], at: &Range<usize>) -> bool {
    let separates = |byte: Option<&u8>| byte.is_none_or(|byte| b" \t\n;&|()<>".contains(byte));
    !separates(at.start.checked_sub(1).and_then(|before| source.get(before)))
        || !separates(source.get(at.end))
}

/// Every `{{name}}`: letters, digits, `_`, `-` and `.` between the braces.
pub(super) fn templates(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let bytes = text.as_bytes();
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(found) = bytes.get(from..)?.iter().position(|byte| *byte == b'{') {
            let start = from + found;
            from = start + 1;
            if bytes.get(start + 1) != Some(&b'{') {
                continue;
            }
            let name = &bytes[start + 2..];
            let length = name
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte))
                .count();
            if length > 0 && name[length..].starts_with(b"}}") {
                from = start + length + 4;
                return Some(start..from);
            }
        }
        None
    })
}
