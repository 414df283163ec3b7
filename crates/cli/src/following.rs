//! Prints what happens in sessions that run elsewhere, until they have ended.
//!
//! One question to the store serves all of them: whether there was a commit. Only then are their
//! journals read, each from where it was left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{RunEvent, SessionStatus};
use hookwright_pipeline::stored_session::stored_status;
use hookwright_store::{JournalKey, Store, entries};

use crate::error::Failure;
use crate::render::session::SessionScreen;
use crate::screen::Screen;
use crate::session_options::OutputOptions;
use crate::text::visible;
use crate::{exit_code, runner, state};

/// Pause between two questions whether there is news.
const LOOK_PAUSE: Duration = Duration::from_millis(300);

/// Sessions to follow.
pub(crate) struct Followed {
    pub(crate) store: Arc<dyn Store>,
    /// The project's name, else its path.
    pub(crate) project: String,
    pub(crate) names: Vec<String>,
}

/// A session that has not ended, as far as it was printed.
struct FollowedSession {
    screen: SessionScreen,
    /// The last entry that was printed.
    last: u64,
}

/// Prints what happens until all sessions have ended; returns the exit code of the first one that
/// did not complete.
pub(crate) fn follow(
    followed: &Followed,
    shown: &OutputOptions,
    screen: &Screen,
) -> Result<u8, Failure> {
    let new =
        || FollowedSession { screen: SessionScreen::new(shown.json, shown.agent_output), last: 0 };
    let mut open: BTreeMap<&str, FollowedSession> =
        followed.names.iter().map(|name| (name.as_str(), new())).collect();
    let is_one = open.len() == 1;
    let (mut code, mut seen) = (exit_code::GO_ON, None);
    loop {
        let changes = followed.store.changes().map_err(Failure::Store)?;
        if seen == Some(changes) {
            std::thread::sleep(LOOK_PAUSE);
            continue;
        }
        seen = Some(changes);
        let mut ended = Vec::new();
        for (name, session) in &mut open {
            // Read before the entries, so that none that was written before the end is missed.
            let known = state::session(&*followed.store, &followed.project, name)?;
            let prefix = (!is_one && !shown.json).then_some(*name);
            if !session.print(followed, name, prefix, screen)? {
                return Ok(code);
            }
            let status = known.map(|known| stored_status(&known.status));
            if status.is_none_or(has_ended) {
                let its = status.map_or(exit_code::FAILED, runner::exit_code_of);
                code = if code == exit_code::GO_ON { its } else { code };
                ended.push((*name, status));
            }
        }
        for (name, status) in ended {
            open.remove(name);
            let status = status.map_or("deleted", SessionStatus::in_words);
            screen.talk(&format!("session {}: {status}\n", visible(name)));
        }
        if open.is_empty() {
            return Ok(code);
        }
        // Others may write to the store all the time.
        std::thread::sleep(LOOK_PAUSE);
    }
}

/// Whether a session in this status stays in it until a person does something.
fn has_ended(status: SessionStatus) -> bool {
    match status {
        SessionStatus::Completed
        | SessionStatus::Interrupted
        | SessionStatus::Failed
        | SessionStatus::Aborted
        | SessionStatus::Paused
        | SessionStatus::Deleting => true,
        SessionStatus::Active | SessionStatus::Queued | SessionStatus::CutOff => false,
    }
}

impl FollowedSession {
    /// Prints its new entries, each line behind this name; `false` if the reader is gone.
    fn print(
        &mut self,
        followed: &Followed,
        name: &str,
        prefix: Option<&str>,
        screen: &Screen,
    ) -> Result<bool, Failure> {
        let journal = JournalKey { project: followed.project.clone(), session: name.to_owned() };
        for entry in entries(&*followed.store, &journal, self.last) {
            let entry = entry.map_err(Failure::Store)?;
            self.last = entry.sequence;
            // An entry of another version has no line.
            let Ok(event) = RunEvent::from_json(&entry.value) else { continue };
            let Some(text) = self.screen.line(&event) else { continue };
            let text = match prefix {
                Some(prefix) => {
                    let prefix = visible(prefix);
                    text.lines().map(|line| format!("{prefix}: {line}\n")).collect()
                }
                None => text,
            };
            if !screen.result_while_read(&text)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
