//! The text of the trust file: a line with its version, one for each file, and one with their
//! number, which reveals a truncated file.
//!
//! ```text
//! hookwright trust 1
//! <sha-256 of the content> <since when> <place>
//! end 1
//! ```
//!
//! In a place, a backslash, a control character and a byte that is not UTF-8 are written as `\xHH`:
//! a line stays a line, and every path can be written.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::sha256::Sha256;

/// The beginning of every version.
const TITLE: &str = "hookwright trust ";

/// The version that this program reads and writes.
const VERSION: &str = "1";

/// A trusted file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// Its path.
    pub(crate) place: PathBuf,
    /// The digest of its content.
    pub(crate) sha256: Sha256,
    /// When it was trusted, in UTC: `2026-01-02T03:04:05Z`.
    pub(crate) since: String,
}

/// Why a text is not a trust file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotRecords {
    /// Another version wrote it.
    Newer { version: String },
    /// No version writes this.
    Damaged { line: usize },
}

/// The text of these records.
pub(super) fn written(records: &[Record]) -> String {
    let mut text = format!("{TITLE}{VERSION}\n");
    for Record { place, sha256, since } in records {
        text.push_str(&format!("{} {since} {}\n", sha256.to_hex(), escaped(place)));
    }
    text.push_str(&format!("end {}\n", records.len()));
    text
}

/// A trust file's text, completely checked. Records are parsed on request: usually one of many is
/// needed, while an agent waits.
#[derive(Debug, Default)]
pub(super) struct Records {
    text: String,
}

impl Records {
    /// Checks a text. All of it must be valid: half a file is no reason to trust.
    pub(super) fn read(text: Vec<u8>) -> Result<Self, NotRecords> {
        let text = String::from_utf8(text).map_err(|error| {
            let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            NotRecords::Damaged { line: 1 + before.iter().filter(|byte| **byte == b'\n').count() }
        })?;
        check(&text)?;
        Ok(Self { text })
    }

    /// Every record.
    pub(super) fn all(&self) -> Vec<Record> {
        self.lines().filter_map(|line| line.record()).collect()
    }

    /// The digest of the file at this place.
    pub(super) fn find(&self, place: &Path) -> Option<Sha256> {
        let place = escaped(place);
        self.lines().find(|line| line.place == place).and_then(|line| Sha256::from_hex(line.sha256))
    }

    fn lines(&self) -> impl Iterator<Item = RecordLine<'_>> {
        // The first and the last line are not records.
        self.text.lines().filter_map(RecordLine::parse)
    }
}

fn check(text: &str) -> Result<(), NotRecords> {
    let damaged = |line| NotRecords::Damaged { line };
    let mut lines = text.split_inclusive('\n').map(|line| line.strip_suffix('\n'));
    let title = lines.next().flatten().ok_or(damaged(1))?;
    match title.strip_prefix(TITLE) {
        Some(VERSION) => {}
        Some(version) if version.parse::<u32>().is_ok_and(|version| version > 1) => {
            return Err(NotRecords::Newer { version: version.to_owned() });
        }
        _ => return Err(damaged(1)),
    }
    let mut records = 0;
    for line in lines.by_ref() {
        let here = records + 2;
        let line = line.ok_or(damaged(here))?;
        if let Some(counted) = line.strip_prefix("end ") {
            let is_whole = counted == records.to_string();
            return match (is_whole, lines.next()) {
                (true, None) => Ok(()),
                (true, Some(_)) => Err(damaged(here + 1)),
                (false, _) => Err(damaged(here)),
            };
        }
        RecordLine::parse(line).filter(RecordLine::is_sound).ok_or(damaged(here))?;
        records += 1;
    }
    Err(damaged(records + 2))
}

/// The parts of a record's line.
struct RecordLine<'a> {
    sha256: &'a str,
    since: &'a str,
    place: &'a str,
}

impl<'a> RecordLine<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (sha256, rest) = line.split_at_checked(Sha256::DIGITS)?;
        let (since, place) = rest.strip_prefix(' ')?.split_once(' ')?;
        Some(Self { sha256, since, place })
    }

    fn is_sound(&self) -> bool {
        Sha256::is_hex(self.sha256)
            && is_moment(self.since)
            && self.place.starts_with('/')
            && (!self.place.contains('\\') || unescaped(self.place).is_some())
    }

    fn record(&self) -> Option<Record> {
        Some(Record {
            place: unescaped(self.place)?,
            sha256: Sha256::from_hex(self.sha256)?,
            since: self.since.to_owned(),
        })
    }
}

/// Whether it looks like `2026-01-02T03:04:05Z`.
fn is_moment(text: &str) -> bool {
    let pattern = b"dddd-dd-ddTdd:dd:ddZ";
    text.len() == pattern.len()
        && text.bytes().zip(pattern).all(|(byte, wanted)| match wanted {
            b'd' => byte.is_ascii_digit(),
            _ => byte == *wanted,
        })
}

