//! Runs the examples of a crate. Tests of other crates use this file too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// What an example of the crate in `folder` prints; it must succeed. `crates` are those whose sources it
/// is built from.
pub(crate) fn printed_by(folder: &Path, example: &str, crates: &[&str]) -> String {
    let output = Command::new(program(folder, example, crates)).output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example}: {} {errors}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// The built example. `cargo test` builds examples beside the tests, but not for a single test;
/// then it is built now.
fn program(folder: &Path, example: &str, crates: &[&str]) -> PathBuf {
    let this = std::env::current_exe().expect("a test is a program");
    let profile = this.ancestors().nth(2).expect("<target>/<profile>/deps/<test>");
    let program = profile.join("examples").join(example);
    let sources = crates.iter().map(|name| folder.join("..").join(name).join("src"));
    let sources = sources.chain([folder.join("examples")]).collect();
    if built(&program).is_none_or(|built| built < newest(sources)) {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--offline", "--example", example, "--target-dir"]);
        cargo.arg(profile.parent().expect("<target>")).current_dir(folder);
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().expect("cargo is there").success(), "{example} does not build");
    }
    program
}

fn built(program: &Path) -> Option<SystemTime> {
    fs::metadata(program).and_then(|metadata| metadata.modified()).ok()
}

/// The time of the newest change in these folders.
fn newest(folders: Vec<PathBuf>) -> SystemTime {
    let mut left = folders;
    let mut newest = SystemTime::UNIX_EPOCH;
    while let Some(path) = left.pop() {
        let metadata = fs::metadata(&path).expect("a source");
        if metadata.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else {
            newest = newest.max(metadata.modified().expect("a time"));
        }
    }
    newest
}
