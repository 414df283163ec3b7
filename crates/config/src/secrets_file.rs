//! `secrets.env`: lines of `NAME=value`, in a file that only its owner can read.
//!
//! A value is bare, in `'single quotes'` (taken literally, also over several lines) or in
//! `"double quotes"` with ` `, `\"`, `\\`, `\$` and `` \` ` `. Nothing is expanded. A value that a
//! shell would read differently is a fault, because shells often read such files too.
//!
//! A fault shows its line, so faults get a copy of the text without the values.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use hookwright_engine::limits::{ENV_VALUE_BYTES_MAX, SECRET_BYTES_MIN};
use hookwright_engine::variables::is_ours;
use hookwright_engine::{Secrets, answer};

use crate::limits::SECRETS_BYTES_MAX;
use crate::{Fault, FaultKind, FilePlace, SourceFile};

/// Reads a file of secrets. Messages call it `shown_as`.
pub fn read_secrets(path: &Path, shown_as: &Path) -> Result<Secrets, Vec<Fault>> {
    let text = text_of(path).map_err(|kind| {
        let source = Arc::new(SourceFile { path: shown_as.into(), text: "".into() });
        vec![Fault { source, place: None, kind }]
    })?;
    let mut reader = SecretsReader { text: &text, at: 0, entries: Vec::new(), faults: Vec::new() };
    reader.read_all();
    if reader.faults.is_empty() {
        return Ok(Secrets::new(reader.entries));
    }
    let source = Arc::new(SourceFile { path: shown_as.into(), text: without_values(&text).into() });
    let fault = |(line, kind)| Fault {
        place: Some(place(&source.text, line)),
        source: Arc::clone(&source),
        kind,
    };
    Err(reader.faults.into_iter().map(fault).collect())
}

fn text_of(path: &Path) -> Result<String, FaultKind> {
    let unreadable = |error: std::io::Error| FaultKind::Unreadable { cause: error.to_string() };
    // Check this before opening the file: opening a pipe would block for ever.
    let kind = fs::metadata(path).map_err(unreadable)?.file_type();
    if kind.is_dir() {
        return Err(FaultKind::IsFolder);
    }
    if !kind.is_file() {
        return Err(FaultKind::Unreadable { cause: "it is not a file".to_owned() });
    }
    let opened = fs::File::open(path).map_err(unreadable)?;
    let mode = opened.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(FaultKind::OthersCanRead { mode });
    }
    let mut bytes = Vec::new();
    opened.take(SECRETS_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > SECRETS_BYTES_MAX {
        return Err(FaultKind::TooLarge {
            bytes: bytes.len() as u64,
            bytes_max: SECRETS_BYTES_MAX,
        });
    }
    String::from_utf8(bytes)
        .map_err(|error| FaultKind::NotText { byte: error.utf8_error().valid_up_to() })
}

struct SecretsReader<'a> {
    text: &'a str,
    at: usize,
    entries: Vec<(String, String)>,
    /// Each with the number of its line, from 0.
    faults: Vec<(usize, FaultKind)>,
}

