//! Projects with a name: which checkouts share one, and which repositories are refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::interrupts::{start, until};
use crate::support::{Ran, Sandbox};

const NAMED: &str = "project: shop\n";

/// Runs git, without the user's settings.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
    let output = Command::new("git")
        .args(identity)
        .args(["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder)
        .output()
        .expect("git starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {told}");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// Makes a repository of a folder, with this history and this remote.
pub(crate) fn repository(folder: &Path, history: &str, remote: Option<&str>) {
    git(folder, &["init", "--quiet"]);
    fs::write(folder.join("history.txt"), history).expect("written");
    git(folder, &["add", "."]);
    git(folder, &["commit", "--quiet", "--message", history]);
    if let Some(remote) = remote {
        git(folder, &["remote", "add", "origin", remote]);
    }
}

/// A folder beside the project, with this `hookwright.yaml`.
fn beside(sandbox: &Sandbox, name: &str) -> PathBuf {
    let folder = sandbox.path("..").canonicalize().expect("it exists").join(name);
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join("hookwright.yaml"), NAMED).expect("written");
    folder
}

/// The project `shop` in a repository with this remote. Its tasks have one entry.
fn shop(remote: &str) -> Sandbox {
    let sandbox = Sandbox::with_hooks(NAMED);
    repository(&sandbox.path("."), "the shop", Some(remote));
    assert_eq!(add(&sandbox, ".", "of the shop").code, 0);
    sandbox
}

const REMOTE: &str = "https://git.example.org/acme/shop.git";

fn add(sandbox: &Sandbox, folder: &str, text: &str) -> Ran {
    sandbox.run(&["task", "add", text, "--cwd", folder])
}

/// The texts of the tasks, seen from this folder.
fn tasks(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let (code, list) = sandbox.json(&["task", "list", "--json", "--cwd", folder]);
    assert_eq!(code, 0);
    let tasks = list.as_array().expect("a list").iter();
    tasks.map(|task| task["content"].as_str().expect("a text").to_owned()).collect()
}

/// Every command that reads or writes the project's data fails in this folder, for this reason.
fn is_refused(sandbox: &Sandbox, folder: &str, reason: &str) {
    for arguments in [
        ["task", "list", "--cwd", folder].as_slice(),
        &["task", "add", "x", "--cwd", folder],
        &["task", "done", "TAS-1", "--cwd", folder],
        &["sessions", "list", "--cwd", folder],
        &["status", "--cwd", folder],
        &["reopen", "TAS-1", "--cwd", folder],
        &["sessions", "prune", "--older-than", "1s", "--yes", "--cwd", folder],
    ] {
        let ran = sandbox.run(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{arguments:?}");
        assert!(ran.stderr.contains(reason), "{arguments:?}: {}", ran.stderr);
    }
    assert_eq!(tasks(sandbox, "."), ["of the shop"]);
}

#[test]
fn checkouts_of_one_repository_share_tasks_and_sessions() {
    let sandbox = shop(REMOTE)
        .file("loop.yaml", "prompt: Work.\nagent: {command: 'true'}\nmax_iterations: 1\n");
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "calm-fox"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    git(&sandbox.path(".."), &["clone", "--quiet", "project", "clone"]);
    // The same repository, reached in another way.
    let clone = sandbox.path("../clone");
    git(&clone, &["remote", "set-url", "origin", "git@git.example.org:acme/shop.git"]);
    fs::write(clone.join("hookwright.yaml"), NAMED).expect("written");
    git(&sandbox.path("."), &["worktree", "add", "--quiet", "../tree", "HEAD"]);
    fs::write(sandbox.path("../tree/hookwright.yaml"), NAMED).expect("written");
    for folder in ["../clone", "../tree"] {
        assert_eq!(add(&sandbox, folder, folder).code, 0);
        let (_, list) = sandbox.json(&["sessions", "list", "--json", "--cwd", folder]);
        assert_eq!(list["sessions"][0]["name"], "calm-fox");
        assert_eq!(list["sessions"][0]["project"], "shop");
        let root = sandbox.path(".").canonicalize().expect("it exists");
        assert_eq!(list["sessions"][0]["workspace"], json!(root));
        assert_eq!(sandbox.json(&["status", "--json", "--cwd", folder]).1["project"], "shop");
    }
    assert_eq!(tasks(&sandbox, "../clone"), ["of the shop", "../clone", "../tree"]);
    // A name is one project's, and without one the path is the project.
    fs::write(sandbox.path("../tree/hookwright.yaml"), "hooks: {}\n").expect("written");
    assert_eq!(tasks(&sandbox, "../tree"), [""; 0]);
}

#[test]
fn another_repository_that_claims_the_name_is_refused_until_a_person_confirms() {
    let sandbox = shop(REMOTE);
    let first = git(&sandbox.path("."), &["rev-parse", "HEAD"]);
    let other = beside(&sandbox, "other");
    repository(&other, "another one", Some("https://evil.example/acme/shop.git"));
    let another = git(&other, &["rev-parse", "HEAD"]);
    let expected = format!(
        "error: the project name `shop` belongs to git.example.org/acme/shop (first commit {}), but \
         this is evil.example/acme/shop (first commit {})\n --> {}/hookwright.yaml\n\
         help: choose another name; or if both are one project, share its sessions and tasks: \
         `hookwright project confirm shop`\n",
        &first[..12],
        &another[..12],
        other.display(),
    );
    let ran = sandbox.run(&["task", "list", "--cwd", "../other"]);
    assert_eq!(ran, Ran::new(1, "", &expected));
    is_refused(&sandbox, "../other", "belongs to git.example.org/acme/shop");
    let confirmed = sandbox.run(&["project", "confirm", "shop", "--cwd", "../other"]);
    let both = format!(
        "the project name `shop` belongs to:\n  git.example.org/acme/shop (first commit {})\n  \
         evil.example/acme/shop (first commit {})\n",
        &first[..12],
        &another[..12],
    );
    assert_eq!(confirmed, Ran::new(0, &both, ""));
    assert_eq!(tasks(&sandbox, "../other"), ["of the shop"]);
    assert_eq!(tasks(&sandbox, "."), ["of the shop"]);
    // It was a mistake.
    let (code, only) = sandbox.json(&["project", "confirm", "shop", "--only", "--json"]);
    let here = format!("git.example.org/acme/shop (first commit {})", &first[..12]);
    assert_eq!(code, 0);
    assert_eq!(only, json!({ "version": 1, "project": "shop", "repositories": [here] }));
    is_refused(&sandbox, "../other", "belongs to");
}

#[test]
fn address_and_first_commit_have_to_be_the_same() {
    let sandbox = shop(REMOTE);
    // A fork has the same first commit.
    git(&sandbox.path(".."), &["clone", "--quiet", "project", "fork"]);
    fs::write(sandbox.path("../fork/hookwright.yaml"), NAMED).expect("written");
    let fork = sandbox.path("../fork");
    git(&fork, &["remote", "set-url", "origin", "https://git.example.org/evil/shop.git"]);
    is_refused(&sandbox, "../fork", "but this is git.example.org/evil/shop");
    // A repository can say that its remote is another one's, also by variables.
    let spoofed = beside(&sandbox, "spoofed");
    repository(&spoofed, "spoofed", Some(REMOTE));
    is_refused(&sandbox, "../spoofed", "but this is git.example.org/acme/shop (first commit");
    let none = beside(&sandbox, "none");
    repository(&none, "no remote", None);
    let variables = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "remote.origin.url"),
        ("GIT_CONFIG_VALUE_0", REMOTE),
        ("GIT_DIR", "../project/.git"),
    ];
    let mut command = sandbox.command(&["task", "list", "--cwd", "../none"]);
    let output = command.envs(variables).output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("/none/.git\n"), "{told}");
    // A commit that a merge brought in has the same history, but not the same remote.
    git(&none, &["fetch", "--quiet", "../project"]);
    git(&none, &["merge", "--quiet", "--allow-unrelated-histories", "-X", "ours", "FETCH_HEAD"]);
    is_refused(&sandbox, "../none", "/none/.git");
    // Another folder of the same repository is another project.
    fs::create_dir(sandbox.path("part")).expect("made");
    fs::write(sandbox.path("part/hookwright.yaml"), NAMED).expect("written");
    is_refused(&sandbox, "part", ", folder part");
}

