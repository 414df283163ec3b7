//! Variables, and where in a text they may occur.
//!
//! A value never becomes part of a command's text: values go into the child's environment, and the
//! shell reads the text. Only `${A.b}`, which is valid in no shell, is replaced by a reference to a
//! generated variable; in dialects whose commands have `{{x}}`, [`rewrite()`] does the same for
//! them.
//!
//! Texts that no shell reads are filled: [`TextTemplate`] and, for JSON, [`JsonTemplate`].

mod command_text;
mod json;
mod lexer;
mod rewrite;
mod text;
mod warnings;

pub use command_text::{CommandText, PathReference, TextError};
pub use json::{FilledJson, JsonTemplate};
pub use lexer::{Evaluation, LexError, Quoting, ShellPlace, Trouble, places};
pub use rewrite::{
    Filled, Fix, GeneratedReference, Problem, Reference, Rewritten, TemplateError, Value, rewrite,
};
pub use text::{FillError, FilledText, Filling, Revealing, TextTemplate, ValueWriting};
pub use warnings::{CommandWarning, CommandWarningKind, Names, warnings};

/// The prefix of generated variables. A number follows for a path into a value, `T` and a number
/// for a `{{x}}`, so that one text can have both. No child inherits one.
pub const GENERATED: &str = "HOOKWRIGHT_REF_";
