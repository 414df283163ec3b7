//! The built-in tools in a real folder: what hooks and the model get, and what hostile inputs, files and
//! repositories cannot do.

mod bash;
mod files;
mod memory;
mod recorded;
mod search;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hookwright_agent::input_schema::validate;
use hookwright_agent::tool::{Tool, ToolCall, ToolEnd, Touches};
use hookwright_agent::tools::{ToolSettings, built_in_tools};
use hookwright_agent::workspace::{ProtectedFiles, Workspace};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// The tools in a workspace of their own, beside a folder that is outside.
struct Bench {
    /// Holds `workspace` and `outside`.
    folder: TempDir,
    tools: Vec<Arc<dyn Tool>>,
    runtime: Runtime,
    cancel: CancellationToken,
}

impl Bench {
    fn new() -> Self {
        Self::with(|root| {
            let transcript = root.join("transcripts/session.jsonl");
            let endings = ["hookwright.yaml", ".claude/settings*.json", ".forge/hooks.json"];
            (Vec::new(), ProtectedFiles::new(vec![transcript], &endings).unwrap())
        })
    }

    fn with(settings: impl FnOnce(&Path) -> (Vec<PathBuf>, ProtectedFiles)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("workspace");
        fs::create_dir(&root).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        let root = fs::canonicalize(root).unwrap();
        let (allowed, protected) = settings(&root);
        let workspace = Workspace::open(&root, &allowed, protected).unwrap();
        let path = (OsString::from("PATH"), OsString::from("/usr/local/bin:/usr/bin:/bin"));
        let tools = built_in_tools(ToolSettings {
            workspace,
            shell: "/bin/bash".into(),
            environment: vec![path].into(),
        });
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().unwrap();
        Self { folder, tools, runtime, cancel: CancellationToken::new() }
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.folder.path().join("workspace")).unwrap()
    }

    fn outside(&self) -> PathBuf {
        fs::canonicalize(self.folder.path().join("outside")).unwrap()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.root().join(name)).unwrap()
    }

    fn tool(&self, name: &str) -> &Arc<dyn Tool> {
        self.tools.iter().find(|tool| tool.spec().name == name).unwrap()
    }

    fn touches(&self, name: &str, input: &Value) -> Touches {
        self.tool(name).touches(&object(input))
    }

    /// A call as the turn makes it: checked against the schema, judged, run.
    fn end(&self, name: &str, input: &Value) -> ToolEnd {
        self.runtime.block_on(run(self.tool(name), input, &self.cancel))
    }

    /// The response and the text of a call that ran.
    fn ran(&self, name: &str, input: Value) -> (Value, String) {
        match self.end(name, &input) {
            ToolEnd::Ran { response, text, .. } => (response, text),
            ToolEnd::Failed { error, .. } => panic!("{name} {input} failed: {error}"),
        }
    }

    /// Why a call failed. Paths of this run are `/workspace` and `/outside`.
    fn failed(&self, name: &str, input: Value) -> String {
        match self.end(name, &input) {
            ToolEnd::Ran { text, .. } => panic!("{name} {input} ran: {text}"),
            ToolEnd::Failed { error, is_interrupt, .. } => {
                assert!(!is_interrupt, "{error}");
                self.plain(&error)
            }
        }
    }

    fn plain(&self, text: &str) -> String {
        let text = text.replace(&*self.root().to_string_lossy(), "/workspace");
        text.replace(&*self.outside().to_string_lossy(), "/outside")
    }
}

async fn run(tool: &Arc<dyn Tool>, input: &Value, cancel: &CancellationToken) -> ToolEnd {
    let refused = |error| ToolEnd::Failed { error, is_interrupt: false, took: Default::default() };
    if let Err(error) = validate(tool.spec(), input) {
        return refused(error);
    }
    let input = object(input);
    let judged = tool.touches(&input);
    if let Touches::Refused(error) = judged {
        return refused(error);
    }
    // A tool that takes too long ends every process that carries its name, also those of other tests.
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let run_id = format!("tool-{}-{}", std::process::id(), RUNS.fetch_add(1, Ordering::Relaxed));
    tool.run(ToolCall { id: "toolu_1", input: &input, judged: &judged, run_id: &run_id, cancel })
        .await
}

fn object(input: &Value) -> Map<String, Value> {
    input.as_object().unwrap().clone()
}
