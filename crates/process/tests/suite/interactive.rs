//! A child whose standard input stays open is owned like any other: nothing of it outlives its owner.

use std::time::Duration;

use hookwright_process::{
    ChildStreams, How, InteractiveChild, InteractiveEnd, InteractiveLaunch, Launch, StartFailure,
    end_run, kill_everything_now,
};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

use crate::situation::{
    LONG, bash, command_of, in_its_own_process, is_alive, numbers, program, run_it, state,
    wait_until,
};

const SHORT_GRACE: Duration = Duration::from_millis(300);

/// Answers each line; says `bye` at the end of its input.
const ECHO: &str = "echo ready; while read -r line; do echo \"got $line\"; done; echo bye";

/// A server with one process of every kind below it, all of which ignore SIGTERM and the end of input.
const STUBBORN_SERVER: &str = "trap '' TERM; echo $$
    sleep 1000 </dev/null & echo $!
    setsid sleep 1000 </dev/null & echo $!
    setsid bash -c 'sleep 1000 </dev/null >/dev/null 2>&1 & echo $!'
    echo ready; while :; do sleep 1000; done";

fn interactive(launch: Launch) -> InteractiveLaunch {
    let Launch { program, args, shared_env, env, working_dir, kill_grace, run_id, .. } = launch;
    InteractiveLaunch {
        program,
        args,
        shared_env,
        env,
        working_dir,
        kill_grace,
        stderr_bytes_max: 1000,
        run_id,
    }
}

/// A child that has printed `ready`, and what it printed before.
struct Conversing {
    child: InteractiveChild,
    stdin: pipe::Sender,
    stdout: BufReader<pipe::Receiver>,
    before: String,
}

async fn start(launch: InteractiveLaunch) -> Conversing {
    let (child, ChildStreams { stdin, stdout }) =
        InteractiveChild::start(launch).await.expect("it starts");
    let mut stdout = BufReader::new(stdout);
    let mut before = String::new();
    while !before.ends_with("ready\n") {
        let read = stdout.read_line(&mut before).await.expect("it is a pipe");
        assert_ne!(read, 0, "{before}");
    }
    Conversing { child, stdin, stdout, before }
}

fn stubborn() -> InteractiveLaunch {
    let mut launch = interactive(bash(STUBBORN_SERVER));
    launch.kill_grace = SHORT_GRACE;
    launch
}

#[tokio::test]
async fn requests_are_answered_for_as_long_as_the_input_is_open() {
    let Conversing { mut child, mut stdin, mut stdout, .. } = start(interactive(bash(ECHO))).await;
    for number in 0..3 {
        stdin.write_all(format!("{number}\n").as_bytes()).await.unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).await.unwrap();
        assert_eq!(line, format!("got {number}\n"));
    }
    drop(stdin);
    child.wait().await;
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "bye\n");
    let end = child.end().await;
    assert!(matches!(end.how, How::Exited { code: 0 }), "{end:?}");
}

#[tokio::test]
async fn ending_it_ends_every_process_that_it_started() {
    let Conversing { child, before, .. } = start(stubborn()).await;
    let (leader, pids) = (child.leader().pid, numbers(&before));
    assert_eq!(pids.len(), 4);
    assert!(pids.iter().all(|pid| is_alive(*pid)));
    let end = child.end().await;
    assert!(matches!(end.how, How::Cancelled), "{end:?}");
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
    assert_eq!(state(leader), None, "collected");
}

#[tokio::test]
async fn processes_left_by_a_dead_leader_are_ended_too() {
    let script = "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!
        sleep 1000 </dev/null >/dev/null 2>&1 & echo $!; echo ready; exit 3";
    let Conversing { mut child, before, .. } = start(interactive(bash(script))).await;
    child.wait().await;
    // It may be waited for again.
    child.wait().await;
    let pids = numbers(&before);
    assert!(pids.len() == 2 && pids.iter().all(|pid| is_alive(*pid)));
    let end = child.end().await;
    assert!(matches!(end.how, How::Exited { code: 3 }), "{end:?}");
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
}

#[tokio::test]
async fn dropping_it_kills_the_tree_at_once_and_leaves_no_zombie() {
    let Conversing { child, before, .. } = start(stubborn()).await;
    let (leader, pids) = (child.leader().pid, numbers(&before));
    drop(child);
    wait_until("the tree is dead", || pids.iter().all(|pid| !is_alive(*pid)));
    wait_until("the leader is collected", || state(leader).is_none());
}

#[tokio::test]
async fn a_dropped_end_kills_the_tree() {
    let mut launch = stubborn();
    launch.kill_grace = LONG;
    let Conversing { child, before, .. } = start(launch).await;
    let pids = numbers(&before);
    {
        let mut ending = std::pin::pin!(child.end());
        let first_poll = tokio::time::timeout(Duration::ZERO, &mut ending).await;
        assert!(first_poll.is_err(), "all of them ignore SIGTERM");
    }
    wait_until("the tree is dead", || pids.iter().all(|pid| !is_alive(*pid)));
}

#[tokio::test]
async fn a_program_that_ends_right_after_the_drop_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = bash(&command_of("interactive::alone_a_program_drops_its_server_and_ends"));
    launch.working_dir = folder.path().to_owned();
    let ended = run_it(launch).await;
    assert!(matches!(ended.how, How::Exited { code: 0 }), "{ended:?}");
    let pids = numbers(&std::fs::read_to_string(folder.path().join("pids")).unwrap());
    assert_eq!(pids.len(), 4);
    wait_until("the tree is dead", || pids.iter().all(|pid| !is_alive(*pid)));
}

