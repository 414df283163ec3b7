//! Several sessions on one queue: one is killed and resumed, and others work on the queue meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use hookwright_events::{FiringEvent, ItemState, RunEvent, RunEventKind, SessionEvent, TurnEvent};
use hookwright_store::NewTask;
use serde_json::{Map, Value};

use super::checker::Checker;
use super::defect::Defect;
use super::ground::Ground;
use super::life::{Kill, Life, PROCESSES_MAX, is_known, let_run, was_killed};

/// The session that is killed at points.
const FIRST: &str = "a";

/// The work items.
const ISSUES: [&str; 5] = ["1", "2", "3", "4", "5"];
const TASKS: [&str; 5] = ["TAS-1", "TAS-2", "TAS-3", "TAS-4", "TAS-5"];

/// The content of the queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    Issues,
    Tasks,
}

impl Queue {
    /// The keys of the work items, and the state of a finished one in the store.
    fn work(self) -> ([&'static str; 5], &'static str) {
        match self {
            Self::Issues => (ISSUES, "done"),
            Self::Tasks => (TASKS, "completed"),
        }
    }

    /// The work item of an event.
    fn of(self, data: &Map<String, Value>) -> Option<String> {
        match self {
            Self::Issues => data.get("issue_number").map(ToString::to_string),
            Self::Tasks => data.get("task_id").and_then(Value::as_str).map(str::to_owned),
        }
    }
}

/// Sessions that run at the same time.
const AT_ONCE: [&str; 3] = ["a", "b", "c"];

/// One session is killed like this. While it is dead another one does one issue.
pub(crate) fn issues_in_turns(binary: &Path, kills: &[Kill]) -> Life {
    in_turns(Queue::Issues, binary, kills)
}

/// The same with tasks.
pub(crate) fn tasks_in_turns(binary: &Path, kills: &[Kill]) -> Life {
    in_turns(Queue::Tasks, binary, kills)
}

fn in_turns(queue: Queue, binary: &Path, kills: &[Kill]) -> Life {
    let ground = world(queue);
    let mut life = Life::default();
    let mut kills = kills.iter().copied();
    let mut runners = 0;
    for number in 0..PROCESSES_MAX {
        life.resumes += u64::from(is_known(&ground, FIRST));
        let began = Instant::now();
        let was_killed =
            let_run(&mut command(&ground, binary, FIRST, "all.yaml", runners), kills.next());
        runners += 1;
        if number == 0 {
            life.first = began.elapsed();
            life.points = ground.passed();
        }
        if !was_killed {
            break;
        }
        life.kills += 1;
        // A new session each time, since ended ones stay ended.
        let other = format!("b{number}");
        let_run(&mut command(&ground, binary, &other, "one.yaml", runners), None);
        runners += 1;
    }
    look(&ground, queue, &mut life);
    life
}

/// Several sessions at once, each killed after these times and resumed.
pub(crate) fn at_once(binary: &Path, kills: &[Kill]) -> Life {
    let queue = Queue::Issues;
    let ground = world(queue);
    let mut life = Life::default();
    let mut plans: Vec<Vec<Duration>> = vec![Vec::new(); AT_ONCE.len()];
    for (number, kill) in kills.iter().enumerate() {
        if let Kill::After(time) = kill {
            plans[number % AT_ONCE.len()].push(*time);
        }
    }
    let ended: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let led = AT_ONCE.iter().zip(&plans).map(|(name, plan)| {
            let ground = &ground;
            scope.spawn(move || lead_one(ground, binary, name, plan))
        });
        let led: Vec<_> = led.collect();
        led.into_iter().map(|led| led.join().expect("no panic")).collect()
    });
    life.kills = ended.iter().map(|(kills, _)| kills).sum();
    life.resumes = ended.iter().map(|(_, resumes)| resumes).sum();
    look(&ground, queue, &mut life);
    life
}

