//! [`StreamLines`]: lines on their way to standard output, which a thread of their own writes.
//!
//! A reader that is slow or gone holds up nothing: beyond [`LINES_WAITING_MAX`] lines are left out, and
//! counted. The last line, the result, has a place of its own, so that it is never one of them. In the
//! end a reader gets everything that waits for it, as long as it reads.

use std::io::{self, Write};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::error::Failure;
use crate::screen::Screen;
use crate::text::count;

/// Lines that wait for a slow reader. Beyond them lines are left out, and counted.
const LINES_WAITING_MAX: usize = 4096;

/// How long the end waits for a reader that takes no line. The session has ended by then; a reader that
/// is only slow gets all lines.
const READER_WAIT_MAX: Duration = Duration::from_secs(10);

/// Lines on their way to standard output.
pub(super) struct StreamLines {
    sender: SyncSender<String>,
    last: Arc<OnceLock<String>>,
    /// How many lines were written. It is closed when the thread ends.
    written: watch::Receiver<usize>,
    writer: JoinHandle<io::Result<()>>,
    handed_over: usize,
    left_out: usize,
}

impl StreamLines {
    pub(super) fn start() -> Self {
        let (sender, receiver) = sync_channel::<String>(LINES_WAITING_MAX);
        let (progress, written) = watch::channel(0);
        let last = Arc::new(OnceLock::<String>::new());
        let place = Arc::clone(&last);
        let writer = std::thread::spawn(move || {
            let mut output = io::stdout().lock();
            let mut write = |line: &str| {
                output.write_all(line.as_bytes())?;
                output.flush()?;
                progress.send_modify(|written| *written += 1);
                io::Result::Ok(())
            };
            for line in receiver {
                write(&line)?;
            }
            place.get().map_or(Ok(()), |last| write(last))
        });
        Self { sender, last, written, writer, handed_over: 0, left_out: 0 }
    }

    /// Hands a line over, or leaves it out where too many wait.
    pub(super) fn push(&mut self, line: String) {
        match self.sender.try_send(line) {
            Ok(()) => self.handed_over += 1,
            Err(TrySendError::Full(_)) => self.left_out += 1,
            // A reader that is gone has no use for the line.
            Err(TrySendError::Disconnected(_)) => {}
        }
    }

    /// Adds the last line, and waits until all are written. It gives up on a reader that takes no line,
    /// and when `given_up` is cancelled; then the thread ends with the process.
    pub(super) async fn finish(
        self,
        last: String,
        given_up: &CancellationToken,
    ) -> Result<(), Failure> {
        let Self { sender, last: place, mut written, writer, handed_over, mut left_out } = self;
        // It is set once, here.
        let _ = place.set(last);
        drop(sender);
        let is_written = loop {
            tokio::select! {
                biased;
                changed = written.changed() => if changed.is_err() { break true },
                () = given_up.cancelled() => break false,
                () = tokio::time::sleep(READER_WAIT_MAX) => break false,
            }
        };
        if !is_written {
            left_out += (handed_over + 1).saturating_sub(*written.borrow());
        }
        if left_out > 0 {
            let (lines, were) =
                (count(left_out, "line"), if left_out == 1 { "was" } else { "were" });
            Screen.talk(&format!(
                "warning: {lines} of the output {were} left out: not read in time\n"
            ));
        }
        if !is_written {
            return Ok(());
        }
        match writer.join() {
            Ok(Err(cause)) if cause.kind() != io::ErrorKind::BrokenPipe => {
                Err(Failure::CannotWrite { cause })
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }
}
