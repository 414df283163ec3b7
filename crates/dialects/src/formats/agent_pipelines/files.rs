//! The paths of agent-pipelines' global files. A loop's and a pipeline's own file are named by the
//! user.

use std::path::PathBuf;

use crate::Whereabouts;

/// Its folder in the user's configuration folder.
const FOLDER: &str = "agent-pipelines";

/// The user's hooks for all pipelines, in the native format. The file may not exist.
pub fn global_file(whereabouts: &Whereabouts<'_>) -> Option<PathBuf> {
    Some(whereabouts.config_home?.join(FOLDER).join("hooks.yaml"))
}

/// The secrets beside them. The file may not exist.
pub fn secrets_file(whereabouts: &Whereabouts<'_>) -> Option<PathBuf> {
    Some(whereabouts.config_home?.join(FOLDER).join("secrets.env"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    // Conformance: agent-pipelines-076
    #[test]
    fn both_files_lie_in_the_users_folder_for_configuration() {
        let there = Whereabouts {
            project: Path::new("/p"),
            home: Some(Path::new("/h")),
            config_home: Some(Path::new("/c")),
        };
        assert_eq!(global_file(&there), Some("/c/agent-pipelines/hooks.yaml".into()));
        assert_eq!(secrets_file(&there), Some("/c/agent-pipelines/secrets.env".into()));
        let nowhere = Whereabouts { config_home: None, ..there };
        assert_eq!((global_file(&nowhere), secrets_file(&nowhere)), (None, None));
    }
}
