//! What changed in the work tree, in real repositories and outside of any.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hookwright_pipeline::changed_files::{Changes, Snapshot, Unseen, WorkTree};
use hookwright_pipeline::limits::CHANGED_FILES_MAX;
use tempfile::TempDir;

const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A temporary folder, with or without a repository in it.
struct Tree {
    dir: TempDir,
    environment: Vec<(OsString, OsString)>,
}

impl Tree {
    fn without_git() -> Self {
        let dir = TempDir::new().expect("a folder");
        fs::create_dir_all(dir.path().join("home")).expect("made");
        fs::create_dir_all(dir.path().join("tree")).expect("made");
        let mut tree = Self { dir, environment: Vec::new() };
        let home = tree.dir.path().join("home");
        tree.set("PATH", PATH);
        tree.set("HOME", home.as_os_str());
        tree.set("GIT_CONFIG_NOSYSTEM", "1");
        tree.set("GIT_AUTHOR_NAME", "A");
        tree.set("GIT_AUTHOR_EMAIL", "a@example.com");
        tree.set("GIT_COMMITTER_NAME", "A");
        tree.set("GIT_COMMITTER_EMAIL", "a@example.com");
        tree
    }

    /// A repository without a commit.
    fn empty() -> Self {
        let tree = Self::without_git();
        tree.git("init --quiet --initial-branch=main");
        tree
    }

    /// A repository with the files `a`, `b`, `c` and `sub/d`, all committed.
    fn committed() -> Self {
        let tree = Self::empty();
        for name in ["a", "b", "c", "sub/d"] {
            tree.write(name, name);
        }
        tree.git("add -A");
        tree.git("commit --quiet -m first");
        tree
    }

    fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.environment.push((name.into(), value.as_ref().to_owned()));
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("tree")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).expect("removed");
    }

    /// Runs git with these words.
    fn git(&self, words: &str) {
        self.git_in("", words);
    }

    fn git_in(&self, folder: &str, words: &str) {
        let output = Command::new("git")
            .args(words.split(' '))
            .current_dir(self.path(folder))
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .output()
            .expect("git is there");
        assert!(
            output.status.success(),
            "git {words}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn work_tree(&self) -> WorkTree {
        WorkTree::new(&self.root(), &self.environment)
    }

    /// What changed during `deed`.
    async fn changes(&self, deed: impl FnOnce(&Self)) -> Changes {
        self.changes_in(&self.work_tree(), deed).await
    }

    async fn changes_in(&self, work_tree: &WorkTree, deed: impl FnOnce(&Self)) -> Changes {
        let before = Snapshot::take(work_tree).await;
        deed(self);
        before.changed_since().await
    }
}

/// Exactly these paths, and a complete scan.
fn paths(paths: &[&str]) -> Changes {
    Changes { paths: paths.iter().map(|path| (*path).to_owned()).collect(), note: None }
}

fn unseen(note: Unseen) -> Changes {
    Changes { paths: Vec::new(), note: Some(note) }
}

#[tokio::test]
async fn nothing_done_is_nothing_changed() {
    let tree = Tree::committed();
    tree.write("b", "dirty before");
    tree.write("untracked", "before");
    tree.write("c", "staged before");
    tree.git("add c");
    tree.remove("a");
    assert_eq!(tree.changes(|_| ()).await, paths(&[]));
}

#[tokio::test]
async fn edited_new_staged_and_deleted_files_are_listed_in_order() {
    let tree = Tree::committed();
    let changes = tree.changes(|tree| {
        tree.write("sub/new/file", "x");
        tree.write("c", "edited");
        tree.write("b", "staged");
        tree.git("add b");
        tree.remove("a");
    });
    assert_eq!(changes.await, paths(&["a", "b", "c", "sub/new/file"]));
}

#[tokio::test]
async fn files_that_were_dirty_are_listed_only_if_their_content_changed_again() {
    let tree = Tree::committed();
    for name in ["a", "b", "c", "new", "other"] {
        tree.write(name, "dirty");
    }
    tree.git("add c");
    let changes = tree.changes(|tree| {
        tree.write("a", "again");
        // The same length, and written at once.
        tree.write("new", "clean");
        // Touched, but not changed.
        tree.write("b", "dirty");
        tree.remove("other");
    });
    assert_eq!(changes.await, paths(&["a", "new", "other"]));
}

#[tokio::test]
async fn a_dirty_file_that_was_restored_is_listed() {
    let tree = Tree::committed();
    tree.write("a", "dirty");
    tree.remove("b");
    assert_eq!(tree.changes(|tree| tree.git("checkout -- a b")).await, paths(&["a", "b"]));
}

