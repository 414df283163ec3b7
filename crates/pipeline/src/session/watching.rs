//! Watches a working agent: records its process and shows its output, with secrets redacted and
//! characters complete.

use hookwright_agents::AgentWatch;
use hookwright_engine::Secrets;
use hookwright_events::TurnEvent;
use hookwright_process::{Captured, Leader, OutputFilter, Stream, Utf8Chunks};

use super::Session;
use crate::limits::SAID_KEPT_BYTES_MAX;

pub(super) struct WatchedAgent<'a> {
    session: &'a Session,
    stdout: Heard,
    stderr: Heard,
    /// The whole output, within a limit.
    said: Captured,
}

/// One stream of an agent's output.
struct Heard {
    filter: Option<Box<dyn OutputFilter>>,
    text: Utf8Chunks,
}

impl Heard {
    fn new(secrets: &Secrets) -> Self {
        Self { filter: secrets.filter(), text: Utf8Chunks::default() }
    }

    /// Returns what can be shown by now.
    fn push(&mut self, bytes: &[u8]) -> String {
        let Some(filter) = &mut self.filter else { return self.text.push(bytes) };
        let mut passed = Vec::with_capacity(bytes.len());
        filter.push(bytes, &mut passed);
        self.text.push(&passed)
    }

    /// Ends the stream.
    fn finish(&mut self) -> String {
        let mut held = Vec::new();
        if let Some(filter) = &mut self.filter {
            filter.finish(&mut held);
        }
        self.text.push(&held) + &self.text.finish()
    }
}

impl<'a> WatchedAgent<'a> {
    pub(super) fn new(session: &'a Session) -> Self {
        let heard = || Heard::new(&session.workplace.secrets);
        Self { session, stdout: heard(), stderr: heard(), said: Captured::default() }
    }

    /// Shows what was held back. Returns all output of the agent, as far as it is kept.
    pub(super) fn finish(mut self) -> String {
        let (stdout, stderr) = (self.stdout.finish(), self.stderr.finish());
        self.tell("stdout", stdout);
        self.tell("stderr", stderr);
        self.said.text().into_owned()
    }

    fn tell(&mut self, stream: &str, text: String) {
        if text.is_empty() {
            return;
        }
        self.said.push(text.as_bytes(), SAID_KEPT_BYTES_MAX);
        let printed = TurnEvent::AgentOutput { stream: stream.to_owned(), text };
        let recorder = &self.session.recorder;
        recorder.show(&recorder.event(printed));
    }
}

impl AgentWatch for WatchedAgent<'_> {
    fn running(&mut self, leader: &Leader) {
        let (pid, start_time) = (leader.pid, leader.start_time());
        // The agent need not wait for it: its marker is already written.
        let recorder = &self.session.recorder;
        let running = recorder.begin_entry(0, TurnEvent::AgentRunning { pid, start_time });
        recorder.show_once_written(running);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        let (heard, name) = match stream {
            Stream::Stdout => (&mut self.stdout, "stdout"),
            Stream::Stderr => (&mut self.stderr, "stderr"),
        };
        let text = heard.push(bytes);
        self.tell(name, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_stay_complete_and_secrets_redacted_however_the_reads_split_them() {
        let secrets = Secrets::new(vec![("KEY".to_owned(), "hunter22".to_owned())]);
        let bytes = "né hunter22 – ende \u{1f600}".as_bytes();
        for at in 0..bytes.len() {
            let mut heard = Heard::new(&secrets);
            let (first, second) = bytes.split_at(at);
            let text = heard.push(first) + &heard.push(second) + &heard.finish();
            assert_eq!(text, "né [secret KEY] – ende \u{1f600}", "{at}");
        }
    }

    #[test]
    fn invalid_text_is_shown_as_such_and_nothing_waits_forever() {
        let mut heard = Heard::new(&Secrets::default());
        assert_eq!(heard.push(b"a\xffb"), "a\u{fffd}b");
        assert_eq!(heard.push(b"c\xc3"), "c");
        assert_eq!(heard.push(b"d"), "\u{fffd}d");
        assert_eq!(heard.push(b"\xe2\x80"), "");
        assert_eq!(heard.finish(), "\u{fffd}");
    }
}
