//! [`PathSegment`]: keeps values from leading out of the path of an address.
//!
//! Every program that reads an address removes the segments `.` and `..` from its path, even if
//! written `%2e`. So a segment that contains a value must be neither. A segment that only the
//! author wrote is not checked.

use super::FillError;

/// The path segment under construction.
#[derive(Debug, Default)]
pub(super) struct PathSegment<'n> {
    /// Its beginning, as far as it can matter.
    text: String,
    /// The name of a value in it.
    name: Option<&'n str>,
    /// The path has ended: a query or a fragment began.
    is_over: bool,
}

/// The longest spelling of `..`.
const DOTS_BYTES_MAX: usize = "%2e%2e".len();

impl<'n> PathSegment<'n> {
    /// Adds the next piece of the address: the value of `name`, or the author's own text. Values
    /// are percent-encoded, so only the author's text can end a segment.
    pub(super) fn push(&mut self, name: Option<&'n str>, text: &str) -> Result<(), FillError> {
        if self.is_over {
            return Ok(());
        }
        self.name = self.name.or(name);
        for letter in text.chars() {
            match letter {
                '/' | '\\' => {
                    self.end()?;
                    *self = Self::default();
                }
                '?' | '#' => {
                    self.end()?;
                    self.is_over = true;
                    return Ok(());
                }
                // Readers of addresses ignore these.
                '\t' | '\n' | '\r' => {}
                _ if self.text.len() <= DOTS_BYTES_MAX => self.text.push(letter),
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks the complete segment.
    pub(super) fn end(&self) -> Result<(), FillError> {
        let Some(name) = self.name.filter(|_| !self.is_over) else { return Ok(()) };
        let segment = match &*self.text.to_ascii_lowercase().replace("%2e", ".") {
            "." => ".",
            ".." => "..",
            _ => return Ok(()),
        };
        Err(FillError::DotSegment { name: name.to_owned(), segment })
    }
}
