//! Interrupts: a session is interrupted at each of its points, once more at its end, and killed
//! between. It ends once, and the exit codes are right. Hooks' reports after its only iteration are
//! delivered once.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Instant;

use hookwright_events::{FiringEvent, RunEvent, RunEventKind, SessionEvent, Status, TurnEvent};

use super::checker::Checker;
use super::defect::Defect;
use super::ground::Ground;
use super::life::{Kill, Life, PROCESSES_MAX, is_known, prepare};

const SESSION: &str = "ends";

/// One session whose processes are interrupted or killed like this, one after the other.
pub(crate) fn lead(binary: &Path, kills: &[Kill]) -> Life {
    let ground = Ground::new(FILES);
    let mut life = Life::default();
    let mut checker = Checker::default();
    let mut kills = kills.iter().copied();
    for number in 0..PROCESSES_MAX {
        let is_resume = is_known(&ground, SESSION);
        let mut command = ground.command(binary, SESSION, number);
        match is_resume {
            false => command.args(["run", "loop.yaml", "--session", SESSION, "--json"]),
            true => command.args(["resume", SESSION, "--json"]),
        };
        let kill = kills.next();
        prepare(&mut command, kill);
        let began = Instant::now();
        let status = command.status().expect("it starts");
        if number == 0 {
            life.first = began.elapsed();
            life.points = ground.passed();
        }
        life.resumes += u64::from(is_resume);
        match status.signal() {
            Some(9) => {
                life.kills += 1;
                continue;
            }
            // Before the session begins, the signal ends the program like any other.
            Some(2) => {
                life.interrupts += 1;
                continue;
            }
            _ => {}
        }
        let ended = end_of(&ground.journal(SESSION));
        life.interrupts += u64::from(ended.as_deref() == Some("interrupted"));
        match (ended.as_deref(), status.code()) {
            (Some("completed"), Some(0)) => break,
            (Some("interrupted"), Some(130)) => {}
            other => {
                let what = format!("{other:?}: {}", ground.complaints(SESSION));
                checker.defect(Defect::EndTwice, what);
                break;
            }
        }
    }
    look(&ground, &mut checker);
    life.found = checker.found;
    life
}

fn end_of(journal: &[RunEvent]) -> Option<String> {
    journal.iter().rev().find_map(|event| match &event.kind {
        RunEventKind::Session(SessionEvent::SessionEnded { status, .. }) => {
            Some(status.to_string())
        }
        _ => None,
    })
}