#[tokio::test]
#[ignore = "ends its process; run by the test above"]
#[expect(clippy::exit, reason = "nothing may run after the drop")]
async fn alone_a_program_drops_its_server_and_ends() {
    let Conversing { child, before, .. } = start(stubborn()).await;
    std::fs::write("pids", before).unwrap();
    drop(child);
    std::process::exit(0);
}

#[tokio::test]
async fn the_second_interrupt_kills_servers_as_well() {
    in_its_own_process("interactive::alone_servers_are_killed", |command| bash(&command)).await;
}

#[tokio::test]
#[ignore = "kills every run of its process; run by the test above"]
async fn alone_servers_are_killed() {
    let Conversing { mut child, before, .. } = start(stubborn()).await;
    kill_everything_now();
    child.wait().await;
    let end = child.end().await;
    assert!(matches!(end.how, How::Killed { signal: 9 }), "{end:?}");
    wait_until("the tree is dead", || numbers(&before).iter().all(|pid| !is_alive(*pid)));
}

#[tokio::test]
async fn it_is_found_by_its_run_id_when_its_owner_is_gone() {
    let launch = stubborn();
    let run_id = launch.run_id.clone();
    let Conversing { child, before, .. } = start(launch).await;
    // The owner does not look after it, as after a crash.
    let hit = end_run(&run_id, SHORT_GRACE).await;
    let pids = numbers(&before);
    assert!(pids.iter().all(|pid| hit.contains(pid)), "{hit:?} {pids:?}");
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
    drop(child);
}

#[tokio::test]
async fn a_megabyte_on_standard_error_holds_up_nothing_and_only_its_ends_are_kept() {
    let script = "echo first >&2; head -c 1000000 /dev/zero | tr '\\0' x >&2; echo last >&2
        echo ready; read -r line; echo \"got $line\"";
    let (mut child, ChildStreams { mut stdin, stdout }) =
        InteractiveChild::start(interactive(bash(script))).await.unwrap();
    let mut stdout = BufReader::new(stdout);
    let talk = async {
        let mut all = String::new();
        stdout.read_line(&mut all).await.unwrap();
        stdin.write_all(b"1\n").await.unwrap();
        stdout.read_line(&mut all).await.unwrap();
        all
    };
    let (all, ()) = tokio::join!(talk, child.wait());
    assert_eq!(all, "ready\ngot 1\n");
    let InteractiveEnd { how, stderr } = child.end().await;
    assert!(matches!(how, How::Exited { code: 0 }), "{how:?}");
    assert_eq!(stderr.bytes_total(), 1_000_011);
    assert!(stderr.text().starts_with("first\nxxx") && stderr.text().ends_with("xxxlast\n"));
    assert!(stderr.text().len() < 1100);
}

#[tokio::test]
async fn a_child_that_is_not_read_waits_and_can_still_be_ended() {
    let (child, streams) = InteractiveChild::start(interactive(bash("exec yes"))).await.unwrap();
    let leader = child.leader().pid;
    wait_until("its pipe is full", || state(leader) == Some('S'));
    let end = child.end().await;
    assert!(matches!(end.how, How::Cancelled), "{end:?}");
    drop(streams);
}

#[tokio::test]
async fn a_child_that_never_reads_does_not_block_its_writer_for_ever() {
    let launch = interactive(bash("echo ready; exec sleep 1000"));
    let Conversing { child, mut stdin, .. } = start(launch).await;
    let much = vec![b'x'; 1024 * 1024];
    let writing = tokio::spawn(async move { stdin.write_all(&much).await });
    child.end().await;
    assert!(writing.await.unwrap().is_err(), "the other end is gone");
}

#[tokio::test]
async fn writing_to_a_child_that_closed_its_input_is_an_error_and_no_signal() {
    let launch = interactive(bash("exec <&-; echo ready; exec sleep 1000"));
    let Conversing { child, mut stdin, .. } = start(launch).await;
    let error = stdin.write_all(b"x").await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    child.end().await;
}

#[tokio::test]
async fn it_starts_with_default_signals_and_only_the_given_environment() {
    let mut launch = interactive(program(
        "/bin/bash",
        &["-c", "env; echo ready; trap 'exit 5' HUP; kill -HUP $$"],
    ));
    launch.env.push(("GIVEN".into(), "yes".into()));
    let Conversing { mut child, before, .. } = start(launch).await;
    let mut names: Vec<&str> =
        before.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    // The last three are the shell's own.
    assert_eq!(names, ["GIVEN", "HOOKWRIGHT_RUN", "PATH", "PWD", "SHLVL", "_"]);
    child.wait().await;
    let end = child.end().await;
    assert!(matches!(end.how, How::Exited { code: 5 }), "{end:?}");
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let failed = InteractiveChild::start(interactive(program("/nowhere/server", &[]))).await;
    let Err(StartFailure::ProgramMissing { program }) = failed else { panic!("it started") };
    assert_eq!(program, std::path::Path::new("/nowhere/server"));
}

#[test]
fn it_may_move_between_threads() {
    fn needs_send<T: Send>() {}
    needs_send::<InteractiveChild>();
}
