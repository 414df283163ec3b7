//! The three pipes of one child: input is written and output is read at the same time, so that
//! neither side can wait for the other forever.
//!
//! Most children end after a few milliseconds and fit their input and output into the pipes. So
//! these are watched only once a child has run for [`WATCH_AFTER`], or if it does not get all of its
//! input at once. What a shorter child printed is read when it has ended.
//!
//! Output beyond the limit is read and counted: a child whose pipe is full would block until its
//! deadline.

use std::future::pending;
use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::io::{ioctl_fionbio, read, write};
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep, sleep_until};

use crate::{Captured, OutputFilter, Stream, Watch};

/// The initial read size. Most hooks print a line or nothing, and a larger buffer costs the
/// allocator more than the whole run should.
const FIRST_CHUNK_BYTES: usize = 4 * 1024;

/// The read size after a child fills the first chunk: the default size of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes read without waiting after the writers have ended: the most a pipe can hold, unless root
/// made it bigger. A process that still writes cannot keep us here longer.
const DRAIN_BYTES_MAX: u64 = 1024 * 1024;

/// How long a child runs before its pipes are watched. A child that fills a pipe sooner waits.
const WATCH_AFTER: Duration = Duration::from_millis(3);

/// The interval for trying a pipe that the system refuses to watch.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// Our ends of a child's pipes, and what was read from them.
pub(crate) struct Pipes {
    stdin: Option<InputPipe>,
    /// When to watch the pipes; `None` once they are.
    watch_at: Option<Instant>,
    stdout: OutputPipe,
    stderr: OutputPipe,
    chunk: Vec<u8>,
    bytes_max: usize,
}

pub(crate) struct ChildEnds {
    pub(crate) stdin: PipeReader,
    pub(crate) stdout: PipeWriter,
    pub(crate) stderr: PipeWriter,
}

/// Our end of the input, and what is still to be written.
struct InputPipe {
    sink: PipeEnd<pipe::Sender>,
    unwritten: Vec<u8>,
    written: usize,
}

/// Our end of one output, and what was read from it.
pub(crate) struct OutputPipe {
    /// `None` once it has ended.
    source: Option<PipeEnd<pipe::Receiver>>,
    pub(crate) captured: Captured,
    filter: Option<Box<dyn OutputFilter>>,
}

/// One of our ends, which never blocks.
enum PipeEnd<W> {
    Unwatched(OwnedFd),
    /// The runtime reports when it is ready.
    Watched(W),
}

impl Pipes {
    /// Opens the pipes.
    pub(crate) fn open(bytes_max: usize) -> io::Result<(Self, ChildEnds)> {
        let (child_stdin, our_stdin) = io::pipe()?;
        let (our_stdout, child_stdout) = io::pipe()?;
        let (our_stderr, child_stderr) = io::pipe()?;
        ioctl_fionbio(&our_stdin, true)?;
        let sink = PipeEnd::Unwatched(our_stdin.into());
        let pipes = Pipes {
            stdin: Some(InputPipe { sink, unwritten: Vec::new(), written: 0 }),
            watch_at: None,
            stdout: OutputPipe::new(our_stdout)?,
            stderr: OutputPipe::new(our_stderr)?,
            chunk: Vec::with_capacity(FIRST_CHUNK_BYTES),
            bytes_max,
        };
        let ends = ChildEnds { stdin: child_stdin, stdout: child_stdout, stderr: child_stderr };
        Ok((pipes, ends))
    }

    /// The child runs: writes as much of its input as fits, and the rest later. The child's end of
    /// the input must still be open here, so that a child that has ended already is not an error.
    pub(crate) fn child_runs(&mut self, stdin: Vec<u8>) {
        self.watch_at = Some(Instant::now() + WATCH_AFTER);
        if let Some(input) = &mut self.stdin {
            input.unwritten = stdin;
        }
        self.write_ready();
        if self.stdin.is_some() {
            self.watch();
        }
    }

    /// Watches the pipes from now on.
    pub(crate) fn watch(&mut self) {
        self.watch_at = None;
        if let Some(input) = &mut self.stdin {
            input.sink.watch(pipe::Sender::from_owned_fd_unchecked);
        }
        self.stdout.watch();
        self.stderr.watch();
    }

    /// Passes all output through the filters that the watch requests.
    pub(crate) fn set_filters(&mut self, watch: &mut dyn Watch) {
        self.stdout.filter = watch.filter(Stream::Stdout);
        self.stderr.filter = watch.filter(Stream::Stderr);
    }

