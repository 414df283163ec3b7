//! [`ApiKey`]: a key of a model's server. It goes into one header and nowhere else; where a server repeats
//! it, it is replaced.

use std::fmt;
use std::sync::Arc;

/// What takes the place of the key in words of a server.
const HIDDEN: &str = "[API key]";

/// A key. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// The key in `text`, without spaces and line ends around it. A blank text is no key.
    pub fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    /// For servers that need no key.
    pub fn none() -> Self {
        Self::new("")
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The key itself, for the header.
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// The same text without the key.
    pub(super) fn hide_in(&self, text: &str) -> String {
        match self.is_none() {
            true => text.to_owned(),
            false => text.replace(&*self.0, HIDDEN),
        }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HIDDEN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_hidden_in_words_and_a_blank_one_is_none() {
        let key = ApiKey::new(" sk-secret-0123\n");
        assert_eq!(key.hide_in("no sk-secret-0123!"), "no [API key]!");
        assert_eq!(format!("{key:?}"), "[API key]");
        assert!(ApiKey::new(" \n").is_none() && !key.is_none());
        assert_eq!(ApiKey::none().hide_in("as it was"), "as it was");
    }
}
