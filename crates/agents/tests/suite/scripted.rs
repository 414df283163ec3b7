//! A script is an agent.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use hookwright_agents::limits::{AGENT_KILL_GRACE, AGENT_OUTPUT_BYTES_MAX};
use hookwright_agents::{Agent, AgentWatch};
use hookwright_events::ProcessOutcome;
use hookwright_process::{Leader, Stream};
use tokio_util::sync::CancellationToken;

use super::situation::{
    LONG, Situation, exited, in_its_own_process, is_alive, numbers, ports, printed, script, turn,
};

#[tokio::test]
async fn say_and_complain_print_lines_that_are_passed_on() {
    let agent = turn(
        "
      - say: hello
      - complain: oh no
      - say: |
          two
          lines
      - say: 'stage ${STAGE}, iteration ${ITERATION}, attempt ${ATTEMPT}, ${HOME} ${'
",
    );
    let mut situation = Situation::new();
    (situation.turn.iteration, situation.turn.attempt) = (3, 2);
    let (ended, heard) = situation.watched(&agent).await;
    let stdout = "hello\ntwo\nlines\nstage work, iteration 3, attempt 2, ${HOME} ${\n";
    assert_eq!(ended.outcome, exited(0, stdout, "oh no\n"));
    assert_eq!(String::from_utf8(heard.stdout).unwrap(), stdout);
    assert_eq!(String::from_utf8(heard.stderr).unwrap(), "oh no\n");
    assert!(heard.leaders.is_empty(), "no process without `run`");
}

#[tokio::test]
async fn a_value_that_looks_like_a_reference_is_not_replaced() {
    let mut situation = Situation::new();
    situation.turn.stage = "${ITERATION}".to_owned();
    let ended = situation.run(&turn("      - say: '${STAGE}'")).await;
    assert_eq!(ended.outcome, exited(0, "${ITERATION}\n", ""));
}

#[tokio::test]
async fn files_are_written_appended_to_and_deleted() {
    let agent = turn(
        "
      - write: {a.txt: one, 'deep/er/b-${ITERATION}.txt': '${STAGE}', gone.txt: x}
      - append: {a.txt: ' two', new.txt: new}
      - delete: [gone.txt, never-there.txt]
",
    );
    let situation = Situation::new();
    assert_eq!(situation.run(&agent).await.outcome, exited(0, "", ""));
    assert_eq!(situation.file("a.txt").as_deref(), Some("one two"));
    assert_eq!(situation.file("deep/er/b-1.txt").as_deref(), Some("work"));
    assert_eq!(situation.files(), ["a.txt", "deep", "new.txt"]);
}

