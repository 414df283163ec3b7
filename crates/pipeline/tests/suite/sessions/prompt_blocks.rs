//! What an agent that takes a prompt in blocks is given.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_agents::{Agent, Turn, TurnEnd, TurnPorts};
use hookwright_engine::ports::Promise;
use hookwright_events::{Output, ProcessOutcome};

use super::project::Project;

/// Keeps the blocks of each prompt.
#[derive(Clone, Default)]
struct KeepsBlocks {
    prompts: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Agent for KeepsBlocks {
    fn kind(&self) -> &'static str {
        "test"
    }

    fn run<'a>(&'a self, turn: &'a Turn, _ports: TurnPorts<'a>) -> Promise<'a, TurnEnd> {
        self.prompts.lock().expect("no test panics with it").push(turn.prompt.clone());
        let outcome = ProcessOutcome::Exited { code: 0, output: Output::default() };
        Box::pin(async { TurnEnd { outcome, took: Duration::ZERO, report: None } })
    }
}

// Conformance: iteratr-033
#[tokio::test]
async fn hook_output_is_one_block_before_the_block_with_the_task() {
    let text = "prompt: the task\nagent: {script: turns.yaml}\n\
                termination: {type: fixed, iterations: 2}\nhooks:\n  \
                session:start: [{command: echo from the start, pipe_output: true}]\n  \
                iteration:start: [{command: 'echo before $ITERATION', pipe_output: true, when: '${ITERATION} == 1'}]\n";
    let agent = KeepsBlocks::default();
    let project = Project::new(&[("loop.yaml", text), ("turns.yaml", "turns: [[]]")]);
    project.asking(&agent).run().await;
    let prompts = agent.prompts.lock().unwrap().clone();
    let [first, second] = &prompts[..] else { panic!("two turns: {prompts:?}") };
    let [output, task] = &first[..] else { panic!("two blocks: {first:?}") };
    assert!(output.ends_with("\n\nfrom the start\n\nbefore 1"), "{output}");
    assert!(task.starts_with("the task\n"), "{task}");
    // Without output there is only the task.
    assert_eq!(second.len(), 1, "{second:?}");
    assert!(second[0].starts_with("the task\n"), "{second:?}");
}
