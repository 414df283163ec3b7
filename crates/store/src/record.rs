//! Records: one value for each session, wait or task.

/// The kind of a record. Each kind has its own names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A session of the runner.
    Session,
    /// A question to a person.
    Wait,
    /// Something to do.
    Task,
    /// The state of an issue, whose text is a file.
    Issue,
    /// A counter that makes names unique.
    Counter,
    /// A page of the list of a session's issues.
    SessionIssues,
    /// The repositories that have a project's name.
    Project,
    /// A file of a session's folder, for a session that other machines may continue.
    SessionFile,
    /// The last kept work tree of such a session.
    SessionTree,
    /// A request to a running session from another machine, and its answer.
    Request,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Session,
        Self::Wait,
        Self::Task,
        Self::Issue,
        Self::Counter,
        Self::SessionIssues,
        Self::Project,
        Self::SessionFile,
        Self::SessionTree,
        Self::Request,
    ];

    /// Its name in files and messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Wait => "wait",
            Self::Task => "task",
            Self::Issue => "issue",
            Self::Counter => "counter",
            Self::SessionIssues => "session issues",
            Self::Project => "project",
            Self::SessionFile => "session file",
            Self::SessionTree => "session tree",
            Self::Request => "request",
        }
    }
}

/// Identifies a record among those of its kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    /// The project's name, else its path as text.
    pub project: String,
    /// Its name, unique within the project.
    pub name: String,
}

/// A stored record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Project and name.
    pub key: RecordKey,
    /// Rises with every change.
    pub version: u64,
    /// Its position in lists: its creation time.
    pub place: RecordPosition,
    /// A word that [`Filter`] can select by.
    pub status: String,
    /// The stored text.
    pub value: String,
    /// The text that a claimer wrote beside the value ([`Store::claim`](crate::Store::claim)), until
    /// the next put.
    pub claim_note: Option<String>,
}

/// Position of a record among all of its kind, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordPosition {
    /// Creation time in milliseconds since 1970, as its first writer gave it.
    pub created_at_ms: i64,
    /// Orders records of the same millisecond: rises with every new record of the store.
    pub inserted: u64,
}

/// A record without its value, read from the indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The record's name.
    pub name: String,
    /// A word that [`Filter`] can select by.
    pub status: String,
    /// Its position in lists.
    pub place: RecordPosition,
}

/// Selects records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Only records of this project.
    pub project: Option<String>,
    /// Only records with one of these statuses; all if empty.
    pub statuses: Vec<String>,
    /// Only names with this prefix.
    pub name_prefix: Option<String>,
    /// Only older records: the position of the last record of the previous page.
    pub before: Option<RecordPosition>,
    /// At most this many.
    pub limit: usize,
}

impl Filter {
    /// The newest records of all projects, up to this many.
    #[must_use]
    pub fn newest(limit: usize) -> Self {
        Self { project: None, statuses: Vec::new(), name_prefix: None, before: None, limit }
    }
}
