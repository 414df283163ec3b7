//! Taking back the half line of a program that was killed while it wrote.
//!
//! A session's own transcript is read when it is continued (`reading.rs`). Those of its subagents, and
//! those of turns that are repeated, are not written to again, but scripts read them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use hookwright_process::faults;

use super::subagents_folder;
use crate::limits::SUBAGENTS_MAX;

/// Bytes that are read at once, from the end backwards.
const STEP: u64 = 64 * 1024;

/// Removes half a line from the end of a transcript, and of those of its subagents. What cannot be opened
/// or changed stays as it is: no work depends on it.
pub fn make_whole(transcript: &Path) {
    let _ = remove_half_line(transcript);
    subagents_whole(transcript);
}

/// Removes half a line from the ends of the transcripts of subagents.
pub(super) fn subagents_whole(transcript: &Path) {
    let Ok(entries) = fs::read_dir(subagents_folder(transcript)) else { return };
    for entry in entries.take(SUBAGENTS_MAX).flatten() {
        let _ = remove_half_line(&entry.path());
    }
}

fn remove_half_line(path: &Path) -> io::Result<()> {
    // A link would lead to another file, and a pipe would keep us waiting.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let metadata = file.metadata()?;
    let bytes = metadata.len();
    if !metadata.is_file() {
        return Ok(());
    }
    let whole = whole_bytes(&mut file, bytes)?;
    if whole < bytes {
        faults::point("half line is removed");
        file.set_len(whole)?;
    }
    Ok(())
}

/// The bytes up to the end of the last whole line.
fn whole_bytes(file: &mut File, bytes: u64) -> io::Result<u64> {
    let mut end = bytes;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let mut part = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().take(end - start).read_to_end(&mut part)?;
        if let Some(at) = part.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::subagent_path;

    #[test]
    fn half_a_line_goes_from_a_transcript_and_from_those_of_its_subagents() {
        let folder = tempfile::tempdir().expect("a folder");
        let own = folder.path().join("t.jsonl");
        let of_subagent = subagent_path(&own, "a1");
        fs::create_dir_all(of_subagent.parent().expect("a folder")).expect("created");
        let long = "x".repeat(200_000);
        for (text, whole) in [
            ("{}\n{\"type\":\"us".to_owned(), "{}\n"),
            ("{}\n{}\n".to_owned(), "{}\n{}\n"),
            (format!("{{}}\n{long}"), "{}\n"),
            (long.clone(), ""),
            (String::new(), ""),
        ] {
            for path in [&own, &of_subagent] {
                fs::write(path, &text).expect("written");
            }
            make_whole(&own);
            for path in [&own, &of_subagent] {
                assert_eq!(fs::read_to_string(path).expect("read"), whole);
            }
        }
    }

    #[test]
    fn a_link_and_a_pipe_are_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (aim, link) = (folder.path().join("notes"), folder.path().join("link.jsonl"));
        fs::write(&aim, "no line end").expect("written");
        std::os::unix::fs::symlink(&aim, &link).expect("linked");
        make_whole(&link);
        assert_eq!(fs::read_to_string(&aim).expect("read"), "no line end");
        let pipe = folder.path().join("pipe.jsonl");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
        assert!(made.success());
        make_whole(&pipe);
    }
}
