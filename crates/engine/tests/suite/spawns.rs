//! Hooks that start pipelines: the child's input, its result, and how it is ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hookwright_engine::hook::SpawnDir;
use hookwright_engine::ports::memory::{InMemoryPipelines, NoPipelines};
use hookwright_engine::ports::{Child, ChildEnd, NotRun, Pipelines, Ports, Promise};
use hookwright_engine::{Fired, Secrets};
use hookwright_events::{Status, Verdict};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::{Host, only};

fn with(pipelines: &Arc<InMemoryPipelines>) -> Ports {
    Ports { pipelines: Arc::clone(pipelines) as _, ..Ports::default() }
}

/// A host whose pipeline `review` ends like this.
fn host(hooks: &str, ends: &[ChildEnd]) -> (Host, Arc<InMemoryPipelines>) {
    let pipelines = Arc::new(InMemoryPipelines::default());
    ends.iter().for_each(|end| pipelines.add_end("review", end.clone()));
    (Host::with(hooks, with(&pipelines), &[]), pipelines)
}

fn completed(output: Value) -> ChildEnd {
    ChildEnd { completed: true, what: "completed".to_owned(), output: Some(output) }
}

fn failed(output: Option<Value>) -> ChildEnd {
    ChildEnd { completed: false, what: "session x failed: no".to_owned(), output }
}

fn statuses(fired: &Fired) -> Vec<(&str, Status, Option<&str>)> {
    let reports = fired.reports.iter();
    reports.map(|it| (it.id.as_str(), it.status, it.reason.as_deref())).collect()
}

