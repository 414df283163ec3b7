//! What the failure of a call means: wait and try again, repeat, or an error of the store.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use super::access::PostgresAccess;
use crate::{StoreError, limits};

/// The codes with which our own functions fail.
pub(super) const FENCED: &str = "HW001";
pub(super) const JOURNAL_CONFLICT: &str = "HW002";
pub(super) const RECORD_CONFLICT: &str = "HW003";
/// The worker that wants a lease was declared dead.
pub(super) const DECLARED_DEAD: &str = "HW006";
/// The schema has changed since its version was read.
pub(super) const OTHER_VERSION: &str = "HW005";

/// Why a call has failed.
#[derive(Debug)]
pub(super) enum CallFailure {
    /// The connection is gone, or the call waited too long behind others. What became of the call is
    /// unknown.
    Lost(String),
    /// The server has undone the call because of another one. Nothing has changed.
    Undone(String),
    /// A function of ours has refused the call.
    Refused(Refusal),
    /// The call cannot succeed.
    Store(StoreError),
}

/// An error that one of our functions has raised.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: String,
    pub(super) detail: String,
}

impl From<StoreError> for CallFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Why connecting has failed.
pub(super) fn of_connecting(access: &PostgresAccess, error: &Error) -> CallFailure {
    match error.as_db_error() {
        Some(error) => of_server(access, error),
        None if is_lost(error) => CallFailure::Lost(cause_of(access, error)),
        None if says(error, "password missing") => {
            let cause = "the server asks for a password, and there is none".to_owned();
            StoreError::Denied { cause }.into()
        }
        None if says(error, "authentication") => {
            let cause = "the server's way to check passwords is not supported".to_owned();
            StoreError::Denied { cause }.into()
        }
        None => StoreError::NotPostgres.into(),
    }
}

/// Why a statement has failed.
pub(super) fn of_statement(access: &PostgresAccess, error: &Error) -> CallFailure {
    match error.as_db_error() {
        Some(error) => of_server(access, error),
        None if is_lost(error) => CallFailure::Lost(cause_of(access, error)),
        None => StoreError::Io { cause: cause_of(access, error) }.into(),
    }
}

/// The system's words, without a place.
pub(super) fn io_cause(access: &PostgresAccess, error: &io::Error) -> String {
    let text = error.to_string();
    access.without_secrets(text.split(" (os error").next().unwrap_or(&text))
}

fn is_lost(error: &Error) -> bool {
    error.is_closed() || error.source().is_some_and(|cause| cause.is::<io::Error>())
}

/// Whether the driver's error has these words; it has no other way to tell them apart.
fn says(error: &Error, words: &str) -> bool {
    let cause = error.source().map(ToString::to_string).unwrap_or_default();
    error.to_string().contains(words) || cause.contains(words)
}

fn cause_of(access: &PostgresAccess, error: &Error) -> String {
    match error.source().and_then(|cause| cause.downcast_ref::<io::Error>()) {
        Some(error) => io_cause(access, error),
        None => access.without_secrets(&error.to_string()),
    }
}

fn of_server(access: &PostgresAccess, error: &DbError) -> CallFailure {
    let code = error.code().code();
    let cause = || access.without_secrets(error.message());
    let detail = || error.detail().unwrap_or_default().to_owned();
    let store_error = match code {
        FENCED | JOURNAL_CONFLICT | RECORD_CONFLICT | DECLARED_DEAD | OTHER_VERSION => {
            return CallFailure::Refused(Refusal { code: code.to_owned(), detail: detail() });
        }
        // The server stops, starts, has too many clients, or the pooler has lost it.
        "57P01" | "57P02" | "57P03" | "57P05" | "53300" => return CallFailure::Lost(cause()),
        _ if code.starts_with("08") => return CallFailure::Lost(cause()),
        // Two transactions waited for each other, or one has changed what the other had read.
        "40P01" | "40001" => return CallFailure::Undone(cause()),
        // An earlier copy of this very call may have the lock, and wait for a standby server. What
        // became of that copy is unknown, as after a lost connection.
        "55P03" => {
            let waited = limits::LOCK_WAIT_MAX;
            let cause =
                format!("other changes have kept what this one needs locked for {waited:?}");
            return CallFailure::Lost(cause);
        }
        "28P01" => StoreError::Denied {
            cause: "the password is wrong, or the server does not know the user".to_owned(),
        },
        "28000" => StoreError::Denied {
            cause: "the server does not admit this user from this machine to this database"
                .to_owned(),
        },
        "3D000" => StoreError::Denied { cause: "the server has no such database".to_owned() },
        "42501" => StoreError::Denied { cause: cause() },
        "25006" => StoreError::NotWritable { cause: cause() },
        "53100" => StoreError::Full { cause: cause() },
        "XX001" | "XX002" => StoreError::Damaged { cause: cause() },
        _ if *error.code() == SqlState::UNDEFINED_TABLE
            || *error.code() == SqlState::UNDEFINED_FUNCTION
            || *error.code() == SqlState::INVALID_SCHEMA_NAME =>
        {
            StoreError::NoSchema
        }
        _ => StoreError::Io { cause: cause() },
    };
    store_error.into()
}
