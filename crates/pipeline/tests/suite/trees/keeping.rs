//! What a tree holds, and what another machine gets.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use hookwright_pipeline::limits::TREE_BYTES_MAX;
use hookwright_pipeline::trees::{
    LeftOut, StoreLock, TreeError, Trees, WorkFolder, WorkPlace, clean_stores, forget_trees,
};

use super::{Machine, Project, everything, of_session, refs, write};

/// Keeps the tree of the first machine and restores it on another one. Both must be equal.
async fn travels<'a>(one: &Machine<'a>, name: &str) -> Machine<'a> {
    let before = (everything(one.tree()), one.git(&["status", "--porcelain"]));
    let tree = one.keep().await;
    let after = (everything(one.tree()), one.git(&["status", "--porcelain"]));
    assert_eq!(before, after, "keeping changes nothing");
    let work = one.project.find().await.work;
    let two = one.project.machine(name, &work, 8);
    two.trees.prepare(Some(&tree)).await.expect("restored");
    assert_eq!(everything(two.tree()), before.0);
    two
}

async fn started<'a>(project: &'a Project) -> Machine<'a> {
    let work = project.submit().await;
    let machine = project.machine("one", &work, 7);
    machine.trees.prepare(None).await.expect("prepared");
    machine
}

#[tokio::test]
async fn the_submitted_commit_is_on_the_branch_of_the_session() {
    let project = Project::with(&[("a", "1"), ("sub/b", "2")]);
    let one = started(&project).await;
    assert_eq!(one.git(&["symbolic-ref", "HEAD"]), "refs/heads/hookwright/calm-fox");
    assert_eq!(
        one.git(&["rev-parse", "HEAD"]),
        project.git(&project.checkout(), &["rev-parse", "HEAD"])
    );
    assert_eq!(one.git(&["status", "--porcelain"]), "");
    // Nothing was done, so nothing is sent.
    assert_eq!(one.keep_all().await.tree, None);
    assert_eq!(project.refs("refs/hookwright"), [of_session("0/0")]);
}

#[tokio::test]
async fn new_changed_and_deleted_files_travel_with_links_and_executable_bits() {
    let project = Project::with(&[("a", "1"), ("b", "2"), ("c", "3"), ("d/e", "4"), ("f", "5")]);
    let one = started(&project).await;
    one.write("a", "changed");
    one.write("new/deep/file", "new");
    fs::remove_file(one.tree().join("b")).expect("removed");
    fs::set_permissions(one.tree().join("c"), fs::Permissions::from_mode(0o755)).expect("set");
    // A folder in place of a file, and a file in place of a folder.
    fs::remove_dir_all(one.tree().join("d")).expect("removed");
    one.write("d", "a file now");
    fs::remove_file(one.tree().join("f")).expect("removed");
    one.write("f/g", "a folder now");
    symlink("a", one.tree().join("link")).expect("linked");
    symlink("/nowhere", one.tree().join("dangling")).expect("linked");
    one.write("empty", "");
    let two = travels(&one, "two").await;
    assert_eq!(two.git(&["status", "--porcelain"]), one.git(&["status", "--porcelain"]));
}

#[tokio::test]
async fn names_of_every_kind_travel() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    for name in
        [&b"line\nbreak"[..], b"\xff\xfe", b" space ", b"quote\"", b"-dash", b":(top)x", b"*"]
    {
        fs::write(one.tree().join(OsStr::from_bytes(name)), name).expect("written");
    }
    travels(&one, "two").await;
}

