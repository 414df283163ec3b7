//! The three pipes of one child: input is written and output is read at the same time, so that
//! neither side can wait for the other forever.
//!
//! Input that fits into the pipe is written before the child exists. Output beyond the limit is
//! read and counted: a child whose pipe is full would block until its deadline.

use std::future::pending;
use std::io::{self, ErrorKind, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::io::{ioctl_fionbio, read, write};
use tokio::net::unix::pipe;

use crate::{Captured, OutputFilter, Stream, Watch};

/// The initial read size. Most hooks print a line or nothing, and a larger buffer costs the
/// allocator more than the whole run should.
const FIRST_CHUNK_BYTES: usize = 4 * 1024;

/// The read size after a child fills the first chunk: the default size of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes read without waiting after the writers have ended: the most a pipe can hold, unless root
/// made it bigger. A process that still writes cannot keep us here longer.
const DRAIN_BYTES_MAX: u64 = 1024 * 1024;

/// Our ends of a child's pipes, and what was read from them.
pub(crate) struct Pipes {
    stdin: Option<pipe::Sender>,
    unwritten: Vec<u8>,
    written: usize,
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

/// Our end of one output, and what was read from it.
pub(crate) struct OutputPipe {
    source: Option<pipe::Receiver>,
    pub(crate) captured: Captured,
    filter: Option<Box<dyn OutputFilter>>,
}

impl Pipes {
    /// Opens the pipes and writes as much of `stdin` as fits.
    pub(crate) fn new(stdin: &[u8], bytes_max: usize) -> io::Result<(Self, ChildEnds)> {
        let (child_stdin, our_stdin) = io::pipe()?;
        let (our_stdout, child_stdout) = io::pipe()?;
        let (our_stderr, child_stderr) = io::pipe()?;
        let mut pipes = Pipes {
            stdin: None,
            unwritten: Vec::new(),
            written: 0,
            stdout: OutputPipe::new(our_stdout)?,
            stderr: OutputPipe::new(our_stderr)?,
            chunk: Vec::with_capacity(FIRST_CHUNK_BYTES),
            bytes_max,
        };
        if !stdin.is_empty() {
            ioctl_fionbio(&our_stdin, true)?;
            pipes.written = write(&our_stdin, stdin)?;
        }
        if pipes.written < stdin.len() {
            let our_stdin = OwnedFd::from(our_stdin);
            pipes.stdin = Some(pipe::Sender::from_owned_fd_unchecked(our_stdin)?);
        }
        let ends = ChildEnds { stdin: child_stdin, stdout: child_stdout, stderr: child_stderr };
        Ok((pipes, ends))
    }

    /// Takes over the input that did not fit. `stdin` is the whole input that [`Pipes::new`] was
    /// given.
    pub(crate) fn feed(&mut self, stdin: Vec<u8>) {
        if self.stdin.is_some() {
            self.unwritten = stdin;
        }
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
        let Some(stdin) = &self.stdin else { return };
        match stdin.try_write(&self.unwritten[self.written..]) {
            Ok(count) => self.written += count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            // Most likely the child closed its input: it has read all it wants.
            Err(_) => self.written = self.unwritten.len(),
        }
        if self.written == self.unwritten.len() {
            self.stdin = None;
            self.unwritten = Vec::new();
            self.written = 0;
        }
    }
}

impl OutputPipe {
    pub(crate) fn new(ours: PipeReader) -> io::Result<Self> {
        ioctl_fionbio(&ours, true)?;
        let source = pipe::Receiver::from_owned_fd_unchecked(OwnedFd::from(ours))?;
        Ok(OutputPipe { source: Some(source), captured: Captured::default(), filter: None })
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
        let Some(source) = &self.source else {
            return false;
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
        let end = read(source.as_fd(), spare_capacity(chunk)).map_err(io::Error::from);
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

async fn readable(source: &Option<pipe::Receiver>) {
    match source {
        // The read will return the same error, and handles it.
        Some(source) => drop(source.readable().await),
        None => pending().await,
    }
}

async fn writable(sink: &Option<pipe::Sender>) {
    match sink {
        Some(sink) => drop(sink.writable().await),
        None => pending().await,
    }
}
