//! The work of sessions on workers: a work tree of the submitted commit, and what becomes of it.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use hookwright_postgres_server::Cluster;

use super::{hears, is, is_there, kill, project, session, submit, worker, write};
use crate::interrupts::{Left, is_gone, until};
use crate::projects::git;
use crate::remote_project::{commit, remote};
use crate::shared_store::SETTINGS;
use crate::support::Sandbox;

/// A project whose agent writes into its work tree and waits in its second turn.
pub(super) fn project_with_work() -> Sandbox {
    project_that_waits("exec sleep 1000")
}

/// The same with what the agent does in its second turn while there is no file `go`.
fn project_that_waits(wait: &str) -> Sandbox {
    let agent = format!(
        "echo $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ $ITERATION = 2 ] && [ ! -e \
         $CHECKOUT/go ]; then echo $$ > $CHECKOUT/pid; {wait}; fi"
    );
    let text = format!(
        "prompt: p\ntermination: {{type: fixed, iterations: 3}}\nagent: {{command: '{agent}'}}\n"
    );
    project(&text)
}

/// The ref of a session's submitted commit.
fn submitted(sandbox: &Sandbox, session: &str) -> String {
    let pattern = format!("refs/hookwright/{session}/*/0/0");
    git(&remote(sandbox), &["for-each-ref", "--format=%(refname)", &pattern])
}

#[test]
fn a_session_whose_worker_was_killed_continues_with_its_tree_and_leaves_a_branch() {
    let sandbox = project_with_work();
    let agent = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json"]);
    submit(&sandbox, &["--session", "s"]);
    hears(&mut first, "started");
    until("the agent works", || agent.has_run());
    first.kill();
    until("its agent has ended", || agent.is_gone());
    write(&sandbox, "go", "");
    let setup = ["--setup", "echo yes > built"];
    let _second = worker(&sandbox, "b", &setup);
    until("the session is complete", || is(&sandbox, "s", "completed"));
    // The turn that was cut off has left nothing.
    let log = git(&remote(&sandbox), &["show", "hookwright/s:log"]);
    assert_eq!(log, "1 1\n2 2\n3 1");
    assert!(!is_there(&sandbox, "log"), "the checkout is left alone");
    assert_ne!(submitted(&sandbox, "s"), "");
    let trees = || std::fs::read_dir(sandbox.path(".hookwright/work/trees")).unwrap().count();
    until("the work tree is removed", || trees() == 0);
    let pruned = sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
    assert_eq!(pruned.code, 0, "{pruned:?}");
    let refs = git(&remote(&sandbox), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/hookwright/s");
}

/// A folder with a `git` that appends its arguments to `calls` beside it.
fn noted_git(sandbox: &Sandbox) -> String {
    let folder = sandbox.path("..").canonicalize().unwrap().join("bin");
    std::fs::create_dir_all(&folder).unwrap();
    let found = Command::new("sh").args(["-c", "command -v git"]).output().unwrap();
    let git = String::from_utf8(found.stdout).unwrap();
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> {}/calls\nexec {} \"$@\"\n",
        folder.display(),
        git.trim()
    );
    let program = folder.join("git");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder.to_string_lossy().into_owned()
}

#[test]
fn a_git_remote_that_is_away_when_a_worker_begins_a_session_is_waited_for() {
    let sandbox = project_with_work();
    submit(&sandbox, &["--session", "s"]);
    write(&sandbox, "go", "");
    let away = remote(&sandbox).with_extension("away");
    std::fs::rename(remote(&sandbox), &away).unwrap();
    let folder = noted_git(&sandbox);
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
    let sandbox = sandbox.set("PATH", &path);
    let _worker = worker(&sandbox, "a", &[]);
    let calls = || std::fs::read_to_string(format!("{folder}/calls")).unwrap_or_default();
    let fetches = || calls().lines().filter(|line| line.contains("fetch ")).count();
    until("it was fetched in vain and is fetched again", || fetches() >= 2);
    std::fs::rename(&away, remote(&sandbox)).unwrap();
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert_eq!(session(&sandbox, "s")["submission"]["losses"], 0);
}

