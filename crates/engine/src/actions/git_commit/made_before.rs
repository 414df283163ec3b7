//! Finds the commit of an interrupted attempt after a crash.
//!
//! Before it commits, the hook journals the commit of HEAD and the staged tree. Its commit is the
//! first one after that HEAD, with this content or this message: git's hooks may change one of
//! them.

use hookwright_events::{EventName, Outcome};
use serde_json::Value;

use super::super::git::GitRunner;
use super::MadeCommit;
use crate::past::Committing;

/// The current state of the repository.
pub(super) async fn now(git: &mut GitRunner<'_>) -> Result<Committing, Outcome> {
    let head = git.ask(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]).await?;
    let head = (head.code == 0).then(|| head.output.stdout.trim().to_owned());
    let tree = git.ask(&["write-tree"]).await?;
    if tree.code != 0 {
        return Err(git.failure("git write-tree", tree));
    }
    Ok(Committing { head, tree: tree.output.stdout.trim().to_owned() })
}

/// The commit that this hook made before it was interrupted, if it did.
pub(super) async fn find(
    git: &mut GitRunner<'_>,
    message: &str,
) -> Result<Option<MadeCommit>, Outcome> {
    if let Some(made) = recorded_commit(git, message) {
        return Ok(Some(made));
    }
    let Some(before) = git.attempt.cut_off.as_ref().and_then(|past| past.committing.clone()) else {
        return Ok(None);
    };
    let Some(id) = first_behind(git, before.head.as_deref()).await? else { return Ok(None) };
    let found = git.ask(&["log", "-1", "--format=%T%n%B", &id]).await?;
    let (tree, said) = found.output.stdout.split_once('\n').unwrap_or_default();
    if found.code != 0 || (tree != before.tree && said.trim() != message) {
        return Ok(None);
    }
    let changed = git
        .ask(&[
            "diff-tree",
            "--root",
            "--no-commit-id",
            "--name-only",
            "-r",
            "-z",
            "--no-renames",
            &id,
        ])
        .await?;
    if changed.code != 0 {
        return Err(git.failure("git diff-tree", changed));
    }
    let files = super::files_of(&changed.output);
    let branch = git.current_branch().await?;
    Ok(Some(MadeCommit { id, message: message.to_owned(), branch, files }))
}

/// The commit that a `git:post_commit` was already fired for.
fn recorded_commit(git: &GitRunner<'_>, message: &str) -> Option<MadeCommit> {
    let data = git.told_before(&EventName::GIT_POST_COMMIT)?.data()?;
    let text = |field: &str| data.get(field).and_then(Value::as_str).map(str::to_owned);
    let files = data.get("files_modified").and_then(Value::as_array);
    let files = files.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    Some(MadeCommit {
        id: text("commit_id")?,
        message: text("commit_message").unwrap_or_else(|| message.to_owned()),
        branch: text("branch"),
        files: files.collect(),
    })
}

/// The first commit after this one, on the way to HEAD.
async fn first_behind(
    git: &mut GitRunner<'_>,
    head: Option<&str>,
) -> Result<Option<String>, Outcome> {
    let range = head.map_or_else(|| "HEAD".to_owned(), |head| format!("{head}..HEAD"));
    let listed = git.ask(&["rev-list", "--first-parent", "--parents", &range, "--"]).await?;
    // Without a commit there is no HEAD, and a commit that no longer exists has no successors.
    if listed.code != 0 {
        return Ok(None);
    }
    let oldest = listed.output.stdout.lines().last().unwrap_or_default();
    let mut ids = oldest.split(' ');
    let (id, parent) = (ids.next().unwrap_or_default(), ids.next());
    Ok((parent == head && !id.is_empty()).then(|| id.to_owned()))
}
