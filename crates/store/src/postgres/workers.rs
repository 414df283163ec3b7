//! The workers of a store in Postgres. Their tables and functions are in `step_1/workers.sql`.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_postgres::Row;

use super::access::PostgresAccess;
use super::connection_thread::ConnectionThread;
use super::no_row;
use super::patience::Patience;
use super::read;
use super::statement::{SqlValue, Statement, signed};
use crate::{BeatReply, Fence, StoreError, StoredWorker, WatchedWorker, WorkerId, Workers, limits};

/// The columns that [`stored_worker`] reads.
macro_rules! worker_columns {
    () => {
        "w.id, w.number, w.died IS NOT NULL, w.description, \
         greatest(0, extract(epoch FROM clock_timestamp() - w.last_beat) * 1000)::bigint"
    };
}

/// The workers of a store.
#[derive(Debug)]
pub(super) struct PostgresWorkers {
    access: PostgresAccess,
    calls: ConnectionThread,
    own_id: Mutex<Option<WorkerId>>,
    /// The second connection, so that a beat does not wait for a long commit.
    beats: Mutex<Option<ConnectionThread>>,
}

impl PostgresWorkers {
    pub(super) fn new(access: PostgresAccess, calls: ConnectionThread) -> Self {
        Self { access, calls, own_id: Mutex::default(), beats: Mutex::default() }
    }

