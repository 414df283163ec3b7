//! The program in `examples/` does what the documentation says, and the page that shows it shows it as
//! it is.

#[path = "../../../engine/tests/suite/examples/built.rs"]
mod built;

use std::fs;
use std::path::Path;

// Conformance: claude-code-057
#[test]
fn a_program_with_its_own_loop_does_what_hooks_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = ["events", "process", "engine", "model-script", "agent"];
    assert_eq!(
        built::printed_by(folder, "own_loop", &crates),
        "result: denied: no sudo
to the model: Be brief.
result: hello
to the model: no sudo
to the model: Be brief.
"
    );
}

#[test]
fn that_program_has_less_than_60_lines_and_the_documentation_shows_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(folder.join("examples/own_loop.rs")).unwrap();
    assert!(text.lines().count() < 60, "{}", text.lines().count());
    // The attribute for the project's own lints is of no use to readers.
    let program = text.split_once('\n').unwrap().1;
    let page = fs::read_to_string(folder.join("../../docs/embedding.md")).unwrap();
    assert!(page.contains(&format!("```rust,ignore\n{program}```\n")), "it shows another program");
}
