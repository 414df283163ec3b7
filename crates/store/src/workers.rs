//! [`Workers`]: the processes that run sessions on a store of several machines, and which of them
//! live.
//!
//! No clock decides. Each worker sends a beat again and again, which changes its number. A worker
//! that has counted enough of its own beats since the number of another one changed declares that
//! one dead, unless the number changes at this moment. Only then can its leases be taken, and it
//! learns from its next beat that it has lost them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Fence, StoreError};

/// A worker's id: 128 random bits, so that neither equal host names nor cloned machines matter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId([u8; 16]);

/// The workers of a store.
pub trait Workers: Send + Sync {
    /// Makes this process a worker. From now on it holds the leases that it takes as this worker,
    /// and has to send beats. The description is for other processes and for people.
    fn join(&self, id: WorkerId, description: &str) -> Result<(), StoreError>;

    /// Takes leases as this worker from now on. Another process, which has joined, sends its beats.
    fn act_as(&self, id: WorkerId);

    /// The worker as which this process takes leases.
    fn own_id(&self) -> Option<WorkerId>;

    /// The pause between the answer to a beat and the next beat. It is the same for all workers.
    fn beat_interval(&self) -> Result<Duration, StoreError>;

    /// Sends a beat: one round trip, on a connection of its own, so that it waits for no other call.
    /// If the connection fails, so does this call; it is not repeated.
    fn beat(&self, id: WorkerId, held: &[Fence]) -> Result<BeatReply, StoreError>;

    /// What a beat tells, without the workers to watch and without being a sign of life. Uses the
    /// connection of the beats.
    fn look(&self, id: WorkerId, held: &[Fence]) -> Result<BeatReply, StoreError>;

    /// Calls this function soon after the worker was woken, on another thread. A call may be missed;
    /// the next beat tells in any case. To be called before the first beat.
    fn listen(&self, id: WorkerId, woken: Box<dyn Fn() + Send + Sync>);

    /// Wakes a worker: there is something to look for. Returns whether it lives.
    fn wake(&self, id: WorkerId) -> Result<bool, StoreError>;

    /// Asks the worker that holds a lease to end what it does under it. Returns whether it still
    /// holds the lease.
    fn ask_to_stop(&self, fence: &Fence) -> Result<bool, StoreError>;

    /// Declares a worker dead, unless its number has changed. Returns whether it is gone. Uses the
    /// connection of the beats.
    fn declare_dead(&self, watched: WatchedWorker) -> Result<bool, StoreError>;

    /// Removes a worker and gives back all that it holds.
    fn leave(&self, id: WorkerId) -> Result<(), StoreError>;

    /// One worker; `None` if there is none of this id, or no more.
    fn find(&self, id: WorkerId) -> Result<Option<StoredWorker>, StoreError>;

    /// Workers with a higher id than this, in the order of ids. An empty page is the end.
    fn list(&self, after: Option<WorkerId>) -> Result<Vec<StoredWorker>, StoreError>;

    /// The leases that a worker holds, at most
    /// [`limits::LEASES_LISTED_MAX`](crate::limits::LEASES_LISTED_MAX).
    fn leases(&self, id: WorkerId) -> Result<Vec<WorkerLease>, StoreError>;
}

/// The answer to a beat.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BeatReply {
    /// Whether the worker lives. If not, it has lost all its leases and stays dead.
    pub is_living: bool,
    /// The leases, of those that it believes to hold, that it does not hold any more.
    pub lost: Vec<Fence>,
    /// How often it was woken.
    pub wakes: u64,
    /// The leases under which it was asked to end, and how often.
    pub stops: Vec<(Fence, u64)>,
    /// The living workers behind it in the order of ids, up to
    /// [`limits::WATCHED_WORKERS_MAX`](crate::limits::WATCHED_WORKERS_MAX). The first follows the
    /// last.
    pub watched: Vec<WatchedWorker>,
}

/// A worker with its number, which its next beat changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedWorker {
    /// The worker.
    pub id: WorkerId,
    /// The number of its last beat.
    pub number: u64,
}

/// A lease of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerLease {
    /// The lease with its token.
    pub fence: Fence,
    /// The process of the worker that holds it, as it described itself.
    pub holder: String,
}

/// What a store knows of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWorker {
    /// The worker with the number of its last beat.
    pub watched: WatchedWorker,
    /// Whether it was declared dead.
    pub is_dead: bool,
    /// How it described itself when it joined.
    pub description: String,
    /// The age of its last beat by the store's clock, for people.
    pub silent_for: Duration,
}

impl WorkerId {
    /// A new id, from the system's source of random numbers.
    pub fn random() -> io::Result<Self> {
        let mut id = [0; 16];
        File::open("/dev/urandom")?.read_exact(&mut id)?;
        Ok(Self(id))
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn bytes(self) -> Vec<u8> {
        self.0.to_vec()
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkerId({self})")
    }
}

/// Why a text is no worker's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 32 hexadecimal digits")]
pub struct WorkerIdError;

impl FromStr for WorkerId {
    type Err = WorkerIdError;

    fn from_str(text: &str) -> Result<Self, WorkerIdError> {
        let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_id);
        number.map(|number| Self(number.to_be_bytes())).ok_or(WorkerIdError)
    }
}

impl Serialize for WorkerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WorkerId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_written_as_hexadecimal_digits_and_read_again() {
        let id = WorkerId::random().expect("random bits");
        assert_ne!(id, WorkerId::random().expect("random bits"));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(serde_json::to_string(&id).expect("plain data"), format!("\"{id}\""));
        for refused in ["", "00", "+0000000000000000000000000000001", &"g".repeat(32)] {
            assert_eq!(refused.parse::<WorkerId>(), Err(WorkerIdError), "{refused}");
        }
    }
}
