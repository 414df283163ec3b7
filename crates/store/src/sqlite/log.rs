//! Checks of the write-ahead log without SQLite.
//!
//! SQLite treats an unreadable log as empty and overwrites it, and treats pages that are missing
//! from a truncated file as empty. Both would lose what is left, so opening a store checks for
//! both. The layout is a documented part of SQLite's file format.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The first bytes without the last bit, which gives the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;
const HEADER_BYTES: u64 = 32;
const FRAME_HEADER_BYTES: u64 = 24;

/// Whether a log begins with a valid header. After a crash of the machine it may be empty or zeros.
pub(super) fn is_readable(log: &Path) -> io::Result<bool> {
    let Some((_, header)) = open(log)? else {
        return Ok(true);
    };
    Ok(number(&header, 0) & !1 == MAGIC || header.iter().all(|byte| *byte == 0))
}

/// The pages of this range that are not in the log.
pub(super) fn missing(log: &Path, pages: RangeInclusive<u32>) -> io::Result<BTreeSet<u32>> {
    let mut missing: BTreeSet<u32> = pages.collect();
    let Some((file, header)) = open(log)? else {
        return Ok(missing);
    };
    let (page_bytes, salt) = (number(&header, 8), &header[16..24]);
    let mut at = HEADER_BYTES;
    while !missing.is_empty()
        && let Some(frame) = read_at::<{ FRAME_HEADER_BYTES as usize }>(&file, at)?
        // What follows is left from before the log was restarted.
        && frame[8..16] == *salt
    {
        missing.remove(&number(&frame, 0));
        at += FRAME_HEADER_BYTES + u64::from(page_bytes);
    }
    Ok(missing)
}

/// The file and its header; `None` if there is none yet.
fn open(log: &Path) -> io::Result<Option<(File, [u8; HEADER_BYTES as usize])>> {
    let file = match File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(read_at(&file, 0)?.map(|header| (file, header)))
}

/// `N` bytes at this offset; `None` if the file ends before.
fn read_at<const N: usize>(file: &File, at: u64) -> io::Result<Option<[u8; N]>> {
    let mut bytes = [0; N];
    match file.read_exact_at(&mut bytes, at) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
