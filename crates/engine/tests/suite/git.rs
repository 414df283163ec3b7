//! git-commit and git-push with real repositories; the remote is a bare one on disk.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use hookwright_engine::ports::Ports;
use hookwright_engine::{Fired, Interest};
use hookwright_events::{FiringEvent, Report, RunEventKind, Status};
use serde_json::{Value, json};

use crate::support::{Host, Left, block, only, proceed, until, wait_for, write_program};

/// A project that is a repository, with its own home folder and room for a remote.
struct Repository {
    host: Host,
    around: tempfile::TempDir,
}

impl Repository {
    fn new(hooks: &str) -> Self {
        let repository = Self::without_a_repository(hooks, &[]);
        repository.git(&["init"]);
        repository
    }

    /// With one commit and a remote `origin` that has it.
    fn with_remote(hooks: &str) -> Self {
        let repository = Self::new(hooks);
        repository.commit("first");
        let remote = repository.remote();
        repository.git(&["init", "--bare", &remote]);
        repository.git(&["remote", "add", "origin", &remote]);
        repository.git(&["push", "origin", "main"]);
        repository
    }

    fn without_a_repository(hooks: &str, variables: &[(&str, &str)]) -> Self {
        let around = tempfile::tempdir().expect("a folder");
        let home = around.path().join("home");
        fs::create_dir(&home).expect("made");
        let home = home.to_str().expect("text");
        let mut all = vec![("HOME", home), ("GIT_CONFIG_NOSYSTEM", "1")];
        all.extend(variables);
        let host = Host::with(hooks, Ports::default(), &all);
        let repository = Self { host, around };
        repository.configure("[user]\nname = Me\nemail = me@example.com\n");
        repository
    }

    fn configure(&self, user: &str) {
        let text = format!("[init]\ndefaultBranch = main\n{user}useConfigOnly = true\n");
        fs::write(self.around.path().join("home/.gitconfig"), text).expect("written");
    }

    fn remote(&self) -> String {
        self.around.path().join("remote.git").display().to_string()
    }

