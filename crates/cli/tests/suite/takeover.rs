//! Machines that die, stand still or lose touch with the store: their sessions are taken over, once
//! it is certain that they are dead, and never before.

use std::process::Output;
use std::time::{Duration, Instant};

use hookwright_machine_lab::{Lab, Machine, MachineIdentity, MachineProcess};
use hookwright_pipeline::limits::BEATS_UNTIL_DEATH;
use hookwright_postgres_server::{Cluster, Relay};

use crate::interrupts::until;

/// The pause between two signs of life. In real stores it is 5 s.
const BEAT: Duration = Duration::from_millis(250);

/// A shorter one, for what stands still for more beats than a worker is waited for.
const SHORT_BEAT: Duration = Duration::from_millis(100);

/// An agent that works in its second iteration until there is a file `go`, and does not end when it
/// is asked to. Hooks at the end of a session leave a trace.
const LOOP: &str = "prompt: p
termination: {type: fixed, iterations: 3}
agent: {command: 'echo $(hostname) $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ $ITERATION = 2 ] && [ ! -e go ]; then trap \"\" TERM; echo $$ > pid; while :; do sleep 1000; done; fi'}
hooks: {session:end: [{command: 'echo $(hostname) end >> log', await: true}]}
";

/// Machines with a checkout of one project, each with its own way to one server.
struct Fleet {
    lab: Lab,
    cluster: Cluster,
    machines: Vec<(Machine, Relay)>,
}

impl Fleet {
    fn new(names: &[&str]) -> Self {
        Self::with_beat(names, BEAT)
    }

    fn with_beat(names: &[&str], beat: Duration) -> Self {
        let files = [
            ("hookwright.yaml", "project: shop\n"),
            ("loop.yaml", LOOP),
            (".gitignore", "/log\n/pid\n/go\n/.hookwright/\n"),
        ];
        let lab = Lab::new(env!("CARGO_BIN_EXE_hookwright"), &files);
        let cluster = Cluster::start();
        cluster.create_named("shop");
        let mut fleet = Self { lab, cluster, machines: Vec::new() };
        names.iter().for_each(|name| fleet.add(name, MachineIdentity::of_host(name)));
        let beat = format!("{}ms", beat.as_millis());
        let made = fleet.machine(0).hookwright(&["store", "init", "--beat", &beat]);
        assert!(made.status.success(), "{made:?}");
        fleet
    }

    fn add(&mut self, name: &str, identity: MachineIdentity) {
        let machine = self.lab.machine_as(name, identity);
        let relay = Relay::to(self.cluster.port());
        machine.use_store(&relay.address("shop"));
        self.machines.push((machine, relay));
    }

    fn machine(&self, number: usize) -> &Machine {
        &self.machines[number].0
    }

    fn relay(&self, number: usize) -> &Relay {
        &self.machines[number].1
    }

    /// Starts a session on the first machine and waits for its second iteration.
    fn start(&self) -> MachineProcess {
        self.start_on(0, "s")
    }

    fn start_on(&self, number: usize, name: &str) -> MachineProcess {
        let machine = self.machine(number);
        let session = machine.start_hookwright(&["run", "loop.yaml", "--session", name]);
        until("the second iteration", || !machine.read("pid").is_empty());
        session
    }

    fn sql(&self, statement: &str) -> String {
        self.cluster.sql("shop", statement)
    }

    /// How many workers were declared dead.
    fn dead(&self) -> u64 {
        let count = "SELECT count(*) FROM hookwright.workers WHERE died IS NOT NULL";
        self.sql(count).parse().unwrap()
    }

    /// Starts a worker on each of the first two machines. Their sessions may end, and they go on.
    fn start_workers(&self) -> [MachineProcess; 2] {
        let workers = [0, 1].map(|number| self.machine(number).start_hookwright(&["worker"]));
        let count = "SELECT count(*) FROM hookwright.workers";
        until("both have joined", || self.sql(count) == "2");
        workers
    }

    /// Both workers go on, and neither takes the other for dead.
    fn expect_two_living_workers(&self) {
        // More beats than would declare a worker dead, of each.
        let fewest = "SELECT min(number) FROM hookwright.workers";
        let before: u64 = self.sql(fewest).parse().unwrap();
        let enough = before + u64::from(BEATS_UNTIL_DEATH) + 4;
        until("beats arrive", || self.sql(fewest).parse::<u64>().unwrap() >= enough);
        assert_eq!(self.dead(), 0);
        assert_eq!(self.sql("SELECT count(*) FROM hookwright.workers"), "2", "the same ones");
    }

