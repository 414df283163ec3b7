use hookwright_events::Status;
use serde_json::json;

use crate::support::{Host, Left, block, only, proceed};

async fn guard(entry: &str) -> (Status, String, serde_json::Value) {
    let host = Host::new(&format!("hooks: {{tool:pre_execute: [{entry}]}}"));
    host.write("plain.txt", "not a program");
    let fired = host.fire("tool:pre_execute", json!({ "tool_name": "bash" })).await;
    let (status, reason) = only(&fired);
    (status, reason, fired.record())
}

#[tokio::test]
async fn a_guard_that_is_broken_in_any_way_blocks_and_names_the_fix() {
    for (entry, status, said) in [
        ("{command: exit 1}", Status::Failed, "exit code 1"),
        ("{command: ./missing.sh}", Status::Failed, "cannot start: exit code 127"),
        ("{command: ./plain.txt}", Status::Failed, "cannot start: exit code 126"),
        ("{command: python3 missing.py}", Status::Failed, "script `missing.py` does not exist"),
        (
            "{command: 'true', shell: no-such-shell}",
            Status::Failed,
            "shell `no-such-shell` not found",
        ),
        ("{command: 'true', working_dir: nowhere}", Status::Failed, "nowhere"),
        ("{command: 'true', working_dir: plain.txt}", Status::Failed, "plain.txt"),
        (
            "{command: 'sleep 1000; echo x', timeout: 50ms}",
            Status::TimedOut,
            "timed out after 50 ms",
        ),
        ("{command: 'kill -9 $$'}", Status::Failed, "killed by signal 9"),
        ("{command: 'echo \"{broken\"'}", Status::Failed, "its answer cannot be read"),
        ("{command: 'echo \"{\\\"decision\\\": \\\"maybe\\\"}\"'}", Status::Failed, "`maybe`"),
        ("{command: 'true', when: \"'a' % 2 == 0\"}", Status::Failed, "its condition"),
        ("{type: git-commit}", Status::Failed, "is not in a git repository"),
    ] {
        let (found, reason, record) = guard(entry).await;
        assert_eq!(found, status, "{entry}: {reason}");
        assert!(reason.contains(said), "{entry}: {reason}");
        assert!(reason.contains("hook hookwright/tool:pre_execute#0 failed"), "{reason}");
        assert!(reason.ends_with("make it exit with 0, or set on_failure: continue"), "{reason}");
        assert_eq!(record["decision"], "block", "{entry}");
        assert_eq!(record["reason"], *reason);
    }
}

#[tokio::test]
async fn with_on_failure_continue_it_lets_pass() {
    let (status, reason, record) = guard("{command: exit 1, on_failure: continue}").await;
    assert_eq!((status, reason.as_str()), (Status::Failed, "exit code 1"));
    assert_eq!(record["decision"], json!(null));
}

#[tokio::test]
async fn at_a_stop_a_broken_hook_does_not_trap_the_agent() {
    let host = Host::new("hooks: {Stop: [{command: exit 1}]}");
    let fired = host.fire("Stop", json!({})).await;
    assert_eq!(fired.decision.verdict, proceed());
    assert_eq!(only(&fired), (Status::Failed, "exit code 1".into()));
}

#[tokio::test]
async fn output_before_a_timeout_is_kept() {
    // A busy machine needs longer until the command has printed; only then is there output to keep.
    for timeout in (0..8).map(|doubled| 200 << doubled) {
        let host = Host::new(&format!(
            "hooks: {{Stop: [{{timeout: {timeout}ms, kill_grace: 10ms, command: 'echo $$ > pid;
                              echo out; echo err >&2; touch printed; exec sleep 1000'}}]}}"
        ));
        let _command = Left::by(&host, "pid");
        let fired = host.fire("Stop", json!({})).await;
        assert_eq!(only(&fired).0, Status::TimedOut);
        if host.exists("printed") {
            assert_eq!(fired.reports[0].stdout, "out\n");
            assert_eq!(fired.reports[0].stderr, "err\n");
            return;
        }
    }
    panic!("the command never came so far as to print");
}

#[tokio::test]
async fn a_hook_that_does_not_read_its_input_is_fine() {
    let host = Host::new("hooks: {UserPromptSubmit: [{command: exec true}]}");
    let prompt = "x".repeat(3 * 1024 * 1024);
    for _ in 0..5 {
        let fired = host.fire("UserPromptSubmit", json!({ "prompt": prompt })).await;
        assert_eq!(only(&fired), (Status::Success, String::new()));
    }
}

#[tokio::test]
async fn output_of_any_kind_and_size_is_read_and_bounded() {
    let host = Host::new(
        r"
hooks:
  tool:error:
    - {id: large, await: true, command: 'head -c 104857600 /dev/zero | tr \\0 x', timeout: 300}
    - {id: bytes, await: true, command: 'printf ''a\377b\000c'''}
    - {id: noisy, await: true, command: 'head -c 1048576 /dev/zero | tr \\0 e >&2'}
",
    );
    let fired = host.fire("tool:error", json!({})).await;
    let [large, bytes, noisy] = &fired.reports[..] else { panic!("three hooks") };
    assert_eq!(large.status, Status::Success);
    assert!(large.stdout.len() < 1024 * 1024 + 200, "{}", large.stdout.len());
    assert!(large.stdout.contains("bytes left out"));
    assert_eq!(bytes.stdout, "a\u{fffd}b\0c");
    assert_eq!(noisy.stderr.len(), 1024 * 1024);
}

#[tokio::test]
async fn a_hook_that_would_wake_itself_again_is_refused_and_the_circle_is_named() {
    use hookwright_engine::Chain;
    use hookwright_engine::Firing;

    use crate::support::event;

    let host = Host::new(
        "hooks: {tool:pre_execute: [{id: guard, command: 'printf %s \"$HOOKWRIGHT_CHAIN\" > chain'}]}",
    );
    host.fire("tool:pre_execute", json!({})).await;
    // The hook's command carries the chain; firing from there must not run the hook again.
    let firing = Firing { chain: Chain::from_text(&host.read("chain")), ..Firing::default() };
    let again = host.engine.fire(event("tool:pre_execute", json!({})), firing.clone()).await;
    assert_eq!(
        again.decision.verdict,
        block(
            "hook guard failed (cannot start: it would wake itself again: tool:pre_execute (guard) \
             → tool:pre_execute (guard))"
        )
    );
    let elsewhere = host.engine.fire(event("tool:error", json!({})), firing).await;
    assert_eq!(elsewhere.decision.verdict, proceed());
}
