//! `cargo xtask fuzz`: generates inputs for the functions of `crates/engine/tests/suite/fuzzing/`,
//! `crates/config/tests/suite/configuration.rs`, and `model_stream.rs` and `chat_stream.rs` of
//! `crates/agent/tests/suite/`, starting from the `tests/corpus/` beside them.
//!
//! The stable compiler is enough: safe code has little use for sanitizers, and coverage is stable.
//! The generated inputs stay in `fuzz/found/`; inputs that fail are listed at the end.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::needed::is_installed;

const TARGETS: &[&str] =
    &["answer", "chat_stream", "condition", "configuration", "model_stream", "shell_text"];

const SECONDS: u32 = 300;

/// Time limit of one input, in seconds: parsers are fast, or something grows that should not.
const TIMEOUT_SECONDS: u32 = 5;

/// Bytes of an input. Every fault shows with fewer.
const INPUT_BYTES_MAX: u32 = 4096;

struct FuzzRequest {
    targets: Vec<&'static str>,
    seconds: u32,
}

pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let wanted = wanted(args)?;
    if !is_installed("cargo-fuzz") {
        cargo(&["install", "cargo-fuzz", "--locked"])?;
    }
    let failed: Vec<&str> =
        wanted.targets.iter().copied().filter(|target| !fuzz(target, wanted.seconds)).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let inputs: Vec<String> = failed.iter().flat_map(|target| broken_inputs(target)).collect();
    Err(format!(
        "error: a check failed for {}\n  {}\nhelp: fix it, and add the input to the target's \
         folder in tests/corpus/ under a descriptive name",
        failed.join(", "),
        inputs.join("\n  ")
    ))
}

fn wanted(args: &[String]) -> Result<FuzzRequest, String> {
    let mut wanted = FuzzRequest { targets: Vec::new(), seconds: SECONDS };
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--seconds" {
            let number = rest.next().and_then(|number| number.parse().ok());
            wanted.seconds = number.ok_or("error: `--seconds` needs a whole number")?;
        } else if let Some(target) = TARGETS.iter().find(|target| **target == arg.as_str()) {
            wanted.targets.push(target);
        } else {
            let known = TARGETS.join(", ");
            return Err(format!("error: expected a fuzz target ({known}) but found `{arg}`"));
        }
    }
    if wanted.targets.is_empty() {
        wanted.targets = TARGETS.to_vec();
    }
    Ok(wanted)
}

/// Whether all inputs passed.
fn fuzz(target: &str, seconds: u32) -> bool {
    let found = found(target);
    let broken = format!("{}/", found.join("broken").display());
    if let Err(error) =
        fs::create_dir_all(found.join("inputs")).and_then(|()| fs::create_dir_all(&broken))
    {
        eprintln!("error: {}: {error}", found.display());
        return false;
    }
    let inputs = found.join("inputs").display().to_string();
    let owner = match target {
        "configuration" => "config",
        "chat_stream" | "model_stream" => "agent",
        _ => "engine",
    };
    let corpus = format!("crates/{owner}/tests/corpus/{target}");
    let ended = cargo(&[
        "fuzz",
        "run",
        "--fuzz-dir",
        "fuzz",
        "--sanitizer",
        "none",
        target,
        &inputs,
        &corpus,
        "--",
        &format!("-max_total_time={seconds}"),
        &format!("-timeout={TIMEOUT_SECONDS}"),
        &format!("-max_len={INPUT_BYTES_MAX}"),
        &format!("-artifact_prefix={broken}"),
    ]);
    ended.is_ok()
}

fn found(target: &str) -> PathBuf {
    Path::new("fuzz/found").join(target)
}

fn broken_inputs(target: &str) -> Vec<String> {
    let entries = fs::read_dir(found(target).join("broken"));
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    paths.map(|path| path.display().to_string()).collect()
}
