//! 100 MB through each tool, and a hostile repository: the process stays small.

use std::fs;
use std::io::Write;
use std::process::Command;

use serde_json::json;

use super::Bench;

/// What the process may need at most, everything included.
const PROCESS_KIB_MAX: u64 = 64 * 1024;

#[test]
fn hundred_megabytes_through_any_tool_keep_the_process_below_64_mib() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tools::memory::handles_hundred_megabytes", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
}

#[test]
#[ignore = "runs in a process of its own"]
fn handles_hundred_megabytes() {
    let bench = Bench::new();
    let command = "head -c 100000000 /dev/zero | tr '\\0' x; head -c 100000000 /dev/zero >&2";
    let (response, _) = bench.ran("bash", json!({ "command": command }));
    assert!(response["stdout"].as_str().unwrap().contains("bytes"));
    // Lines, and one line.
    let mut file = fs::File::create(bench.root().join("lines")).unwrap();
    let block = "0123456789abcde\n".repeat(6250);
    for _ in 0..1000 {
        file.write_all(block.as_bytes()).unwrap();
    }
    let mut file = fs::File::create(bench.root().join("line")).unwrap();
    for _ in 0..1000 {
        file.write_all(&[b'x'; 100_000]).unwrap();
    }
    for name in ["lines", "line"] {
        assert!(bench.failed("read", json!({ "file_path": name })).contains("offset and limit"));
        let (_, text) = bench.ran("read", json!({ "file_path": name, "offset": 1, "limit": 2 }));
        assert!(text.len() < 10_000, "{text}");
        let error = bench.failed(
            "edit",
            json!({ "file_path": name, "old_string": "0", "new_string": "1", "replace_all": true }),
        );
        assert!(error.contains("is larger than"), "{error}");
    }
    bench.ran("grep", json!({ "pattern": "[0-9]+abc|y", "output_mode": "content" }));
    bench.ran("grep", json!({ "pattern": "x.*y", "multiline": true }));
    bench.ran("grep", json!({ "pattern": "e$", "output_mode": "count" }));
    assert_small();
}

fn assert_small() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < PROCESS_KIB_MAX, "{peak} KiB");
}

#[test]
fn a_repository_full_of_patterns_and_names_keeps_the_process_below_64_mib() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tools::memory::handles_a_hostile_repository", "--ignored"])
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
}

#[test]
#[ignore = "runs in a process of its own"]
fn handles_a_hostile_repository() {
    let bench = Bench::new();
    let mut folder = String::new();
    for n in 0..6 {
        bench.write(&format!("{folder}needle-{n}"), "needle\n");
        bench.write(&format!("{folder}.gitignore"), "**/a/**/b/**\n".repeat(2000));
        folder.push_str("d/");
    }
    let (response, text) = bench.ran("grep", json!({ "pattern": "^needle$" }));
    assert_eq!(response["numFiles"], json!(6));
    assert!(
        text.ends_with("(5 ignore files are too large or no regular files, and were not used)")
    );
    for n in 0..30_000 {
        bench.write(&format!("many/{n:0100}"), "");
    }
    let (_, text) = bench.ran("glob", json!({ "pattern": "many/*" }));
    assert!(text.contains("(the newest 100 of 30000 files)"), "{text}");
    assert_small();
}
