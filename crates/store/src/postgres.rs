//! A store in a Postgres database, which any number of machines share.
//!
//! | file | has |
//! |---|---|
//! | `address.rs`, `access.rs` | where it is and how to get in |
//! | `connection.rs`, `failure.rs` | connecting, and what errors of the server mean |
//! | `certificate.rs` | why a server's certificate cannot be trusted |
//! | `connection_thread.rs`, `patience.rs` | the thread that makes the calls, and waits while the database is away |
//! | `server_clock.rs` | the server's time |
//! | `schema.rs`, `step_1/` | the tables and functions |
//! | `read.rs`, `write.rs`, `statement.rs` | the statements |
//! | `workers.rs` | the processes that run sessions, and which of them live |
//!
//! Each call is one statement in one message, without a transaction that is open between messages,
//! without session settings and without prepared statements, so that it works behind a pooler in
//! transaction mode. Everything is synced, whatever the durability.

mod access;
mod address;
mod certificate;
mod connection;
mod connection_thread;
mod failure;
mod patience;
mod read;
mod schema;
mod server_clock;
mod statement;
mod workers;
mod write;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use access::{Password, PostgresAccess};
pub use address::{AddressError, PostgresAddress};
pub use patience::{Listener, Patience, Reachability};
pub use schema::SchemaChange;
use tokio_postgres::Row;

use self::connection_thread::ConnectionThread;
use self::failure::CallFailure;
use self::statement::{Statement, signed};
use self::workers::PostgresWorkers;
use self::write::{CallId, ClaimStep};
use crate::{
    Acquired, ClaimRequest, ClaimedRecord, Commit, Committed, Entry, Filter, Heading, Held,
    JournalKey, Kind, LaneKey, Loss, Reclaimed, Record, RecordKey, Rewrite, Store, StoreError,
    Workers, limits,
};

/// A store in a Postgres database.
#[derive(Debug)]
pub struct PostgresStore {
    calls: ConnectionThread,
    workers: Arc<PostgresWorkers>,
    patience: Patience,
    /// Drawn at random: by it, the server knows the calls of this value.
    client: [u8; 16],
    /// The number of the last call that changes something. The lock is held during such a call,
    /// because the server refuses a call with a lower number than the last.
    last_call: Mutex<u64>,
}

impl PostgresStore {
    /// Opens the store. It is not created: see [`PostgresStore::init`].
    pub fn open(access: &PostgresAccess) -> Result<Self, StoreError> {
        let patience = Patience::up_to(access.away_max);
        let calls = ConnectionThread::start(access.clone(), patience.clone(), None)?;
        let workers = Arc::new(PostgresWorkers::new(access.clone(), calls.clone()));
        Ok(Self { calls, workers, patience, client: random_id(), last_call: Mutex::new(0) })
    }

    /// Creates the schema, or upgrades it to the version of this program.
    pub fn init(access: &PostgresAccess) -> Result<SchemaChange, StoreError> {
        Self::init_with_beat(access, limits::BEAT)
    }

    /// The same; if it creates the schema, workers send beats at this interval.
    pub fn init_with_beat(
        access: &PostgresAccess,
        beat: Duration,
    ) -> Result<SchemaChange, StoreError> {
        let beat = signed(u64::try_from(beat.as_millis()).unwrap_or(u64::MAX)).max(1);
        connection_thread::once(access.clone(), async move |client, access| {
            let found = match schema::version(client, access).await {
                Ok(found) => found,
                Err(CallFailure::Store(StoreError::NoSchema)) => 0,
                Err(failure) => return Err(failure),
            };
            schema::make(client, access, found, beat).await
        })
    }

    /// The version of the schema, and the newest that this program supports.
    pub fn versions(access: &PostgresAccess) -> Result<(i64, i64), StoreError> {
        connection_thread::once(access.clone(), async |client, access| {
            Ok((schema::version(client, access).await?, schema::supported()))
        })
    }

