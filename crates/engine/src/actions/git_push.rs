//! The git-push action: pushes one branch and sets its upstream.
//!
//! Git has one exit code for failures that need very different fixes; here each has its own
//! message.

use std::time::Duration;

use hookwright_events::Outcome;

use super::git::{GitRunner, Ran, complaint};
use super::{ActionNews, HookAttempt};
use crate::hook::GitPush;

const REMOTE: &str = "origin";

/// The word for the current branch.
const CURRENT: &str = "current";

/// Messages of git, ssh and curl if access is denied.
const NO_ACCESS: &[&str] = &[
    "Permission denied",
    "Authentication failed",
    "could not read Username",
    "could not read Password",
    "terminal prompts disabled",
    "Host key verification failed",
    "returned error: 401",
    "returned error: 403",
    "Repository not found",
];

/// Messages of git, ssh and curl if the remote is unreachable.
const UNREACHABLE: &[&str] = &[
    "Could not resolve host",
    "Connection refused",
    "Connection timed out",
    "Connection reset",
    "Network is unreachable",
    "No route to host",
    "Failed to connect",
    "Couldn't connect",
    "Could not connect",
    "unable to connect",
    "unable to access",
    "unable to look up",
];

pub(super) async fn run(
    attempt: &HookAttempt,
    action: &GitPush,
    news: &mut dyn ActionNews,
) -> (Outcome, Duration) {
    let mut git = match GitRunner::new(attempt, news) {
        Ok(git) => git,
        Err(outcome) => return (outcome, Duration::ZERO),
    };
    let (Ok(outcome) | Err(outcome)) = push(&mut git, action).await;
    (outcome, git.took)
}

async fn push(git: &mut GitRunner<'_>, action: &GitPush) -> Result<Outcome, Outcome> {
    let remote = action.remote.as_deref().unwrap_or(REMOTE);
    // Git would read it as an option.
    if remote.is_empty() || remote.starts_with('-') {
        return Err(git.refused(format!("`{remote}` is not a valid name for a remote")));
    }
    let branch = match action.branch.as_deref().filter(|branch| *branch != CURRENT) {
        Some(branch) => named(git, branch).await?,
        None => match git.current_branch().await? {
            Some(branch) => branch,
            None => {
                let cause = "HEAD is detached, so there is no current branch to push";
                return Err(git.refused(cause.to_owned()));
            }
        },
    };
    // The full name: it means no tag, forces and deletes nothing, and is no option.
    let reference = format!("refs/heads/{branch}");
    let ran = git.act(&["push", "--set-upstream", "--", remote, &reference], Vec::new()).await?;
    if ran.code != 0 {
        let cause = why_not(&ran, remote, &branch);
        return Err(match cause {
            Some(cause) => git.failed(cause, ran),
            None => git.failure("git push", ran),
        });
    }
    let what = if ran.output.stderr.contains("Everything up-to-date") {
        format!("nothing to push: `{remote}` already has all of `{branch}`")
    } else {
        format!("pushed `{branch}` to `{remote}`")
    };
    Ok(git.done(what, ran.output))
}

/// The configured branch, if it is a valid name: `a:b` would push to another branch.
async fn named(git: &mut GitRunner<'_>, branch: &str) -> Result<String, Outcome> {
    let checked = git.ask(&["check-ref-format", &format!("refs/heads/{branch}")]).await?;
    if checked.code != 0 {
        return Err(git.refused(format!("`{branch}` is not a valid name for a branch")));
    }
    Ok(branch.to_owned())
}

/// The meaning of git's message, if it is known.
fn why_not(ran: &Ran, remote: &str, branch: &str) -> Option<String> {
    let stderr = &ran.output.stderr;
    let line_with = |words: &[&str]| {
        stderr.lines().find(|line| words.iter().any(|word| line.contains(word))).map(plain)
    };
    if let Some(line) = line_with(&["! [rejected]", "! [remote rejected]"]) {
        let why = line.rsplit_once('(').and_then(|(_, why)| why.strip_suffix(')'));
        return Some(match why.unwrap_or(line) {
            why @ ("fetch first" | "non-fast-forward") => {
                format!("`{remote}` rejected `{branch}`: it has commits that are not here ({why})")
            }
            why => format!("`{remote}` rejected `{branch}`: {why}"),
        });
    }
    if line_with(&["does not match any"]).is_some() {
        return Some(format!("there is no branch `{branch}` with a commit to push"));
    }
    // First, since both are followed by "Could not read from remote repository".
    if let Some(line) = line_with(&["does not appear to be a git repository"]) {
        let place = line.split('\'').nth(1).unwrap_or(remote);
        return Some(if place == remote {
            format!("there is no remote `{remote}`")
        } else {
            format!("remote `{remote}` is not a git repository: `{place}`")
        });
    }
    if let Some(line) = line_with(NO_ACCESS) {
        return Some(format!("no access to `{remote}`: {line}"));
    }
    if let Some(line) = line_with(UNREACHABLE) {
        return Some(format!("`{remote}` cannot be reached: {line}"));
    }
    // For example a repository that does not exist.
    let lost = stderr.contains("Could not read from remote repository");
    lost.then(|| format!("`{remote}` cannot be read: {}", complaint(stderr).unwrap_or_default()))
}

/// A line without git's prefix.
fn plain(line: &str) -> &str {
    let line = line.trim();
    line.strip_prefix("fatal: ").or_else(|| line.strip_prefix("error: ")).unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use hookwright_events::Output;

    use super::*;

    fn why(stderr: &str) -> Option<String> {
        let output = Output { stderr: stderr.to_owned(), ..Output::default() };
        why_not(&Ran { code: 128, output }, "origin", "main")
    }

    #[test]
    fn each_obstacle_has_a_message_of_its_own() {
        for (stderr, cause) in [
            (
                "fatal: could not read Username for 'https://x.example': terminal prompts disabled",
                "no access to `origin`: could not read Username for 'https://x.example': terminal \
                 prompts disabled",
            ),
            (
                "git@x.example: Permission denied (publickey).\nfatal: Could not read from remote \
                 repository.\n\nPlease make sure you have the correct access rights\n",
                "no access to `origin`: git@x.example: Permission denied (publickey).",
            ),
            (
                "fatal: unable to access 'https://x.example/': The requested URL returned error: 403",
                "no access to `origin`: unable to access 'https://x.example/': The requested URL \
                 returned error: 403",
            ),
            (
                "fatal: unable to access 'https://x.example/': Could not resolve host: x.example",
                "`origin` cannot be reached: unable to access 'https://x.example/': Could not \
                 resolve host: x.example",
            ),
            (
                "ssh: connect to host x.example port 22: Connection refused\nfatal: Could not read \
                 from remote repository.",
                "`origin` cannot be reached: ssh: connect to host x.example port 22: Connection \
                 refused",
            ),
            (
                " ! [remote rejected] main -> main (pre-receive hook declined)\nerror: failed",
                "`origin` rejected `main`: pre-receive hook declined",
            ),
            (
                "fatal: Could not read from remote repository.",
                "`origin` cannot be read: Could not read from remote repository.",
            ),
        ] {
            assert_eq!(why(stderr).as_deref(), Some(cause));
        }
        assert_eq!(why("fatal: something else"), None);
    }
}