    /// Calls on the second connection, which is opened if there is none.
    fn beats(&self) -> Result<ConnectionThread, StoreError> {
        let mut beats = lock(&self.beats);
        if let Some(beats) = &*beats {
            return Ok(beats.clone());
        }
        let interval = self.beat_interval()?;
        let call_max = (interval * limits::BEATS_PER_CALL_MAX)
            .clamp(limits::BEAT_CALL_MIN, limits::CALL_MAX)
            .min(self.access.call_max);
        let access = PostgresAccess { call_max, away_max: Duration::ZERO, ..self.access.clone() };
        let thread = ConnectionThread::start(access, Patience::up_to(Duration::ZERO))?;
        Ok(beats.insert(thread).clone())
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The only row of a call.
fn one_row<T>(
    calls: &ConnectionThread,
    statement: Statement,
    row: impl Fn(&Row) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    calls.read(statement, row)?.pop().ok_or_else(no_row)
}

impl Workers for PostgresWorkers {
    fn join(&self, id: WorkerId, description: &str) -> Result<(), StoreError> {
        let bytes = description.len();
        limits::check("bytes of a worker's description", bytes, limits::HOLDER_BYTES_MAX)?;
        let statement = Statement::new("SELECT hookwright.join_workers($1, $2)")
            .with(SqlValue::Bytes(Some(id.bytes())))
            .bytes(description);
        one_row(&self.calls, statement, |row| read::value::<i64>(row, 0))?;
        self.act_as(id);
        Ok(())
    }

    fn act_as(&self, id: WorkerId) {
        *lock(&self.own_id) = Some(id);
    }

    fn own_id(&self) -> Option<WorkerId> {
        *lock(&self.own_id)
    }

    fn beat_interval(&self) -> Result<Duration, StoreError> {
        let statement = Statement::new("SELECT s.beat_ms FROM hookwright.settings AS s");
        one_row(&self.calls, statement, |row| Ok(Duration::from_millis(read::number(row, 0)?)))
    }

    fn beat(&self, id: WorkerId, held: &[Fence]) -> Result<BeatReply, StoreError> {
        let names = held.iter().map(|fence| Some(fence.lease.as_bytes().to_vec()));
        let tokens = held.iter().map(|fence| Some(signed(fence.token)));
        let statement = Statement::new("SELECT * FROM hookwright.beat($1, $2, $3, $4)")
            .with(SqlValue::Bytes(Some(id.bytes())))
            .with(SqlValue::BytesList(names.collect()))
            .with(SqlValue::Numbers(tokens.collect()))
            .number(signed(limits::WATCHED_WORKERS_MAX as u64));
        one_row(&self.beats()?, statement, |row| beat_reply(row, held))
    }

    fn declare_dead(&self, watched: WatchedWorker) -> Result<bool, StoreError> {
        let statement = Statement::new("SELECT hookwright.declare_dead($1, $2)")
            .with(SqlValue::Bytes(Some(watched.id.bytes())))
            .number(signed(watched.number));
        one_row(&self.beats()?, statement, |row| read::value(row, 0))
    }

    fn leave(&self, id: WorkerId) -> Result<(), StoreError> {
        let statement = Statement::new("SELECT 1::bigint FROM hookwright.leave_workers($1)")
            .with(SqlValue::Bytes(Some(id.bytes())));
        one_row(&self.calls, statement, |_| Ok(()))
    }

    fn find(&self, id: WorkerId) -> Result<Option<StoredWorker>, StoreError> {
        let statement = Statement::new(concat!(
            "SELECT ",
            worker_columns!(),
            " FROM hookwright.workers AS w WHERE w.id = $1"
        ));
        let statement = statement.with(SqlValue::Bytes(Some(id.bytes())));
        Ok(self.calls.read(statement, stored_worker)?.pop())
    }

    fn list(&self, after: Option<WorkerId>) -> Result<Vec<StoredWorker>, StoreError> {
        let statement = Statement::new(concat!(
            "SELECT ",
            worker_columns!(),
            " FROM hookwright.workers AS w WHERE w.id > $1 ORDER BY w.id LIMIT $2"
        ));
        // Every id is greater than no bytes.
        let after = after.map(WorkerId::bytes).unwrap_or_default();
        let statement = statement
            .with(SqlValue::Bytes(Some(after)))
            .number(signed(limits::WORKERS_PER_PAGE as u64));
        self.calls.read(statement, stored_worker)
    }

    fn leases(&self, id: WorkerId) -> Result<Vec<String>, StoreError> {
        let text = "SELECT l.name FROM hookwright.leases AS l WHERE l.worker = $1 LIMIT $2";
        let statement = Statement::new(text)
            .with(SqlValue::Bytes(Some(id.bytes())))
            .number(signed(limits::LEASES_LISTED_MAX as u64));
        self.calls.read(statement, |row| read::text(row, 0))
    }
}

fn stored_worker(row: &Row) -> Result<StoredWorker, StoreError> {
    Ok(StoredWorker {
        watched: watched_worker(read::value(row, 0)?, read::value(row, 1)?)?,
        is_dead: read::value(row, 2)?,
        description: read::text(row, 3)?,
        silent_for: Duration::from_millis(read::number(row, 4)?),
    })
}

fn beat_reply(row: &Row, held: &[Fence]) -> Result<BeatReply, StoreError> {
    let is_living: bool = read::value(row, 0)?;
    let places = read::value::<Vec<i64>>(row, 1)?;
    let is_lost = |place: usize| !is_living || places.contains(&signed(place as u64));
    let lost = (1..).zip(held).filter(|(place, _)| is_lost(*place));
    let (ids, numbers) = (read::value::<Vec<&[u8]>>(row, 2)?, read::value::<Vec<i64>>(row, 3)?);
    let watched = ids.into_iter().zip(numbers).map(|(id, number)| watched_worker(id, number));
    Ok(BeatReply {
        is_living,
        lost: lost.map(|(_, fence)| fence.clone()).collect(),
        watched: watched.collect::<Result<_, _>>()?,
    })
}

fn watched_worker(id: &[u8], number: i64) -> Result<WatchedWorker, StoreError> {
    let damaged = || StoreError::Damaged { cause: "an id of a worker has no 16 bytes".to_owned() };
    let id = WorkerId::from_bytes(id).ok_or_else(damaged)?;
    Ok(WatchedWorker { id, number: number.unsigned_abs() })
}
