//! [`ScriptedAgent`]: an agent that follows a file of turns, so that everything can be tried and
//! tested without a model. It starts no process of its own, except for a turn's `run`.
//!
//! ```yaml
//! turns:
//!   - - say: I write a plan.                 # the first iteration: a list of actions
//!     - write: {plan.md: "one step\n"}
//!     - status: {decision: continue, summary: planned}
//!   - stage: work                            # only for this stage
//!     do:
//!       - if_prompt:
//!           contains: tests failed
//!           then: [{run: ./fix}, {status: {decision: stop, reason: fixed}}]
//!           else: [{say: "Nothing to fix in iteration ${ITERATION}."}]
//! then: repeat                               # after the last turn; or stop, or fail
//! at_end: [{say: Understood.}]               # told what hooks said after the last iteration
//! ```
//!
//! Iteration 1 of a stage gets the first turn, iteration 2 the second. A stage that turns name with
//! `stage` gets only those; every other stage gets the turns without `stage`. After the last turn:
//! `repeat` plays it again, `stop` writes a status that says stop, `fail` fails. `at_end` is the
//! turn that gets the output of hooks after the last iteration; without it that turn does nothing.
//!
//! | action | does |
//! |---|---|
//! | `say: text` | prints a line or more |
//! | `complain: text` | the same on standard error |
//! | `write: {path: text}` | writes files, and the folders they are in |
//! | `append: {path: text}` | writes at their end |
//! | `delete: [path]` | deletes files that are there |
//! | `status: {decision, reason, summary, work}` | writes the status; `decision` is continue, stop or error; also `failure`, `retry_after` (a duration), `resets_at`, `usage` and `agent_session` |
//! | `raw_status: text` | writes that text as the status, also a broken one |
//! | `fail: text` | ends the turn with exit code 1 and that text on standard error |
//! | `exit: code` | ends the turn with that code |
//! | `sleep: duration` | waits: `5`, `0.5`, `500ms`, `5m` |
//! | `wait_for: path` | waits until there is such a file |
//! | `run: command` | runs it in a shell; if it fails, the turn ends as it did |
//! | `if_prompt: {contains, then, else}` | goes on with one of two lists of actions |
//!
//! Paths are relative to the working directory and stay in it. `${STAGE}`, `${ITERATION}` and
//! `${ATTEMPT}` in texts and paths are replaced; any other `${…}` is text. A `run` is passed to the
//! shell, which has the turn's variables in its environment. If an action cannot be done (a full
//! disk, a path that leads outside through a link), the turn ends as with `fail`.

mod performance;
mod printed;
mod script;
mod tree;
mod work_tree;

use std::path::Path;
use std::sync::Arc;

use hookwright_config::Fault;
use hookwright_engine::ports::Promise;
use tokio_util::sync::CancellationToken;

use self::performance::Performance;
use self::script::{Script, ScriptPart};
use crate::agent::{Agent, AgentWatch, Turn, TurnEnd, TurnPorts};
use crate::factory::{AgentRequest, MadeAgent};
use crate::shell_run::not_started;

/// An agent that follows a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedAgent {
    script: Script,
}

pub(crate) fn make(request: &AgentRequest<'_>) -> MadeAgent {
    let script = request.definition.file("script").and_then(|path| (request.file)(path));
    match script {
        Some(script) => Ok(Arc::new(ScriptedAgent::load(script.text, script.shown_as)?)),
        // It could not be read, which was already reported.
        None => Err(Vec::new()),
    }
}

impl ScriptedAgent {
    /// Reads a script's text, or returns all its faults. Faults call the file `shown_as`.
    pub fn load(text: &str, shown_as: &Path) -> Result<Self, Vec<Fault>> {
        Script::read(text, shown_as).map(|script| Self { script })
    }

    async fn run_turn(
        &self,
        turn: &Turn,
        watch: &mut dyn AgentWatch,
        cancel: &CancellationToken,
    ) -> TurnEnd {
        let Turn { stage, iteration, .. } = turn;
        let performance = Performance::new(turn, watch, cancel);
        let part = match turn.is_final_delivery {
            true => self.script.at_end(),
            false => self.script.part(stage, *iteration),
        };
        match part {
            ScriptPart::Actions(actions) => performance.play(actions).await,
            ScriptPart::Stop => performance.play(&[script::no_more_turns()]).await,
            ScriptPart::Fail => {
                let why =
                    format!("the script has no turn for iteration {iteration} of stage `{stage}`");
                performance.play(&[script::ScriptAction::Fail(why)]).await
            }
            ScriptPart::Nothing => {
                not_started(format!("the script has no turn for stage `{stage}`"))
            }
        }
    }
}

impl Agent for ScriptedAgent {
    fn kind(&self) -> &'static str {
        "scripted"
    }

    fn run<'a>(&'a self, turn: &'a Turn, ports: TurnPorts<'a>) -> Promise<'a, TurnEnd> {
        Box::pin(self.run_turn(turn, ports.watch, ports.cancel))
    }
}