// Conformance: agent-pipelines-043, agent-pipelines-070
#[tokio::test]
async fn a_child_is_given_its_inputs_as_values_inside_the_json() {
    let hooks = "
hooks:
  iteration:complete:
    - {id: a, pipeline: review, working_dir: session, inputs: {files: '${CHANGED_FILES}', deep: [{n: 3, by: 'of ${SESSION}'}], key: '${TOKEN}'}}
";
    let pipelines = Arc::new(InMemoryPipelines::default());
    pipelines.add("review", json!({ "said": "the key is hunter-2222" }));
    let secrets = Secrets::new(vec![("TOKEN".to_owned(), "hunter-2222".to_owned())]);
    let host = Host::with_secrets(hooks, with(&pipelines), &[], secrets);
    let data = json!({
        "session": "s", "iteration": 7, "changed_files": ["a.rs", "\"}, \"admin\": true"]
    });
    let fired = host.fire("iteration:complete", data).await;
    let started = pipelines.started();
    let child = &started[0];
    assert_eq!(
        Value::Object(child.inputs.clone()),
        json!({
            "files": "a.rs\n\"}, \"admin\": true",
            "deep": [{ "n": 3, "by": "of s" }],
            "key": "hunter-2222",
        })
    );
    let by = &child.started_by;
    assert_eq!(
        (child.pipeline.as_str(), child.working_dir, by.hook.as_str(), by.event.as_str()),
        ("review", SpawnDir::Session, "a", "iteration:complete")
    );
    assert_eq!((by.iteration, by.firing, by.awaited), (7, 1, true));
    // A value passed on purpose is still redacted.
    assert_eq!(fired.reports[0].stdout, r#"{"said":"the key is [secret TOKEN]"}"#);
}

#[tokio::test]
async fn inputs_that_cannot_be_filled_fail_the_hook_before_anything_starts() {
    for (input, said) in [
        ("${NOBODY_KNOWS}", "unknown variable `NOBODY_KNOWS` in `inputs`"),
        ("${ITERATON}", "unknown variable `ITERATON` in `inputs`, did you mean `ITERATION`?"),
        ("${CALLBACK_URL}", "`CALLBACK_URL` has no value in `inputs`"),
    ] {
        let hooks = format!(
            "hooks: {{stage:start: [{{pipeline: review, on_failure: retry, retries: 2, inputs: {{x: '{input}'}}}}]}}"
        );
        let (host, pipelines) = host(&hooks, &[completed(json!({}))]);
        let fired = host.fire("stage:start", json!({})).await;
        assert_eq!(only(&fired), (Status::Failed, said.to_owned()));
        assert!(pipelines.started().is_empty());
    }
}

// Conformance: agent-pipelines-052
#[tokio::test]
async fn a_childs_output_is_available_to_later_hooks_and_events() {
    let hooks = "
hooks:
  stage:complete:
    - {id: a, pipeline: review}
    - {id: b, await: true, when: \"${SPAWN_OUTPUT.status} == 'completed'\", command: 'echo \"${SPAWN_OUTPUT.summary}\" > here; echo \"$SPAWN_OUTPUT\" > whole'}
  session:end:
    - {id: c, await: true, command: 'echo \"${SPAWN_OUTPUT.summary}\" > later'}
";
    let output = json!({ "status": "completed", "summary": "all $(well) \"" });
    let (host, _) = host(hooks, &[completed(output.clone())]);
    host.fire("stage:complete", json!({ "session": "s" })).await;
    assert_eq!(host.read("here"), "all $(well) \"\n");
    assert_eq!(serde_json::from_str::<Value>(&host.read("whole")).expect("JSON"), output);
    host.fire("session:end", json!({ "session": "s" })).await;
    assert_eq!(host.read("later"), "all $(well) \"\n");
}

#[tokio::test]
async fn a_child_without_output_leaves_nothing_of_the_one_before() {
    let hooks = "
hooks:
  stage:complete:
    - {id: a, pipeline: review}
    - {id: b, pipeline: review}
    - {id: c, await: true, command: 'echo \"[$SPAWN_OUTPUT]\" > left'}
";
    let (host, _) = host(hooks, &[completed(json!({ "n": 1 })), failed(None)]);
    host.fire("stage:complete", json!({})).await;
    assert_eq!(host.read("left"), "[]\n");
}

// Conformance: agent-pipelines-048
#[tokio::test]
async fn a_child_that_fails_is_a_hook_that_fails() {
    for (rest, verdict) in
        [("", "proceed"), (", on_failure: abort", "hook a failed (session x failed: no)")]
    {
        let hooks = format!("hooks: {{stage:complete: [{{id: a, pipeline: review{rest}}}]}}");
        let output = Some(json!({ "status": "failed" }));
        let (host, pipelines) = host(&hooks, &[failed(output)]);
        let fired = host.fire("stage:complete", json!({})).await;
        assert_eq!(fired.reports[0].status, Status::Failed);
        assert_eq!(fired.reports[0].stdout, r#"{"status":"failed"}"#);
        let found = match fired.decision.verdict {
            Verdict::Abort { reason } => reason,
            _ => "proceed".to_owned(),
        };
        assert_eq!(found, verdict);
        assert_eq!(pipelines.started().len(), 1, "spawns are not tried again unless asked");
    }
}

// Conformance: agent-pipelines-049
#[tokio::test]
async fn retries_start_a_child_that_failed_again() {
    let hooks = "hooks: {stage:complete: [{id: a, pipeline: review, on_failure: retry, retries: 2, retry_delay: 1ms}]}";
    let (host, pipelines) = host(hooks, &[failed(None), completed(json!({}))]);
    let fired = host.fire("stage:complete", json!({})).await;
    assert_eq!(statuses(&fired), [("a", Status::Success, Some("completed"))]);
    assert_eq!((fired.reports[0].attempts, pipelines.started().len()), (2, 2));
}

#[tokio::test]
async fn with_pipe_output_the_agent_gets_the_childs_output() {
    let hooks = "hooks: {stage:complete: [{id: a, pipeline: review, pipe_output: true}]}";
    for (end, piped) in [
        (completed(json!({ "summary": "fine" })), r#"{"summary":"fine"}"#),
        (failed(Some(json!({ "n": 1 }))), "[hook a: failed (session x failed: no)]\n{\"n\":1}"),
    ] {
        let (host, _) = host(hooks, &[end]);
        let fired = host.fire("stage:complete", json!({})).await;
        assert_eq!(fired.decision.piped_output, piped);
    }
}

#[tokio::test]
async fn outside_of_a_session_such_a_hook_fails_with_a_reason() {
    let ports = Ports { pipelines: Arc::new(NoPipelines), ..Ports::default() };
    let host = Host::with("hooks: {tool:pre_execute: [{id: a, pipeline: x}]}", ports, &[]);
    let fired = host.fire("tool:pre_execute", json!({})).await;
    let reason = "hook a failed (pipelines need a session, but this \
                  event was fired outside a session); make its pipeline complete, or set on_failure: continue";
    assert_eq!(fired.decision.verdict, Verdict::Block { reason: reason.to_owned() });
}

/// A child that runs until it is asked to end, or beyond.
#[derive(Default)]
struct Lasting {
    ends_when_asked: bool,
    runs: Notify,
    asked: std::sync::Mutex<Option<String>>,
    dropped: AtomicBool,
}

struct Dropped<'a>(&'a AtomicBool);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Pipelines for Lasting {
    fn start(&self, child: Child) -> Promise<'_, Result<ChildEnd, NotRun>> {
        Box::pin(async move {
            let _dropped = Dropped(&self.dropped);
            self.runs.notify_one();
            child.end.token().cancelled().await;
            *self.asked.lock().expect("no panic holds it") = child.end.why().map(str::to_owned);
            if !self.ends_when_asked {
                std::future::pending::<()>().await;
            }
            Ok(failed(None))
        })
    }
}

fn lasting(hooks: &str, ends_when_asked: bool) -> (Arc<Host>, Arc<Lasting>) {
    let child = Arc::new(Lasting { ends_when_asked, ..Lasting::default() });
    let ports = Ports { pipelines: Arc::clone(&child) as _, ..Ports::default() };
    (Arc::new(Host::with(hooks, ports, &[])), child)
}

// Conformance: agent-pipelines-047
#[tokio::test(start_paused = true)]
async fn when_its_time_is_over_a_child_is_asked_to_end_and_then_dropped() {
    for ends_when_asked in [true, false] {
        let hooks = "hooks: {stage:complete: [{id: a, pipeline: x, timeout: 90}]}";
        let (host, child) = lasting(hooks, ends_when_asked);
        let fired = host.fire("stage:complete", json!({})).await;
        assert_eq!(statuses(&fired), [("a", Status::TimedOut, Some("timed out after 90 s"))]);
        assert_eq!(child.asked.lock().expect("no panic").as_deref(), Some("timed out after 90 s"));
        assert!(child.dropped.load(Ordering::Relaxed));
    }
}

#[tokio::test]
async fn an_interrupt_requests_the_childs_end_and_waits_for_it() {
    let hooks = "hooks: {stage:complete: [{id: a, pipeline: x}]}";
    let (host, child) = lasting(hooks, true);
    let (firing, engine) = (Arc::clone(&host), host.engine.clone());
    let fired = tokio::spawn(async move { firing.fire("stage:complete", json!({})).await });
    child.runs.notified().await;
    engine.interrupt();
    let fired = fired.await.expect("no panic");
    assert_eq!(statuses(&fired), [("a", Status::Failed, Some("interrupted"))]);
    assert_eq!(child.asked.lock().expect("no panic").as_deref(), Some("interrupted"));
}

// Conformance: agent-pipelines-046
#[tokio::test(start_paused = true)]
async fn without_await_the_firing_continues_and_the_child_is_not_lost() {
    let hooks = "hooks: {stage:complete: [{id: a, pipeline: x, await: false, timeout: 100ms}]}";
    let (host, child) = lasting(hooks, true);
    let fired = host.fire("stage:complete", json!({})).await;
    assert_eq!(statuses(&fired), [("a", Status::Started, None)]);
    assert_eq!(host.engine.in_background(), ["a"]);
    host.engine.settle().await;
    assert!(child.dropped.load(Ordering::Relaxed));
    assert!(host.engine.in_background().is_empty());
}
