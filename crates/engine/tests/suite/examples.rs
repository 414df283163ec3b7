//! The programs in `examples/` do what the documentation says, and the pages that show one of them
//! show it as it is.

mod built;

use std::fs;
use std::path::Path;

#[test]
fn a_program_that_embeds_the_engine_has_less_than_20_lines() {
    let text = source("embed");
    assert!(text.lines().count() < 20, "{text}");
    assert!(!text.contains("hookwright_config"), "hooks in code need the engine alone");
    assert_eq!(
        printed_by("embed"),
        r#""fired"
"hook_starting"
"hook_ended"
"hook_reported"
"decided"
Block { reason: "no sudo" }
"#
    );
}

#[test]
fn a_program_with_hooks_from_files_uses_the_configuration_too() {
    assert_eq!(printed_by("embed_files"), "function success\nnamed success\n");
}

#[test]
fn these_programs_are_the_ones_that_the_front_pages_show() {
    for (example, front) in [("embed", "src/lib.rs"), ("embed_files", "../config/src/lib.rs")] {
        // Attributes for the project's own lints are of no use to readers.
        let program = source(example).split_once("\n").expect("lines").1.to_owned();
        let text: String = read(&folder().join(front))
            .lines()
            .filter_map(|line| line.strip_prefix("//!"))
            .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
            .collect();
        assert!(text.contains(&format!("```\n{program}```\n")), "{front} shows another program");
        let page = read(&folder().join("../../docs/embedding.md"));
        assert!(page.contains(&format!("```rust\n{program}```\n")), "docs/embedding.md does");
    }
}

#[test]
fn callbacks_guard_fail_closed_are_tried_again_and_observe() {
    let way_out = "make it return an answer, or set its on_failure to continue";
    assert_eq!(
        printed_by("callbacks"),
        format!(
            "continue
for the agent: src/main.rs was looked at
audit: tool:pre_execute (read)
block: prod/.env may hold secrets
audit: tool:pre_execute (read)
block: hook no-secrets failed (a tool without a path); {way_out}
audit: tool:pre_execute (edit)
block: hook slow failed (timed out after 50 ms); {way_out}
audit: tool:pre_execute (bash)
continue, no person has to be asked
audit: tool:pre_execute (glob)
"
        )
    );
}

// Conformance: code-forge-065
#[test]
fn run_events_report_what_happens_in_order() {
    assert_eq!(
        printed_by("run_events"),
        r#"demo: session:stop
demo:   tests starts, attempt 1
demo:   tests prints "12 passed\n"
demo:   tests failed exit code 1
demo: decision null
"#
    );
}

#[test]
fn with_a_custom_journal_a_hook_whose_start_cannot_be_written_does_not_start() {
    assert_eq!(
        printed_by("own_journal"),
        r#"the guard runs
Proceed { rewritten_input: None }
Block { reason: "hook guard failed (cannot start: its start could not be recorded in the journal: the journal is full); make it return an answer, or set its on_failure to continue" }
journal: 1 "fired"
journal: 1 "hook_starting"
journal: 1 "hook_ended"
journal: 1 "hook_reported"
journal: 1 "decided"
"#
    );
}

#[test]
fn every_example_is_run_by_a_test_here() {
    let here = read(&folder().join("tests/suite/examples.rs"));
    for entry in fs::read_dir(folder().join("examples")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        assert!(here.contains(&format!("printed_by(\"{name}\")")), "{name} is not run");
    }
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn source(example: &str) -> String {
    read(&folder().join(format!("examples/{example}.rs")))
}

/// What an example prints; it must succeed.
fn printed_by(example: &str) -> String {
    built::printed_by(folder(), example, &["events", "process", "engine", "config"])
}
