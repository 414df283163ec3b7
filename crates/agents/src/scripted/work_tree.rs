//! Changes files of the work tree for a scripted agent: completely or not at all, and never outside
//! of the working directory.
//!
//! A file is written beside its final path and then renamed. Its temporary name is the same in
//! every attempt of a turn, so that the next attempt removes what a crash left behind.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind, Write};
use std::path::{Component, Path, PathBuf};

use crate::agent::Turn;

/// Whether a path stays below its starting folder, judging by its text.
pub(super) fn is_inside(path: &str) -> bool {
    let mut names = 0;
    for component in Path::new(path).components() {
        match component {
            Component::Normal(_) => names += 1,
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return false,
        }
    }
    names > 0 && !path.contains('\0')
}

/// The files of one turn.
pub(super) struct ScriptWorkTree<'a> {
    working_dir: &'a Path,
    status_file: &'a Path,
    /// What a file is called while it is written.
    unfinished: String,
}

impl<'a> ScriptWorkTree<'a> {
    pub(super) fn of(turn: &'a Turn) -> Self {
        // A turn's status file is its own and the same in every attempt.
        let mut hasher = DefaultHasher::new();
        turn.status_file.hash(&mut hasher);
        Self {
            working_dir: &turn.working_dir,
            status_file: &turn.status_file,
            unfinished: format!(".hookwright-{:016x}.part", hasher.finish()),
        }
    }

    /// The target of a path, which must be in the working directory even when links are followed.
    pub(super) fn place(&self, path: &str) -> io::Result<PathBuf> {
        let outside = || io::Error::other("it is outside the working directory");
        if !is_inside(path) {
            return Err(outside());
        }
        let root = self.working_dir.canonicalize()?;
        let target = root.join(path);
        let folder = target.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok());
        if folder.is_some_and(|folder| folder.starts_with(&root)) {
            return Ok(target);
        }
        Err(outside())
    }

    pub(super) fn write(&self, path: &str, text: &str) -> io::Result<()> {
        let target = self.place(path)?;
        self.replace(&target, |file| file.write_all(text.as_bytes()))
    }

    pub(super) fn append(&self, path: &str, text: &str) -> io::Result<()> {
        let target = self.place(path)?;
        let mut old = match fs::symlink_metadata(&target) {
            // Opening a pipe would wait for its other end.
            Ok(metadata) if !metadata.is_file() => {
                return Err(io::Error::other("it is not a file"));
            }
            Ok(_) => Some(File::open(&target)?),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        self.replace(&target, |file| {
            if let Some(old) = &mut old {
                io::copy(old, file)?;
            }
            file.write_all(text.as_bytes())
        })
    }

    /// Deletes a file. A missing file is fine: an earlier attempt may have deleted it.
    pub(super) fn delete(&self, path: &str) -> io::Result<()> {
        match fs::remove_file(self.place(path)?) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    pub(super) fn write_status(&self, text: &str) -> io::Result<()> {
        self.replace(self.status_file, |file| file.write_all(text.as_bytes()))
    }

    fn replace(
        &self,
        target: &Path,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let folder = target.parent().ok_or_else(|| io::Error::other("it has no parent folder"))?;
        fs::create_dir_all(folder)?;
        let unfinished = folder.join(&self.unfinished);
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = File::options().write(true).create_new(true).open(&unfinished)?;
        let done = fill(&mut file).and_then(|()| match fs::symlink_metadata(target) {
            // A script that is written anew can still be executed.
            Ok(old) if old.is_file() => file.set_permissions(old.permissions()),
            Ok(_) | Err(_) => Ok(()),
        });
        let done = done.and_then(|()| fs::rename(&unfinished, target));
        if done.is_err() {
            // Report why the write failed; the next attempt removes the file too.
            let _ = fs::remove_file(&unfinished);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;

    fn turn(folder: &Path, status_file: &str, attempt: u32) -> Turn {
        Turn {
            prompt: Vec::new(),
            shared_env: Arc::default(),
            env: Vec::new(),
            working_dir: folder.to_owned(),
            stage: "work".to_owned(),
            iteration: 1,
            is_final_delivery: false,
            attempt,
            status_file: folder.join(status_file),
            timeout: Duration::from_secs(1),
            run_id: format!("run-{attempt}"),
        }
    }

    #[test]
    fn the_next_attempt_removes_a_file_that_a_crash_left_unfinished() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) =
            (turn(folder.path(), "1/status.json", 1), turn(folder.path(), "1/status.json", 2));
        let left_behind = folder.path().join(ScriptWorkTree::of(&first).unfinished);
        fs::write(&left_behind, "ha").unwrap();
        ScriptWorkTree::of(&second).write("a.txt", "whole").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("a.txt")).unwrap(), "whole");
        assert!(!left_behind.exists());
    }

    #[test]
    fn two_turns_in_one_folder_use_different_temporary_files() {
        let folder = Path::new("/x");
        let [one, other] = ["1/status.json", "2/status.json"].map(|file| turn(folder, file, 1));
        assert_ne!(ScriptWorkTree::of(&one).unfinished, ScriptWorkTree::of(&other).unfinished);
    }

    #[test]
    fn a_path_is_inside_if_no_part_of_it_leads_out() {
        for path in ["a", "./a", "a/b", "a/./b", "a..b", "...", "ü"] {
            assert!(is_inside(path), "{path}");
        }
        for path in ["", ".", "..", "/", "/a", "../a", "a/..", "a/../b", "a\0b"] {
            assert!(!is_inside(path), "{path}");
        }
    }
}