    /// The sum of the numbers of all workers, which each beat raises.
    fn beats(&self) -> u64 {
        self.sql("SELECT sum(number) FROM hookwright.workers").parse().unwrap()
    }

    /// Waits until a worker seems to be dead. That is not certain yet.
    fn wait_for_silence(&self) {
        let age =
            "SELECT max(clock_timestamp() - last_beat) > interval '1 s' FROM hookwright.workers";
        until("a worker is silent", || self.sql(age) == "t");
    }

    /// Waits until workers have sent so many beats.
    fn wait_for_beats(&self, count: u64) {
        let before = self.beats();
        until("beats arrive", || self.beats() >= before + count);
    }

    /// The status of a session, as a machine sees it.
    fn status(&self, number: usize, session: &str) -> String {
        let listed = self.machine(number).hookwright(&["sessions", "list", "--json"]);
        assert!(listed.status.success(), "{listed:?}");
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        let sessions = listed["sessions"].as_array().unwrap();
        let session = sessions.iter().find(|it| it["name"] == session).unwrap();
        session["status"].as_str().unwrap().to_owned()
    }

    /// Resumes the session on a machine, where its agent finishes.
    fn resume_on(&self, number: usize) -> Output {
        std::fs::write(self.machine(number).path("go"), "").unwrap();
        self.machine(number).hookwright(&["resume", "s"])
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether the agent of the session still runs there.
fn agent_runs(machine: &Machine) -> bool {
    machine.processes().iter().any(|line| line.contains("sleep 1000"))
}

#[test]
fn a_session_of_a_machine_that_died_goes_on_elsewhere() {
    let mut fleet = Fleet::new(&["a", "b"]);
    let _session = fleet.start();
    fleet.machines[0].0.kill();
    fleet.wait_for_silence();
    assert_eq!(fleet.status(1, "s"), "active", "that it died is not certain yet");
    let resumed = fleet.resume_on(1);
    assert!(resumed.status.success(), "{resumed:?}");
    let said = errors(&resumed);
    assert!(said.contains("machine a, which ran session s, is dead"), "{said}");
    assert_eq!(fleet.machine(1).read("log"), "b 2 2\nb 3 1\nb end\n");
    fleet.machines[0].0.start_again();
    assert_eq!(fleet.status(0, "s"), "completed");
}

#[test]
fn others_see_that_a_machine_died_and_its_session_is_cut_off() {
    let mut fleet = Fleet::new(&["a", "b", "c"]);
    let (_first, _second) = (fleet.start(), fleet.start_on(1, "t"));
    fleet.machines[0].0.kill();
    // The second one counts; the third one only looks.
    until("it is declared dead", || fleet.status(2, "s") == "cut_off");
    assert_eq!(fleet.status(2, "t"), "active");
    let resumed = fleet.resume_on(2);
    assert!(resumed.status.success(), "{resumed:?}");
    assert!(!errors(&resumed).contains("waiting for the next one"), "{resumed:?}");
}

#[test]
fn a_holder_that_stood_still_is_fenced_when_it_continues_and_its_agent_killed() {
    let fleet = Fleet::new(&["a", "b"]);
    let session = fleet.start();
    session.stop();
    fleet.wait_for_silence();
    let resumed = fleet.resume_on(1);
    assert!(resumed.status.success(), "{resumed:?}");
    assert!(agent_runs(fleet.machine(0)), "it did not stop with its session");
    let began = Instant::now();
    session.resume();
    until("the agent is killed", || !agent_runs(fleet.machine(0)));
    let took = began.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
    let ended = session.output();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(errors(&ended).contains("the session was cut off"), "{}", errors(&ended));
    // No hook of the old holder has run.
    assert_eq!(fleet.machine(0).read("log"), "a 1 1\na 2 1\n");
    assert_eq!(fleet.status(0, "s"), "completed");
}

/// By the reply to a beat: its own clock would have let it work on.
#[test]
fn a_worker_that_was_declared_dead_ends_with_its_next_beat() {
    let fleet = Fleet::new(&["a"]);
    let session = fleet.start();
    fleet.sql("UPDATE hookwright.workers SET died = now()");
    let began = Instant::now();
    until("the agent is killed", || !agent_runs(fleet.machine(0)));
    let took = began.elapsed();
    assert!(took < BEAT + Duration::from_secs(5), "{took:?}");
    let ended = session.output();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = errors(&ended);
    assert!(said.contains("other machines have declared this process dead"), "{said}");
    assert_eq!(fleet.machine(0).read("log"), "a 1 1\na 2 1\n");
}

#[test]
fn a_session_that_lost_its_lease_ends_with_the_next_beat() {
    let fleet = Fleet::new(&["a"]);
    let session = fleet.start();
    fleet.sql("UPDATE hookwright.leases SET token = nextval('hookwright.revisions')");
    until("the agent is killed", || !agent_runs(fleet.machine(0)));
    let ended = session.output();
    let said = errors(&ended);
    assert!(said.contains("another process has taken over the session"), "{said}");
    assert_eq!(fleet.machine(0).read("log"), "a 1 1\na 2 1\n");
}

/// Its agent has ended before the other machine may take the session.
#[test]
fn a_machine_that_is_cut_off_has_no_agent_left_when_it_is_declared_dead() {
    let fleet = Fleet::new(&["a", "b"]);
    let session = fleet.start();
    fleet.relay(0).close();
    fleet.wait_for_silence();
    let heir = fleet.machine(1).start_hookwright(&["resume", "s"]);
    until("it is declared dead", || fleet.dead() == 1);
    assert!(!agent_runs(fleet.machine(0)));
    assert!(errors(&session.output()).contains("the store gets no sign of life"));
    std::fs::write(fleet.machine(1).path("go"), "").unwrap();
    assert!(heir.output().status.success());
    assert_eq!(fleet.machine(0).read("log"), "a 1 1\na 2 1\n");
    assert_eq!(fleet.machine(0).processes(), Vec::<String>::new());
}

#[test]
fn a_server_that_stands_still_kills_no_worker() {
    let fleet = Fleet::new(&["a", "b"]);
    let (first, second) = (fleet.start(), fleet.start_on(1, "t"));
    fleet.cluster.pause();
    std::thread::sleep(BEAT * 5);
    fleet.cluster.resume();
    // More of them than would declare a worker dead.
    fleet.wait_for_beats(2 * 40);
    assert_eq!(fleet.dead(), 0);
    assert!(agent_runs(fleet.machine(0)) && agent_runs(fleet.machine(1)));
    drop((first, second));
}

/// For longer than a silent worker is waited for: a lease that expires by any clock would be gone.
#[test]
fn however_long_a_server_stands_still_no_worker_dies() {
    let fleet = Fleet::with_beat(&["a", "b"], SHORT_BEAT);
    let _workers = fleet.start_workers();
    fleet.cluster.pause();
    std::thread::sleep(SHORT_BEAT * (BEATS_UNTIL_DEATH + 12));
    fleet.cluster.resume();
    fleet.expect_two_living_workers();
}

#[test]
fn a_watcher_that_stood_still_declares_no_living_worker_dead() {
    let fleet = Fleet::new(&["a", "b"]);
    let (watched, watcher) = (fleet.start(), fleet.start_on(1, "t"));
    fleet.wait_for_beats(4);
    watcher.stop();
    // As long as it takes to declare the watcher dead.
    until("the watcher is dead", || fleet.dead() == 1);
    watcher.resume();
    fleet.wait_for_beats(40);
    assert_eq!(fleet.dead(), 1);
    assert!(agent_runs(fleet.machine(0)));
    assert_eq!(fleet.status(0, "s"), "active");
    drop((watched, watcher));
}

#[test]
fn beats_that_are_swallowed_for_a_while_kill_no_worker() {
    let fleet = Fleet::new(&["a", "b"]);
    let (first, second) = (fleet.start(), fleet.start_on(1, "t"));
    fleet.relay(0).stop();
    fleet.wait_for_beats(8);
    fleet.relay(0).release();
    fleet.wait_for_beats(2 * 40);
    assert_eq!(fleet.dead(), 0);
    assert!(agent_runs(fleet.machine(0)));
    drop((first, second));
}

/// Nobody's beats arrive, for longer than a silent worker is waited for.
#[test]
fn however_long_the_beats_of_all_are_swallowed_no_worker_dies() {
    let fleet = Fleet::with_beat(&["a", "b"], SHORT_BEAT);
    let _workers = fleet.start_workers();
    fleet.machines.iter().for_each(|(_, relay)| relay.stop());
    std::thread::sleep(SHORT_BEAT * (BEATS_UNTIL_DEATH + 12));
    fleet.machines.iter().for_each(|(_, relay)| relay.release());
    fleet.expect_two_living_workers();
}

/// It has no session that would tell it.
#[test]
fn a_worker_without_sessions_that_was_declared_dead_joins_again() {
    let fleet = Fleet::new(&["a"]);
    let _worker = fleet.machine(0).start_hookwright(&["worker"]);
    let living = "SELECT count(*) FROM hookwright.workers WHERE died IS NULL";
    until("it has joined", || fleet.sql(living) == "1");
    fleet.sql("UPDATE hookwright.workers SET died = now()");
    until("it has joined again", || fleet.sql(living) == "1");
}

/// A copy of the machine, with its name and ids, and one with its name only.
#[test]
fn neither_equal_names_nor_copies_of_a_machine_hide_that_it_lives_or_died() {
    let mut fleet = Fleet::new(&["a"]);
    let identity = fleet.machine(0).identity().clone();
    fleet.add("copy", identity);
    fleet.add("twin", MachineIdentity::of_host("a"));
    let session = fleet.start();
    for other in [1, 2] {
        let refused = fleet.machine(other).hookwright(&["resume", "s"]);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        assert_eq!(fleet.status(other, "s"), "active");
    }
    assert_eq!(fleet.dead(), 0);
    fleet.machines[0].0.kill();
    drop(session);
    fleet.wait_for_silence();
    let resumed = fleet.resume_on(1);
    assert!(resumed.status.success(), "{resumed:?}");
    assert_eq!(fleet.machine(1).read("log"), "a 2 2\na 3 1\na end\n");
}

#[test]
fn clocks_that_are_an_hour_off_change_nothing() {
    let mut fleet = Fleet::new(&["a", "early", "late"]);
    fleet.machines[1].0.set_clock("-1h");
    fleet.machines[2].0.set_clock("+1h");
    let session = fleet.start();
    for other in [1, 2] {
        let refused = fleet.machine(other).hookwright(&["resume", "s"]);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    }
    assert_eq!(fleet.dead(), 0);
    fleet.machines[0].0.kill();
    drop(session);
    fleet.wait_for_silence();
    let resumed = fleet.resume_on(2);
    assert!(resumed.status.success(), "{resumed:?}");
}

#[test]
fn a_process_that_was_killed_on_this_machine_is_found_dead_at_once() {
    let fleet = Fleet::new(&["a"]);
    let mut session = fleet.start();
    session.kill();
    assert_eq!(fleet.status(0, "s"), "cut_off");
    let resumed = fleet.resume_on(0);
    assert!(resumed.status.success(), "{resumed:?}");
    assert!(!errors(&resumed).contains("waiting"), "{resumed:?}");
    assert_eq!(fleet.machine(0).read("log"), "a 1 1\na 2 1\na 2 2\na 3 1\na end\n");
}

/// The session's process alone was killed, on a machine that goes on. Its agent does not notice.
#[test]
fn a_machine_ends_what_its_dead_worker_left_before_it_takes_another_session() {
    let fleet = Fleet::new(&["a", "b"]);
    let mut session = fleet.start();
    session.kill();
    fleet.wait_for_silence();
    let resumed = fleet.resume_on(1);
    assert!(resumed.status.success(), "{resumed:?}");
    assert!(agent_runs(fleet.machine(0)), "nothing has run there since");
    std::fs::write(fleet.machine(0).path("go"), "").unwrap();
    let next = fleet.machine(0).hookwright(&["run", "loop.yaml", "--session", "next"]);
    assert!(next.status.success(), "{next:?}");
    assert!(
        errors(&next).contains("processes that a killed session had left running on this machine"),
        "{next:?}"
    );
    assert!(!agent_runs(fleet.machine(0)));
}
