//! The workers of a store in Postgres. Their tables and functions are in `step_1/workers.sql`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_postgres::Row;

use super::access::PostgresAccess;
use super::connection::Ear;
use super::connection_thread::ConnectionThread;
use super::no_row;
use super::patience::Patience;
use super::read;
use super::statement::{SqlValue, Statement, signed};
use crate::{
    BeatReply, Fence, StoreError, StoredWorker, WatchedWorker, WorkerId, WorkerLease, Workers,
    limits,
};

/// The channel on which the server tells that a worker was woken, with its id.
const WAKES: &str = "hookwright_wakes";

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
    /// What the second connection listens for.
    ear: Mutex<Option<Ear>>,
}

impl PostgresWorkers {
    pub(super) fn new(access: PostgresAccess, calls: ConnectionThread) -> Self {
        Self {
            access,
            calls,
            own_id: Mutex::default(),
            beats: Mutex::default(),
            ear: Mutex::default(),
        }
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
        let ear = lock(&self.ear).clone();
        let thread = ConnectionThread::start(access, Patience::up_to(Duration::ZERO), ear)?;
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
        let text = "SELECT * FROM hookwright.beat($1, $2, $3, $4)";
        let watched = signed(limits::WATCHED_WORKERS_MAX as u64);
        let statement = of_held(text, id, held).number(watched);
        one_row(&self.beats()?, statement, |row| beat_reply(row, held))
    }

    fn look(&self, id: WorkerId, held: &[Fence]) -> Result<BeatReply, StoreError> {
        let statement = of_held("SELECT * FROM hookwright.look($1, $2, $3)", id, held);
        one_row(&self.beats()?, statement, |row| news(row, held))
    }

    fn listen(&self, id: WorkerId, woken: Box<dyn Fn() + Send + Sync>) {
        let id = id.to_string();
        let hear = move |named: &str| {
            if named == id {
                woken();
            }
        };
        *lock(&self.ear) = Some(Ear { channel: WAKES, hear: Arc::new(hear) });
    }

    fn wake(&self, id: WorkerId) -> Result<bool, StoreError> {
        let statement = Statement::new("SELECT hookwright.wake($1)");
        let statement = statement.with(SqlValue::Bytes(Some(id.bytes())));
        one_row(&self.calls, statement, |row| read::value(row, 0))
    }

    fn ask_to_stop(&self, fence: &Fence) -> Result<bool, StoreError> {
        let statement = Statement::new("SELECT hookwright.ask_to_stop($1, $2)")
            .bytes(&fence.lease)
            .number(signed(fence.token));
        one_row(&self.calls, statement, |row| read::value(row, 0))
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

    fn leases(&self, id: WorkerId) -> Result<Vec<WorkerLease>, StoreError> {
        let text = "SELECT l.name, l.token, l.holder FROM hookwright.leases AS l \
                    WHERE l.worker = $1 LIMIT $2";
        let statement = Statement::new(text)
            .with(SqlValue::Bytes(Some(id.bytes())))
            .number(signed(limits::LEASES_LISTED_MAX as u64));
        self.calls.read(statement, |row| {
            let fence = Fence { lease: read::text(row, 0)?, token: read::number(row, 1)? };
            Ok(WorkerLease { fence, holder: read::text(row, 2)? })
        })
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

/// A statement whose first parameters are a worker and the leases that it believes to hold.
fn of_held(text: &'static str, id: WorkerId, held: &[Fence]) -> Statement {
    let names = held.iter().map(|fence| Some(fence.lease.as_bytes().to_vec()));
    let tokens = held.iter().map(|fence| Some(signed(fence.token)));
    Statement::new(text)
        .with(SqlValue::Bytes(Some(id.bytes())))
        .with(SqlValue::BytesList(names.collect()))
        .with(SqlValue::Numbers(tokens.collect()))
}

/// What `look` and `beat` both return.
fn news(row: &Row, held: &[Fence]) -> Result<BeatReply, StoreError> {
    let is_living: bool = read::value(row, 0)?;
    let (places, stops) = (read::value::<Vec<i64>>(row, 2)?, read::value::<Vec<i64>>(row, 3)?);
    let is_lost = |place: usize| !is_living || places.contains(&signed(place as u64));
    let lost = (1..).zip(held).filter(|(place, _)| is_lost(*place));
    let stops = held.iter().zip(stops).filter(|(_, times)| *times > 0);
    Ok(BeatReply {
        is_living,
        lost: lost.map(|(_, fence)| fence.clone()).collect(),
        wakes: read::number(row, 1)?,
        stops: stops.map(|(fence, times)| (fence.clone(), times.unsigned_abs())).collect(),
        watched: Vec::new(),
    })
}

fn beat_reply(row: &Row, held: &[Fence]) -> Result<BeatReply, StoreError> {
    let (ids, numbers) = (read::value::<Vec<&[u8]>>(row, 4)?, read::value::<Vec<i64>>(row, 5)?);
    let watched = ids.into_iter().zip(numbers).map(|(id, number)| watched_worker(id, number));
    Ok(BeatReply { watched: watched.collect::<Result<_, _>>()?, ..news(row, held)? })
}

fn watched_worker(id: &[u8], number: i64) -> Result<WatchedWorker, StoreError> {
    let damaged = || StoreError::Damaged { cause: "an id of a worker has no 16 bytes".to_owned() };
    let id = WorkerId::from_bytes(id).ok_or_else(damaged)?;
    Ok(WatchedWorker { id, number: number.unsigned_abs() })
}
