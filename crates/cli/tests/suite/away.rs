//! Sessions whose database is away for a while, behind a relay that closes or swallows.

use hookwright_postgres_server::{Cluster, Relay};

use crate::interrupts::{Left, start, until};
use crate::runs::lines;
use crate::shared_store::{SETTINGS, at, empty, write};
use crate::support::Sandbox;

/// A project whose store is behind a relay, with an agent that works until there is a file `go`.
fn behind_a_relay(hooks: &str) -> (Relay, Sandbox) {
    let relay = Relay::to(Cluster::shared().port());
    let sandbox = at(
        Sandbox::with_hooks(hooks).file(
            "loop.yaml",
            "prompt: p\nagent: {command: 'echo agent $HOOKWRIGHT_ATTEMPT >> log; echo $$ > pid; while [ ! -e go ]; do sleep 0.05; done'}\ntermination: {type: fixed, iterations: 1}\n",
        ),
        &relay.address(&empty()),
    );
    assert_eq!(sandbox.run(&["store", "init"]).code, 0);
    (relay, sandbox)
}

#[test]
fn a_session_waits_for_a_database_that_is_away_and_says_so() {
    let (relay, sandbox) = behind_a_relay("hooks: {}\n");
    let agent = Left::by(&sandbox, "pid");
    let mut session = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    relay.close();
    write(&sandbox, "go", "");
    session.wait_for_talk("the store has been unreachable since ");
    // Then its agent ends, because other machines may count it as dead.
    session.wait_for_talk("; the session waits at most 2 min 20 s");
    relay.open();
    let ran = session.ran();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("the store is back after "), "{}", ran.stderr);
    assert_eq!(lines(&sandbox, "log"), ["agent 1"]);
}

#[test]
fn a_session_that_is_interrupted_while_its_database_is_away_ends_and_can_be_resumed() {
    let (relay, sandbox) = behind_a_relay("hooks: {}\n");
    let agent = Left::by(&sandbox, "pid");
    let mut session = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    relay.close();
    write(&sandbox, "go", "");
    session.wait_for_talk("the store has been unreachable");
    session.signal("-INT");
    let ran = session.ran();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("interrupted: no longer waiting for the store"), "{}", ran.stderr);
    assert!(ran.stderr.contains("has been unreachable for "), "{}", ran.stderr);
    until("nothing is left", || agent.is_gone());
    relay.open();
    let status = sandbox.run(&["status"]);
    assert!(status.stdout.contains("cut off"), "{status:?}");
    let resumed = sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
}

/// Fills a pipe, so that the next one who writes into it waits.
fn fill(pipe: &impl std::os::fd::AsRawFd) {
    use std::os::unix::fs::OpenOptionsExt;
    // Opened once more, since the other end of this one would not wait either.
    let path = format!("/proc/self/fd/{}", pipe.as_raw_fd());
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut open = std::fs::OpenOptions::new();
    let mut pipe = open.write(true).custom_flags(nonblocking).open(path).unwrap();
    for bytes in [&[b' '; 4096][..], b" "] {
        while std::io::Write::write(&mut pipe, bytes).is_ok() {}
    }
}

/// As after Ctrl-S in a terminal, or in a pager.
#[test]
fn agents_are_killed_although_nobody_reads_what_the_session_says() {
    let relay = Relay::to(Cluster::shared().port());
    let agent = "prompt: p\nagent: {command: 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1000; done'}\ntermination: {type: fixed, iterations: 1}\n";
    let sandbox = at(Sandbox::new().file("loop.yaml", agent), &relay.address(&empty()));
    assert_eq!(sandbox.run(&["store", "init", "--beat", "100ms"]).code, 0);
    let agent = Left::by(&sandbox, "pid");
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut command = sandbox.command(&["run", "loop.yaml", "--session", "s"]);
    command.stdout(std::process::Stdio::null()).stderr(writer.try_clone().unwrap());
    let mut session = command.spawn().unwrap();
    drop(command);
    until("the agent runs", || agent.has_run());
    fill(&writer);
    drop(writer);
    relay.close();
    let is_killed = crate::interrupts::comes_true(|| agent.is_gone());
    // Now the session can say the rest, and end.
    let mut said = String::new();
    std::io::Read::read_to_string(&mut reader, &mut said).unwrap();
    let ended = session.wait().unwrap();
    assert!(is_killed, "{said}");
    assert_eq!(ended.code(), Some(1), "{said}");
    assert!(said.contains("the store gets no sign of life from this process"), "{said}");
}

