//! [`Painter`]: draws the view when something has changed, and carries out what keys request.

use std::io::{self, PipeReader, Read};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hookwright_pipeline::session::PauseGate;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};

use super::dialog::{Dialog, Request};
use super::drawing::{self, Surroundings};
use super::keys::Keys;
use super::limits::{FRAME, TICK};
use super::terminal::Terminal;
use super::{AnswerQuestion, Shared, locked};
use crate::store_time;

/// The thread that draws.
pub(super) struct Painter {
    shared: Arc<Shared>,
    terminal: Arc<Mutex<Terminal>>,
    bell: PipeReader,
    gate: PauseGate,
    answering: AnswerQuestion,
    dialog: Dialog,
    keys: Keys,
    painted: Instant,
}

/// Why the painter wakes.
enum Woken {
    /// Something happened, or time has passed.
    ToPaint,
    /// A key was pressed.
    ByKeys,
}

impl Painter {
    pub(super) fn new(
        shared: Arc<Shared>,
        terminal: Arc<Mutex<Terminal>>,
        bell: PipeReader,
        gate: PauseGate,
        answering: AnswerQuestion,
    ) -> Self {
        let (dialog, keys, painted) = (Dialog::default(), Keys::default(), Instant::now());
        Self { shared, terminal, bell, gate, answering, dialog, keys, painted }
    }

    /// Draws until the session is over.
    pub(super) fn run(mut self) {
        let _desertion = Desertion(Arc::clone(&self.shared));
        while self.paint() {
            match self.wait() {
                Woken::ToPaint => {}
                Woken::ByKeys => self.read_keys(),
            }
        }
    }

    /// Prints waiting lines and draws the view; returns whether the session continues.
    fn paint(&mut self) -> bool {
        let (size, has_keys) = {
            let mut terminal = locked(&self.terminal);
            // A shell sends no signal when it moves a running job to the foreground.
            terminal.enter();
            (terminal.size().unwrap_or((80, 24)), terminal.has_keys())
        };
        let (columns, rows) = size;
        let around = Surroundings { columns, rows, now_ms: store_time::now_ms(), has_keys };
        let (above, lines, is_over) = {
            let mut state = locked(&self.shared.state);
            state.is_rung = false;
            self.dialog.follow(&state.model);
            let lines = match state.is_over {
                true => Vec::new(),
                false => drawing::lines(&state.model, &self.dialog, around),
            };
            (std::mem::take(&mut state.unprinted), lines, state.is_over)
        };
        self.shared.printed.notify_all();
        locked(&self.terminal).show(&above, lines);
        self.painted = Instant::now();
        !is_over
    }

    /// Waits for a key, for something to draw, or for the next second. There is always a pause
    /// between two drawings; keys are handled at once.
    fn wait(&mut self) -> Woken {
        loop {
            let since = self.painted.elapsed();
            let pause = FRAME.saturating_sub(since);
            let listens = pause.is_zero();
            let most = if listens { TICK.saturating_sub(since) } else { pause };
            let has_keys = locked(&self.terminal).has_keys();
            let stdin = io::stdin();
            let mut ready = Vec::with_capacity(2);
            if has_keys {
                ready.push(PollFd::new(&stdin, PollFlags::IN));
            }
            if listens {
                ready.push(PollFd::new(&self.bell, PollFlags::IN));
            }
            let found = poll(&mut ready, Some(&timespec(most)));
            let is_ready = |at: usize| ready.get(at).is_some_and(|one| !one.revents().is_empty());
            let (typed, rung) =
                (has_keys && is_ready(0), listens && is_ready(usize::from(has_keys)));
            if rung {
                let _ = self.bell.read(&mut [0; 8]);
            }
            match found {
                Ok(_) if typed => return Woken::ByKeys,
                Ok(_) if rung => return Woken::ToPaint,
                Ok(0) if listens => return Woken::ToPaint,
                // The pause is over, or a signal came.
                _ => {}
            }
        }
    }

    fn read_keys(&mut self) {
        let mut bytes = [0; 256];
        let number = locked(&self.terminal).read(&mut bytes);
        for key in self.keys.of(&bytes[..number]) {
            let request = self.dialog.press(key, &locked(&self.shared.state).model);
            if let Some(request) = request {
                self.grant(request);
            }
        }
    }

    fn grant(&self, request: Request) {
        match request {
            Request::Answer { wait, action, message } => {
                let came_of_it = (self.answering)(&wait, action, message);
                locked(&self.shared.state).unprinted.push_str(&came_of_it);
            }
            Request::Pause(true) => self.gate.close(),
            Request::Pause(false) => self.gate.open(),
            // The same signal as Ctrl-C.
            Request::Stop => drop(kill_process(getpid(), Signal::INT)),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    let tv_sec = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    Timespec { tv_sec, tv_nsec: i64::from(duration.subsec_nanos()) as _ }
}

/// Marks the painter as gone however it ends, so that no thread waits for it.
struct Desertion(Arc<Shared>);

impl Drop for Desertion {
    fn drop(&mut self) {
        locked(&self.0.state).is_deserted = true;
        self.0.printed.notify_all();
    }
}
