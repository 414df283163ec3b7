//! [`PathSegment`]: keeps values from leading out of the path of an address.
//!
//! Every program that reads an address takes the segments `.` and `..` out of its path, also where they
//! are written `%2e`. So a segment that a value has a part in must be neither. What the author wrote
//! alone is the author's.

use super::FillError;

/// The segment of a path that is being put together.
#[derive(Debug, Default)]
pub(super) struct PathSegment<'n> {
    /// As much of it as can matter.
    text: String,
    /// Whose value is a part of it.
    name: Option<&'n str>,
    /// The path is behind us: a query or a fragment began.
    is_over: bool,
}

/// The longest way to write `..`.
const DOTS_BYTES_MAX: usize = "%2e%2e".len();

impl<'n> PathSegment<'n> {
    /// The next piece of the address: the value of `name`, or the author's own text. Values are
    /// percent-encoded, so only the author's text can end a segment.
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
                // Readers of addresses pass over these.
                '\t' | '\n' | '\r' => {}
                _ if self.text.len() <= DOTS_BYTES_MAX => self.text.push(letter),
                _ => {}
            }
        }
        Ok(())
    }

    /// The segment is complete.
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
