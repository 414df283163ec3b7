//! A child that ends in time keeps its background children, and they do not delay the run.

use std::time::Duration;

use hookwright_process::{Captured, How, Leader, Stream, Watch, run};
use tokio_util::sync::CancellationToken;

use crate::situation::{
    LONG, assert_exited, bash, is_alive, kill, numbers, ready, run_it, state, wait_until,
};

#[tokio::test]
async fn a_background_child_that_holds_the_output_is_waited_for_only_as_long_as_we_linger() {
    let mut launch = bash("sleep 1000 & echo $!; echo bg >&2");
    launch.linger = Duration::from_millis(200);
    let ended = run_it(launch).await;
    assert_exited(&ended, 0);
    assert!(ended.output_held);
    assert!(ended.duration >= Duration::from_millis(200) && ended.duration < LONG, "{ended:?}");
    assert_eq!(ended.stderr.text(), "bg\n");
    let background = numbers(&ended.stdout.text())[0];
    assert!(is_alive(background));
    kill(background);
}

#[tokio::test]
async fn the_deadline_is_over_once_the_leader_has_ended() {
    // On a busy machine it may need longer than this deadline.
    for seconds in (0..7).map(|doubled| 1 << doubled) {
        let mut launch = bash(&format!(
            "(sleep {seconds}.5; echo more; exec sleep 1000 >/dev/null 2>&1) & echo $!"
        ));
        launch.timeout = Duration::from_secs(seconds);
        let ended = run_it(launch).await;
        if matches!(ended.how, How::TimedOut { .. }) {
            continue;
        }
        assert_exited(&ended, 0);
        let background = numbers(&ended.stdout.text())[0];
        assert_eq!(ended.stdout.text(), format!("{background}\nmore\n"));
        assert!(is_alive(background));
        return kill(background);
    }
    panic!("the leader never ended in time");
}

/// Looks again only when the leader has ended, and notes the first output it is given.
#[derive(Default)]
struct Slow {
    leader: u32,
    first_asked_about: Option<u64>,
}

impl Watch for Slow {
    fn started(&mut self, leader: &Leader) {
        self.leader = leader.pid;
    }

    fn output(&mut self, stream: Stream, _: &[u8]) -> Option<Duration> {
        if stream == Stream::Stderr {
            wait_until("the leader has ended", || !is_alive(self.leader));
        }
        None
    }

    fn enough(&mut self, stdout: &Captured) -> bool {
        self.first_asked_about.get_or_insert(stdout.bytes_total());
        false
    }
}

#[tokio::test]
async fn all_the_leader_printed_is_there_before_anything_is_waited_for() {
    let mut launch = bash("sleep 1000 & echo $! >&2; head -c 60000 /dev/zero");
    launch.linger = Duration::ZERO;
    let mut slow = Slow::default();
    let ended = run(launch, &mut slow, &CancellationToken::new()).await;
    assert_exited(&ended, 0);
    kill(numbers(&ended.stderr.text())[0]);
    assert_eq!(slow.first_asked_about, Some(60000));
    assert_eq!(ended.stdout, Captured::whole(vec![0; 60000]));
}

#[tokio::test]
async fn output_of_a_background_child_is_kept_when_it_ends_the_output_in_time() {
    let ended =
        run_it(bash("(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; echo late) &")).await;
    assert_exited(&ended, 0);
    assert_eq!(ended.stdout.text(), "late\n");
    assert!(!ended.output_held);
}

#[tokio::test]
async fn a_cancel_while_lingering_ends_the_wait_and_no_process() {
    let ready = ready(bash("sleep 1000 & echo $!; echo ready")).await;
    while state(ready.leader).is_some() {
        tokio::task::yield_now().await;
    }
    ready.cancel.cancel();
    let ended = ready.running.await.unwrap();
    assert_exited(&ended, 0);
    assert!(ended.output_held && ended.duration < LONG, "{ended:?}");
    assert!(is_alive(ready.pids[0]));
    kill(ready.pids[0]);
}

/// Satisfied by one line.
struct OneLine;

impl Watch for OneLine {
    fn enough(&mut self, stdout: &Captured) -> bool {
        stdout.text().ends_with("answer\n")
    }
}

#[tokio::test]
async fn an_answer_that_is_enough_ends_the_wait() {
    for script in [
        "sleep 1000 & echo $! >&2; echo answer",
        "(while kill -0 $$ 2>/dev/null; do sleep 0.01; done; echo answer; exec sleep 1000) &
         echo $! >&2",
    ] {
        let ended = run(bash(script), &mut OneLine, &CancellationToken::new()).await;
        assert_exited(&ended, 0);
        assert!(ended.duration < LONG && ended.output_held, "{ended:?}");
        assert_eq!(ended.stdout.text(), "answer\n");
        kill(numbers(&ended.stderr.text())[0]);
    }
}
