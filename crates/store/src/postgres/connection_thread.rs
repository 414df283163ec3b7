//! The thread that talks to the server, so that calls block only their callers.
//!
//! It has one connection and makes one call at a time. If the connection is lost, it connects
//! again and repeats the call, up to a limit: reading twice does no harm, and what changes
//! something has a number by which the server finds out whether it was done (`step_1/calls.sql`,
//! `begin_call`).

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
#[cfg(feature = "testing")]
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};
use tokio_postgres::{Client, Row};

use super::access::PostgresAccess;
use super::connection::Ear;
use super::failure::{self, CallFailure};
use super::patience::Patience;
use super::server_clock::ServerClock;
use super::statement::Statement;
use super::{connection, schema, unexpected};
use crate::{StoreError, limits};

/// How long the first connection is tried again.
const FIRST_TRIES: Duration = Duration::from_millis(500);

/// Pause between two such tries.
const FIRST_TRY_PAUSE: Duration = Duration::from_millis(100);

/// The result of a call, before it is read.
pub(super) type ServerAnswer = Result<Vec<Row>, CallFailure>;

/// The calling side. The thread ends with the last clone.
#[derive(Debug, Clone)]
pub(super) struct ConnectionThread {
    calls: UnboundedSender<ServerCall>,
    clock: Arc<ServerClock>,
    #[cfg(feature = "testing")]
    plans: Arc<Mutex<Option<Vec<String>>>>,
}

struct ServerCall {
    statement: Statement,
    reply: SyncSender<ServerAnswer>,
}

impl ConnectionThread {
    /// Connects, checks the schema, and starts the thread.
    pub(super) fn start(
        access: PostgresAccess,
        patience: Patience,
        ear: Option<Ear>,
    ) -> Result<Self, StoreError> {
        let (calls, received) = unbounded_channel();
        let (opened, is_open) = sync_channel(1);
        let clock = Arc::new(ServerClock::default());
        let clock_of_server = Arc::clone(&clock);
        let run = move || {
            let runtime = match runtime() {
                Ok(runtime) => runtime,
                Err(error) => return drop(opened.send(Err(error))),
            };
            let mut server = Server { access, patience, ear, clock: clock_of_server, client: None };
            runtime.block_on(async {
                match server.open_at_first().await {
                    Ok(client) => {
                        server.client = Some(client);
                        let _ = opened.send(Ok(()));
                        server.serve(received).await;
                    }
                    Err(failure) => {
                        let _ = opened.send(Err(final_error(failure)));
                    }
                }
            });
        };
        spawn(run)?;
        is_open.recv().unwrap_or_else(|_| Err(thread_ended()))?;
        Ok(Self {
            calls,
            clock,
            #[cfg(feature = "testing")]
            plans: Arc::default(),
        })
    }

    /// The server's time.
    pub(super) fn clock(&self) -> &ServerClock {
        &self.clock
    }

    /// Makes a call and waits for its result.
    pub(super) fn call(&self, statement: Statement) -> ServerAnswer {
        let (reply, answer) = sync_channel(1);
        let sent = self.calls.send(ServerCall { statement, reply });
        let answer = sent.ok().and_then(|()| answer.recv().ok());
        answer.unwrap_or_else(|| Err(thread_ended().into()))
    }

    /// The rows of a statement that may be made twice.
    pub(super) fn read<T>(
        &self,
        statement: Statement,
        row: impl Fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        #[cfg(feature = "testing")]
        self.keep_plan(&statement);
        match self.call(statement) {
            Ok(rows) => rows.iter().map(row).collect(),
            Err(failure) => Err(unexpected(failure)),
        }
    }

    /// The plans of all statements that are read during this function.
    #[cfg(feature = "testing")]
    pub(super) fn plans(&self, reads: impl FnOnce()) -> Vec<String> {
        let plans = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        *plans() = Some(Vec::new());
        reads();
        plans().take().unwrap_or_default()
    }

    #[cfg(feature = "testing")]
    fn keep_plan(&self, statement: &Statement) {
        if let Some(plans) = &mut *self.plans.lock().unwrap_or_else(PoisonError::into_inner) {
            let rows = self.call(statement.explained()).unwrap_or_default();
            let lines = rows.iter().filter_map(|row| row.try_get::<_, &str>(0).ok());
            plans.push(lines.collect::<Vec<_>>().join("\n"));
        }
    }
}

/// Connects without a schema and runs one task, on a thread of its own: the caller may be inside a
/// runtime.
pub(super) fn once<T: Send + 'static>(
    access: PostgresAccess,
    task: impl AsyncFnOnce(&Client, &PostgresAccess) -> Result<T, CallFailure> + Send + 'static,
) -> Result<T, StoreError> {
    let run = move || {
        runtime()?.block_on(async {
            let done = match connection::connect(&access, None).await {
                Ok(client) => task(&client, &access).await,
                Err(failure) => Err(failure),
            };
            done.map_err(final_error)
        })
    };
    spawn(run)?.join().unwrap_or_else(|_| Err(thread_ended()))
}

