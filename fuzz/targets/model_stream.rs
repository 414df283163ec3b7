//! What holds is said in `crates/agent/tests/suite/model_stream.rs`.
#![no_main]

#[path = "../../crates/agent/tests/suite/model_stream.rs"]
mod model_stream;

libfuzzer_sys::fuzz_target!(|data: &[u8]| model_stream::holds(data));
