//! Tests of `HookFiles`, which embedders use, and of rules that hold for any bytes in a file.

use std::fs;
use std::path::Path;

mod configuration;
mod hook_files;

#[test]
fn the_rules_for_configurations_hold_for_the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/configuration");
    let mut replayed = 0;
    for entry in fs::read_dir(&folder).expect("the target has a corpus") {
        let path = entry.expect("an entry").path();
        let data = fs::read(&path).expect("it can be read");
        if let Err(cause) = std::panic::catch_unwind(|| configuration::holds(&data)) {
            let text = String::from_utf8_lossy(&data);
            panic!("{}: {text:?}: {cause:?}", path.display());
        }
        replayed += 1;
    }
    assert!(replayed >= 20, "a corpus of {replayed}");
}