fn spawn<T: Send + 'static>(
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>, StoreError> {
    let started = thread::Builder::new().name("store".to_owned()).spawn(run);
    started.map_err(|error| StoreError::Io { cause: error.to_string() })
}

fn runtime() -> Result<tokio::runtime::Runtime, StoreError> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| StoreError::Io { cause: error.to_string() })
}

fn thread_ended() -> StoreError {
    StoreError::Io { cause: "the thread of the store has ended".to_owned() }
}

/// The side of the thread.
struct Server {
    access: PostgresAccess,
    patience: Patience,
    ear: Option<Ear>,
    clock: Arc<ServerClock>,
    client: Option<Client>,
}

impl Server {
    async fn serve(&mut self, mut calls: UnboundedReceiver<ServerCall>) {
        while let Some(ServerCall { statement, reply }) = calls.recv().await {
            // A caller that has ended needs no result.
            let _ = reply.send(self.call(&statement).await);
        }
    }

    /// Makes a call, and repeats it while that can help.
    async fn call(&mut self, statement: &Statement) -> ServerAnswer {
        let mut absence: Option<Absence> = None;
        let mut undone = 0;
        loop {
            match self.attempt(statement).await {
                Err(CallFailure::Lost(cause)) => {
                    self.client = None;
                    let absence = absence.get_or_insert_with(Absence::begin);
                    self.patience.tell_away(absence.since);
                    if !self.patience.wait(absence.next_pause(), absence.began).await {
                        self.patience.tell_given_up(absence.since);
                        return Err(StoreError::Away { since: absence.since, cause }.into());
                    }
                }
                Err(CallFailure::Undone(_)) if undone < limits::REPEATS_MAX => undone += 1,
                answer => {
                    self.patience.tell_back();
                    return answer;
                }
            }
        }
    }

    async fn attempt(&mut self, statement: &Statement) -> ServerAnswer {
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => self.open().await?,
        };
        let client = self.client.insert(client);
        let call_max = self.access.call_max;
        let parameters = statement.parameters();
        let called = client.query_typed(&statement.text, &parameters);
        match timeout(call_max, called).await {
            Ok(rows) => rows.map_err(|error| failure::of_statement(&self.access, &error)),
            Err(_) => Err(CallFailure::Lost(format!("no answer within {call_max:?}"))),
        }
    }

    /// Opens the first connection. No command fails because one connection was lost, but it soon
    /// says that the server is away.
    async fn open_at_first(&self) -> Result<Client, CallFailure> {
        let began = Instant::now();
        loop {
            match self.open().await {
                Err(CallFailure::Lost(_)) if began.elapsed() < FIRST_TRIES => {}
                opened => return opened,
            }
            sleep(FIRST_TRY_PAUSE).await;
        }
    }

    /// Connects, checks the schema, and reads the server's clock.
    async fn open(&self) -> Result<Client, CallFailure> {
        let client = connection::connect(&self.access, self.ear.as_ref()).await?;
        let asked = ServerClock::ask();
        let checked = timeout(limits::CONNECT_MAX, schema::check(&client, &self.access)).await;
        let server_ms = checked.unwrap_or_else(|_| {
            Err(CallFailure::Lost(format!("no answer within {:?}", limits::CONNECT_MAX)))
        })?;
        self.clock.set(&asked, server_ms);
        Ok(client)
    }
}

/// The error of something that is not repeated.
fn final_error(failure: CallFailure) -> StoreError {
    match failure {
        CallFailure::Store(error) => error,
        CallFailure::Lost(cause) => StoreError::Away { since: SystemTime::now(), cause },
        CallFailure::Undone(cause) => StoreError::Io { cause },
        CallFailure::Refused(refusal) => StoreError::Io { cause: refusal.detail },
    }
}

/// A time in which the database cannot be reached.
struct Absence {
    since: SystemTime,
    began: Instant,
    pauses: u32,
}

impl Absence {
    fn begin() -> Self {
        Self { since: SystemTime::now(), began: Instant::now(), pauses: 0 }
    }

    /// The pause before the next attempt: none at first, then longer and longer.
    fn next_pause(&mut self) -> Duration {
        let pause = match self.pauses {
            0 => Duration::ZERO,
            count => limits::RECONNECT_PAUSE_MIN * 2_u32.saturating_pow(count - 1),
        };
        self.pauses += 1;
        pause.min(limits::RECONNECT_PAUSE_MAX)
    }
}

/// Waits without blocking the thread.
pub(super) async fn pause(duration: Duration) {
    if !duration.is_zero() {
        sleep(duration).await;
    }
}
