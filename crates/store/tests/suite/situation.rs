//! The setup that most tests share.

use std::sync::{Arc, OnceLock};

use hookwright_postgres_server::Cluster;
use hookwright_store::{
    Append, Commit, Entry, Expected, JournalKey, Kind, PostgresAccess, PostgresAddress,
    PostgresStore, Put, RecordKey, SqliteStore, Store, entries,
};
use tempfile::TempDir;

/// A store in a temporary folder.
pub(crate) struct Situation {
    pub(crate) folder: TempDir,
    pub(crate) store: SqliteStore,
}

impl Situation {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = SqliteStore::open(folder.path()).expect("a new store");
        Self { folder, store }
    }
}

/// Runs a rule for every store: in memory, in a file, and in a database.
pub(crate) fn for_every_store(rule: impl Fn(Arc<dyn Store>)) {
    rule(Arc::new(SqliteStore::in_memory().expect("memory")));
    let Situation { folder: _folder, store } = Situation::new();
    rule(Arc::new(store));
    rule(Arc::new(postgres()));
}

/// A new database with an empty store.
pub(crate) fn database() -> String {
    static TEMPLATE: OnceLock<()> = OnceLock::new();
    let cluster = Cluster::shared();
    TEMPLATE.get_or_init(|| {
        cluster.create_named("prepared");
        PostgresStore::init(&access(&cluster.address("prepared"))).expect("a new schema");
    });
    cluster.create_database("prepared")
}

/// Access to an address that needs no password.
pub(crate) fn access(address: &str) -> PostgresAccess {
    PostgresAccess::to(PostgresAddress::parse(address).expect("an address"))
}

/// A store in a new database.
pub(crate) fn postgres() -> PostgresStore {
    let address = Cluster::shared().address(&database());
    PostgresStore::open(&access(&address)).expect("a store")
}

/// A store in a new database, behind a pooler in transaction mode.
pub(crate) fn pooled() -> PostgresStore {
    let cluster = Cluster::shared();
    let port = format!(":{}/", cluster.pooler_port());
    let address = cluster.address(&database()).replace(&format!(":{}/", cluster.port()), &port);
    PostgresStore::open(&access(&address)).expect("a store")
}

pub(crate) fn journal(session: &str) -> JournalKey {
    JournalKey { project: "/projects/one".into(), session: session.into() }
}

pub(crate) fn key(name: &str) -> RecordKey {
    RecordKey { project: "/projects/one".into(), name: name.into() }
}

pub(crate) fn put(name: &str, expected: Expected, value: &str) -> Put {
    Put {
        kind: Kind::Session,
        key: key(name),
        expected,
        value: value.into(),
        created_at_ms: 1_000,
        status: "running".into(),
        queued: None,
        moves: None,
    }
}

/// Texts for a journal.
pub(crate) fn texts<const N: usize>(values: [&str; N]) -> Vec<String> {
    values.map(str::to_owned).to_vec()
}

/// Appends after the entry with this number and returns the last number.
pub(crate) fn append(store: &dyn Store, session: &str, expected: u64, values: &[String]) -> u64 {
    let journal = journal(session);
    let append = Append { journal: &journal, expected, entries: values };
    let commit = Commit { append: Some(append), ..Commit::unsynced() };
    store.commit(&commit).expect("no other process writes").last
}

/// All values of a journal; their numbers have to be 1, 2, 3…
pub(crate) fn values(store: &dyn Store, session: &str) -> Vec<String> {
    let entries: Vec<Entry> = entries(store, &journal(session), 0).map(Result::unwrap).collect();
    for (sequence, entry) in (1..).zip(&entries) {
        assert_eq!(entry.sequence, sequence, "a gap in the journal of {session}");
    }
    entries.into_iter().map(|entry| entry.value).collect()
}
