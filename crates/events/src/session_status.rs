//! [`SessionStatus`]: what a session is doing, or how it ended.

use std::fmt;

crate::words! {
    /// What a session is doing, or how it ended.
    #[derive(Default, Hash)]
    pub enum SessionStatus {
        /// It has started and not ended.
        #[default]
        Active = "active",
        /// Its process is gone, and it has not ended. No record has this status: it follows from
        /// the session's lease.
        CutOff = "cut_off",
        /// It waits for a worker that takes it.
        Queued = "queued",
        /// It has done all its work.
        Completed = "completed",
        /// A person ended it.
        Interrupted = "interrupted",
        /// An error ended it.
        Failed = "failed",
        /// A hook ended it.
        Aborted = "aborted",
        /// It waits for a person.
        Paused = "paused",
        /// `sessions prune` has begun to delete it, and nothing else can be done with it. Only the
        /// store's index has this status; the session's own record says how the session ended.
        Deleting = "deleting",
    }
}

impl SessionStatus {
    /// The name for people.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::CutOff => "cut off",
            status => status.as_str(),
        }
    }

    /// Whether a session in this status can be resumed.
    pub fn is_resumable(self) -> bool {
        match self {
            Self::CutOff | Self::Interrupted | Self::Failed | Self::Aborted | Self::Paused => true,
            Self::Active | Self::Queued | Self::Completed | Self::Deleting => false,
        }
    }
}

impl fmt::Display for SessionStatus {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_one_name_in_files_and_for_programs() {
        for status in SessionStatus::ALL {
            assert_eq!(SessionStatus::parse(status.as_str()), Some(status));
            let json = serde_json::to_value(status).unwrap();
            assert_eq!(json, status.as_str());
        }
        assert_eq!(SessionStatus::parse("cut off"), None);
    }
}
