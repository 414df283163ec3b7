//! [`HeadState`]: the commit and branch of `HEAD`, and the other branches.
//!
//! The commit of a tree has them in its message, as lines `Hookwright-Head`, `Hookwright-Commit` and
//! `Hookwright-Branch`, and as parents, so that they are sent with it. A line `Hookwright-Session`
//! tells the session from others of its name.

use super::remote::TreeRefs;
use super::repository::Repositories;
use super::{TreeError, TreeId};
use crate::limits::TREE_BRANCHES_MAX;

const READING: &str = "read the branches of the work tree";

/// Begins the line with the digest of the session's id.
const SESSION: &str = "Hookwright-Session: ";

/// Where an agent's repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HeadState {
    /// The branch's full name; `None` if `HEAD` is detached.
    pub(super) branch: Option<Vec<u8>>,
    /// The commit; `None` if the branch has no commit yet.
    pub(super) commit: Option<String>,
    /// Other branches: full names and commits.
    pub(super) others: Vec<(Vec<u8>, String)>,
    /// How many more there are.
    pub(super) left_out: usize,
}

impl HeadState {
    /// The state after a fresh checkout.
    pub(super) fn on_branch(branch: &str, commit: &TreeId) -> Self {
        Self {
            branch: Some(branch.as_bytes().to_vec()),
            commit: Some(commit.as_str().to_owned()),
            others: Vec::new(),
            left_out: 0,
        }
    }

