//! How a stream is cut into pieces makes no difference to its events.

use hookwright_agent::model::sse::SseLimits;
use proptest::prelude::*;

use crate::model_stream::{LIMITS, read};

/// Bytes that mean something to the reader are frequent.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"data: ".to_vec()),
        Just(b"event: x".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\r".to_vec()),
        Just(b":".to_vec()),
        Just(b"\xEF\xBB\xBF".to_vec()),
        Just("ä€𝄞".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..20),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        stream in stream(),
        sizes in proptest::collection::vec(1_usize..40, 1..30),
        event_bytes in 1_usize..200,
        answer_bytes in 1_u64..600,
    ) {
        for limits in [LIMITS, SseLimits { event_bytes, answer_bytes }] {
            let whole = read(&stream, limits, |rest| rest);
            let mut sizes = sizes.iter().cycle();
            let split = read(&stream, limits, |_| *sizes.next().unwrap_or(&1));
            prop_assert_eq!(split, whole);
        }
    }
}
