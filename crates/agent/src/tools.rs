//! The tools that are built in: bash, read, write, edit, glob, grep.
//!
//! Inputs and responses have the fields of the tools that hook scripts are written for; recordings of the
//! real ones are in `tests/recordings/tools`. What the model reads is our own text.
//!
//! File tools share one `FileSession`: the workspace, what was read so far, and one lock for
//! changes. They work on a thread of their own, because file systems can be slow.

mod bash;
mod changed_text;
mod edit;
mod file_session;
mod file_tool;
mod glob;
mod grep;
mod input;
mod newest;
mod patch;
mod read;
mod search_time;
mod walk;
mod write;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::tool::{Tool, ToolEnd, ToolSpec};
use crate::workspace::Workspace;
use file_session::FileSession;

/// What the built-in tools need.
#[derive(Debug)]
pub struct ToolSettings {
    /// Where they work.
    pub workspace: Workspace,
    /// The shell that runs commands, with a whole path. It understands `-c`.
    pub shell: PathBuf,
    /// The environment of commands, without the keys of models.
    pub environment: Arc<[(OsString, OsString)]>,
}

/// All built-in tools, in the order in which a model is told about them.
pub fn built_in_tools(settings: ToolSettings) -> Vec<Arc<dyn Tool>> {
    let ToolSettings { workspace, shell, environment } = settings;
    let root = workspace.root().to_owned();
    let session = Arc::new(FileSession::new(workspace));
    vec![
        Arc::new(bash::BashTool::new(root, shell, environment)),
        Arc::new(read::tool(Arc::clone(&session))),
        Arc::new(write::tool(Arc::clone(&session))),
        Arc::new(edit::tool(Arc::clone(&session))),
        Arc::new(glob::tool(Arc::clone(&session))),
        Arc::new(grep::tool(session)),
    ]
}

/// What a tool has done.
struct ToolOutput {
    response: Value,
    text: String,
}

/// Why a tool has not.
#[derive(Debug)]
enum ToolFailure {
    Interrupted,
    Because(String),
}

impl From<crate::workspace::PathError> for ToolFailure {
    fn from(error: crate::workspace::PathError) -> Self {
        Self::Because(error.to_string())
    }
}

impl From<String> for ToolFailure {
    fn from(reason: String) -> Self {
        Self::Because(reason)
    }
}

fn ended(result: Result<ToolOutput, ToolFailure>, took: Duration) -> ToolEnd {
    match result {
        Ok(ToolOutput { response, text }) => ToolEnd::Ran { response, text, took },
        Err(ToolFailure::Because(error)) => ToolEnd::Failed { error, is_interrupt: false, took },
        Err(ToolFailure::Interrupted) => {
            ToolEnd::Failed { error: "interrupted".to_owned(), is_interrupt: true, took }
        }
    }
}

/// What happens to work on files when its call is cancelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnCancel {
    /// It changes nothing, so its end need not be waited for.
    Leave,
    /// It changes a file: how that ended has to be known.
    Finish,
}

/// Runs work on files on a thread of its own.
async fn on_thread<W>(cancel: &CancellationToken, on_cancel: OnCancel, work: W) -> ToolEnd
where
    W: FnOnce() -> Result<ToolOutput, ToolFailure> + Send + 'static,
{
    let started = Instant::now();
    if cancel.is_cancelled() {
        return ended(Err(ToolFailure::Interrupted), started.elapsed());
    }
    let work = tokio::task::spawn_blocking(work);
    let joined = match on_cancel {
        OnCancel::Finish => work.await,
        OnCancel::Leave => tokio::select! {
            joined = work => joined,
            () = cancel.cancelled() => Ok(Err(ToolFailure::Interrupted)),
        },
    };
    let crashed = |_| Err(ToolFailure::Because("the tool crashed; please report this".to_owned()));
    ended(joined.unwrap_or_else(crashed), started.elapsed())
}

fn spec(name: &str, description: &str, required: &[&str], properties: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
    }
}

type Input = Map<String, Value>;