#[tokio::test]
async fn the_agents_commits_branches_and_rebases_travel() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    one.write("a", "2");
    one.git(&["commit", "--quiet", "-a", "-m", "second"]);
    one.git(&["switch", "--quiet", "-c", "idea", "HEAD~1"]);
    one.write("b", "idea");
    one.git(&["add", "b"]);
    one.git(&["commit", "--quiet", "-m", "idea"]);
    one.write("b", "uncommitted");
    let two = travels(&one, "two").await;
    for words in [
        &["symbolic-ref", "HEAD"][..],
        &["log", "--format=%H %s", "--all"],
        &["for-each-ref", "refs/heads"],
        &["status", "--porcelain"],
    ] {
        assert_eq!(two.git(words), one.git(words), "{words:?}");
    }
    // The first machine again: its repository, with the agent's commits, is made anew.
    let tree = one.keep().await;
    let work = project.find().await.work;
    let again = project.machine("one", &work, 9);
    again.trees.prepare(Some(&tree)).await.expect("restored");
    assert_eq!(again.git(&["rev-list", "--count", "--all"]), "3");
    assert_eq!(again.git(&["fsck", "--connectivity-only", "--no-dangling"]), "");
    // On the second machine the history is changed, and HEAD is detached.
    two.git(&["commit", "--quiet", "-a", "--amend", "-m", "better idea"]);
    two.git(&["switch", "--quiet", "--detach", "hookwright/calm-fox"]);
    two.git(&["branch", "--quiet", "-D", "idea"]);
    let three = travels(&two, "three").await;
    assert_eq!(three.git(&["rev-parse", "HEAD"]), two.git(&["rev-parse", "HEAD"]));
    let branches = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads"];
    assert_eq!(three.git(&branches), two.git(&branches));
    assert_eq!(three.git(&["fsck", "--connectivity-only", "--no-dangling"]), "");
}

#[tokio::test]
async fn keeping_leaves_the_index_and_the_head_of_the_agent_alone() {
    let project = Project::with(&[("a", "1"), ("b", "2")]);
    let one = started(&project).await;
    one.write("a", "staged");
    one.git(&["add", "a"]);
    one.write("a", "not staged");
    one.write("c", "untracked");
    let look = || {
        let index = fs::read(one.tree().join(".git/index")).expect("an index");
        (index, one.git(&["rev-parse", "HEAD"]), one.git(&["diff", "--cached"]))
    };
    let before = look();
    let tree = one.keep().await;
    assert_eq!(look(), before);
    assert_eq!(one.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/hookwright/calm-fox");
    let remote = project.path("remote.git");
    assert_eq!(project.git(&remote, &["show", &format!("{tree}:a")]), "not staged");
    // The next one has nothing new, and no new ref.
    assert_eq!(one.keep().await, tree);
    assert_eq!(project.refs(&of_session("7")).len(), 1);
}

#[tokio::test]
async fn a_change_that_keeps_size_and_time_is_seen() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    for round in 0..20 {
        one.write("new", &format!("{:02}", round));
        let tree = one.keep().await;
        let remote = project.path("remote.git");
        let found = project.git(&remote, &["show", &format!("{tree}:new")]);
        assert_eq!(found, format!("{round:02}"));
    }
}

#[tokio::test]
async fn ignored_files_stay_and_those_of_the_session_are_not_in_the_tree() {
    let project = Project::with(&[(".gitignore", "target/\n"), ("a", "1")]);
    let one = started(&project).await;
    one.write("target/big", "built");
    one.write(".hookwright/sessions/calm-fox/progress.md", "notes");
    one.write("b", "new");
    let tree = one.keep().await;
    let remote = project.path("remote.git");
    let listed = project.git(&remote, &["ls-tree", "-r", "--name-only", tree.as_str()]);
    assert_eq!(listed, ".gitignore\na\nb");
    // The same machine goes back to it: what a cut-off turn has left is gone, what git ignores is
    // not.
    one.write("c", "left over");
    one.write("b", "half done");
    let work = project.find().await.work;
    let again = project.machine("one", &work, 9);
    again.trees.prepare(Some(&tree)).await.expect("restored");
    let names = |path: &Path| path.exists();
    assert_eq!(fs::read_to_string(again.tree().join("b")).expect("there"), "new");
    assert!(!names(&again.tree().join("c")));
    assert!(names(&again.tree().join("target/big")));
    assert!(names(&again.tree().join(".hookwright/sessions/calm-fox/progress.md")));
}

