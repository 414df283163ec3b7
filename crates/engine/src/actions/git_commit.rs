//! The git-commit action: adds all changes below the project root and commits what is staged.
//!
//! `.hookwright/sessions` is never committed, with or without its ignore file. Between adding and
//! committing, `git:pre_commit` is fired. Its hooks can block; staged changes then stay staged.
//! After the commit `git:post_commit` is fired.
//!
//! If the firing is journalled, the commit is announced before it is made. An attempt that was
//! interrupted after its commit is recognised by that, and then only `git:post_commit` is left to
//! do (`made_before.rs`).

mod made_before;
mod message;

use std::time::Duration;

use hookwright_events::{EventName, Outcome, Output, Verdict};
use serde_json::{Map, Value, json};

use super::git::{GitRunner, Ran};
use super::{ActionNews, HookAttempt};
use crate::hook::GitCommit;

/// Sessions, anywhere in the repository.
const SESSIONS: &str = ":(top,glob)**/.hookwright/sessions/**";
const NO_SESSIONS: &str = ":(top,exclude,glob)**/.hookwright/sessions/**";

pub(super) async fn run(
    attempt: &HookAttempt,
    action: &GitCommit,
    news: &mut dyn ActionNews,
) -> (Outcome, Duration) {
    let mut git = match GitRunner::new(attempt, news) {
        Ok(git) => git,
        Err(outcome) => return (outcome, Duration::ZERO),
    };
    let (Ok(outcome) | Err(outcome)) = commit(&mut git, action).await;
    (outcome, git.took)
}

async fn commit(git: &mut GitRunner<'_>, action: &GitCommit) -> Result<Outcome, Outcome> {
    let written = action.message.as_ref();
    let message = message::for_commit(written, git.attempt).map_err(|fault| git.refused(fault))?;
    let branch = git.current_branch().await?;
    if let Some(made) = made_before::find(git, &message).await? {
        return tell(git, made, Output::default()).await;
    }
    refuse_unmerged(git).await?;
    let added = git.act(&["add", "--all", "--", ".", NO_SESSIONS], Vec::new()).await?;
    if added.code != 0 {
        return Err(git.failure("git add", added));
    }
    let files = staged(git).await?;
    if files.is_empty() {
        return Ok(nothing(git));
    }
    let announced = announcement(&message, branch.as_deref(), &files);
    let decision = git.ask_hooks(EventName::GIT_PRE_COMMIT, announced).await?;
    if let Some(reason) = refusal(decision.verdict) {
        return Err(git.refused(format!("git:pre_commit blocked: {reason}")));
    }
    // Those hooks may have staged more, or less.
    let files = staged(git).await?;
    if files.is_empty() {
        return Ok(nothing(git));
    }
    if git.attempt.place.is_kept {
        let committing = made_before::now(git).await?;
        git.announce_commit(committing).await?;
    }
    // On standard input, since arguments are limited in length. Cleaning up only white space keeps
    // lines that begin with `#`.
    let mut arguments = vec!["commit", "--cleanup=whitespace", "--file=-"];
    arguments.extend(action.no_verify.then_some("--no-verify"));
    let committed = git.act(&arguments, message.clone().into_bytes()).await?;
    if committed.code != 0 {
        return Err(not_committed(git, committed));
    }
    let id = id_of_head(git).await?;
    tell(git, MadeCommit { id, message, branch, files }, committed.output).await
}

/// A commit that this hook has made.
struct MadeCommit {
    id: String,
    message: String,
    branch: Option<String>,
    files: Vec<String>,
}

/// Fires `git:post_commit` for the commit.
async fn tell(
    git: &mut GitRunner<'_>,
    made: MadeCommit,
    output: Output,
) -> Result<Outcome, Outcome> {
    let MadeCommit { id, message, branch, files } = made;
    let mut told = announcement(&message, branch.as_deref(), &files);
    told.insert("commit_id".to_owned(), id.into());
    let decision = git.tell_hooks(EventName::GIT_POST_COMMIT, told).await?;
    if let Some(reason) = refusal(decision.verdict) {
        return Err(git.refused(format!(
            "committed, but a hook at git:post_commit stopped the work: {reason}"
        )));
    }
    let files = match files.len() {
        1 => "1 file".to_owned(),
        number => format!("{number} files"),
    };
    let place = branch.map_or_else(|| "a detached HEAD".to_owned(), |branch| format!("`{branch}`"));
    let subject = message.lines().next().unwrap_or_default();
    Ok(git.done(format!("committed {files} on {place}: {subject}"), output))
}