#[tokio::test]
async fn a_clean_file_that_was_only_touched_is_not_listed() {
    let tree = Tree::committed();
    let changes = tree.changes(|tree| {
        let file = fs::File::options().write(true).open(tree.path("a")).expect("there");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("touched");
    });
    assert_eq!(changes.await, paths(&[]));
}

#[tokio::test]
async fn renamed_files_are_listed_under_both_names() {
    let tree = Tree::committed();
    let changes = tree.changes(|tree| {
        tree.git("mv a renamed");
        fs::rename(tree.path("b"), tree.path("moved")).expect("moved");
    });
    assert_eq!(changes.await, paths(&["a", "b", "moved", "renamed"]));
    tree.git("add -A");
    tree.git("commit --quiet -m renamed");
    let changes = tree.changes(|tree| {
        tree.git("mv c committed");
        tree.git("commit --quiet -m again");
    });
    assert_eq!(changes.await, paths(&["c", "committed"]));
}

#[tokio::test]
async fn a_file_that_became_executable_or_a_link_is_listed() {
    let tree = Tree::committed();
    tree.write("new", "x");
    let changes = tree.changes(|tree| {
        for name in ["a", "new"] {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(tree.path(name), mode).expect("changed");
        }
        tree.remove("b");
        symlink("c", tree.path("b")).expect("linked");
    });
    assert_eq!(changes.await, paths(&["a", "b", "new"]));
    // And a link that leads elsewhere.
    let changes = tree.changes(|tree| {
        tree.remove("b");
        symlink("d", tree.path("b")).expect("linked");
    });
    assert_eq!(changes.await, paths(&["b"]));
}

#[tokio::test]
async fn a_committed_change_is_listed() {
    let tree = Tree::committed();
    let changes = tree.changes(|tree| {
        tree.write("a", "1");
        tree.git("commit --quiet -am one");
        tree.write("new", "2");
        tree.git("rm --quiet c");
        tree.git("add new");
        tree.git("commit --quiet -m two");
        tree.write("b", "not committed");
    });
    assert_eq!(changes.await, paths(&["a", "b", "c", "new"]));
}

#[tokio::test]
async fn a_dirty_file_that_was_only_committed_is_not_listed() {
    let tree = Tree::committed();
    tree.write("a", "dirty");
    tree.write("new", "untracked");
    tree.write("b", "dirty");
    let changes = tree.changes(|tree| {
        tree.write("b", "changed and committed");
        tree.git("add -A");
        tree.git("commit --quiet -m all");
    });
    assert_eq!(changes.await, paths(&["b"]));
}

#[tokio::test]
async fn a_change_that_was_committed_and_undone_is_not_listed() {
    let tree = Tree::committed();
    let changes = tree.changes(|tree| {
        tree.write("a", "1");
        tree.git("commit --quiet -am one");
        tree.git("revert --no-edit HEAD");
    });
    assert_eq!(changes.await, paths(&[]));
}

#[tokio::test]
async fn a_reset_lists_only_the_files_whose_content_it_changed() {
    let tree = Tree::committed();
    tree.write("a", "second");
    tree.write("new", "second");
    tree.git("add -A");
    tree.git("commit --quiet -m second");
    let soft = tree.changes(|tree| {
        tree.git("reset --quiet --soft HEAD~1");
        tree.write("b", "edited");
        tree.git("add b");
    });
    assert_eq!(soft.await, paths(&["b"]));
    tree.git("commit --quiet -m again");
    let hard = tree.changes(|tree| tree.git("reset --quiet --hard HEAD~1"));
    assert_eq!(hard.await, paths(&["a", "b", "new"]));
}

#[tokio::test]
async fn a_switch_of_branches_lists_the_files_that_it_changed() {
    let tree = Tree::committed();
    let changes = tree.changes(|tree| {
        tree.git("checkout --quiet -b feature");
        tree.write("a", "on the branch");
        tree.git("commit --quiet -am feature");
    });
    assert_eq!(changes.await, paths(&["a"]));
    // Back and forth is no change, though git has written the file twice.
    let changes = tree.changes(|tree| {
        tree.git("checkout --quiet main");
        tree.git("checkout --quiet feature");
    });
    assert_eq!(changes.await, paths(&[]));
}