#[tokio::test]
async fn a_tracked_file_that_is_ignored_travels_and_an_untracked_one_does_not() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    one.write(".gitignore", "*.log\n");
    one.write("kept.log", "forced");
    one.write("other.log", "ignored");
    one.git(&["add", "-f", "kept.log"]);
    one.write("kept.log", "forced and changed");
    let tree = one.keep().await;
    let remote = project.path("remote.git");
    let listed = project.git(&remote, &["ls-tree", "-r", "--name-only", tree.as_str()]);
    assert_eq!(listed, ".gitignore\na\nkept.log");
    assert_eq!(project.git(&remote, &["show", &format!("{tree}:kept.log")]), "forced and changed");
}

#[tokio::test]
async fn a_merge_with_conflicts_travels_as_the_files_that_it_left() {
    let project = Project::with(&[("a", "1\n"), ("gone", "x\n")]);
    let one = started(&project).await;
    one.git(&["switch", "--quiet", "-c", "other"]);
    one.write("a", "theirs\n");
    one.git(&["rm", "--quiet", "gone"]);
    one.git(&["commit", "--quiet", "-a", "-m", "theirs"]);
    one.git(&["switch", "--quiet", "hookwright/calm-fox"]);
    one.write("a", "ours\n");
    one.write("gone", "changed\n");
    one.git(&["commit", "--quiet", "-a", "-m", "ours"]);
    let merged = project.command(one.tree(), &["merge", "other"]).output().expect("git is there");
    assert!(!merged.status.success());
    fs::remove_file(one.tree().join("gone")).expect("removed");
    assert!(one.git(&["status", "--porcelain"]).contains("UU a"));
    let two = travels(&one, "two").await;
    assert!(fs::read_to_string(two.tree().join("a")).expect("there").contains("<<<<<<<"));
    assert_eq!(two.git(&["rev-parse", "HEAD"]), one.git(&["rev-parse", "HEAD"]));
}

#[tokio::test]
async fn a_branch_without_a_commit_travels() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    one.git(&["switch", "--quiet", "--orphan", "fresh"]);
    one.write("b", "new");
    let two = travels(&one, "two").await;
    assert_eq!(two.git(&["symbolic-ref", "HEAD"]), "refs/heads/fresh");
    assert_eq!(two.git(&["status", "--porcelain"]), "?? b");
}

#[tokio::test]
async fn a_sparse_checkout_loses_no_file() {
    let project = Project::with(&[("in/a", "1"), ("out/b", "2"), ("c", "3")]);
    let one = started(&project).await;
    one.git(&["sparse-checkout", "set", "in"]);
    one.write("in/a", "changed");
    one.write("out/new", "beyond the patterns");
    assert!(!one.tree().join("out/b").exists());
    let tree = one.keep().await;
    let remote = project.path("remote.git");
    let listed = project.git(&remote, &["ls-tree", "-r", "--name-only", tree.as_str()]);
    assert_eq!(listed, "c\nin/a\nout/b\nout/new");
    one.git(&["sparse-checkout", "reapply", "--sparse-index"]);
    one.write("in/a", "changed again");
    let tree = one.keep().await;
    let listed = project.git(&remote, &["ls-tree", "-r", "--name-only", tree.as_str()]);
    assert_eq!(listed, "c\nin/a\nout/b\nout/new");
}

#[tokio::test]
async fn repositories_inside_the_work_tree_are_named_and_the_rest_travels() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    project.git(one.tree(), &["init", "--quiet", "vendor/empty"]);
    project.git(one.tree(), &["init", "--quiet", "vendor/full"]);
    one.write("vendor/full/x", "x");
    let full = one.tree().join("vendor/full");
    project.git(&full, &["add", "x"]);
    project.git(&full, &["commit", "--quiet", "-m", "x"]);
    one.write("b", "new");
    let kept = one.keep_all().await;
    let nested = |path: &str| LeftOut::NestedRepository { path: path.to_owned() };
    assert_eq!(kept.left_out, [nested("vendor/empty"), nested("vendor/full")]);
    let remote = project.path("remote.git");
    let tree = kept.tree.expect("a tree");
    let listed = project.git(&remote, &["ls-tree", "-r", "--name-only", tree.as_str()]);
    assert_eq!(listed, "a\nb");
}

