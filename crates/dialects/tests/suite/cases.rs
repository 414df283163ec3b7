//! A case is a folder without Rust, so that a bug report becomes a test by pasting:
//!
//! ```text
//! cases/<dialect>/<case>/
//!   about.md            first line: the promise, shown in the table in docs/dialects/
//!   project/…           files of the project, including the dialect's own; `bin/` comes first in PATH
//!   home/…              files of the home directory
//!   event.json          {"event": NAME, "data": {…}}, or a list of them, fired one after the other
//!   hooks.expected      the hooks that were read
//!   warnings.expected   the warnings; if missing, there are none
//!   check.expected      the further output of `check`; if missing, it is not compared
//!   decision.expected   the decision at each event, without times
//!   files.expected/…    files of the project afterwards: what commands read and wrote
//! ```
//!
//! The format of agent-pipelines is the native one, so its cases are read as native files:
//! `loop.yaml`, `pipeline.yaml` and `hookwright.yaml` of the project, `hooks.yaml` and
//! `secrets.env` of the user.
//!
//! `HOOKWRIGHT_UPDATE=1` rewrites the expected files (a file of `files.expected/` must exist, even
//! if empty). Review the difference like code.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use hookwright_config::{ConfigFile, Loaded, Warning, WarningKind, check};
use hookwright_dialects::{Whereabouts, agent_pipelines};
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Event, Firing, Secrets, Setup};
use regex::Regex;
use serde_json::Value;

use crate::listing;

/// The dialect whose format is the native one.
const NATIVE_FORMAT: &str = "agent-pipelines";

/// Every dialect that has cases.
pub(crate) fn dialects() -> impl Iterator<Item = &'static str> {
    let foreign = hookwright_dialects::all().iter().map(|foreign| foreign.name());
    foreign.chain([NATIVE_FORMAT])
}

