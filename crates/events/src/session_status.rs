//! [`SessionStatus`]: what a session is doing, or how it ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a session is doing, or how it ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// It has started and not ended.
    #[default]
    Active,
    /// Its process is gone, and it has not ended. No record has this status: the session's lease
    /// tells.
    CutOff,
    /// It has done all its work.
    Completed,
    /// A person ended it.
    Interrupted,
    /// An error ended it.
    Failed,
    /// A hook ended it.
    Aborted,
    /// It waits for a person.
    Paused,
    /// `sessions prune` has begun to delete it, and nothing else can be done with it. Only the
    /// store's index has this status; the session's own record says how the session ended.
    Deleting,
}

impl SessionStatus {
    /// Every status.
    pub const ALL: [Self; 8] = [
        Self::Active,
        Self::CutOff,
        Self::Completed,
        Self::Interrupted,
        Self::Failed,
        Self::Aborted,
        Self::Paused,
        Self::Deleting,
    ];

    /// The name in files and for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::CutOff => "cut_off",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
            Self::Paused => "paused",
            Self::Deleting => "deleting",
        }
    }

    /// The status with this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

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
            Self::Active | Self::Completed | Self::Deleting => false,
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
