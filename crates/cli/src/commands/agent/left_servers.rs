//! [`LeftServers`]: servers of sessions whose program was killed.
//!
//! A session that starts servers leaves a file with its own process and the names of the servers' runs,
//! before it starts them, and removes it at its end. A file whose process is gone names what is left:
//! most servers end when their input is closed, and the others are ended by the next session of this
//! user that starts.
//!
//! Sessions start at any time, so a file appears whole, and under a name of its process: one that is
//! continued must not share it with the process before, whose file another session is about to remove.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_agent::limits::MCP_KILL_GRACE;
use hookwright_process::{Leader, end_run, faults};
use serde::{Deserialize, Serialize};

/// Files that one start looks at. There are no more unless many sessions were killed.
const RECORDS_MAX: usize = 100;

/// The ending of a file that is being written.
const UNFINISHED: &str = "new";

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
        let path = self.folder.join(format!("{session_id}-{}.json", us.pid));
        let unfinished = path.with_extension(UNFINISHED);
        fs::create_dir_all(&self.folder).ok()?;
        faults::point("servers are recorded");
        fs::write(&unfinished, serde_json::to_string(&runs).ok()?).ok()?;
        fs::rename(&unfinished, &path).ok()?;
        faults::point("servers recorded");
        Some(ServerRecord { path })
    }

    /// Ends what sessions left whose process is gone.
    pub(super) async fn end_all(&self) {
        let Ok(files) = fs::read_dir(&self.folder) else { return };
        for file in files.flatten().take(RECORDS_MAX) {
            let path = file.path();
            if path.extension().is_some_and(|ending| ending == UNFINISHED) {
                // Its process has started nothing yet.
                if !writer(&path).is_some_and(is_running) {
                    let _ = fs::remove_file(&path);
                }
                continue;
            }
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

/// The process that writes this file.
fn writer(path: &Path) -> Option<u32> {
    path.file_stem()?.to_str()?.rsplit_once('-')?.1.parse().ok()
}

fn is_running(pid: u32) -> bool {
    Leader { pid }.start_time().is_some()
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Enough that a file which is not written at once is seen half written.
    const RECORDS: usize = 2_000;

    fn end_all(state: &Path) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(LeftServers::new(state).end_all());
    }

    #[test]
    fn a_record_is_not_dropped_by_a_session_that_starts_while_it_is_written() {
        let state = tempfile::tempdir().expect("a folder");
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    end_all(state.path());
                }
            });
            let left = LeftServers::new(state.path());
            let kept = (0..RECORDS).all(|_| {
                let record = left.record("s", vec!["mcp-s-1".to_owned()]).expect("recorded");
                let is_there = record.path.exists();
                record.remove();
                is_there
            });
            is_done.store(true, Ordering::Relaxed);
            assert!(kept, "the record of a living session is gone");
        });
    }

    #[test]
    fn records_of_dead_processes_go_and_so_do_those_that_they_did_not_finish() {
        let state = tempfile::tempdir().expect("a folder");
        let left = LeftServers::new(state.path());
        let living = left.record("living", vec!["mcp-living-1".to_owned()]).expect("recorded");
        let mut child = std::process::Command::new("true").spawn().expect("it starts");
        let dead = child.id();
        child.wait().expect("it ends");
        let us = Leader { pid: std::process::id() };
        let runs = RecordedRuns {
            pid: dead,
            start_time: Some(1),
            boot_id: us.boot_id(),
            run_ids: vec!["mcp-dead-1".to_owned()],
        };
        let text = serde_json::to_string(&runs).expect("JSON");
        let gone = [format!("dead-{dead}.json"), format!("dead-{dead}.new"), "odd.new".to_owned()];
        for name in &gone {
            fs::write(left.folder.join(name), &text).expect("written");
        }
        let being_written = left.folder.join(format!("other-{}.new", us.pid));
        fs::write(&being_written, "{").expect("written");
        end_all(state.path());
        for name in gone {
            assert!(!left.folder.join(&name).exists(), "{name}");
        }
        assert!(living.path.exists() && being_written.exists());
    }
}
