//! The statements in `docs/conformance.yaml`: systems, their topics, and what each promises.

use std::fs;
use std::path::Path;

use serde::Deserialize;

/// One system and what it promises.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SystemStatements {
    /// The first part of its ids.
    pub(super) system: String,
    /// Its name in headings.
    pub(super) title: String,
    /// A sentence or two about where the statements come from.
    pub(super) about: String,
    pub(super) topics: Vec<StatementTopic>,
}

/// Statements that belong together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatementTopic {
    pub(super) topic: String,
    pub(super) statements: Vec<Statement>,
}

/// Something that a system promises and a test can show.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Statement {
    /// Stays the same for good: tests name it.
    pub(super) id: String,
    /// In our own words.
    pub(super) says: String,
    /// Set if the statement does not hold here, on purpose.
    pub(super) differs: Option<StatementDifference>,
}

/// What holds in place of a statement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatementDifference {
    pub(super) instead: String,
    /// The file in `docs/decisions` that says why.
    pub(super) decision: String,
}

/// Reads the statements of all systems.
pub(super) fn read(path: &Path) -> Vec<SystemStatements> {
    let text = fs::read_to_string(path).expect("the statements can be read");
    parse(&text).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
}

/// The statements in a text.
pub(super) fn parse(text: &str) -> Result<Vec<SystemStatements>, String> {
    serde_saphyr::from_str(text).map_err(|fault| fault.to_string())
}