#[test]
fn a_shallow_clone_is_recognised_once_it_has_its_first_commit() {
    let sandbox = shop(REMOTE);
    git(&sandbox.path("."), &["commit", "--quiet", "--allow-empty", "--message", "second"]);
    let url = format!("file://{}", sandbox.path(".").canonicalize().expect("there").display());
    git(&sandbox.path(".."), &["clone", "--quiet", "--depth", "1", &url, "clone"]);
    let clone = sandbox.path("../clone");
    fs::write(clone.join("hookwright.yaml"), NAMED).expect("written");
    git(&clone, &["remote", "set-url", "origin", REMOTE]);
    is_refused(&sandbox, "../clone", "help: fetch the first commits (`git fetch --unshallow`), or");
    git(&clone, &["fetch", "--quiet", "--unshallow", &url]);
    assert_eq!(tasks(&sandbox, "../clone"), ["of the shop"]);
}

#[test]
fn what_git_cannot_tell_apart_is_recognised_by_its_path() {
    // Outside of git.
    let sandbox = Sandbox::with_hooks(NAMED);
    assert_eq!(add(&sandbox, ".", "of the shop").code, 0);
    beside(&sandbox, "other");
    is_refused(&sandbox, "../other", "/project, but this is ");
    // Then it is a repository without commits, then with commits, then with a remote.
    let here = sandbox.path(".");
    git(&here, &["init", "--quiet"]);
    assert_eq!(tasks(&sandbox, "."), ["of the shop"]);
    git(&here, &["commit", "--quiet", "--allow-empty", "--message", "first"]);
    assert_eq!(tasks(&sandbox, "."), ["of the shop"]);
    git(&here, &["remote", "add", "origin", REMOTE]);
    is_refused(&sandbox, "../other", "/project");
    // From here on its clones are recognised.
    git(&sandbox.path(".."), &["clone", "--quiet", "project", "clone"]);
    git(&sandbox.path("../clone"), &["remote", "set-url", "origin", REMOTE]);
    fs::write(sandbox.path("../clone/hookwright.yaml"), NAMED).expect("written");
    assert_eq!(tasks(&sandbox, "../clone"), ["of the shop"]);
}

