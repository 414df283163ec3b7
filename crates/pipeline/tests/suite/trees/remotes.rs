//! Remotes that refuse, disappear or prompt, secrets, and what stays on a remote.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use hookwright_engine::Secrets;
use hookwright_pipeline::limits::TREE_REFS_KEPT;
use hookwright_pipeline::trees::{
    GitRemote, GitTrees, TreeError, TreeId, TreeRefs, Trees, WorkPlace, delete_trees,
};

use super::{Machine, Project, of_session, refs, write};

async fn started<'a>(project: &'a Project) -> Machine<'a> {
    let work = project.submit().await;
    let machine = project.machine("one", &work, 7);
    machine.trees.prepare(None).await.expect("prepared");
    machine
}

#[tokio::test]
async fn a_remote_that_refuses_is_told_with_its_reason_and_nothing_counts_as_kept() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    let hook = project.path("remote.git/hooks/pre-receive");
    write(&hook, "#!/bin/sh\necho 'no pushes on Fridays' >&2\nexit 1\n");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("set");
    one.write("a", "2");
    let error = one.refusal().await;
    let TreeError::Refused { said, .. } = &error else { panic!("{error}") };
    assert_eq!(said, "pre-receive hook declined: no pushes on Fridays");
    assert!(!error.may_pass());
    fs::remove_file(hook).expect("removed");
    one.keep().await;
    assert_eq!(project.refs(&of_session("7")), [of_session("7/1")]);
}

#[tokio::test]
async fn a_remote_that_disappears_may_come_back() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    fs::rename(project.path("remote.git"), project.path("away.git")).expect("moved");
    one.write("a", "2");
    let error = one.refusal().await;
    assert!(matches!(&error, TreeError::Unreachable { .. }) && error.may_pass(), "{error}");
    fs::rename(project.path("away.git"), project.path("remote.git")).expect("moved");
    let tree = one.keep().await;
    let work = project.find().await.work;
    let two = project.machine("two", &work, 8);
    two.trees.prepare(Some(&tree)).await.expect("restored");
    assert_eq!(fs::read_to_string(two.tree().join("a")).expect("there"), "2");
}

#[tokio::test]
async fn a_remote_that_wants_a_password_is_an_error_and_no_prompt() {
    let project = Project::with(&[("a", "1")]);
    let mut work = project.submit().await;
    // An HTTP server that asks for a password.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(
                b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                  Content-Length: 0\r\nConnection: close\r\n\r\n",
            );
        }
    });
    work.remote = format!("http://127.0.0.1:{port}/shop.git");
    let machine = project.machine("one", &work, 7);
    let began = Instant::now();
    let error = machine.trees.prepare(None).await.expect_err("it has no password");
    assert!(began.elapsed() < Duration::from_secs(60));
    let said = error.to_string();
    assert!(said.contains("unable to read askpass response"), "{said}");
}

#[tokio::test]
async fn a_tree_with_a_secret_is_not_sent() {
    let mut project = Project::with(&[("a", "1")]);
    project.secrets = Secrets::new(vec![("API_KEY".into(), "hunter22-hunter22".into())]);
    let one = started(&project).await;
    one.write("sub/notes.txt", &format!("{}key=hunter22-hunter22\n", "x".repeat(200_000)));
    let expected = TreeError::HoldsSecret {
        object: "`sub/notes.txt`".into(),
        secret: "[secret API_KEY]".into(),
    };
    assert_eq!(one.refusal().await, expected);
    // It stays refused when the file was committed and deleted again: the commit would be sent.
    one.git(&["add", "-A"]);
    one.git(&["commit", "--quiet", "-m", "notes"]);
    one.git(&["rm", "--quiet", "sub/notes.txt"]);
    one.git(&["commit", "--quiet", "-m", "no notes"]);
    assert_eq!(one.refusal().await, expected);
    one.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    one.git(&["commit", "--quiet", "--allow-empty", "-m", "hunter22-hunter22"]);
    let error = one.refusal().await;
    assert!(
        matches!(&error, TreeError::HoldsSecret { object, .. } if object.starts_with("the commit ")),
        "{error}"
    );
    one.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    one.write("fine", "hunter2 is no secret");
    one.keep().await;
    assert_eq!(project.refs(&of_session("7")).len(), 1);
    let remote = project.path("remote.git");
    let objects = project.git(&remote, &["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!objects.contains("hunter22-hunter22"));
}

#[tokio::test]
async fn a_late_holder_does_not_touch_what_the_next_one_reads() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    one.write("a", "2");
    let tree = one.keep().await;
    let work = project.find().await.work;
    let two = project.machine("two", &work, 8);
    two.trees.prepare(Some(&tree)).await.expect("restored");
    one.write("a", "late");
    let late = one.keep().await;
    two.write("a", "next");
    let next = two.keep().await;
    assert_ne!(late, next);
    let refs = ["0/0", "7/1", "7/2", "8/1"].map(of_session);
    assert_eq!(project.refs("refs/hookwright"), refs);
}

#[tokio::test]
async fn old_trees_are_deleted_and_pruning_deletes_all_but_the_branch() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    for round in 0..TREE_REFS_KEPT + 3 {
        one.write("a", &format!("round {round}"));
        one.keep().await;
    }
    let kept = project.refs(&of_session("7"));
    assert_eq!(kept.len(), TREE_REFS_KEPT);
    assert!(kept.contains(&of_session(&format!("7/{}", TREE_REFS_KEPT + 3))));
    assert_eq!(one.trees.publish().await.expect("published"), "hookwright/calm-fox");
    // Of a session with a similar name, and of one of this name in another project.
    let others = ["refs/hookwright/calm-fox/0123456789abcdef/1/1", "refs/hookwright/calm-fox2/1/1"];
    for other in others {
        let update = ["update-ref", other, "refs/heads/hookwright/calm-fox"];
        project.git(&project.path("remote.git"), &update);
    }
    let remote = GitRemote::new(project.path("remote.git").to_string_lossy());
    let git = project.program();
    let deleted = delete_trees(&git, &remote, &refs()).await.expect("deleted");
    assert_eq!(deleted, TREE_REFS_KEPT + 1);
    assert_eq!(delete_trees(&git, &remote, &refs()).await.expect("nothing left"), 0);
    assert_eq!(project.refs("refs/hookwright"), others);
    assert_eq!(project.refs("refs/heads"), ["refs/heads/hookwright/calm-fox"]);
}

