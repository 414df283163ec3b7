//! Countable costs of one more iteration. Benchmarks measure its time.

use std::process::Command;

use crate::support::Sandbox;

/// The system calls of this kind in a session of this many iterations, one per line.
fn calls(kind: &str, iterations: u32) -> Vec<String> {
    let sandbox = Sandbox::new()
        .file(
            "loop.yaml",
            format!(
                "agent: {{script: turns.yaml}}\nprompt: p\n\
                 termination: {{type: fixed, iterations: {iterations}}}\n"
            ),
        )
        .file("turns.yaml", "turns: [[{say: x}]]\nthen: repeat\n");
    let inner = sandbox.command(&["run", "loop.yaml", "--session", "s"]);
    let trace = sandbox.path("../trace");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-e", &format!("trace={kind}"), "-o"]).arg(&trace);
    strace.arg(inner.get_program()).args(inner.get_args());
    strace.current_dir(inner.get_current_dir().unwrap()).env_clear();
    strace.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = strace.output().expect("strace is there");
    assert!(output.status.success(), "{output:?}");
    let trace = std::fs::read_to_string(trace).unwrap();
    trace.lines().map(str::to_owned).collect()
}

#[test]
fn an_iteration_goes_the_way_to_its_folder_once_before_the_agent_works_and_once_after() {
    let opens = |iterations: u32| {
        let calls = calls("openat", iterations);
        calls.iter().filter(|call| call.contains(" \"iterations\", ")).count()
    };
    assert_eq!(opens(7) - opens(2), 5 * 2);
}
