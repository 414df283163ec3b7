//! Finds the file in which an agent recorded its session, by the session's id.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::presets::SessionFiles;

use crate::limits::{SESSION_FILE_BYTES_MAX, SESSION_FOLDERS_MAX};

/// The last lines of the session's file; empty if the file does not exist.
pub(super) fn last_lines<'a>(
    files: SessionFiles,
    session: &str,
    env: &dyn Fn(&str) -> Option<&'a OsStr>,
) -> Vec<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if session.is_empty() || !session.bytes().all(is_plain) {
        return Vec::new();
    }
    let home = env(files.home_variable)
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(env("HOME")?).join(files.home_folder)));
    let ending = format!("{session}{}", files.ending);
    home.and_then(|home| find(&home.join(files.folder), &ending))
        .and_then(|path| tail(&path).ok())
        .unwrap_or_default()
}

/// The newest folders first: they are named for years, months and days.
fn find(folder: &Path, ending: &str) -> Option<PathBuf> {
    let mut open = vec![folder.to_owned()];
    for _ in 0..SESSION_FOLDERS_MAX {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(open.pop()?).ok()?.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        let is_it = |path: &&PathBuf| path.to_string_lossy().ends_with(ending) && path.is_file();
        if let Some(found) = entries.iter().find(is_it) {
            return Some(found.clone());
        }
        // The last one is looked into next.
        open.extend(entries.into_iter().filter(|path| path.is_dir()));
    }
    None
}

fn tail(path: &Path) -> std::io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let from = length.saturating_sub(SESSION_FILE_BYTES_MAX);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(SESSION_FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line may be half of one.
    Ok(text.lines().skip(usize::from(from > 0)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: SessionFiles = SessionFiles {
        home_variable: "AGENT_HOME",
        home_folder: ".agent",
        folder: "sessions",
        ending: ".jsonl",
    };

    #[test]
    fn the_file_of_a_session_is_found_in_the_newest_folders_first() {
        let home = tempfile::tempdir().expect("a folder");
        for (folder, name, text) in [
            ("2025/12/31", "a-id-1.jsonl", "old"),
            ("2026/01/02", "b-id-2.jsonl", "one\ntwo"),
            ("2026/01/02", "b-id-22.jsonl", "other"),
        ] {
            let folder = home.path().join(".agent/sessions").join(folder);
            fs::create_dir_all(&folder).expect("folders");
            fs::write(folder.join(name), text).expect("written");
        }
        let found = |session: &str, with: &'static str| {
            let folder = home.path().join(".agent");
            let env = |name: &str| match name {
                "HOME" if with == "HOME" => Some(home.path().as_os_str()),
                "AGENT_HOME" if with == "AGENT_HOME" => Some(folder.as_os_str()),
                _ => None,
            };
            last_lines(FILES, session, &env)
        };
        assert_eq!(found("id-2", "HOME"), ["one", "two"]);
        assert_eq!(found("id-1", "AGENT_HOME"), ["old"]);
        assert_eq!(found("id-3", "HOME"), [""; 0]);
        assert_eq!(found("../id-2", "HOME"), [""; 0]);
        assert_eq!(found("id-2", "nothing"), [""; 0]);
    }

    #[test]
    fn only_the_last_complete_lines_of_a_long_file_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("long");
        let line = "x".repeat(999);
        fs::write(&path, format!("{line}\n").repeat(2 * SESSION_FILE_BYTES_MAX as usize / 1000))
            .expect("written");
        let lines = tail(&path).expect("readable");
        assert!(lines.len() > 100 && lines.iter().all(|read| *read == line));
    }
}
