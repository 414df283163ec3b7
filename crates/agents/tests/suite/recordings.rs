//! What the real agents printed, read by their presets.
//!
//! `tests/recordings/AGENT/CASE/` holds `arguments`, `stdout`, `stderr` and `exit_code` as
//! recorded, for some agents the `session_file`, and in `expected.json` what the preset makes of
//! it. `cargo xtask peers --record` makes new recordings; `HOOKWRIGHT_UPDATE=1` writes the expected
//! files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hookwright_agents::presets::{AgentReport, Preset, ReportedFailure, Reset, preset, presets};
use hookwright_events::Usage;
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

fn cases_of(preset: &Preset) -> BTreeSet<PathBuf> {
    let cases = fs::read_dir(folder().join(preset.name)).unwrap();
    cases.map(|case| case.unwrap().path()).filter(|path| path.is_dir()).collect()
}

fn file(case: &Path, name: &str) -> String {
    fs::read_to_string(case.join(name)).unwrap_or_else(|error| panic!("{case:?}/{name}: {error}"))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test is a program")]
fn every_recording_is_parsed_as_expected() {
    for preset in presets() {
        for case in cases_of(preset) {
            let found = format!("{:#}\n", understood(preset, &case));
            let expected = case.join("expected.json");
            if std::env::var_os("HOOKWRIGHT_UPDATE").is_some() {
                fs::write(&expected, &found).unwrap();
            }
            assert_eq!(found, file(&case, "expected.json"), "{}", case.display());
        }
    }
}

#[test]
fn presets_start_their_programs_as_they_were_recorded() {
    for preset in presets() {
        for case in cases_of(preset) {
            let recorded = file(&case, "arguments");
            assert_eq!(
                recorded.lines().collect::<Vec<_>>(),
                preset.arguments,
                "{}",
                case.display()
            );
        }
    }
}

#[test]
fn every_agent_was_recorded_in_every_case() {
    let names = |preset: &Preset| -> BTreeSet<String> {
        let cases = cases_of(preset);
        cases.iter().map(|case| case.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let all: BTreeSet<String> = presets().iter().flat_map(|preset| names(preset)).collect();
    assert!(all.contains("answered") && all.contains("usage_limit"), "{all:?}");
    for preset in presets() {
        assert_eq!(names(preset), all, "{}", preset.name);
    }
}

/// A preset reports a failure for every incomplete output, unless the agent ended well.
#[test]
fn an_incomplete_recording_is_a_failure_and_never_a_panic() {
    for preset in presets() {
        for case in cases_of(preset) {
            let stdout = file(&case, "stdout");
            for end in (0..stdout.len()).step_by(97).filter(|end| stdout.is_char_boundary(*end)) {
                let mut parser = preset.parser();
                for line in stdout[..end].lines() {
                    parser.parse_line(line);
                }
                let AgentReport { failure, .. } = parser.report(None);
                assert!(failure.is_some(), "{} {end}", case.display());
            }
        }
    }
}

#[test]
fn numbers_out_of_range_count_as_the_largest_number() {
    let most = u64::MAX;
    let cache = json!({ "read": most, "write": 1 });
    let tokens = json!({ "input": 1, "output": most, "reasoning": 1, "cache": cache });
    for (name, line) in [
        (
            "claude",
            json!({ "type": "result", "usage": {
                "input_tokens": 1, "cache_read_input_tokens": most, "output_tokens": most,
            } }),
        ),
        ("opencode", json!({ "type": "step_finish", "part": { "tokens": tokens } })),
    ] {
        let mut parser = preset(name).unwrap().parser();
        parser.parse_line(&line.to_string());
        parser.parse_line(&line.to_string());
        let usage = Usage { input_tokens: most, output_tokens: most, cost_usd: None };
        assert_eq!(parser.report(Some(0)).usage, Some(usage), "{name}");
    }
}

fn understood(preset: &Preset, case: &Path) -> Value {
    let mut parser = preset.parser();
    let stdout = file(case, "stdout");
    let shown: Vec<String> = stdout.lines().filter_map(|line| parser.parse_line(line)).collect();
    file(case, "stderr").lines().for_each(|line| parser.parse_error_line(line));
    if preset.session_files.is_some() {
        file(case, "session_file").lines().for_each(|line| parser.parse_session_line(line));
    }
    let exit_code = file(case, "exit_code").trim().parse().ok();
    let AgentReport { text, session, usage, failure } = parser.report(exit_code);
    let failure = failure.map(|ReportedFailure { cause, reason, resets }| {
        let resets = resets.map(|reset| match reset {
            Reset::At(second) => json!({ "at": second }),
            Reset::After(wait) => json!({ "after_ms": wait.as_millis() as u64 }),
        });
        json!({ "cause": cause, "reason": reason, "resets": resets })
    });
    json!({ "shown": shown, "text": text, "session": session, "usage": usage, "failure": failure })
}
