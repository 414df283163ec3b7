//! What hooks may cost the process that runs them.

use std::fs;

use crate::support::Sandbox;

#[test]
fn a_gigabyte_that_nobody_wants_to_see_does_not_stay_in_memory() {
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
