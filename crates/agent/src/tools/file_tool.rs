//! [`FileTool`]: a tool that reads or changes files of the workspace. Such tools differ in what the
//! model is told about them, in the input that names the path, and in their work.

use std::sync::Arc;

use hookwright_engine::ports::Promise;
use tokio_util::sync::CancellationToken;

use super::file_session::FileSession;
use super::{Input, OnCancel, ToolFailure, ToolOutput, on_thread};
use crate::tool::{Tool, ToolCall, ToolEnd, ToolSpec, Touches};

pub(super) struct FileTool {
    pub(super) spec: ToolSpec,
    pub(super) session: Arc<FileSession>,
    pub(super) access: FileAccess,
    /// The input that names the path.
    pub(super) path_field: &'static str,
    pub(super) work: fn(&FileCall<'_>) -> Result<ToolOutput, ToolFailure>,
}

/// What a tool does at the path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAccess {
    Read,
    Change,
}

/// One call, as the tool's work gets it.
pub(super) struct FileCall<'a> {
    pub(super) session: &'a FileSession,
    pub(super) input: &'a Input,
    pub(super) judged: &'a Touches,
    pub(super) cancel: &'a CancellationToken,
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, input: &Input) -> Touches {
        match self.access {
            FileAccess::Read => self.session.would_read(input, self.path_field),
            FileAccess::Change => self.session.would_change(input, self.path_field),
        }
    }

    fn run<'a>(&'a self, call: ToolCall<'a>) -> Promise<'a, ToolEnd> {
        let (session, work) = (Arc::clone(&self.session), self.work);
        let (input, judged) = (call.input.clone(), call.judged.clone());
        let cancel = call.cancel.clone();
        let on_cancel = match self.access {
            FileAccess::Read => OnCancel::Leave,
            FileAccess::Change => OnCancel::Finish,
        };
        let work = move || {
            let (session, input, judged, cancel) = (&*session, &input, &judged, &cancel);
            work(&FileCall { session, input, judged, cancel })
        };
        Box::pin(on_thread(call.cancel, on_cancel, work))
    }
}
