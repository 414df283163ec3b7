//! `SessionFiles`: the files of a session's folder, in the store.
//!
//! A session whose work tree is kept stores the files of its folder in the same commits. Only
//! changed files are written. The folders of sessions that its hooks have started are inside, so
//! their files are among them. Each file is one record, whose name is the session's id and the path.

use std::collections::{BTreeMap, BTreeSet};

use hookwright_engine::Secrets;
use hookwright_store::{
    Delete, Expected, Filter, Kind, Put, RecordKey, Store, StoreError, headings,
};
use serde::{Deserialize, Serialize};

use crate::folder::{FileStamp, FolderError, SessionFolder, is_below};
use crate::limits::{
    SESSION_FILE_BYTES_MAX, SESSION_FILE_PATH_BYTES_MAX, SESSION_FILES_BYTES_AT_ONCE,
    SESSION_FILES_PER_COMMIT_MAX,
};

/// The files of one session, as far as they are in the store.
#[derive(Debug, Clone)]
pub(crate) struct SessionFiles {
    folder: SessionFolder,
    project: String,
    session_id: String,
    created_at_ms: i64,
    stored: BTreeMap<String, FileStamp>,
    /// How many were left out when it was last told.
    left_out: usize,
}

/// What differs from the store.
#[derive(Debug, Default)]
pub(crate) struct FileChanges {
    pub(crate) puts: Vec<Put>,
    pub(crate) deletes: Vec<Delete>,
    /// How many files cannot be stored, if that has changed.
    pub(crate) left_out: Option<usize>,
    seen: BTreeMap<String, FileStamp>,
}

/// A stored file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredFile {
    Text(String),
    /// Content that is not UTF-8.
    Hex(String),
}

/// Why files cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl SessionFiles {
    /// Nothing is known to be in the store: the first change writes all files.
    pub(crate) fn new(
        folder: SessionFolder,
        project: &str,
        session_id: &str,
        created_at_ms: i64,
    ) -> Self {
        Self {
            folder,
            project: project.to_owned(),
            session_id: session_id.to_owned(),
            created_at_ms,
            stored: BTreeMap::new(),
            left_out: 0,
        }
    }

    /// What has changed since the last call of [`Self::written`].
    pub(crate) fn changes(&self, secrets: &Secrets) -> Result<FileChanges, FolderError> {
        let contents = self.folder.contents()?;
        let mut changes = FileChanges::default();
        let (mut bytes, mut left_out) = (0, contents.left_out);
        for (path, stamp) in contents.files {
            // The path is the record's name, where nothing can be hidden.
            if secrets.hide(&path) != path.as_str() {
                left_out += 1;
                continue;
            }
            if self.stored.get(&path) == Some(&stamp) {
                changes.seen.insert(path, stamp);
                continue;
            }
            let has_room = path.len() <= SESSION_FILE_PATH_BYTES_MAX
                && changes.puts.len() < SESSION_FILES_PER_COMMIT_MAX
                && bytes < SESSION_FILES_BYTES_AT_ONCE;
            if !has_room {
                left_out += 1;
                // Stored by a later commit. Until then, what is in the store of it stays.
                if let Some(stored) = self.stored.get(&path) {
                    changes.seen.insert(path, *stored);
                }
                continue;
            }
            let read = self.folder.read_file(&path, SESSION_FILE_BYTES_MAX)?;
            let Some(value) = read.and_then(|bytes| value(bytes, secrets)) else {
                left_out += 1;
                continue;
            };
            bytes += value.len();
            changes.puts.push(self.put(&path, value));
            changes.seen.insert(path, stamp);
        }
        for (path, stamp) in &self.stored {
            if changes.seen.contains_key(path) {
                continue;
            }
            match changes.deletes.len() < SESSION_FILES_PER_COMMIT_MAX {
                true => changes.deletes.push(self.delete(path)),
                // Deleted by a later commit.
                false => drop(changes.seen.insert(path.clone(), *stamp)),
            }
        }
        changes.left_out = (left_out != self.left_out).then_some(left_out);
        Ok(changes)
    }

    /// Notes that these changes are in the store.
    pub(crate) fn written(&mut self, changes: FileChanges) {
        self.stored = changes.seen;
        self.left_out = changes.left_out.unwrap_or(self.left_out);
    }

    /// Writes the stored files into the folder. Returns how many there are.
    pub(crate) fn restore(&mut self, store: &dyn Store) -> Result<usize, FilesError> {
        let mut restored = BTreeSet::new();
        for key in file_keys(store, &self.project, &self.session_id)? {
            let Some(record) = store.get(Kind::SessionFile, &key)? else { continue };
            let path = key.name.get(self.session_id.len() + 1..).unwrap_or_default();
            let content = serde_json::from_str(&record.value).ok().and_then(StoredFile::content);
            // Those who can write to the store must not reach other files with it.
            let Some(content) = content.filter(|_| is_below(path)) else { continue };
            self.folder.write_file(path, &content)?;
            restored.insert(path.to_owned());
        }
        let files = self.folder.contents()?.files.into_iter();
        self.stored = files.filter(|(path, _)| restored.contains(path)).collect();
        Ok(restored.len())
    }

    fn key(&self, path: &str) -> RecordKey {
        RecordKey { project: self.project.clone(), name: format!("{}/{path}", self.session_id) }
    }

    fn delete(&self, path: &str) -> Delete {
        Delete { kind: Kind::SessionFile, key: self.key(path), expected: Expected::Any }
    }

    fn put(&self, path: &str, value: String) -> Put {
        Put {
            kind: Kind::SessionFile,
            key: self.key(path),
            expected: Expected::Any,
            value,
            created_at_ms: self.created_at_ms,
            status: String::new(),
            queued: None,
            moves: None,
        }
    }
}