fn lead_one(ground: &Ground, binary: &Path, name: &str, plan: &[Duration]) -> (u64, u64) {
    let (mut kills, mut resumes) = (0, 0);
    let mut plan = plan.iter().copied();
    for number in 0..PROCESSES_MAX {
        resumes += u64::from(is_known(ground, name));
        let mut child: Child =
            command(ground, binary, name, "all.yaml", number).spawn().expect("it starts");
        if let Some(time) = plan.next() {
            // The moment is arbitrary on purpose; there is no event to wait for.
            std::thread::sleep(time);
            let _ = child.kill();
        }
        if !was_killed(&mut child) {
            break;
        }
        kills += 1;
        // Gives the others time to take over what it had begun.
        std::thread::sleep(Duration::from_millis(60 * kills));
    }
    (kills, resumes)
}

fn command(
    ground: &Ground,
    binary: &Path,
    session: &str,
    file: &str,
    runner: usize,
) -> std::process::Command {
    let mut command = ground.command(binary, session, runner);
    command.env("CAMPAIGN_SHARED", "1");
    match is_known(ground, session) {
        false => command.args(["run", file, "--session", session, "--json"]),
        true => command.args(["resume", session, "--json"]),
    };
    command
}

fn world(queue: Queue) -> Ground {
    let ground = Ground::new(FILES);
    let source = if queue == Queue::Issues { "issues: issues" } else { "tasks: true" };
    for (file, more) in [("all.yaml", "delay: 10ms"), ("one.yaml", "max_iterations: 1")] {
        ground.write(file, &LOOP.replace("@SOURCE@", source).replace("@MORE@", more));
    }
    for issue in ISSUES.iter().filter(|_| queue == Queue::Issues) {
        ground.write(&format!("issues/{issue}-some.md"), &format!("# Issue {issue}\n"));
    }
    for task in TASKS.iter().filter(|_| queue == Queue::Tasks) {
        ground.tasks().add(&NewTask::new(format!("do {task}")), 0).expect("kept");
    }
    ground
}

/// Called when all sessions have ended.
fn look(ground: &Ground, queue: Queue, life: &mut Life) {
    let mut checker = Checker::default();
    let journals = ground.journals();
    for (session, journal) in &journals {
        look_at_hooks(&mut checker, session, journal);
        look_at_executions(&mut checker, queue, session, journal);
        let is_done = journal.last().is_some_and(|event| match &event.kind {
            RunEventKind::Session(SessionEvent::SessionEnded { status, .. }) => {
                *status == hookwright_events::SessionStatus::Completed
            }
            _ => false,
        });
        if !is_done {
            checker
                .defect(Defect::NotFinished, format!("{session}: {}", ground.complaints(session)));
        }
    }
    look_at_work(&mut checker, queue, ground, &journals);
    for line in ground.log() {
        if line.kind == "survivor" {
            checker.defect(Defect::SecondAgent, format!("{line:?}"));
        }
    }
    life.found = checker.found;
}

/// No firing twice, no hook after its report, rising attempts. A firing of an issue that was left
/// to another session has no end.
fn look_at_hooks(checker: &mut Checker, session: &str, journal: &[RunEvent]) {
    let mut keys = BTreeSet::new();
    let mut attempts: BTreeMap<(u64, String), u32> = BTreeMap::new();
    let mut reported: BTreeSet<(u64, String)> = BTreeSet::new();
    for event in journal {
        match &event.kind {
            RunEventKind::Firing(FiringEvent::Fired { key: Some(key), .. })
                if !keys.insert(key.clone()) =>
            {
                checker.defect(Defect::RunAfterCompletion, format!("{session}: {key} fired twice"));
            }
            RunEventKind::Firing(FiringEvent::HookStarting { hook, attempt, .. }) => {
                let run = (event.firing, hook.clone());
                if reported.contains(&run) {
                    checker.defect(Defect::RunAfterCompletion, format!("{session}: {run:?}"));
                }
                let last = attempts.insert(run.clone(), *attempt).unwrap_or(0);
                if *attempt != last + 1 {
                    let what = format!("{session}: {run:?}: attempt {attempt} behind {last}");
                    checker.defect(Defect::SameAttemptTwice, what);
                }
            }
            RunEventKind::Firing(FiringEvent::HookReported { report }) => {
                reported.insert((event.firing, report.id.clone()));
            }
            _ => {}
        }
    }
}

