//! Records: what is known of a session, a wait or a task, one value each.

/// What a record is about. Records of different kinds never meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A session of the runner.
    Session,
    /// A question to a person.
    Wait,
    /// Something to do.
    Task,
    /// What became of an issue, whose text is a file.
    Issue,
    /// How many of something were made, so that none is made twice.
    Counter,
    /// A page of the list of a session's issues.
    SessionIssues,
}

impl Kind {
    /// Its word, in files and messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Wait => "wait",
            Self::Task => "task",
            Self::Issue => "issue",
            Self::Counter => "counter",
            Self::SessionIssues => "session issues",
        }
    }
}

/// Whose record, and which.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey {
    /// The project's path as text.
    pub project: String,
    /// Its name, one of a kind within the project.
    pub name: String,
}

/// A record as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Whose and which.
    pub key: RecordKey,
    /// Goes up with every change.
    pub version: u64,
    /// Where it stands in a list: when it came to be.
    pub place: Place,
    /// A word to filter by.
    pub status: String,
    /// What was written.
    pub value: String,
}

/// Where a record stands among all of its kind, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// When it came to be, in milliseconds since 1970, as its first writer said.
    pub created_at_ms: i64,
    /// Orders records of the same millisecond: goes up with every new record of the store.
    pub inserted: u64,
}

/// What the indexes have of a record: all but its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// The record's name.
    pub name: String,
    /// A word to filter by.
    pub status: String,
    /// Its place in a list.
    pub place: Place,
}

/// Which records, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Only those of this project.
    pub project: Option<String>,
    /// Only those with one of these; with none given, all.
    pub statuses: Vec<String>,
    /// Only names that begin so.
    pub name_prefix: Option<String>,
    /// Only older ones than this: the place of the last record of the page before.
    pub before: Option<Place>,
    /// At most so many.
    pub limit: usize,
}

impl Filter {
    /// The newest of all.
    #[must_use]
    pub fn newest(limit: usize) -> Self {
        Self { project: None, statuses: Vec::new(), name_prefix: None, before: None, limit }
    }
}
