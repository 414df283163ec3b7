//! The output of a session that a hook has started: `output.json`.

use hookwright_events::SessionStatus;
use serde_json::json;

use super::{Halt, Session};
use crate::folder::ChildOutput;
use crate::limits::OUTPUTS_TOLD_MAX;

impl Session {
    /// Writes the session's output, unless its agent has written it. A session that will be resumed
    /// has none yet.
    pub(super) async fn leave_output(
        &self,
        status: SessionStatus,
        reason: &str,
    ) -> Result<(), Halt> {
        if self.workplace.inputs.is_none()
            || matches!(status, SessionStatus::Interrupted | SessionStatus::Paused)
        {
            return Ok(());
        }
        match self.folder.read_child_output()? {
            ChildOutput::Read(_) => return Ok(()),
            ChildOutput::Missing => {}
            ChildOutput::Broken(why) => {
                self.recorder.note(format!("{why}; it was written again")).await?
            }
        }
        let mut outputs = Vec::new();
        for index in 0..self.plan.stages.len() {
            let paths = self.folder.stage_outputs(self.stage_at(index))?;
            outputs.extend(paths.iter().map(|path| self.path_from_root(path)));
        }
        outputs.drain(..outputs.len().saturating_sub(OUTPUTS_TOLD_MAX));
        let output = json!({
            "version": 1,
            "session": self.recorder.session,
            "status": status,
            "reason": self.workplace.secrets.hide(reason),
            "iterations": self.course.position().iterations,
            "summary": self.course.position().last_summary,
            "outputs": outputs,
        });
        Ok(self.folder.write_child_output(&output)?)
    }
}
