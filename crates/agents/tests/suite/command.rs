//! A command is an agent.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;
use std::time::Duration;

use hookwright_agents::command::{CommandAgent, PromptBy, PromptPlaceError};
use hookwright_agents::limits::{
    AGENT_KILL_GRACE, AGENT_LINGER, AGENT_OUTPUT_BYTES_MAX, PROMPT_ARGUMENT_BYTES_MAX,
};
use hookwright_agents::{Agent, AgentWatch};
use hookwright_events::ProcessOutcome;
use hookwright_process::{Leader, Stream, end_run};
use tokio_util::sync::CancellationToken;

use super::situation::{
    LONG, Situation, by_argument, by_stdin, exited, in_its_own_process, is_alive, numbers, ports,
    printed, wait_until,
};

/// Texts that would break a command if a shell ever parsed them.
const HOSTILE: &[&str] = &[
    "",
    "plain",
    " space before and behind ",
    "it's \"quoted\" and `touch x` $(touch x) ${HOME} $1 \\",
    "two\nlines\n\nand\ta tab\n",
    "-rf --help",
    "--",
    "# no comment",
    "*",
    "~ {a,b} !! ; touch x & | > x",
    "ünïcödé ⏎ \u{1b}[31m\u{7f}",
    "EOF\n'\"",
];

#[tokio::test]
async fn a_prompt_on_standard_input_arrives_unchanged() {
    for prompt in HOSTILE {
        let situation = Situation::new().told(prompt);
        let ended = situation.run(&by_stdin("cat")).await;
        assert_eq!(ended.outcome, exited(0, prompt, ""));
        assert!(situation.files().is_empty(), "{:?}", situation.files());
    }
}

#[tokio::test]
async fn a_prompt_argument_arrives_unchanged_as_one_argument() {
    for prompt in HOSTILE {
        let situation = Situation::new().told(prompt);
        let expected = exited(0, &format!("<-p><{prompt}>"), "");
        for command in [
            "printf '<%s>' -p",
            "\n  printf '<%s>' -p  \n\n",
            "true; printf '<%s>' -p",
            "printf '<%s>' -p \"$1\" # and a comment",
            "printf '<%s>' -p \"$@\" &\nwait",
            "cat <<EOF >/dev/null; printf '<%s>' -p \"$1\"\ntext\nEOF",
            "printf '<%s>' -p \\\n\"$1\"\n",
            "(printf '<%s>' -p \"$1\")",
            "bash -c 'printf \"<%s>\" -p \"$1\"' name",
            "said=$1; printf '<%s>' -p \"$said\"",
        ] {
            let ended = situation.run(&by_argument(command)).await;
            assert_eq!(ended.outcome, expected, "{command}");
        }
        assert!(situation.files().is_empty(), "{:?}", situation.files());
    }
}

#[tokio::test]
async fn with_a_prompt_argument_standard_input_is_empty() {
    let ended = Situation::new().run(&by_argument("cat; echo end")).await;
    assert_eq!(ended.outcome, exited(0, "end do it\n", ""));
}

#[test]
fn a_command_without_a_place_for_its_prompt_is_refused_before_anything_starts() {
    for (command, error) in [
        ("printf x # comment", PromptPlaceError::NotBehindIt),
        ("cat <<EOF\ntext\nEOF", PromptPlaceError::NotBehindIt),
        ("cat &", PromptPlaceError::NotBehindIt),
        ("cat \\\n", PromptPlaceError::NotBehindIt),
        ("cat >", PromptPlaceError::NotBehindIt),
        ("bash -c", PromptPlaceError::Runs),
        ("cat $1", PromptPlaceError::Splits),
    ] {
        assert_eq!(CommandAgent::new(command, PromptBy::Argument), Err(error), "{command}");
        assert!(CommandAgent::new(command, PromptBy::Stdin).is_ok(), "{command}");
    }
}

#[tokio::test]
async fn blocks_are_joined_by_an_empty_line() {
    let mut situation = Situation::new();
    situation.turn.prompt = vec!["tests failed\n".to_owned(), "fix it".to_owned()];
    let expected = exited(0, "tests failed\n\nfix it", "");
    assert_eq!(situation.run(&by_stdin("cat")).await.outcome, expected);
    assert_eq!(situation.run(&by_argument("printf %s")).await.outcome, expected);
}

