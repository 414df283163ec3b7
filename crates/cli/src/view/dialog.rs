//! [`Dialog`]: what a person has typed so far, and what they request.

use super::keys::Key;
use super::limits::MESSAGE_CHARS_MAX;
use super::model::ViewModel;
use hookwright_pipeline::session_state::OpenQuestion;

/// The state of the dialog.
#[derive(Debug, Default)]
pub(crate) struct Dialog {
    pub(crate) asks: Asks,
    /// Whether more of the agent's output is shown.
    pub(crate) more_output: bool,
    /// Whether the agent's prompt is shown instead of its output.
    pub(crate) shows_prompt: bool,
    pub(crate) help: bool,
    /// Whether the session pauses before its next step.
    pub(crate) paused: bool,
    /// The wait that keys apply to; the first one by default.
    chosen: Option<String>,
}

/// A confirmation before a request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum Asks {
    #[default]
    Nothing,
    /// The message for a rejection.
    Message { wait: String, text: String },
    /// Confirms an answer.
    Answer { wait: String, action: &'static str, message: Option<String> },
    /// Confirms a stop.
    Stop,
}

/// A person's request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Answer a question.
    Answer { wait: String, action: &'static str, message: Option<String> },
    /// Pause before the next step, or continue.
    Pause(bool),
    /// End the session, as Ctrl-C does.
    Stop,
}

impl Dialog {
    /// The question that keys apply to.
    pub(crate) fn chosen<'a>(&self, model: &'a ViewModel) -> Option<&'a OpenQuestion> {
        let chosen = self.chosen.as_deref();
        let named = model.state.questions.iter().find(|question| Some(&*question.wait) == chosen);
        named.or_else(|| model.state.questions.first())
    }

    /// Drops the dialog about a question that was answered elsewhere.
    pub(crate) fn follow(&mut self, model: &ViewModel) {
        let wait = match &self.asks {
            Asks::Message { wait, .. } | Asks::Answer { wait, .. } => wait,
            Asks::Nothing | Asks::Stop => return,
        };
        if !model.state.questions.iter().any(|question| question.wait == *wait) {
            self.asks = Asks::Nothing;
        }
    }

    /// Handles a key; returns the request that it completes, if any.
    pub(crate) fn press(&mut self, key: Key, model: &ViewModel) -> Option<Request> {
        self.follow(model);
        match std::mem::take(&mut self.asks) {
            Asks::Nothing => self.command(key, model),
            Asks::Message { wait, text } => {
                self.write(key, wait, text);
                None
            }
            Asks::Answer { wait, action, message } => match key {
                Key::Letter('y') => Some(Request::Answer { wait, action, message }),
                key if is_no(key) => None,
                _ => {
                    self.asks = Asks::Answer { wait, action, message };
                    None
                }
            },
            Asks::Stop => match key {
                Key::Letter('y') => Some(Request::Stop),
                key if is_no(key) => None,
                _ => {
                    self.asks = Asks::Stop;
                    None
                }
            },
        }
    }

    fn command(&mut self, key: Key, model: &ViewModel) -> Option<Request> {
        let wait = self.chosen(model).map(|question| question.wait.clone());
        match (key, wait) {
            (Key::Letter('a'), Some(wait)) => {
                self.asks = Asks::Answer { wait, action: "approve", message: None };
            }
            (Key::Letter('r'), Some(wait)) => {
                self.asks = Asks::Message { wait, text: String::new() };
            }
            (Key::Tab, Some(wait)) => self.chosen = next(model, &wait),
            (Key::Letter('p'), _) => {
                self.paused = !self.paused;
                return Some(Request::Pause(self.paused));
            }
            (Key::Letter('s'), _) => self.asks = Asks::Stop,
            (Key::Letter('o'), _) => self.more_output = !self.more_output,
            (Key::Letter('i'), _) => self.shows_prompt = !self.shows_prompt,
            (Key::Letter('?'), _) => self.help = !self.help,
            (Key::Escape, _) => self.help = false,
            _ => {}
        }
        None
    }

    fn write(&mut self, key: Key, wait: String, mut text: String) {
        match key {
            Key::Escape => return,
            Key::Enter => {
                let message = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
                self.asks = Asks::Answer { wait, action: "reject", message };
                return;
            }
            Key::Backspace => {
                text.pop();
            }
            Key::Letter(letter) if text.chars().count() < MESSAGE_CHARS_MAX => text.push(letter),
            Key::Letter(_) | Key::Tab => {}
        }
        self.asks = Asks::Message { wait, text };
    }
}

