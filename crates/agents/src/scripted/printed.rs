//! The output of a scripted agent so far, with the same limit as any program's.

use hookwright_events::Output;
use hookwright_process::{Captured, Stream};

use crate::limits::AGENT_OUTPUT_BYTES_MAX;

/// Both streams.
#[derive(Debug, Default)]
pub(super) struct ScriptOutput {
    stdout: Captured,
    stderr: Captured,
    /// Something in the background still held the output of a command.
    pub(super) held: bool,
}

impl ScriptOutput {
    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let captured = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        captured.push(bytes, AGENT_OUTPUT_BYTES_MAX);
    }

    pub(super) fn into_output(self) -> Output {
        Output {
            stdout: self.stdout.text().into_owned(),
            stderr: self.stderr.text().into_owned(),
            stdout_left_out: self.stdout.left_out(),
            stderr_left_out: self.stderr.left_out(),
            held: self.held,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: usize = AGENT_OUTPUT_BYTES_MAX / 2;
    const LAST: usize = AGENT_OUTPUT_BYTES_MAX - FIRST;

    fn kept(parts: &[&[u8]]) -> (String, u64) {
        let mut printed = ScriptOutput::default();
        for part in parts {
            printed.push(Stream::Stdout, part);
        }
        let output = printed.into_output();
        (output.stdout, output.stdout_left_out)
    }

    #[test]
    fn output_up_to_the_limit_is_kept_completely() {
        assert_eq!(kept(&[b"ab", b"", b"c"]), ("abc".to_owned(), 0));
        let whole = "x".repeat(AGENT_OUTPUT_BYTES_MAX);
        assert_eq!(kept(&[whole.as_bytes()]), (whole, 0));
    }

    #[test]
    fn above_the_limit_the_first_and_the_last_half_are_kept_however_the_output_is_split() {
        let (first, last) = ("a".repeat(FIRST), "c".repeat(LAST));
        let middle = "b".repeat(5 * AGENT_OUTPUT_BYTES_MAX + 7);
        let all = format!("{first}{middle}{last}");
        let expected = format!("{first}\n[… {} bytes left out …]\n{last}", middle.len());
        for size in [10_007, AGENT_OUTPUT_BYTES_MAX, all.len()] {
            let parts: Vec<&[u8]> = all.as_bytes().chunks(size).collect();
            let (text, left_out) = kept(&parts);
            assert!(text == expected && left_out == middle.len() as u64, "{size} {left_out}");
        }
    }

    #[test]
    fn one_byte_over_the_limit_leaves_out_one_byte() {
        let all = "x".repeat(AGENT_OUTPUT_BYTES_MAX + 1);
        assert_eq!(kept(&[all.as_bytes()]).1, 1);
    }

    #[test]
    fn a_character_at_the_cut_is_left_out_completely() {
        let all = format!("x{}", "é".repeat(AGENT_OUTPUT_BYTES_MAX));
        let (text, left_out) = kept(&[all.as_bytes()]);
        assert!(!text.contains('\u{fffd}'));
        assert_eq!(left_out, (all.len() - AGENT_OUTPUT_BYTES_MAX) as u64);
    }
}