#[tokio::test]
async fn a_submodule_keeps_its_commit_and_is_named_when_it_moves() {
    let mut project = Project::with(&[("a", "1")]);
    project.set("GIT_CONFIG_COUNT", "1");
    project.set("GIT_CONFIG_KEY_0", "protocol.file.allow");
    project.set("GIT_CONFIG_VALUE_0", "always");
    let library = project.path("library");
    project.git(project.dir.path(), &["init", "--quiet", "library"]);
    write(&library.join("x"), "x");
    project.git(&library, &["add", "x"]);
    project.git(&library, &["commit", "--quiet", "-m", "x"]);
    let (checkout, address) = (project.checkout(), library.to_string_lossy().into_owned());
    project.git(&checkout, &["submodule", "--quiet", "add", &address, "lib"]);
    project.git(&checkout, &["commit", "--quiet", "-m", "lib"]);
    let one = started(&project).await;
    one.git(&["submodule", "--quiet", "update", "--init"]);
    assert_eq!(one.keep_all().await.tree, None);
    one.write("lib/x", "changed");
    project.git(&one.tree().join("lib"), &["commit", "--quiet", "-a", "-m", "changed"]);
    let kept = one.keep_all().await;
    assert_eq!(kept.left_out, [LeftOut::Submodule { path: "lib".into() }]);
    let moved = project.git(&one.tree().join("lib"), &["rev-parse", "HEAD"]);
    let tree = kept.tree.expect("a tree");
    let entry = project.git(&project.path("remote.git"), &["ls-tree", tree.as_str(), "lib"]);
    assert!(entry.contains(&moved), "{entry}");
    let work = project.find().await.work;
    let two = project.machine("two", &work, 8);
    two.trees.prepare(Some(&tree)).await.expect("restored");
    assert!(two.tree().join("lib").is_dir());
}

#[tokio::test]
async fn settings_and_attributes_of_the_agents_repository_run_nothing() {
    let project = Project::with(&[("a", "1"), (".gitattributes", "*.x filter=evil\n")]);
    let one = started(&project).await;
    let trap = |name: &str| format!("touch {}", project.path(name).display());
    let evil = one.tree().join(".git/evil");
    write(&evil, &format!("#!/bin/sh\n{}\n", trap("sprung")));
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).expect("set");
    let evil = evil.to_string_lossy().into_owned();
    for setting in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.alternateRefsCommand",
        "credential.helper",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "gpg.program",
        "diff.external",
    ] {
        one.git(&["config", setting, &evil]);
    }
    for (setting, value) in [
        ("core.hooksPath", one.tree().join(".git").to_string_lossy().as_ref()),
        ("commit.gpgSign", "true"),
        ("push.gpgSign", "true"),
        ("filter.evil.required", "true"),
        ("url.ext::touch.insteadOf", project.path("remote.git").to_string_lossy().as_ref()),
        ("core.worktree", "/tmp"),
    ] {
        one.git(&["config", setting, value]);
    }
    for hook in ["pre-push", "reference-transaction", "post-index-change", "post-checkout"] {
        fs::copy(one.tree().join(".git/evil"), one.tree().join(".git").join(hook)).expect("copied");
    }
    write(&one.tree().join("f.x"), "filtered");
    let tree = one.keep().await;
    let shown = project.git(&project.path("remote.git"), &["show", &format!("{tree}:f.x")]);
    assert_eq!(shown, "filtered");
    let work = project.find().await.work;
    let again = project.machine("one", &work, 9);
    again.trees.prepare(Some(&tree)).await.expect("restored");
    again.write("g.x", "more");
    again.keep().await;
    again.trees.publish().await.expect("published");
    assert!(!project.path("sprung").exists());
}

