//! [`LiveView`]: shows a running session at the bottom of a terminal.
//!
//! The session's own thread only records: each run event goes into the [`ViewModel`], and its lines
//! wait to be printed. The painter's thread draws, a few times a second at most, and reads keys, so
//! a slow terminal does not delay the session.
//!
//! ```text
//! run events → model.rs ──────┬→ drawing.rs → lines → terminal.rs
//! bytes → keys.rs → dialog.rs ┘
//! ```

mod dialog;
pub(crate) mod drawing;
mod first_lines;
mod job;
mod keys;
mod last_lines;
mod limits;
pub(crate) mod model;
mod painter;
mod terminal;

use std::convert::Infallible;
use std::io::{self, IsTerminal, PipeWriter, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use hookwright_engine::{Observer, RunEvent};
use hookwright_pipeline::session::PauseGate;
use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::render::session::SessionScreen;
use crate::screen::{self, Screen};
use limits::{LEAVING, UNPRINTED_BYTES_MAX};
use model::ViewModel;
use painter::Painter;
use terminal::Terminal;

/// Answers a question: the wait's id, the word, and a message. Returns the result as one line.
pub(crate) type AnswerQuestion = Box<dyn Fn(&str, &str, Option<String>) -> String + Send>;

/// The static data of a view.
pub(crate) struct About {
    pub(crate) session: String,
    pub(crate) plan: String,
    /// Each stage, and its agent.
    pub(crate) stages: Vec<(String, String)>,
    pub(crate) gate: PauseGate,
    pub(crate) answering: AnswerQuestion,
}

/// The view of a running session.
pub(crate) struct LiveView {
    shared: Arc<Shared>,
    terminal: Arc<Mutex<Terminal>>,
    painter: Option<JoinHandle<()>>,
}

impl LiveView {
    /// Whether there is a terminal that a view can be drawn on, as far as the environment tells.
    pub(crate) fn is_possible() -> bool {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let can_draw = set("TERM").is_some_and(|term| term != "dumb");
        can_draw && set("CI").is_none() && io::stdout().is_terminal()
    }

    /// Begins to draw, if this process controls the terminal.
    pub(crate) fn start(about: About) -> Option<Self> {
        let colour = screen::is_coloured(true);
        let terminal = Arc::new(Mutex::new(Terminal::find(colour)?));
        let About { session, plan, stages, gate, answering } = about;
        let (heard, bell) = io::pipe().ok()?;
        let state = Mutex::new(State::new(ViewModel::new(&session, &plan, stages)));
        let shared = Arc::new(Shared { state, printed: Condvar::new(), bell });
        let painter =
            Painter::new(Arc::clone(&shared), Arc::clone(&terminal), heard, gate, answering);
        restore_on_panic(&terminal);
        locked(&terminal).enter();
        let thread = std::thread::Builder::new().name("view".to_owned());
        match thread.spawn(move || painter.run()) {
            Ok(painter) => Some(Self { shared, terminal, painter: Some(painter) }),
            Err(_) => {
                locked(&terminal).leave();
                None
            }
        }
    }

    /// Records run events as they happen.
    pub(crate) fn observer(&self, session_screen: &Arc<Mutex<SessionScreen>>) -> Observer {
        let (shared, screen) = (Arc::clone(&self.shared), Arc::clone(session_screen));
        Arc::new(move |event: &RunEvent| {
            let line = locked(&screen).line(event);
            shared.note(|model| model.see(event), &line.unwrap_or_default());
        })
    }

    /// Prints lines of others, above the view.
    pub(crate) fn speaker(&self) -> Box<dyn Fn(&str) + Send> {
        let shared = Arc::clone(&self.shared);
        Box::new(move |text| shared.note(|_| {}, text))
    }

    /// Called when the session was asked to end.
    pub(crate) fn interrupted(&self, words: &str) {
        self.shared.note(|model| model.is_ending = true, words);
    }

    /// Restores the terminal before an immediate exit.
    pub(crate) fn leaving(&self) -> Box<dyn Fn()> {
        let terminal = Arc::clone(&self.terminal);
        Box::new(move || {
            let began = Instant::now();
            while began.elapsed() < LEAVING {
                if let Ok(mut terminal) = terminal.try_lock() {
                    return terminal.leave();
                }
                std::thread::yield_now();
            }
        })
    }

    /// Handles signals of the terminal and the shell while the session runs.
    pub(crate) async fn follow_signals(&self) -> Infallible {
        let (mut resized, mut stopped, mut continued) =
            (heard(Number::WINCH), heard(Number::TSTP), heard(Number::CONT));
        loop {
            tokio::select! {
                () = next(&mut resized) => {}
                () = next(&mut stopped) => job::stop(|| locked(&self.terminal).leave()),
                () = next(&mut continued) => locked(&self.terminal).take_again(),
            }
            self.shared.note(|_| {}, "");
        }
    }

    /// Prints what is left, and restores the terminal.
    pub(crate) fn end(self) {
        drop(self);
    }
}

impl Drop for LiveView {
    fn drop(&mut self) {
        locked(&self.shared.state).is_over = true;
        self.shared.ring();
        if let Some(painter) = self.painter.take() {
            // A panic has already been printed.
            let _ = painter.join();
        }
        locked(&self.terminal).leave();
    }
}

fn heard(number: Number) -> Option<Signal> {
    signal(SignalKind::from_raw(number.as_raw())).ok()
}

async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Restores the terminal before a panic's message is printed.
fn restore_on_panic(terminal: &Arc<Mutex<Terminal>>) {
    let terminal = Arc::clone(terminal);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A panic while drawing holds the lock; then the end of the view restores the terminal.
        if let Ok(mut terminal) = terminal.try_lock() {
            terminal.leave();
        }
        before(panic);
    }));
}

/// The state that the session's thread and the painter's share.
struct Shared {
    state: Mutex<State>,
    /// Signalled when lines were printed, or when no painter is left.
    printed: Condvar,
    /// Wakes the painter.
    bell: PipeWriter,
}

struct State {
    model: ViewModel,
    /// Lines to print.
    unprinted: String,
    /// Whether the bell was rung and the painter has not reacted yet.
    is_rung: bool,
    /// Whether the session has ended.
    is_over: bool,
    /// Whether there is no painter, so that other threads print their lines themselves.
    is_deserted: bool,
}

impl State {
    fn new(model: ViewModel) -> Self {
        let unprinted = String::new();
        Self { model, unprinted, is_rung: false, is_over: false, is_deserted: false }
    }
}

impl Shared {
    /// Changes the model and prints text above the view.
    fn note(&self, change: impl FnOnce(&mut ViewModel), text: &str) {
        let mut state = locked(&self.state);
        change(&mut state.model);
        if state.is_deserted {
            drop(state);
            // A reader that has closed the pipe does not end a session.
            let _ = Screen.result(text);
            return;
        }
        state.unprinted.push_str(text);
        drop(state);
        self.ring();
        let is_full =
            |state: &mut State| state.unprinted.len() > UNPRINTED_BYTES_MAX && !state.is_deserted;
        let state = locked(&self.state);
        drop(self.printed.wait_while(state, is_full));
    }

    fn ring(&self) {
        let mut state = locked(&self.state);
        if !std::mem::replace(&mut state.is_rung, true) {
            // If the painter is gone, it needs no bell.
            let _ = (&self.bell).write_all(b"!");
        }
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