    /// How long calls wait while the database is away.
    #[must_use]
    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// The plans of all statements that are sent during the calls of `reads`.
    #[cfg(feature = "testing")]
    pub fn plans(&self, reads: impl FnOnce(&Self)) -> Vec<String> {
        self.calls.plans(|| reads(self))
    }

    /// The row that a change returns.
    fn write<T>(
        &self,
        statement: impl FnOnce(CallId<'_>) -> Statement,
        row: impl FnOnce(&Row) -> Result<T, StoreError>,
        refused: impl FnOnce(&failure::Refusal) -> StoreError,
    ) -> Result<T, StoreError> {
        let mut last_call = self.last_call.lock().unwrap_or_else(PoisonError::into_inner);
        *last_call += 1;
        let call = CallId { client: &self.client, number: *last_call };
        match self.calls.call(statement(call)) {
            Ok(rows) => row(rows.first().ok_or_else(no_row)?),
            Err(CallFailure::Refused(refusal)) => Err(refused(&refusal)),
            Err(failure) => Err(unexpected(failure)),
        }
    }
}

/// 128 random bits, from the keys that the standard library draws for its hash maps.
fn random_id() -> [u8; 16] {
    use std::hash::{BuildHasher, RandomState};
    let random = || RandomState::new().hash_one(std::process::id()).to_le_bytes();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&random());
    id[8..].copy_from_slice(&random());
    id
}

fn unexpected(failure: CallFailure) -> StoreError {
    match failure {
        CallFailure::Store(error) => error,
        CallFailure::Lost(cause) | CallFailure::Undone(cause) => StoreError::Io { cause },
        CallFailure::Refused(refusal) => {
            StoreError::Io { cause: format!("{} {}", refusal.code, refusal.detail) }
        }
    }
}

fn no_row() -> StoreError {
    StoreError::Damaged { cause: "a function has returned no row".to_owned() }
}

impl Store for PostgresStore {
    fn is_remote(&self) -> bool {
        true
    }

    fn now_ms(&self) -> i64 {
        self.calls.clock().now_ms().unwrap_or_else(crate::store::system_ms)
    }

    fn commit(&self, commit: &Commit<'_>) -> Result<Committed, StoreError> {
        limits::check_commit(commit)?;
        write::check(commit)?;
        if let Some(append) = &commit.append
            && append.expected <= limits::ENTRIES_PER_JOURNAL_MAX
        {
            limits::check_journal(append.expected, append.entries.len())?;
        }
        let committed = |row: &Row| {
            let mut numbers: std::vec::IntoIter<i64> = read::value::<Vec<i64>>(row, 0)?.into_iter();
            let last = numbers.next().ok_or_else(no_row)?.unsigned_abs();
            Ok(Committed { last, versions: numbers.map(i64::unsigned_abs).collect() })
        };
        self.write(
            |call| write::commit(call, commit),
            committed,
            |refusal| write::refused(commit, refusal),
        )
    }

    fn journal(
        &self,
        journal: &JournalKey,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.calls.read(read::journal(journal, after, limit), read::entry)
    }

    fn last(&self, journal: &JournalKey) -> Result<u64, StoreError> {
        let found = self.calls.read(read::last(journal), |row| read::number(row, 0))?;
        Ok(found.first().copied().unwrap_or_default())
    }

    fn changes(&self) -> Result<u64, StoreError> {
        let found = self.calls.read(read::changes(), |row| read::number(row, 0))?;
        found.first().copied().ok_or_else(no_row)
    }

    fn get(&self, kind: Kind, key: &RecordKey) -> Result<Option<Record>, StoreError> {
        Ok(self.calls.read(read::get(kind, key), read::record)?.pop())
    }

    fn list(&self, kind: Kind, filter: &Filter) -> Result<Vec<Record>, StoreError> {
        limits::check_statuses(&filter.statuses)?;
        self.calls.read(read::list(kind, filter), read::record)
    }