/// The keys of a session's files in the store.
pub fn file_keys(
    store: &dyn Store,
    project: &str,
    session_id: &str,
) -> Result<Vec<RecordKey>, StoreError> {
    let filter = Filter {
        project: Some(project.to_owned()),
        name_prefix: Some(format!("{session_id}/")),
        ..Filter::newest(SESSION_FILES_PER_COMMIT_MAX)
    };
    let found = headings(store, Kind::SessionFile, filter);
    let keys =
        found.map(|heading| Ok(RecordKey { project: project.to_owned(), name: heading?.name }));
    keys.collect()
}

/// The text to store: without secrets. `None` if a binary file contains one.
fn value(bytes: Vec<u8>, secrets: &Secrets) -> Option<String> {
    let stored = match String::from_utf8(bytes) {
        Ok(text) => StoredFile::Text(secrets.hide(&text).into_owned()),
        Err(other) => {
            let bytes = other.into_bytes();
            if secrets.search().is_some_and(|mut search| search.push(&bytes).is_some()) {
                return None;
            }
            StoredFile::Hex(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
        }
    };
    serde_json::to_string(&stored).ok()
}

impl StoredFile {
    fn content(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.into_bytes()),
            Self::Hex(hex) => {
                let pairs = hex.as_bytes().chunks(2);
                let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
                pairs.map(byte).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use hookwright_store::{Commit, SqliteStore};

    use super::*;

    const SESSION: &str = "0123";

    fn files(root: &Path) -> SessionFiles {
        let folder = SessionFolder::new(root, "calm-fox".parse().expect("a name"));
        folder.create().expect("created");
        SessionFiles::new(folder, "shop", SESSION, 7)
    }

    /// Stores the changes. Returns the paths that were written and deleted.
    fn keep(files: &mut SessionFiles, store: &SqliteStore, secrets: &Secrets) -> Vec<String> {
        let changes = files.changes(secrets).expect("listed");
        let puts = changes.puts.clone();
        let commit = Commit { puts, deletes: changes.deletes.clone(), ..Commit::synced() };
        store.commit(&commit).expect("stored");
        let path = |key: &RecordKey| key.name[SESSION.len() + 1..].to_owned();
        let put = changes.puts.iter().map(|put| path(&put.key));
        let deleted = changes.deletes.iter().map(|delete| format!("-{}", path(&delete.key)));
        let all = put.chain(deleted).collect();
        files.written(changes);
        all
    }

    fn write(root: &Path, name: &str, bytes: &[u8]) {
        let path = root.join(".hookwright/sessions/calm-fox").join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
    }

    fn read(root: &Path, name: &str) -> Option<Vec<u8>> {
        fs::read(root.join(".hookwright/sessions/calm-fox").join(name)).ok()
    }

    #[test]
    fn changed_files_are_stored_and_restored_elsewhere() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = SqliteStore::in_memory().expect("a store");
        let secrets = Secrets::new(vec![("KEY".into(), "hunter22".into())]);
        let mut one = files(here.path());
        write(here.path(), "stage-00-a/iterations/001/output.md", b"done, with hunter22");
        write(here.path(), "bytes", b"\xff\x00");
        write(here.path(), "secret", b"\xff hunter22");
        write(here.path(), "hunter22/note", b"a secret in its path");
        write(here.path(), "key-hunter22.md", b"a secret in its name");
        symlink("/etc/passwd", here.path().join(".hookwright/sessions/calm-fox/link")).unwrap();
        let stored = keep(&mut one, &store, &secrets);
        assert_eq!(stored, ["bytes", "progress.md", "stage-00-a/iterations/001/output.md"]);
        assert_eq!(one.left_out, 4);
        assert_eq!(keep(&mut one, &store, &secrets), [""; 0]);
        write(here.path(), "bytes", b"\xfe\x00");
        fs::remove_file(here.path().join(".hookwright/sessions/calm-fox/progress.md")).unwrap();
        assert_eq!(keep(&mut one, &store, &secrets), ["bytes", "-progress.md"]);

        let mut two = files(there.path());
        assert_eq!(two.restore(&store).expect("restored"), 2);
        assert_eq!(read(there.path(), "bytes").as_deref(), Some(&b"\xfe\x00"[..]));
        let output = read(there.path(), "stage-00-a/iterations/001/output.md");
        assert_eq!(output.as_deref(), Some(&b"done, with [secret KEY]"[..]));
        // Not in the store, and new here.
        assert_eq!(keep(&mut two, &store, &secrets), ["progress.md"]);
        assert_eq!(keep(&mut two, &store, &secrets), [""; 0]);
        fs::remove_file(there.path().join(".hookwright/sessions/calm-fox/bytes")).unwrap();
        assert_eq!(keep(&mut two, &store, &secrets), ["-bytes"]);
    }

    #[test]
    fn what_one_commit_has_no_room_for_stays_in_the_store_until_a_later_one() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = SqliteStore::in_memory().expect("a store");
        let secrets = Secrets::default();
        let mut one = files(here.path());
        write(here.path(), "z", b"old");
        keep(&mut one, &store, &secrets);
        for number in 0..SESSION_FILES_PER_COMMIT_MAX {
            write(here.path(), &format!("many/{number}"), b"1");
        }
        write(here.path(), "z", b"newer");
        assert_eq!(keep(&mut one, &store, &secrets).len(), SESSION_FILES_PER_COMMIT_MAX);
        files(there.path()).restore(&store).expect("restored");
        assert_eq!(read(there.path(), "z").as_deref(), Some(&b"old"[..]));
        assert_eq!(keep(&mut one, &store, &secrets), ["z"]);
    }

    #[test]
    fn a_stored_path_leads_nowhere_else() {
        let root = tempfile::tempdir().unwrap();
        let store = SqliteStore::in_memory().expect("a store");
        let mut files = files(root.path());
        let names = ["../../escaped", "/escaped", "a//b", ".", "", "x/../../../escaped", "fine"];
        let value = r#"{"text":"x"}"#.to_owned();
        let puts = names.map(|name| files.put(name, value.clone())).to_vec();
        store.commit(&Commit { puts, ..Commit::synced() }).expect("stored");
        // A link on the way is not followed either.
        let folder = root.path().join(".hookwright/sessions/calm-fox");
        symlink(root.path(), folder.join("linked")).unwrap();
        assert_eq!(files.restore(&store).expect("restored"), 1);
        assert!(!root.path().join(".hookwright/escaped").exists());
        assert!(!root.path().join("escaped").exists());
        let puts = vec![files.put("linked/escaped", value)];
        store.commit(&Commit { puts, ..Commit::synced() }).expect("stored");
        assert!(files.restore(&store).is_err());
        assert!(!root.path().join("escaped").exists());
    }
}
