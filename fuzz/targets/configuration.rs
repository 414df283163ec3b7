//! What holds is said in `crates/config/tests/suite/configuration.rs`.
#![no_main]

#[path = "../../crates/config/tests/suite/configuration.rs"]
mod configuration;

libfuzzer_sys::fuzz_target!(|data: &[u8]| configuration::holds(data));
