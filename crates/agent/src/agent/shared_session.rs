//! [`SharedSession`]: what the agents of one session share while they run: the limit on turns, questions
//! one at a time, the number of subagents, and the end.
//!
//! A hook that ends the session ends all of its agents, whichever of them fired the event: a subagent
//! must not be a way around it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::{AgentStatus, CallResult};
use crate::limits::{SUBAGENTS_AT_ONCE_MAX, SUBAGENTS_MAX};
use crate::message::Usage;

/// What the agents of one session share.
pub(super) struct SharedSession {
    /// Ends every agent of the session.
    pub(super) cancel: CancellationToken,
    /// Is held while a question waits for its answer.
    pub(super) questions: tokio::sync::Mutex<()>,
    state: Mutex<SharedState>,
}

#[derive(Default)]
struct SharedState {
    turns_taken: u32,
    subagents_started: usize,
    subagents_running: usize,
    /// Why a hook of a subagent ended the session.
    ended: Option<String>,
    of_subagents: LifeTotals,
}

/// What a life has used and what it was refused.
#[derive(Default)]
pub(super) struct LifeTotals {
    pub(super) usage: Usage,
    pub(super) turns: u32,
    pub(super) denials: Vec<CallResult>,
}

/// The place of a subagent that runs; dropping it makes room for another.
pub(super) struct SubagentPlace(Arc<SharedSession>);

impl SharedSession {
    pub(super) fn new(cancel: CancellationToken) -> Self {
        Self { cancel, questions: tokio::sync::Mutex::default(), state: Mutex::default() }
    }

    /// Takes one of the session's turns, unless all are taken.
    pub(super) fn take_turn(&self, turns_max: u32) -> bool {
        let mut state = self.state();
        let is_left = state.turns_taken < turns_max;
        state.turns_taken += u32::from(is_left);
        is_left
    }

    /// Gives a turn back that brought no answer.
    pub(super) fn return_turn(&self) {
        let mut state = self.state();
        state.turns_taken = state.turns_taken.saturating_sub(1);
    }

    /// A place for one more subagent; otherwise what the model reads.
    pub(super) fn admit(self: &Arc<Self>) -> Result<SubagentPlace, String> {
        let mut state = self.state();
        if state.subagents_started >= SUBAGENTS_MAX {
            return Err(format!(
                "the session has had {SUBAGENTS_MAX} subagents, which is the limit: do the work yourself"
            ));
        }
        if state.subagents_running >= SUBAGENTS_AT_ONCE_MAX {
            return Err(format!(
                "{SUBAGENTS_AT_ONCE_MAX} subagents are running, which is the limit: wait for them, or \
                 do the work yourself"
            ));
        }
        state.subagents_started += 1;
        state.subagents_running += 1;
        Ok(SubagentPlace(Arc::clone(self)))
    }

    /// A hook of a subagent ends the session, and with it every agent.
    pub(super) fn end(&self, reason: &str) {
        self.state().ended.get_or_insert_with(|| reason.to_owned());
        self.cancel.cancel();
    }

    /// Why a life is cut off, when the session is cancelled.
    pub(super) fn cut_off(&self) -> AgentStatus {
        let ended = self.state().ended.clone();
        ended.map_or(AgentStatus::Interrupted, AgentStatus::EndedByHook)
    }

    /// Adds what a subagent has used.
    pub(super) fn add(&self, totals: LifeTotals) {
        let mut state = self.state();
        state.of_subagents.usage.add(totals.usage);
        state.of_subagents.turns += totals.turns;
        state.of_subagents.denials.extend(totals.denials);
    }

    /// Takes what all subagents have used.
    pub(super) fn take_totals(&self) -> LifeTotals {
        std::mem::take(&mut self.state().of_subagents)
    }

    fn state(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SubagentPlace {
    fn drop(&mut self) {
        self.0.state().subagents_running -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_so_many_subagents_at_once_and_in_all() {
        let session = Arc::new(SharedSession::new(CancellationToken::new()));
        let admit = || session.admit().map_err(|why| why.split(',').next().map(str::to_owned));
        let mut running: Vec<SubagentPlace> =
            (0..SUBAGENTS_AT_ONCE_MAX).map(|_| admit().expect("room")).collect();
        let at_once = format!("{SUBAGENTS_AT_ONCE_MAX} subagents are running");
        assert_eq!(admit().err(), Some(Some(at_once)));
        running.clear();
        for _ in SUBAGENTS_AT_ONCE_MAX..SUBAGENTS_MAX {
            admit().expect("room again");
        }
        let in_all = format!("the session has had {SUBAGENTS_MAX} subagents");
        assert_eq!(admit().err(), Some(Some(in_all)));
    }

    #[test]
    fn all_agents_share_the_turns_and_a_turn_without_an_answer_is_given_back() {
        let session = SharedSession::new(CancellationToken::new());
        assert!(session.take_turn(2) && session.take_turn(2));
        assert!(!session.take_turn(2));
        session.return_turn();
        assert!(session.take_turn(2));
    }

    #[test]
    fn a_hook_that_ends_the_session_is_the_reason_and_an_interrupt_is_not() {
        let session = SharedSession::new(CancellationToken::new());
        session.cancel.cancel();
        assert_eq!(session.cut_off(), AgentStatus::Interrupted);
        session.end("enough");
        session.end("later");
        assert_eq!(session.cut_off(), AgentStatus::EndedByHook("enough".to_owned()));
    }
}
