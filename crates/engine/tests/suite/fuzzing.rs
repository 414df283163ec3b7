//! Properties that hold for any bytes: one function for each reader of untrusted text.
//!
//! Every file of `tests/corpus/` goes through its function here, on any compiler and quickly.
//! `cargo xtask fuzz` lets a fuzzer generate more; what it finds is fixed and becomes a file there.

use std::fs;
use std::path::Path;

mod answer;
mod condition;
mod shell_text;

fn replay(target: &str, holds: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(target);
    let mut replayed = 0;
    for entry in fs::read_dir(&folder).expect("the target has a corpus") {
        let path = entry.expect("an entry").path();
        let data = fs::read(&path).expect("it can be read");
        if let Err(cause) = std::panic::catch_unwind(|| holds(&data)) {
            let text = String::from_utf8_lossy(&data);
            panic!("{}: {text:?}: {cause:?}", path.display());
        }
        replayed += 1;
    }
    assert!(replayed >= 20, "{target} has a corpus of {replayed}");
}

#[test]
fn the_rules_for_conditions_hold_for_the_corpus() {
    replay("condition", condition::holds);
}

#[test]
fn the_rules_for_shell_texts_hold_for_the_corpus() {
    replay("shell_text", shell_text::holds);
}

#[test]
fn the_rules_for_answers_hold_for_the_corpus() {
    replay("answer", answer::holds);
}
