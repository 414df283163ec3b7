//! What holds is said in `crates/engine/tests/suite/fuzzing/answer.rs`.
#![no_main]

#[path = "../../crates/engine/tests/suite/fuzzing/answer.rs"]
mod answer;

libfuzzer_sys::fuzz_target!(|data: &[u8]| answer::holds(data));
