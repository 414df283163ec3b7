//! Variables, and where in a text they may stand.
//!
//! A value never becomes part of a command's text: values go into the child's environment, and the
//! text is the shell's. Only `${A.b}`, which is valid in no shell, is replaced, by a reference to a
//! generated variable.

mod command_text;

pub use command_text::{CommandText, PathReference, TextError};
