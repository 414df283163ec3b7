//! [`ProbeRecord`]: which program of a host was probed, when, and with what result.
//!
//! One small file for each host in the user's state folder. `hook` looks at the program once in a
//! while, with one `stat`: after an update it is not proven that the hooks still hold.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use hookwright_dialects::hosts::Host;
use hookwright_engine::ports::Clock;
use hookwright_engine::ports::memory::SystemClock;
use serde::{Deserialize, Serialize};

use super::ProbeReport;

/// The folder in the user's state.
const FOLDER: &str = "probes";

/// Bytes of a file. It has a path and a few numbers.
const RECORD_BYTES_MAX: u64 = 16 * 1024;

/// The version of the files.
const VERSION: u32 = 1;

/// Which program of a host was probed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProbeRecord {
    version: u32,
    /// The program, as found in `PATH`.
    pub(crate) program: PathBuf,
    size: u64,
    /// When its content or its place changed, in nanoseconds.
    changed: i128,
    /// The version that it printed.
    pub(crate) agent_version: Option<String>,
    /// When it was probed: `2026-01-02T03:04:05Z`.
    pub(crate) at: String,
    /// Whether a check failed.
    pub(crate) failed: bool,
}

impl ProbeRecord {
    /// The last probe of this host.
    pub(crate) fn read(state: &Path, host: &Host) -> Option<Self> {
        let mut bytes = Vec::new();
        let file = File::open(file_of(state, host)).ok()?;
        file.take(RECORD_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let record: Self = serde_json::from_slice(&bytes).ok()?;
        (record.version == VERSION).then_some(record)
    }

    /// Stores the result of a probe.
    pub(crate) fn store(state: &Path, report: &ProbeReport) -> io::Result<()> {
        let (size, changed) = stat(&report.program)?;
        let now = SystemClock.now();
        let record = Self {
            version: VERSION,
            program: report.program.clone(),
            size,
            changed,
            agent_version: report.version.map(|version| version.to_string()),
            at: format!("{}Z", now.get(..19).unwrap_or_default()),
            failed: report.has_failed(),
        };
        let path = file_of(state, report.host);
        let folder = path.parent().unwrap_or(state);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let draft = path.with_extension("new");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        file.write_all(&serde_json::to_vec(&record)?)?;
        fs::rename(&draft, path)
    }

    /// Whether the program is another one now. Costs one `stat`.
    pub(crate) fn is_outdated(&self) -> bool {
        stat(&self.program).map_or(true, |found| found != (self.size, self.changed))
    }
}

/// What to tell the user of an agent whose program is another one than the probed one.
pub(crate) fn notice(state: &Path, host: &Host) -> Option<String> {
    let record = ProbeRecord::read(state, host)?;
    record.is_outdated().then(|| {
        let version = record.agent_version.as_deref().unwrap_or("an unknown version");
        format!(
            "{} has changed since it was probed ({version}, {}); to prove that hooks still hold: \
             hookwright doctor --probe {}",
            host.display_name,
            record.at.get(..10).unwrap_or_default(),
            host.name
        )
    })
}

fn file_of(state: &Path, host: &Host) -> PathBuf {
    state.join(FOLDER).join(format!("{}.json", host.name))
}

/// The size of a program and when it was last changed. Links are followed. The time of the last
/// change of the inode, because installers set the time of the content as they like.
fn stat(program: &Path) -> io::Result<(u64, i128)> {
    let found = fs::metadata(program)?;
    let nanoseconds = i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec());
    Ok((found.size(), nanoseconds))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hookwright_dialects::hosts;

    use super::*;

    fn stored(program: &Path, state: &Path) -> ProbeRecord {
        let host = hosts::named("codex").expect("a host");
        let report = ProbeReport {
            host,
            program: program.to_owned(),
            version: None,
            rows: Vec::new(),
            is_connected: true,
            took: Duration::ZERO,
            talk: Vec::new(),
        };
        ProbeRecord::store(state, &report).expect("stored");
        ProbeRecord::read(state, host).expect("readable")
    }

    #[test]
    fn a_program_that_changes_or_is_gone_outdates_its_probe() {
        let folder = tempfile::tempdir().expect("a folder");
        let (state, program) = (folder.path().join("state"), folder.path().join("codex"));
        let host = hosts::named("codex").expect("a host");
        assert_eq!(notice(&state, host), None);
        fs::write(&program, "one").expect("written");
        assert!(!stored(&program, &state).is_outdated());
        assert_eq!(notice(&state, host), None);
        fs::write(&program, "other").expect("written");
        let said = notice(&state, host).expect("a notice");
        assert!(said.contains("hookwright doctor --probe codex"), "{said}");
        assert!(!stored(&program, &state).is_outdated());
        fs::remove_file(&program).expect("removed");
        assert!(notice(&state, host).is_some());
    }

    #[test]
    fn the_same_size_and_time_of_content_in_another_file_counts_as_a_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let (state, program) = (folder.path().join("state"), folder.path().join("codex"));
        fs::write(&program, "one").expect("written");
        let time = fs::metadata(&program).and_then(|it| it.modified()).expect("a time");
        let record = stored(&program, &state);
        let other = folder.path().join("other");
        // The clock of a file system may be coarse, so the new file is made until its time differs.
        while !record.is_outdated() {
            fs::write(&other, "two").expect("written");
            File::options()
                .write(true)
                .open(&other)
                .and_then(|it| it.set_modified(time))
                .expect("set");
            fs::rename(&other, &program).expect("replaced");
        }
    }
}
