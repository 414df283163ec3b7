//! Sessions that are submitted to workers, before a worker takes them.

use std::process::Command;

use serde_json::json;

use crate::projects::git;
use crate::remote_project::{remote, shared_with_remote};
use crate::shared_store::shared;
use crate::support::{Ran, Sandbox};

const LOOP: &str =
    "name: fix\nprompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'true'}\n";

fn project() -> Sandbox {
    shared_with_remote(Sandbox::new().file("loop.yaml", LOOP))
}

fn submitted(sandbox: &Sandbox, more: &[&str]) -> Ran {
    sandbox.run(&[&["run", "loop.yaml", "--on", "workers"], more].concat())
}

/// Names and statuses, the newest first.
fn list(sandbox: &Sandbox) -> Vec<(String, String)> {
    let (code, list) = sandbox.json(&["sessions", "list", "--json"]);
    assert_eq!(code, 0);
    let sessions = list["sessions"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    sessions.map(|session| (text(&session["name"]), text(&session["status"]))).collect()
}

#[test]
fn a_submitted_session_is_queued_and_says_what_it_needs() {
    let sandbox = project().file("../.config/hookwright/secrets.env", "DEPLOY_KEY=hunter222\n");
    let secrets = sandbox.path("../.config/hookwright/secrets.env");
    std::process::Command::new("chmod").arg("600").arg(&secrets).status().unwrap();
    let text = LOOP
        .replace("prompt: p", "prompt: p\nhooks: {session:start: [{command: 'echo $DEPLOY_KEY'}]}");
    std::fs::write(sandbox.path("loop.yaml"), text).unwrap();
    let ran = submitted(&sandbox, &["--session", "s", "--label", "gpu"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "session s is queued\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hookwright sessions log s --follow"), "{}", ran.stderr);
    assert_eq!(list(&sandbox), [("s".to_owned(), "queued".to_owned())]);
    let status = sandbox.run(&["status"]);
    assert!(status.stdout.contains("queued for workers:\n  s  fix"), "{status:?}");
    let waits = "no worker of this project runs; start one in a checkout with `hookwright worker \
                 --label gpu`";
    assert!(ran.stderr.contains(&format!("note: session s waits: {waits}\n")), "{}", ran.stderr);
    assert!(status.stdout.contains(&format!("waits: {waits}\n")), "{status:?}");
    let (_, status) = sandbox.json(&["status", "--json"]);
    assert_eq!(status["queued"][0]["missing"], waits);
    let root = sandbox.path(".").canonicalize().unwrap();
    assert_eq!(
        status["queued"][0]["submission"]["needs"],
        json!({ "labels": ["gpu"], "secrets": ["DEPLOY_KEY"], "folder": root })
    );
    let shown = sandbox.run(&["sessions", "show", "s"]);
    assert!(shown.stdout.starts_with("s: queued"), "{shown:?}");
    assert!(shown.stdout.contains(&format!("waits: {waits}\n")), "{shown:?}");
    let log = sandbox.run(&["sessions", "log", "s"]);
    assert!(log.stdout.contains("session submitted to workers: fix"), "{log:?}");
    assert!(!log.stdout.contains("hunter222"), "{log:?}");
}

#[test]
fn a_queued_session_leaves_the_queue_and_returns_to_it() {
    let sandbox = project();
    assert_eq!(submitted(&sandbox, &["--session", "s"]).code, 0);
    let again = sandbox.run(&["resume", "s"]);
    assert_eq!(again, Ran::new(0, "", "session s is queued already\n"));
    let stopped = sandbox.run(&["stop"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert_eq!(stopped.stdout, "session s: interrupted (taken out of the queue of workers)\n");
    assert_eq!(list(&sandbox), [("s".to_owned(), "interrupted".to_owned())]);
    let resumed = sandbox.run(&["resume", "s"]);
    assert_eq!(resumed, Ran::new(0, "", "session s is queued; a worker continues it\n"));
    assert_eq!(list(&sandbox), [("s".to_owned(), "queued".to_owned())]);
    let kept = sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
    assert_eq!((kept.code, kept.stderr.as_str()), (0, "nothing was deleted\n"));
    let pruned = sandbox.run(&["sessions", "prune", "--keep", "0", "--status", "queued", "--yes"]);
    assert_eq!(pruned.code, 0, "{pruned:?}");
    assert_eq!(list(&sandbox), []);
}

#[test]
fn several_sessions_are_submitted_at_once() {
    let sandbox = project();
    let ran = submitted(&sandbox, &["--sessions", "3"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let list = list(&sandbox);
    assert_eq!(list.len(), 3);
    assert!(ran.stderr.starts_with("note: 3 sessions wait: no worker of"), "{ran:?}");
    for (name, status) in &list {
        assert_eq!(status, "queued");
        assert!(ran.stdout.contains(&format!("session {name} is queued\n")), "{ran:?}");
    }
    let (code, json) = sandbox.json(&["run", "loop.yaml", "--on", "workers", "--json"]);
    assert_eq!((code, &json["sessions"][0]["status"]), (0, &json!("queued")));
}

#[test]
fn what_cannot_be_submitted_is_refused_before_anything_is_stored() {
    let sandbox = project();
    assert_eq!(submitted(&sandbox, &["--session", "s"]).code, 0);
    for (more, heading, help) in [
        (&["--session", "s"][..], "session `s` already exists (queued)", "hookwright resume s"),
        (&["--session", "a b"], "a session's name", "letters, digits"),
        (&["--no-hooks"], "hooks cannot be switched off for sessions on workers", "leave out"),
        (&["--skip", "x"], "hooks cannot be switched off for sessions on workers", "leave out"),
        (&["--sessions", "0"], "invalid value '0' for '--sessions <N>'", "--help"),
        (&["--label", "a b"], "invalid value 'a b' for '--label <LABEL>'", "--help"),
        (&["--sessions", "2", "--session", "x"], "cannot be used with", "--help"),
    ] {
        let ran = submitted(&sandbox, more);
        assert_eq!(ran.code, 1, "{more:?}: {ran:?}");
        assert!(ran.stderr.contains(heading), "{more:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(help), "{more:?}: {}", ran.stderr);
    }
    std::fs::write(sandbox.path("loop.yaml"), LOOP.replace("prompt", "promt")).unwrap();
    let faulty = submitted(&sandbox, &[]);
    assert_eq!(faulty.code, 1, "{faulty:?}");
    assert!(faulty.stderr.contains("did you mean `prompt`"), "{}", faulty.stderr);
    assert_eq!(list(&sandbox), [("s".to_owned(), "queued".to_owned())]);
}

#[test]
fn workers_need_a_store_that_other_machines_reach() {
    let sandbox = Sandbox::new().file("loop.yaml", LOOP);
    let ran = submitted(&sandbox, &[]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.starts_with("error: workers need a Postgres store"), "{}", ran.stderr);
    assert!(ran.stderr.contains("hookwright store init"), "{}", ran.stderr);
    let (_, list) = sandbox.json(&["sessions", "list", "--json"]);
    assert_eq!(list["sessions"], json!([]));
}

/// Submitting this project is refused, and nothing is stored.
fn is_refused(sandbox: &Sandbox, ran: &Ran, reason: &str, help: &str) {
    assert_eq!(ran.code, 1, "{ran:?}");
    let heading = format!("error: this project cannot be sent to workers: {reason}");
    assert!(ran.stderr.contains(&heading), "{heading}: {ran:?}");
    assert!(ran.stderr.contains(&format!("help: {help}")), "{ran:?}");
    assert_eq!(list(sandbox), []);
}

#[test]
fn without_a_git_repository_nothing_is_submitted() {
    let sandbox = shared(Sandbox::new().file("loop.yaml", LOOP));
    let root = sandbox.path("").canonicalize().unwrap();
    let root = root.display();
    let outside = format!("`{root}` is not in a git repository");
    is_refused(&sandbox, &submitted(&sandbox, &[]), &outside, "put it into one that has a remote");
    let mut without_git = sandbox.command(&["run", "loop.yaml", "--on", "workers"]);
    let ran = Ran::from(without_git.env("PATH", "/nonexistent").output().unwrap());
    is_refused(&sandbox, &ran, "`git` not found", "install git, here and on the machines");
    let above = sandbox.path("..");
    git(&above, &["init", "--quiet"]);
    std::fs::write(above.join(".gitignore"), "/project/\n").unwrap();
    let ignored = format!("git ignores the project root `{root}`");
    is_refused(&sandbox, &submitted(&sandbox, &[]), &ignored, "remove the rule that `git check-ig");
}

#[test]
fn without_a_remote_that_can_be_pushed_to_nothing_is_submitted() {
    let sandbox = project();
    let checkout = sandbox.path("");
    let address = remote(&sandbox).display().to_string();
    let hook = "#!/bin/sh\necho 'no pushes today' >&2\nexit 1\n";
    let sandbox = sandbox.program("../remote.git/hooks/pre-receive", hook);
    let refused = format!(
        "the git remote `{address}` refuses the push: pre-receive hook declined: no pushes today"
    );
    let help = "ask for the right to push to the remote";
    is_refused(&sandbox, &submitted(&sandbox, &[]), &refused, help);
    for (address, reason, help) in [
        (
            "https://a:hunter222@localhost/x.git",
            "the address of the git remote `origin` contains a password",
            "keep the password in",
        ),
        ("/nowhere/x.git", "the git remote `/nowhere/x.git` is unreachable", "check the address"),
    ] {
        git(&checkout, &["remote", "set-url", "origin", address]);
        is_refused(&sandbox, &submitted(&sandbox, &[]), reason, help);
    }
    git(&checkout, &["remote", "remove", "origin"]);
    let none = "the git repository of `";
    is_refused(&sandbox, &submitted(&sandbox, &[]), none, "add a remote: `git remote add origin");
}

#[test]
fn submitting_runs_no_hook_of_the_users_repository() {
    let sandbox = project().program(".git/hooks/pre-push", "#!/bin/sh\n: > ran\nexit 1\n");
    let mut push = Command::new("git");
    let push = push.args(["push", "--quiet", "origin", "HEAD:main"]).current_dir(sandbox.path(""));
    assert!(!push.output().unwrap().status.success());
    std::fs::remove_file(sandbox.path("ran")).expect("the hook runs");
    let ran = submitted(&sandbox, &["--session", "s"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!sandbox.path("ran").exists());
}
