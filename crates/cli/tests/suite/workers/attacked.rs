//! Workers whose sessions, processes and stores are disturbed at awkward moments.

use std::sync::mpsc;
use std::time::Duration;

use hookwright_postgres_server::{Cluster, Relay};

use super::carried::project_with_work;
use super::{LOOP, committed, hears, home_of, is, kill, project, session, submit, worker, write};
use crate::interrupts::{Left, Started, started, until};
use crate::runs::lines;
use crate::shared_store::{at, empty};
use crate::support::Sandbox;

/// A project, and a network between its workers and its store.
pub(super) struct Apart {
    pub(super) sandbox: Sandbox,
    pub(super) database: String,
    pub(super) relay: Relay,
}

impl Apart {
    pub(super) fn with(text: &str) -> Self {
        Self::with_beat(text, "5s")
    }

    /// The same with another pause between two signs of life.
    pub(super) fn with_beat(text: &str, beat: &str) -> Self {
        let (cluster, database) = (Cluster::shared(), empty());
        let sandbox = at(committed(text), &cluster.address(&database));
        assert_eq!(sandbox.run(&["store", "init", "--beat", beat]).code, 0);
        Self { sandbox, database, relay: Relay::to(cluster.port()) }
    }

    /// A worker behind the network.
    fn worker(&self) -> Started {
        self.worker_with(&[])
    }

    /// The same with these arguments.
    pub(super) fn worker_with(&self, more: &[&str]) -> Started {
        let home = home_of(&self.sandbox, "a");
        let settings = home.join(".config/hookwright");
        std::fs::create_dir_all(&settings).unwrap();
        let store = format!("store: {}\n", self.relay.address(&self.database));
        std::fs::write(settings.join("store.yaml"), store).unwrap();
        let mut command = self.sandbox.command(&[&["worker", "--json"], more].concat());
        command.env("HOME", home);
        started(command)
    }

    pub(super) fn sql(&self, statement: &str) -> String {
        Cluster::shared().sql(&self.database, statement)
    }
}

