//! [`Statement`]: a text for the server and its values, which are never part of the text.

use std::borrow::Cow;

use tokio_postgres::types::{ToSql, Type};

/// A statement. It is sent in one message, without a name on the server.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) text: Cow<'static, str>,
    values: Vec<SqlValue>,
}

/// A value of a statement.
#[derive(Debug, Clone)]
pub(super) enum SqlValue {
    Bytes(Option<Vec<u8>>),
    Number(Option<i64>),
    Text(&'static str),
    BytesList(Vec<Option<Vec<u8>>>),
    Numbers(Vec<Option<i64>>),
    Texts(Vec<&'static str>),
}

impl Statement {
    pub(super) fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), values: Vec::new() }
    }

    /// Adds a value and returns its mark in the text.
    pub(super) fn mark(&mut self, value: SqlValue) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    pub(super) fn with(mut self, value: SqlValue) -> Self {
        self.values.push(value);
        self
    }

    pub(super) fn bytes(self, text: &str) -> Self {
        self.with(SqlValue::Bytes(Some(text.as_bytes().to_vec())))
    }

    pub(super) fn number(self, number: i64) -> Self {
        self.with(SqlValue::Number(Some(number)))
    }

    /// The statement that shows the server's plan for this one.
    #[cfg(feature = "testing")]
    pub(super) fn explained(&self) -> Self {
        let text = format!("EXPLAIN (COSTS OFF) {}", self.text);
        Self { text: text.into(), values: self.values.clone() }
    }

    /// The values with their types, as the driver wants them.
    pub(super) fn parameters(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        self.values.iter().map(SqlValue::parameter).collect()
    }
}

impl SqlValue {
    fn parameter(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            SqlValue::Bytes(value) => (value as &(dyn ToSql + Sync), Type::BYTEA),
            SqlValue::Number(value) => (value as _, Type::INT8),
            SqlValue::Text(value) => (value as _, Type::TEXT),
            SqlValue::BytesList(value) => (value as _, Type::BYTEA_ARRAY),
            SqlValue::Numbers(value) => (value as _, Type::INT8_ARRAY),
            SqlValue::Texts(value) => (value as _, Type::TEXT_ARRAY),
        }
    }
}

/// A number of ours as the server stores it. Larger ones match nothing there.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
