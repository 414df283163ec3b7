//! The memory that hooks may cost the process that runs them.

use std::fs;
use std::io::Read;
use std::process::Stdio;

use crate::long_journal::run_long_session;
use crate::support::Sandbox;

#[test]
fn a_gigabyte_of_unwanted_output_does_not_stay_in_memory() {
    let sandbox = Sandbox::with_hooks(
        "hooks:
  session:start:
    - {id: loud, command: 'head -c 1000000000 /dev/zero; touch printed'}
    - {id: scale, command: 'for i in $(seq 600); do [ -e printed ] && break; sleep 0.2; done;
                            [ -e printed ] && grep -e ^Name: -e ^VmHWM: /proc/$PPID/status > peak'}
",
    );
    let ran = sandbox.run(&["fire", "session:start"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let peak = fs::read_to_string(sandbox.path("peak")).unwrap();
    let words: Vec<&str> = peak.split_whitespace().collect();
    let ["Name:", "hookwright", "VmHWM:", kilobytes, "kB"] = words[..] else { panic!("{peak}") };
    assert!(kilobytes.parse::<u64>().unwrap() < 60_000, "{peak}");
}

#[test]
fn a_journal_of_any_length_is_shown_without_keeping_all_of_it() {
    let sandbox = run_long_session(120_000);
    let mut command = sandbox.command(&["sessions", "show", "long", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut shown = Vec::new();
    // The iteration's event is written when all output was read, and does not fit into a pipe, so
    // the rest waits.
    while !shown.windows(18).any(|part| part == b"\"kind\":\"iteration\"") {
        let mut bytes = [0; 1024];
        let read = stdout.read(&mut bytes).unwrap();
        assert!(read > 0, "no iteration: {}", String::from_utf8_lossy(&shown));
        shown.extend_from_slice(&bytes[..read]);
    }
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    stdout.read_to_end(&mut shown).unwrap();
    assert!(child.wait().unwrap().success());
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it runs");
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(kilobytes < 50_000, "{kilobytes} kB");
    let shown: serde_json::Value = serde_json::from_slice(&shown).unwrap();
    let parts = shown["timeline"].as_array().unwrap();
    let iteration = parts.iter().find(|part| part["kind"] == "iteration").unwrap();
    assert!(
        iteration["deeds_left_out"].as_u64().unwrap() > 100_000,
        "{}",
        iteration["deeds_left_out"]
    );
}
