//! What a session does when it is ordered to stop.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hookwright_events::{RunEventKind, SessionStatus, TurnEvent};
use hookwright_pipeline::orders::Order;
use hookwright_pipeline::session::SessionError;
use hookwright_process::{How, Launch, Leader, Watch, run};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::project::Project;

/// The second turn works until it is ended, and only SIGKILL does that if it is stubborn.
fn project(stubborn: bool) -> Project {
    let trap = if stubborn { "trap '' TERM; " } else { "" };
    let config = format!(
        "prompt: p\ntermination: {{type: fixed, iterations: 3}}\nagent: {{command: \"echo turn $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ $ITERATION = 2 ] && [ ! -e go ]; then {trap}while :; do sleep 1000 & wait; done; fi\"}}\nhooks: {{iteration:complete: [{{command: 'echo completed >> log', await: true}}], session:end: [{{command: 'echo end >> log', await: true}}]}}\n"
    );
    Project::new(&[("loop.yaml", &config)])
}

/// Gives the order as soon as the second turn starts.
fn ordered(project: Project, order: Order) -> Project {
    let orders = project.orders();
    project.watched(move |event| {
        if matches!(&event.kind, RunEventKind::Turn(TurnEvent::TurnStarting { turn, .. }) if turn.iteration == 2)
        {
            orders.give(order, "a reason");
        }
    })
}

fn log(project: &Project) -> String {
    std::fs::read_to_string(project.path("log")).unwrap_or_default()
}

#[tokio::test]
async fn an_order_to_end_leaves_the_session_cut_off_and_its_turn_is_repeated() {
    for (order, stubborn) in [(Order::End, false), (Order::Kill, true)] {
        let mut project = ordered(project(stubborn), order);
        let ended = project.take_up().await;
        assert!(
            matches!(&ended, Err(SessionError::CutOff { why }) if why == "a reason"),
            "{ended:?}"
        );
        // No hook has run, and no end is recorded.
        let log_of_first = log(&project);
        let without_second = log_of_first.replace("turn 2 1\n", "");
        assert_eq!(without_second, "turn 1 1\ncompleted\n", "{order:?}");
        let (record, _) = project.record("s").expect("it was stored");
        assert_eq!(record.status, SessionStatus::Active, "{order:?}");
        std::fs::write(project.path("go"), "").expect("written");
        project.forget_orders();
        let resumed = project.take_up().await.expect("it came to an end");
        assert_eq!(resumed.status, SessionStatus::Completed);
        let rest = log(&project).split_off(log_of_first.len());
        assert_eq!(rest, "turn 2 2\ncompleted\nturn 3 1\ncompleted\nend\n", "{order:?}");
    }
}

#[tokio::test]
async fn no_turn_starts_until_the_order_is_taken_back() {
    let project = project(false);
    std::fs::write(project.path("go"), "").expect("written");
    let (orders, notes) = (project.orders(), Arc::new(AtomicUsize::new(0)));
    orders.give(Order::StartNoTurn, "a reason");
    let (noting, given) = (Arc::clone(&notes), orders.clone());
    let project = project.watched(move |event| {
        if format!("{:?}", event.kind).contains("no turn starts for now: a reason") {
            noting.fetch_add(1, Ordering::Relaxed);
            given.give(Order::Continue, "another reason");
        }
    });
    let ran = project.run().await;
    assert_eq!(ran.ended.status, SessionStatus::Completed);
    assert_eq!(notes.load(Ordering::Relaxed), 1, "it was shown, and waited for");
}

#[tokio::test]
async fn an_order_to_kill_ends_the_processes_of_that_session_alone() {
    let mut project = ordered(project(true), Order::Kill);
    let (started, folder) = (Arc::new(Notify::new()), project.path(""));
    let bystander = tokio::spawn({
        let started = Arc::clone(&started);
        let never = CancellationToken::new();
        async move { run(bystander(folder), &mut NotesStart(started), &never).await.how }
    });
    started.notified().await;
    let ended = project.take_up().await;
    assert!(matches!(&ended, Err(SessionError::CutOff { .. })), "{ended:?}");
    std::fs::write(project.path("bystander may end"), "").expect("written");
    let how = bystander.await.expect("no panic");
    assert!(matches!(how, How::Exited { code: 7 }), "{how:?}");
}

/// A process of the same program that belongs to no session.
fn bystander(folder: PathBuf) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        args: vec![
            "-c".into(),
            "while [ ! -e 'bystander may end' ]; do /bin/sleep 0.01; done; exit 7".into(),
        ],
        shared_env: Arc::from([]),
        env: Vec::new(),
        working_dir: folder,
        stdin: Vec::new(),
        timeout: Duration::from_secs(600),
        kill_grace: Duration::ZERO,
        linger: Duration::ZERO,
        output_bytes_max: 0,
        run_id: format!("bystander-{}", std::process::id()),
    }
}

struct NotesStart(Arc<Notify>);

impl Watch for NotesStart {
    fn started(&mut self, _: &Leader) {
        self.0.notify_one();
    }
}