    fn git(&self, arguments: &[&str]) -> String {
        let output = self.git_command(arguments).output().expect("git runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn git_command(&self, arguments: &[&str]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
        let path = std::env::var_os("PATH").expect("a PATH");
        let mut command = Command::new("git");
        command
            .args(arguments)
            .current_dir(self.host.path())
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.around.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.host.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    /// Commits one more file, without any hook.
    fn commit(&self, name: &str) {
        self.write(name, name);
        self.git(&["add", name]);
        self.git(&["commit", "-m", name]);
    }

    /// Writes a git hook.
    fn git_hook(&self, folder: &Path, name: &str, script: &str) {
        write_program(&folder.join("hooks").join(name), &format!("#!/bin/sh\n{script}\n"));
    }

    fn git_dir(&self) -> PathBuf {
        self.host.path().join(".git")
    }

    /// The number of commits.
    fn commits(&self) -> usize {
        self.git(&["rev-list", "--all"]).lines().count()
    }

    fn committed_files(&self) -> String {
        self.git(&["ls-tree", "-r", "--name-only", "HEAD"])
    }

    async fn fire(&self, data: Value) -> Fired {
        self.host.fire("PostExecutionEnd", data).await
    }

    /// Status and reason of the only hook.
    async fn ends(&self) -> (Status, String) {
        only(&self.fire(json!({})).await)
    }

    /// Reports of hooks with this id, of all firings.
    fn reports_of(&self, id: &str) -> Vec<Report> {
        let seen = self.host.seen();
        let reports = seen.into_iter().filter_map(|event| match event.kind {
            RunEventKind::Firing(FiringEvent::HookReported { report }) => Some(report),
            _ => None,
        });
        reports.filter(|report| report.id == id).collect()
    }
}

/// One awaited hook of a type, with more fields.
fn hook(fields: &str) -> String {
    format!("hooks: {{PostExecutionEnd: [{{id: it, await: true, {fields}}}]}}")
}

fn success(reason: &str) -> (Status, String) {
    (Status::Success, reason.to_owned())
}

fn failure(reason: &str) -> (Status, String) {
    (Status::Failed, reason.to_owned())
}

// Conformance: autoagent-038
#[tokio::test]
async fn all_changes_are_added_and_committed() {
    let repository = Repository::new(&hook("type: git-commit, message: 'done: ${ISSUE_TITLE}'"));
    repository.commit("changed");
    repository.commit("gone");
    repository.write("changed", "differently");
    repository.write("deep/er/new file", "new");
    fs::remove_file(repository.host.path().join("gone")).expect("removed");
    let fired = repository.fire(json!({ "issueTitle": "the parser" })).await;
    assert_eq!(only(&fired), success("committed 3 files on `main`: done: the parser"));
    assert_eq!(fired.decision.verdict, proceed());
    assert_eq!(fired.reports[0].exit_code, Some(0));
    assert!(fired.reports[0].stdout.starts_with("[main "), "{}", fired.reports[0].stdout);
    assert_eq!(repository.git(&["log", "-1", "--format=%an %s"]), "Me done: the parser\n");
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
    assert_eq!(repository.committed_files(), "changed\ndeep/er/new file\n");
}

#[tokio::test]
async fn a_clean_tree_has_nothing_to_commit_and_fires_nothing() {
    let repository = Repository::new(
        "hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, pipe_output: true}]
  'git:*': [{id: never, command: exit 2}]",
    );
    for commits in [0, 1] {
        let fired = repository.fire(json!({})).await;
        assert_eq!(only(&fired), success("nothing to commit"));
        assert_eq!(fired.decision.piped_output, "nothing to commit\n");
        assert_eq!(repository.commits(), commits);
        repository.commit(&format!("file {commits}"));
    }
    assert!(repository.reports_of("never").is_empty());
}

#[tokio::test]
async fn no_message_is_more_than_text() {
    let repository = Repository::new(&hook("type: git-commit, message: '${ISSUE_TITLE}'"));
    for (number, message) in [
        "$(touch x) `touch x`; touch x",
        "it's \"quoted\" \\ and 'single'",
        "subject\n\nbody\n\n# not a comment\nend",
        "-m --amend",
        "--",
        "${ERROR} $ERROR {{error}}",
        "# heading",
        "ünïcode ✓",
        "fixup! earlier",
    ]
    .into_iter()
    .enumerate()
    {
        repository.write("file", &number.to_string());
        let fired = repository.fire(json!({ "issue_title": message, "error": "secret" })).await;
        assert_eq!(only(&fired).0, Status::Success, "{message}: {:?}", fired.reports);
        assert_eq!(repository.git(&["log", "-1", "--format=%B"]).trim_end(), message);
        assert_eq!(repository.commits(), number + 1);
    }
    assert_eq!(repository.committed_files(), "file\n");
    assert!(!repository.host.exists("x"));
}

#[tokio::test]
async fn an_invalid_message_is_a_failure_and_nothing_is_staged() {
    for (message, data, cause) in [
        ("\"\\n\\t${ISSUE_TITLE}\\n\"", json!({}), "the commit message is empty"),
        (
            "'x ${ISUE_TITLE}'",
            json!({}),
            "unknown variable `ISUE_TITLE` in the commit message, did you mean `ISSUE_TITLE`?",
        ),
        (
            "'${ISSUE_TITLE}'",
            json!({ "issue_title": "a\0b" }),
            "the commit message contains a NUL byte, which git does not allow",
        ),
    ] {
        // A retry would not help, so there is none.
        let fields = "on_failure: retry, retry_delay: 100, type: git-commit";
        let repository = Repository::new(&hook(&format!("{fields}, message: {message}")));
        repository.write("a", "a");
        assert_eq!(only(&repository.fire(data).await), failure(cause));
        assert_eq!(repository.git(&["status", "--porcelain"]), "?? a\n");
    }
}

#[tokio::test]
async fn without_a_message_the_event_and_the_issue_are_named() {
    let repository = Repository::new(&hook("type: git-commit"));
    repository.write("a", "a");
    repository.fire(json!({ "issue_number": 7, "issue_title": "Fix it" })).await;
    let message = repository.git(&["log", "-1", "--format=%B"]);
    assert_eq!(message.trim_end(), "hookwright: execution:post_end, issue 7: Fix it");
}

#[tokio::test]
async fn hooks_of_a_commit_within_an_execution_read_which_piece_of_work_it_is_for() {
    let repository = Repository::new(
        "hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, message: m}]
  git:pre_commit: [{await: true, command: 'cat > .git/before; echo \"$ISSUE_NUMBER\" > .git/number'}]
  git:post_commit: [{await: true, command: 'cat > .git/after'}]
",
    );
    repository.write("a", "a");
    let work = json!({
        "issue_number": 7, "issue_title": "It's", "issue_file": "issues/7.md", "plan_file": "",
        "task_id": "TAS-3", "task_content": "all of it",
    });
    let mut data = work.clone();
    data["output"] = "what the agent printed".into();
    repository.fire(data).await;
    assert_eq!(repository.host.read(".git/number"), "7\n");
    for file in [".git/before", ".git/after"] {
        let seen: Value = serde_json::from_str(&repository.host.read(file)).expect("JSON");
        for (field, value) in work.as_object().expect("a map") {
            assert_eq!(&seen[field], value, "{field} in {file}");
        }
        assert_eq!(seen["output"], Value::Null, "{file}");
    }
}

// Conformance: autoagent-012
#[tokio::test]
async fn a_pre_commit_hook_sees_the_commit_and_can_block_it() {
    let repository = Repository::new(
        "hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, message: m, on_failure: retry}]
  git:pre_commit:
    - id: guard
      command: |
        printf '%s|%s|%s' \"$COMMIT_MESSAGE\" \"$BRANCH\" \"$FILES_MODIFIED\" > .git/seen
        echo 'not today' >&2; exit 2
",
    );
    repository.write("a", "a");
    repository.write("b c", "b");
    let fired = repository.fire(json!({})).await;
    assert_eq!(only(&fired), failure("git:pre_commit blocked: not today"));
    assert_eq!(repository.host.read(".git/seen"), "m|main|a\nb c");
    assert_eq!(fired.reports[0].attempts, 1);
    assert_eq!(repository.commits(), 0);
    // What was staged stays staged.
    assert_eq!(repository.git(&["status", "--porcelain"]), "A  a\nA  \"b c\"\n");
}

#[tokio::test]
async fn both_events_carry_the_commit_and_the_session() {
    let keep = "id: keep, command: 'cat > .git/$EVENT', await: true, on_failure: continue";
    let repository = Repository::new(&format!(
        "hooks:
  PostExecutionEnd: [{{id: it, await: true, type: git-commit, message: 'm ${{ITERATION}}'}}]
  'git:*': [{{{keep}}}]"
    ));
    repository.write("a", "a");
    repository.write("b c", "b");
    let fired = repository.fire(json!({ "session": "s", "iteration": 3 })).await;
    assert_eq!(only(&fired), success("committed 2 files on `main`: m 3"));
    let id = repository.git(&["rev-parse", "HEAD"]);
    for (event, commit_id) in [("pre", Value::Null), ("post", id.trim_end().into())] {
        let text = repository.host.read(&format!(".git/git:{event}_commit"));
        let seen: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(seen["commit_message"], "m 3");
        assert_eq!(seen["branch"], "main");
        assert_eq!(seen["files_modified"], json!(["a", "b c"]));
        assert_eq!(seen["commit_id"], commit_id);
        assert_eq!((&seen["session"], &seen["iteration"]), (&json!("s"), &json!(3)));
    }
}

#[tokio::test]
async fn messages_of_hooks_of_the_fired_events_reach_the_host() {
    let repository = Repository::new(
        r#"
hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, message: m, pipe_output: true}]
  git:pre_commit:
    - command: echo '{"additionalContext":"c","systemMessage":"m1"}'
    - {command: echo linted, pipe_output: true}
  git:post_commit: [{await: true, command: 'echo "{\"systemMessage\":\"m2\"}"'}]
"#,
    );
    repository.write("a", "a");
    let fired = repository.fire(json!({})).await;
    assert_eq!(fired.decision.additional_context, ["c", "linted\n"]);
    assert_eq!(fired.decision.system_messages, ["m1\nm2"]);
    assert!(fired.decision.piped_output.contains("1 file changed"), "{:?}", fired.decision);
}

