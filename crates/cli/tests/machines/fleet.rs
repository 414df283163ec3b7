//! [`Fleet`]: machines with a checkout of one project, one database, and what really happened.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use hookwright_events::{RunEvent, TaskState};
use hookwright_machine_lab::{Lab, Machine, MachineIdentity, MachineProcess};
use hookwright_postgres_server::{Cluster, Relay};
use hookwright_store::{
    JournalKey, KeptTasks, NewTask, PostgresAccess, PostgresAddress, PostgresStore, Store, entries,
};

/// The project's name, under which the store keeps everything.
pub(crate) const PROJECT: &str = "shop";

/// How long a busy machine may need for what is to be logged.
const LOG_WAIT_MAX: Duration = Duration::from_secs(180);

/// Machines that share a database of a server of their own.
pub(crate) struct Fleet {
    pub(crate) cluster: Cluster,
    pub(crate) machines: Vec<Machine>,
    /// The way of each machine to the database.
    pub(crate) relays: Vec<Relay>,
    pub(crate) lab: Lab,
    pub(crate) database: String,
}

/// A session that runs on a machine, and where its output is.
pub(crate) struct RunningSession {
    pub(crate) name: String,
    pub(crate) machine: usize,
    pub(crate) process: MachineProcess,
    output: PathBuf,
}

impl Fleet {
    /// A server, and machines of these names. `program` is hookwright.
    pub(crate) fn new(program: &Path, names: &[&str]) -> Self {
        Self::prepared(program, names, &["store", "init"])
    }

    /// The same with another pause between two signs of life.
    pub(crate) fn with_beat(program: &Path, names: &[&str], beat: Duration) -> Self {
        let beat = format!("{}ms", beat.as_millis());
        Self::prepared(program, names, &["store", "init", "--beat", &beat])
    }

    /// The same with a database on a small disk. `None` if this process is not root.
    pub(crate) fn on_small_disk(program: &Path, names: &[&str]) -> Option<Self> {
        let cluster = Cluster::with_small_disk()?;
        let database = cluster.create_small_database();
        Some(Self::of(program, names, &["store", "init"], cluster, database))
    }

    fn prepared(program: &Path, names: &[&str], prepare: &[&str]) -> Self {
        let cluster = Cluster::start();
        let database = cluster.create_database("template1");
        Self::of(program, names, prepare, cluster, database)
    }

    fn of(
        program: &Path,
        names: &[&str],
        prepare: &[&str],
        cluster: Cluster,
        database: String,
    ) -> Self {
        let lab = Lab::new(program, FILES);
        let shared = lab.shared_folder();
        fs::write(shared.join("log"), "").expect("a file");
        fs::write(shared.join("note"), NOTE).expect("a file");
        let mut fleet = Self { cluster, machines: Vec::new(), relays: Vec::new(), lab, database };
        for name in names {
            fleet.add(name, MachineIdentity::of_host(name));
        }
        let prepared = fleet.machines[0].hookwright(prepare);
        assert!(prepared.status.success(), "{prepared:?}");
        fleet
    }

    /// One more machine, with a way of its own to the database.
    pub(crate) fn add(&mut self, name: &str, identity: MachineIdentity) {
        let mut machine = self.lab.machine_as(name, identity);
        let relay = Relay::to(self.cluster.port());
        machine.use_store(&relay.address(&self.database));
        machine.set("SHARED", &self.lab.shared_folder().to_string_lossy());
        self.machines.push(machine);
        self.relays.push(relay);
    }

    /// Adds tasks to the project.
    pub(crate) fn add_tasks(&self, count: usize) {
        let tasks = KeptTasks::new(self.store(), PROJECT);
        for number in 0..count {
            tasks.add(&NewTask::new(format!("task {number}")), 0).expect("kept");
        }
    }

    /// The tasks that are not completed.
    pub(crate) fn open_tasks(&self) -> Vec<String> {
        let tasks = KeptTasks::new(self.store(), PROJECT).list(&[]).expect("read").tasks;
        let open = tasks.into_iter().filter(|kept| kept.task.state != TaskState::Completed);
        open.map(|kept| kept.task.id.to_string()).collect()
    }

    /// Starts a session of this file on a machine.
    pub(crate) fn run(&self, machine: usize, name: &str, file: &str) -> RunningSession {
        self.start(machine, name, &["run", file, "--session", name, "--json"])
    }

    /// Resumes a session on a machine.
    pub(crate) fn resume(&self, machine: usize, name: &str) -> RunningSession {
        self.start(machine, name, &["resume", name, "--json"])
    }