#[tokio::test]
async fn amended_and_rebased_commits_are_listed() {
    let tree = Tree::committed();
    tree.write("b", "second");
    tree.git("commit --quiet -am second");
    let changes = tree.changes(|tree| {
        tree.write("a", "amended");
        tree.git("commit --quiet --amend -am amended");
    });
    assert_eq!(changes.await, paths(&["a"]));
    tree.git("checkout --quiet -b feature HEAD~1");
    tree.write("c", "on the branch");
    tree.git("commit --quiet -am third");
    let changes = tree.changes(|tree| tree.git("rebase --quiet main"));
    assert_eq!(changes.await, paths(&["a", "b"]));
}

#[tokio::test]
async fn a_detached_head_is_as_good_as_any() {
    let tree = Tree::committed();
    tree.git("checkout --quiet --detach");
    let changes = tree.changes(|tree| {
        tree.write("a", "1");
        tree.git("commit --quiet -am one");
        tree.write("b", "2");
    });
    assert_eq!(changes.await, paths(&["a", "b"]));
}

#[tokio::test]
async fn a_repository_without_a_commit_is_scanned_too() {
    let tree = Tree::empty();
    tree.write("before", "x");
    tree.write("staged", "x");
    tree.git("add staged");
    let changes = tree.changes(|tree| tree.write("new", "x"));
    assert_eq!(changes.await, paths(&["new"]));
    let changes = tree.changes(|tree| {
        tree.write("a", "x");
        tree.write("staged", "y");
        tree.git("add -A");
        tree.git("commit --quiet -m first");
        tree.write("b", "x");
    });
    assert_eq!(changes.await, paths(&["a", "b", "staged"]));
    // And back to none.
    let changes = tree.changes(|tree| tree.git("checkout --quiet --orphan other"));
    assert_eq!(changes.await, paths(&[]));
}

#[tokio::test]
async fn a_merge_with_conflicts_lists_the_files_that_it_wrote() {
    let tree = Tree::committed();
    tree.git("checkout --quiet -b feature");
    tree.write("a", "theirs");
    tree.write("b", "theirs");
    tree.git("commit --quiet -am theirs");
    tree.git("checkout --quiet main");
    tree.write("a", "ours");
    tree.git("commit --quiet -am ours");
    let changes = tree.changes(|tree| {
        let merge = Command::new("git")
            .args(["merge", "--quiet", "feature"])
            .current_dir(tree.root())
            .env_clear()
            .envs(tree.environment.iter().map(|(name, value)| (name, value)))
            .output();
        assert!(!merge.expect("git is there").status.success());
    });
    assert_eq!(changes.await, paths(&["a", "b"]));
    let changes = tree.changes(|tree| tree.write("a", "resolved"));
    assert_eq!(changes.await, paths(&["a"]));
    assert_eq!(tree.changes(|_| ()).await, paths(&[]));
}

#[tokio::test]
async fn ignored_files_and_our_own_are_never_listed() {
    let tree = Tree::committed();
    tree.write(".gitignore", "ignored\n");
    tree.write(".hookwright/hooks.yaml", "before");
    tree.git("add -A");
    tree.git("commit --quiet -m second");
    let changes = tree.changes(|tree| {
        tree.write("ignored", "x");
        tree.write(".hookwright/hooks.yaml", "after");
        tree.write(".hookwright/sessions/s/progress.md", "x");
        tree.write(".hookwright-not-ours", "x");
        tree.git("add -A");
        tree.git("commit --quiet -m third");
        tree.write(".hookwright/new", "x");
    });
    assert_eq!(changes.await, paths(&[".hookwright-not-ours"]));
}

#[tokio::test]
async fn a_root_within_a_repository_lists_only_files_below_it() {
    let tree = Tree::committed();
    tree.write("sub/deep/e", "e");
    tree.write("sub/dirty", "dirty");
    tree.git("add sub/deep");
    tree.git("commit --quiet -m second");
    let work_tree = WorkTree::new(&tree.path("sub"), &tree.environment);
    let changes = tree.changes_in(&work_tree, |tree| {
        tree.write("a", "above");
        tree.write("sub/d", "committed");
        tree.git("commit --quiet -am third");
        tree.write("sub/deep/e", "edited");
        tree.write("sub/new", "x");
        tree.write("sub/.hookwright/x", "x");
        tree.write("subway", "beside");
    });
    assert_eq!(changes.await, paths(&["d", "deep/e", "new"]));
    let changes = tree.changes_in(&work_tree, |tree| tree.write("sub/dirty", "again"));
    assert_eq!(changes.await, paths(&["dirty"]));
}

#[tokio::test]
async fn a_root_that_its_repository_ignores_is_scanned_without_git() {
    let tree = Tree::committed();
    tree.write(".gitignore", "scratch\n");
    tree.write("scratch/in/a", "a");
    let work_tree = WorkTree::new(&tree.path("scratch/in"), &tree.environment);
    let changes = tree.changes_in(&work_tree, |tree| tree.write("scratch/in/b", "b"));
    assert_eq!(changes.await, paths(&["b"]));
}

