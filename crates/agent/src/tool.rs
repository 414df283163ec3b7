//! [`Tool`]: what the model can call. A tool says what it would touch, runs one call to its end, and
//! decides nothing: permissions and hooks come before it.

use std::path::PathBuf;
use std::time::Duration;

use hookwright_engine::ports::Promise;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// Its name: ours, `bash`, or `mcp__server__tool`.
    pub name: String,
    /// What it does and how it is used.
    pub description: String,
    /// The JSON schema of its input.
    pub input_schema: Value,
}

/// Something that the model can call.
pub trait Tool: Send + Sync {
    /// What a model is told about it. It is the same during a whole session.
    fn spec(&self) -> &ToolSpec;

    /// What a call with this input would touch. Permissions are judged by it.
    fn touches(&self, input: &Map<String, Value>) -> Touches;

    /// Runs one call to its end. When `call.cancel` is cancelled, everything that it started is ended, and
    /// it ends as [`ToolEnd::Failed`] with `is_interrupt`.
    fn run<'a>(&'a self, call: ToolCall<'a>) -> Promise<'a, ToolEnd>;
}

/// One call, after hooks and permissions.
pub struct ToolCall<'a> {
    /// The call's id.
    pub id: &'a str,
    /// Its input, which fits the tool's schema.
    pub input: &'a Map<String, Value>,
    /// What [`Tool::touches`] said when hooks and permissions judged the call. A tool whose path leads
    /// elsewhere by now fails: another tool may have exchanged a link meanwhile.
    pub judged: &'a Touches,
    /// The unique name of this run, which every process of it has to carry: after a crash they are found
    /// by it.
    pub run_id: &'a str,
    /// Ends it early.
    pub cancel: &'a CancellationToken,
}

/// What a call would touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touches {
    /// It runs this shell command.
    Command(String),
    /// It reads what is at this path, resolved through links.
    Reads(PathBuf),
    /// It changes what is at this path, resolved through links.
    Changes(PathBuf),
    /// A path that the tool refuses, whatever the rules say: outside the workspace, or protected. The text
    /// says why.
    Refused(String),
    /// It starts a subagent, whose own calls are judged one by one.
    Subagent,
    /// Something else, such as a server's tool.
    Other,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolEnd {
    /// It ran, also if what it ran failed (a command with exit code 1).
    Ran {
        /// What hooks read as `tool_response`, with the field names that scripts for other agents know.
        response: Value,
        /// What the model reads.
        text: String,
        /// How long it took.
        took: Duration,
    },
    /// It could not do its work.
    Failed {
        /// Why; the model reads this.
        error: String,
        /// It was cut off.
        is_interrupt: bool,
        /// How long it took.
        took: Duration,
    },
}
