//! `kill -9` at any moment of a session with child sessions: nothing is lost, nothing is done
//! twice.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::runs::lines;
use crate::support::Sandbox;

/// Sessions that are killed, each at another moment and once more after that.
const KILLED: u32 = 5;

/// A session of two iterations. After each it waits for a review of two iterations, whose stage
/// also starts a session, and starts metrics in the background.
fn world() -> Sandbox {
    let agent = "agent: {command: 'echo $SESSION $ITERATION $HOOKWRIGHT_ATTEMPT >> ../log'}";
    let two = "prompt: p\ntermination: {type: fixed, iterations: 2}";
    let one = "prompt: p\ntermination: {type: fixed, iterations: 1}";
    Sandbox::new()
        .file("work.yaml", format!("{two}\n{agent}\nhooks:\n  iteration:complete:\n    - {{id: review, pipeline: review}}\n    - {{id: metrics, pipeline: metrics, await: false}}\n"))
        .file("review.yaml", format!("{two}\n{agent}\nhooks: {{stage:complete: [{{id: deep, pipeline: deep}}]}}\n"))
        .file("metrics.yaml", format!("{one}\n{agent}\n"))
        .file("deep.yaml", format!("{one}\n{agent}\n"))
}

/// The expected sessions, with their iterations.
const SESSIONS: [(&str, u64); 7] = [
    ("s", 2),
    ("s--iteration_complete-1", 2),
    ("s--iteration_complete-1--stage_complete-2", 1),
    ("s--iteration_complete-1-2", 1),
    ("s--iteration_complete-2", 2),
    ("s--iteration_complete-2--stage_complete-2", 1),
    ("s--iteration_complete-2-2", 1),
];

/// Runs the session, with a kill after each of these times; returns how many came in time.
fn live(sandbox: &Sandbox, kills: &[Duration]) -> u32 {
    let mut killed = 0;
    for after in kills.iter().map(Some).chain([None]) {
        // It may have been killed before it was stored.
        let is_known = sandbox.run(&["sessions", "show", "s"]).code == 0;
        let arguments: &[&str] = match is_known {
            false => &["run", "work.yaml", "--session", "s"],
            true => &["resume", "s"],
        };
        let output = std::process::Stdio::null;
        let mut command = sandbox.command(arguments);
        let mut child = command.stdout(output()).stderr(output()).spawn().unwrap();
        let began = Instant::now();
        let code = loop {
            match child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if after.is_some_and(|after| began.elapsed() >= *after) => {
                    child.kill().unwrap();
                }
                None => std::thread::yield_now(),
            }
        };
        match code {
            Some(code) => assert_eq!(code, 0, "{arguments:?}"),
            None => killed += 1,
        }
    }
    killed
}

/// Every session is there once and complete, and every iteration was restarted only if it was
/// killed.
fn check(sandbox: &Sandbox, kills: u32) {
    let (_, listed) = sandbox.json(&["sessions", "list", "--children", "--json", "--limit", "99"]);
    let mut found: Vec<(&str, u64, &str)> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let text = |value: &'static str| it[value].as_str().unwrap();
            (text("name"), it["iterations"].as_u64().unwrap(), text("status"))
        })
        .collect();
    found.sort_unstable();
    let expected = SESSIONS.map(|(name, number)| (name, number, "completed"));
    assert_eq!(found, expected);
    let mut attempts: BTreeMap<(String, String), Vec<u32>> = BTreeMap::new();
    for line in lines(sandbox, "../log") {
        let words: Vec<&str> = line.split(' ').collect();
        let key = (words[0].to_owned(), words[1].to_owned());
        attempts.entry(key).or_default().push(words[2].parse().unwrap());
    }
    let turns: u64 = SESSIONS.iter().map(|(_, number)| number).sum();
    assert_eq!(attempts.len() as u64, turns, "{attempts:?}");
    for (turn, attempts) in &attempts {
        // A turn that was killed before it could write has no line; its number is missing.
        assert!(attempts.is_sorted_by(|one, next| one < next), "{turn:?}: {attempts:?}");
        assert!(attempts.len() as u32 <= kills + 1, "{turn:?}: {attempts:?}");
    }
    for (name, _) in SESSIONS {
        let log = sandbox.run(&["sessions", "log", name, "--json"]);
        let mut ended: BTreeMap<String, u32> = BTreeMap::new();
        for line in log.stdout.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            if event["kind"] == "turn_ended" {
                *ended.entry(event["turn"].to_string()).or_default() += 1;
            }
        }
        assert!(ended.values().all(|times| *times == 1), "{name}: {ended:?}");
    }
}

#[test]
fn sessions_with_children_killed_at_any_moment_go_on_until_they_are_done() {
    let calm = world();
    let began = Instant::now();
    assert_eq!(live(&calm, &[]), 0);
    let length = began.elapsed();
    check(&calm, 0);
    for number in 1..=KILLED {
        let mut first = length * number / (KILLED + 1);
        loop {
            let sandbox = world();
            let kills = live(&sandbox, &[first, (length - first) / 2]);
            check(&sandbox, kills);
            if kills > 0 {
                break;
            }
            // The machine has become faster since the calm session, and both kills came too late.
            first /= 4;
        }
    }
}

/// At every point at which something is written or started, for a program built with such points.
#[cfg(feature = "faults")]
#[test]
fn sessions_with_children_killed_at_every_point_go_on_until_they_are_done() {
    let calm = world().set("HOOKWRIGHT_POINTS_FILE", "../points");
    live(&calm, &[]);
    let points: u64 = lines(&calm, "../points")
        .iter()
        .filter_map(|line| line.split(' ').next()?.parse::<u64>().ok())
        .sum();
    assert!(points > 100, "{points} points");
    let next = std::sync::atomic::AtomicU64::new(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let point = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if point > points {
                        return;
                    }
                    let sandbox = world();
                    let mut command = sandbox.command(&["run", "work.yaml", "--session", "s"]);
                    let output = std::process::Stdio::null;
                    command.env("HOOKWRIGHT_DIE_AT", point.to_string());
                    let status = command.stdout(output()).stderr(output()).status().unwrap();
                    if status.code().is_none() {
                        live(&sandbox, &[]);
                    }
                    check(&sandbox, 1);
                }
            });
        }
    });
}
