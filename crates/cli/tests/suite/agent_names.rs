//! Agents that the user has named.

use std::fs;

use crate::interrupts::{start, until};
use crate::runs::{lines, run};
use crate::serve::Serve;
use crate::support::Sandbox;

/// Two agents with names, of which the first is out of quota in its second turn.
fn two_agents() -> Sandbox {
    let empty = r#"{"decision": "error", "failure": "quota", "reason": "empty"}"#;
    let note = "#!/bin/bash\necho $HOOKWRIGHT_AGENT >> who\n";
    Sandbox::new()
        .program(
            "big",
            &format!("{note}if [ $ITERATION = 2 ]; then echo '{empty}' > $STATUS; fi\n"),
        )
        .program("small", note)
        .file(
            "loop.yaml",
            "name: work\nprompt: p\ntermination: {type: fixed, iterations: 2}\n\
             agent: [{command: ./big, name: architect}, {command: ./small, name: helper.2}]\n",
        )
}

#[test]
fn the_name_is_shown_wherever_an_agent_is() {
    let sandbox = two_agents();
    let plan = sandbox.run(&["run", "loop.yaml", "--dry-run"]).stdout;
    assert!(plan.contains("agent: architect, then helper.2"), "{plan}");
    let ran = run(&sandbox, "loop.yaml", 0);
    for line in [
        "  iteration 1: agent architect works\n",
        "  architect cannot work (quota): empty\n",
        "  helper.2 takes over from architect: empty\n",
        "  iteration 2: agent helper.2 works (attempt 2)\n",
    ] {
        assert!(ran.stdout.contains(line), "{line}{}", ran.stdout);
    }
    assert_eq!(lines(&sandbox, "who"), ["architect", "architect", "helper.2"]);
    let shown = sandbox.run(&["sessions", "show", "s"]).stdout;
    assert!(shown.contains("  work with agent architect, began "), "{shown}");
    assert!(shown.contains(" by architect") && shown.contains(" by helper.2"), "{shown}");
    let log = sandbox.run(&["sessions", "log", "s"]).stdout;
    assert!(log.contains("iteration 2, attempt 2, agent helper.2\n"), "{log}");
    let page = Serve::start(&sandbox, &["--port", "0"]).page("/sessions/s");
    for text in ["<dt>Agent</dt><dd>architect</dd>", " · architect", " · helper.2"] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn one_agent_with_a_name_is_named_while_it_works_too() {
    let sandbox = Sandbox::new().file(
        "loop.yaml",
        "name: work\nprompt: p\ntermination: {type: fixed, iterations: 1}\n\
         agent: {name: mason, command: 'echo > works; until [ -e go ]; do sleep 0.05; done'}\n",
    );
    let session = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent works", || sandbox.path("works").exists());
    let status = sandbox.run(&["status"]).stdout;
    assert!(status.contains("  s waits for agent mason ("), "{status}");
    let shown = sandbox.run(&["sessions", "show", "s"]).stdout;
    assert!(shown.contains("iteration 1: agent mason works\n"), "{shown}");
    let page = Serve::start(&sandbox, &["--port", "0"]).page("/sessions/s");
    assert!(page.contains("</span>agent mason works on iteration 1"), "{page}");
    fs::write(sandbox.path("go"), "").unwrap();
    let ran = session.ran();
    assert!(ran.stdout.contains("  iteration 1: agent mason works\n"), "{}", ran.stdout);
}

#[test]
fn a_name_that_is_taken_or_none_is_a_fault() {
    let of = |agent: &str| format!("prompt: p\nagent: {agent}\n");
    let check = |files: &[(&str, String)], file: &str| {
        let sandbox =
            files.iter().fold(Sandbox::new(), |sandbox, (name, text)| sandbox.file(name, text));
        let ran = sandbox.run(&["run", file, "--dry-run"]);
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        ran.stderr
    };
    let twice = of("\n  - {command: a, name: dev}\n  - {command: b, name: dev}");
    let said = check(&[("loop.yaml", twice)], "loop.yaml");
    assert!(
        said.contains(
            "error: the name `dev` appears twice, first in line 3\n --> loop.yaml:4:24\n"
        ),
        "{said}"
    );
    assert!(said.contains("help: give one of the two another `name`\n"), "{said}");
    for name in ["'a b'", "'a\\e[2J'", &"x".repeat(65), "''"] {
        let name = name.replace('\'', "\"");
        let said =
            check(&[("loop.yaml", of(&format!("{{command: 'true', name: {name}}}")))], "loop.yaml");
        let expected = "a name of at most 64 letters, digits, `.`, `_` and `-`";
        assert!(said.contains(expected) && said.contains(" --> loop.yaml:2:"), "{name}: {said}");
    }
    // An agent's limits are remembered by its name, also from one stage to the next.
    let stages = "stages:\n  - {name: plan, runs: 1, loop: {prompt: p, agent: {command: 'true', name: dev}}}\n  \
                  - {name: work, runs: 1, loop: {prompt: p, agent: {command: 'false', name: dev}}}\n";
    let said = check(&[("pipeline.yaml", stages.to_owned())], "pipeline.yaml");
    assert!(said.contains("a name that no other agent of this session has"), "{said}");
    assert!(said.contains(" --> pipeline.yaml:3:"), "{said}");
}

#[test]
fn the_same_agent_may_work_under_its_name_in_several_stages() {
    let stage = |name: &str| {
        format!(
            "  - {{name: {name}, runs: 1, loop: {{prompt: p, agent: {{command: 'true', name: dev}}}}}}\n"
        )
    };
    let sandbox = Sandbox::new()
        .file("pipeline.yaml", format!("stages:\n{}{}", stage("plan"), stage("work")));
    let ran = run(&sandbox, "pipeline.yaml", 0);
    assert_eq!(ran.stdout.matches("iteration 1: agent dev works\n").count(), 2, "{}", ran.stdout);
}
