//! Limits of a queue's cost.

use crate::queues::command;
use crate::runs::{lines, run};
use crate::support::Sandbox;

/// A log line for every event, with the work item.
const LOG: &str = "hooks: {'*': [{id: log, await: true, command: 'echo \"$EVENT $ISSUE_TITLE\" | sed \"s/ $//\" >> log'}]}";

/// Closes a work item of a command's queue, and reports a cost of two dollars.
const COSTS: &str = "touch \"$ISSUE_TITLE.closed\"; echo agent >> log; echo '{\"decision\": \"stop\", \"usage\": {\"cost_usd\": 2}}' > $STATUS";

/// A project whose loop finds `a` and, if there are two, `b` to do, in a source of this kind.
fn queue(kind: &str, pieces: &[&str]) -> Sandbox {
    let source = match kind {
        "issues" => "{issues: issues/}",
        "command" => "{command: 'for it in $(cat open); do [ -e $it.closed ] || echo $it; done'}",
        _ => "{tasks: true}",
    };
    let loop_file = format!(
        "prompt: p\nmax_cost: 1\nagent: {}\ntermination: {{type: queue, source: {source}}}\n",
        command(COSTS)
    );
    let mut sandbox = Sandbox::with_hooks(LOG)
        .file("loop.yaml", loop_file)
        .file("open", pieces.join("\n"))
        .file("issues/README.md", "");
    for (number, piece) in (1..).zip(pieces) {
        sandbox = sandbox.file(&format!("issues/{number}-{piece}.md"), "");
        assert_eq!(sandbox.run(&["task", "add", piece]).code, 0);
    }
    sandbox
}

/// The events of one work item.
fn execution(piece: &str) -> Vec<String> {
    let before = ["execution:pre_start", "execution:post_start", "iteration:start"];
    let after = ["iteration:complete", "execution:pre_end", "execution:post_end"];
    let named = |event: &str| format!("{event} {piece}");
    let agent = std::iter::once("agent".to_owned());
    before.map(named).into_iter().chain(agent).chain(after.map(named)).collect()
}

#[test]
fn what_costs_too_much_is_paused_before_hooks_hear_of_the_next_piece_of_work() {
    for kind in ["issues", "command", "tasks"] {
        let sandbox = queue(kind, &["a", "b"]);
        run(&sandbox, "loop.yaml", 6);
        let mut log = vec!["session:start".to_owned(), "stage:start".to_owned()];
        log.extend(execution("a"));
        log.push("session:end".to_owned());
        let heard = || {
            let all = lines(&sandbox, "log").into_iter();
            all.filter(|line| !line.starts_with("task:")).collect::<Vec<_>>()
        };
        assert_eq!(heard(), log, "{kind}");
        let (_, status) = sandbox.json(&["status", "--json"]);
        match kind {
            "issues" => assert_eq!(status["work"]["issues"][1]["state"], "open"),
            "tasks" => assert_eq!(status["work"]["tasks"]["open"], 1),
            _ => {}
        }
        let resumed = sandbox.run(&["resume", "s", "--max-cost", "9"]);
        assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
        log.push("session:start".to_owned());
        log.extend(execution("b"));
        log.extend(["stage:complete", "session:stop", "session:end"].map(str::to_owned));
        assert_eq!(heard(), log, "{kind}");
    }
}

#[test]
fn a_queue_that_is_worked_off_is_complete_whatever_it_has_cost() {
    for kind in ["issues", "command", "tasks"] {
        run(&queue(kind, &["a"]), "loop.yaml", 0);
    }
}
