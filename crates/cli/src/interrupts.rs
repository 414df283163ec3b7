//! Handling of Ctrl-C and similar signals while hooks run.

use std::io;
use std::sync::OnceLock;

use hookwright_engine::Engine;
use hookwright_process::IgnoredSignals;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit_code;
use crate::screen::Screen;

/// Ctrl-C and similar signals: the first ends the hooks, the second this process; a hangup counts
/// once.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if this process was started to ignore hangups, as with nohup.
    hangup: Option<Signal>,
    pub(crate) came: bool,
    /// The exit code of an immediate exit.
    pub(crate) code: u8,
    /// Cleanup that an immediate exit must still do.
    pub(crate) leaving: Option<Box<dyn Fn()>>,
}

impl Interrupts {
    /// Call [`check_descriptors`] before, and this inside the runtime.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (!ignored_signals().hangup())
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
            came: false,
            code: exit_code::INTERRUPTED,
            leaving: None,
        })
    }

    /// Waits for `work`; an interrupt ends the hooks, and so the work.
    pub(crate) async fn ending<T>(
        &mut self,
        engine: &Engine,
        screen: &Screen,
        work: impl Future<Output = T>,
    ) -> T {
        let first = || {
            screen.talk("interrupted: ending hooks (interrupt again to exit at once)\n");
            engine.interrupt();
        };
        self.or_else(&first, work).await
    }

    /// Waits for `work`; the first interrupt asks it to end, the second exits.
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
            // A closed terminal sends two hangups, from the shell and from the system. That is not
            // an impatient user.
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

/// Fails unless enough files can be opened to catch signals; Tokio would panic.
pub(crate) fn check_descriptors() -> io::Result<()> {
    // Two for signals, up to five for a runtime, one for a listener. All are closed again.
    let pipes: Result<Vec<_>, _> = (0..4).map(|_| rustix::pipe::pipe()).collect();
    Ok(pipes.map(drop)?)
}

/// Gives children default signals, whatever this process was started to ignore. Call it before
/// starting anything.
pub(crate) fn catch_ignored_signals() -> io::Result<()> {
    let ignored = ignored_signals();
    if ignored.is_empty() {
        return Ok(());
    }
    check_descriptors()?;
    ignored.catch()
}

/// The signals that this process was started to ignore; handling a hangup would undo that.
fn ignored_signals() -> IgnoredSignals {
    static AT_START: OnceLock<IgnoredSignals> = OnceLock::new();
    *AT_START.get_or_init(IgnoredSignals::read)
}

#[expect(
    clippy::exit,
    reason = "a second interrupt, or a worker that is gone, means: now, whatever still runs"
)]
pub(crate) fn exit_now(code: u8) -> ! {
    std::process::exit(i32::from(code))
}