fn look(ground: &Ground, checker: &mut Checker) {
    let journal = ground.journal(SESSION);
    if end_of(&journal).as_deref() != Some("completed") {
        checker.defect(Defect::NotFinished, ground.complaints(SESSION));
    }
    let mut keys: BTreeMap<String, u32> = BTreeMap::new();
    let mut succeeded: BTreeSet<(u64, String)> = BTreeSet::new();
    let mut numbers: BTreeMap<u64, String> = BTreeMap::new();
    let mut goodbyes: BTreeMap<String, u32> = BTreeMap::new();
    for event in &journal {
        match &event.kind {
            RunEventKind::Firing(FiringEvent::Fired { key: Some(key), .. }) => {
                *keys.entry(key.clone()).or_default() += 1;
                numbers.insert(event.firing, key.clone());
            }
            RunEventKind::Firing(FiringEvent::HookStarting { hook, .. })
                if succeeded.contains(&(event.firing, hook.clone())) =>
            {
                let what = format!("{hook} of {:?}", numbers.get(&event.firing));
                checker.defect(Defect::RunAfterCompletion, what);
            }
            RunEventKind::Firing(FiringEvent::HookReported { report })
                if report.status == Status::Success =>
            {
                succeeded.insert((event.firing, report.id.clone()));
                let key = numbers.get(&event.firing).map_or("", String::as_str);
                if key.starts_with("closing/session:end/") && key.ends_with("/completed") {
                    *goodbyes.entry(report.id.clone()).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    // A session that was interrupted before its stop asks again whether it may stop.
    let is_twice =
        |(key, times): &(&String, &u32)| **times > 1 && !key.starts_with("session:stop/");
    for (key, times) in keys.iter().filter(is_twice) {
        checker.defect(Defect::EndTwice, format!("{key} was fired {times} times"));
    }
    let ends: Vec<&String> = keys
        .keys()
        .filter(|key| key.starts_with("closing/session:end/") && key.ends_with("/completed"))
        .collect();
    if ends.len() != 1 {
        checker.defect(Defect::EndTwice, format!("the completed session ended so often: {ends:?}"));
    }
    let expected: BTreeMap<String, u32> =
        HOOKS_AT_END.iter().map(|hook| ((*hook).to_owned(), 1)).collect();
    if goodbyes != expected {
        checker.defect(Defect::EndTwice, format!("hooks of the end that succeeded: {goodbyes:?}"));
    }
    for line in ground.log().iter().filter(|line| line.kind == "survivor") {
        checker.defect(Defect::SecondAgent, format!("{line:?}"));
    }
    look_at_delivery(ground, &journal, checker);
}

/// The failure of the tests was delivered in one iteration, and their later output in none.
fn look_at_delivery(ground: &Ground, journal: &[RunEvent], checker: &mut Checker) {
    let mut run_ids = BTreeMap::new();
    let mut prompts: Vec<(u32, String)> = Vec::new();
    let mut deliveries = 0;
    for event in journal {
        match &event.kind {
            RunEventKind::Turn(TurnEvent::FinalDelivery { .. }) => deliveries += 1,
            RunEventKind::Turn(TurnEvent::TurnStarting { turn, run_id, .. }) => {
                run_ids.insert(turn.clone(), run_id.clone());
            }
            RunEventKind::Turn(TurnEvent::TurnEnded { turn, .. }) => {
                let file = ground.outside().join(format!("prompt-{}", run_ids[turn]));
                let prompt = std::fs::read_to_string(file).unwrap_or_default();
                prompts.push((turn.iteration, prompt));
            }
            _ => {}
        }
    }
    let heard: Vec<(u32, usize, usize)> = prompts
        .iter()
        .map(|(iteration, prompt)| {
            let times = |text: &str| prompt.matches(text).count();
            (*iteration, times("PIPED<tests/1>"), times("PIPED<tests/2>"))
        })
        .collect();
    if deliveries != 1 || heard != [(1, 0, 0), (2, 1, 0)] {
        let what = format!("{deliveries} deliveries; iteration, texts in its prompt: {heard:?}");
        checker.defect(Defect::DeliveredTwice, what);
    }
}

const HOOKS_AT_END: [&str; 3] = ["first", "behind", "last"];

const FILES: &[(&str, &str)] = &[
    (
        "loop.yaml",
        r#"
name: ends
agent: {type: command, command: bash ./agent}
termination: {type: fixed, iterations: 1}
prompt: Work.
hooks:
  iteration:complete:
    - id: tests
      pipe_output: true
      command: . @OUTSIDE@/begin hook tests iteration:complete; echo "PIPED<tests/$ITERATION>"; finish; false
    - {id: late, await: false, command: . @OUTSIDE@/begin hook late iteration:complete; sleep 0.05; finish}
  session:stop:
    - {id: may-stop, command: . @OUTSIDE@/begin hook may-stop session:stop; finish}
  session:end:
    - {id: first, await: true, command: . @OUTSIDE@/begin hook first session:end; sleep 0.02; finish}
    - {id: behind, await: false, command: . @OUTSIDE@/begin hook behind session:end; sleep 0.05; finish}
    - {id: last, await: true, command: . @OUTSIDE@/begin hook last session:end; sleep 0.02; finish}
"#,
    ),
    (
        "agent",
        r#"
. @OUTSIDE@/begin turn ends agent
cat > "$outside/prompt-$run"
finish
"#,
    ),
];
