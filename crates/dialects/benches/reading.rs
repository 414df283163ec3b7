//! The cost of reading 1,000 hooks of a dialect, compared with parsing the same text into plain
//! values.
//!
//! Medians of alternating runs; `docs/performance.md` has figures and targets.
//!
//! `cargo bench -p hookwright-dialects`
#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use hookwright_config::{ConfigFile, load_text};
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use serde_json::{Value, json};

const HOOKS: usize = 1000;
const RUNS: usize = 60;

/// Argument of the process whose memory is measured, followed by the number of hooks to query.
const MEMORY: &str = "--memory";
const REGEX_HOOKS: usize = 10_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == MEMORY) {
        return tell_memory();
    }
    // `cargo test --benches` only checks that the benchmark runs.
    let runs = if std::env::args().any(|arg| arg == "--test") { 2 } else { RUNS };
    println!("reading {HOOKS} hooks (target: under 20 ms), beside the same text as plain values");
    for sample in [
        Sample { dialect: "autoagent", file: "hooks.json", text: autoagent(), plain: plain_json },
        Sample { dialect: "claude", file: "hooks.json", text: claude(), plain: plain_json },
        Sample { dialect: "code-forge", file: "hooks.json", text: code_forge(), plain: plain_json },
        Sample { dialect: "iteratr", file: "hooks.yml", text: iteratr(), plain: plain_yaml },
    ] {
        measure(&sample, runs);
    }
    let this = std::env::current_exe().expect("it runs");
    let told = std::process::Command::new(this).arg(MEMORY).output().expect("it starts again");
    print!("{}", String::from_utf8_lossy(&told.stdout));
}

/// Memory of hooks with a regular expression each: after reading, and after an event has queried
/// all.
fn tell_memory() {
    let groups = (0..REGEX_HOOKS).map(|number| {
        json!({ "matcher": format!("mcp__server_{number}__.*"),
            "hooks": [{ "type": "command", "command": "true" }] })
    });
    let text = json!({ "hooks": { "PreToolUse": groups.collect::<Vec<Value>>() } }).to_string();
    let file = ConfigFile::native("settings.json", "settings.json", Layer::Project);
    let file = file.in_dialect(hookwright_dialects::named("claude").map(|foreign| foreign as _));
    let (before, began) = (peak_kilobytes(), Instant::now());
    let loaded = load_text(&text, &file, &Environment::new([]));
    let (read, took) = (peak_kilobytes() - before, began.elapsed());
    let data = json!({ "tool_name": "mcp__server_7__search" });
    let event = hookwright_engine::Event::named("tool:pre_execute", data).expect("an event");
    let began = Instant::now();
    let woken = black_box(loaded.hooks.woken(&event).len());
    let (asked, asking) = (peak_kilobytes() - before, began.elapsed());
    assert_eq!((loaded.hooks.hooks().len(), woken), (REGEX_HOOKS, 1));
    println!(
        "{REGEX_HOOKS} hooks of Claude Code, each with a regular expression: read {} MB, {} ms; all asked {} MB, {} ms",
        read / 1000,
        took.as_millis(),
        asked / 1000,
        asking.as_millis()
    );
}

/// Peak memory of this process.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// A file with [`HOOKS`] hooks of a dialect.
struct Sample {
    dialect: &'static str,
    file: &'static str,
    text: String,
    /// Parses the same text into plain values.
    plain: fn(&str),
}

/// Every type and field, and two `{{names}}` in most commands.
fn autoagent() -> String {
    let points =
        ["PreExecutionStart", "PostExecutionStart", "PreExecutionEnd", "PostExecutionEnd", "Stop"];
    let hook = |number: usize| match number % 10 {
        0 => json!({ "type": "git-commit", "message": "#{{issueNumber}}: {{issueTitle}}",
            "noVerify": true }),
        1 => {
            json!({ "type": "git-push", "remote": "origin", "branch": "current", "timeout": 5000 })
        }
        _ => {
            let command = format!(
                "./hooks/check-{number}.sh {{{{issueNumber}}}} '{{{{issueTitle}}}}' || exit 2"
            );
            json!({ "type": "command", "command": command, "blocking": true, "timeout": 60_000 })
        }
    };
    let hooks = || (0..HOOKS / points.len()).map(hook).collect::<Vec<_>>().into();
    let hooks = points.iter().map(|point| ((*point).to_owned(), hooks()));
    let whole = json!({ "logLevel": "info", "hooks": Value::Object(hooks.collect()) });
    serde_json::to_string_pretty(&whole).expect("plain data")
}

