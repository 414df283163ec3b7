//! [`Secrets`]: values that hooks may use and that must not be shown.
//!
//! A user keeps them in `secrets.env`, which `hookwright-config` reads. A secret enters only the
//! environment of hooks that name it. All output of hooks passes through [`Redaction`] before it is
//! kept, shown or read as an answer. From there on a secret's value, as it is, escaped for JSON or
//! percent-encoded, is replaced by `[secret NAME]`.

mod forms;
mod redaction;
mod search;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use hookwright_process::OutputFilter;
use serde_json::Value;

pub(crate) use forms::for_url;
pub(crate) use redaction::Redaction;
pub use search::SecretSearch;

use crate::limits::SECRET_BYTES_MIN;
use crate::variables::Environment;

/// Names and values of a user's secrets.
#[derive(Clone, Default)]
pub struct Secrets {
    all: Vec<(String, String)>,
    /// `None` if there is nothing to hide.
    redaction: Option<Arc<Redaction>>,
}

impl Secrets {
    /// The secret that is the password of the store. It is hidden in texts like all others, but no
    /// hook gets it.
    pub const STORE_PASSWORD: &str = "HOOKWRIGHT_STORE_PASSWORD";

    /// These names and values. The caller must check their length: a short value would also be
    /// found in unrelated text.
    pub fn new(all: Vec<(String, String)>) -> Self {
        let redaction = (!all.is_empty()).then(|| Arc::new(Redaction::new(&all)));
        Self { all, redaction }
    }

    /// The same, and the values of these variables. Values that are too short to be hidden are left
    /// out. A name that is here already keeps its value, and both values are hidden.
    #[must_use]
    pub fn with_variables(&self, environment: &Environment, names: &[&str]) -> Self {
        let values = names.iter().filter_map(|name| {
            let value = environment.text(name)?;
            (value.len() >= SECRET_BYTES_MIN).then(|| ((*name).to_owned(), value.to_owned()))
        });
        Self::new(self.all.iter().cloned().chain(values).collect())
    }

    /// Whether there are no secrets.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The value of a secret for hooks.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.value(name).filter(|_| name != Self::STORE_PASSWORD)
    }

    /// The password of the store.
    pub fn store_password(&self) -> Option<&str> {
        self.value(Self::STORE_PASSWORD)
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.all.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The names, as in the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(name, _)| name.as_str())
    }

    /// All names and values, for files that are read together. Hooks use [`Secrets::get`].
    pub fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The text without the value of any secret.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.redaction.as_ref().map_or(Cow::Borrowed(text), |redaction| redaction.text(text))
    }

    /// Hides the value of every secret in all texts of a JSON value, keys included.
    pub fn hide_in(&self, value: &mut Value) {
        let Some(redaction) = &self.redaction else { return };
        redaction.value(value);
    }

    /// Whether the text of a JSON document may contain a secret, so that [`Secrets::hide_in`] has to
    /// look at the document. The text must come from `serde_json`.
    pub fn may_be_in_json(&self, json: &str) -> bool {
        self.redaction.as_ref().is_some_and(|redaction| redaction.may_be_in_json(json))
    }

    /// A redaction of all secrets, and of these values under their names.
    #[cfg(feature = "http")]
    pub(crate) fn and_values<'a>(
        &'a self,
        values: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Arc<Redaction> {
        let secrets = self.all.iter().map(|(name, value)| (&**value, format!("[secret {name}]")));
        let values = values.map(|(name, value)| (value, format!("${{{name}}}")));
        Arc::new(Redaction::showing(secrets.chain(values)))
    }

    /// Finds secrets in bytes; `None` if there are no secrets.
    pub fn search(&self) -> Option<SecretSearch> {
        self.redaction.as_ref().map(|redaction| SecretSearch::new(Arc::clone(redaction)))
    }

    /// The filter for one stream of a child's output.
    pub fn filter(&self) -> Option<Box<dyn OutputFilter>> {
        let redaction = self.redaction.as_ref()?;
        Some(Box::new(redaction::RedactedStream::new(Arc::clone(redaction))))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
