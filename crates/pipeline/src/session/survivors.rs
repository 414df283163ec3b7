//! Ends what a killed session left running, before anything is started again.
//!
//! Git gets time to end by itself while it commits: if it is killed, it may leave a lock file, and
//! every later commit would fail.

use hookwright_engine::limits::KILL_GRACE;
use hookwright_process::{end_run, wait_for_runs};
use hookwright_store::{JournalKey, Store};

use super::Session;
use crate::history::History;
use crate::limits::{GIT_GRACE, SPAWN_DEPTH_MAX};

impl Session {
    /// Ends what an earlier process of this session left running.
    pub(super) async fn end_survivors(&self) {
        let history = self.course.history();
        let of_queue = self.run_of_queue_command().filter(|_| history.has_begun);
        self.end_what_is_left_of(history, of_queue).await;
    }

    /// Ends what the session with this history left running, and the run with this marker.
    pub(super) async fn end_what_is_left_of(&self, history: &History, one_more: Option<String>) {
        let mut committing = history.committing_runs();
        let mut later = committing.clone();
        for (run_id, child) in history.runs_with_child() {
            let project = self.recorder.journal.project().to_owned();
            let calls = self.recorder.journal.calls();
            let below =
                calls.call(move |store| committing_in(store, &project, child, SPAWN_DEPTH_MAX));
            let below = below.await;
            if !below.is_empty() {
                committing.extend(below);
                later.push(run_id);
            }
        }
        let all = history.unfinished_runs().into_iter().chain(one_more);
        let (later, at_once): (Vec<_>, Vec<_>) = all.partition(|run_id| later.contains(run_id));
        for run_id in at_once {
            end_run(&run_id, KILL_GRACE).await;
        }
        self.wait_for_git(&committing).await;
        for run_id in later {
            end_run(&run_id, KILL_GRACE).await;
        }
    }

    /// Waits for commits to end; an interrupt ends the wait.
    async fn wait_for_git(&self, run_ids: &[String]) {
        if run_ids.is_empty() || wait_for_runs(run_ids, std::time::Duration::ZERO).await {
            return;
        }
        let note = format!("waiting up to {GIT_GRACE:?} for `git commit`, which is still running");
        self.recorder.show_note(note);
        tokio::select! {
            _ = wait_for_runs(run_ids, GIT_GRACE) => {}
            () = self.interrupt.token().cancelled() => {}
        }
    }
}

/// The runs that commit in a child session, and in those below it.
fn committing_in(
    store: &dyn Store,
    project: &str,
    session: String,
    depth_left: usize,
) -> Vec<String> {
    let history = History::read(store, &JournalKey { project: project.to_owned(), session });
    // An unreadable journal is an error later, when the child is resumed.
    let (Ok(history), Some(depth_left)) = (history, depth_left.checked_sub(1)) else {
        return Vec::new();
    };
    let below = history.runs_with_child().into_iter();
    let below = below.flat_map(|(_, child)| committing_in(store, project, child, depth_left));
    history.committing_runs().into_iter().chain(below).collect()
}
