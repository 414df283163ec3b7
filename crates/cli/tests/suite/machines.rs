//! Several machines that share a store: each has its own host name, processes, home and checkout.

use std::process::Output;
use std::time::{Duration, Instant};

use hookwright_machine_lab::{Lab, Machine};
use hookwright_postgres_server::{Cluster, Relay};
use serde_json::Value;

use crate::interrupts::until;

/// An agent that works in its second iteration until there is a file `go`.
const LOOP: &str = "prompt: p
termination: {type: fixed, iterations: 3}
agent: {command: 'echo $(hostname) $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ $ITERATION = 2 ] && [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}
";

/// A session that asks a person before it begins.
const ASKING: &str = "prompt: p
termination: {type: fixed, iterations: 1}
agent: {command: 'echo $(hostname) >> log'}
hooks: {session:start: [{id: gate, type: webhook, await: true, body: {text: 'Go on?'}}]}
";

/// Machines with a checkout of one project, each with its own way to one database.
struct Shop {
    lab: Lab,
    database: String,
    beat: &'static str,
    /// The ways to the database. They last as long as the machines.
    relays: Vec<Relay>,
}

impl Shop {
    fn new() -> Self {
        Self::with_beat("5s")
    }

    /// Machines that declare each other dead after 36 of these.
    fn with_beat(beat: &'static str) -> Self {
        let lab = Lab::new(
            env!("CARGO_BIN_EXE_hookwright"),
            &[
                ("hookwright.yaml", "project: shop\ncallback: {port: 0}\n"),
                ("loop.yaml", LOOP),
                ("asking.yaml", ASKING),
                (".gitignore", "/log\n/pid\n/go\n/.hookwright/\n"),
            ],
        );
        let database = Cluster::shared().create_database("template1");
        Self { lab, database, beat, relays: Vec::new() }
    }

    /// A machine that uses the database. The first one prepares it.
    fn machine(&mut self, name: &str) -> Machine {
        let machine = self.lab.machine(name);
        self.connect(&machine);
        machine
    }

    fn connect(&mut self, machine: &Machine) {
        let relay = Relay::to(Cluster::shared().port());
        machine.use_store(&relay.address(&self.database));
        if self.relays.is_empty() {
            assert_eq!(
                said(&machine.hookwright(&["store", "init", "--beat", self.beat])),
                "the store is initialised (version 1)\n"
            );
        }
        self.relays.push(relay);
    }
}

/// What a command that succeeds prints.
fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The JSON that a command prints.
fn json(machine: &Machine, arguments: &[&str]) -> Value {
    serde_json::from_str(&said(&machine.hookwright(arguments))).expect("JSON")
}

/// The status of a session, as a machine sees it.
fn status(machine: &Machine, session: &str) -> String {
    let listed = json(machine, &["sessions", "list", "--json"]);
    let sessions = listed["sessions"].as_array().unwrap();
    let session = sessions.iter().find(|it| it["name"] == session);
    session.map_or("none", |session| session["status"].as_str().unwrap()).to_owned()
}

#[test]
fn tasks_of_one_machine_are_listed_and_completed_on_another_one() {
    let mut shop = Shop::new();
    let (a, b) = (shop.machine("a"), shop.machine("b"));
    assert_eq!(said(&a.hookwright(&["task", "add", "fix it"])), "TAS-1\n");
    assert_eq!(json(&b, &["task", "list", "--json"])[0]["content"], "fix it");
    assert_eq!(said(&b.hookwright(&["task", "add", "test it"])), "TAS-2\n");
    assert_eq!(said(&b.hookwright(&["task", "done", "TAS-1"])), "TAS-1 is completed\n");
    let tasks = json(&a, &["task", "list", "--all", "--json"]);
    let states: Vec<_> =
        tasks.as_array().unwrap().iter().map(|task| (&task["content"], &task["state"])).collect();
    assert!(states.contains(&(&"fix it".into(), &"completed".into())), "{tasks}");
    assert!(states.contains(&(&"test it".into(), &"open".into())), "{tasks}");
}

#[test]
fn a_question_of_one_machine_is_answered_on_another_one() {
    let mut shop = Shop::new();
    let (a, b) = (shop.machine("a"), shop.machine("b"));
    let mut session = a.start_hookwright(&["run", "asking.yaml", "--session", "s"]);
    let question = || {
        let listed = json(&b, &["approvals", "--json"]);
        listed[0]["id"].as_str().map(str::to_owned)
    };
    until("somebody is asked", || question().is_some());
    assert_eq!(status(&b, "s"), "active");
    let began = Instant::now();
    let _ = said(&b.hookwright(&["approve", &question().unwrap()]));
    assert!(session.wait().success());
    // Not with the next of the regular checks, which are two minutes apart.
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(a.read("log"), "a\n");
    assert_eq!(status(&b, "s"), "completed");
}

#[test]
fn an_answer_counts_on_the_machine_that_continues_the_session() {
    let mut shop = Shop::with_beat("50ms");
    let (mut a, b) = (shop.machine("a"), shop.machine("b"));
    let _session = a.start_hookwright(&["run", "asking.yaml", "--session", "s"]);
    let questions = || json(&b, &["approvals", "--json"]);
    until("somebody is asked", || questions()[0]["id"].is_string());
    let question = questions()[0]["id"].as_str().unwrap().to_owned();
    a.kill();
    let _ = said(&b.hookwright(&["approve", &question]));
    until("it is resumed", || b.hookwright(&["resume", "s"]).status.success());
    assert_eq!(b.read("log"), "b\n");
    assert_eq!(questions(), Value::Array(Vec::new()), "the question is not asked again");
}

/// A session with tasks, whose hook blocks what is not tested. Its agent works until there is a file
/// `go`.
const TASKS: &str = "prompt: p
termination: {type: queue, source: {tasks: true}}
agent: {command: 'echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done'}
hooks: {task:complete: [{id: tested, command: 'test -e tested || { echo test it first >&2; exit 2; }'}]}
";

#[test]
fn a_task_of_a_session_is_completed_from_another_machine_by_the_hooks_of_the_session() {
    let mut shop = Shop::new();
    let (a, b) = (shop.machine("a"), shop.machine("b"));
    let _ = said(&a.hookwright(&["task", "add", "build it"]));
    std::fs::write(a.path("tasks.yaml"), TASKS).unwrap();
    let mut session = a.start_hookwright(&["run", "tasks.yaml", "--session", "s"]);
    until("the agent works", || !a.read("pid").is_empty());
    let blocked = b.hookwright(&["task", "done", "TAS-1"]);
    assert_eq!(blocked.status.code(), Some(2), "{blocked:?}");
    let words = String::from_utf8_lossy(&blocked.stderr).into_owned();
    assert!(words.contains("test it first"), "{words}");
    // On the machine of the session: the hook runs there.
    std::fs::write(a.path("tested"), "").unwrap();
    assert_eq!(said(&b.hookwright(&["task", "done", "TAS-1"])), "TAS-1 is completed\n");
    std::fs::write(a.path("go"), "").unwrap();
    assert!(session.wait().success());
    let log = said(&b.hookwright(&["sessions", "log", "s"]));
    assert_eq!(log.matches("fired task:complete").count(), 2, "{log}");
}

#[test]
fn a_session_is_stopped_from_another_machine() {
    let mut shop = Shop::new();
    let (a, b) = (shop.machine("a"), shop.machine("b"));
    let mut session = a.start_hookwright(&["run", "loop.yaml", "--session", "s"]);
    until("the second iteration", || !a.read("pid").is_empty());
    let stopped = said(&b.hookwright(&["stop", "s"]));
    assert!(stopped.contains("session s: interrupted"), "{stopped}");
    assert_eq!(session.wait().code(), Some(130));
    assert_eq!(a.processes(), Vec::<String>::new());
    let refused = b.hookwright(&["stop", "s"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
}

#[test]
fn a_session_on_a_worker_is_stopped_at_once_from_another_machine() {
    let mut shop = Shop::new();
    let (a, b) = (shop.machine("a"), shop.machine("b"));
    std::fs::write(b.path("asking.yaml"), "prompt: p\nagent: {command: 'sleep 1000'}\nhooks: {session:end: [{command: 'trap \"\" TERM; sleep 1000'}]}\n").unwrap();
    let _ = b.shell("git add -A && git commit -qm more && git push -q");
    let mut worker = a.start_hookwright(&["worker", "--json"]);
    let _ = said(&b.hookwright(&["run", "asking.yaml", "--on", "workers", "--session", "s"]));
    worker.wait_for_words("\"event\":\"started\"");
    until("its agent works", || a.processes().iter().any(|line| line.contains("sleep 1000")));
    let _ = said(&b.hookwright(&["stop", "s", "--now"]));
    until("nothing of it is left", || !a.processes().iter().any(|line| line.contains("sleep")));
}

#[test]
fn every_command_about_sessions_works_on_a_machine_that_has_run_none() {
    let mut shop = Shop::new();
    let (a, b) = (shop.machine("a"), shop.machine("b"));
    for machine in [&a, &b] {
        let queue = "prompt: p\ntermination: {type: queue, source: {issues: issues/}}\n\
                     agent: {command: 'exit 1'}\n";
        std::fs::write(machine.path("queue.yaml"), queue).unwrap();
        std::fs::create_dir(machine.path("issues")).unwrap();
        std::fs::write(machine.path("issues/7-seven.md"), "# seven\n").unwrap();
    }
    let ran = said(&a.hookwright(&["run", "queue.yaml", "--session", "q"]));
    assert!(ran.contains("work: 1 failed"), "{ran}");
    let mut asking = a.start_hookwright(&["run", "asking.yaml", "--session", "s"]);
    until("somebody is asked", || json(&b, &["approvals", "--json"])[0]["id"].is_string());
    let has = |arguments: &[&str], words: &str| {
        let printed = said(&b.hookwright(arguments));
        assert!(printed.contains(words), "{arguments:?}: {printed}");
    };
    has(&["status"], "Go on?");
    has(&["sessions", "list"], "q ");
    has(&["sessions", "show", "q"], "seven");
    has(&["sessions", "log", "q"], "session ended");
    has(&["reopen", "7"], "is open again, it was failed");
    has(&["task", "add", "look"], "TAS-1");
    has(&["task", "list"], "look");
    has(&["task", "update", "TAS-1", "--priority", "0"], "TAS-1");
    let question = json(&b, &["approvals", "--json"])[0]["id"].as_str().unwrap().to_owned();
    has(&["reject", &question], "reject");
    assert_eq!(asking.wait().code(), Some(3), "it is aborted");
    has(&["sessions", "list", "--status", "aborted"], "s ");
    let mut resumed = b.start_hookwright(&["resume", "s", "--skip-gate", "gate"]);
    assert!(resumed.wait().success());
    assert_eq!(b.read("log"), "b\n");
    has(&["sessions", "prune", "--keep", "0", "--yes"], "completed");
    assert_eq!(json(&a, &["sessions", "list", "--json"])["sessions"], Value::Array(Vec::new()));
}

/// Turns of the built-in agent: a long command, then the end.
const TURNS: &str = "turns:
  - content: [{type: tool_use, name: bash, input: {command: 'echo $$ > pid; exec sleep 1000'}}]
  - content: [{type: text, text: done}]
";

#[test]
fn a_session_of_the_built_in_agent_is_seen_asked_and_stopped_from_another_machine() {
    let mut shop = Shop::new();
    let (a, b) = (shop.machine("a"), shop.machine("b"));
    std::fs::write(a.path("model.yaml"), TURNS).unwrap();
    let hooks = "project: shop\ncallback: {port: 0}\nhooks: {tool:pre_execute: [{id: gate, type: \
                 webhook, await: true, body: {text: 'Go on?'}}]}\n";
    std::fs::write(a.path("hookwright.yaml"), hooks).unwrap();
    let _ = said(&a.hookwright(&["trust", "--yes"]));
    let model = ["--model", "scripted:model.yaml", "--permission-mode", "bypassPermissions"];
    let mut agent = a.start_hookwright(&[&["agent", "-p", "work"], &model[..]].concat());
    let questions = || json(&b, &["approvals", "--json"]);
    until("somebody is asked", || questions()[0]["id"].is_string());
    let began = Instant::now();
    let _ = said(&b.hookwright(&["approve", questions()[0]["id"].as_str().unwrap()]));
    until("the tool runs", || !a.read("pid").is_empty());
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let listed = json(&b, &["sessions", "list", "--json"]);
    let name = listed["sessions"][0]["name"].as_str().unwrap();
    let stopped = said(&b.hookwright(&["stop", name]));
    assert!(stopped.contains("interrupted"), "{stopped}");
    assert_eq!(agent.wait().code(), Some(130));
    assert_eq!(a.processes(), Vec::<String>::new());
}

#[test]
fn a_session_of_the_built_in_agent_is_cut_off_when_its_machine_dies() {
    let mut shop = Shop::with_beat("50ms");
    let (mut a, b) = (shop.machine("a"), shop.machine("b"));
    std::fs::write(a.path("model.yaml"), TURNS).unwrap();
    let _ = said(&a.hookwright(&["trust", "--yes"]));
    let model = ["--model", "scripted:model.yaml", "--permission-mode", "bypassPermissions"];
    let _agent = a.start_hookwright(&[&["agent", "-p", "work"], &model[..]].concat());
    until("the tool runs", || !a.read("pid").is_empty());
    let listed = json(&b, &["sessions", "list", "--json"]);
    let name = listed["sessions"][0]["name"].as_str().unwrap().to_owned();
    assert_eq!(status(&b, &name), "active");
    a.kill();
    // It counts the beats of the dead machine.
    let _worker = b.start_hookwright(&["worker"]);
    until("its machine is declared dead", || status(&b, &name) == "cut_off");
}

#[test]
fn a_session_runs_on_one_machine_at_a_time_and_is_resumed_on_another_one() {
    let mut shop = Shop::new();
    let (a, b) = (shop.machine("a"), shop.machine("b"));
    let mut session = a.start_hookwright(&["run", "loop.yaml", "--session", "s"]);
    until("the second iteration", || !a.read("pid").is_empty());
    let refused = b.hookwright(&["resume", "s"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    let refused = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.contains("on machine `a` is running session `s`"), "{refused}");
    session.signal(rustix::process::Signal::INT);
    let _ = session.wait();
    assert_eq!(a.processes(), Vec::<String>::new());
    assert_eq!(status(&b, "s"), "interrupted");
    std::fs::write(b.path("go"), "").unwrap();
    let _ = said(&b.hookwright(&["resume", "s"]));
    assert_eq!(
        (a.read("log").as_str(), b.read("log").as_str()),
        ("a 1 1\na 2 1\n", "b 2 2\nb 3 1\n")
    );
    assert_eq!(status(&a, "s"), "completed");
}

#[test]
fn a_session_of_a_machine_that_died_continues_on_another_one() {
    let mut shop = Shop::with_beat("50ms");
    let (mut a, b) = (shop.machine("a"), shop.machine("b"));
    let _session = a.start_hookwright(&["run", "loop.yaml", "--session", "s"]);
    until("the second iteration", || !a.read("pid").is_empty());
    a.kill();
    std::fs::write(b.path("go"), "").unwrap();
    // Refused until the machine has been silent for a few beats.
    until("it is resumed", || b.hookwright(&["resume", "s"]).status.success());
    assert_eq!(
        (a.read("log").as_str(), b.read("log").as_str()),
        ("a 1 1\na 2 1\n", "b 2 2\nb 3 1\n")
    );
    a.start_again();
    assert_eq!(status(&a, "s"), "completed");
}

#[test]
fn machines_of_one_name_are_told_apart() {
    let mut shop = Shop::new();
    let a = shop.machine("a");
    let of_same_name = hookwright_machine_lab::MachineIdentity::of_host("a");
    // A copy of the whole machine boots by itself.
    let copied = hookwright_machine_lab::MachineIdentity {
        boot_id: of_same_name.boot_id.clone(),
        ..a.identity().clone()
    };
    let twin = shop.lab.machine_as("twin", of_same_name);
    let copy = shop.lab.machine_as("copy", copied);
    let _session = a.start_hookwright(&["run", "loop.yaml", "--session", "s"]);
    until("the second iteration", || !a.read("pid").is_empty());
    for other in [twin, copy] {
        shop.connect(&other);
        let refused = other.hookwright(&["resume", "s"]);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert_eq!(other.read("log"), "");
        assert_eq!(status(&other, "s"), "active");
    }
}

#[test]
fn nothing_runs_on_a_machine_whose_session_has_ended() {
    let mut shop = Shop::new();
    let a = shop.machine("a");
    std::fs::write(a.path("go"), "").unwrap();
    let _ = said(&a.hookwright(&["run", "loop.yaml", "--session", "s"]));
    assert_eq!(a.processes(), Vec::<String>::new());
}
