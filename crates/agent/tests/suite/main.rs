//! Tests of the agent from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anthropic;
mod any_split;
mod chat_completions;
mod chat_stream;
mod examples;
#[cfg(feature = "mcp")]
mod mcp;
mod model_stream;
mod session;
mod support;
mod tls;
mod tools;

#[test]
fn what_holds_for_a_models_stream_holds_for_the_corpus() {
    replay("model_stream", model_stream::holds);
}

#[test]
fn what_holds_for_a_stream_of_chat_completions_holds_for_the_corpus() {
    replay("chat_stream", chat_stream::holds);
}

fn replay(target: &str, holds: fn(&[u8])) {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut replayed = 0;
    for entry in std::fs::read_dir(corpus.join(target)).expect("the target has a corpus") {
        let path = entry.expect("an entry").path();
        let data = std::fs::read(&path).expect("it can be read");
        if let Err(cause) = std::panic::catch_unwind(|| holds(&data)) {
            let text = String::from_utf8_lossy(&data);
            panic!("{}: {text:?}: {cause:?}", path.display());
        }
        replayed += 1;
    }
    assert!(replayed >= 20, "a corpus of {replayed}");
}
