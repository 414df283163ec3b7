//! What a decision about `task:complete` means for the task.

use hookwright_events::Verdict;

/// Whether a task is completed after this.
pub fn lets_pass(verdict: &Verdict) -> bool {
    match verdict {
        Verdict::Proceed { .. } | Verdict::Allow { .. } => true,
        Verdict::Ask { .. }
        | Verdict::Block { .. }
        | Verdict::Stop { .. }
        | Verdict::Abort { .. } => false,
    }
}