/// Refuses to commit during a merge conflict: adding everything would mark conflicts as resolved,
/// with their markers in the files.
async fn refuse_unmerged(git: &mut GitRunner<'_>) -> Result<(), Outcome> {
    let listed = git.ask(&["ls-files", "--unmerged", "-z", "--", ":/"]).await?;
    if listed.code != 0 {
        return Err(git.failure("git ls-files", listed));
    }
    let paths = listed.output.stdout.split('\0').filter_map(|entry| entry.split_once('\t'));
    let mut paths: Vec<String> = paths.map(|(_, path)| format!("`{path}`")).collect();
    paths.dedup();
    if paths.is_empty() {
        return Ok(());
    }
    let cause = "committing is not possible because you have unmerged files";
    Err(git.failed(format!("{cause}: {}", paths.join(", ")), listed))
}

/// The files that a commit would change, without sessions.
async fn staged(git: &mut GitRunner<'_>) -> Result<Vec<String>, Outcome> {
    let listed = list_staged(git).await?;
    let has_sessions = |file: &&str| format!("/{file}").contains("/.hookwright/sessions/");
    let is_whole = listed.stdout_left_out == 0;
    if is_whole && listed.stdout.split('\0').find(has_sessions).is_none() {
        return Ok(files_of(&listed));
    }
    let taken_out = git.ask(&["reset", "--quiet", "--", SESSIONS]).await?;
    if taken_out.code != 0 {
        return Err(git.failure("git reset", taken_out));
    }
    Ok(files_of(&list_staged(git).await?))
}

async fn list_staged(git: &mut GitRunner<'_>) -> Result<Output, Outcome> {
    let arguments = [
        "diff",
        "--cached",
        "--name-only",
        "-z",
        "--no-renames",
        "--no-relative",
        "--ignore-submodules=none",
    ];
    let listed = git.ask(&arguments).await?;
    if listed.code != 0 {
        return Err(git.failure("git diff", listed));
    }
    Ok(listed.output)
}

fn files_of(listed: &Output) -> Vec<String> {
    let files = listed.stdout.split('\0').filter(|file| !file.is_empty());
    // If the list was too long to keep, one entry is cut in two.
    let is_cut = |file: &&str| listed.stdout_left_out > 0 && file.contains("bytes left out …]");
    files.filter(|file| !is_cut(file)).map(str::to_owned).collect()
}

fn nothing(git: &GitRunner<'_>) -> Outcome {
    let output = Output { stdout: "nothing to commit\n".to_owned(), ..Output::default() };
    git.done("nothing to commit".to_owned(), output)
}

/// The data of both events.
fn announcement(message: &str, branch: Option<&str>, files: &[String]) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert("commit_message".to_owned(), message.into());
    data.insert("files_modified".to_owned(), json!(files));
    if let Some(branch) = branch {
        data.insert("branch".to_owned(), branch.into());
    }
    data
}

/// Why the commit must not happen.
fn refusal(verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::Proceed { .. } | Verdict::Allow { .. } => None,
        Verdict::Ask { reason, .. } => {
            let reason = reason.unwrap_or_else(|| "a hook asks for a person's decision".to_owned());
            Some(format!("cannot ask a person: {reason}"))
        }
        Verdict::Block { reason } | Verdict::Stop { reason } | Verdict::Abort { reason } => {
            Some(reason)
        }
    }
}

fn not_committed(git: &GitRunner<'_>, ran: Ran) -> Outcome {
    let stderr = &ran.output.stderr;
    let no_author = ["tell me who you are", "empty ident name", "auto-detection is disabled"];
    if no_author.iter().any(|words| stderr.contains(words)) {
        let cause = "git does not know the author: user.name and user.email are not set";
        return git.failed(cause.to_owned(), ran);
    }
    git.failure("git commit", ran)
}

async fn id_of_head(git: &mut GitRunner<'_>) -> Result<String, Outcome> {
    let found = git.ask(&["rev-parse", "--verify", "HEAD"]).await?;
    if found.code != 0 {
        return Err(git.failure("git rev-parse", found));
    }
    Ok(found.output.stdout.trim().to_owned())
}
