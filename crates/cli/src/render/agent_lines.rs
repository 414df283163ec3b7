//! [`AgentLines`]: splits an agent's output into lines.

use crate::text::visible;

/// Bytes of a line that are buffered; a longer one is broken.
const LINE_BYTES_MAX: usize = 8 * 1024;

/// The unfinished lines of both streams.
#[derive(Debug, Default)]
pub(super) struct AgentLines {
    stdout: String,
    stderr: String,
}

impl AgentLines {
    /// Adds output, and returns the lines that are complete now.
    pub(super) fn push(&mut self, stream: &str, text: &str) -> String {
        let open = if stream == "stderr" { &mut self.stderr } else { &mut self.stdout };
        open.push_str(text);
        let end = match open.rfind('\n') {
            _ if open.len() > LINE_BYTES_MAX => open.len(),
            Some(last) => last + 1,
            None => return String::new(),
        };
        let whole: String = open.drain(..end).collect();
        shown(&whole)
    }

    /// The unfinished lines, when the agent has ended.
    pub(super) fn finish(self) -> String {
        shown(&self.stdout) + &shown(&self.stderr)
    }
}

fn shown(text: &str) -> String {
    text.lines().map(|line| format!("    | {}\n", visible(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_complete_however_the_reads_split_them() {
        let mut lines = AgentLines::default();
        assert_eq!(lines.push("stdout", "one\ntw"), "    | one\n");
        assert_eq!(lines.push("stderr", "oh"), "");
        assert_eq!(lines.push("stdout", "o\nthree"), "    | two\n");
        assert_eq!(lines.finish(), "    | three\n    | oh\n");
        let long = "x".repeat(LINE_BYTES_MAX + 1);
        assert_eq!(AgentLines::default().push("stdout", &long), format!("    | {long}\n"));
    }
}
