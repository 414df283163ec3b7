//! What a scripted agent has printed so far, within a bound: past it the first and the last half
//! stay and the middle is counted, as with any program.

use hookwright_events::Output;
use hookwright_process::Stream;

use crate::limits::AGENT_OUTPUT_BYTES_MAX;

/// Both streams.
#[derive(Debug, Default)]
pub(super) struct Printed {
    stdout: Kept,
    stderr: Kept,
    /// Something in the background still held the output of a command.
    pub(super) held: bool,
}

impl Printed {
    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout.push(bytes),
            Stream::Stderr => self.stderr.push(bytes),
        }
    }

    pub(super) fn into_output(self) -> Output {
        let (stdout, stdout_left_out) = self.stdout.into_text();
        let (stderr, stderr_left_out) = self.stderr.into_text();
        Output { stdout, stderr, stdout_left_out, stderr_left_out, held: self.held }
    }
}

#[derive(Debug, Default)]
struct Kept {
    /// Up to twice the bound, so that making room is seldom.
    bytes: Vec<u8>,
    left_out: u64,
}

const FIRST: usize = AGENT_OUTPUT_BYTES_MAX / 2;
const LAST: usize = AGENT_OUTPUT_BYTES_MAX - FIRST;

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(AGENT_OUTPUT_BYTES_MAX) {
            if self.bytes.len() + part.len() > 2 * AGENT_OUTPUT_BYTES_MAX {
                self.cut();
            }
            self.bytes.extend_from_slice(part);
        }
    }

    fn cut(&mut self) {
        let middle = FIRST..self.bytes.len().saturating_sub(LAST).max(FIRST);
        self.left_out += middle.len() as u64;
        self.bytes.drain(middle);
    }

    /// As text, and how many bytes of it are missing.
    fn into_text(mut self) -> (String, u64) {
        if self.left_out == 0 && self.bytes.len() <= AGENT_OUTPUT_BYTES_MAX {
            return (String::from_utf8_lossy(&self.bytes).into_owned(), 0);
        }
        self.cut();
        // A character that the cut went through is left out whole.
        let is_inside_a_character = |byte: &u8| *byte & 0b1100_0000 == 0b1000_0000;
        let (first, last) = self.bytes.split_at(FIRST);
        let begun = first.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
        let ended = last.iter().take(3).take_while(|byte| is_inside_a_character(byte)).count();
        let left_out = self.left_out + (begun + ended) as u64;
        let text = format!(
            "{}\n[… {left_out} bytes left out …]\n{}",
            String::from_utf8_lossy(&first[..FIRST - begun]),
            String::from_utf8_lossy(&last[ended..]),
        );
        (text, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(parts: &[&[u8]]) -> (String, u64) {
        let mut kept = Kept::default();
        for part in parts {
            kept.push(part);
            assert!(kept.bytes.len() <= 2 * AGENT_OUTPUT_BYTES_MAX);
        }
        kept.into_text()
    }

    #[test]
    fn up_to_the_bound_everything_is_kept() {
        assert_eq!(kept(&[b"ab", b"", b"c"]), ("abc".to_owned(), 0));
        let whole = "x".repeat(AGENT_OUTPUT_BYTES_MAX);
        assert_eq!(kept(&[whole.as_bytes()]), (whole, 0));
    }

    #[test]
    fn past_it_the_first_and_the_last_half_stay_however_it_came() {
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
    fn one_byte_too_many_is_one_byte_left_out() {
        let all = "x".repeat(AGENT_OUTPUT_BYTES_MAX + 1);
        assert_eq!(kept(&[all.as_bytes()]).1, 1);
    }

    #[test]
    fn a_character_that_the_cut_goes_through_is_left_out_whole() {
        let all = format!("x{}", "é".repeat(AGENT_OUTPUT_BYTES_MAX));
        let (text, left_out) = kept(&[all.as_bytes()]);
        assert!(!text.contains('\u{fffd}'));
        assert_eq!(left_out, (all.len() - AGENT_OUTPUT_BYTES_MAX) as u64);
    }
}
