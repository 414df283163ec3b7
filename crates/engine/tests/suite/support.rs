//! A host with a temporary project: takes hooks as YAML, fires events, returns decisions.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_config::{ConfigFile, load_text};
use hookwright_engine::hook::Layer;
use hookwright_engine::ports::Ports;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Fired, Firing, Interest, Secrets, Setup};
use hookwright_events::{Event, EventName, Report, RunEvent, Status, Verdict};
use hookwright_process::IgnoredSignals;
use serde_json::Value;

pub(crate) struct Host {
    folder: tempfile::TempDir,
    pub(crate) engine: Engine,
    seen: Arc<Mutex<Vec<RunEvent>>>,
}

impl Host {
    pub(crate) fn new(hooks: &str) -> Self {
        Self::with(hooks, Ports::default(), &[])
    }

    pub(crate) fn with(hooks: &str, ports: Ports, variables: &[(&str, &str)]) -> Self {
        Self::with_secrets(hooks, ports, variables, Secrets::default())
    }

    pub(crate) fn with_secrets(
        hooks: &str,
        ports: Ports,
        variables: &[(&str, &str)],
        secrets: Secrets,
    ) -> Self {
        // Children must not inherit ignored signals of the test process, as with nohup.
        IgnoredSignals::read().catch().expect("signals can be caught");
        let folder = tempfile::tempdir().expect("a folder");
        #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
        let path = std::env::var_os("PATH").expect("a PATH");
        let base = [("PATH".into(), path), ("HOME".into(), folder.path().into())];
        let more = variables.iter().map(|(name, value)| (name.into(), value.into()));
        let environment = Environment::new(base.into_iter().chain(more));
        let name = PathBuf::from("hookwright.yaml");
        let file = ConfigFile::native(name.clone(), name, Layer::Project);
        let loaded = load_text(hooks, &file, &environment);
        assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
        let root = folder.path().to_owned();
        let (hooks, skip, firings) = (loaded.hooks, Vec::new(), Arc::default());
        let setup = Setup { secrets, ports, skip, firings, ..Setup::new(hooks, root, environment) };
        let engine = Engine::new(setup);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        let observer = move |event: &RunEvent| keep.lock().expect("one test").push(event.clone());
        engine.observe(Interest::Everything, Arc::new(observer));
        Self { folder, engine, seen }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).expect("written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| {
            panic!("{name}: {error}");
        })
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// The number of files with this prefix.
    pub(crate) fn count(&self, start: &str) -> usize {
        let entries = std::fs::read_dir(self.path()).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.filter(|name| name.to_string_lossy().starts_with(start)).count()
    }

    pub(crate) fn seen(&self) -> Vec<RunEvent> {
        self.seen.lock().expect("one test").clone()
    }

    pub(crate) async fn fire(&self, name: &str, data: Value) -> Fired {
        self.engine.fire(event(name, data), Firing::default()).await
    }

    /// Waits until a file exists: the only way for a hook to report its progress.
    pub(crate) async fn until_exists(&self, name: &str) {
        let path = self.path().join(name);
        until(&format!("{name} is there"), || path.exists()).await;
    }
}

/// A process of a hook, whose id the hook writes into a file. The process ends with the test, even
/// if the test fails.
pub(crate) struct Left {
    folder: PathBuf,
    file: PathBuf,
}

impl Left {
    pub(crate) fn by(host: &Host, file: &str) -> Self {
        let folder = host.path().canonicalize().expect("a folder");
        Self { file: folder.join(file), folder }
    }

    /// Whether its id is known.
    pub(crate) fn has_run(&self) -> bool {
        self.pid().is_some()
    }

    pub(crate) fn is_alive(&self) -> bool {
        // Hooks run in the test's own folder, so a reused process id elsewhere does not count.
        let runs_in = self.pid().and_then(|pid| std::fs::read_link(proc(&pid).join("cwd")).ok());
        runs_in.is_some_and(|folder| folder == self.folder)
    }

    /// Whether it has ended and was reaped.
    pub(crate) fn is_gone(&self) -> bool {
        let process = proc(&self.pid().expect("it has run"));
        let Ok(stat) = std::fs::read_to_string(process.join("stat")) else { return true };
        // In a container without an init, the first process reaps no orphans.
        stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with("Z 1 "))
    }

    fn pid(&self) -> Option<String> {
        let line = std::fs::read_to_string(&self.file).ok()?;
        line.strip_suffix('\n').map(str::to_owned)
    }
}

fn proc(pid: &str) -> PathBuf {
    Path::new("/proc").join(pid)
}

impl Drop for Left {
    fn drop(&mut self) {
        if let Some(pid) = self.pid().filter(|_| self.is_alive()) {
            let _ = std::process::Command::new("kill").args(["-9", &pid]).status();
        }
    }
}

/// Writes a program, in another process. A child that another test starts meanwhile briefly
/// inherits all files that are open here, and a file that is open for writing cannot be executed.
pub(crate) fn write_program(path: &Path, text: &str) {
    let mut install = std::process::Command::new("install");
    install.args(["-D", "-m", "755", "/dev/stdin"]).arg(path).stdin(std::process::Stdio::piped());
    let mut child = install.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, text.as_bytes()).expect("it reads");
    drop(stdin);
    assert!(child.wait().expect("it ends").success(), "{} cannot be written", path.display());
}

/// A command that succeeds once a file exists, and fails rather than outlive its test.
pub(crate) fn wait_for(file: &str) -> String {
    format!("for i in $(seq 300); do [ -e {file} ] && break; sleep 0.2; done; [ -e {file} ]")
}

/// Waits for something that no event announces, for at least two minutes: a busy machine may delay
/// any process for many seconds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..24_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("waited in vain: {what}");
}

pub(crate) fn event(name: &str, data: Value) -> Event {
    let Value::Object(data) = data else { panic!("data must be an object") };
    Event::new(EventName::resolve(name).expect("a known event"), data)
}

pub(crate) fn block(reason: &str) -> Verdict {
    Verdict::Block { reason: reason.into() }
}

pub(crate) fn proceed() -> Verdict {
    Verdict::Proceed { rewritten_input: None }
}

/// Status and reason of the only hook.
pub(crate) fn only(fired: &Fired) -> (Status, String) {
    assert_eq!(fired.reports.len(), 1);
    let Report { status, reason, .. } = &fired.reports[0];
    (*status, reason.clone().unwrap_or_default())
}