/// Every form of matcher, and every field in some hooks.
fn claude() -> String {
    let events = ["PreToolUse", "PostToolUse", "PermissionRequest", "PostToolUseFailure"];
    let matchers = ["Bash", "Edit|Write", "mcp__.*", ""];
    let groups = |event: usize| {
        let group = |number: usize| {
            let command =
                format!("\"$CLAUDE_PROJECT_DIR\"/hooks/guard-{event}-{number}.sh || exit 2");
            let handler = match number % 3 {
                0 => json!({ "type": "command", "command": command }),
                1 => json!({ "type": "command", "command": command, "timeout": 30.5,
                    "onFailure": "block", "statusMessage": "what it is for" }),
                _ => json!({ "type": "command", "command": command, "args": ["a", "b"],
                    "if": "Bash(git *)" }),
            };
            json!({ "matcher": matchers[number % matchers.len()], "hooks": [handler] })
        };
        (0..HOOKS / events.len()).map(group).collect::<Vec<_>>()
    };
    let hooks =
        events.iter().enumerate().map(|(at, event)| ((*event).to_owned(), groups(at).into()));
    let whole = json!({ "hooks": Value::Object(hooks.collect()) });
    serde_json::to_string_pretty(&whole).expect("plain data")
}

/// Every form of pattern, and every field in some hooks.
fn code_forge() -> String {
    let patterns = ["tool:pre_execute:bash", "tool:*:write", "session:start,session:end", "*"];
    let hooks = (0..HOOKS).map(|number| {
        let event = patterns[number % patterns.len()];
        let command = format!("./hooks/guard-{number}.sh \"$FORGE_TOOL_ARGS\" || exit 1");
        match number % 3 {
            0 => json!({ "event": event, "command": command }),
            1 => json!({ "event": event, "command": command, "timeout": 30.0, "enabled": true }),
            _ => json!({ "event": event, "command": command, "working_dir": "sub",
                "env": { "A": "b" }, "description": "what it is for" }),
        }
    });
    let whole = json!({ "hooks": hooks.collect::<Vec<_>>() });
    serde_json::to_string_pretty(&whole).expect("plain data")
}

/// Every field, and a `{{name}}` or two in most commands.
fn iteratr() -> String {
    let points =
        ["session_start", "pre_iteration", "post_iteration", "on_task_complete", "on_error"];
    let mut text = String::from("version: 1\nhooks:\n");
    for (number, point) in points.iter().enumerate() {
        text.push_str(&format!("  {point}:\n"));
        for own in 0..HOOKS / points.len() {
            let number = number * HOOKS + own;
            text.push_str(&format!(
                "    - command: \"./hooks/check-{number}.sh {{{{session}}}} '{{{{iteration}}}}' || exit 1\"\n"
            ));
            if own % 2 == 0 {
                text.push_str("      timeout: 60\n      pipe_output: true  # for the agent\n");
            }
        }
    }
    text
}

fn measure(sample: &Sample, runs: usize) {
    let Sample { dialect, file, text, plain } = sample;
    let foreign = hookwright_dialects::named(dialect).expect("a dialect of ours");
    let file = ConfigFile::native(file, file, Layer::Project);
    let file = file.in_dialect(Some(foreign));
    let environment = Environment::default();
    let (mut ours, mut floor, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs {
        floor.push(timed(|| plain(text)));
        ours.push(timed(|| {
            let loaded = load_text(black_box(text), &file, &environment);
            assert_eq!(loaded.hooks.hooks().len(), HOOKS);
        }));
        again.push(timed(|| plain(text)));
    }
    let (ours, floor, again) = (median(ours), median(floor), median(again));
    println!(
        "  {dialect}: {:.2} ms; plain values {:.2} ms, the same again {:.2} ms; ratio {:.1}",
        milliseconds(ours),
        milliseconds(floor),
        milliseconds(again),
        ours.as_secs_f64() / floor.as_secs_f64()
    );
}

fn plain_json(text: &str) {
    black_box(serde_json::from_str::<Value>(black_box(text)).expect("JSON"));
}

fn plain_yaml(text: &str) {
    black_box(serde_saphyr::from_str::<Value>(black_box(text)).expect("YAML"));
}

fn timed(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
