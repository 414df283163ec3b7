//! [`MessageLines`]: what a server prints, on its way to the protocol. Only lines that can be messages
//! pass, and none that is too long.
//!
//! A line that is too long is never kept. If it answers a request, an error takes its place, so that the
//! call gets its one result; for that the line's `id` is found while the line goes by. Other lines, such
//! as logs, are counted and dropped. All of this is without IO; [`FilteredOutput`] reads.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use memchr::{memchr, memchr2, memmem};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

use super::news::{EndCause, NEWS_WAITING_MAX, NewsPort, ServerNews};
use crate::limits::{MCP_MESSAGE_BYTES_MAX, MCP_UNASKED_BYTES_MAX};

/// Bytes that one read takes: the size of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// Bytes of a line that a notice repeats.
const SHOWN_BYTES_MAX: usize = 200;

/// A buffer that has grown beyond this is given back after its line.
const BUFFER_KEPT_BYTES: usize = 1024 * 1024;

/// Sorts the lines of a server's output.
pub(super) struct MessageLines {
    /// Bytes of a line that may pass.
    bytes_max: usize,
    line: Vec<u8>,
    too_long: Option<TooLongLine>,
}

/// A line of which nothing is kept.
#[derive(Default)]
struct TooLongLine {
    id: IdScan,
    /// It begins like a message.
    is_object: bool,
}

impl MessageLines {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, line: Vec::new(), too_long: None }
    }

    /// Takes the next bytes. Lines that pass are appended to `out`.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>, news: &mut Vec<ServerNews>) {
        let mut rest = bytes;
        while let Some(end) = memchr(b'\n', rest) {
            let (line, behind) = rest.split_at(end);
            rest = &behind[1..];
            self.add(line);
            self.finish(out, news);
        }
        self.add(rest);
    }

    fn add(&mut self, part: &[u8]) {
        if let Some(line) = &mut self.too_long {
            return line.add(part);
        }
        if self.line.len() + part.len() <= self.bytes_max {
            return self.line.extend_from_slice(part);
        }
        let first = self.line.iter().chain(part).find(|byte| !byte.is_ascii_whitespace());
        let mut line = TooLongLine { is_object: first == Some(&b'{'), id: IdScan::default() };
        line.add(&self.line);
        line.add(part);
        self.too_long = Some(line);
        self.line = Vec::new();
    }

    fn finish(&mut self, out: &mut Vec<u8>, news: &mut Vec<ServerNews>) {
        if let Some(line) = self.too_long.take() {
            return match line.id.value() {
                Some(id) if line.is_object => {
                    out.extend_from_slice(too_long_answer(&id, self.bytes_max).as_bytes());
                    out.push(b'\n');
                }
                Some(_) | None => tell(news, || ServerNews::TooLong),
            };
        }
        let line = self.line.trim_ascii();
        if is_unread_notification(line) {
            // Nothing to tell: servers may send them.
        } else if may_be_message(line) {
            out.extend_from_slice(line);
            out.push(b'\n');
        } else if !line.is_empty() {
            tell(news, || {
                let shown = &line[..line.len().min(SHOWN_BYTES_MAX)];
                ServerNews::NoMessage(String::from_utf8_lossy(shown).into_owned())
            });
        }
        self.line.clear();
        if self.line.capacity() > BUFFER_KEPT_BYTES {
            self.line = Vec::new();
        }
    }
}

/// A flood of lines is worth no more than a few pieces of news.
fn tell(news: &mut Vec<ServerNews>, one: impl FnOnce() -> ServerNews) {
    if news.len() < NEWS_WAITING_MAX {
        news.push(one());
    }
}

impl TooLongLine {
    fn add(&mut self, part: &[u8]) {
        if self.is_object {
            self.id.push(part);
        }
    }
}

/// Whether the protocol can be asked to read it.
fn may_be_message(line: &[u8]) -> bool {
    line.starts_with(b"{") && memmem::find(line, b"\"jsonrpc\"").is_some()
}

