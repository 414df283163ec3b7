//! Colour, where the terminal has it and nobody asked us not to.

/// Paints, or leaves the text as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    /// What is wrong.
    pub(crate) fn wrong(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// What is probably not meant.
    pub(crate) fn odd(self, text: &str) -> String {
        self.with("1;33", text)
    }

    /// What to do about it.
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
