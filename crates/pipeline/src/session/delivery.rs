//! What the agent is told after all iterations, and what is no longer delivered.

use super::{Halt, Session};
use crate::folder::IterationAt;
use crate::limits::{UNDELIVERED_CHARS_MAX, UNDELIVERED_TOLD_MAX};
use crate::prompt;

impl Session {
    /// The prompt of the iteration that delivers the reports of hooks.
    pub(super) fn prompt_of_delivery(&self, at: IterationAt<'_>) -> Vec<String> {
        let error = self.course.position().error.as_deref().map(prompt::last_turn_failed);
        let status = self.folder.status(at).to_string_lossy().into_owned();
        let task = format!("{}\n\n{}", prompt::FINAL_DELIVERY, prompt::about_status(&status));
        self.pending.lock().block().into_iter().chain(error).chain([task]).collect()
    }

    /// Notes what the agent should have received and will not, for this reason.
    pub(super) async fn note_undelivered(&self, why: &str) -> Result<(), Halt> {
        let cut = |line: &str| line.chars().take(UNDELIVERED_CHARS_MAX).collect::<String>();
        let headlines: Vec<String> = self.pending.lock().headlines().map(cut).collect();
        if headlines.is_empty() {
            return Ok(());
        }
        let told = headlines[..headlines.len().min(UNDELIVERED_TOLD_MAX)].join("; ");
        let more = match headlines.len().saturating_sub(UNDELIVERED_TOLD_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let note = format!("not delivered to the agent, since {why}: {told}{more}");
        Ok(self.recorder.note(note).await?)
    }
}