#[test]
fn a_session_that_is_stopped_at_once_is_not_run_again() {
    // Its hook lasts longer than the person waits.
    let hook =
        "hooks: {session:end: [{command: '[ -e $CHECKOUT/go ] || sleep 1000', await: true}]}\n";
    let sandbox = project(&format!("{LOOP}{hook}"));
    let agent = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json"]);
    submit(&sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    let stopped = sandbox.run(&["stop", "s", "--now"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    until("it is interrupted", || is(&sandbox, "s", "interrupted"));
    hears(&mut first, "ended");
    until("its agent has ended", || agent.is_gone());
    write(&sandbox, "go", "");
    assert_eq!(sandbox.run(&["resume", "s"]).code, 0);
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert_eq!(lines(&sandbox, "log"), ["1 1", "2 1", "2 2", "3 1"]);
}

/// A command for new work trees that lasts until it is killed, the first time.
fn endless_setup(sandbox: &Sandbox) -> String {
    let pid = sandbox.path("").canonicalize().unwrap().join("pid");
    format!("[ -e {0} ] || {{ echo $$ > {0}; exec sleep 1000; }}", pid.display())
}

#[test]
fn a_session_whose_work_tree_is_set_up_can_be_stopped() {
    let sandbox = project_with_work();
    let setup = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json", "--setup", &endless_setup(&sandbox)]);
    submit(&sandbox, &["--session", "s"]);
    until("the work tree is set up", || setup.has_run());
    let stopped = sandbox.run(&["stop", "s"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    until("it is interrupted", || is(&sandbox, "s", "interrupted"));
    hears(&mut first, "ended");
    until("nothing of the set-up is left", || setup.is_gone());
}

#[test]
fn a_killed_session_process_leaves_no_set_up() {
    let sandbox = project_with_work();
    let setup = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json", "--setup", &endless_setup(&sandbox)]);
    submit(&sandbox, &["--session", "s"]);
    until("the work tree is set up", || setup.has_run());
    kill("-KILL", &session(&sandbox, "s")["process"]["pid"].to_string());
    hears(&mut first, "lost");
    assert!(setup.is_gone());
}

#[test]
fn a_worker_without_its_store_ends_when_it_is_asked_to() {
    let apart = Apart::with(LOOP);
    let agent = Left::by(&apart.sandbox, "pid");
    let mut first = apart.worker();
    submit(&apart.sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    let process = session(&apart.sandbox, "s")["process"]["pid"].to_string();
    apart.relay.close();
    apart.relay.cut();
    kill("-KILL", &process);
    hears(&mut first, "away");
    first.signal("-TERM");
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || ended.send(first.ran()));
    let ran = end.recv_timeout(Duration::from_secs(150)).expect("the worker ends");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(agent.is_gone());
}

#[test]
fn a_session_whose_claim_was_not_answered_is_run() {
    let apart = Apart::with(
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo turn >> $CHECKOUT/log'}\n",
    );
    submit(&apart.sandbox, &["--session", "s"]);
    apart.sql("CREATE TABLE public.go (number int)");
    // The claim waits for this lock, so that its answer can be held back.
    let lock = "DO $$ BEGIN LOCK TABLE hookwright.leases IN SHARE MODE; \
                WHILE NOT EXISTS (SELECT FROM public.go) LOOP PERFORM pg_sleep(0.02); END LOOP; \
                END $$";
    let mut first = std::thread::scope(|scope| {
        let locking = scope.spawn(|| apart.sql(lock));
        let locked = "SELECT count(*) FROM pg_locks WHERE mode = 'ShareLock' AND granted \
                      AND relation = 'hookwright.leases'::regclass";
        until("the leases are locked", || apart.sql(locked) == "1");
        let first = apart.worker();
        let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted \
                     AND relation = 'hookwright.leases'::regclass";
        until("the claim waits", || apart.sql(waits) != "0");
        apart.relay.hold_answers();
        apart.sql("INSERT INTO public.go VALUES (1)");
        locking.join().unwrap();
        first
    });
    until("the session is claimed", || is(&apart.sandbox, "s", "active"));
    apart.relay.close();
    apart.relay.lose();
    hears(&mut first, "away");
    apart.relay.open();
    hears(&mut first, "back");
    until("the session is complete", || is(&apart.sandbox, "s", "completed"));
    assert_eq!(lines(&apart.sandbox, "log"), ["turn"]);
}

#[test]
fn a_store_that_takes_no_connections_for_a_moment_is_waited_for() {
    let apart = Apart::with(
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo turn >> $CHECKOUT/log'}\n",
    );
    let mut first = apart.worker();
    hears(&mut first, "joined");
    let connections = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' \
         AND application_name = 'hookwright'",
        apart.database
    );
    until("the worker has both connections", || apart.sql(&connections) == "2");
    apart.relay.refuse();
    submit(&apart.sandbox, &["--session", "s"]);
    until("the session's process has tried twice", || apart.relay.refused() >= 2);
    apart.relay.open();
    until("the session is complete", || is(&apart.sandbox, "s", "completed"));
    assert_eq!(session(&apart.sandbox, "s")["submission"]["losses"], 0);
    assert_eq!(lines(&apart.sandbox, "log"), ["turn"]);
}

#[test]
fn a_hook_in_a_work_tree_cannot_answer_the_question_of_its_session() {
    let sandbox = project_with_work();
    let root = sandbox.path("").canonicalize().unwrap();
    // In a namespace of its own, no process above it is seen: only what it was started with.
    let answer = format!(
        "cd {0}\nwhile ! {1} approve > said 2>&1 && grep -q 'no question waits' said; do sleep 0.05; \
         done\n: > tried\n",
        root.display(),
        env!("CARGO_BIN_EXE_hookwright")
    );
    std::fs::write(root.join("answer.sh"), answer).unwrap();
    let text = format!(
        "prompt: p\ntermination: {{type: fixed, iterations: 1}}\nagent: {{command: 'true'}}\n\
         hooks:\n  session:start:\n    - {{id: inside, command: 'unshare -Urpf --mount-proc sh {}/answer.sh'}}\n    \
         - {{id: gate, type: webhook, await: true, body: {{text: 'Go on?'}}}}\n",
        root.display()
    );
    write(&sandbox, "loop.yaml", &text);
    let _worker = worker(&sandbox, "a", &[]);
    submit(&sandbox, &["--session", "s"]);
    until("the hook has tried to answer", || root.join("tried").exists());
    let said = std::fs::read_to_string(root.join("said")).unwrap();
    assert!(said.contains("cannot be answered from inside session `s`"), "{said}");
    assert!(is(&sandbox, "s", "active"));
    let approved = sandbox.run(&["approve"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    until("the session is complete", || is(&sandbox, "s", "completed"));
}
