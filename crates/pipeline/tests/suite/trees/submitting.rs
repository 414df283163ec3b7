//! Whether a project can be submitted, and why not.

use std::fs;

use hookwright_engine::Secrets;
use hookwright_pipeline::trees::{Carriable, CarryError, TreeError};

use super::{Project, of_session, refs, write};

async fn refusal(project: &Project) -> CarryError {
    Carriable::find(&project.program(), &project.checkout()).await.expect_err("refused")
}

#[tokio::test]
async fn what_is_committed_is_submitted_and_changes_are_counted() {
    let project = Project::with(&[("a", "1"), ("b", "2")]);
    write(&project.checkout().join("a"), "changed");
    write(&project.checkout().join("new"), "untracked");
    let found = project.find().await;
    assert_eq!((found.uncommitted, found.remote_name.as_str()), (2, "origin"));
    assert_eq!(found.work.remote, project.path("remote.git").to_string_lossy());
    // Looking sends nothing.
    assert_eq!(project.refs("refs"), Vec::<String>::new());
    let text = serde_json::to_string(&found.work).expect("plain data");
    assert_eq!(
        serde_json::from_str::<hookwright_pipeline::trees::CarriedWork>(&text).expect("the same"),
        found.work
    );
    project.submit().await;
    // Once more is no error.
    project.submit().await;
    assert_eq!(project.refs("refs"), [of_session("0/0")]);
}

#[tokio::test]
async fn a_project_below_the_top_of_its_repository_is_known_by_its_folder() {
    let project = Project::with(&[("services/shop/a", "1")]);
    let root = project.checkout().join("services/shop");
    let found = Carriable::find(&project.program(), &root).await.expect("it can be carried");
    assert_eq!(found.work.prefix, std::path::Path::new("services/shop"));
}

#[tokio::test]
async fn a_detached_head_is_submitted_too() {
    let project = Project::with(&[("a", "1")]);
    project.git(&project.checkout(), &["switch", "--quiet", "--detach"]);
    project.find().await;
}

#[tokio::test]
async fn each_reason_is_told() {
    let project = Project::with(&[("a", "1"), (".gitignore", "out/\n")]);
    let (git, checkout) = (project.program(), project.checkout());
    let outside = project.path("home");
    let error = Carriable::find(&git, &outside).await.expect_err("no repository");
    assert!(matches!(error, CarryError::NotARepository { .. }), "{error}");
    fs::create_dir(checkout.join("out")).expect("made");
    let error = Carriable::find(&git, &checkout.join("out")).await.expect_err("ignored");
    assert!(matches!(error, CarryError::Ignored { .. }), "{error}");

    project.git(&checkout, &["remote", "set-url", "origin", "https://a:hunter22@localhost/x.git"]);
    let error = refusal(&project).await;
    assert!(matches!(error, CarryError::PasswordInAddress { .. }), "{error}");
    assert!(!error.to_string().contains("hunter22"));
    project.git(&checkout, &["remote", "set-url", "origin", "../remote.git"]);
    let error = refusal(&project).await;
    assert!(matches!(error, CarryError::RelativeAddress { .. }), "{error}");
    project.git(&checkout, &["remote", "set-url", "origin", "/nowhere/x.git"]);
    let error = refusal(&project).await;
    assert!(matches!(error, CarryError::Tree(TreeError::Unreachable { .. })), "{error}");
    project.git(&checkout, &["remote", "remove", "origin"]);
    let error = refusal(&project).await;
    assert!(matches!(error, CarryError::NoRemote { .. }), "{error}");
    for name in ["one", "two"] {
        project.git(&checkout, &["remote", "add", name, "/nowhere"]);
    }
    let error = refusal(&project).await;
    assert!(matches!(&error, CarryError::SeveralRemotes { names } if names.len() == 2), "{error}");

    let empty = project.path("empty");
    project.git(project.dir.path(), &["init", "--quiet", "empty"]);
    let error = Carriable::find(&git, &empty).await.expect_err("no commit");
    assert!(matches!(error, CarryError::NoCommit { .. }), "{error}");
    let shallow = project.path("shallow");
    let from = format!("file://{}", checkout.display());
    project.git(&checkout, &["commit", "--quiet", "--allow-empty", "-m", "second"]);
    project.git(project.dir.path(), &["clone", "--quiet", "--depth", "1", &from, "shallow"]);
    let error = Carriable::find(&git, &shallow).await.expect_err("shallow");
    assert!(matches!(error, CarryError::Shallow { .. }), "{error}");
}

#[tokio::test]
async fn a_commit_with_a_secret_is_not_submitted() {
    let mut project = Project::with(&[("a", "key: hunter22-hunter22")]);
    project.secrets = Secrets::new(vec![("API_KEY".into(), "hunter22-hunter22".into())]);
    let found = project.find().await;
    let (git, root) = (project.program(), project.checkout());
    let error = found.submit(&git, &root, &refs(), &project.secrets).await.expect_err("refused");
    let CarryError::Tree(TreeError::HoldsSecret { object, .. }) = &error else { panic!("{error}") };
    assert_eq!(object, "`a`");
    assert_eq!(project.refs("refs"), Vec::<String>::new());
}
