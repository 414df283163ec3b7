//! Input goes in and output comes out, whatever the child does with its pipes.

use std::time::Duration;

use hookwright_process::{Captured, OutputFilter, Stream, Watch};
use tokio_util::sync::CancellationToken;

use crate::situation::{
    LONG, assert_exited, assert_timed_out, bash, program, run_it, run_until_ready,
};

const MEGABYTE: usize = 1024 * 1024;

#[tokio::test]
async fn unread_input_is_not_a_failure() {
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
async fn output_before_a_timeout_is_kept() {
    let ended = run_until_ready(bash("echo out; echo err >&2; echo ready; sleep 1000")).await;
    assert_timed_out(&ended);
    assert!(ended.duration < LONG);
    assert_eq!(ended.stdout.text(), "out\nready\n");
    assert_eq!(ended.stderr.text(), "err\n");
}

// Conformance: code-forge-068
#[tokio::test]
async fn the_environment_is_the_given_one_plus_the_marker() {
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
async fn a_foreign_signal_is_reported_by_its_number() {
    let ended = run_it(bash("kill -USR1 $$")).await;
    assert!(matches!(ended.how, hookwright_process::How::Killed { signal: 10 }), "{ended:?}");
}

/// Passes a line only once it is complete, in brackets; an incomplete last line without them.
#[derive(Default)]
struct Lines {
    held: Vec<u8>,
}

impl OutputFilter for Lines {
    fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.held.extend_from_slice(bytes);
        while let Some(end) = self.held.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.held.drain(..=end).collect();
            out.extend_from_slice(&[b"[", &line[..end], b"]"].concat());
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }
}

/// Uses a filter, and keeps what it is shown.
#[derive(Default)]
struct Filtering {
    shown: Vec<u8>,
}

impl Watch for Filtering {
    fn filter(&mut self, _stream: Stream) -> Option<Box<dyn OutputFilter>> {
        Some(Box::new(Lines::default()))
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        if stream == Stream::Stdout {
            self.shown.extend_from_slice(bytes);
        }
        None
    }
}

#[tokio::test]
async fn kept_and_shown_output_has_passed_the_filter_completely() {
    for (text, stdout, stderr) in [
        ("printf a; printf 'b\nc'; printf 'e\n' >&2", "[ab]c", "[e]"),
        ("seq 3; kill -9 $$", "[1][2][3]", ""),
        ("printf 'x\ny'; (exec sleep 1000 2>/dev/null) & echo -n z", "[x]yz", ""),
    ] {
        let mut launch = bash(text);
        launch.linger = Duration::ZERO;
        let mut watch = Filtering::default();
        let ended = hookwright_process::run(launch, &mut watch, &CancellationToken::new()).await;
        assert_eq!((ended.stdout.text(), ended.stderr.text()), (stdout.into(), stderr.into()));
        assert_eq!(String::from_utf8_lossy(&watch.shown), stdout);
    }
}

#[tokio::test]
async fn left_out_bytes_are_counted_after_filtering() {
    let mut launch = bash("seq 100000");
    launch.output_bytes_max = 20;
    let mut watch = Filtering::default();
    let ended = hookwright_process::run(launch, &mut watch, &CancellationToken::new()).await;
    let text = ended.stdout.text();
    assert!(text.starts_with("[1][2][3]") && text.ends_with("9][100000]"), "{text}");
    assert_eq!(ended.stdout.bytes_total(), watch.shown.len() as u64);
}
