//! Tests of the agent from outside.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod anthropic;
mod any_split;
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
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/model_stream");
    let mut replayed = 0;
    for entry in std::fs::read_dir(&folder).expect("the target has a corpus") {
        let path = entry.expect("an entry").path();
        let data = std::fs::read(&path).expect("it can be read");
        if let Err(cause) = std::panic::catch_unwind(|| model_stream::holds(&data)) {
            let text = String::from_utf8_lossy(&data);
            panic!("{}: {text:?}: {cause:?}", path.display());
        }
        replayed += 1;
    }
    assert!(replayed >= 20, "a corpus of {replayed}");
}