impl SecretsReader<'_> {
    fn read_all(&mut self) {
        while self.at < self.text.len() {
            let line = self.text[..self.at].matches('\n').count();
            let written = self.rest_of_line().trim();
            if written.is_empty() || written.starts_with('#') {
                self.next_line();
                continue;
            }
            match self.entry() {
                Ok((name, value)) => {
                    self.check(line, &name, &value);
                    self.entries.push((name, value));
                }
                Err(kind) => {
                    self.faults.push((line, kind));
                    self.next_line();
                }
            }
        }
    }

    fn rest_of_line(&self) -> &str {
        let rest = &self.text[self.at..];
        rest.split('\n').next().unwrap_or(rest)
    }

    fn next_line(&mut self) {
        self.at += self.rest_of_line().len() + 1;
    }

    /// Reads one `NAME=value` and moves to the next line.
    fn entry(&mut self) -> Result<(String, String), FaultKind> {
        const ENTRY: &str = "NAME=value, an empty line or a # comment";
        let line = self.rest_of_line();
        let (name, _) = line.split_once('=').ok_or_else(|| bad(ENTRY))?;
        let begin = self.at + name.len() + 1;
        let name = name.trim_start();
        let name = name.strip_prefix("export ").map_or(name, str::trim_start).to_owned();
        if !is_name(&name) {
            return Err(bad(ENTRY));
        }
        let (value, end) = match self.text[begin..].chars().next() {
            Some('\'') => single_quoted(self.text, begin)?,
            Some('"') => double_quoted(self.text, begin)?,
            _ => bare(self.text, begin)?,
        };
        self.at = end;
        let behind = self.rest_of_line().trim_start();
        let is_comment = behind.starts_with('#') && self.rest_of_line().starts_with([' ', '\t']);
        if !behind.is_empty() && !is_comment {
            return Err(bad(AFTER_VALUE));
        }
        self.next_line();
        Ok((name, value))
    }

    fn check(&mut self, line: usize, name: &str, value: &str) {
        if self.entries.iter().any(|(known, _)| known == name) {
            self.faults.push((line, FaultKind::DuplicateKey { key: name.to_owned() }));
        }
        let is_reserved = is_ours(name) || name.starts_with("HOOKWRIGHT");
        if is_reserved && name != Secrets::STORE_PASSWORD {
            self.faults.push((line, FaultKind::ReservedName { name: name.to_owned() }));
        }
        // If such a word were redacted in a hook's answer, the answer would change its meaning.
        let hides_answers = answer::field_names()
            .any(|word| word.contains(value) || value.contains(&format!("\"{word}")));
        if value.len() < SECRET_BYTES_MIN || hides_answers {
            let bytes_min = SECRET_BYTES_MIN;
            self.faults.push((line, FaultKind::WeakSecret { name: name.to_owned(), bytes_min }));
        }
        if value.contains('\0') || value.len() > ENV_VALUE_BYTES_MAX {
            let expected = "a value that fits in an environment variable, without NUL bytes";
            self.faults.push((line, bad(expected)));
        }
    }
}

const AFTER_VALUE: &str =
    "nothing after the value but a # comment; put a value with spaces in quotes";
const UNCLOSED: &str = "a quote that closes the value";
const QUOTED: &str = "a value in 'single quotes', since a shell would read this one differently";

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn bad(expected: &'static str) -> FaultKind {
    FaultKind::BadValue { found: "…".to_owned(), expected: expected.into() }
}

/// The value that begins at `begin`, and its end.
fn single_quoted(text: &str, begin: usize) -> Result<(String, usize), FaultKind> {
    let value = &text[begin + 1..];
    let len = value.find('\'').ok_or_else(|| bad(UNCLOSED))?;
    Ok((value[..len].to_owned(), begin + 1 + len + 1))
}

fn double_quoted(text: &str, begin: usize) -> Result<(String, usize), FaultKind> {
    let mut value = String::new();
    let mut letters = text[begin + 1..].char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, begin + 1 + at + 1)),
            '$' | '`' => return Err(bad(QUOTED)),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, escaped @ ('"' | '\\' | '$' | '`'))) => value.push(escaped),
                Some(_) | None => return Err(bad(QUOTED)),
            },
            letter => value.push(letter),
        }
    }
    Err(bad(UNCLOSED))
}

fn bare(text: &str, begin: usize) -> Result<(String, usize), FaultKind> {
    let rest = &text[begin..];
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let value = &rest[..end];
    if value.contains(['\'', '"', '$', '`', '\\', ';', '&', '|', '<', '>', '(', ')']) {
        return Err(bad(QUOTED));
    }
    // Files from other systems may end lines with CR LF.
    Ok((value.to_owned(), begin + end))
}