#[tokio::test]
async fn the_longest_prompt_that_an_argument_can_hold_arrives_and_a_longer_one_is_not_sent() {
    let longest = "x".repeat(PROMPT_ARGUMENT_BYTES_MAX);
    let agent = by_argument("printf '%s' ran; printf '%s'");
    let ended = Situation::new().told(&longest).run(&agent).await;
    assert_eq!(ended.outcome, exited(0, &format!("ran{longest}"), ""));

    let ended = Situation::new().told(&format!("{longest}x")).run(&agent).await;
    let cause = "the prompt has 131072 bytes, an argument at most 131071; use prompt: stdin";
    assert_eq!(ended.outcome, ProcessOutcome::NotStarted { cause: cause.to_owned() });

    let ended = Situation::new().told("a\0b").run(&agent).await;
    let cause = "the prompt contains a NUL byte, which no argument can contain; use prompt: stdin";
    assert_eq!(ended.outcome, ProcessOutcome::NotStarted { cause: cause.to_owned() });
}

#[tokio::test]
async fn an_environment_that_leaves_no_room_for_the_prompt_is_reported() {
    let mut situation = Situation::new().told(&"x".repeat(100_000));
    let filler = OsString::from("x".repeat(100_000));
    situation.turn.env =
        (0..100).map(|number| (format!("FILLER_{number}").into(), filler.clone())).collect();
    let ended = situation.run(&by_argument("true")).await;
    let cause =
        "prompt and environment together are larger than the system allows; use prompt: stdin";
    assert_eq!(ended.outcome, ProcessOutcome::NotStarted { cause: cause.to_owned() });
}

#[tokio::test]
async fn a_prompt_of_a_megabyte_may_be_read_or_ignored() {
    let prompt = "0123456789abcdef".repeat(64 * 1024);
    let situation = Situation::new().told(&prompt);
    let ended = situation.run(&by_stdin("cat")).await;
    assert!(ended.outcome == exited(0, &prompt, ""));
    let ended = situation.run(&by_stdin("echo I do not read")).await;
    assert_eq!(ended.outcome, exited(0, "I do not read\n", ""));
}

#[tokio::test]
async fn the_environment_is_the_turns_and_nothing_else() {
    let mut situation = Situation::new();
    let path = situation.turn.shared_env[0].clone();
    situation.turn.shared_env =
        Arc::new([path, ("A".into(), "host".into()), ("B".into(), "host".into())]);
    situation.turn.env =
        vec![("B".into(), "ours".into()), ("STATUS".into(), "/x y/status.json".into())];
    let run_id = situation.turn.run_id.clone();
    let ended = situation.run(&by_stdin("exec env")).await;
    let text = ended.outcome.output().unwrap().stdout.clone();
    // What bash adds itself.
    let own = ["PWD=", "SHLVL=", "_=", "OLDPWD="];
    let mut lines: Vec<&str> =
        text.lines().filter(|line| !own.iter().any(|name| line.starts_with(name))).collect();
    lines.sort_unstable();
    let marker = format!("HOOKWRIGHT_RUN={run_id}");
    let path = "PATH=/usr/local/bin:/usr/bin:/bin";
    assert_eq!(lines, ["A=host", "B=ours", &marker, path, "STATUS=/x y/status.json"]);
}

#[tokio::test]
async fn it_works_in_the_working_directory_as_the_leader_of_its_group() {
    let situation = Situation::new();
    let (ended, heard) =
        situation.watched(&by_stdin("pwd; echo $$; ps -o pgid= -p $$; echo made > made")).await;
    let text = &ended.outcome.output().unwrap().stdout;
    assert_eq!(text.lines().next(), situation.turn.working_dir.to_str());
    let [pid, group] = numbers(text)[..] else { panic!("{text}") };
    assert_eq!((vec![pid], pid), (heard.leaders, group));
    assert_eq!(situation.file("made").as_deref(), Some("made\n"));
}

#[tokio::test]
async fn output_is_kept_and_passed_on_while_it_is_printed() {
    let situation = Situation::new();
    let agent = by_stdin("mkfifo go; echo ready; read x < go; echo gone >&2");
    let mut ready = situation.ready(agent).await;
    assert!(!ready.running.is_finished());
    fs::write(situation.turn.working_dir.join("go"), "\n").unwrap();
    assert_eq!(ready.told.recv().await.as_deref(), Some("gone\n"));
    assert_eq!(ready.running.await.unwrap().outcome, exited(0, "ready\n", "gone\n"));
}

