//! What holds is said in `crates/engine/tests/suite/fuzzing/configuration.rs`.
#![no_main]

#[path = "../../crates/engine/tests/suite/fuzzing/configuration.rs"]
mod configuration;

libfuzzer_sys::fuzz_target!(|data: &[u8]| configuration::holds(data));
