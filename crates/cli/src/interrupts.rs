//! Ctrl-C and its kin, while hooks run.

use std::io;

use hookwright_engine::Engine;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit_code;
use crate::screen::Screen;

/// Ctrl-C and its kin: once ends the hooks, twice ends us; a terminal that is closed is only ever once.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// Not if we were started to outlive the terminal, as with nohup.
    hangup: Option<Signal>,
    pub(crate) came: bool,
    /// What to leave with when there is no time for anything else.
    pub(crate) code: u8,
    /// What must not be left behind even then.
    pub(crate) leaving: Option<Box<dyn Fn()>>,
}

impl Interrupts {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (!ignores_hangup()).then(|| signal(SignalKind::hangup())).transpose()?,
            came: false,
            code: exit_code::INTERRUPTED,
            leaving: None,
        })
    }

    /// Waits for `work`; an interrupt ends the hooks, and with them the work.
    pub(crate) async fn ending<T>(
        &mut self,
        engine: &Engine,
        screen: &Screen,
        work: impl Future<Output = T>,
    ) -> T {
        let first = || {
            screen.talk("interrupted: ending hooks (again to leave at once)\n");
            engine.interrupt();
        };
        self.or_else(&first, work).await
    }

    /// Waits for `work`; the first interrupt asks it to end, the second ends us.
    pub(crate) async fn or_else<T>(
        &mut self,
        first: &dyn Fn(),
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            let is_hangup = tokio::select! {
                done = &mut work => return done,
                _ = self.interrupt.recv() => false,
                _ = self.terminate.recv() => false,
                _ = hangup => true,
            };
            // A terminal that is closed tells it twice: the shell does, and so does the system. Nobody
            // is impatient then.
            if self.came && is_hangup {
                continue;
            }
            if self.came {
                hookwright_process::kill_everything_now();
                if let Some(leaving) = &self.leaving {
                    leaving();
                }
                exit_now(self.code);
            }
            self.came = true;
            first();
        }
    }
}

/// Whether SIGHUP was ignored when we were started. Taking it would undo that.
fn ignores_hangup() -> bool {
    const SIGHUP_BIT: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & SIGHUP_BIT != 0)
}

#[expect(clippy::exit, reason = "a second interrupt means: now, whatever still runs")]
fn exit_now(code: u8) -> ! {
    std::process::exit(i32::from(code))
}
