//! [`RepositoryPlace`]: tells, without asking git, whether a folder is still at the same place of
//! the same repository.
//!
//! A folder's place in its repository, and whether it is ignored there, follow from the place of
//! `.git`, the repository's settings, the ignore files above the folder, and, if the repository is
//! above it, the index: a folder with tracked files is not ignored. As long as none of these files
//! has changed, git would answer the same.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RepositoryPlace {
    folder: PathBuf,
    marks: Vec<RepositoryMark>,
}

/// Identifies the state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RepositoryMark {
    Missing,
    /// Its times change with every file in it.
    Folder {
        device: u64,
        inode: u64,
    },
    File {
        device: u64,
        inode: u64,
        bytes: u64,
        changed: (i64, i64),
    },
}

impl RepositoryPlace {
    /// `None` if git would find no repository: it searches `.git` here and above.
    pub(super) fn find(folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let mut marks: Vec<RepositoryMark> =
            folder.ancestors().map(|above| RepositoryMark::read(&above.join(".git"))).collect();
        // Outside repositories the search usually ends here, and it is made twice per iteration.
        if marks.iter().all(|mark| *mark == RepositoryMark::Missing) {
            return None;
        }
        for (number, above) in folder.ancestors().enumerate() {
            let git = above.join(".git");
            if marks[number] != RepositoryMark::Missing {
                marks.extend(
                    ["config", "info/exclude"].map(|name| RepositoryMark::read(&git.join(name))),
                );
            }
            // The folder's own ignore file does not apply to itself, and a repository never ignores
            // its top.
            if above != folder {
                marks.extend(
                    [above.join(".gitignore"), git.join("index")]
                        .map(|it| RepositoryMark::read(&it)),
                );
            }
        }
        Some(Self { folder, marks })
    }
}

impl RepositoryMark {
    fn read(path: &Path) -> Self {
        // A link counts as its target; a dangling one still exists.
        let found = fs::symlink_metadata(path);
        let found = found.map(|found| match found.is_symlink() {
            true => fs::metadata(path).unwrap_or(found),
            false => found,
        });
        match found {
            Err(_) => Self::Missing,
            Ok(found) if found.is_dir() => Self::Folder { device: found.dev(), inode: found.ino() },
            Ok(found) => Self::File {
                device: found.dev(),
                inode: found.ino(),
                bytes: found.len(),
                changed: (found.ctime(), found.ctime_nsec()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_another_one_when_git_might_answer_otherwise_and_only_then() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("sub/root");
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(RepositoryPlace::find(&folder), None);
        let write = |name: &str, text: &str| {
            let path = outer.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".git/config", "");
        let mut last = RepositoryPlace::find(&folder);
        assert!(last.is_some());
        for (name, matters) in [
            ("sub/root/file", false),
            ("sub/root/.gitignore", false),
            (".git/HEAD", false),
            (".git/index", true),
            (".git/config", true),
            (".git/info/exclude", true),
            (".gitignore", true),
            ("sub/.gitignore", true),
            ("sub/root/.git", true),
            ("sub/root/.git", true),
        ] {
            // Of another length each time: a file system's clock may stand still for a while.
            write(name, &format!("{name}{last:?}"));
            let now = RepositoryPlace::find(&folder);
            assert_eq!(now != last, matters, "{name}");
            last = now;
        }
        // The same place by another path.
        let link = outer.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert_eq!(RepositoryPlace::find(&link), last);
    }
}
