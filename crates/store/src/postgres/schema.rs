//! The tables and functions in the database, and their versions.

use tokio_postgres::{Client, Row};

use super::access::PostgresAccess;
use super::failure::{self, CallFailure};
use super::statement::Statement;
use crate::StoreError;

/// The oldest major version of Postgres that is supported.
pub(super) const SERVER_VERSION_MIN: u32 = 15;

/// Any number that other programs do not use: initialising and upgrading hold this lock.
const LOCK: i64 = 0x486b_5772;

/// Each step, in one or more files, changes the schema from the version that is its index to the next. Released steps
/// never change.
const STEPS: &[&[&str]] = &[&[
    include_str!("step_1/calls.sql"),
    include_str!("step_1/journals.sql"),
    include_str!("step_1/records.sql"),
    include_str!("step_1/leases.sql"),
    include_str!("step_1/workers.sql"),
    include_str!("step_1/commit.sql"),
    include_str!("step_1/claims.sql"),
]];

/// What [`PostgresStore::init`](super::PostgresStore::init) did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaChange {
    /// The version before; 0 if there was none.
    pub from: i64,
    /// The version now.
    pub to: i64,
}

/// The version after all steps.
pub(super) fn supported() -> i64 {
    i64::try_from(STEPS.len()).expect("a handful")
}

/// The version of the schema.
pub(super) async fn version(client: &Client, access: &PostgresAccess) -> Result<i64, CallFailure> {
    version_and_time(client, access).await.map(|(version, _)| version)
}

/// The version, and the server's time in milliseconds since 1970.
async fn version_and_time(
    client: &Client,
    access: &PostgresAccess,
) -> Result<(i64, i64), CallFailure> {
    let statement = Statement::new(
        "SELECT version, (extract(epoch FROM clock_timestamp()) * 1000)::bigint \
         FROM hookwright.schema_version",
    );
    let rows = client.query_typed(&statement.text, &statement.parameters()).await;
    let rows = rows.map_err(|error| failure::of_statement(access, &error))?;
    let number = |row: &Row, index: usize| {
        row.try_get(index).map_err(|error| failure::of_statement(access, &error))
    };
    match rows.first() {
        Some(row) => Ok((number(row, 0)?, number(row, 1)?)),
        None => Err(StoreError::NoSchema.into()),
    }
}

/// Fails unless the schema has the version of this program. Returns the server's time, in
/// milliseconds since 1970.
pub(super) async fn check(client: &Client, access: &PostgresAccess) -> Result<i64, CallFailure> {
    let ((found, now_ms), supported) = (version_and_time(client, access).await?, supported());
    match found.cmp(&supported) {
        std::cmp::Ordering::Less => Err(StoreError::Older { found, needed: supported }.into()),
        std::cmp::Ordering::Equal => Ok(now_ms),
        std::cmp::Ordering::Greater => Err(StoreError::Newer { found, supported }.into()),
    }
}

/// Makes the missing steps in one transaction. `from` is the version that was found. A new schema
/// gets this beat, in milliseconds.
pub(super) async fn make(
    client: &Client,
    access: &PostgresAccess,
    from: i64,
    beat: i64,
) -> Result<SchemaChange, CallFailure> {
    let to = supported();
    if from > to {
        return Err(StoreError::Newer { found: from, supported: to }.into());
    }
    let steps = STEPS.get(usize::try_from(from).unwrap_or_default()..).unwrap_or_default();
    if steps.is_empty() {
        return Ok(SchemaChange { from, to });
    }
    // Several statements in one message are one transaction. It fails if another process has
    // changed the schema since its version was read.
    let mut text = format!(
        "SELECT pg_advisory_xact_lock({LOCK});
        DO $$
        DECLARE
            found bigint := 0;
        BEGIN
            IF to_regnamespace('hookwright') IS NULL THEN
                CREATE SCHEMA hookwright;
            END IF;
            CREATE TABLE IF NOT EXISTS hookwright.schema_version (version bigint NOT NULL);
            SELECT version INTO found FROM hookwright.schema_version;
            IF coalesce(found, 0) <> {from} THEN
                RAISE EXCEPTION 'the schema has another version' USING ERRCODE = '{}';
            END IF;
        END $$;",
        failure::OTHER_VERSION
    );
    steps.iter().copied().flatten().for_each(|file| text.push_str(file));
    if from == 0 {
        text.push_str(&format!("UPDATE hookwright.settings SET beat_ms = {beat};"));
    }
    text.push_str(&format!(
        "DELETE FROM hookwright.schema_version;
        INSERT INTO hookwright.schema_version (version) VALUES ({to});"
    ));
    client.batch_execute(&text).await.map_err(|error| failure::of_statement(access, &error))?;
    Ok(SchemaChange { from, to })
}
