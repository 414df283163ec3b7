//! Hooks that commit, in sessions that are killed around the commit: each commit is made once, and
//! its hooks run once.

use std::io::Write as _;
use std::process::Command;

use crate::interrupts::{Left, start, until};
use crate::runs::lines;
use crate::support::{Ran, Sandbox};

const LOOP: &str = "prompt: p\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'echo $ITERATION > work'}\n";

fn git(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(sandbox.path("."))
        .env("HOME", sandbox.path(".."))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A repository in which each iteration is committed, with two hooks after each commit. The second
/// one also runs this command.
fn repository(second: &str) -> Sandbox {
    let commit = "{id: commit, type: git-commit, await: true, message: 'iteration ${ITERATION}'}";
    committing(commit, second).file("loop.yaml", LOOP).committed()
}

/// Runs this hook after each iteration, with two hooks after each commit.
fn committing(hook: &str, second: &str) -> Sandbox {
    let says = |name: &str| format!("echo {name} $HOOKWRIGHT_ATTEMPT $COMMIT_ID >> ../log");
    let hooks = format!(
        "hooks:\n  iteration:complete: [{hook}]\n  git:post_commit:\n    - {{id: first, await: true, command: '{}'}}\n    - {{id: second, await: true, command: '{}; {second}'}}\n",
        says("first"),
        says("second")
    );
    Sandbox::with_hooks(&hooks).file("../.gitconfig", "[user]\nname = Me\nemail = me@example.com\n")
}

trait Committed {
    /// Makes a repository of all files.
    fn committed(self) -> Self;
}

impl Committed for Sandbox {
    fn committed(self) -> Self {
        git(&self, &["init", "--quiet"]);
        git(&self, &["add", "."]);
        git(&self, &["commit", "--quiet", "--message", "begin"]);
        self
    }
}

/// A hook of git itself that kills the session once: the session is git's parent. Git outlives it.
const KILLS: &str = "#!/bin/sh\n[ -e ../killed ] && exit 0\ntouch ../killed\necho $PPID > ../git\nread -r _ _ _ parent _ < /proc/$PPID/stat\nkill -9 $parent\n";

fn killing(name: &str) -> Sandbox {
    repository("true").program(&format!(".git/hooks/{name}"), KILLS)
}

/// Git kills the session, and then waits until a line is written into `../go`: before it commits
/// (`pre-commit`), or while it has locked the branch (`reference-transaction`).
fn killed_by_waiting_git(sandbox: Sandbox, name: &str) -> (Sandbox, Left) {
    let text = KILLS.replace("touch", "[ \"${1-prepared}\" = prepared ] || exit 0\ntouch");
    // Each commit names the git process that made it.
    let signs = "#!/bin/sh\nprintf '\\ngit %s\\n' $PPID >> $1\n";
    let sandbox = sandbox
        .program(&format!(".git/hooks/{name}"), &format!("{text}read -r _ < ../go\n"))
        .program(".git/hooks/commit-msg", signs);
    let made = Command::new("mkfifo").arg(sandbox.path("../go")).status().unwrap();
    assert!(made.success());
    let committing = Left::by(&sandbox, "../git");
    is_killed(&sandbox);
    until("git waits", || committing.has_run());
    assert!(!committing.is_gone());
    (sandbox, committing)
}

/// Lets git continue. Open for reading and writing, the pipe keeps the line for a late reader, so
/// the caller has to keep it open.
#[must_use]
fn let_git_go_on(sandbox: &Sandbox) -> std::fs::File {
    let go = std::fs::OpenOptions::new().read(true).write(true).open(sandbox.path("../go"));
    let mut go = go.unwrap();
    go.write_all(b"\n").unwrap();
    go
}

/// The git process that outlived its session made this commit.
fn was_made_by_the_waiting_git(sandbox: &Sandbox, commit: &str) {
    let its = std::fs::read_to_string(sandbox.path("../git")).unwrap();
    let made_by = git(sandbox, &["log", "-1", "--format=%b", commit]);
    assert_eq!(made_by.trim(), format!("git {}", its.trim()));
}

fn locks(sandbox: &Sandbox) -> String {
    let found = Command::new("find").arg(sandbox.path(".git")).args(["-name", "*.lock"]).output();
    String::from_utf8(found.unwrap().stdout).unwrap()
}

const WAITS: &str = "waiting up to 10s for `git commit`";

/// Git must not be killed: it might leave its lock behind, and nothing could be committed any more.
fn is_killed_by_git(sandbox: &Sandbox) {
    let committing = Left::by(sandbox, "../git");
    is_killed(sandbox);
    until("git has ended", || committing.has_run() && committing.is_gone());
}

fn is_killed(sandbox: &Sandbox) {
    let killed = sandbox.command(&["run", "loop.yaml", "--session", "s"]).output().unwrap();
    assert_eq!(killed.status.code(), None, "{}", String::from_utf8_lossy(&killed.stdout));
}

/// Resumes the session; then there is one commit for each iteration. Returns their ids.
fn resumed(sandbox: &Sandbox) -> [String; 2] {
    is_done(sandbox, &sandbox.run(&["resume", "s"]))
}

fn is_done(sandbox: &Sandbox, ran: &Ran) -> [String; 2] {
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(git(sandbox, &["log", "--format=%s"]), "iteration 2\niteration 1\nbegin\n");
    let ids = git(sandbox, &["log", "--format=%H"]);
    let mut ids = ids.lines().map(str::to_owned);
    let second = ids.next().unwrap();
    [ids.next().unwrap(), second]
}

#[test]
fn killed_behind_its_commit_the_hooks_are_told_of_it_when_the_session_is_resumed() {
    let sandbox = killing("post-commit");
    is_killed_by_git(&sandbox);
    assert_eq!(lines(&sandbox, "../log"), Vec::<String>::new());
    let [one, two] = resumed(&sandbox);
    let told = |id: &str| [format!("first 1 {id}"), format!("second 1 {id}")];
    assert_eq!(lines(&sandbox, "../log"), [told(&one), told(&two)].concat());
}

#[test]
fn killed_while_git_commits_the_commit_is_made_and_told_once() {
    let sandbox = killing("pre-commit");
    is_killed_by_git(&sandbox);
    let [one, two] = resumed(&sandbox);
    let told = |id: &str| [format!("first 1 {id}"), format!("second 1 {id}")];
    assert_eq!(lines(&sandbox, "../log"), [told(&one), told(&two)].concat());
}

#[test]
fn git_that_commits_for_a_killed_session_is_waited_for_when_the_session_is_resumed() {
    let (sandbox, committing) = killed_by_waiting_git(repository("true"), "reference-transaction");
    assert!(locks(&sandbox).contains("/refs/heads/"), "{}", locks(&sandbox));
    let mut resuming = start(&sandbox, &["resume", "s"]);
    resuming.wait_for_words(WAITS);
    let _go = let_git_go_on(&sandbox);
    let [one, two] = is_done(&sandbox, &resuming.ran());
    until("git was collected", || committing.is_gone());
    was_made_by_the_waiting_git(&sandbox, &one);
    assert_eq!(locks(&sandbox), "");
    let told = |id: &str| [format!("first 1 {id}"), format!("second 1 {id}")];
    assert_eq!(lines(&sandbox, "../log"), [told(&one), told(&two)].concat());
}

#[test]
fn git_that_commits_for_a_child_of_a_killed_session_is_waited_for_too() {
    let publishing = "{id: publish, type: spawn, pipeline: publish}";
    let commits = "hooks: {iteration:complete: [{id: commit, type: git-commit, await: true, message: of the child}]}\n";
    let published =
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'true'}\n";
    let sandbox = committing(publishing, "true")
        .file("loop.yaml", LOOP.replace("iterations: 2", "iterations: 1"))
        .file("loops/publish.yaml", format!("{published}{commits}"))
        .committed();
    let (sandbox, committing) = killed_by_waiting_git(sandbox, "reference-transaction");
    let mut resuming = start(&sandbox, &["resume", "s"]);
    resuming.wait_for_words(WAITS);
    let _go = let_git_go_on(&sandbox);
    let ran = resuming.ran();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    until("git was collected", || committing.is_gone());
    assert_eq!(git(&sandbox, &["log", "--format=%s"]), "of the child\nbegin\n");
    let id = git(&sandbox, &["log", "-1", "--format=%H"]).trim().to_owned();
    was_made_by_the_waiting_git(&sandbox, &id);
    assert_eq!(locks(&sandbox), "");
    assert_eq!(lines(&sandbox, "../log"), [format!("first 1 {id}"), format!("second 1 {id}")]);
}

