//! [`Ground`]: a home directory with a project, a log of what really happens there, and the user's
//! store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use hookwright_events::RunEvent;
use hookwright_pipeline::queue::IssueStates;
use hookwright_store::{Filter, JournalKey, KeptTasks, Kind, SqliteStore, Store, entries, records};
use tempfile::TempDir;

pub(crate) struct Ground {
    home: TempDir,
}

impl Ground {
    /// A project with these files, in which `@OUTSIDE@` is replaced by the folder around it.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let home = TempDir::with_prefix("campaign-").expect("a folder");
        let ground = Self { home };
        fs::create_dir_all(ground.project()).expect("made");
        fs::write(ground.log_file(), "").expect("written");
        fs::write(ground.outside().join("begin"), BEGIN).expect("written");
        for (name, text) in files {
            ground.write(name, text);
        }
        ground
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let text = text.replace("@OUTSIDE@", &self.outside().to_string_lossy());
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// The folder around the project.
    pub(crate) fn outside(&self) -> PathBuf {
        fs::canonicalize(self.home.path()).expect("it exists")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.outside().join("project")
    }

    fn log_file(&self) -> PathBuf {
        self.outside().join("log")
    }

    /// The file with the number of points that a process passed.
    pub(crate) fn points(&self) -> PathBuf {
        self.outside().join("points")
    }

    /// The standard output of the last process with this name.
    pub(crate) fn printed(&self, name: &str) -> PathBuf {
        self.outside().join(format!("printed-{name}"))
    }

    /// The standard error of the last process with this name.
    pub(crate) fn complaints(&self, name: &str) -> String {
        fs::read_to_string(self.complained(name)).unwrap_or_default()
    }

    fn complained(&self, name: &str) -> PathBuf {
        self.outside().join(format!("complained-{name}"))
    }

    /// The binary in this project. `runner` distinguishes the processes for their children; its
    /// output is kept under `name`.
    pub(crate) fn command(&self, binary: &Path, name: &str, runner: usize) -> Command {
        let mut command = Command::new(binary);
        command
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.outside())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOOKWRIGHT_POINTS_FILE", self.points())
            .env("CAMPAIGN_RUNNER", runner.to_string())
            .stdin(Stdio::null())
            .stdout(fs::File::create(self.printed(name)).expect("a file"))
            .stderr(fs::File::create(self.complained(name)).expect("a file"));
        command
    }

    /// Runs git in the project.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(self.project())
            .env("HOME", self.outside())
            .env_remove("GIT_DIR")
            .output()
            .expect("git is there");
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The user's store.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        let folder = self.outside().join(".local/state/hookwright");
        Arc::new(SqliteStore::open(&folder).expect("the store is whole"))
    }

    /// The project's tasks.
    pub(crate) fn tasks(&self) -> KeptTasks {
        KeptTasks::new(self.store(), &self.project().to_string_lossy())
    }

    /// The journals of all sessions, oldest entry first.
    pub(crate) fn journals(&self) -> BTreeMap<String, Vec<RunEvent>> {
        let store = self.store();
        let sessions = records(&*store, Kind::Session, Filter::newest(usize::MAX));
        let names: Vec<String> =
            sessions.map(|record| record.expect("a record").key.name).collect();
        names.into_iter().map(|name| (name.clone(), self.journal_in(&*store, name))).collect()
    }

    /// The journal of one session.
    pub(crate) fn journal(&self, session: &str) -> Vec<RunEvent> {
        self.journal_in(&*self.store(), session.to_owned())
    }

    fn journal_in(&self, store: &dyn Store, session: String) -> Vec<RunEvent> {
        let key = JournalKey { project: self.project().to_string_lossy().into_owned(), session };
        let read = entries(store, &key, 0).map(|entry| {
            let entry = entry.expect("an entry");
            RunEvent::from_json(&entry.value).expect("a run event")
        });
        read.collect()
    }

    /// The states of issues and tasks, by name.
    pub(crate) fn work(&self) -> BTreeMap<String, String> {
        let project = self.project().to_string_lossy().into_owned();
        let issues = IssueStates::new(self.store(), &project).all().expect("read");
        let issues = issues
            .into_values()
            .map(|kept| (kept.record.number.to_string(), kept.record.state.as_str().to_owned()));
        let tasks = self.tasks().list(&[]).expect("read").tasks;
        let tasks = tasks
            .into_iter()
            .map(|kept| (kept.task.id.to_string(), kept.task.state.as_str().to_owned()));
        issues.chain(tasks).collect()
    }

    /// What really happened, oldest first.
    pub(crate) fn log(&self) -> Vec<Line> {
        let text = fs::read_to_string(self.log_file()).expect("a log");
        text.lines().map(Line::read).collect()
    }

    /// The number of points that the last process passed, by name.
    pub(crate) fn passed(&self) -> BTreeMap<String, u64> {
        let text = fs::read_to_string(self.points()).unwrap_or_default();
        let read = |line: &str| {
            let (count, name) = line.split_once(' ')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        text.lines().filter_map(read).collect()
    }
}