#[tokio::test]
async fn an_exit_code_and_a_signal_are_different_outcomes() {
    let situation = Situation::new();
    let ended = situation.run(&by_stdin("echo a; echo b >&2; exit 7")).await;
    assert_eq!(ended.outcome, exited(7, "a\n", "b\n"));
    let ended = situation.run(&by_stdin("echo a; kill -SEGV $$")).await;
    assert_eq!(ended.outcome, ProcessOutcome::Killed { signal: 11, output: printed("a\n", "") });
    let ended = situation.run(&by_stdin("-no-such-option")).await;
    assert_eq!(ended.outcome.exit_code(), Some(127), "{ended:?}");
}

#[tokio::test]
async fn an_agent_over_its_timeout_is_ended_with_all_its_processes() {
    // On a busy machine it takes longer until all of them run and can be ended.
    for timeout in (0..7).map(|doubled| Duration::from_secs(1 << doubled)) {
        let situation = Situation::new().timeout(timeout);
        let agent = by_stdin("echo $$; sleep 1000 & echo $!; setsid sleep 1000 & echo $!; wait");
        let ended = situation.run(&agent).await;
        let ProcessOutcome::TimedOut { after_ms, output } = &ended.outcome else {
            panic!("{ended:?}")
        };
        assert_eq!(u128::from(*after_ms), timeout.as_millis());
        assert!(ended.took >= timeout && ended.took < LONG);
        let pids = numbers(&output.stdout);
        assert!(pids.iter().all(|pid| !is_alive(*pid)));
        if pids.len() == 3 {
            return;
        }
    }
    panic!("they never came so far as to run");
}

#[tokio::test]
async fn a_cancelled_agent_gets_sigterm_and_time_to_clean_up() {
    let situation = Situation::new();
    let agent = by_stdin(
        "trap 'sleep 0.3; echo saved > saved; echo bye; exit 3' TERM
         mkfifo never; echo ready; read x <> never",
    );
    let ended = situation.ready(agent).await.cancelled().await;
    assert_eq!(ended.outcome, ProcessOutcome::Interrupted { output: printed("ready\nbye\n", "") });
    assert_eq!(situation.file("saved").as_deref(), Some("saved\n"));
    assert!(ended.took < AGENT_KILL_GRACE);
}

#[tokio::test]
async fn an_agent_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let agent = by_stdin("trap '' TERM; echo $$; sleep 1000 & echo $!; echo ready; wait");
    let ready = Situation::new().ready(agent).await;
    let pids = numbers(&ready.printed);
    let asked = std::time::Instant::now();
    let ended = ready.cancelled().await;
    assert!(matches!(ended.outcome, ProcessOutcome::Interrupted { .. }), "{ended:?}");
    let took = asked.elapsed();
    assert!(took >= AGENT_KILL_GRACE && took < LONG, "{took:?}");
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
}

#[tokio::test]
async fn a_turn_that_is_cancelled_before_it_starts_starts_nothing() {
    let situation = Situation::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let mut heard = super::situation::Heard::default();
    let ended = by_stdin("touch started").run(&situation.turn, ports(&mut heard, &cancel)).await;
    assert_eq!(ended.outcome, ProcessOutcome::Interrupted { output: printed("", "") });
    assert!(heard.leaders.is_empty() && situation.files().is_empty());
}

#[tokio::test]
async fn a_dropped_turn_leaves_no_process() {
    let ready = Situation::new().ready(by_stdin("echo $$; echo ready; sleep 1000")).await;
    let pid = numbers(&ready.printed)[0];
    ready.running.abort();
    assert!(ready.running.await.unwrap_err().is_cancelled());
    wait_until("the agent is dead", || !is_alive(pid));
}

#[tokio::test]
async fn a_background_child_that_holds_the_output_does_not_hold_the_turn() {
    let situation = Situation::new();
    let ended = situation.run(&by_stdin("sleep 1000 & echo $!")).await;
    let ProcessOutcome::Exited { code: 0, output } = &ended.outcome else { panic!("{ended:?}") };
    assert!(output.held);
    assert!(ended.took >= AGENT_LINGER && ended.took < LONG, "{ended:?}");
    let background = numbers(&output.stdout)[0];
    assert!(is_alive(background));
    assert_eq!(end_run(&situation.turn.run_id, LONG).await, [background]);
}

