//! Several machines that share a store: each has its own host name, processes, home and checkout.

use std::process::Output;

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
    let _ = said(&b.hookwright(&["approve", &question().unwrap()]));
    assert!(session.wait().success());
    assert_eq!(a.read("log"), "a\n");
    assert_eq!(status(&b, "s"), "completed");
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
