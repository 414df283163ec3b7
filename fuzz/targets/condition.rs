//! What holds is said in `crates/engine/tests/suite/fuzzing/condition.rs`.
#![no_main]

mod fuzzing {
    #[path = "../../../crates/engine/tests/suite/fuzzing/condition.rs"]
    mod target;

    pub fn holds(data: &[u8]) {
        target::holds(data);
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzzing::holds(data));