    fn headings(&self, kind: Kind, filter: &Filter) -> Result<Vec<Heading>, StoreError> {
        limits::check_statuses(&filter.statuses)?;
        self.calls.read(read::headings(kind, filter), read::heading)
    }

    fn queue(
        &self,
        lane: LaneKey<'_>,
        from_rank: i64,
        limit: usize,
    ) -> Result<Vec<(i64, Record)>, StoreError> {
        self.calls.read(read::queue(lane, from_rank, limit), read::queued_record)
    }

    fn next_lane(&self, behind: LaneKey<'_>) -> Result<Option<String>, StoreError> {
        Ok(self.calls.read(read::next_lane(behind), |row| read::text(row, 0))?.pop())
    }

    fn queued(&self, prefix: LaneKey<'_>) -> Result<u64, StoreError> {
        let found = self.calls.read(read::queued(prefix), |row| read::number(row, 0))?;
        found.first().copied().ok_or_else(no_row)
    }

    fn claim(&self, request: &ClaimRequest<'_>) -> Result<Option<ClaimedRecord>, StoreError> {
        limits::check_claim(request)?;
        write::check_claim(request)?;
        let worker = self.workers.own_id();
        loop {
            let step = self.write(
                |call| write::claim(call, request, worker),
                |row| write::claimed(row, request),
                |refusal| match refusal.code.as_str() {
                    failure::DECLARED_DEAD => write::refused_worker(worker, refusal),
                    _ => write::fenced(request.fence, refusal),
                },
            )?;
            match step {
                ClaimStep::Claimed(claimed) => return Ok(Some(*claimed)),
                ClaimStep::NothingReady => return Ok(None),
                ClaimStep::MovedAside => {}
            }
        }
    }

    fn acquire(
        &self,
        lease: &str,
        holder: &str,
        instead_of: Option<u64>,
    ) -> Result<Acquired, StoreError> {
        limits::check_lease(lease, holder)?;
        let acquired = |row: &Row| {
            let token = read::number(row, 1)?;
            if read::value(row, 0)? {
                return Ok(Acquired::Granted { token });
            }
            let (holder, life) = (read::text(row, 2)?, read::life(row, 3)?);
            Ok(Acquired::Held(Held { holder, token, life }))
        };
        let worker = self.workers.own_id();
        self.write(
            |call| write::acquire(call, lease, holder, worker, instead_of),
            acquired,
            |refusal| write::refused_worker(worker, refusal),
        )
    }

    fn holder(&self, lease: &str) -> Result<Option<Held>, StoreError> {
        let held = |row: &Row| {
            let (holder, token) = (read::text(row, 0)?, read::number(row, 1)?);
            Ok(Held { holder, token, life: read::life(row, 2)? })
        };
        Ok(self.calls.read(read::holder(lease), held)?.pop())
    }

    fn workers(&self) -> Option<Arc<dyn Workers>> {
        Some(Arc::clone(&self.workers) as Arc<dyn Workers>)
    }

    fn release(&self, lease: &str, token: u64) -> Result<bool, StoreError> {
        self.write(
            |call| write::release(call, lease, token),
            |row| read::value(row, 0),
            |refusal| StoreError::Io { cause: refusal.detail.clone() },
        )
    }

    /// None: what was committed is on the server's disk.
    fn take_losses(&self) -> Vec<Loss> {
        Vec::new()
    }

    /// Deletes the entries of dropped journals. The server itself reuses their space.
    fn reclaim(&self, _: Rewrite) -> Result<Reclaimed, StoreError> {
        let mut reclaimed = Reclaimed::default();
        loop {
            let deleted =
                self.calls.read(write::reclaim(), |row| read::value::<Option<i64>>(row, 0))?;
            match deleted.first().copied().flatten() {
                Some(deleted) => reclaimed.entries += deleted.unsigned_abs(),
                None => return Ok(reclaimed),
            }
        }
    }
}
