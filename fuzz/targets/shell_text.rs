//! What holds is said in `crates/engine/tests/suite/fuzzing/shell_text.rs`.
#![no_main]

#[path = "../../crates/engine/tests/suite/fuzzing/shell_text.rs"]
mod shell_text;

libfuzzer_sys::fuzz_target!(|data: &[u8]| shell_text::holds(data));