#[tokio::test]
async fn a_failure_that_a_hook_after_the_commit_pipes_must_reach_the_agent() {
    for (command, must_reach) in [("echo fine", false), ("echo red; exit 1", true)] {
        let repository = Repository::new(&format!(
            "
hooks:
  PostExecutionEnd: [{{id: it, await: true, type: git-commit, message: m}}]
  git:post_commit: [{{pipe_output: true, command: {command}}}]
"
        ));
        repository.write("a", "a");
        let fired = repository.fire(json!({})).await;
        assert_eq!(fired.decision.must_reach_agent, must_reach, "{:?}", fired.decision);
    }
}

#[tokio::test]
async fn a_pre_commit_hook_that_asks_blocks_and_one_that_fails_blocks() {
    for (command, reason) in [
        (r#"echo "{\"decision\":\"ask\",\"reason\":\"sure?\"}""#, "cannot ask a person: sure?"),
        (
            "exit 1",
            "hook guard failed (exit code 1); make it exit with 0, or set on_failure: continue",
        ),
        (r#"echo "{\"continue\":false,\"stopReason\":\"enough\"}""#, "enough"),
    ] {
        let repository = Repository::new(&format!(
            "hooks:
  PostExecutionEnd: [{{id: it, await: true, type: git-commit, message: m}}]
  git:pre_commit: [{{id: guard, command: '{command}'}}]"
        ));
        repository.write("a", "a");
        assert_eq!(repository.ends().await, failure(&format!("git:pre_commit blocked: {reason}")));
        assert_eq!(repository.commits(), 0);
    }
}

#[tokio::test]
async fn a_post_commit_hook_that_ends_the_session_is_not_hidden_and_the_commit_stays() {
    let repository = Repository::new(
        "hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, message: m, on_failure: retry}]
  git:post_commit: [{id: last, command: exit 1, on_failure: abort}]",
    );
    repository.write("a", "a");
    assert_eq!(
        repository.ends().await,
        failure(
            "committed, but a hook at git:post_commit stopped the work: hook last failed (exit code 1)"
        )
    );
    assert_eq!(repository.commits(), 1);
}

#[tokio::test]
async fn sessions_are_never_committed() {
    for ignored in [true, false] {
        let repository = Repository::new(&hook("type: git-commit, message: m"));
        for folder in ["", "sub/"] {
            repository.write(&format!("{folder}.hookwright/sessions/calm-fox/journal"), "x");
            repository.write(&format!("{folder}.hookwright/loops/x.yaml"), "x");
            if ignored {
                repository.write(&format!("{folder}.hookwright/sessions/.gitignore"), "*\n");
            }
        }
        assert_eq!(repository.ends().await, success("committed 2 files on `main`: m"));
        assert_eq!(
            repository.committed_files(),
            ".hookwright/loops/x.yaml\nsub/.hookwright/loops/x.yaml\n"
        );
        assert_eq!(repository.ends().await, success("nothing to commit"));
        // Nor if they are already staged, alone or with others.
        repository.git(&["add", "--force", ".hookwright/sessions/calm-fox/journal"]);
        assert_eq!(repository.ends().await, success("nothing to commit"));
        repository.git(&["add", "--force", ".hookwright/sessions/calm-fox/journal"]);
        repository.write("a", "a");
        assert_eq!(repository.ends().await, success("committed 1 file on `main`: m"));
        assert!(!repository.committed_files().contains("sessions"));
        assert!(repository.host.exists(".hookwright/sessions/calm-fox/journal"));
    }
}

#[tokio::test]
async fn a_pre_commit_hook_may_stage_more_but_no_sessions() {
    let repository = Repository::new(
        "hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, message: m}]
  git:pre_commit: [{command: 'echo formatted > a; git add --all .'}]",
    );
    repository.write(".hookwright/sessions/calm-fox/journal", "x");
    repository.write("a", "a");
    assert_eq!(repository.ends().await, success("committed 1 file on `main`: m"));
    assert_eq!(repository.git(&["show", "HEAD:a"]), "formatted\n");
    assert_eq!(repository.committed_files(), "a\n");
}

#[tokio::test]
async fn a_detached_head_is_committed_to_and_not_pushed() {
    let repository = Repository::with_remote(
        "hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, message: m}]
  session:end: [{id: push, await: true, type: git-push}]
  git:post_commit: [{await: true, command: 'echo \"[$BRANCH]\" > .git/branch'}]",
    );
    repository.git(&["checkout", "--detach"]);
    repository.write("a", "a");
    assert_eq!(repository.ends().await, success("committed 1 file on a detached HEAD: m"));
    assert_eq!(repository.host.read(".git/branch"), "[]\n");
    let fired = repository.host.fire("session:end", json!({})).await;
    assert_eq!(only(&fired), failure("HEAD is detached, so there is no current branch to push"));
}

#[tokio::test]
async fn each_reason_why_git_cannot_commit_has_its_own_message() {
    let commit = hook("type: git-commit, message: m");
    let repository = Repository::new(&commit);
    repository.configure("[user]\n");
    repository.write("a", "a");
    assert_eq!(
        repository.ends().await,
        failure("git does not know the author: user.name and user.email are not set")
    );
    repository.configure("[user]\nname = Me\nemail = me@example.com\n");
    repository.write("b", "b");
    for name in ["index.lock", "HEAD.lock"] {
        let lock = repository.git_dir().canonicalize().expect("there").join(name);
        fs::write(&lock, "").expect("written");
        let (status, reason) = repository.ends().await;
        assert_eq!(status, Status::Failed);
        assert!(
            reason.starts_with("another git process is running, or has crashed and left `"),
            "{reason}"
        );
        let advice = format!(".git/{name}`: remove that file if no git is running");
        assert!(reason.ends_with(&advice), "{reason}");
        fs::remove_file(&lock).expect("removed");
    }
    repository.git_hook(&repository.git_dir(), "pre-commit", "echo lint: no >&2; exit 3");
    assert_eq!(repository.ends().await, failure("git commit failed: lint: no"));
    repository.git_hook(&repository.git_dir(), "pre-commit", "exit 3");
    let silent = "git commit failed without a message (exit code 1)";
    assert_eq!(repository.ends().await, failure(silent));

    let nowhere = Repository::without_a_repository(&commit, &[]);
    let root = nowhere.host.path().display().to_string();
    assert_eq!(nowhere.ends().await, failure(&format!("`{root}` is not in a git repository")));
    let no_git = Repository::without_a_repository(&commit, &[("PATH", "/nowhere")]);
    assert_eq!(no_git.ends().await, failure("cannot start: `git` not found"));
}

#[tokio::test]
async fn a_conflict_is_not_committed_and_stays_one() {
    let repository = Repository::new(&hook("type: git-commit, message: m"));
    repository.commit("a");
    repository.git(&["checkout", "-b", "other"]);
    repository.write("a", "theirs");
    repository.git(&["commit", "-am", "theirs"]);
    repository.git(&["checkout", "main"]);
    repository.write("a", "ours");
    repository.git(&["commit", "-am", "ours"]);
    assert!(!repository.git_command(&["merge", "other"]).output().expect("ran").status.success());
    let cause = "committing is not possible because you have unmerged files: `a`";
    assert_eq!(repository.ends().await, failure(cause));
    assert_eq!(repository.git(&["status", "--porcelain"]), "UU a\n");
    // Once the conflict is resolved, the commit concludes the merge.
    repository.write("a", "both");
    repository.git(&["add", "a"]);
    assert_eq!(repository.ends().await, success("committed 1 file on `main`: m"));
    assert_eq!(repository.git(&["log", "-1", "--format=%p"]).split_whitespace().count(), 2);
}

#[tokio::test]
async fn another_repository_in_the_environment_is_not_meant() {
    let elsewhere = Repository::new(&hook("type: git-commit"));
    let dir = elsewhere.git_dir().display().to_string();
    let repository = Repository::without_a_repository(
        &hook("type: git-commit, message: m"),
        &[("GIT_DIR", &dir), ("GIT_INDEX_FILE", "/nowhere"), ("GIT_LITERAL_PATHSPECS", "1")],
    );
    repository.git(&["init"]);
    repository.write("a", "a");
    assert_eq!(repository.ends().await, success("committed 1 file on `main`: m"));
    assert_eq!((elsewhere.commits(), repository.commits()), (0, 1));
}

#[tokio::test]
async fn a_git_that_hangs_is_ended_with_its_hooks_and_no_verify_leaves_them_out() {
    // A busy machine needs longer until git runs its hook; only then is there a process to end.
    for timeout in (0..6).map(|doubled| 1 << doubled) {
        let repository = Repository::new(&format!(
            "hooks:
  PostExecutionEnd: [{{id: it, await: true, type: git-commit, message: m, timeout: {timeout}}}]
  session:end: [{{await: true, type: git-commit, message: m, no_verify: true}}]"
        ));
        let script = "echo waiting >&2; echo $$ > pid; exec sleep 1000";
        repository.git_hook(&repository.git_dir(), "pre-commit", script);
        repository.write("a", "a");
        let left = Left::by(&repository.host, "pid");
        let (status, reason) = repository.ends().await;
        assert_eq!(status, Status::TimedOut);
        assert_eq!(repository.commits(), 0);
        if !left.has_run() {
            continue;
        }
        assert_eq!(reason, format!("timed out after {timeout} s: waiting"));
        assert!(!left.is_alive());
        assert!(!repository.git_dir().join("index.lock").exists());
        let fired = repository.host.fire("session:end", json!({})).await;
        assert_eq!(only(&fired), success("committed 2 files on `main`: m"));
        return;
    }
    panic!("git never came so far as to run its hook");
}

#[tokio::test]
async fn hooks_of_pre_commit_count_for_the_timeout_and_end_with_it() {
    for timeout in (0..6).map(|doubled| 1 << doubled) {
        let repository = Repository::new(&format!(
            "hooks:
  PostExecutionEnd: [{{id: it, await: true, type: git-commit, message: m, timeout: {timeout}}}]
  git:pre_commit: [{{command: 'echo $$ > pid; exec sleep 1000', timeout: 1000}}]"
        ));
        repository.write("a", "a");
        let left = Left::by(&repository.host, "pid");
        let (status, reason) = repository.ends().await;
        assert_eq!((status, reason), (Status::TimedOut, format!("timed out after {timeout} s")));
        assert_eq!(repository.commits(), 0);
        if left.has_run() {
            return until("the guard is gone", || !left.is_alive()).await;
        }
    }
    panic!("git never came so far as to fire");
}

#[tokio::test]
async fn an_interrupt_ends_git_and_its_children() {
    let repository = Repository::new(&hook("type: git-commit, message: m"));
    repository.git_hook(&repository.git_dir(), "pre-commit", "echo $$ > pid; exec sleep 1000");
    repository.write("a", "a");
    let left = Left::by(&repository.host, "pid");
    let interrupt = async {
        until("git runs its hook", || left.has_run()).await;
        repository.host.engine.interrupt();
    };
    let (ends, ()) = tokio::join!(repository.ends(), interrupt);
    assert_eq!(ends, failure("interrupted"));
    assert!(!left.is_alive());
    assert_eq!(repository.commits(), 0);
}

#[tokio::test]
async fn a_commit_that_would_wake_itself_again_is_refused_and_the_circle_is_named() {
    let repository = Repository::new(
        "hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, message: m}]
  git:post_commit:
    - {id: change, await: true, command: 'echo >> a'}
    - {id: again, await: true, type: git-commit, message: again}",
    );
    repository.write("a", "a");
    assert_eq!(repository.ends().await, success("committed 1 file on `main`: m"));
    let reports = repository.reports_of("again");
    let reasons: Vec<_> = reports.iter().map(|report| report.reason.as_deref()).collect();
    assert_eq!(
        reasons,
        [
            Some(
                "cannot start: it would wake itself again: git:post_commit (again) → \
                 git:post_commit (again)"
            ),
            Some("committed 1 file on `main`: again"),
        ]
    );
    assert_eq!(repository.commits(), 2);

    let before = Repository::new(
        "hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, message: m}]
  git:pre_commit: [{id: again, type: git-commit, message: m}]",
    );
    before.write("a", "a");
    let (status, reason) = before.ends().await;
    assert_eq!(status, Status::Failed);
    assert!(reason.contains("git:pre_commit (again) → git:pre_commit (again)"), "{reason}");
    assert_eq!(before.commits(), 0);
}

#[tokio::test]
async fn no_slot_is_held_while_hooks_of_pre_commit_run() {
    // All slots for awaited children but one are taken until the guard has run in the last one.
    let repository = Repository::new(&format!(
        "hooks:
  tool:error: [{{await: true, command: '{}'}}]
  PostExecutionEnd: [{{id: it, await: true, type: git-commit, message: m}}]
  git:pre_commit: [{{command: touch .git/go}}]",
        wait_for(".git/go")
    ));
    repository.write("a", "a");
    let others = (1..hookwright_engine::limits::CHILDREN_MAX).map(|_| {
        let engine = repository.host.engine.clone();
        let event = crate::support::event("tool:error", json!({}));
        tokio::spawn(async move { engine.fire(event, Default::default()).await })
    });
    let others: Vec<_> = others.collect();
    let running = || {
        let seen = repository.host.seen();
        seen.iter()
            .filter(|e| matches!(e.kind, RunEventKind::Firing(FiringEvent::HookRunning { .. })))
            .count()
    };
    until("the others run", || running() == others.len()).await;
    assert_eq!(repository.ends().await, success("committed 1 file on `main`: m"));
    for other in others {
        assert_eq!(only(&other.await.expect("no panic")).0, Status::Success);
    }
}

#[tokio::test]
async fn a_commit_that_fails_is_tried_again() {
    let fields = "type: git-commit, message: m, on_failure: retry, retry_delay: 10ms";
    let repository = Repository::new(&hook(fields));
    let script = "[ -e .git/second ] && exit 0; touch .git/second; echo flaky >&2; exit 1";
    repository.git_hook(&repository.git_dir(), "pre-commit", script);
    repository.write("a", "a");
    let fired = repository.fire(json!({})).await;
    assert_eq!(only(&fired), success("committed 1 file on `main`: m"));
    assert_eq!(fired.reports[0].attempts, 2);
}

// Conformance: autoagent-042
#[tokio::test]
async fn a_commit_obeys_its_terms_like_every_action() {
    let guard = Repository::without_a_repository(
        "hooks: {tool:pre_execute: [{id: a, type: git-commit, on_failure: block}]}",
        &[],
    );
    let fired = guard.host.fire("tool:pre_execute", json!({})).await;
    let root = guard.host.path().display();
    let reason = format!("hook a failed (`{root}` is not in a git repository)");
    assert_eq!(fired.decision.verdict, block(&reason));

    let background = Repository::new(
        "hooks: {PostExecutionEnd: [{id: a, type: git-commit, once: true, message: m,
                                     when: \"${SUCCESS} == true\"}]}",
    );
    background.write("a", "a");
    assert_eq!(only(&background.fire(json!({ "success": false })).await).0, Status::Skipped);
    for status in [Status::Started, Status::Skipped] {
        let fired = background.fire(json!({ "success": true })).await;
        assert_eq!(only(&fired).0, status);
        background.host.engine.settle().await;
        assert_eq!(background.commits(), 1);
    }
}

#[tokio::test]
async fn an_engine_that_fires_for_its_actions_still_ends() {
    let repository = Repository::new(
        "hooks:
  PostExecutionEnd: [{id: it, await: true, type: git-commit, message: m}]
  git:post_commit: [{command: 'true'}]",
    );
    repository.write("a", "a");
    let held = Arc::new(());
    let keep = Arc::clone(&held);
    let observer = move |_: &_| drop(Arc::clone(&keep));
    repository.host.engine.observe(Interest::NoOutput, Arc::new(observer));
    repository.fire(json!({})).await;
    repository.host.engine.settle().await;
    drop(repository);
    until("the engine is no longer held", || Arc::strong_count(&held) == 1).await;
}

// Conformance: autoagent-040
#[tokio::test]
async fn the_current_branch_is_pushed_and_its_upstream_set() {
    for branch in ["", ", branch: current", ", branch: main"] {
        let fields = format!("type: git-push, pipe_output: true{branch}");
        let repository = Repository::with_remote(&hook(&fields));
        let fired = repository.fire(json!({})).await;
        assert_eq!(only(&fired), success("nothing to push: `origin` already has all of `main`"));
        assert!(fired.decision.piped_output.contains("Everything up-to-date"), "{fired:?}");
        repository.commit("second");
        // A tag of the same name is not pushed.
        repository.git(&["tag", "main", "HEAD~1"]);
        let fired = repository.fire(json!({})).await;
        assert_eq!(only(&fired), success("pushed `main` to `origin`"));
        assert!(fired.decision.piped_output.contains("main -> main"), "{fired:?}");
        assert_eq!(fired.reports[0].exit_code, Some(0));
        let head = repository.git(&["rev-parse", "HEAD"]);
        let remote = repository.remote();
        assert_eq!(repository.git(&["--git-dir", &remote, "rev-parse", "refs/heads/main"]), head);
        assert_eq!(
            repository.git(&["rev-parse", "--symbolic-full-name", "HEAD@{upstream}"]),
            "refs/remotes/origin/main\n"
        );
    }
}

#[tokio::test]
async fn each_reason_why_git_cannot_push_has_its_own_message() {
    let push = hook("type: git-push");
    let repository = Repository::with_remote(&push);
    let clone = repository.around.path().join("clone").display().to_string();
    repository.git(&["clone", &repository.remote(), &clone]);
    repository.git(&["-C", &clone, "commit", "--allow-empty", "-m", "theirs"]);
    repository.git(&["-C", &clone, "push", "origin", "main"]);
    repository.commit("ours");
    assert_eq!(
        repository.ends().await,
        failure("`origin` rejected `main`: it has commits that are not here (fetch first)")
    );
    repository.git(&["fetch"]);
    assert_eq!(
        repository.ends().await,
        failure("`origin` rejected `main`: it has commits that are not here (non-fast-forward)")
    );
    repository.git(&["reset", "--hard", "origin/main"]);
    repository.commit("ours");
    let remote = PathBuf::from(repository.remote());
    repository.git_hook(&remote, "pre-receive", "echo no >&2; exit 1");
    let declined = "`origin` rejected `main`: pre-receive hook declined";
    assert_eq!(repository.ends().await, failure(declined));
    repository.git(&["remote", "set-url", "origin", "/nowhere/at/all.git"]);
    assert_eq!(
        repository.ends().await,
        failure("remote `origin` is not a git repository: `/nowhere/at/all.git`")
    );
    repository.git(&["remote", "set-url", "origin", "git://127.0.0.1:1/x.git"]);
    let (_, reason) = repository.ends().await;
    assert!(reason.starts_with("`origin` cannot be reached: "), "{reason}");
    repository.git(&["remote", "set-url", "origin", "ssh://git@x.example/x.git"]);
    let ssh = "echo 'git@x.example: Permission denied (publickey).' >&2; exit 255; :";
    repository.git(&["config", "core.sshCommand", ssh]);
    repository.git(&["config", "ssh.variant", "simple"]);
    assert_eq!(
        repository.ends().await,
        failure("no access to `origin`: git@x.example: Permission denied (publickey).")
    );
    repository.git(&["remote", "remove", "origin"]);
    assert_eq!(repository.ends().await, failure("there is no remote `origin`"));
    let unborn = Repository::new(&push);
    unborn.git(&["remote", "add", "origin", "/nowhere"]);
    assert_eq!(unborn.ends().await, failure("there is no branch `main` with a commit to push"));
    let nowhere = Repository::without_a_repository(&push, &[]);
    let root = nowhere.host.path().display().to_string();
    assert_eq!(nowhere.ends().await, failure(&format!("`{root}` is not in a git repository")));
}

#[tokio::test]
async fn no_name_is_taken_for_an_option_or_for_more_than_a_branch() {
    for (fields, cause) in [
        ("remote: --mirror", "`--mirror` is not a valid name for a remote"),
        ("branch: 'main:other'", "`main:other` is not a valid name for a branch"),
        ("branch: ':main'", "`:main` is not a valid name for a branch"),
        ("branch: --delete", "there is no branch `--delete` with a commit to push"),
        ("branch: +main", "there is no branch `+main` with a commit to push"),
        ("branch: none", "there is no branch `none` with a commit to push"),
    ] {
        let repository = Repository::with_remote(&hook(&format!("type: git-push, {fields}")));
        repository.commit("second");
        assert_eq!(repository.ends().await, failure(cause));
        let remote = repository.remote();
        let branches = repository.git(&["--git-dir", &remote, "branch", "--format=%(refname)"]);
        assert_eq!(branches, "refs/heads/main\n");
    }
}

#[tokio::test]
async fn a_push_that_fails_is_tried_again() {
    let fields = "type: git-push, on_failure: retry, retries: 1, retry_delay: 10ms";
    let repository = Repository::with_remote(&hook(fields));
    repository.commit("second");
    let remote = PathBuf::from(repository.remote());
    let script = "[ -e second ] && exit 0; touch second; exit 1";
    repository.git_hook(&remote, "pre-receive", script);
    let fired = repository.fire(json!({})).await;
    assert_eq!(only(&fired), success("pushed `main` to `origin`"));
    assert_eq!(fired.reports[0].attempts, 2);
}

#[tokio::test]
async fn git_never_prompts_for_a_password_or_reads_the_terminal() {
    let repository = Repository::with_remote(&hook("type: git-push"));
    repository.commit("second");
    let script = "for name in GIT_TERMINAL_PROMPT GIT_ASKPASS SSH_ASKPASS LC_ALL; do
        printenv \"$name\"; done > .git/asked; cat >/dev/null";
    repository.git_hook(&repository.git_dir(), "pre-push", script);
    assert_eq!(repository.ends().await.0, Status::Success);
    assert_eq!(repository.host.read(".git/asked"), "0\nfalse\nfalse\nC\n");
}

#[tokio::test]
async fn processes_of_git_carry_the_markers_of_host_and_hook() {
    let variables = [("HOOKWRIGHT_RUN", "outer")];
    let repository = Repository::without_a_repository(&hook("type: git-commit"), &variables);
    repository.git(&["init"]);
    repository.git_hook(&repository.git_dir(), "pre-commit", "echo \"$HOOKWRIGHT_RUN\" > marker");
    repository.write("a", "a");
    repository.fire(json!({})).await;
    let seen = repository.host.seen();
    let run_id = seen.iter().find_map(|event| match &event.kind {
        RunEventKind::Firing(FiringEvent::HookRunning { run_id, .. }) => run_id.rsplit_once('-'),
        _ => None,
    });
    let (hook, _) = run_id.expect("git ran");
    let marker = repository.host.read("marker");
    assert!(marker.starts_with(&format!("outer:{hook}:{hook}-")), "{marker}");
}
