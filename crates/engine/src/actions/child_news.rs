//! Sends news of an action's child process to the observers.

use hookwright_events::{FiringEvent, RunEventKind};
use hookwright_process::{Leader, OutputFilter, Stream, Utf8Chunks, Watch};

use super::ActionNews;
use crate::secrets::Secrets;

pub(super) struct ChildNews<'a> {
    hook: &'a str,
    run_id: String,
    pub(super) news: &'a mut dyn ActionNews,
    /// Standard output and standard error.
    texts: [Utf8Chunks; 2],
}

impl<'a> ChildNews<'a> {
    pub(super) fn new(hook: &'a str, run_id: &str, news: &'a mut dyn ActionNews) -> Self {
        let texts = [Utf8Chunks::default(), Utf8Chunks::default()];
        Self { hook, run_id: run_id.to_owned(), news, texts }
    }

    pub(super) fn started(&mut self, leader: &Leader) {
        if self.news.wants_processes() {
            self.news.report(RunEventKind::Firing(FiringEvent::HookRunning {
                hook: self.hook.to_owned(),
                pid: leader.pid,
                start_time: leader.start_time(),
                run_id: self.run_id.clone(),
            }));
        }
    }

    pub(super) fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        if !self.news.wants_output() {
            return;
        }
        let (number, name) = match stream {
            Stream::Stdout => (0, "stdout"),
            Stream::Stderr => (1, "stderr"),
        };
        let text = self.texts[number].push(bytes);
        self.news.prints(self.hook, name, text);
    }
}

/// Shows nothing, but redacts secrets.
pub(super) struct RedactOnly<'a>(pub(super) &'a Secrets);

impl Watch for RedactOnly<'_> {
    fn filter(&mut self, _stream: Stream) -> Option<Box<dyn OutputFilter>> {
        self.0.filter()
    }
}