/// Runs every case of a dialect, and reports all differences.
pub(crate) fn run_all(dialect: &str) {
    let mut differences = Vec::new();
    for folder in folders(&cases_of(dialect)) {
        differences.extend(Case::new(dialect, folder).differences());
    }
    assert!(
        differences.is_empty(),
        "{} differences; HOOKWRIGHT_UPDATE=1 writes what came, to be read like code\n\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// The table of a dialect's page: every case and its promise.
pub(crate) fn table(dialect: &str) -> String {
    let mut table = String::from("| case | promise |\n|---|---|\n");
    for folder in folders(&cases_of(dialect)) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let about = fs::read_to_string(folder.join("about.md")).unwrap_or_default();
        let promise = about.lines().next().unwrap_or_default().replace('|', "\\|");
        assert!(!promise.trim().is_empty(), "{name} does not say what it promises");
        table.push_str(&format!("| `{name}` | {promise} |\n"));
    }
    table
}

/// Whether to rewrite the expected files.
pub(crate) fn is_update() -> bool {
    of_process("HOOKWRIGHT_UPDATE").is_some()
}

#[expect(clippy::disallowed_methods, reason = "a test is a program")]
fn of_process(name: &str) -> Option<std::ffi::OsString> {
    std::env::var_os(name)
}

/// The folder of a dialect's cases.
fn cases_of(dialect: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(folder_name(dialect))
}

/// The name of a dialect's folder in the sources.
pub(crate) fn folder_name(dialect: &str) -> String {
    dialect.replace('-', "_")
}

/// The folders in a folder, by name.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

struct Case {
    dialect: String,
    folder: PathBuf,
    /// The temporary folder of the case.
    place: tempfile::TempDir,
    differences: Vec<String>,
}

impl Case {
    fn new(dialect: &str, folder: PathBuf) -> Self {
        let place = tempfile::tempdir().unwrap();
        for name in ["project", "home"] {
            let to = place.path().join(name);
            fs::create_dir(&to).unwrap();
            copy(&folder.join(name), &to);
        }
        Self { dialect: dialect.to_owned(), folder, place, differences: Vec::new() }
    }

    fn project(&self) -> PathBuf {
        fs::canonicalize(self.place.path().join("project")).unwrap()
    }

    fn home(&self) -> PathBuf {
        fs::canonicalize(self.place.path().join("home")).unwrap()
    }

    fn differences(mut self) -> Vec<String> {
        let environment = self.environment();
        let (mut loaded, odd) = check(&self.files(), &self.project(), &environment);
        let secrets = self.secrets(&mut loaded);
        let listed = listing::of(&loaded);
        self.compare("hooks.expected", &listed);
        let mut warnings = String::new();
        for fault in loaded.faults.iter().chain(&loaded.left_out) {
            warnings.push_str(&format!("{fault}\n"));
        }
        self.compare_if_any("warnings.expected", &warnings);
        if self.folder.join("check.expected").exists() {
            let line = |odd: &Warning| match &odd.kind {
                WarningKind::Variable(kind) => {
                    format!("{}: {kind:?}: {}\n", odd.location(), odd.reference)
                }
                kind => format!("{}: {kind:?}: {}\n", odd.location(), odd.reference),
            };
            self.compare("check.expected", &odd.iter().map(line).collect::<String>());
        }
        if let Some(events) = self.events() {
            let decisions = self.fire(loaded, environment, secrets, events);
            self.compare("decision.expected", &decisions);
        }
        self.compare_files();
        self.differences
    }

    /// The same on every machine, as long as its commands are installed. Programs in the project's
    /// `bin/` replace others of the same name.
    fn environment(&self) -> Environment {
        let path = of_process("PATH").unwrap_or_default();
        let path = [self.project().join("bin")].into_iter().chain(std::env::split_paths(&path));
        let path = std::env::join_paths(path).expect("no colon in it");
        let home = self.home().into_os_string();
        let variables = [("PATH", path), ("HOME", home), ("LC_ALL", "C".into())];
        Environment::new(variables.map(|(name, value)| (name.into(), value)))
    }

    /// The existing files, in reading order.
    fn files(&self) -> Vec<ConfigFile> {
        let (project, home) = (self.project(), self.home());
        let config_home = home.join(".config");
        let whereabouts =
            Whereabouts { project: &project, home: Some(&home), config_home: Some(&config_home) };
        let file = |path: PathBuf, layer| {
            let shown_as = self.neutral(&path.to_string_lossy());
            let shown_as = shown_as.trim_start_matches("<PROJECT>/").replace("<HOME>", "~");
            ConfigFile::native(path, shown_as, layer)
        };
        let files: Vec<ConfigFile> = match hookwright_dialects::named(&self.dialect) {
            Some(foreign) => {
                let locations = foreign.locations(&whereabouts).into_iter();
                let files = locations.map(|location| file(location.path, location.layer));
                files.map(|file| file.in_dialect(Some(foreign))).collect()
            }
            None => {
                let global = agent_pipelines::global_file(&whereabouts).expect("a home");
                let of_project = [
                    ("loop.yaml", Layer::Loop),
                    ("pipeline.yaml", Layer::Pipeline),
                    ("hookwright.yaml", Layer::Project),
                ];
                let of_project = of_project.map(|(name, layer)| file(project.join(name), layer));
                of_project.into_iter().chain([file(global, Layer::Global)]).collect()
            }
        };
        files.into_iter().filter(|file| file.path.exists()).collect()
    }

    /// The user's secrets, if the format has them.
    fn secrets(&self, loaded: &mut Loaded) -> Secrets {
        let config_home = self.home().join(".config");
        let whereabouts =
            Whereabouts { project: &config_home, home: None, config_home: Some(&config_home) };
        let path = agent_pipelines::secrets_file(&whereabouts).expect("a home");
        if self.dialect != NATIVE_FORMAT || !path.exists() {
            return Secrets::default();
        }
        // A repository cannot store these permissions.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        hookwright_config::read_secrets(&path, Path::new("~/.config/agent-pipelines/secrets.env"))
            .unwrap_or_else(|faults| {
                loaded.mark_secrets_broken(faults);
                Secrets::default()
            })
    }

    fn events(&self) -> Option<Vec<Value>> {
        let text = fs::read_to_string(self.folder.join("event.json")).ok()?;
        let text = text
            .replace("<PROJECT>", &self.project().to_string_lossy())
            .replace("<HOME>", &self.home().to_string_lossy());
        Some(match serde_json::from_str(&text).expect("event.json is JSON") {
            Value::Array(events) => events,
            event => vec![event],
        })
    }

    fn fire(
        &self,
        loaded: Loaded,
        environment: Environment,
        secrets: Secrets,
        events: Vec<Value>,
    ) -> String {
        let setup = Setup::new(loaded.hooks, self.project(), environment);
        let engine = Engine::new(Setup { secrets, ..setup });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut text = String::new();
            for event in events {
                let name = event["event"].as_str().expect("event.json names its event");
                let event = Event::named(name, event["data"].clone()).expect("an event of ours");
                let fired = engine.fire(event, Firing::default()).await;
                let mut record = fired.record();
                for hook in record["hooks"].as_array_mut().into_iter().flatten() {
                    hook.as_object_mut().unwrap().remove("duration_ms");
                }
                text.push_str(&serde_json::to_string_pretty(&leave_out_empty(record)).unwrap());
                text.push('\n');
            }
            engine.settle().await;
            text
        })
    }

    fn compare_files(&mut self) {
        let expected = self.folder.join("files.expected");
        for path in files_in(&expected) {
            let below = path.strip_prefix(&expected).unwrap().to_owned();
            let came = fs::read(self.project().join(&below)).map_or_else(
                |error| format!("no such file: {error}\n"),
                |bytes| String::from_utf8_lossy(&bytes).into_owned(),
            );
            self.compare(&format!("files.expected/{}", below.display()), &came);
        }
    }

    fn compare_if_any(&mut self, file: &str, came: &str) {
        if !came.is_empty() || self.folder.join(file).exists() {
            self.compare(file, came);
        }
    }

    fn compare(&mut self, file: &str, came: &str) {
        let came = self.neutral(came);
        let path = self.folder.join(file);
        if is_update() {
            fs::write(&path, &came).unwrap();
        }
        let wanted = fs::read_to_string(&path).unwrap_or_default();
        if wanted != came {
            let name = self.folder.file_name().unwrap().to_string_lossy().into_owned();
            let difference =
                format!("--- {}/{name}/{file}\nexpected:\n{wanted}\ncame:\n{came}\n", self.dialect);
            self.differences.push(difference);
        }
    }

    /// Replaces what differs between runs: folders, times, commit ids.
    fn neutral(&self, text: &str) -> String {
        static TIME: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z").unwrap());
        // Milliseconds and seconds since 1970, from 2020 on.
        static NUMBER: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\b(1[6-9]|2[0-9])\d{8}(\d{3}|\.\d+)\b").unwrap());
        // Git's line about a commit.
        static COMMIT: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"\[(\S+( \(root-commit\))?) [0-9a-f]{7,40}\]").unwrap());
        let text = text
            .replace(&*self.project().to_string_lossy(), "<PROJECT>")
            .replace(&*self.home().to_string_lossy(), "<HOME>");
        let text = COMMIT.replace_all(&text, "[$1 <COMMIT>]");
        let text = TIME.replace_all(&text, "<TIME>");
        NUMBER.replace_all(&text, "<TIME>").into_owned()
    }
}

/// Removes empty values and defaults, which makes a record easier to read.
fn leave_out_empty(value: Value) -> Value {
    let is_silent = |key: &str, value: &Value| match value {
        Value::Null => true,
        Value::Bool(value) => *value == (key == "continue"),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(_) => key == "version",
        Value::Object(_) => false,
    };
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(key, value)| !is_silent(key, value));
            Value::Object(fields.map(|(key, value)| (key, leave_out_empty(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(leave_out_empty).collect()),
        value => value,
    }
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] })
        .collect();
    found.sort();
    found
}

/// Copies a folder with its permissions, in another process: while this process has a script open
/// for writing, a child that another thread starts inherits it, and the script cannot be executed.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        let copied = Command::new("cp").arg("-R").arg(from.join(".")).arg(to).status();
        assert!(copied.unwrap().success(), "{} cannot be copied", from.display());
    }
}