/// Every turn and every firing of an iteration belongs to an execution, and has the data of its
/// issue.
fn look_at_executions(checker: &mut Checker, queue: Queue, session: &str, journal: &[RunEvent]) {
    let mut current: Option<String> = None;
    let mut ended = BTreeSet::new();
    for event in journal {
        match &event.kind {
            RunEventKind::Session(SessionEvent::ItemStarted { item, .. }) => {
                current = Some(item.key.clone())
            }
            RunEventKind::Session(SessionEvent::ItemEnded { .. }) => current = None,
            RunEventKind::Turn(TurnEvent::TurnStarting { turn, .. }) if turn.iteration > 0 => {
                if current.is_none() {
                    checker
                        .defect(Defect::WorkTwice, format!("{session}: {turn:?} without an issue"));
                }
                if ended.contains(turn) {
                    checker.defect(Defect::RunAfterCompletion, format!("{session}: {turn:?}"));
                }
            }
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, .. }) => {
                ended.insert(turn.clone());
            }
            RunEventKind::Firing(FiringEvent::Fired { event: name, data: Some(data), .. })
                if name.as_str().starts_with("iteration:") =>
            {
                let work = queue.of(data);
                if work != current {
                    let what = format!("{session}: {name} about {work:?} while at {current:?}");
                    checker.defect(Defect::WorkTwice, what);
                }
            }
            _ => {}
        }
    }
}

/// Each issue was done once, and no agent began it after that.
fn look_at_work(
    checker: &mut Checker,
    queue: Queue,
    ground: &Ground,
    journals: &BTreeMap<String, Vec<RunEvent>>,
) {
    let mut done: BTreeMap<String, String> = BTreeMap::new();
    let mut begun: Vec<(String, String, String)> = Vec::new();
    for (session, journal) in journals {
        let mut current = String::new();
        for event in journal {
            match &event.kind {
                RunEventKind::Session(SessionEvent::ItemStarted { item, .. }) => {
                    current.clone_from(&item.key)
                }
                RunEventKind::Turn(TurnEvent::TurnStarting { turn, .. }) if turn.iteration > 0 => {
                    begun.push((current.clone(), event.at.clone(), session.clone()));
                }
                RunEventKind::Session(SessionEvent::ItemEnded {
                    key,
                    state: ItemState::Done,
                    ..
                }) => {
                    let earlier = done.insert(key.clone(), event.at.clone());
                    if earlier.is_some() {
                        checker.defect(Defect::WorkTwice, format!("{key} was done twice"));
                    }
                }
                _ => {}
            }
        }
    }
    for (issue, at, session) in begun {
        if done.get(&issue).is_some_and(|done| at > *done) {
            let what = format!("{session} began with {issue}, which was done");
            checker.defect(Defect::WorkTwice, what);
        }
    }
    let (all, state) = queue.work();
    let expected: BTreeMap<String, String> =
        all.iter().map(|key| ((*key).to_owned(), state.to_owned())).collect();
    let kept = ground.work();
    if kept != expected || done.len() != all.len() {
        checker.defect(Defect::WorkLost, format!("recorded {done:?}, kept {kept:?}"));
    }
}

const FILES: &[(&str, &str)] = &[
    (
        "hookwright.yaml",
        r#"
hooks:
  execution:pre_start:
    - {id: may-begin, command: . @OUTSIDE@/begin hook may-begin execution:pre_start; finish}
  iteration:start:
    - {id: before, await: true, command: . @OUTSIDE@/begin hook before iteration:start; finish}
  iteration:complete:
    - {id: behind, await: false, command: . @OUTSIDE@/begin hook behind iteration:complete; sleep 0.02; finish}
  execution:post_end:
    - {id: over, await: true, command: . @OUTSIDE@/begin hook over execution:post_end; finish}
"#,
    ),
    (
        "agent",
        r#"
. @OUTSIDE@/begin turn shared agent
cat > /dev/null
sleep 0.02
finish
"#,
    ),
];

const LOOP: &str = r"
name: shared
agent: {type: command, command: bash ./agent}
termination: {type: queue, source: {@SOURCE@}}
@MORE@
prompt: Work.
";
