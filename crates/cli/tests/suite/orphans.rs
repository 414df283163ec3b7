//! Hooks and agents leave nothing behind when the binary ends, not even a zombie.

use crate::support::Sandbox;

/// A shell function that prints how many zombies are children of the binary, as soon as there is
/// none, or after a minute.
const ZOMBIES: &str = r#"
zombies() {
  for _ in $(seq 600); do
    count=0
    for child in $(cat /proc/$PPID/task/*/children); do
      grep -q '^State:.Z' "/proc/$child/status" 2>/dev/null && count=$((count + 1))
    done
    [ $count -eq 0 ] && break
    sleep 0.1
  done
  echo $count
}
"#;

#[test]
fn orphans_are_collected_while_the_agent_that_left_them_still_works() {
    let sandbox = Sandbox::new()
        .file("zombies.sh", ZOMBIES)
        .file(
            "agent.sh",
            "for _ in $(seq 30); do (sleep 0.001 & setsid -f true); done
             . ./zombies.sh; zombies > during\n",
        )
        .file(
            "loop.yaml",
            "name: one\nagent: {type: command, command: sh agent.sh}\nprompt: Work.\n\
             termination: {type: fixed, iterations: 1}\n",
        );
    let ran = sandbox.run(&["run", "loop.yaml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(std::fs::read_to_string(sandbox.path("during")).unwrap(), "0\n");
}

#[test]
fn the_number_of_zombies_does_not_grow_with_the_number_of_hooks() {
    let sandbox = Sandbox::new()
        .file("zombies.sh", ZOMBIES)
        .file("turns.yaml", "turns: [[{say: x}]]\nthen: repeat\n")
        .file(
            "loop.yaml",
            "name: many\nagent: {type: scripted, script: turns.yaml}\nprompt: Work.\n\
             termination: {type: fixed, iterations: 40}\n\
             hooks:\n  iteration:complete:\n\
             \x20   - {await: true, command: '(sleep 0.01 & setsid -f true) >/dev/null; exit 0'}\n\
             \x20   - {command: '(sleep 0.01 &) >/dev/null'}\n\
             \x20 session:end: [{await: true, command: '. ./zombies.sh; zombies > left'}]\n",
        );
    let ran = sandbox.run(&["run", "loop.yaml"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // No hook's exit status was lost.
    assert!(!ran.stdout.contains("failed"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(sandbox.path("left")).unwrap(), "0\n");
}
