//! What holds is said in `crates/agent/tests/suite/chat_stream.rs`.
#![no_main]

#[path = "../../crates/agent/tests/suite/chat_stream.rs"]
mod chat_stream;
#[path = "../../crates/agent/tests/suite/model_stream.rs"]
#[expect(dead_code, reason = "only its limits are used here")]
mod model_stream;

libfuzzer_sys::fuzz_target!(|data: &[u8]| chat_stream::holds(data));
