//! Input goes in, output comes out, whatever the child does with its pipes.

use hookwright_process::Captured;

use crate::situation::{
    LONG, assert_exited, assert_timed_out, bash, program, run_it, run_until_ready,
};

const MEGABYTE: usize = 1024 * 1024;

#[tokio::test]
async fn input_nobody_reads_is_no_failure() {
    let mut launch = program("/bin/true", &[]);
    launch.stdin = vec![b'x'; MEGABYTE];
    assert_exited(&run_it(launch).await, 0);
}

#[tokio::test]
async fn small_and_empty_input_is_followed_by_its_end() {
    for stdin in ["", "{\"event\":\"x\"}"] {
        let mut launch = program("/bin/cat", &[]);
        launch.stdin = stdin.into();
        let ended = run_it(launch).await;
        assert_exited(&ended, 0);
        assert_eq!(ended.stdout, Captured::whole(stdin));
    }
}

#[tokio::test]
async fn a_child_that_echoes_ten_megabytes_is_fed_and_read_together() {
    let mut launch = program("/bin/cat", &[]);
    launch.stdin = (0..10 * MEGABYTE).map(|at| (at % 251) as u8).collect();
    launch.output_bytes_max = usize::MAX;
    let sent = launch.stdin.clone();
    let ended = run_it(launch).await;
    assert_exited(&ended, 0);
    assert!(ended.stdout.bytes() == Some(sent.as_slice()));
}

#[tokio::test]
async fn a_child_that_closes_its_pipes_early_runs_on() {
    let ended = run_it(bash("echo a; exec 1>&- 2>&- 0<&-; sleep 0.2; exit 7")).await;
    assert_exited(&ended, 7);
    assert_eq!(ended.stdout.text(), "a\n");
    let mut launch = bash("exec 0<&-; echo still; exit 6");
    launch.stdin = vec![b'x'; MEGABYTE];
    let ended = run_it(launch).await;
    assert_exited(&ended, 6);
    assert_eq!(ended.stdout.text(), "still\n");
}

#[tokio::test]
async fn a_megabyte_on_stderr_is_kept_whole() {
    let ended = run_it(bash("head -c 1048576 /dev/zero >&2; echo done")).await;
    assert_exited(&ended, 0);
    assert_eq!(ended.stdout.text(), "done\n");
    assert_eq!(ended.stderr, Captured::whole(vec![0; MEGABYTE]));
}

#[tokio::test]
async fn of_a_hundred_megabytes_the_first_and_the_last_half_of_the_bound_are_kept() {
    let mut launch = bash("echo first; head -c 104857600 /dev/zero | tr '\\0' .; echo last");
    launch.output_bytes_max = 1000;
    let ended = run_it(launch).await;
    assert_exited(&ended, 0);
    let total = 104_857_600 + 6 + 5;
    assert_eq!(ended.stdout.bytes_total(), total);
    assert_eq!(ended.stdout.left_out(), total - 1000);
    let (first, last) = (".".repeat(494), ".".repeat(495));
    let expected = format!("first\n{first}\n[… {} bytes left out …]\n{last}last\n", total - 1000);
    assert_eq!(ended.stdout.text(), expected);
}

#[tokio::test]
async fn no_newline_broken_utf8_and_nul_bytes_come_through() {
    let ended = run_it(bash(r"printf 'a\xff\000b'; printf 'c\xc3' >&2")).await;
    assert_exited(&ended, 0);
    assert_eq!(ended.stdout, Captured::whole(b"a\xff\0b"));
    assert_eq!(ended.stderr.text(), "c\u{fffd}");
}

#[tokio::test]
async fn what_was_printed_before_a_timeout_is_kept() {
    let ended = run_until_ready(bash("echo out; echo err >&2; echo ready; sleep 1000")).await;
    assert_timed_out(&ended);
    assert!(ended.duration < LONG);
    assert_eq!(ended.stdout.text(), "out\nready\n");
    assert_eq!(ended.stderr.text(), "err\n");
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_the_marker() {
    let mut launch = program("/usr/bin/env", &[]);
    launch.env = vec![("A".into(), "1".into()), ("B".into(), "two words".into())];
    launch.run_id = "run-7".to_owned();
    let ended = run_it(launch).await;
    let text = ended.stdout.text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=1", "B=two words", "HOOKWRIGHT_RUN=run-7"]);
}

#[tokio::test]
async fn the_child_leads_a_group_of_its_own_in_its_working_directory() {
    let mut launch = bash("pwd; [ $(ps -o pgid= -p $$) = $$ ] && echo leads");
    launch.working_dir = "/usr".into();
    assert_eq!(run_it(launch).await.stdout.text(), "/usr\nleads\n");
}

#[tokio::test]
async fn a_signal_of_somebody_else_is_told_by_its_number() {
    let ended = run_it(bash("kill -USR1 $$")).await;
    assert!(matches!(ended.how, hookwright_process::How::Killed { signal: 10 }), "{ended:?}");
}