#[test]
fn a_session_that_waits_for_its_git_remote_says_so_in_its_journal() {
    let sandbox = project_that_waits("while [ ! -e $CHECKOUT/go ]; do sleep 0.05; done");
    let agent = Left::by(&sandbox, "pid");
    let _worker = worker(&sandbox, "a", &[]);
    submit(&sandbox, &["--session", "s"]);
    until("the agent works", || agent.has_run());
    let away = remote(&sandbox).with_extension("away");
    std::fs::rename(remote(&sandbox), &away).unwrap();
    write(&sandbox, "go", "");
    let has_said = |words: &str| sandbox.run(&["sessions", "log", "s"]).stdout.contains(words);
    until("the session waits", || has_said("is unreachable"));
    std::fs::rename(&away, remote(&sandbox)).unwrap();
    until("the session is complete", || is(&sandbox, "s", "completed"));
    assert!(has_said("the git remote is reachable again"));
}

#[test]
fn work_trees_are_made_and_set_up_where_the_projects_file_says() {
    let sandbox = project_with_work();
    let (root, outside) = (sandbox.path(""), sandbox.path("..").canonicalize().unwrap());
    let folder = outside.join("trees of all");
    let settings = format!(
        "project: shop\nworker: {{folder: '{}', setup: 'pwd > built'}}\n",
        folder.display()
    );
    write(&sandbox, "hookwright.yaml", &settings);
    let agent = "prompt: p\ntermination: {type: fixed, iterations: 1}\n\
                 agent: {command: 'cat built > log; pwd >> log'}\n";
    write(&sandbox, "loop.yaml", agent);
    commit(&sandbox, "settings");
    git(&root, &["push", "--quiet", "origin", "HEAD:main"]);
    submit(&sandbox, &["--session", "s"]);
    // Another checkout, at another path.
    let elsewhere = outside.join("elsewhere");
    git(&outside, &["clone", "--quiet", "--branch", "main", "remote.git", "elsewhere"]);
    let elsewhere = ["--project", &elsewhere.to_string_lossy()].map(str::to_owned);
    let worker = worker(&sandbox, "b", &elsewhere.each_ref().map(String::as_str));
    until("the session is complete", || is(&sandbox, "s", "completed"));
    let log = git(&remote(&sandbox), &["show", "hookwright/s:log"]);
    let [set_up, worked] = log.lines().collect::<Vec<_>>()[..] else { panic!("{log}") };
    assert!(set_up.starts_with(&*folder.join("trees/s-").to_string_lossy()), "{log}");
    assert_eq!(set_up, worked);
    drop(worker);
}

#[test]
fn a_worker_that_cannot_offer_the_folder_leaves_the_session_to_others() {
    let sandbox = project_with_work();
    let blocked = sandbox.path("../a file");
    std::fs::write(&blocked, "").unwrap();
    let folder = blocked.join("below");
    write(&sandbox, "hookwright.yaml", &format!("worker: {{folder: '{}'}}\n", folder.display()));
    commit(&sandbox, "settings");
    let mut first = worker(&sandbox, "a", &[]);
    first.wait_for_talk("note: cannot use `");
    submit(&sandbox, &["--session", "s"]);
    let status = sandbox.run(&["status"]);
    let waits =
        format!("waits: no worker has the folder {}; let a worker's user", folder.display());
    assert!(status.stdout.contains(&waits), "{status:?}");
    assert!(is(&sandbox, "s", "queued"));
}

#[test]
fn a_worker_removes_the_work_trees_that_killed_ones_have_left_and_no_other() {
    let sandbox = project_with_work();
    let agent = Left::by(&sandbox, "pid");
    let mut first = worker(&sandbox, "a", &["--json"]);
    submit(&sandbox, &["--session", "s"]);
    hears(&mut first, "started");
    until("the agent works", || agent.has_run());
    let trees = || std::fs::read_dir(sandbox.path(".hookwright/work/trees")).unwrap().count();
    // While its session runs, another worker leaves it alone.
    let mut other = worker(&sandbox, "b", &["--json"]);
    hears(&mut other, "joined");
    assert_eq!(trees(), 1);
    other.kill();
    let process = session(&sandbox, "s")["process"]["pid"].to_string();
    // Both are killed, so that neither removes the work tree.
    kill("-STOP", &process);
    first.kill();
    kill("-KILL", &process);
    until("its session process has ended", || is_gone(&process));
    let mut next = worker(&sandbox, "c", &["--json"]);
    hears(&mut next, "removed_trees");
    write(&sandbox, "go", "");
    until("the session is complete", || is(&sandbox, "s", "completed"));
}

