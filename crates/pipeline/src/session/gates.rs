//! Questions that end a session, and how a resumed one treats them.

use hookwright_engine::Fired;
use hookwright_engine::hook::Action;
use hookwright_events::{Status, Verdict};

use super::{Halt, Session};
use crate::history::Again;

/// How a resumed session treats questions that ended it.
pub(super) struct Questions {
    /// Hooks whose questions ended it before, and are not asked again.
    pub(super) skipped: Vec<String>,
    /// The hook whose question ended it.
    pub(super) ended_by: Option<String>,
}

impl Session {
    /// At a point at which hooks have ended the session before: the hooks that are left out there,
    /// and those that run once more.
    pub(super) fn left_at(
        &self,
        stage: Option<usize>,
        again: Option<&Again>,
    ) -> (Vec<String>, Vec<String>) {
        let Some(again) = again else { return (Vec::new(), Vec::new()) };
        let questions = again.failed.iter().filter(|id| self.is_question(stage, id)).cloned();
        let (skipped, asked): (Vec<String>, Vec<String>) =
            questions.partition(|id| self.questions.skipped.contains(id));
        if again.fires_anew {
            return (skipped, asked);
        }
        let passed = again.ran.iter().filter(|id| !asked.contains(id)).cloned().collect();
        (passed, asked)
    }

    /// Whether the hook with this id asks a person.
    fn is_question(&self, stage: Option<usize>, id: &str) -> bool {
        let hooks = self.hooks_of(stage).hooks();
        hooks.iter().any(|hook| {
            hook.id == id && hook.awaits == Some(true) && matches!(hook.action, Action::Webhook(_))
        })
    }

    /// Notes the question that ends the session, if one does.
    pub(super) fn note_question(&mut self, stage: Option<usize>, fired: &Fired) {
        if !matches!(fired.decision.verdict, Verdict::Abort { .. } | Verdict::Stop { .. }) {
            return;
        }
        let mut failed = fired.reports.iter().rev().filter(|it| it.status != Status::Success);
        let question = failed.find(|report| self.is_question(stage, &report.id));
        self.questions.ended_by = question.map(|report| report.id.clone());
    }

    /// Notes which questions are passed over, and which did not end the session.
    pub(super) async fn note_skipped_gates(&self, failed_at_ends: &[String]) -> Result<(), Halt> {
        for id in &self.questions.skipped {
            let note = match failed_at_ends.contains(id) {
                true => format!("the question of hook {id} is skipped (--skip-gate)"),
                false => {
                    format!(
                        "--skip-gate {id}: no question of a hook with this id has ended the \
                         session"
                    )
                }
            };
            self.recorder.note(note).await?;
        }
        Ok(())
    }
}