fn is_no(key: Key) -> bool {
    matches!(key, Key::Letter('n') | Key::Escape)
}

/// The wait after this one; the first after the last.
fn next(model: &ViewModel, wait: &str) -> Option<String> {
    let at = model.state.questions.iter().position(|question| question.wait == wait)?;
    let next = model.state.questions.get(at + 1).or_else(|| model.state.questions.first())?;
    Some(next.wait.clone())
}

#[cfg(test)]
mod tests {
    use hookwright_events::{FiringEvent, RunEvent, RunEventKind};

    use super::*;

    fn model(waits: &[&str]) -> ViewModel {
        let mut model = ViewModel::new("one", "work", Vec::new());
        for wait in waits {
            let kind = RunEventKind::Firing(FiringEvent::HookWaiting {
                hook: format!("gate-{wait}"),
                wait: (*wait).to_owned(),
                question: "Deploy?".into(),
                since: "2026-01-02T03:04:05Z".into(),
                until: "2026-01-02T04:04:05Z".into(),
                url: None,
            });
            let at = "2026-01-02T03:04:05Z".to_owned();
            model.see(&RunEvent { version: 1, firing: 1, at, session: None, kind });
        }
        model
    }

    /// The requests of these keys, in order.
    fn pressed(keys: &str, waits: &[&str]) -> Vec<Request> {
        let (mut dialog, model) = (Dialog::default(), model(waits));
        let keys = crate::view::keys::Keys::default().of(keys.as_bytes());
        keys.into_iter().filter_map(|key| dialog.press(key, &model)).collect()
    }

    fn answer(wait: &str, action: &'static str, message: Option<&str>) -> Request {
        Request::Answer { wait: wait.to_owned(), action, message: message.map(str::to_owned) }
    }

    #[test]
    fn answering_and_stopping_need_a_confirmation() {
        let waits = ["w1", "w2"];
        for (keys, requests) in [
            ("a", vec![]),
            ("an", vec![]),
            ("aqy", vec![answer("w1", "approve", None)]),
            ("ay", vec![answer("w1", "approve", None)]),
            ("\tay", vec![answer("w2", "approve", None)]),
            ("\t\tay", vec![answer("w1", "approve", None)]),
            ("r\ry", vec![answer("w1", "reject", None)]),
            ("rnot yet\ry", vec![answer("w1", "reject", Some("not yet"))]),
            ("rpx\x7fy\ry", vec![answer("w1", "reject", Some("py"))]),
            ("rno\rn", vec![]),
            ("s", vec![]),
            ("sn", vec![]),
            ("sy", vec![Request::Stop]),
            ("pp", vec![Request::Pause(true), Request::Pause(false)]),
            ("x\r?o", vec![]),
        ] {
            assert_eq!(pressed(keys, &waits), requests, "{keys:?}");
        }
    }

    #[test]
    fn escape_returns_to_the_last_view() {
        let (mut dialog, model) = (Dialog::default(), model(&["w1"]));
        for opening in ['a', 'r', 's'] {
            assert_eq!(dialog.press(Key::Letter(opening), &model), None);
            assert_ne!(dialog.asks, Asks::Nothing);
            assert_eq!(dialog.press(Key::Escape, &model), None);
            assert_eq!(dialog.asks, Asks::Nothing);
        }
    }

    #[test]
    fn without_a_question_the_answer_keys_do_nothing() {
        assert_eq!(pressed("ayr\ry\t", &[]), []);
    }

    #[test]
    fn a_question_that_was_answered_elsewhere_is_not_answered_again() {
        let mut dialog = Dialog::default();
        assert_eq!(dialog.press(Key::Letter('a'), &model(&["w1"])), None);
        assert_eq!(dialog.press(Key::Letter('y'), &model(&["w2"])), None);
        assert_eq!(dialog.asks, Asks::Nothing);
    }
}
