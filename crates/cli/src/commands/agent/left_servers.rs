//! [`LeftServers`]: servers of sessions whose program was killed.
//!
//! A session that starts servers leaves a file with its own process and the names of the servers' runs,
//! before it starts them, and removes it at its end. A file whose process is gone names what is left:
//! most servers end when their input is closed, and the others are ended by the next session of this
//! user that starts.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_agent::limits::MCP_KILL_GRACE;
use hookwright_process::{Leader, end_run, faults};
use serde::{Deserialize, Serialize};

/// Files that one start looks at. There are no more unless many sessions were killed.
const RECORDS_MAX: usize = 100;

/// Bytes of a file that is read. It has one short line for each server.
const RECORD_BYTES_MAX: u64 = 64 * 1024;

/// The folder of these files.
pub(super) struct LeftServers {
    folder: PathBuf,
}

/// The file of a session that runs.
pub(super) struct ServerRecord {
    path: PathBuf,
}

/// What is in a file.
#[derive(Debug, Serialize, Deserialize)]
struct RecordedRuns {
    pid: u32,
    start_time: Option<u64>,
    boot_id: Option<String>,
    run_ids: Vec<String>,
}

impl LeftServers {
    /// In the folder of this user's state.
    pub(super) fn new(state: &Path) -> Self {
        Self { folder: state.join("mcp-servers") }
    }

    /// Writes down what a session is about to start. Without the file, only a crash would be noticed.
    pub(super) fn record(&self, session_id: &str, run_ids: Vec<String>) -> Option<ServerRecord> {
        let us = Leader { pid: std::process::id() };
        let (start_time, boot_id) = (us.start_time(), us.boot_id());
        let runs = RecordedRuns { pid: us.pid, start_time, boot_id, run_ids };
        let path = self.folder.join(format!("{session_id}.json"));
        fs::create_dir_all(&self.folder).ok()?;
        faults::point("servers are recorded");
        fs::write(&path, serde_json::to_string(&runs).ok()?).ok()?;
        faults::point("servers recorded");
        Some(ServerRecord { path })
    }

    /// Ends what sessions left whose process is gone.
    pub(super) async fn end_all(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        for file in files.flatten().take(RECORDS_MAX) {
            let path = file.path();
            let is_short =
                file.metadata().is_ok_and(|it| it.is_file() && it.len() <= RECORD_BYTES_MAX);
            let text = if is_short { fs::read_to_string(&path).ok() } else { None };
            let runs = text.and_then(|text| serde_json::from_str::<RecordedRuns>(&text).ok());
            match runs {
                Some(runs) if runs.owner_runs() => continue,
                // Process ids of another boot mean nothing.
                Some(runs) if runs.is_of_this_boot() => {
                    faults::point("left servers are ended");
                    for run_id in &runs.run_ids {
                        end_run(run_id, MCP_KILL_GRACE).await;
                    }
                }
                Some(_) | None => {}
            }
            // Another session may have removed it.
            let _ = fs::remove_file(&path);
        }
    }
}

impl RecordedRuns {
    fn owner_runs(&self) -> bool {
        let owner = Leader { pid: self.pid };
        self.is_of_this_boot()
            && self.start_time.is_none_or(|start_time| owner.runs_since(start_time))
    }

    fn is_of_this_boot(&self) -> bool {
        self.boot_id == Leader { pid: self.pid }.boot_id()
    }
}

impl ServerRecord {
    /// Nothing is left.
    pub(super) fn remove(self) {
        faults::point("servers ended");
        let _ = fs::remove_file(self.path);
    }
}
