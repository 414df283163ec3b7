//! Agents that outlive their session and keep calling `task done`, while a hook of the session
//! always blocks it: no call may succeed.

use std::path::Path;
use std::time::{Duration, Instant};

use hookwright_events::{RunEvent, RunEventKind, SessionEvent};
use hookwright_store::NewTask;

use super::checker::Checker;
use super::defect::Defect;
use super::ground::Ground;
use super::life::{Kill, Life, PROCESSES_MAX, is_known, let_run};

const SESSION: &str = "orphans";

/// One session whose processes are killed like this, while its agents keep calling.
pub(crate) fn lead(binary: &Path, kills: &[Kill]) -> Life {
    let ground = Ground::new(FILES);
    ground.tasks().add(&NewTask::new("the only one"), 0).expect("kept");
    let mut life = Life::default();
    let mut checker = Checker::default();
    let mut kills = kills.iter().copied();
    for number in 0..PROCESSES_MAX {
        let is_resume = is_known(&ground, SESSION);
        let mut command = ground.command(binary, SESSION, number);
        match is_resume {
            false => command.args(["run", "pipeline.yaml", "--session", SESSION, "--json"]),
            true => command.args(["resume", SESSION, "--json"]),
        };
        let began = Instant::now();
        let was_killed = let_run(&mut command, kills.next());
        if number == 0 {
            life.first = began.elapsed();
            life.points = ground.passed();
        }
        life.kills += u64::from(was_killed);
        life.resumes += u64::from(is_resume);
        look_at_task(&ground, &mut checker);
        if !was_killed {
            break;
        }
        // For a moment the orphan finds no listener, then the next process.
        std::thread::sleep(Duration::from_millis(40));
        look_at_task(&ground, &mut checker);
    }
    look(&ground, &mut checker);
    life.found = checker.found;
    life
}

fn look_at_task(ground: &Ground, checker: &mut Checker) {
    let work = ground.work();
    if work.get("TAS-1").is_some_and(|state| state == "completed") {
        checker.defect(Defect::GuardPassed, "the task is completed");
    }
}

fn look(ground: &Ground, checker: &mut Checker) {
    let journal: Vec<RunEvent> = ground.journal(SESSION);
    let is_done = journal.last().is_some_and(|event| match &event.kind {
        RunEventKind::Session(SessionEvent::SessionEnded { status, .. }) => {
            *status == hookwright_events::SessionStatus::Completed
        }
        _ => false,
    });
    if !is_done {
        checker.defect(Defect::NotFinished, ground.complaints(SESSION));
    }
    for line in ground.log() {
        match (line.kind.as_str(), line.what.as_str()) {
            ("survivor", _) => checker.defect(Defect::SecondAgent, format!("{line:?}")),
            ("called", "0") => checker.defect(Defect::GuardPassed, format!("{line:?}")),
            _ => {}
        }
    }
    let work = ground.work();
    if work.get("TAS-1").is_none_or(|state| state != "blocked") {
        checker.defect(Defect::WorkLost, format!("{work:?}"));
    }
}

/// The guard belongs to the stage: a session that has not entered the stage does not know it.
const FILES: &[(&str, &str)] = &[
    ("pipeline.yaml", "stages: [{name: work, loop: ./loop.yaml}]\n"),
    (
        "loop.yaml",
        r#"
name: orphans
agent: {type: command, command: bash ./agent}
termination: {type: queue}
prompt: Do ${TASK_CONTENT}.
hooks:
  stage:start:
    - {id: prepare, await: true, command: . @OUTSIDE@/begin hook prepare stage:start; sleep 0.02; finish}
  task:complete:
    - {id: guard, command: '. @OUTSIDE@/begin hook guard task:complete; finish; echo never >&2; exit 2'}
"#,
    ),
    (
        "agent",
        r#"
. @OUTSIDE@/begin turn orphans agent
cat > /dev/null
for call in 1 2 3 4 5 6; do
  "$HOOKWRIGHT_BIN" task done TAS-1 > /dev/null 2>&1
  echo "called|$?|$about" >> "$outside/log"
done
finish
"#,
    ),
];
