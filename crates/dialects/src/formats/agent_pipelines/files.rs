//! Where agent-pipelines' files are. A loop's and a pipeline's own file are named by whoever runs them.

use std::path::PathBuf;

use crate::Whereabouts;

/// Its folder within the user's folder for configuration.
const FOLDER: &str = "agent-pipelines";

/// The user's hooks for all pipelines, in the native format; nobody says that the file is there.
pub fn global_file(whereabouts: &Whereabouts<'_>) -> Option<PathBuf> {
    Some(whereabouts.config_home?.join(FOLDER).join("hooks.yaml"))
}

/// The secrets beside them; nobody says that the file is there.
pub fn secrets_file(whereabouts: &Whereabouts<'_>) -> Option<PathBuf> {
    Some(whereabouts.config_home?.join(FOLDER).join("secrets.env"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

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