#[test]
fn credentials_of_a_remote_are_neither_stored_nor_shown() {
    let sandbox = shop("https://ann:SECRET@git.example.org/acme/shop.git?token=SECRET");
    let other = beside(&sandbox, "other");
    repository(&other, "another one", Some("ann:SECRET@evil.example:acme/shop.git"));
    let refused = sandbox.run(&["task", "list", "--cwd", "../other"]);
    assert!(refused.stderr.contains("evil.example/acme/shop"), "{}", refused.stderr);
    let confirmed = sandbox.run(&["project", "confirm", "shop", "--cwd", "../other"]);
    assert_eq!(confirmed.code, 0, "{}", confirmed.stderr);
    for told in [refused.stderr, confirmed.stdout, confirmed.stderr] {
        assert!(!told.contains("SECRET"), "{told}");
    }
    let state = sandbox.path("../.local/state/hookwright");
    let mut files = 0;
    for entry in fs::read_dir(state).expect("a folder") {
        let path = entry.expect("an entry").path();
        let Ok(bytes) = fs::read(&path) else { continue };
        files += 1;
        let is_there = bytes.windows(6).any(|part| part == b"SECRET");
        assert!(!is_there, "{}", path.display());
    }
    assert!(files > 1);
}

#[test]
fn a_repository_that_git_cannot_read_is_refused() {
    let sandbox = shop(REMOTE);
    let other = beside(&sandbox, "other");
    fs::write(other.join(".git"), "gitdir: /nowhere\n").expect("written");
    let reason = "cannot check whether this repository may use the project name `shop`";
    is_refused(&sandbox, "../other", reason);
    let below = other.join("below");
    fs::create_dir(&below).expect("made");
    fs::write(below.join("hookwright.yaml"), NAMED).expect("written");
    is_refused(&sandbox, "../other/below", reason);
}