    /// Starts a session; what it prints goes into a new file.
    pub(crate) fn start(&self, machine: usize, name: &str, arguments: &[&str]) -> RunningSession {
        self.start_to_die(machine, name, arguments, None)
    }

    /// The same; its process kills itself at the point with this number. Needs the feature
    /// `faults`.
    pub(crate) fn start_to_die(
        &self,
        machine: usize,
        name: &str,
        arguments: &[&str],
        point: Option<u64>,
    ) -> RunningSession {
        let shared = self.lab.shared_folder();
        let number = fs::read_dir(&shared).expect("a folder").count();
        let output = shared.join(format!("out-{number}-{name}"));
        let mut command = self.machines[machine].command("hookwright", arguments);
        if let Some(point) = point {
            command.env("HOOKWRIGHT_DIE_AT", point.to_string());
        }
        command.stdout(File::create(&output).expect("a file"));
        command.stderr(File::create(output.with_extension("errors")).expect("a file"));
        let process = self.machines[machine].spawn(command);
        RunningSession { name: name.to_owned(), machine, process, output }
    }

    /// The store, by the shortest way.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        let address = self.cluster.address(&self.database);
        let address = PostgresAddress::parse(&address).expect("an address");
        Arc::new(PostgresStore::open(&PostgresAccess::to(address)).expect("the server runs"))
    }

    /// The journal of a session, oldest entry first.
    pub(crate) fn journal(&self, session: &str) -> Vec<RunEvent> {
        let key = JournalKey { project: PROJECT.to_owned(), session: session.to_owned() };
        let store = self.store();
        let read = entries(&*store, &key, 0).map(|entry| {
            RunEvent::from_json(&entry.expect("an entry").value).expect("a run event")
        });
        read.collect()
    }

    /// What really happened, oldest first.
    pub(crate) fn log(&self) -> Vec<LogLine> {
        let text = fs::read_to_string(self.lab.shared_folder().join("log")).expect("a log");
        text.lines().map(LogLine::read).collect()
    }

    /// Whether the log has a line with these words.
    pub(crate) fn has_logged(&self, words: &str) -> bool {
        let text = fs::read_to_string(self.lab.shared_folder().join("log")).expect("a log");
        text.lines().any(|line| line.contains(words))
    }

    /// Waits until the log has a line with these words.
    pub(crate) fn wait_until_logged(&self, words: &str) {
        let began = Instant::now();
        while !self.has_logged(words) {
            assert!(began.elapsed() < LOG_WAIT_MAX, "waited in vain for `{words}` in the log");
            sleep(Duration::from_millis(5));
        }
    }

    /// Whole lines that processes of this session have printed.
    pub(crate) fn printed(&self, session: &str) -> Vec<RunEvent> {
        let files = fs::read_dir(self.lab.shared_folder()).expect("a folder").flatten();
        let of_session = files.filter(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            name.starts_with("out-") && name.ends_with(&format!("-{session}"))
        });
        of_session
            .flat_map(|file| {
                let text = fs::read_to_string(file.path()).expect("a file");
                let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
                whole.filter_map(|line| RunEvent::from_json(line).ok()).collect::<Vec<_>>()
            })
            .collect()
    }
}

impl RunningSession {
    /// What it has complained about.
    pub(crate) fn complaints(&self) -> String {
        fs::read_to_string(self.output.with_extension("errors")).unwrap_or_default()
    }
}

/// One line of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogLine {
    /// `start` or `end`.
    pub(crate) what: String,
    /// `turn` or `hook`.
    pub(crate) kind: String,
    pub(crate) session: String,
    /// The hook's id.
    pub(crate) name: String,
    pub(crate) iteration: String,
    pub(crate) task: String,
    pub(crate) attempt: u32,
    /// The run's marker.
    pub(crate) run_id: String,
    pub(crate) host: String,
}

impl LogLine {
    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split('|').collect();
        let field = |number: usize| fields.get(number).copied().unwrap_or_default().to_owned();
        Self {
            what: field(0),
            kind: field(1),
            session: field(2),
            name: field(3),
            iteration: field(4),
            task: field(5),
            attempt: field(6).parse().unwrap_or(0),
            run_id: field(7),
            host: field(8),
        }
    }
}

/// `. note KIND NAME` logs that something starts, `finish` that it ends. A line is one append.
const NOTE: &str = r#"
run="${HOOKWRIGHT_RUN##*[!A-Za-z0-9-]}"
line="$1|$SESSION|$2|${ITERATION:-}|${TASK_ID:-}|$HOOKWRIGHT_ATTEMPT|$run|$(hostname)"
log="${BASH_SOURCE[0]%/*}/log"
finish() { echo "end|$line" >> "$log"; }
echo "start|$line" >> "$log"
"#;

