//! Background hooks, checked by one engine and run by another.

use hookwright_config::{ConfigFile, load_text};
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use hookwright_engine::{
    Background, Engine, Event, Firing, HandedOver, Hook, Setup, Status, serde_json,
};
use serde_json::{Value, json};

use crate::support::{Host, event, until};

/// An engine that starts no background hooks, in the folder of `host`.
fn judge(host: &Host, hooks: &str) -> Engine {
    let file = ConfigFile::native("hookwright.yaml", "hookwright.yaml", Layer::Project);
    #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
    let path = std::env::var_os("PATH").expect("a PATH");
    let environment = Environment::new([("PATH".into(), path)]);
    let loaded = load_text(hooks, &file, &environment);
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    let setup = Setup::new(loaded.hooks, host.path().to_owned(), environment);
    Engine::new(Setup { background: Background::Elsewhere, ..setup })
}

/// The same, as it arrives in another process.
fn sent(handed: &HandedOver) -> HandedOver {
    let text = serde_json::to_string(handed).expect("plain data");
    serde_json::from_str(&text).expect("the same data")
}

async fn judged(host: &Host, hooks: &str, event: Event) -> (Vec<Status>, Vec<HandedOver>) {
    let engine = judge(host, hooks);
    let firing = Firing { session: Some("s".into()), ..Firing::default() };
    let fired = engine.fire(event, firing).await;
    assert!(engine.in_background().is_empty());
    let handed = engine.handed_over();
    assert!(engine.handed_over().is_empty(), "each is handed over once");
    (fired.reports.iter().map(|report| report.status).collect(), handed)
}

#[tokio::test]
async fn a_hook_that_was_handed_over_runs_elsewhere_with_the_event_and_earlier_results() {
    let hooks = "
hooks:
  session:start:
    - {id: before, command: 'cat > before; env | grep ^LAST_HOOK_STATUS > status'}
    - {id: waits, command: 'exit 1', await: true}
    - {id: after, command: 'echo $LAST_HOOK_STATUS $SOURCE $HOOKWRIGHT_CHAIN > after', when: \"${LAST_HOOK_STATUS} == 'failed'\"}
    - {id: never, command: 'echo > never', when: 'false'}
";
    let host = Host::new(hooks);
    let start = event("session:start", json!({ "source": "startup", "timestamp": "t" }));
    let (statuses, handed) = judged(&host, hooks, start).await;
    assert_eq!(
        statuses,
        [Status::Started, Status::Failed, Status::Started, Status::Skipped],
        "{handed:?}"
    );
    assert!(!host.exists("before") && !host.exists("after"), "nothing was started here");
    // All of them belong to one firing of the engine that handed them over.
    assert!(handed.iter().all(|one| one.firing == 1), "{handed:?}");
    for one in &handed {
        assert!(host.engine.take_over(sent(one)).await.is_some());
    }
    host.engine.settle().await;
    let read: Value = serde_json::from_str(&host.read("before")).expect("JSON");
    assert_eq!((&read["session"], &read["timestamp"]), (&json!("s"), &json!("t")));
    assert_eq!(host.read("status"), "LAST_HOOK_STATUS=\n");
    assert_eq!(
        host.read("after"),
        "failed startup \
         [{\"event\":\"session:start\",\"hook\":\"after\",\"file\":\"hookwright.yaml\"}]\n"
    );
    assert!(!host.exists("never"));
}

#[tokio::test]
async fn a_hook_that_was_handed_over_is_not_checked_again_but_is_retried_as_usual() {
    let hooks = "hooks: {session:start: [{command: 'echo x >> tries; [ $(wc -l < tries) -eq 3 ]',
        once: true, on_failure: retry, retry_delay: 10ms}]}";
    let host = Host::new(hooks);
    let (_, handed) = judged(&host, hooks, event("session:start", json!({}))).await;
    assert!(host.engine.take_over(sent(&handed[0])).await.is_some());
    host.engine.settle().await;
    assert_eq!(host.read("tries"), "x\nx\nx\n");
}

#[tokio::test]
async fn its_messages_wait_for_the_sessions_next_event() {
    let hooks = r#"hooks: {session:start: [{command: "echo '{\"additionalContext\":\"late\"}'"}]}"#;
    let host = Host::new(hooks);
    let (_, handed) = judged(&host, hooks, event("session:start", json!({}))).await;
    host.engine.take_over(sent(&handed[0])).await;
    host.engine.settle().await;
    let next = event("tool:pre_execute", json!({ "session": "s" }));
    let fired = host.engine.fire(next, Firing::default()).await;
    assert_eq!(fired.decision.additional_context, ["late"]);
}

#[tokio::test]
async fn a_hook_that_is_another_meanwhile_does_not_run_in_its_place() {
    let host = Host::new("hooks: {session:start: [{id: a, command: 'echo > other'}]}");
    let hooks = "hooks: {session:start: [{id: a, command: 'echo > meant'}]}";
    let (_, handed) = judged(&host, hooks, event("session:start", json!({}))).await;
    assert_eq!(host.engine.take_over(sent(&handed[0])).await, None);
    host.engine.settle().await;
    assert_eq!((host.exists("other"), host.exists("meant")), (false, false));
}

#[tokio::test]
async fn events_that_an_action_fires_hand_their_background_hooks_over_too() {
    let hooks = "
hooks:
  tool:pre_execute: [{type: git-commit, message: m}]
  git:post_commit: [{id: notify, command: 'echo > notified'}]
";
    let host = Host::new(hooks);
    for arguments in
        [&["init", "-q"][..], &["config", "user.email", "a@b"], &["config", "user.name", "a"]]
    {
        let mut git = std::process::Command::new("git");
        assert!(git.args(arguments).current_dir(host.path()).status().expect("git").success());
    }
    host.write("file", "");
    let (statuses, handed) =
        judged(&host, hooks, event("tool:pre_execute", json!({ "tool_name": "bash" }))).await;
    assert_eq!(statuses, [Status::Success]);
    let ids: Vec<&str> = handed.iter().map(|one| one.hook.as_str()).collect();
    assert_eq!(ids, ["hookwright.yaml#notify"]);
    assert!(host.engine.take_over(sent(&handed[0])).await.is_some());
    host.until_exists("notified").await;
}

#[tokio::test]
async fn a_function_of_this_program_always_runs_here() {
    let folder = tempfile::tempdir().expect("a folder");
    let done = folder.path().join("done");
    let writes = done.clone();
    let hook = Hook::on("session:start", move |_| {
        let done = writes.clone();
        async move {
            std::fs::write(done, "")?;
            Ok(hookwright_engine::Answer::default())
        }
    });
    let mut hooks = hookwright_engine::HookSet::default();
    hooks.add(hook.build().expect("a hook")).expect("room");
    let setup = Setup::new(hooks, folder.path().to_owned(), Environment::default());
    let engine = Engine::new(Setup { background: Background::Elsewhere, ..setup });
    engine.fire(event("session:start", json!({})), Firing::default()).await;
    assert!(engine.handed_over().is_empty());
    until("the function has run", || done.exists()).await;
}