#[test]
fn a_submitted_commit_that_the_remote_has_lost_is_named_with_what_to_do() {
    let sandbox = project_with_work();
    submit(&sandbox, &["--session", "s"]);
    let lost = submitted(&sandbox, "s");
    let commit = git(&remote(&sandbox), &["rev-parse", &lost]);
    git(&remote(&sandbox), &["update-ref", "-d", &lost]);
    let _workers = ["a", "b", "c"].map(|home| worker(&sandbox, home, &[]));
    until("no worker can run it", || is(&sandbox, "s", "paused"));
    let reason = format!(
        "cannot make the work tree of the session: the git remote `{}` does not have the submitted \
         commit `{commit}`; its refs were deleted: submit it again with `hookwright run FILE --on \
         workers`",
        remote(&sandbox).display()
    );
    for command in [&["status"][..], &["sessions", "show", "s"], &["sessions", "log", "s"]] {
        let ran = sandbox.run(command);
        assert!(ran.stdout.contains(&reason), "{command:?}: {ran:?}");
    }
}

#[test]
fn a_session_that_was_submitted_without_a_commit_is_not_run() {
    let sandbox = project_with_work();
    submit(&sandbox, &["--session", "s"]);
    let without = "(convert_from(value, 'UTF8')::jsonb - 'carried')::text";
    let forget = format!(
        "UPDATE hookwright.records SET value = convert_to({without}, 'UTF8') WHERE kind = 'session'"
    );
    let settings = std::fs::read_to_string(sandbox.path(SETTINGS)).unwrap();
    let (_, database) = settings.trim_end().rsplit_once('/').unwrap();
    Cluster::shared().sql(database, &forget);
    let mut first = worker(&sandbox, "a", &["--json"]);
    hears(&mut first, "refused");
    let shown = sandbox.run(&["sessions", "show", "s"]);
    let reason = "cannot run the session: the session was submitted without a commit, by an older \
                  version; submit it again: `hookwright run FILE --on workers`";
    assert!(shown.stdout.contains(reason), "{shown:?}");
    assert!(!is_there(&sandbox, "log"), "it did not run in the checkout");
}

#[test]
fn uncommitted_changes_are_not_submitted_which_is_said() {
    let sandbox = project_with_work();
    write(&sandbox, "draft", "x");
    let ran = sandbox.run(&["run", "loop.yaml", "--on", "workers", "--session", "s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("1 file with uncommitted changes"), "{ran:?}");
    let submitted = submitted(&sandbox, "s");
    let listed = git(&remote(&sandbox), &["ls-tree", "--name-only", &submitted]);
    assert_eq!(listed, ".gitignore\nloop.yaml");
}

#[test]
fn a_worker_does_not_start_where_the_repository_contains_its_folder() {
    let sandbox = project_with_work();
    let root = sandbox.path("");
    let precious = sandbox.path("../precious/photos");
    std::fs::create_dir_all(&precious).unwrap();
    std::fs::create_dir_all(root.join(".hookwright/work")).unwrap();
    std::os::unix::fs::symlink("../../../precious", root.join(".hookwright/work/trees")).unwrap();
    let refused = |heading: &str, help: &str| {
        let ran = worker(&sandbox, "a", &[]).ran();
        assert_eq!(ran.code, 1, "{ran:?}");
        let expected = format!("error: cannot make work trees here: {heading}");
        assert!(ran.stderr.contains(&expected), "{ran:?}");
        assert!(ran.stderr.contains(&format!("help: {help}")), "{ran:?}");
        assert!(precious.is_dir());
    };
    let link = root.canonicalize().unwrap().join(".hookwright/work/trees");
    refused(&format!("`{}` is not a folder", link.display()), "find out who made it");
    git(&root, &["add", "-f", ".hookwright/work"]);
    git(&root, &["commit", "--quiet", "-m", "a trap"]);
    refused(
        "git tracks `.hookwright/work/trees`, where work trees are made",
        "a repository must not contain what workers make",
    );
}

#[test]
fn a_work_tree_that_cannot_be_set_up_is_removed() {
    let sandbox = project_with_work();
    let mut first = worker(&sandbox, "a", &["--json", "--setup", "exit 3"]);
    submit(&sandbox, &["--session", "s"]);
    hears(&mut first, "refused");
    for part in ["trees", "locks", "indexes"] {
        let folder = sandbox.path(".hookwright/work").join(part);
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "{part}");
    }
}