#[tokio::test]
async fn rewriting_a_file_keeps_its_permissions_and_the_text_of_its_readers() {
    let situation = Situation::new();
    let path = situation.turn.working_dir.join("tool.sh");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let reader = fs::File::open(&path).unwrap();
    situation.run(&turn("      - write: {tool.sh: new}\n      - append: {tool.sh: er}")).await;
    assert_eq!(situation.file("tool.sh").as_deref(), Some("newer"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(std::io::read_to_string(reader).unwrap(), "old", "it was replaced, not changed");
}

#[tokio::test]
async fn a_failed_write_leaves_no_temporary_file() {
    let situation = Situation::new();
    fs::create_dir(situation.turn.working_dir.join("folder")).unwrap();
    let ended = situation.run(&turn("      - write: {folder: x}\n      - say: no")).await;
    let stderr = "cannot write `folder`: Is a directory (os error 21)\n";
    assert_eq!(ended.outcome, exited(1, "", stderr));
    assert_eq!(situation.files(), ["folder"]);
}

#[tokio::test]
async fn no_path_leads_outside_not_even_through_a_link() {
    let situation = Situation::new();
    let outside = situation.outside().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.txt"), "theirs").unwrap();
    symlink(&outside, situation.turn.working_dir.join("link")).unwrap();
    symlink(outside.join("a.txt"), situation.turn.working_dir.join("file-link")).unwrap();
    for (action, what) in [
        ("write: {link/a.txt: ours}", "write `link/a.txt`"),
        ("write: {link/new/b.txt: ours}", "write `link/new/b.txt`"),
        ("append: {link/a.txt: ours}", "append to `link/a.txt`"),
        ("delete: [link/a.txt]", "delete `link/a.txt`"),
        ("wait_for: link/a.txt", "wait for `link/a.txt`"),
    ] {
        let ended = situation.run(&turn(&format!("      - {action}\n      - say: done"))).await;
        let stderr = format!("cannot {what}: it is outside the working directory\n");
        assert_eq!(ended.outcome, exited(1, "", &stderr));
    }
    let ended = situation.run(&turn("      - append: {file-link: ours}")).await;
    let stderr = "cannot append to `file-link`: it is not a file\n";
    assert_eq!(ended.outcome, exited(1, "", stderr));
    let ended = situation.run(&turn("      - write: {file-link: ours}")).await;
    assert_eq!(ended.outcome, exited(0, "", ""), "the link is replaced, not followed");
    assert_eq!(fs::read_to_string(outside.join("a.txt")).unwrap(), "theirs");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn a_stage_named_like_a_parent_path_stays_inside() {
    let mut situation = Situation::new();
    situation.turn.stage = "../outside".to_owned();
    let ended = situation.run(&turn("      - write: {'${STAGE}/x': y}")).await;
    assert_eq!(ended.outcome.exit_code(), Some(1), "{ended:?}");
    assert!(!situation.outside().join("outside").exists());
}

#[tokio::test]
async fn the_status_is_written_as_json_or_unchanged() {
    let situation = Situation::new();
    let agent = turn(
        "
      - status:
          summary: did ${ITERATION}
          decision: stop
          work: {items_completed: ['${STAGE}', 1], files_touched: []}
",
    );
    assert_eq!(situation.run(&agent).await.outcome, exited(0, "", ""));
    let written: serde_json::Value = serde_json::from_str(&situation.status().unwrap()).unwrap();
    let expected = serde_json::json!({
        "decision": "stop", "summary": "did 1",
        "work": {"items_completed": ["work", 1], "files_touched": []},
    });
    assert_eq!(written, expected);

    situation.run(&turn("      - raw_status: '{\"decision\": '")).await;
    assert_eq!(situation.status().as_deref(), Some("{\"decision\": "));
    let folder = situation.turn.status_file.parent().unwrap();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "nothing half-written is left");
}

#[tokio::test]
async fn a_failure_and_an_exit_end_the_turn() {
    let situation = Situation::new();
    let agent = turn("      - say: a\n      - fail: it broke in ${STAGE}\n      - say: b");
    assert_eq!(situation.run(&agent).await.outcome, exited(1, "a\n", "it broke in work\n"));
    for code in [0, 7, 255] {
        let agent = turn(&format!("      - exit: {code}\n      - say: b"));
        assert_eq!(situation.run(&agent).await.outcome, exited(code, "", ""));
    }
}

#[tokio::test]
async fn it_reacts_to_its_prompt() {
    let agent = turn(
        "
      - if_prompt:
          contains: 'tests failed in ${STAGE}'
          then:
            - if_prompt: {contains: panicked, then: [say: I fix the panic]}
            - write: {fixed: 'yes'}
          else:
            - say: all is well
      - say: end
",
    );
    let mut situation = Situation::new();
    assert_eq!(situation.run(&agent).await.outcome, exited(0, "all is well\nend\n", ""));
    assert_eq!(situation.file("fixed"), None);
    situation.turn.prompt =
        vec!["tests failed in work: it panicked".to_owned(), "do it".to_owned()];
    assert_eq!(situation.run(&agent).await.outcome, exited(0, "I fix the panic\nend\n", ""));
    assert_eq!(situation.file("fixed").as_deref(), Some("yes"));
}

#[tokio::test]
async fn turns_follow_iterations_and_the_script_decides_what_comes_after() {
    let mut situation = Situation::new();
    let agent = script("turns: [[say: one], [say: two]]");
    for (iteration, text) in [(1, "one\n"), (2, "two\n"), (3, "two\n")] {
        situation.turn.iteration = iteration;
        assert_eq!(situation.run(&agent).await.outcome, exited(0, text, ""));
    }
    let ended = situation.run(&script("turns: [[say: one]]\nthen: stop")).await;
    assert_eq!(ended.outcome, exited(0, "", ""));
    let status: serde_json::Value = serde_json::from_str(&situation.status().unwrap()).unwrap();
    let reason = "the script has no more turns";
    assert_eq!(status, serde_json::json!({"decision": "stop", "reason": reason}));

    let ended = situation.run(&script("turns: [[say: one]]\nthen: fail")).await;
    let stderr = "the script has no turn for iteration 3 of stage `work`\n";
    assert_eq!(ended.outcome, exited(1, "", stderr));

    let ended = situation.run(&script("turns: [{stage: plan, do: [say: one]}]")).await;
    let cause = "the script has no turn for stage `work`".to_owned();
    assert_eq!(ended.outcome, ProcessOutcome::NotStarted { cause });
}

#[tokio::test]
async fn a_command_runs_in_the_work_tree_with_the_turns_environment() {
    let mut situation = Situation::new();
    situation.turn.env = vec![("ITERATION".into(), "it's 1; touch x".into())];
    let agent = turn(
        "
      - run: echo \"$ITERATION ${ITERATION}\" > made; cat; pwd; echo $$ >&2
      - say: end
",
    );
    let (ended, heard) = situation.watched(&agent).await;
    let output = ended.outcome.output().unwrap();
    let folder = situation.turn.working_dir.display();
    assert_eq!(output.stdout, format!("{folder}\nend\n"), "and standard input is empty");
    assert_eq!(numbers(&output.stderr), heard.leaders);
    assert_eq!(situation.file("made").as_deref(), Some("it's 1; touch x it's 1; touch x\n"));
    assert_eq!(situation.files(), ["made"]);
}

#[tokio::test]
async fn a_command_that_fails_ends_the_turn_as_it_ended() {
    let situation = Situation::new();
    let ended = situation.run(&turn("      - run: echo a; exit 3\n      - say: b")).await;
    assert_eq!(ended.outcome, exited(3, "a\n", ""));
    let ended = situation.run(&turn("      - run: kill -USR1 $$\n      - say: b")).await;
    assert_eq!(ended.outcome, ProcessOutcome::Killed { signal: 10, output: printed("", "") });
    let ended = situation.run(&turn("      - run: exit 3 || true\n      - say: b")).await;
    assert_eq!(ended.outcome, exited(3, "", ""));
    let ended = situation.run(&turn("      - run: (exit 3) || true\n      - say: b")).await;
    assert_eq!(ended.outcome, exited(0, "b\n", ""));

    let mut situation = Situation::new();
    situation.turn.env = vec![("PATH".into(), "/no/such".into())];
    let ended = situation.run(&turn("      - run: 'true'\n      - say: b")).await;
    let stderr = "cannot run a command: neither `bash` nor `sh` was found in PATH\n";
    assert_eq!(ended.outcome, exited(1, "", stderr));
}

#[tokio::test]
async fn it_waits_for_a_file() {
    let situation = Situation::new();
    let ready = situation.ready(turn("      - say: ready\n      - wait_for: go")).await;
    assert!(!ready.running.is_finished());
    fs::write(situation.turn.working_dir.join("go"), "").unwrap();
    assert_eq!(ready.running.await.unwrap().outcome, exited(0, "ready\n", ""));
}

#[tokio::test]
async fn a_cancel_ends_every_kind_of_wait() {
    for waiting in ["sleep: 1000", "wait_for: never", "run: exec sleep 1000"] {
        let situation = Situation::new();
        let agent = turn(&format!("      - say: ready\n      - {waiting}\n      - say: no"));
        let ended = situation.ready(agent).await.cancelled().await;
        assert_eq!(ended.outcome, ProcessOutcome::Interrupted { output: printed("ready\n", "") });
        assert!(ended.took < AGENT_KILL_GRACE, "{waiting} {:?}", ended.took);
    }
}

#[tokio::test]
async fn a_turn_without_waits_is_cancelled_between_its_actions() {
    let actions = "      - append: {log: x}\n".repeat(10_000);
    let situation = Situation::new();
    let agent = turn(&format!("      - say: ready\n{actions}"));
    let ended = situation.ready(agent).await.cancelled().await;
    assert_eq!(ended.outcome, ProcessOutcome::Interrupted { output: printed("ready\n", "") });
    assert!(situation.file("log").unwrap_or_default().len() < 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_sleep_takes_its_time_and_the_turns_timeout_ends_it() {
    let hour = Duration::from_secs(3600);
    let situation = Situation::new().timeout(2 * hour);
    let ended = situation.run(&turn("      - sleep: 1h\n      - say: awake")).await;
    assert_eq!(ended.outcome, exited(0, "awake\n", ""));
    assert!(ended.took >= hour && ended.took < 2 * hour);
    let agent = turn("      - say: a\n      - sleep: 1.5h\n      - sleep: 1h\n      - say: b");
    let ended = situation.run(&agent).await;
    let output = printed("a\n", "");
    assert_eq!(ended.outcome, ProcessOutcome::TimedOut { after_ms: 7_200_000, output });
    let situation = situation.timeout(LONG);
    let ended = situation.run(&turn("      - wait_for: never")).await;
    let output = printed("", "");
    assert_eq!(ended.outcome, ProcessOutcome::TimedOut { after_ms: 300_000, output });
}

#[tokio::test]
async fn a_command_gets_the_rest_of_the_turns_time() {
    // On a busy machine it takes longer until the command runs and can be ended.
    for seconds in (0..6).map(|doubled| 2 << doubled) {
        let situation = Situation::new().timeout(Duration::from_secs(seconds));
        let agent = turn("      - sleep: 1\n      - run: echo $$; sleep 1000\n      - say: no");
        let ended = situation.run(&agent).await;
        let ProcessOutcome::TimedOut { after_ms, output } = &ended.outcome else {
            panic!("{ended:?}")
        };
        assert_eq!(*after_ms, seconds * 1000);
        assert!(ended.took < LONG);
        if !output.stdout.is_empty() {
            let [pid] = numbers(&output.stdout)[..] else { panic!("{output:?}") };
            return assert!(!is_alive(pid));
        }
    }
    panic!("the command never came so far as to run");
}

#[tokio::test]
async fn the_longest_timeout_fits_the_clock() {
    let situation = Situation::new().timeout(Duration::MAX);
    let ended = situation.run(&turn("      - sleep: 1ms\n      - run: echo a")).await;
    assert_eq!(ended.outcome, exited(0, "a\n", ""));
}

#[tokio::test]
async fn output_of_many_commands_does_not_grow_memory() {
    in_its_own_process("scripted::alone_a_script_prints_a_lot", |it| it).await;
}

struct LooksAway;

impl AgentWatch for LooksAway {
    fn running(&mut self, _: &Leader) {}
    fn output(&mut self, _: Stream, _: &[u8]) {}
}

#[tokio::test]
#[ignore = "measures its own process; run by the test above"]
async fn alone_a_script_prints_a_lot() {
    let flood = "      - run: head -c 10485760 /dev/zero | tr '\\0' .\n".repeat(20);
    let agent = turn(&format!("      - say: first\n{flood}      - say: last"));
    let situation = Situation::new();
    let ended = agent.run(&situation.turn, ports(&mut LooksAway, &CancellationToken::new())).await;
    let ProcessOutcome::Exited { code: 0, output } = ended.outcome else {
        panic!("{:?}", ended.took)
    };
    let total = 20 * 10 * 1024 * 1024 + 11;
    assert_eq!(output.stdout_left_out, total - AGENT_OUTPUT_BYTES_MAX as u64);
    assert!(output.stdout.starts_with("first\n.") && output.stdout.ends_with(".last\n"));
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib = numbers(peak)[0];
    assert!(peak_kib < 50 * 1024, "{peak_kib} KiB at most");
}