#[test]
fn the_timeout_of_a_hook_ends_it_while_the_database_is_away() {
    let (relay, sandbox) = behind_a_relay(
        "hooks:
  session:start:
    - {id: background, command: 'echo $$ > background; exec sleep 1000', timeout: 5}
    - {id: awaited, command: 'touch awaited; while [ ! -e closed ]; do sleep 0.05; done', await: true}
",
    );
    let background = Left::by(&sandbox, "background");
    write(&sandbox, "go", "");
    let mut session = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("both hooks run", || background.has_run() && sandbox.path("awaited").exists());
    relay.close();
    write(&sandbox, "closed", "");
    session.wait_for_talk("the store has been unreachable");
    until("the background hook is ended", || background.is_gone());
    relay.open();
    let ran = session.ran();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

/// An agent that says what the file `say` has, until there is a file `go`. When it is asked to end,
/// it notes whether its session still runs.
const TALKING: &str = "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'trap \"kill -0 $PPID && echo ended before its session >> log; exit 1\" TERM; echo agent $HOOKWRIGHT_ATTEMPT >> log; echo $$ > pid; while [ ! -e go ]; do if [ -e say ]; then cat say; rm say; fi; sleep 0.05; done'}\n";

/// A hook whose end is recorded once there is a file `closed`: while the agent works.
const ENDS_IN_BETWEEN: &str = "hooks:
  iteration:start:
    - {id: hook, command: 'touch hooked; while [ ! -e closed ]; do sleep 0.05; done'}
";

/// The same project, with that agent and that hook.
fn talking() -> (Relay, Sandbox, Left) {
    let (relay, sandbox) = behind_a_relay(ENDS_IN_BETWEEN);
    write(&sandbox, "loop.yaml", TALKING);
    let agent = Left::by(&sandbox, "pid");
    (relay, sandbox, agent)
}

#[test]
fn the_agents_output_is_shown_while_the_database_is_away() {
    for swallows in [false, true] {
        let (relay, sandbox, agent) = talking();
        let arguments = ["run", "loop.yaml", "--session", "s", "--agent-output"];
        let mut session = start(&sandbox, &arguments);
        until("agent and hook run", || agent.has_run() && sandbox.path("hooked").exists());
        match swallows {
            true => relay.stop(),
            false => relay.close(),
        }
        write(&sandbox, "closed", "");
        if swallows {
            relay.wait_until_held(1);
        } else {
            session.wait_for_talk("the store has been unreachable since ");
        }
        write(&sandbox, "say", "said meanwhile\n");
        session.wait_for_words("said meanwhile");
        match swallows {
            true => relay.release(),
            false => relay.open(),
        }
        write(&sandbox, "go", "");
        let ran = session.ran();
        assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stderr.contains("the store is back after "), !swallows, "{}", ran.stderr);
        assert_eq!(lines(&sandbox, "log"), ["agent 1"]);
    }
}

#[test]
fn a_hook_is_ended_by_its_timeout_while_the_end_of_another_cannot_be_recorded() {
    let (relay, sandbox) = behind_a_relay(
        "hooks:
  session:start:
    - {id: slow, command: 'echo $$ > slow; exec sleep 1000', await: true, timeout: 5}
    - {id: quick, command: 'touch quick; while [ ! -e closed ]; do sleep 0.05; done', await: true}
",
    );
    let slow = Left::by(&sandbox, "slow");
    write(&sandbox, "go", "");
    let mut session = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("both hooks run", || slow.has_run() && sandbox.path("quick").exists());
    relay.close();
    write(&sandbox, "closed", "");
    session.wait_for_talk("the store has been unreachable since ");
    until("the slow hook is ended", || slow.is_gone());
    relay.open();
    session.wait_for_talk("the store is back after ");
    session.ran();
}

#[test]
fn an_interrupt_ends_the_agent_while_the_database_is_away() {
    let (relay, sandbox, agent) = talking();
    let mut session = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("agent and hook run", || agent.has_run() && sandbox.path("hooked").exists());
    relay.close();
    write(&sandbox, "closed", "");
    session.wait_for_talk("the store has been unreachable since ");
    session.signal("-INT");
    until("the agent is ended", || agent.is_gone());
    let ran = session.ran();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    resumes_what_was_cut_off(&relay, &sandbox);
}

#[test]
fn a_session_whose_database_stays_away_ends_its_agent_and_is_cut_off() {
    let (relay, sandbox, agent) = talking();
    let settings = std::fs::read_to_string(sandbox.path(SETTINGS)).unwrap();
    write(&sandbox, SETTINGS, &format!("{settings}session_away_max_seconds: 2\n"));
    let mut session = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("agent and hook run", || agent.has_run() && sandbox.path("hooked").exists());
    relay.close();
    write(&sandbox, "closed", "");
    session.wait_for_talk("; the session waits at most 2 seconds\n");
    session.wait_for_talk(
        "no longer waiting for the store; the session ends its agent and is cut off\n",
    );
    let ran = session.ran();
    assert_eq!(ran.code, 1, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("has been unreachable for "), "{}", ran.stderr);
    assert!(agent.is_gone());
    resumes_what_was_cut_off(&relay, &sandbox);
}

/// The agent was ended first; with the database back, its turn is repeated, and nothing else.
fn resumes_what_was_cut_off(relay: &Relay, sandbox: &Sandbox) {
    let log = || lines(sandbox, "log");
    assert_eq!(log(), ["agent 1", "ended before its session"]);
    relay.open();
    let status = sandbox.run(&["status"]);
    assert!(status.stdout.contains("cut off"), "{status:?}");
    write(sandbox, "go", "");
    let resumed = sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(log(), ["agent 1", "ended before its session", "agent 2"]);
}
