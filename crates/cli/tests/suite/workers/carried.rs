//! Sessions of a project in git: workers make a work tree of the submitted commit.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::{hears, is, is_there, kill, session, submit, worker, write};
use crate::interrupts::{Left, is_gone, until};
use crate::shared_store::shared;
use crate::support::Sandbox;

/// Runs git, and returns what it printed.
fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@example.com");
    }
    let ran = git.args(words).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).trim().to_owned()
}

/// A project in git, whose agent writes into its work tree and waits in its second turn.
pub(super) fn git_project() -> Sandbox {
    let sandbox = shared(Sandbox::new());
    let root = sandbox.path("").canonicalize().unwrap();
    let agent = format!(
        "echo $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ $ITERATION = 2 ] && [ ! -e {0}/go ]; \
         then echo $$ > {0}/pid; exec sleep 1000; fi",
        root.display()
    );
    let text = format!(
        "prompt: p\ntermination: {{type: fixed, iterations: 3}}\nagent: {{command: '{agent}'}}\n"
    );
    write(&sandbox, "loop.yaml", &text);
    write(&sandbox, ".gitignore", "pid\ngo\nbuilt\n");
    let remote = root.parent().unwrap().join("remote.git");
    git(&root, &["init", "--quiet", "--bare", &remote.to_string_lossy()]);
    git(&root, &["init", "--quiet"]);
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "--quiet", "-m", "first"]);
    git(&root, &["remote", "add", "origin", &remote.to_string_lossy()]);
    sandbox
}

fn remote(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.path("..").canonicalize().unwrap().join("remote.git")
}

/// The ref of a session's submitted commit.
fn submitted(sandbox: &Sandbox, session: &str) -> String {
    let pattern = format!("refs/hookwright/{session}/*/0/0");
    git(&remote(sandbox), &["for-each-ref", "--format=%(refname)", &pattern])
}

#[test]
fn a_session_whose_worker_was_killed_continues_with_its_tree_and_leaves_a_branch() {
    let sandbox = git_project();
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
    let sandbox = git_project();
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
fn work_trees_are_made_and_set_up_where_the_projects_file_says() {
    let sandbox = git_project();
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
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "--quiet", "-m", "settings"]);
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
    let sandbox = git_project();
    let blocked = sandbox.path("../a file");
    std::fs::write(&blocked, "").unwrap();
    let folder = blocked.join("below");
    write(&sandbox, "hookwright.yaml", &format!("worker: {{folder: '{}'}}\n", folder.display()));
    let root = sandbox.path("");
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "--quiet", "-m", "settings"]);
    let mut first = worker(&sandbox, "a", &[]);
    first.wait_for_talk("note: cannot use `");
    submit(&sandbox, &["--session", "s"]);
    let status = sandbox.run(&["status"]);
    let needs = format!("needs folder {}, which no worker has", folder.display());
    assert!(status.stdout.contains(&needs), "{status:?}");
    assert!(is(&sandbox, "s", "queued"));
}

#[test]
fn a_worker_removes_the_work_trees_that_killed_ones_have_left_and_no_other() {
    let sandbox = git_project();
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
fn a_project_that_cannot_be_sent_is_refused_with_the_reason() {
    let sandbox = git_project();
    let root = sandbox.path("");
    let refused = |heading: &str, help: &str| {
        let ran = sandbox.run(&["run", "loop.yaml", "--on", "workers"]);
        assert_ne!(ran.code, 0, "{ran:?}");
        let expected = format!("error: this project cannot be sent to workers: {heading}");
        assert!(ran.stderr.contains(&expected), "{ran:?}");
        assert!(ran.stderr.contains(&format!("help: {help}")), "{ran:?}");
    };
    git(&root, &["remote", "set-url", "origin", "https://a:hunter222@localhost/x.git"]);
    refused("the address of the git remote `origin` contains a password", "keep the password in");
    git(&root, &["remote", "set-url", "origin", "/nowhere/x.git"]);
    refused("the git remote `/nowhere/x.git` is unreachable", "check the address");
    git(&root, &["remote", "remove", "origin"]);
    refused("the git repository of", "add a remote");
    let (_, list) = sandbox.json(&["sessions", "list", "--json"]);
    assert_eq!(list["sessions"], serde_json::json!([]));
}

#[test]
fn uncommitted_changes_are_not_submitted_which_is_said() {
    let sandbox = git_project();
    write(&sandbox, "draft", "x");
    let ran = sandbox.run(&["run", "loop.yaml", "--on", "workers", "--session", "s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("1 file with uncommitted changes"), "{ran:?}");
    let submitted = submitted(&sandbox, "s");
    let listed = git(&remote(&sandbox), &["ls-tree", "--name-only", &submitted]);
    assert_eq!(listed, ".gitignore\nloop.yaml");
}