#[tokio::test]
async fn any_name_a_file_can_have_is_listed() {
    let tree = Tree::committed();
    let names =
        [" lead", "a b", "new\nline", "q\"uo'te", "tab\t", "two  spaces ", "ü", "-n", "1 .M"];
    for name in names {
        tree.write(name, "before");
    }
    tree.git("add -A");
    tree.git("commit --quiet -m names");
    let broken = OsStr::from_bytes(b"broken-\xff");
    let mut expected = names.map(str::to_owned).to_vec();
    expected.extend([":(exclude)x".to_owned(), "broken-\u{fffd}".to_owned()]);
    expected.sort();
    let deed = |text: &'static str| {
        move |tree: &Tree| {
            for name in names.into_iter().chain([":(exclude)x"]) {
                tree.write(name, text);
            }
            fs::write(tree.root().join(broken), text).expect("written");
        }
    };
    let uncommitted = tree.changes(deed("edited")).await;
    assert_eq!(uncommitted, Changes { paths: expected.clone(), note: None });
    let committed = tree.changes(|tree| {
        deed("again")(tree);
        tree.git("add -A");
        tree.git("commit --quiet -m again");
    });
    assert_eq!(committed.await, Changes { paths: expected, note: None });
}

#[tokio::test]
async fn submodules_and_repositories_within_are_listed_as_one_path() {
    let tree = Tree::committed();
    let other = Tree::committed();
    let from = other.root().display().to_string();
    tree.git(&format!("-c protocol.file.allow=always submodule --quiet add {from} module"));
    tree.git("commit --quiet -m module");
    tree.git(&format!("clone --quiet {from} within"));
    assert_eq!(tree.changes(|_| ()).await, paths(&[]));
    for folder in ["module", "within"] {
        let changes = tree.changes(|tree| tree.write(&format!("{folder}/new"), "x"));
        assert_eq!(changes.await, paths(&[folder]), "a new file");
        let changes = tree.changes(|tree| tree.write(&format!("{folder}/new"), "y"));
        assert_eq!(changes.await, paths(&[folder]), "again");
        assert_eq!(tree.changes(|_| ()).await, paths(&[]));
        let changes = tree.changes(|tree| {
            tree.git_in(folder, "add -A");
            tree.git_in(folder, "commit --quiet -m new");
        });
        assert_eq!(changes.await, paths(&[folder]), "a commit");
    }
    let changes = tree.changes(|tree| {
        tree.git_in("module", "checkout --quiet HEAD~1");
        tree.write("a", "x");
    });
    assert_eq!(changes.await, paths(&["a", "module"]));
    // One without a commit, which git itself has trouble with.
    let changes = tree.changes(|tree| {
        fs::create_dir(tree.path("young")).expect("made");
        tree.git_in("young", "init --quiet");
        tree.write("young/x", "x");
    });
    assert_eq!(changes.await, paths(&["young"]));
    assert_eq!(tree.changes(|_| ()).await, paths(&[]));
}

#[tokio::test]
async fn a_linked_work_tree_is_one_too() {
    let tree = Tree::committed();
    tree.git("worktree add --quiet ../linked");
    let work_tree = WorkTree::new(&tree.path("../linked"), &tree.environment);
    let changes = tree.changes_in(&work_tree, |tree| {
        tree.write("a", "not here");
        tree.write("../linked/b", "here");
        tree.git_in("../linked", "commit --quiet -am here");
        tree.write("../linked/c", "here");
    });
    assert_eq!(changes.await, paths(&["b", "c"]));
}

#[tokio::test]
async fn variables_of_git_in_the_environment_do_not_mislead() {
    let tree = Tree::committed();
    let other = Tree::committed();
    let mut environment = tree.environment.clone();
    let git_dir = other.path(".git");
    for (name, value) in [
        ("GIT_DIR", git_dir.as_os_str()),
        ("GIT_WORK_TREE", other.root().as_os_str()),
        ("GIT_INDEX_FILE", git_dir.join("index").as_os_str()),
        ("GIT_OBJECT_DIRECTORY", git_dir.join("objects").as_os_str()),
        ("GIT_PREFIX", OsStr::new("sub/")),
        ("GIT_LITERAL_PATHSPECS", OsStr::new("1")),
        ("GIT_OPTIONAL_LOCKS", OsStr::new("1")),
        ("GIT_EXTERNAL_DIFF", OsStr::new("false")),
    ] {
        environment.push((name.into(), value.to_owned()));
    }
    let work_tree = WorkTree::new(&tree.root(), &environment);
    let changes = tree.changes_in(&work_tree, |tree| {
        other.write("c", "not here");
        tree.write("a", "here");
        tree.git("commit --quiet -am here");
        tree.write("b", "here");
    });
    assert_eq!(changes.await, paths(&["a", "b"]));
}