#[test]
fn an_agent_or_a_hook_cannot_confirm_a_name() {
    let sandbox = shop(REMOTE);
    let other = beside(&sandbox, "other");
    repository(&other, "another one", Some("https://evil.example/acme/shop.git"));
    let confirm = "cd ../other; \"$HOOKWRIGHT_BIN\" project confirm shop 2>&1 | tee -a ../told";
    let sandbox = sandbox.file(
        "loop.yaml",
        format!(
            "prompt: Work.\nagent: {{command: {}}}\nmax_iterations: 1\n",
            serde_json::to_string(&format!("{confirm}; env -i PATH=\"$PATH\" HOME=\"$HOME\" sh -c '\"$0\" project confirm shop' \"$HOOKWRIGHT_BIN\" 2>&1 | tee -a ../told")).expect("text")
        ),
    );
    let ran = sandbox.run(&["run", "loop.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = fs::read_to_string(sandbox.path("../told")).expect("it was told");
    let refused = "error: a project's name cannot be confirmed from inside a session or a hook\n\
                   help: a person has to do it, in a terminal outside the session\n";
    assert_eq!(told, refused.repeat(2));
    is_refused(&sandbox, "../other", "belongs to");
}

#[test]
fn an_invalid_name_is_a_fault_and_confirming_needs_the_name_of_the_file() {
    let sandbox = Sandbox::with_hooks("project: a/b\n");
    let file = sandbox.path("hookwright.yaml");
    let expected = format!(
        "error: expected a name of at most 64 letters, digits, `.`, `_` and `-` that begins with a \
         letter or a digit but found `a/b`\n --> {}:1:10\n",
        file.display()
    );
    let ran = sandbox.run(&["task", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""));
    assert!(ran.stderr.starts_with(&expected), "{}", ran.stderr);
    assert_eq!(sandbox.run(&["check"]).code, 1);
    let sandbox = sandbox.file("hookwright.yaml", "hooks: {}\n");
    let ran = sandbox.run(&["project", "confirm", "shop"]);
    assert!(ran.stderr.starts_with("error: this project has no name\n"), "{}", ran.stderr);
    let sandbox = sandbox.file("hookwright.yaml", NAMED);
    let ran = sandbox.run(&["project", "confirm", "store"]);
    let heading = "error: expected the project's name `shop` but found `store`\n";
    assert!(ran.stderr.starts_with(heading), "{}", ran.stderr);
    // The file for all projects names none.
    let sandbox = Sandbox::new().global("project: shop\n");
    assert!(sandbox.run(&["check"]).stderr.contains("unknown key `project`"));
}

#[test]
fn a_session_of_one_checkout_is_resumed_there_from_another_one() {
    let agent = "pwd >> \"$HOOKWRIGHT_PROJECT\"/../log; [ -e ../again ] || { touch ../again; kill -9 $PPID; }";
    let text = format!(
        "prompt: Work.\nagent: {{command: {}}}\nmax_iterations: 1\n",
        serde_json::to_string(agent).expect("text")
    );
    let sandbox = shop(REMOTE).file("loop.yaml", text);
    let killed = sandbox.command(&["run", "loop.yaml", "--session", "s"]).output().expect("starts");
    assert_eq!(killed.status.code(), None);
    git(&sandbox.path("."), &["worktree", "add", "--quiet", "../tree", "HEAD"]);
    fs::write(sandbox.path("../tree/hookwright.yaml"), NAMED).expect("written");
    let ran = sandbox.run(&["resume", "s", "--cwd", "../tree"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let here = sandbox.path(".").canonicalize().expect("there").display().to_string();
    let log = fs::read_to_string(sandbox.path("../log")).expect("it was written");
    assert_eq!(log.lines().collect::<Vec<_>>(), [&here, &here]);
}

#[test]
fn a_session_that_runs_in_one_checkout_runs_for_all() {
    let agent = "touch ../works; while [ ! -e ../go ]; do sleep 0.05; done";
    let text = format!(
        "prompt: Work.\nagent: {{command: {}}}\nmax_iterations: 1\n",
        serde_json::to_string(agent).expect("text")
    );
    let sandbox = shop(REMOTE).file("loop.yaml", &text);
    git(&sandbox.path("."), &["worktree", "add", "--quiet", "../tree", "HEAD"]);
    for (name, content) in [("hookwright.yaml", NAMED), ("loop.yaml", &text)] {
        fs::write(sandbox.path("../tree").join(name), content).expect("written");
    }
    let running = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent works", || sandbox.path("../works").exists());
    for arguments in [["resume", "s"].as_slice(), &["run", "loop.yaml", "--session", "s"]] {
        let ran = sandbox.run(&[arguments, &["--cwd", "../tree"]].concat());
        assert_eq!(ran.code, 1, "{}", ran.stdout);
        let by = format!("process {} is running", running.pid());
        assert!(ran.stderr.contains(&by), "{}", ran.stderr);
    }
    fs::write(sandbox.path("../go"), "").expect("written");
    let ended = running.ran();
    assert_eq!(ended.code, 0, "{}", ended.stderr);
}

#[test]
fn two_checkouts_that_run_a_queue_at_once_never_take_the_same_item() {
    const ITEMS: usize = 12;
    let agent = "echo \"${ISSUE_NUMBER:-$TASK_ID} $HOOKWRIGHT_PROJECT\" >> ../log; touch ../works-$(basename \"$PWD\"); while [ ! -e ../works-project ] || [ ! -e ../works-tree ]; do sleep 0.02; done";
    let agent = serde_json::to_string(agent).expect("text");
    for source in ["{tasks: true}", "{issues: issues/}"] {
        let sandbox = shop(REMOTE);
        for number in 2..=ITEMS {
            assert_eq!(add(&sandbox, ".", &format!("number {number}")).code, 0);
        }
        git(&sandbox.path("."), &["worktree", "add", "--quiet", "../tree", "HEAD"]);
        let text = format!(
            "prompt: Work.\nagent: {{command: {agent}}}\n\
             termination: {{type: queue, source: {source}}}\n"
        );
        for folder in [".", "../tree"] {
            let folder = sandbox.path(folder);
            fs::write(folder.join("hookwright.yaml"), NAMED).expect("written");
            fs::write(folder.join("loop.yaml"), &text).expect("written");
            fs::create_dir_all(folder.join("issues")).expect("made");
            for number in 1..=ITEMS {
                let file = folder.join(format!("issues/{number}-title.md"));
                fs::write(file, "# Title\n").expect("written");
            }
        }
        let both =
            ["../tree", "."].map(|folder| start(&sandbox, &["run", "loop.yaml", "--cwd", folder]));
        for ended in both.map(|running| running.ran()) {
            assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
        }
        let log = fs::read_to_string(sandbox.path("../log")).expect("it was written");
        let mut items: Vec<&str> = log.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(items.len(), ITEMS, "{log}");
        items.sort_unstable();
        items.dedup();
        assert_eq!(items.len(), ITEMS, "{source}: {log}");
        let folders = ["/project", "/tree"].map(|end| log.lines().any(|line| line.ends_with(end)));
        assert_eq!(folders, [true, true], "both have worked: {log}");
    }
}