#[test]
fn git_that_never_ends_is_ended_after_ten_seconds_and_the_commit_is_made_again() {
    let (sandbox, committing) = killed_by_waiting_git(repository("true"), "pre-commit");
    let began = std::time::Instant::now();
    let ran = sandbox.run(&["resume", "s"]);
    assert!(began.elapsed() >= std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    assert!(ran.stdout.contains(WAITS), "{}{}", ran.stdout, ran.stderr);
    let [one, two] = is_done(&sandbox, &ran);
    until("git was collected", || committing.is_gone());
    let told = |id: &str| [format!("first 1 {id}"), format!("second 1 {id}")];
    assert_eq!(lines(&sandbox, "../log"), [told(&one), told(&two)].concat());
}

#[test]
fn an_interrupt_ends_the_wait_for_git_and_git_too() {
    let (sandbox, committing) = killed_by_waiting_git(repository("true"), "pre-commit");
    let mut resuming = start(&sandbox, &["resume", "s"]);
    resuming.wait_for_words(WAITS);
    resuming.signal("-INT");
    assert_eq!(resuming.ran().code, 130);
    until("git has ended", || committing.is_gone());
    assert_eq!(git(&sandbox, &["log", "--format=%s"]), "begin\n");
    let [one, two] = resumed(&sandbox);
    let told = |id: &str| [format!("first 1 {id}"), format!("second 1 {id}")];
    assert_eq!(lines(&sandbox, "../log"), [told(&one), told(&two)].concat());
}

#[test]
fn killed_in_a_hook_behind_its_commit_only_that_hook_runs_again() {
    let sandbox = repository("[ -e ../killed ] || { touch ../killed; kill -9 $PPID; }");
    is_killed(&sandbox);
    let [one, two] = resumed(&sandbox);
    let told = |id: &str| [format!("first 1 {id}"), format!("second 1 {id}")];
    let again = [format!("second 2 {one}")];
    assert_eq!(lines(&sandbox, "../log"), [&told(&one)[..], &again, &told(&two)].concat());
}

#[test]
fn interrupted_in_a_hook_behind_its_commit_only_that_hook_runs_again() {
    let sandbox = repository("if [ ! -e ../go ]; then echo $$ > ../pid; exec sleep 1000; fi");
    let hook = Left::by(&sandbox, "../pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the hook hangs", || hook.has_run());
    started.signal("-INT");
    assert_eq!(started.ran().code, 130);
    std::fs::write(sandbox.path("../go"), "").unwrap();
    let [one, two] = resumed(&sandbox);
    let told = |id: &str| [format!("first 1 {id}"), format!("second 1 {id}")];
    let again = [format!("second 2 {one}")];
    assert_eq!(lines(&sandbox, "../log"), [&told(&one)[..], &again, &told(&two)].concat());
}

#[test]
fn a_commit_of_another_process_is_not_taken_for_its_own() {
    // The commit is abandoned with the session.
    let sandbox = killing("pre-commit");
    let hook = std::fs::read_to_string(sandbox.path(".git/hooks/pre-commit")).unwrap();
    let sandbox = sandbox.program(".git/hooks/pre-commit", &format!("{hook}exit 1\n"));
    is_killed_by_git(&sandbox);
    std::fs::write(sandbox.path("other"), "by hand\n").unwrap();
    git(&sandbox, &["add", "."]);
    git(&sandbox, &["commit", "--quiet", "--message", "by hand"]);
    let ran = sandbox.run(&["resume", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(git(&sandbox, &["log", "--format=%s"]), "iteration 2\nby hand\nbegin\n");
    let id = git(&sandbox, &["log", "-1", "--format=%H"]).trim().to_owned();
    let told = [format!("first 1 {id}"), format!("second 1 {id}")];
    assert_eq!(lines(&sandbox, "../log"), told);
}
