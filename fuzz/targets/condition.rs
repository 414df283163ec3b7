//! What holds is said in `crates/engine/tests/suite/fuzzing/condition.rs`.
#![no_main]

#[path = "../../crates/engine/tests/suite/fuzzing/condition.rs"]
mod condition;

libfuzzer_sys::fuzz_target!(|data: &[u8]| condition::holds(data));
