//! A driver that fires events while its agent works.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_agents::{Agent, Turn, TurnEnd, TurnPorts};
use hookwright_engine::ports::Promise;
use hookwright_events::{EventName, Output, ProcessOutcome, SessionStatus, Verdict};
use serde_json::{Value, json};

use super::project::Project;

/// Asks before its only tool call of each turn.
#[derive(Clone, Default)]
struct AsksBeforeTools {
    /// The verdicts, in order.
    seen: Arc<Mutex<Vec<Verdict>>>,
    prompts: Arc<Mutex<Vec<String>>>,
}

impl AsksBeforeTools {
    fn seen(&self) -> Vec<Verdict> {
        self.seen.lock().expect("no test panics with it").clone()
    }

    async fn turn(&self, turn: &Turn, ports: TurnPorts<'_>) -> TurnEnd {
        self.prompts.lock().expect("no test panics with it").push(turn.prompt_text());
        let Value::Object(data) = json!({ "tool_name": "bash", "tool_input": { "command": "x" } })
        else {
            unreachable!("an object")
        };
        let event = EventName::resolve("tool:pre_execute").expect("it is in the table");
        let decision = ports.events.fire(event, data).await;
        let is_cancelled = ports.cancel.is_cancelled();
        self.seen.lock().expect("no test panics with it").push(decision.verdict);
        let output = Output::default();
        let outcome = match is_cancelled {
            true => ProcessOutcome::Interrupted { output },
            false => ProcessOutcome::Exited { code: 0, output },
        };
        TurnEnd { outcome, took: Duration::ZERO, report: None }
    }
}

impl Agent for AsksBeforeTools {
    fn kind(&self) -> &'static str {
        "test"
    }

    fn run<'a>(&'a self, turn: &'a Turn, ports: TurnPorts<'a>) -> Promise<'a, TurnEnd> {
        Box::pin(self.turn(turn, ports))
    }
}

fn loop_with(hook: &str) -> String {
    format!(
        "name: work\nprompt: p\nagent: {{script: turns.yaml}}\ntermination: {{type: fixed, iterations: 2}}\n\
         hooks:\n  tool:pre_execute:\n    - {hook}\n"
    )
}

fn project(hook: &str, agent: &AsksBeforeTools) -> Project {
    let files = [("loop.yaml", loop_with(hook)), ("turns.yaml", "turns: [[]]".to_owned())];
    Project::new(&files.each_ref().map(|(path, text)| (*path, text.as_str()))).asking(agent)
}

fn blocked(reason: &str) -> Verdict {
    Verdict::Block { reason: reason.to_owned() }
}

/// From the journal: keys of firings within turns, and starts and ends of turns.
fn told(project: &Project) -> Vec<String> {
    let journal = project.journal();
    let told = journal.iter().filter_map(|entry| {
        let key = entry["key"].as_str().unwrap_or_default();
        match entry["kind"].as_str()? {
            "fired" => key.starts_with("turn/").then(|| key.to_owned()),
            kind @ ("turn_starting" | "turn_ended") => Some(kind.to_owned()),
            _ => None,
        }
    });
    told.collect()
}

#[tokio::test]
async fn a_driver_that_asks_before_a_tool_call_sees_that_a_hook_blocks_it() {
    let agent = AsksBeforeTools::default();
    let hook = r#"command: 'test "$TOOL_NAME" = bash || exit 9; echo "not in $STAGE" >&2; exit 2'"#;
    let mut project = project(hook, &agent);
    let ended = project.take_up().await.unwrap();
    assert_eq!((ended.status, ended.iterations), (SessionStatus::Completed, 2));
    assert_eq!(agent.seen(), [blocked("not in work"), blocked("not in work")]);
    assert_eq!(
        told(&project),
        [
            "turn_starting",
            "turn/0/1/1/1",
            "turn_ended",
            "turn_starting",
            "turn/0/2/1/1",
            "turn_ended",
        ]
    );
}

#[tokio::test]
async fn a_turn_interrupted_after_its_driver_fired_is_repeated_with_a_firing_of_its_own() {
    let agent = AsksBeforeTools::default();
    // It says something else each time, which the driver tells the agent.
    let hook = "command: 'echo x >> asked; echo \"no $(wc -l < asked)\" >&2; exit 2'";
    let mut project = project(hook, &agent);
    project.store().refuse("turn_ended", 0);
    project.take_up().await.expect_err("nothing may happen any more");
    project.store().take_all();
    let ended = project.take_up().await.unwrap();
    assert_eq!((ended.status, ended.iterations), (SessionStatus::Completed, 2));
    assert_eq!(agent.seen(), [blocked("no 1"), blocked("no 2"), blocked("no 3")]);
    assert_eq!(
        told(&project),
        [
            "turn_starting",
            "turn/0/1/1/1",
            "turn_starting",
            "turn/0/1/2/1",
            "turn_ended",
            "turn_starting",
            "turn/0/2/1/1",
            "turn_ended",
        ]
    );
    let prompts = agent.prompts.lock().unwrap().clone();
    assert!(prompts.iter().all(|prompt| !prompt.contains("no ")), "{prompts:?}");
}

#[tokio::test]
async fn a_hooks_message_within_a_turn_is_passed_on_by_the_driver_and_not_by_the_next_prompt() {
    let agent = AsksBeforeTools::default();
    let mut project = project("{command: echo overheard, pipe_output: true}", &agent);
    project.store().refuse("turn_ended", 0);
    project.take_up().await.expect_err("nothing may happen any more");
    project.store().take_all();
    project.take_up().await.unwrap();
    let prompts = agent.prompts.lock().unwrap().clone();
    assert_eq!(prompts.len(), 3);
    assert!(prompts.iter().all(|prompt| !prompt.contains("overheard")), "{prompts:?}");
}

#[tokio::test]
async fn an_abort_within_a_turn_cancels_the_turn_and_ends_the_session() {
    let agent = AsksBeforeTools::default();
    let mut project = project("{command: exit 1, on_failure: abort}", &agent);
    let ended = project.take_up().await.unwrap();
    assert_eq!(ended.status, SessionStatus::Aborted);
    assert!(matches!(agent.seen()[..], [Verdict::Abort { .. }]), "{:?}", agent.seen());
    // The turn has no end, so it is repeated when the session is resumed.
    project.take_up().await.unwrap();
    assert_eq!(told(&project), ["turn_starting", "turn/0/1/1/1", "turn_starting", "turn/0/1/2/1"]);
}

#[tokio::test]
async fn if_a_firing_cannot_be_recorded_the_answer_is_no() {
    let agent = AsksBeforeTools::default();
    let mut project = project("command: 'true'", &agent);
    project.store().refuse("turn/0/1/1/1", 0);
    project.take_up().await.expect_err("nothing may happen any more");
    assert!(matches!(agent.seen()[..], [Verdict::Abort { .. }]), "{:?}", agent.seen());
}