#[tokio::test]
async fn a_gigabyte_of_output_does_not_grow_memory() {
    in_its_own_process("command::alone_an_agent_prints_a_gigabyte", |it| it).await;
}

/// Counts the bytes that it receives.
#[derive(Default)]
struct Counting(u64);

impl AgentWatch for Counting {
    fn running(&mut self, _: &Leader) {}

    fn output(&mut self, _: Stream, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }
}

#[tokio::test]
#[ignore = "measures its own process; run by the test above"]
async fn alone_an_agent_prints_a_gigabyte() {
    const GIGABYTE: u64 = 1024 * 1024 * 1024;
    let situation = Situation::new();
    let mut count = Counting::default();
    let agent = by_stdin("echo first; head -c 1073741824 /dev/zero | tr '\\0' .; echo last");
    let ended = agent.run(&situation.turn, ports(&mut count, &CancellationToken::new())).await;
    let ProcessOutcome::Exited { code: 0, output } = ended.outcome else {
        panic!("{:?}", ended.took)
    };
    assert_eq!(count.0, GIGABYTE + 11);
    assert_eq!(output.stdout_left_out, GIGABYTE + 11 - AGENT_OUTPUT_BYTES_MAX as u64);
    assert!(output.stdout.starts_with("first\n") && output.stdout.ends_with(".last\n"));
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib = numbers(peak)[0];
    assert!(peak_kib < 50 * 1024, "{peak_kib} KiB at most");
}

#[tokio::test]
async fn an_agent_that_wants_the_terminal_is_ended_at_once() {
    let script = |command| format!("/usr/bin/script -qec \"{command}\" /dev/null");
    in_its_own_process("command::alone_an_agent_wants_the_terminal", script).await;
}

#[tokio::test]
#[ignore = "needs a terminal; run by the test above"]
async fn alone_an_agent_wants_the_terminal() {
    let ended = Situation::new().run(&by_stdin("echo before; read x </dev/tty; echo no")).await;
    assert_eq!(ended.outcome, ProcessOutcome::WantedTerminal { output: printed("before\n", "") });
}

#[tokio::test]
async fn without_bash_it_is_sh_and_without_both_it_is_not_started() {
    let mut situation = Situation::new();
    let folder = situation.outside().join("bin");
    fs::create_dir(&folder).unwrap();
    situation.turn.env = vec![("PATH".into(), folder.clone().into())];
    let cause = "neither `bash` nor `sh` was found in PATH";
    let agent = by_argument("echo \"$0\"");
    assert_eq!(
        situation.run(&agent).await.outcome,
        ProcessOutcome::NotStarted { cause: cause.to_owned() }
    );
    symlink("/bin/sh", folder.join("sh")).unwrap();
    assert_eq!(situation.run(&agent).await.outcome, exited(0, "sh do it\n", ""));
    symlink("/bin/bash", folder.join("bash")).unwrap();
    assert_eq!(situation.run(&agent).await.outcome, exited(0, "bash do it\n", ""));
}

#[tokio::test]
async fn a_missing_working_directory_is_reported() {
    let mut situation = Situation::new();
    situation.turn.working_dir.push("gone");
    let ended = situation.run(&by_stdin("true")).await;
    let shown = situation.turn.working_dir.display();
    let cause = format!("the working directory `{shown}` does not exist");
    assert_eq!(ended.outcome, ProcessOutcome::NotStarted { cause });
}

#[tokio::test]
async fn a_missing_program_is_found_before_the_turn_starts() {
    let situation = Situation::new();
    let (env, folder) = (&situation.turn.shared_env, &situation.turn.working_dir);
    let agent = by_argument("./agent.sh --fast");
    assert_eq!(agent.missing_program(env, folder), Some("./agent.sh"));
    assert_eq!(situation.run(&agent).await.outcome.exit_code(), Some(127));

    let program = folder.join("agent.sh");
    // Written by another process: if another test starts a process now, that one briefly holds all
    // files that are open here, and a file that is open for writing cannot be run.
    let writing = by_stdin("printf '#!/bin/sh\\necho \"$@\"\\n' > agent.sh");
    assert_eq!(situation.run(&writing).await.outcome, exited(0, "", ""));
    assert_eq!(agent.missing_program(env, folder), Some("./agent.sh"), "not executable");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(agent.missing_program(env, folder), None);
    assert_eq!(situation.run(&agent).await.outcome, exited(0, "--fast do it\n", ""));
}