#[tokio::test]
async fn line_ends_and_encodings_come_out_as_they_went_in() {
    let attributes = "*.crlf text eol=crlf\n*.auto text=auto\n*.bin -text\n";
    let project = Project::with(&[(".gitattributes", attributes), ("a.crlf", "one\ntwo\n")]);
    let one = started(&project).await;
    assert_eq!(fs::read(one.tree().join("a.crlf")).expect("there"), b"one\r\ntwo\r\n");
    one.write("b.crlf", "one\r\n");
    one.write("c.bin", "one\r\n\0");
    one.write("d.auto", "one\n");
    travels(&one, "two").await;
}

#[tokio::test]
async fn a_work_tree_without_its_repository_is_an_error() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    fs::remove_dir_all(one.tree().join(".git")).expect("removed");
    let error = one.refusal().await;
    assert!(matches!(&error, TreeError::Failed { .. }), "{error}");
}

#[tokio::test]
async fn a_file_that_is_no_file_is_an_error_that_names_it() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    fs::remove_file(one.tree().join("a")).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(one.tree().join("a")).status();
    assert!(made.expect("mkfifo is there").success());
    let error = one.refusal().await.to_string();
    assert!(error.contains("a: unsupported file type"), "{error}");
}

#[tokio::test]
async fn an_index_in_two_files_is_kept_and_left_as_it_is() {
    let project = Project::with(&[("a", "1"), ("b", "2")]);
    let one = started(&project).await;
    one.git(&["config", "core.splitIndex", "true"]);
    one.git(&["update-index", "--split-index"]);
    one.write("a", "changed");
    one.write("new", "staged");
    one.git(&["add", "new"]);
    fs::remove_file(one.tree().join("b")).expect("removed");
    let index = || fs::read(one.tree().join(".git/index")).expect("read");
    let before = index();
    travels(&one, "two").await;
    assert_eq!(index(), before);
    one.write("a", "changed again");
    travels(&one, "three").await;
}

#[tokio::test]
async fn files_that_are_too_big_to_travel_are_an_error_that_names_the_biggest() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    one.write("small", "1");
    let big = fs::File::create(one.tree().join("data.bin")).expect("created");
    big.set_len(TREE_BYTES_MAX + 1).expect("a file with a hole");
    let error = one.refusal().await.to_string();
    assert!(error.contains("the biggest is `data.bin`: let git ignore"), "{error}");
    // What git ignores does not count.
    one.write(".gitignore", "data.bin\n");
    one.keep().await;
}

#[tokio::test]
async fn what_no_session_needs_goes_from_a_store_that_no_session_uses() {
    let project = Project::with(&[("a", "1")]);
    let folder = WorkFolder::chosen(&project.path("worker"));
    folder.make().expect("made");
    let (work, git) = (project.submit().await, project.program());
    let name = "calm-fox".parse().expect("a name");
    let place = WorkPlace::below(&folder, &work, &name, "id");
    let lock = StoreLock::shared(&place).expect("locked");
    let trees = project.trees(&place, &work, 7);
    let one = Machine { project: &project, place, trees };
    one.trees.prepare(None).await.expect("prepared");
    one.write("big", "of an earlier turn");
    let tree = one.keep().await;
    let store = one.place.store.clone();
    let has = |id: &str| {
        let found = project.command(&store, &["cat-file", "-e", id]).output();
        found.expect("git is there").status.success()
    };
    assert_eq!(clean_stores(&git, &folder).await, 0, "it is in use");
    assert!(has(tree.as_str()));
    forget_trees(git.clone(), &one.place, &work, &refs()).await.expect("forgotten");
    assert_eq!(project.git(&store, &["for-each-ref", "--format=%(refname)"]), "refs/kept/last");
    drop(lock);
    // A process that another test starts at this moment has the lock too, until it has its program.
    let mut looks = 0;
    while clean_stores(&git, &folder).await == 0 {
        looks += 1;
        assert!(looks < 1_000, "nothing uses it");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!has(tree.as_str()));
    assert!(has(work.commit.as_str()), "the next session fetches only what is new");
    // A session continues with what the remote has.
    let again = project.trees(&one.place, &work, 8);
    again.prepare(Some(&tree)).await.expect("restored");
    assert_eq!(fs::read_to_string(one.tree().join("big")).expect("read"), "of an earlier turn");
}