    /// Reads the agent's repository.
    pub(super) async fn read(at: &Repositories) -> Result<Self, TreeError> {
        let (symbolic, commit, branches) = tokio::join!(
            at.agents(READING, &["symbolic-ref", "--quiet", "HEAD"]).run(),
            at.agents(READING, &["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]).run(),
            at.agents(
                READING,
                &["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads"]
            )
            .done(),
        );
        let (symbolic, commit, branches) = (symbolic?, commit?, branches?);
        let branch = match symbolic.code {
            0 => Some(symbolic.stdout.trim_ascii_end().to_vec()),
            // Detached.
            1 => None,
            _ => return Err(symbolic.failure()),
        };
        let commit = match commit.code {
            0 => id(&commit.stdout),
            1 => None,
            _ => return Err(commit.failure()),
        };
        if branch.is_none() && commit.is_none() {
            let said = "HEAD is neither a branch nor a commit".to_owned();
            return Err(TreeError::Failed { doing: READING, said });
        }
        let lines = branches.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut others: Vec<(Vec<u8>, String)> = lines
            .filter_map(|line| {
                let at = line.iter().position(|byte| *byte == b' ')?;
                Some((line[at + 1..].to_vec(), id(&line[..at])?))
            })
            .filter(|(name, _)| branch.as_ref() != Some(name))
            .collect();
        let left_out = others.len().saturating_sub(TREE_BRANCHES_MAX);
        others.truncate(TREE_BRANCHES_MAX);
        Ok(Self { branch, commit, others, left_out })
    }

    /// All commits, each once.
    pub(super) fn commits(&self) -> Vec<&str> {
        let mut commits: Vec<&str> = Vec::new();
        let others = self.others.iter().map(|(_, commit)| commit);
        for commit in self.commit.iter().chain(others) {
            if !commits.contains(&commit.as_str()) {
                commits.push(commit);
            }
        }
        commits
    }

    /// The message of a tree's commit.
    pub(super) fn message(&self, refs: &TreeRefs) -> Vec<u8> {
        let mut message = format!(
            "Work tree of the session {}\n\n{SESSION}{}\nHookwright-Head: ",
            refs.session(),
            refs.digest()
        )
        .into_bytes();
        message.extend_from_slice(self.branch.as_deref().unwrap_or(b"detached"));
        let commit = self.commit.as_deref().unwrap_or("none");
        message.extend_from_slice(format!("\nHookwright-Commit: {commit}\n").as_bytes());
        for (name, commit) in &self.others {
            message.extend_from_slice(format!("Hookwright-Branch: {commit} ").as_bytes());
            message.extend_from_slice(name);
            message.push(b'\n');
        }
        message
    }

    /// Reads a tree's commit, as `git cat-file` prints it. `None` if it is another commit.
    pub(super) fn parse(commit: &[u8]) -> Option<Self> {
        let body = commit.windows(2).position(|two| two == b"\n\n")?;
        let (mut head, mut at, mut others) = (None, None, Vec::new());
        for line in commit[body + 2..].split(|byte| *byte == b'\n') {
            if let Some(name) = line.strip_prefix(b"Hookwright-Head: ") {
                head = Some((name != b"detached").then(|| name.to_vec()));
            } else if let Some(commit) = line.strip_prefix(b"Hookwright-Commit: ") {
                at = Some(if commit == b"none" { None } else { Some(id(commit)?) });
            } else if let Some(branch) = line.strip_prefix(b"Hookwright-Branch: ") {
                let space = branch.iter().position(|byte| *byte == b' ')?;
                others.push((branch[space + 1..].to_vec(), id(&branch[..space])?));
            }
        }
        Some(Self { branch: head?, commit: at?, others, left_out: 0 })
    }

    /// Whether a commit, as `git cat-file` prints it, is a tree of the session with these refs.
    pub(super) fn is_of(commit: &[u8], refs: &TreeRefs) -> bool {
        let line = format!("{SESSION}{}", refs.digest());
        let has_line = commit.split(|byte| *byte == b'\n').any(|found| found == line.as_bytes());
        has_line && Self::parse(commit).is_some()
    }

    /// Sets a new repository to this state.
    pub(super) async fn write(&self, at: &Repositories) -> Result<(), TreeError> {
        let doing = "restore the branches of the work tree";
        let mut updates = Vec::new();
        let on_branch = self.branch.iter().zip(&self.commit);
        let others = self.others.iter().map(|(name, commit)| (name, commit));
        for (name, commit) in on_branch.chain(others) {
            updates.extend_from_slice(b"create ");
            updates.extend_from_slice(name);
            updates.extend_from_slice(format!("\0{commit}\0").as_bytes());
        }
        at.agents(doing, &["update-ref", "-z", "--stdin"]).stdin(updates).done().await?;
        let head = match (&self.branch, &self.commit) {
            (Some(branch), _) => {
                use std::os::unix::ffi::OsStringExt;
                let branch = std::ffi::OsString::from_vec(branch.clone());
                at.agents(doing, &["symbolic-ref", "HEAD"]).argument(branch)
            }
            (None, Some(commit)) => at.agents(doing, &["update-ref", "--no-deref", "HEAD", commit]),
            (None, None) => return Ok(()),
        };
        head.done().await?;
        Ok(())
    }
}

/// The id of an object.
pub(super) fn id(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?.trim_end();
    TreeId::parse(text).map(|id| id.as_str().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_a_commit_holds_the_state() {
        let [one, two] = ["1", "2"].map(|digit| digit.repeat(40));
        let refs = |id| TreeRefs::new("calm-fox".parse().expect("a name"), id);
        for (branch, commit, others) in [
            (Some(b"refs/heads/main".to_vec()), Some(one.clone()), vec![]),
            (None, Some(one.clone()), vec![(b"refs/heads/\xff".to_vec(), two.clone())]),
            (Some(b"refs/heads/none".to_vec()), None, vec![]),
        ] {
            let state = HeadState { branch, commit, others, left_out: 0 };
            let mut printed = b"tree x\nauthor y\n\n".to_vec();
            printed.extend(state.message(&refs("1")));
            assert!(HeadState::is_of(&printed, &refs("1")));
            assert!(!HeadState::is_of(&printed, &refs("2")), "another session of this name");
            assert_eq!(HeadState::parse(&printed), Some(state));
        }
        assert_eq!(HeadState::parse(b"tree x\n\nFix a bug\n"), None);
    }
}