/// One line of the log: something began or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// `hook`, `turn`, `child` (a turn of a child session), or a defect.
    pub(crate) kind: String,
    /// `start` or `end`.
    pub(crate) what: String,
    /// The hook's id; for turns the stage.
    pub(crate) name: String,
    /// Event, stage and iteration.
    pub(crate) at: String,
    /// `HOOKWRIGHT_ATTEMPT`.
    pub(crate) attempt: u32,
    /// The run's marker.
    pub(crate) run_id: String,
    /// The processes that it found alive.
    pub(crate) more: String,
}

impl Line {
    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split('|').collect();
        let field = |number: usize| fields.get(number).copied().unwrap_or_default().to_owned();
        Self {
            kind: field(0),
            what: field(1),
            name: field(2),
            at: field(3),
            attempt: field(4).parse().unwrap_or(0),
            run_id: field(5),
            more: field(6),
        }
    }
}

/// `. begin KIND NAME EVENT` logs that something starts, and which earlier processes are still
/// alive then; `finish` logs that it ends. A line is one append.
///
/// Of concurrent sessions only processes for the same issue or task count as alive.
const BEGIN: &str = r#"
run="${HOOKWRIGHT_RUN##*[!A-Za-z0-9-]}"
outside="${BASH_SOURCE[0]%/*}"
of="${SESSION#campaign}${STAGE:-}${ISSUE_NUMBER:+#$ISSUE_NUMBER}${TASK_ID:+#$TASK_ID}${COMMIT_ID:+#$COMMIT_ID}"
about="$2|$3/$of/${ITERATION:-}|$HOOKWRIGHT_ATTEMPT|$run"
started() { local stat; { read -r -a stat < "/proc/$1/stat"; } 2> /dev/null || return; [ "${stat[2]}" = Z ] || echo "${stat[21]}"; }
finish() { echo "$kind|end|$about" >> "$outside/log"; }
kind=$1
while IFS='|' read -r theirs what name at attempt their_run pid start runner; do
  [ "$what" = start ] || continue
  if [ -n "${CAMPAIGN_SHARED:-}" ]; then
    case "$kind $theirs $at" in "turn turn "*\#"${ISSUE_NUMBER:-$TASK_ID}"/*) ;; *) continue;; esac
  elif [ "$runner" = "$CAMPAIGN_RUNNER" ] && { [ "$kind" != turn ] || [ "$theirs" != turn ]; }; then
    continue
  fi
  [ "$(started "$pid")" = "$start" ] && echo "survivor|found|$about|$name $at $attempt $pid" >> "$outside/log"
done < "$outside/log"
echo "$kind|start|$about|$$|$(started $$)|$CAMPAIGN_RUNNER" >> "$outside/log"
"#;