#[tokio::test]
async fn no_program_of_the_user_runs_and_no_setting_matters() {
    let tree = Tree::committed();
    let marker = tree.dir.path().join("ran");
    let script = tree.dir.path().join("script");
    let text = format!("#!/bin/sh\necho ran >> '{}'\n", marker.display());
    fs::write(&script, text).expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("executable");
    fs::copy(&script, tree.path(".git/hooks/post-index-change")).expect("copied");
    let script = script.display();
    for setting in [
        format!("core.fsmonitor {script}"),
        format!("core.pager {script}"),
        format!("pager.status {script}"),
        format!("alias.status !{script}"),
        format!("diff.external {script}"),
        "status.showUntrackedFiles no".to_owned(),
        "status.relativePaths true".to_owned(),
        "status.renames copies".to_owned(),
        "status.short true".to_owned(),
        "diff.renames copies".to_owned(),
        "diff.relative true".to_owned(),
        "diff.ignoreSubmodules all".to_owned(),
        "core.quotePath true".to_owned(),
        "color.ui always".to_owned(),
        "color.status always".to_owned(),
    ] {
        tree.git(&format!("config {setting}"));
    }
    // Setting all this may have run some of it.
    if marker.exists() {
        fs::remove_file(&marker).expect("removed");
    }
    let work_tree = WorkTree::new(&tree.path("sub"), &tree.environment);
    let changes = tree.changes_in(&work_tree, |tree| {
        tree.git("-c core.fsmonitor=false -c core.hooksPath=/dev/null mv sub/d sub/moved");
        tree.git("-c core.fsmonitor=false -c core.hooksPath=/dev/null commit --quiet -m moved");
        tree.write("sub/new", "x");
    });
    assert_eq!(changes.await, paths(&["d", "moved", "new"]));
    assert!(!marker.exists(), "something of the user's ran");
}

#[tokio::test]
async fn the_index_is_not_touched_and_no_object_is_written() {
    let tree = Tree::committed();
    // Git would like to note that these are unchanged.
    for name in ["a", "b"] {
        let file = fs::File::options().write(true).open(tree.path(name)).expect("there");
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("touched");
    }
    tree.write("new", "x");
    let state = || {
        let index = tree.path(".git/index");
        let modified = fs::metadata(&index).expect("there").modified().expect("known");
        let mut folders: Vec<PathBuf> = fs::read_dir(tree.path(".git/objects"))
            .expect("there")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        folders.sort();
        (fs::read(&index).expect("there"), modified, folders)
    };
    let before = state();
    assert_eq!(tree.changes(|tree| tree.write("c", "x")).await, paths(&["c"]));
    assert_eq!(state(), before);
}

#[tokio::test]
async fn an_index_locked_by_another_process_does_not_matter() {
    let tree = Tree::committed();
    tree.write(".git/index.lock", "");
    assert_eq!(tree.changes(|tree| tree.write("a", "x")).await, paths(&["a"]));
}

#[tokio::test]
async fn a_git_that_fails_is_noted_in_its_own_words() {
    let tree = Tree::committed();
    let changes = tree.changes(|tree| tree.write(".git/index", "no index"));
    let Changes { paths, note: Some(Unseen::GitFailed { said }) } = changes.await else {
        panic!("git can't read its index")
    };
    assert_eq!(paths, Vec::<String>::new());
    assert!(said.contains("index"), "{said}");
    // The same if it was so before.
    let changes = tree.changes(|tree| tree.git("read-tree HEAD")).await;
    assert!(matches!(changes.note, Some(Unseen::GitFailed { .. })), "{changes:?}");
    let changes =
        tree.changes(|tree| fs::remove_dir_all(tree.path(".git")).expect("removed")).await;
    let said = "git failed: the repository no longer exists";
    assert_eq!(changes.note.map(|note| note.to_string()).as_deref(), Some(said));
}