#[tokio::test]
async fn the_branch_is_the_agents_commit_or_a_commit_of_what_it_left_uncommitted() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    let remote = project.path("remote.git");
    let branch = || project.git(&remote, &["rev-parse", "refs/heads/hookwright/calm-fox"]);
    one.write("a", "2");
    one.git(&["commit", "--quiet", "-a", "-m", "second"]);
    one.trees.publish().await.expect("published");
    assert_eq!(branch(), one.git(&["rev-parse", "HEAD"]));
    one.write("a", "3");
    one.trees.publish().await.expect("published");
    assert_eq!(project.git(&remote, &["show", "hookwright/calm-fox:a"]), "3");
    assert_eq!(
        project.git(&remote, &["rev-parse", "hookwright/calm-fox~1"]),
        one.git(&["rev-parse", "HEAD"])
    );
    // The session was resumed: the agent has committed, and its own leftover is replaced.
    one.git(&["commit", "--quiet", "-a", "-m", "third"]);
    assert_eq!(one.trees.publish().await.expect("published"), "hookwright/calm-fox");
    assert_eq!(branch(), one.git(&["rev-parse", "HEAD"]));
    // A person has worked on it since: that is not overwritten.
    let checkout = project.checkout();
    project.git(&checkout, &["fetch", "--quiet", "origin"]);
    project.git(&checkout, &["switch", "--quiet", "-c", "mine", "origin/hookwright/calm-fox"]);
    write(&checkout.join("mine"), "mine");
    project.git(&checkout, &["add", "mine"]);
    project.git(&checkout, &["commit", "--quiet", "-m", "mine"]);
    project.git(&checkout, &["push", "--quiet", "origin", "HEAD:hookwright/calm-fox"]);
    one.write("a", "4");
    assert_eq!(one.trees.publish().await.expect("published"), "hookwright/calm-fox-7");
    assert_eq!(branch(), project.git(&checkout, &["rev-parse", "mine"]));
}

#[tokio::test]
async fn a_submitted_commit_that_the_remote_lost_is_named() {
    let project = Project::with(&[("a", "1")]);
    let work = project.submit().await;
    let remote = project.path("remote.git");
    for name in project.git(&remote, &["for-each-ref", "--format=%(refname)"]).lines() {
        project.git(&remote, &["update-ref", "-d", name]);
    }
    project.git(&remote, &["gc", "--quiet", "--prune=now"]);
    let error = project.machine("one", &work, 7).trees.prepare(None).await.expect_err("not there");
    let expected = TreeError::MissingCommit { remote: work.remote, commit: work.commit };
    assert_eq!(error, expected);
}

#[tokio::test]
async fn a_tree_that_the_remote_lost_is_named() {
    let project = Project::with(&[("a", "1")]);
    let work = project.submit().await;
    let machine = project.machine("one", &work, 7);
    let tree = TreeId::parse(&"0123456789".repeat(4)).expect("an id");
    let error = machine.trees.prepare(Some(&tree)).await.expect_err("not there");
    assert!(
        matches!(&error, TreeError::Missing { tree: missing, .. } if *missing == tree),
        "{error}"
    );
}

#[tokio::test]
async fn a_killed_call_leaves_nothing_in_the_way() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    write(&one.place.index.with_extension("lock"), "left");
    write(&one.place.index, "broken");
    one.write("a", "2");
    let tree = one.keep().await;
    assert_eq!(project.git(&project.path("remote.git"), &["show", &format!("{tree}:a")]), "2");
}

#[tokio::test]
async fn the_result_of_another_session_of_the_same_name_is_not_overwritten() {
    let project = Project::with(&[("a", "1")]);
    let first = started(&project).await;
    first.write("a", "of the first");
    assert_eq!(first.trees.publish().await.expect("published"), "hookwright/calm-fox");
    let other = TreeRefs::new("calm-fox".parse().expect("a name"), "another id");
    let (found, git, secrets) = (project.find().await, project.program(), Secrets::default());
    found.submit(&git, &project.checkout(), &other, &secrets).await.expect("sent");
    // On the machine of the first, whose store has its trees.
    let place = WorkPlace { store: first.place.store.clone(), ..project.place("two") };
    let trees = GitTrees::new(git, &found.work, other, 9, &place, secrets);
    let second = Machine { project: &project, place, trees };
    second.trees.prepare(None).await.expect("prepared");
    second.write("a", "of the second");
    assert_eq!(second.trees.publish().await.expect("published"), "hookwright/calm-fox-9");
    let remote = project.path("remote.git");
    assert_eq!(project.git(&remote, &["show", "hookwright/calm-fox:a"]), "of the first");
    assert_eq!(project.git(&remote, &["show", "hookwright/calm-fox-9:a"]), "of the second");
    // Its own it may replace.
    second.write("a", "more of the second");
    second.keep().await;
}
