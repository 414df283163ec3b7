//! Many runs: at once, with few descriptors, and without leaving anything behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hookwright_process::{How, Stream, Watch, run};
use rustix::process::{Resource, Rlimit, WaitId, WaitIdOptions, getrlimit, setrlimit, waitid};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::situation::{assert_exited, bash, in_its_own_process, program, run_it, wait_until};

/// Counts the runs that have printed something.
struct Count {
    ready: Arc<AtomicUsize>,
    news: Arc<Notify>,
    counted: bool,
}

impl Watch for Count {
    fn output(&mut self, _: Stream, _: &[u8]) -> Option<Duration> {
        if !self.counted {
            self.counted = true;
            self.ready.fetch_add(1, Ordering::Relaxed);
            self.news.notify_one();
        }
        None
    }
}

// Conformance: code-forge-030
#[tokio::test(flavor = "current_thread")]
async fn five_hundred_runs_at_once_on_one_thread_all_succeed() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    rustix::fs::mknodat(rustix::fs::CWD, &gate, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    // Both ends, so that neither this open nor a child's waits.
    let closed = std::fs::File::options().read(true).write(true).open(&gate).unwrap();

    let (ready, news) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let mut runs = JoinSet::new();
    for _ in 0..500 {
        let mut launch = bash("exec 3<gate; echo ready; read -u 3; exit 7");
        launch.working_dir = folder.path().to_owned();
        let mut count = Count { ready: ready.clone(), news: news.clone(), counted: false };
        runs.spawn(async move { run(launch, &mut count, &CancellationToken::new()).await });
    }
    while ready.load(Ordering::Relaxed) < 500 {
        tokio::select! {
            () = news.notified() => {}
            Some(ended) = runs.join_next() => panic!("{ended:?}"),
        }
    }
    drop(closed);
    for ended in runs.join_all().await {
        assert_exited(&ended, 7);
        assert_eq!(ended.stdout.text(), "ready\n");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_on_several_threads_succeed() {
    let mut runs = JoinSet::new();
    for code in 0..100 {
        runs.spawn(async move { (code, run_it(bash(&format!("echo {code}; exit {code}"))).await) });
    }
    while let Some(ended) = runs.join_next().await {
        let (code, ended) = ended.unwrap();
        assert_exited(&ended, code);
        assert_eq!(ended.stdout.text(), format!("{code}\n"));
    }
}

#[tokio::test]
async fn runs_wait_for_descriptors_instead_of_failing() {
    in_its_own_process("many::alone_with_few_descriptors", |command| bash(&command)).await;
}

#[tokio::test]
#[ignore = "lowers the limits of its process; run by the test above"]
async fn alone_with_few_descriptors() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum }).unwrap();
    let mut runs = JoinSet::new();
    // Three times as many as there are descriptors for at once.
    for _ in 0..40 {
        runs.spawn(run_it(bash("echo $$; exit 7")));
    }
    for ended in runs.join_all().await {
        assert_exited(&ended, 7);
        assert!(!ended.stdout.is_empty());
    }
}

#[tokio::test]
async fn runs_leave_no_descriptor_no_zombie_and_no_thread() {
    in_its_own_process("many::alone_nothing_is_left", |command| bash(&command)).await;
}

#[tokio::test]
#[ignore = "counts what its process has; run by the test above"]
async fn alone_nothing_is_left() {
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let have = || (count("/proc/self/fd"), count("/proc/self/task"));
    assert_exited(&run_it(bash("true")).await, 0);
    let before = have();
    for round in 0..200 {
        let mut launch = bash("cat; echo err >&2; exit 3");
        launch.stdin = vec![b'x'; if round % 2 == 0 { 100 } else { 200_000 }];
        assert_exited(&run_it(launch).await, 3);
        assert_eq!(have().1, before.1, "a thread");
    }
    for _ in 0..5 {
        assert!(matches!(run_it(program("/nowhere", &[])).await.how, How::NotStarted { .. }));
        let mut launch = bash("sleep 1000 & sleep 1000");
        launch.timeout = Duration::from_millis(50);
        assert!(matches!(run_it(launch).await.how, How::TimedOut { .. }));
        let mut dropped = Box::pin(run_it(bash("sleep 1000 & sleep 1000")));
        let started = tokio::time::timeout(Duration::from_millis(50), &mut dropped).await;
        assert!(started.is_err());
    }
    wait_until("nothing is left", || have() == before);
    let looking = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    assert_eq!(waitid(WaitId::All, looking).err(), Some(rustix::io::Errno::CHILD));
}