/// The same lines, each cut before its value.
fn without_values(text: &str) -> String {
    let shown = |line: &str| match line.split_once('=') {
        _ if line.trim().is_empty() => String::new(),
        Some((name, _)) if is_name(name.trim().trim_start_matches("export ").trim()) => {
            format!("{name}=…")
        }
        Some(_) | None => "…".to_owned(),
    };
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

fn place(text: &str, line: usize) -> FilePlace {
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let shown = text[start..].split('\n').next().unwrap_or_default();
    let number = u32::try_from(line + 1).unwrap_or(u32::MAX);
    FilePlace { line: number, column: 1, range: start..start + shown.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct SecretsCase {
        folder: tempfile::TempDir,
    }

    impl SecretsCase {
        fn new(text: &str, mode: u32) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("secrets.env");
            fs::write(&path, text).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            Self { folder }
        }

        fn read(&self) -> Result<Vec<(String, String)>, Vec<String>> {
            let path = self.folder.path().join("secrets.env");
            let shown = |fault: &Fault| {
                assert!(!format!("{fault:?}").contains("hunter"), "a fault shows a value");
                fault.to_string()
            };
            match read_secrets(&path, Path::new("secrets.env")) {
                Ok(secrets) => {
                    let value = |name: &str| secrets.get(name).expect("its own name").to_owned();
                    Ok(secrets.names().map(|name| (name.to_owned(), value(name))).collect())
                }
                Err(faults) => Err(faults.iter().map(shown).collect()),
            }
        }
    }

    fn faults(text: &str) -> Vec<String> {
        SecretsCase::new(text, 0o600).read().expect_err("faulty")
    }

    #[test]
    fn values_are_bare_or_in_single_or_double_quotes() {
        let text = "# tokens\n\nexport A=hunter-22/x#y=\nB='hunter 22 $x'\nC=\"hunter\\n\\\"22\\\\\\$\" # \
                    why\n  D='-----BEGIN\nhunter22\n-----END'\r\nE=hunter22\r\n";
        let expected = [
            ("A", "hunter-22/x#y="),
            ("B", "hunter 22 $x"),
            ("C", "hunter\n\"22\\$"),
            ("D", "-----BEGIN\nhunter22\n-----END"),
            ("E", "hunter22"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(SecretsCase::new(text, 0o600).read(), Ok(expected.to_vec()));
        assert_eq!(SecretsCase::new("", 0o400).read(), Ok(Vec::new()));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        for mode in [0o640, 0o604, 0o602, 0o666] {
            let faults = SecretsCase::new("A=hunter22\n", mode).read().expect_err("refused");
            assert!(faults[0].contains(&format!("{mode:o}")), "{faults:?}");
        }
    }

    #[test]
    fn faults_name_their_line_and_never_show_a_value() {
        for (text, line, part) in [
            ("A=hunter22\nB=hunter\n", 2, "at least"),
            ("A=hunter22\nhunter22\n", 2, "NAME=value"),
            ("A B=hunter22\n", 1, "NAME=value"),
            ("A=hunter22\nA=hunter33\n", 2, "twice"),
            ("\nSTAGE=hunter22\n", 2, "STAGE"),
            ("HOOKWRIGHT_X=hunter22\n", 1, "HOOKWRIGHT_X"),
            ("A='hunter22\n", 1, "closes"),
            ("A=\"hunter22\n", 1, "closes"),
            ("A=\"hunter$x22\"\n", 1, "single quotes"),
            ("A=\"hunter\\x22\"\n", 1, "single quotes"),
            ("A=hunter$(x)\n", 1, "single quotes"),
            ("A=hunter22 x\n", 1, "after the value"),
            ("A='hunter22'x\n", 1, "after the value"),
            ("A=decision\n", 1, "at least"),
            ("A='{\"decision\":\"deny\"}'\n", 1, "at least"),
        ] {
            let faults = faults(text);
            let begin = format!("secrets.env:{line}:1: ");
            assert!(
                faults[0].starts_with(&begin) && faults[0].contains(part),
                "{text}: {faults:?}"
            );
        }
    }

    #[test]
    fn every_fault_is_reported_not_only_the_first() {
        assert_eq!(faults("A=x\nnothing\nB=y\n").len(), 3);
    }

    #[test]
    fn a_folder_or_a_missing_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let faults = read_secrets(folder.path(), Path::new("s")).expect_err("a folder");
        assert_eq!(faults[0].kind, FaultKind::IsFolder);
        let gone = read_secrets(&folder.path().join("none"), Path::new("s")).expect_err("missing");
        assert!(matches!(gone[0].kind, FaultKind::Unreadable { .. }));
    }
}