const FILES: &[(&str, &str)] = &[
    ("hookwright.yaml", "project: shop\n"),
    (".gitignore", "/.hookwright/\n"),
    (
        "work.yaml",
        r#"
name: work
prompt: Work.
termination: {type: fixed, iterations: 6}
agent: {type: command, command: bash ./agent}
hooks:
  iteration:start:
    - {id: before, await: true, command: '. "$SHARED/note" hook before; finish'}
  iteration:complete:
    - {id: check, await: true, command: '. "$SHARED/note" hook check; echo "$ITERATION" >> checked; finish'}
    - {id: behind, await: false, command: '. "$SHARED/note" hook behind; sleep 0.05; finish'}
"#,
    ),
    (
        "short.yaml",
        r#"
name: short
prompt: Work.
termination: {type: fixed, iterations: 2}
agent: {type: command, command: bash ./agent}
hooks:
  iteration:start:
    - {id: before, await: true, command: '. "$SHARED/note" hook before; finish'}
  iteration:complete:
    - {id: check, await: true, command: '. "$SHARED/note" hook check; finish'}
    - {id: behind, await: false, command: '. "$SHARED/note" hook behind; sleep 0.05; finish'}
"#,
    ),
    (
        // Its agent and its awaited hooks leave a trace in the work tree and in the session's folder.
        "carried.yaml",
        r#"
name: carried
prompt: Work.
termination: {type: fixed, iterations: 2}
agent: {type: command, command: 'bash ./agent && bash ./carry turn'}
hooks:
  iteration:start:
    - {id: before, await: true, command: '. "$SHARED/note" hook before; bash ./carry before; finish'}
  iteration:complete:
    - {id: check, await: true, command: '. "$SHARED/note" hook check; bash ./carry check; finish'}
    - {id: behind, await: false, command: '. "$SHARED/note" hook behind; sleep 0.05; finish'}
"#,
    ),
    (
        // The same; it works until there is a file `go` for its session.
        "carried-long.yaml",
        r#"
name: carried-long
prompt: Work.
termination: {type: fixed, iterations: 3}
agent: {type: command, command: 'LONG=1 bash ./agent && bash ./carry turn'}
hooks:
  iteration:start:
    - {id: before, await: true, command: '. "$SHARED/note" hook before; bash ./carry before; finish'}
  iteration:complete:
    - {id: check, await: true, command: '. "$SHARED/note" hook check; bash ./carry check; finish'}
"#,
    ),
    (
        // The same for two tasks, each of which a child session looks at.
        "family.yaml",
        r#"
name: family
prompt: Do ${TASK_CONTENT}.
termination: {type: queue}
agent: {type: command, command: 'bash ./agent && bash ./carry turn'}
hooks:
  iteration:start:
    - {id: before, await: true, command: '. "$SHARED/note" hook before; bash ./carry before; finish'}
  iteration:complete:
    - {id: check, await: true, command: '. "$SHARED/note" hook check; bash ./carry check; finish'}
    - {id: review, await: true, pipeline: child.yaml}
"#,
    ),
    (
        "child.yaml",
        r#"
name: child
prompt: Look at it.
termination: {type: fixed, iterations: 1}
agent: {type: command, command: bash ./agent}
"#,
    ),
    (
        "carry",
        r#"
echo "$1 $ITERATION" >> carried
echo "$1 $ITERATION" > ".hookwright/sessions/$SESSION/$1-$ITERATION"
"#,
    ),
    (
        "queue.yaml",
        r#"
name: queue
prompt: Do ${TASK_CONTENT}.
termination: {type: queue}
agent: {type: command, command: bash ./agent}
hooks:
  iteration:complete:
    - {id: check, await: true, command: '. "$SHARED/note" hook check; finish'}
"#,
    ),
    (
        // Works until there is a file `go` for its session.
        "long.yaml",
        r#"
name: long
prompt: Work.
termination: {type: fixed, iterations: 3}
agent: {type: command, command: 'LONG=1 bash ./agent'}
hooks:
  iteration:complete:
    - {id: check, await: true, command: '. "$SHARED/note" hook check; finish'}
"#,
    ),
    (
        "agent",
        r#"
. "$SHARED/note" turn agent
echo "$ITERATION" > "work-$SESSION-$ITERATION.txt"
sleep 0.1
if [ -n "${LONG:-}" ] && [ "$ITERATION" = 2 ]; then
    while [ ! -e "$SHARED/go-$SESSION" ]; do
        echo x >> "$SHARED/alive-$SESSION-$(hostname)"
        sleep 0.02
    done
fi
finish
"#,
    ),
];