/// A notification that the client would drop, as most servers write it. A flood of them need not be parsed.
fn is_unread_notification(line: &[u8]) -> bool {
    let name = line.strip_prefix(br#"{"jsonrpc":"2.0","method":"notifications/"#);
    name.is_some_and(|name| !name.starts_with(b"tools/list_changed\""))
}

fn too_long_answer(id: &Value, longest: usize) -> String {
    let message = format!("the server's answer is longer than {longest} bytes, and was not read");
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": message } })
        .to_string()
}

/// Finds the field `id` of a JSON object that goes by in pieces.
#[derive(Default)]
struct IdScan {
    depth: u32,
    in_string: bool,
    is_escaped: bool,
    /// The key or the value at the top that goes by now; cut off.
    token: Vec<u8>,
    key_is_id: bool,
    is_value: bool,
    id: Option<Vec<u8>>,
}

/// Bytes of an id. Ours are numbers.
const ID_BYTES_MAX: usize = 64;

impl IdScan {
    fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, behind)) = rest.split_first() {
            // Long texts are below the top, and nothing in them counts but their end.
            if self.in_string && !self.is_escaped && self.depth != 1 {
                let Some(end) = memchr2(b'"', b'\\', rest) else { return };
                self.step(rest[end]);
                rest = &rest[end + 1..];
                continue;
            }
            self.step(*byte);
            rest = behind;
        }
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return self.collect(byte);
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.collect(byte);
            }
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            b'}' | b']' => {
                if self.depth == 1 {
                    self.member_ends();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' if self.depth == 1 => self.member_ends(),
            b':' if self.depth == 1 => {
                self.key_is_id = self.token == b"\"id\"";
                self.is_value = true;
                self.token.clear();
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => self.collect(byte),
        }
    }

    fn collect(&mut self, byte: u8) {
        // One byte more than an id may have, so that what was cut is not taken for one.
        if self.depth == 1 && self.token.len() <= ID_BYTES_MAX {
            self.token.push(byte);
        }
    }

    fn member_ends(&mut self) {
        if self.is_value && self.key_is_id && self.token.len() <= ID_BYTES_MAX {
            self.id = Some(self.token.clone());
        }
        self.token.clear();
        (self.key_is_id, self.is_value) = (false, false);
    }

    fn value(&self) -> Option<Value> {
        let value: Value = serde_json::from_slice(self.id.as_ref()?).ok()?;
        (value.is_number() || value.is_string()).then_some(value)
    }
}

/// A server's output, of which only possible messages are read. It ends when the server has sent too much
/// that answers nothing.
pub(super) struct FilteredOutput<R> {
    source: R,
    /// Bytes since the last answer to a request; the client sets it back.
    unasked: Arc<AtomicU64>,
    news: NewsPort,
    lines: MessageLines,
    ready: Vec<u8>,
    given: usize,
    chunk: Box<[u8]>,
    is_over: bool,
    unasked_max: u64,
}

impl<R> FilteredOutput<R> {
    pub(super) fn new(source: R, unasked: Arc<AtomicU64>, news: NewsPort) -> FilteredOutput<R> {
        FilteredOutput {
            source,
            unasked,
            news,
            lines: MessageLines::new(MCP_MESSAGE_BYTES_MAX),
            ready: Vec::new(),
            given: 0,
            chunk: vec![0; CHUNK_BYTES].into_boxed_slice(),
            is_over: false,
            unasked_max: MCP_UNASKED_BYTES_MAX,
        }
    }