#[tokio::test]
async fn a_git_that_hangs_is_ended_and_noted() {
    let tree = Tree::committed();
    // Git opens it and waits for a writer.
    let fifo = tree.path(".gitignore");
    assert!(Command::new("mkfifo").arg(fifo).status().expect("mkfifo is there").success());
    let after = Duration::from_millis(200);
    let begun = Instant::now();
    let changes = tree.changes_in(&tree.work_tree().with_timeout(after), |_| ()).await;
    assert_eq!(changes, unseen(Unseen::TookTooLong { after }));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_pipe_among_dirty_files_blocks_nothing() {
    let tree = Tree::committed();
    tree.remove("a");
    let fifo = tree.path("a");
    assert!(Command::new("mkfifo").arg(fifo).status().expect("mkfifo is there").success());
    assert_eq!(tree.changes(|tree| tree.write("b", "x")).await, paths(&["b"]));
}

#[tokio::test]
async fn without_git_all_files_are_scanned() {
    let tree = Tree::without_git();
    for name in ["same", "edited", "gone", "sub/touched", ".hookwright/x", "sub/.git/x"] {
        tree.write(name, "before");
    }
    let changes = tree.changes(|tree| {
        // The same length, and perhaps within the same tick of the clock.
        tree.write("edited", "after!");
        tree.write("sub/new", "x");
        tree.write(".hookwright/x", "x");
        tree.write(".hookwright/y", "x");
        tree.write("sub/.git/x", "x");
        tree.write("sub/.hookwright/x", "not the root's");
        fs::create_dir(tree.path("empty")).expect("made");
        tree.remove("gone");
    });
    assert_eq!(changes.await, paths(&["edited", "gone", "sub/.hookwright/x", "sub/new"]));
}

#[tokio::test]
async fn without_git_a_change_is_found_even_with_equal_size_and_time() {
    let tree = Tree::without_git();
    let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    let set_old = |name: &str| {
        let file = fs::File::options().write(true).open(tree.path(name)).expect("there");
        file.set_modified(old).expect("set");
    };
    for name in ["replaced", "rewritten", "same"] {
        tree.write(name, "before");
        set_old(name);
    }
    let changes = tree.changes(|tree| {
        tree.write("other", "after!");
        fs::rename(tree.path("other"), tree.path("replaced")).expect("moved");
        tree.write("rewritten", "after!");
        set_old("replaced");
        set_old("rewritten");
    });
    assert_eq!(changes.await, paths(&["replaced", "rewritten"]));
}

#[tokio::test]
async fn without_git_no_link_is_followed() {
    let tree = Tree::without_git();
    let elsewhere = TempDir::new().expect("a folder");
    symlink(elsewhere.path(), tree.path("link")).expect("linked");
    symlink(".", tree.path("loop")).expect("linked");
    let changes = tree.changes(|tree| {
        fs::write(elsewhere.path().join("x"), "x").expect("written");
        tree.remove("loop");
        symlink("..", tree.path("loop")).expect("linked");
    });
    assert_eq!(changes.await, paths(&["loop"]));
}

#[tokio::test]
async fn without_the_program_git_a_repository_is_scanned_file_by_file() {
    let tree = Tree::committed();
    tree.write(".gitignore", "ignored\n");
    let work_tree = WorkTree::new(&tree.root(), &[("PATH".into(), "/nowhere".into())]);
    let changes = tree.changes_in(&work_tree, |tree| {
        tree.write("a", "x");
        tree.write("ignored", "x");
        tree.git("commit --quiet -am x");
    });
    assert_eq!(changes.await, paths(&["a", "ignored"]));
}

#[tokio::test]
async fn a_repository_created_meanwhile_does_not_change_the_list() {
    let tree = Tree::without_git();
    tree.write("a", "x");
    let changes = tree.changes(|tree| {
        tree.git("init --quiet");
        tree.write("b", "x");
        tree.git("add -A");
        tree.git("commit --quiet -m first");
    });
    assert_eq!(changes.await, paths(&["b"]));
}

#[tokio::test]
async fn a_root_that_is_gone_is_noted() {
    let tree = Tree::without_git();
    let changes = tree.changes(|tree| fs::remove_dir_all(tree.root()).expect("removed")).await;
    let Some(Unseen::Root { path, .. }) = &changes.note else { panic!("{changes:?}") };
    assert_eq!(*path, tree.root());
}

#[tokio::test]
async fn too_many_files_give_no_list_but_a_note() {
    let note = Unseen::TooMany { files_max: CHANGED_FILES_MAX };
    assert_eq!(note.to_string(), "there are more than 50000 files to scan");
    let write = |count: usize| {
        move |tree: &Tree| (0..count).for_each(|file| tree.write(&format!("{count}/{file}"), "x"))
    };
    for tree in [Tree::without_git(), Tree::empty()] {
        let work_tree = tree.work_tree().with_files_max(20);
        let changes = tree.changes_in(&work_tree, write(20)).await;
        assert_eq!((changes.paths.len(), changes.note), (20, None));
        // Too many afterwards, and then from the beginning.
        for _ in 0..2 {
            let changes = tree.changes_in(&work_tree, write(1)).await;
            assert_eq!(changes, unseen(Unseen::TooMany { files_max: 20 }));
        }
    }
    // Few that are not committed, but many that were.
    let tree = Tree::empty();
    let work_tree = tree.work_tree().with_files_max(20);
    let changes = tree.changes_in(&work_tree, |tree| {
        write(21)(tree);
        tree.git("add -A");
        tree.git("commit --quiet -m many");
    });
    assert_eq!(changes.await, unseen(Unseen::TooMany { files_max: 20 }));
}

/// Whether permissions keep this user from listing a folder: root can list any.
fn rights_count(folder: &Path) -> bool {
    fs::read_dir(folder).is_err()
}

#[tokio::test]
async fn without_git_folders_that_cannot_be_listed_are_noted_and_the_rest_is_seen() {
    let tree = Tree::without_git();
    tree.write("shut/x", "x");
    let shut = |mode| {
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(tree.path("shut"), mode).expect("changed");
    };
    shut(0);
    let counts = rights_count(&tree.path("shut"));
    let changes = tree.changes(|tree| tree.write("a", "x")).await;
    shut(0o755);
    assert_eq!(changes.paths, ["a"]);
    assert_eq!(counts, changes.note.is_some(), "{changes:?}");
    if let Some(note) = changes.note {
        let said = "folders that can't be read: 1, the first is `shut`: ";
        assert!(note.to_string().starts_with(said), "{note}");
    }
}

/// Runs a test in a process in which nothing else scans or runs.
fn run_alone(test: &str) {
    let mut command = Command::new(std::env::current_exe().expect("this test has a path"));
    let test = format!("changed_files::{test}");
    let output = command.args(["--exact", &test, "--ignored", "--nocapture"]).output();
    let output = output.expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

#[test]
fn without_git_a_scan_is_used_twice_if_nothing_ran_in_between() {
    run_alone("alone_a_look_serves_twice");
}

#[tokio::test]
#[ignore = "wants a process where nothing else looks or runs; run by the test above"]
async fn alone_a_look_serves_twice() {
    let tree = Tree::without_git();
    tree.write("a", "a");
    let work_tree = tree.work_tree();
    let mut number = 0;
    // Two iterations, with a file that is created in between and is seen only if a scan was used
    // twice.
    let mut files_seen_late = async |run_between: bool| {
        number += 1;
        let (between, within) = (format!("between {number}"), format!("within {number}"));
        let first = tree.changes_in(&work_tree, |_| {}).await;
        assert_eq!(first, Changes::default());
        tree.write(&between, "");
        if run_between {
            run_true().await;
        }
        let second = tree.changes_in(&work_tree, |tree| tree.write(&within, "")).await;
        assert_eq!(second.paths.last(), Some(&within), "{second:?}");
        second.paths.contains(&between)
    };
    for _ in 0..5 {
        assert!(!files_seen_late(true).await, "a hook may have written that file");
    }
    // A scan is kept for a second, which a busy machine may need for nothing at all.
    for _ in 0..100 {
        if files_seen_late(false).await {
            return;
        }
    }
    panic!("every look was made twice");
}

#[test]
fn in_git_a_scan_is_used_twice_and_the_roots_prefix_is_queried_once() {
    run_alone("alone_a_look_at_git_serves_twice");
}

/// How often git was called in each of these ways.
fn calls(log: &Path) -> [usize; 2] {
    let log = fs::read_to_string(log).expect("git was called");
    ["rev-parse", "status"].map(|word| log.matches(&format!(" {word} ")).count())
}

#[tokio::test]
#[ignore = "wants a process where nothing else looks or runs; run by the test above"]
async fn alone_a_look_at_git_serves_twice() {
    let mut tree = Tree::committed();
    let (log, programs) = (tree.dir.path().join("log"), tree.dir.path().join("programs"));
    fs::create_dir(&programs).expect("made");
    let git =
        format!("#!/bin/sh\necho \"$@\" >> '{}'\nPATH={PATH} exec git \"$@\"\n", log.display());
    fs::write(programs.join("git"), git).expect("written");
    fs::set_permissions(programs.join("git"), fs::Permissions::from_mode(0o755)).expect("set");
    tree.set("PATH", format!("{}:{PATH}", programs.display()));
    let work_tree = tree.work_tree();
    tree.set("PATH", PATH);
    // What an agent may do to a repository, each in an iteration of its own.
    type Deed = fn(&Tree);
    let deeds: [(Deed, &[&str]); 10] = [
        (|tree| tree.write("new", "1"), &["new"]),
        (|_| {}, &[]),
        (|tree| tree.write("new", "2"), &["new"]),
        (|tree| tree.write("a", "edited"), &["a"]),
        (|tree| tree.git("add -A"), &[]),
        (|tree| tree.git("commit --quiet -m more"), &[]),
        (|tree| tree.write("new", "3"), &["new"]),
        (|tree| tree.git("reset --quiet --hard HEAD~1"), &["a", "new"]),
        (|tree| tree.git("checkout --quiet -b other"), &[]),
        (|tree| tree.remove("b"), &["b"]),
    ];
    // A scan is kept for a second, which a busy machine may need for nothing at all.
    for _ in 0..20 {
        tree.git("checkout --quiet --force -B main");
        tree.git("reset --quiet --hard");
        run_true().await;
        let before = if log.exists() { calls(&log)[1] } else { 0 };
        for (number, (deed, expected)) in deeds.iter().enumerate() {
            let changes = tree.changes_in(&work_tree, deed).await;
            assert_eq!(changes, paths(expected), "deed {number}");
        }
        let [places, looks] = calls(&log);
        assert_eq!(places, 1);
        if looks - before == deeds.len() + 1 {
            // With a hook in between no scan is used twice.
            let before = calls(&log)[1];
            for _ in 0..3 {
                tree.write("by a hook", &calls(&log)[1].to_string());
                run_true().await;
                assert_eq!(tree.changes_in(&work_tree, |_| {}).await, paths(&[]));
            }
            return assert_eq!(calls(&log), [1, before + 6]);
        }
    }
    panic!("looks were made twice");
}

#[test]
fn a_root_that_changes_its_repository_is_scanned_again() {
    run_alone("alone_a_root_that_changes_its_repository_is_scanned_again");
}

#[tokio::test]
#[ignore = "wants a process where nothing else looks or runs; run by the test above"]
async fn alone_a_root_that_changes_its_repository_is_scanned_again() {
    let tree = Tree::without_git();
    tree.write("a", "a");
    tree.git_in("..", "init --quiet --initial-branch=main");
    tree.git_in("..", "add tree");
    tree.git_in("..", "commit --quiet -m first");
    fs::write(tree.path("../.gitignore"), "/tree/\n").expect("written");
    let work_tree = tree.work_tree();
    let next = async |deed: fn(&Tree)| tree.changes_in(&work_tree, deed).await;
    // The repository above would ignore the root, but has a file in it.
    let changes = next(|tree| {
        tree.write("a", "new");
        tree.write("b", "new");
    });
    assert_eq!(changes.await, paths(&["a"]));
    // From here on it has none, so all files count.
    next(|tree| tree.git("rm --quiet --cached a")).await;
    assert_eq!(next(|tree| tree.write("c", "c")).await, paths(&["c"]));
    // From here on it ignores nothing, and then the root again.
    next(|tree| fs::remove_file(tree.path("../.gitignore")).expect("removed")).await;
    next(|tree| fs::write(tree.path("../.gitignore"), "/tree/\n").expect("written")).await;
    assert_eq!(next(|tree| tree.write("c", "again")).await, paths(&["c"]));
    // From here on it has a repository of its own, which ignores some.
    next(|tree| {
        tree.git("init --quiet --initial-branch=main");
        tree.write(".gitignore", "*.log\n");
    })
    .await;
    let changes = next(|tree| {
        tree.write("d", "d");
        tree.write("d.log", "");
    });
    assert_eq!(changes.await, paths(&["d"]));
    // And from here on none at all.
    next(|tree| {
        fs::remove_dir_all(tree.path(".git")).expect("removed");
        fs::remove_dir_all(tree.path("../.git")).expect("removed");
    })
    .await;
    assert_eq!(next(|tree| tree.write("e.log", "")).await, paths(&["e.log"]));
}

async fn run_true() {
    let launch = hookwright_process::Launch {
        program: "/bin/true".into(),
        args: Vec::new(),
        shared_env: std::sync::Arc::default(),
        env: Vec::new(),
        working_dir: "/".into(),
        stdin: Vec::new(),
        timeout: Duration::from_secs(300),
        kill_grace: Duration::from_secs(1),
        linger: Duration::from_secs(1),
        output_bytes_max: 0,
        run_id: "true".into(),
    };
    hookwright_process::run(launch, &mut (), &Default::default()).await;
}