    /// Flushes the filters. Nothing is read after this.
    pub(crate) fn finish(&mut self, watch: &mut dyn Watch) {
        for (stream, output) in
            [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)]
        {
            output.finish(&mut self.chunk, self.bytes_max);
            if !self.chunk.is_empty() {
                watch.output(stream, &self.chunk);
            }
        }
    }

    /// Waits for output, writing input meanwhile. The new bytes are in [`Pipes::chunk`]; none means
    /// that this stream has ended, or that its filter holds them back. Never returns once both have
    /// ended. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Stream {
        if let Some(time) = self.watch_at {
            sleep_until(time).await;
            self.watch();
        }
        loop {
            tokio::select! {
                () = readable(&self.stdout.source) => {
                    if self.stdout.take_ready(&mut self.chunk, self.bytes_max) {
                        return Stream::Stdout;
                    }
                }
                () = readable(&self.stderr.source) => {
                    if self.stderr.take_ready(&mut self.chunk, self.bytes_max) {
                        return Stream::Stderr;
                    }
                }
                () = writable(&self.stdin) => self.write_ready(),
            }
        }
    }

    /// The bytes of the last read.
    pub(crate) fn chunk(&self) -> &[u8] {
        &self.chunk
    }

    /// Reads what is available without waiting, up to [`DRAIN_BYTES_MAX`] of each stream.
    pub(crate) fn drain(&mut self, watch: &mut dyn Watch) {
        for (stream, output) in
            [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)]
        {
            let enough = output.captured.bytes_total() + DRAIN_BYTES_MAX;
            while output.captured.bytes_total() < enough
                && output.take_now(&mut self.chunk, self.bytes_max)
            {
                if !self.chunk.is_empty() {
                    watch.output(stream, &self.chunk);
                }
            }
        }
    }

    /// Whether both outputs have ended.
    pub(crate) fn output_ended(&self) -> bool {
        self.stdout.source.is_none() && self.stderr.source.is_none()
    }

    pub(crate) fn stdout(&self) -> &Captured {
        &self.stdout.captured
    }

    /// What came on stdout and stderr.
    pub(crate) fn into_captured(self) -> (Captured, Captured) {
        (self.stdout.captured, self.stderr.captured)
    }

    fn write_ready(&mut self) {
        let Some(input) = &mut self.stdin else { return };
        let unwritten = &input.unwritten[input.written..];
        let written = match &input.sink {
            _ if unwritten.is_empty() => Ok(0),
            PipeEnd::Unwatched(sink) => write(sink, unwritten).map_err(io::Error::from),
            PipeEnd::Watched(sink) => sink.try_write(unwritten),
        };
        match written {
            Ok(count) => input.written += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            // Most likely the child closed its input: it has read all it wants.
            Err(_) => input.written = input.unwritten.len(),
        }
        if input.written == input.unwritten.len() {
            self.stdin = None;
        }
    }
}

impl<W> PipeEnd<W> {
    /// Watches it, unless the system refuses.
    fn watch(&mut self, watched: impl Fn(OwnedFd) -> io::Result<W>) {
        if let PipeEnd::Unwatched(end) = self
            && let Ok(end) = end.try_clone().and_then(watched)
        {
            *self = PipeEnd::Watched(end);
        }
    }
}

impl OutputPipe {
    pub(crate) fn new(ours: PipeReader) -> io::Result<Self> {
        ioctl_fionbio(&ours, true)?;
        let source = PipeEnd::Unwatched(ours.into());
        Ok(OutputPipe { source: Some(source), captured: Captured::default(), filter: None })
    }

    /// Watches it from now on.
    pub(crate) fn watch(&mut self) {
        if let Some(source) = &mut self.source {
            source.watch(pipe::Receiver::from_owned_fd_unchecked);
        }
    }

    /// Waits for output and keeps it. Never returns once it has ended. Cancel-safe.
    pub(crate) async fn next(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) {
        loop {
            readable(&self.source).await;
            if self.take_ready(chunk, bytes_max) {
                return;
            }
        }
    }

    /// Keeps what is available without waiting, up to [`DRAIN_BYTES_MAX`].
    pub(crate) fn drain(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) {
        let enough = self.captured.bytes_total() + DRAIN_BYTES_MAX;
        while self.captured.bytes_total() < enough && self.take_now(chunk, bytes_max) {}
    }