    fn ends(&mut self, cause: EndCause) {
        self.is_over = true;
        self.news.end(cause);
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for FilteredOutput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = &mut *self;
        loop {
            if this.given < this.ready.len() {
                let rest = &this.ready[this.given..];
                let part = &rest[..rest.len().min(buffer.remaining())];
                buffer.put_slice(part);
                this.given += part.len();
                return Poll::Ready(Ok(()));
            }
            if this.is_over {
                return Poll::Ready(Ok(()));
            }
            this.ready.clear();
            this.ready.shrink_to(BUFFER_KEPT_BYTES);
            this.given = 0;
            let mut chunk = ReadBuf::new(&mut this.chunk);
            let read = ready!(Pin::new(&mut this.source).poll_read(context, &mut chunk));
            let bytes = chunk.filled().len();
            if read.is_err() || bytes == 0 {
                this.ends(EndCause::OutputClosed);
                continue;
            }
            let mut news = Vec::new();
            this.lines.push(&this.chunk[..bytes], &mut this.ready, &mut news);
            news.into_iter().for_each(|news| this.news.tell(news));
            let unasked = this.unasked.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
            if unasked > this.unasked_max {
                this.ends(EndCause::Flood);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES_MAX: usize = 5000;

    /// What passes, and the news, when the bytes come in pieces of every size that is given.
    fn sorted(bytes: &[u8], sizes: &[usize]) -> (String, Vec<ServerNews>) {
        let mut results = sizes.iter().map(|size| {
            let (mut lines, mut out, mut news) =
                (MessageLines::new(BYTES_MAX), Vec::new(), Vec::new());
            bytes.chunks(*size).for_each(|part| lines.push(part, &mut out, &mut news));
            (String::from_utf8(out).expect("text"), news)
        });
        let first = results.next().expect("a size");
        assert!(results.all(|result| result == first), "the pieces made a difference");
        first
    }

    #[test]
    fn messages_pass_and_other_lines_are_told_and_dropped() {
        let printed = b"starting up\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n\n\
            {\"level\":\"info\"}\n \xff\xfe\n  {\"id\":2,\"jsonrpc\":\"2.0\"}\nhalf";
        let (out, news) = sorted(printed, &[1, 2, 7, 1000]);
        assert_eq!(
            out,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n{\"id\":2,\"jsonrpc\":\"2.0\"}\n"
        );
        let lines = ["starting up", "{\"level\":\"info\"}", "\u{fffd}\u{fffd}"];
        assert_eq!(news, lines.map(|line| ServerNews::NoMessage(line.to_owned())));
    }

    #[test]
    fn of_notifications_only_changed_tools_pass() {
        let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let other = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
        let (out, news) = sorted(format!("{other}\n{changed}\n{other}\n").as_bytes(), &[3, 1000]);
        assert_eq!((out, news), (format!("{changed}\n"), Vec::new()));
    }

    fn too_long(front: &str, back: &str) -> (String, Vec<ServerNews>) {
        let mut line = format!("{front}\"{}\"{back}", "x".repeat(BYTES_MAX));
        line.push_str("\n{\"jsonrpc\":\"2.0\",\"id\":9}\n");
        sorted(line.as_bytes(), &[1, 100, 4096, 100_000])
    }

    #[test]
    fn an_answer_that_is_too_long_becomes_an_error_for_the_same_request() {
        let cases = [
            ("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"id\":1,\"text\":", "}}", json!(7)),
            (
                "{\"result\":[{\"id\":1},",
                "],\"jsonrpc\":\"2.0\", \"id\" : \"a\\\"b\" }",
                json!("a\"b"),
            ),
            ("{\"text\\\"\":\"\\\\\",\"id\":8,\"result\":", "}", json!(8)),
        ];
        for (front, back, id) in cases {
            let (out, news) = too_long(front, back);
            let (first, second) = out.split_once('\n').expect("two lines");
            let error: Value = serde_json::from_str(first).expect("JSON");
            assert_eq!(error["id"], id, "{front}");
            let message = error["error"]["message"].as_str().expect("a text");
            assert!(message.contains("is longer than 5000 bytes"), "{message}");
            assert_eq!(second, "{\"jsonrpc\":\"2.0\",\"id\":9}\n");
            assert_eq!(news, []);
        }
    }

    #[test]
    fn what_is_too_long_and_answers_nothing_is_told_and_dropped() {
        for (front, back) in [
            ("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"id\":1,\"text\":", "}}"),
            ("", ""),
            ("{\"id\":null,\"result\":", "}"),
            ("{\"id\":{\"id\":1},\"result\":", "}"),
        ] {
            let (out, news) = too_long(front, back);
            assert_eq!(out, "{\"jsonrpc\":\"2.0\",\"id\":9}\n", "{front}");
            assert_eq!(news, [ServerNews::TooLong], "{front}");
        }
    }

    #[test]
    fn nothing_is_kept_of_a_line_without_end() {
        let (mut lines, mut out, mut news) = (MessageLines::new(BYTES_MAX), Vec::new(), Vec::new());
        let part = vec![b'x'; 999];
        for _ in 0..20 {
            lines.push(&part, &mut out, &mut news);
            assert!(lines.line.capacity() <= 2 * BYTES_MAX);
        }
        assert_eq!((lines.line.capacity(), out.capacity(), news.len()), (0, 0, 0));
    }

    #[tokio::test]
    async fn a_server_that_answers_nothing_is_read_only_up_to_a_limit() {
        let (port, news) = NewsPort::new();
        let flood = tokio::io::repeat(b'\n');
        let unasked = Arc::new(AtomicU64::new(0));
        let mut output = FilteredOutput::new(flood, Arc::clone(&unasked), port);
        output.unasked_max = 1_000_000;
        let mut all = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut output, &mut all).await.expect("its end");
        assert_eq!(all, b"");
        assert_eq!(news.end_cause(), Some(EndCause::Flood));
        let read = unasked.load(Ordering::Relaxed);
        assert!(read <= 1_000_000 + CHUNK_BYTES as u64, "{read}");
    }
}