/// A place as one line of text.
pub(crate) fn escaped(place: &Path) -> String {
    let mut text = String::new();
    for chunk in place.as_os_str().as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '\\' => text.push_str("\\x5c"),
                // A character of two bytes is read back as two.
                _ if letter.is_control() => {
                    let mut bytes = [0; 4];
                    letter.encode_utf8(&mut bytes).bytes().for_each(|byte| push(&mut text, byte));
                }
                _ => text.push(letter),
            }
        }
        chunk.invalid().iter().for_each(|byte| push(&mut text, *byte));
    }
    text
}

fn push(text: &mut String, byte: u8) {
    text.push_str(&format!("\\x{byte:02x}"));
}

/// Parses a place.
pub(crate) fn unescaped(text: &str) -> Option<PathBuf> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (number, rest) = part.strip_prefix('x')?.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(number, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record_of(place: &[u8]) -> Record {
        Record {
            place: OsString::from_vec(place.to_vec()).into(),
            sha256: Sha256::digest(b"abc"),
            since: "2026-01-02T03:04:05Z".to_owned(),
        }
    }

    fn read(text: impl Into<Vec<u8>>) -> Result<Vec<Record>, NotRecords> {
        Records::read(text.into()).map(|records| records.all())
    }

    #[test]
    fn the_text_says_version_files_and_their_number() {
        assert_eq!(
            written(&[record_of(b"/home/a b/hookwright.yaml")]),
            "hookwright trust 1\n\
             ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad \
             2026-01-02T03:04:05Z /home/a b/hookwright.yaml\n\
             end 1\n"
        );
    }

    #[test]
    fn every_path_comes_back_as_it_was() {
        let every_byte: Vec<u8> = (1..=255).collect();
        let records: Vec<Record> = [
            &b"/"[..],
            b"/a\nend 0\n",
            b"/back\\slash\\x41",
            "/ä/日本/\u{9b}\u{85}".as_bytes(),
            b"/ spaces  ",
            b"/not \xff\xfe\xc3 text",
            &[b"/".as_slice(), &every_byte].concat(),
        ]
        .map(record_of)
        .to_vec();
        let text = written(&records);
        assert_eq!(text.lines().count(), records.len() + 2);
        let known = Records::read(text.clone().into_bytes()).unwrap();
        for record in &records {
            assert_eq!(
                known.find(&record.place),
                Some(record.sha256),
                "{}",
                record.place.display()
            );
        }
        assert_eq!(known.find(Path::new("/b")), None);
        assert_eq!(read(text), Ok(records));
    }

    #[test]
    fn a_text_that_is_cut_off_anywhere_is_damaged() {
        let text = written(&[record_of(b"/a"), record_of(b"/b")]);
        for length in 0..text.len() {
            let cut = read(&text.as_bytes()[..length]);
            assert!(matches!(cut, Err(NotRecords::Damaged { .. })), "{length} bytes: {cut:?}");
        }
        assert!(read(text.as_bytes()).is_ok());
    }

    #[test]
    fn damage_is_told_with_its_line_and_a_newer_version_by_its_number() {
        let line = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad \
                    2026-01-02T03:04:05Z /a";
        for (text, found) in [
            (
                "hookwright trust 2\nwhatever\n".to_owned(),
                NotRecords::Newer { version: "2".into() },
            ),
            ("hookwright trust 0\nend 0\n".to_owned(), NotRecords::Damaged { line: 1 }),
            ("something else\n".to_owned(), NotRecords::Damaged { line: 1 }),
            ("hookwright trust 1\nend 1\n".to_owned(), NotRecords::Damaged { line: 2 }),
            (format!("hookwright trust 1\n{line}\nend 2\n"), NotRecords::Damaged { line: 3 }),
            (format!("hookwright trust 1\nend 0\n{line}\n"), NotRecords::Damaged { line: 3 }),
            (
                format!("hookwright trust 1\n{}\nend 1\n", line.replace("/a", "a")),
                NotRecords::Damaged { line: 2 },
            ),
            (
                format!("hookwright trust 1\n{line}\n{}\nend 2\n", line.replace("2026", "now")),
                NotRecords::Damaged { line: 3 },
            ),
            (
                format!("hookwright trust 1\n{}\nend 1\n", line.replace("/a", "/\\n")),
                NotRecords::Damaged { line: 2 },
            ),
        ] {
            assert_eq!(read(text.as_bytes()), Err(found), "{text}");
        }
        assert_eq!(read(*b"hookwright trust 1\n/\xff\n"), Err(NotRecords::Damaged { line: 2 }));
    }
}
