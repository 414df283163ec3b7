//! [`ProjectSnapshot`]: a project's files at one time, to find out what hooks changed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use hookwright_config::test_file::{FileChange, WantedFile};

use super::comparison::TouchedFile;
use super::tree::Tree;

/// Larger files are compared by size and modification time.
const BYTES_READ_MAX: u64 = 16 * 1024 * 1024;

/// Bytes of a file that are compared with an expectation.
const CONTENT_BYTES_MAX: u64 = 1024 * 1024;

/// A project's files at one time.
pub(super) struct ProjectSnapshot {
    files: BTreeMap<PathBuf, FileState>,
}

/// The state of a file, for comparison.
#[derive(Debug, PartialEq, Eq)]
enum FileState {
    File { mode: u32, bytes: u64, content: SnapshotContent },
    Link { to: PathBuf },
}

#[derive(Debug, PartialEq, Eq)]
enum SnapshotContent {
    Digest(u64),
    ChangedAt(Option<SystemTime>),
    /// Not readable.
    Unreadable,
}

impl ProjectSnapshot {
    pub(super) fn take(root: &Path, tree: &Tree) -> Self {
        // A file that has disappeared since it was listed does not count.
        let seen = |path: &PathBuf| Some((path.clone(), seen(&root.join(path)).ok()?));
        Self { files: tree.files.iter().filter_map(seen).collect() }
    }

    /// The changes between this snapshot and a later one, by path. Reads a file's content only if
    /// an expectation needs it.
    pub(super) fn touched(
        &self,
        later: &ProjectSnapshot,
        root: &Path,
        wanted: &[WantedFile],
    ) -> Vec<TouchedFile> {
        let mut touched = BTreeMap::new();
        for (path, seen) in &later.files {
            match self.files.get(path) {
                None => touched.insert(path, FileChange::Created),
                Some(before) if before != seen => touched.insert(path, FileChange::Changed),
                Some(_) => None,
            };
        }
        for path in self.files.keys().filter(|path| !later.files.contains_key(*path)) {
            touched.insert(path, FileChange::Deleted);
        }
        let asked = |path: &Path| wanted.iter().any(|w| w.path == *path && w.content.is_some());
        touched
            .into_iter()
            .map(|(path, touch)| TouchedFile {
                path: path.clone(),
                touch,
                content: asked(path).then(|| content(&root.join(path))),
            })
            .collect()
    }
}

fn seen(path: &Path) -> io::Result<FileState> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_symlink() {
        return Ok(FileState::Link { to: fs::read_link(path)? });
    }
    let bytes = metadata.len();
    let content = if bytes > BYTES_READ_MAX {
        SnapshotContent::ChangedAt(metadata.modified().ok())
    } else {
        digest(path).map_or(SnapshotContent::Unreadable, SnapshotContent::Digest)
    };
    Ok(FileState::File { mode: metadata.permissions().mode(), bytes, content })
}

fn digest(path: &Path) -> io::Result<u64> {
    let mut bytes = Vec::new();
    File::open(path)?.take(BYTES_READ_MAX).read_to_end(&mut bytes)?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(hasher.finish())
}

/// The content of a file, or the target of a link, as text.
fn content(path: &Path) -> String {
    if let Ok(target) = fs::read_link(path) {
        return String::from_utf8_lossy(target.as_os_str().as_bytes()).into_owned();
    }
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(CONTENT_BYTES_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(cause) => format!("(the file cannot be read: {cause})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_was_created_changed_or_deleted_is_told_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        for name in ["same", "rewritten", "other", "gone", "mode", "large"] {
            write(name, "before");
        }
        File::create(root.join("large")).unwrap().set_len(BYTES_READ_MAX + 1).unwrap();
        std::os::unix::fs::symlink("same", root.join("link")).unwrap();
        let snapshot = || ProjectSnapshot::take(root, &Tree::below(root).unwrap());
        let before = snapshot();
        write("rewritten", "before");
        write("other", "behind");
        write("new", "text\n");
        fs::remove_file(root.join("gone")).unwrap();
        fs::set_permissions(root.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        std::os::unix::fs::symlink("other", root.join("link")).unwrap();
        let wanted = [WantedFile {
            path: "new".into(),
            touch: None,
            content: Some(hookwright_config::test_file::WantedText::Nothing),
        }];
        let touched: Vec<(String, FileChange, Option<String>)> = before
            .touched(&snapshot(), root, &wanted)
            .into_iter()
            .map(|file| (file.path.display().to_string(), file.touch, file.content))
            .collect();
        let expected = [
            ("gone", FileChange::Deleted, None),
            ("link", FileChange::Changed, None),
            ("mode", FileChange::Changed, None),
            ("new", FileChange::Created, Some("text\n".to_owned())),
            ("other", FileChange::Changed, None),
        ];
        assert_eq!(touched, expected.map(|(path, touch, text)| (path.to_owned(), touch, text)));
    }
}