    /// Reads after readiness was reported. Returns false if there was nothing after all.
    fn take_ready(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> bool {
        let Some(PipeEnd::Watched(source)) = &self.source else {
            return self.take_now(chunk, bytes_max);
        };
        make_room(chunk);
        let end = source.try_read_buf(chunk);
        self.note(end, chunk, bytes_max)
    }

    /// Reads whether or not readiness was reported: the report may be in a queue that was not
    /// polled.
    fn take_now(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) -> bool {
        let Some(source) = &self.source else {
            return false;
        };
        make_room(chunk);
        let source = match source {
            PipeEnd::Unwatched(source) => source.as_fd(),
            PipeEnd::Watched(source) => source.as_fd(),
        };
        let end = read(source, spare_capacity(chunk)).map_err(io::Error::from);
        self.note(end, chunk, bytes_max)
    }

    fn note(&mut self, end: io::Result<usize>, chunk: &mut Vec<u8>, bytes_max: usize) -> bool {
        match end {
            Ok(1..) => self.keep(chunk, bytes_max),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A failing pipe stays broken.
            Ok(0) | Err(_) => {
                self.source = None;
                self.finish(chunk, bytes_max);
            }
        }
        true
    }

    fn keep(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) {
        if let Some(filter) = &mut self.filter {
            let mut passed = Vec::with_capacity(chunk.capacity());
            filter.push(chunk, &mut passed);
            *chunk = passed;
        }
        self.captured.push(chunk, bytes_max);
    }

    fn finish(&mut self, chunk: &mut Vec<u8>, bytes_max: usize) {
        chunk.clear();
        if let Some(mut filter) = self.filter.take() {
            filter.finish(chunk);
            self.captured.push(chunk, bytes_max);
        }
    }
}

/// Empties the chunk for the next read; a full one gets larger.
fn make_room(chunk: &mut Vec<u8>) {
    let was_full = chunk.len() == chunk.capacity();
    chunk.clear();
    if was_full {
        chunk.reserve(CHUNK_BYTES);
    }
}

async fn readable(source: &Option<PipeEnd<pipe::Receiver>>) {
    match source {
        // The read will return the same error, and handles it.
        Some(PipeEnd::Watched(source)) => drop(source.readable().await),
        Some(PipeEnd::Unwatched(_)) => sleep(LOOK_PAUSE).await,
        None => pending().await,
    }
}

async fn writable(input: &Option<InputPipe>) {
    match input.as_ref().map(|input| &input.sink) {
        Some(PipeEnd::Watched(sink)) => drop(sink.writable().await),
        Some(PipeEnd::Unwatched(_)) => sleep(LOOK_PAUSE).await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES_MAX: usize = 1024 * 1024;

    /// More than fits into a pipe.
    const MANY_BYTES: usize = 200_000;

    /// Writes `output` to the child's end and reads `input` from it, as a child would.
    fn child(ends: ChildEnds, input: usize, output: Vec<u8>) -> std::thread::JoinHandle<Vec<u8>> {
        use std::io::{Read, Write};

        std::thread::spawn(move || {
            let ChildEnds { stdin, mut stdout, stderr } = ends;
            let mut read = Vec::new();
            stdin.take(input as u64).read_to_end(&mut read).expect("read");
            stdout.write_all(&output).expect("written");
            drop((stdout, stderr));
            read
        })
    }

    async fn read_all(pipes: &mut Pipes) -> Vec<u8> {
        let mut read = Vec::new();
        while !pipes.output_ended() {
            if pipes.next().await == Stream::Stdout {
                read.extend_from_slice(pipes.chunk());
            }
        }
        read
    }

    #[tokio::test]
    async fn a_short_childs_pipes_are_never_watched_and_its_output_is_there() {
        let (mut pipes, ends) = Pipes::open(BYTES_MAX).expect("pipes");
        pipes.child_runs(b"in".to_vec());
        assert_eq!(child(ends, 2, b"out".to_vec()).join().expect("ended"), b"in");
        pipes.drain(&mut ());
        assert!(pipes.output_ended() && pipes.watch_at.is_some());
        assert_eq!(pipes.into_captured().0, Captured::whole("out"));
    }

    #[tokio::test]
    async fn input_that_does_not_fit_is_written_while_output_is_read() {
        let (mut pipes, ends) = Pipes::open(BYTES_MAX).expect("pipes");
        pipes.child_runs(vec![b'i'; MANY_BYTES]);
        assert!(pipes.watch_at.is_none(), "it is watched at once");
        let child = child(ends, MANY_BYTES, vec![b'o'; MANY_BYTES]);
        assert_eq!(read_all(&mut pipes).await.len(), MANY_BYTES);
        assert_eq!(child.join().expect("ended").len(), MANY_BYTES);
    }

    #[tokio::test]
    async fn pipes_that_the_system_refuses_to_watch_are_tried_again_and_again() {
        let (mut pipes, ends) = Pipes::open(BYTES_MAX).expect("pipes");
        pipes.child_runs(b"in".to_vec());
        // As if watching had failed.
        pipes.watch_at = None;
        let child = child(ends, 2, vec![b'o'; MANY_BYTES]);
        assert_eq!(read_all(&mut pipes).await.len(), MANY_BYTES);
        assert_eq!(child.join().expect("ended"), b"in");
    }
}
