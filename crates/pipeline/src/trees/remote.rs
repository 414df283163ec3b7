//! [`GitRemote`]: sends trees to the remote, fetches and deletes them.
//!
//! A tree is the ref `refs/hookwright/SESSION/ID/TOKEN/NUMBER` ([`TreeRefs`]). The token is that of
//! the session's lease, so a late holder writes refs that no other machine reads. The submitted
//! commit has token and number 0. Pushes run no hooks of the local repository.

use std::path::Path;

use super::TreeError;
use super::git_program::{GitCall, GitEnded, GitProgram};
use super::work_place::digest;
use crate::folder::SessionName;
use crate::limits::{TREE_REFS_DELETED_AT_ONCE, TREE_SEND_TIMEOUT};

/// For every push.
const PUSH: &[&str] = &[
    "push",
    "--no-verify",
    "--porcelain",
    "--no-follow-tags",
    "--no-signed",
    "--no-recurse-submodules",
];

/// The address of a git remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitRemote {
    address: String,
}

/// The refs of one session's trees. Several projects and several stores may use one remote, and have
/// sessions of one name; their ids differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRefs {
    session: SessionName,
    digest: String,
    prefix: String,
}

impl TreeRefs {
    /// Those of the session with this name and id.
    pub fn new(session: SessionName, session_id: &str) -> Self {
        let digest = digest(session_id);
        let prefix = format!("refs/hookwright/{session}/{digest}/");
        Self { session, digest, prefix }
    }

    /// The session's name.
    pub(super) fn session(&self) -> &SessionName {
        &self.session
    }

    /// The digest of its id.
    pub(super) fn digest(&self) -> &str {
        &self.digest
    }

    /// The ref of the submitted commit.
    pub(super) fn submitted(&self) -> String {
        self.tree(0, 0)
    }

    /// The ref of a tree.
    pub(super) fn tree(&self, token: u64, number: u64) -> String {
        format!("{}{token}/{number}", self.prefix)
    }

    /// What all of them begin with.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }
}

/// Why a push had no effect.
pub(super) enum NotPushed {
    /// The ref exists, and its commit is no ancestor of the new one.
    NotForward,
    Because(TreeError),
}

impl GitRemote {
    /// The remote at this address.
    pub fn new(address: impl Into<String>) -> Self {
        Self { address: address.into() }
    }

    /// The address.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a commit to a ref, and deletes others. A missing one is no error.
    pub(super) async fn push(
        &self,
        push: GitCall<'_>,
        commit: &str,
        to: &str,
        delete: &[String],
    ) -> Result<(), NotPushed> {
        let push = push.timeout(TREE_SEND_TIMEOUT).argument("--").argument(&self.address);
        let push = push.argument(format!("{commit}:{to}"));
        let push = delete.iter().fold(push, |push, name| push.argument(format!(":{name}")));
        let ended = push.run().await.map_err(|error| NotPushed::Because(self.slow(error)))?;
        let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
        let mut ours = printed.lines().filter_map(|line| {
            let mut parts = line.splitn(3, '\t');
            let (flag, refs, summary) = (parts.next()?, parts.next()?, parts.next()?);
            (refs.rsplit_once(':')?.1 == to).then(|| (flag.to_owned(), summary.to_owned()))
        });
        match ours.next_back() {
            Some((flag, summary)) if flag == "!" => {
                let is_behind = ["(non-fast-forward)", "(fetch first)", "(stale info)"];
                if is_behind.iter().any(|reason| summary.contains(reason)) {
                    return Err(NotPushed::NotForward);
                }
                let said = refusal(&summary, &ended.stderr);
                let remote = self.address.clone();
                Err(NotPushed::Because(TreeError::Refused { remote, said }))
            }
            Some(_) => Ok(()),
            None if ended.code == 0 => Ok(()),
            None => Err(NotPushed::Because(self.unreachable(&ended))),
        }
    }

    /// Fetches refs into others.
    pub(super) async fn fetch(&self, fetch: GitCall<'_>, refs: &str) -> Result<(), TreeError> {
        let fetch = fetch.timeout(TREE_SEND_TIMEOUT).argument("--").argument(&self.address);
        let ended = fetch.argument(refs).run().await.map_err(|error| self.slow(error))?;
        match ended.code {
            0 => Ok(()),
            _ => Err(self.unreachable(&ended)),
        }
    }

    /// The commit of a ref, if it exists.
    pub(super) async fn tip(
        &self,
        list: GitCall<'_>,
        name: &str,
    ) -> Result<Option<String>, TreeError> {
        let list = list.timeout(TREE_SEND_TIMEOUT).argument("--refs").argument("--");
        let ended = list.argument(&self.address).argument(name).run().await;
        let ended = ended.map_err(|error| self.slow(error))?;
        if ended.code != 0 {
            return Err(self.unreachable(&ended));
        }
        let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
        let mut lines = printed.lines().filter_map(|line| line.split_once('\t'));
        Ok(lines.find(|(_, found)| *found == name).map(|(id, _)| id.to_owned()))
    }

    /// The names of a session's trees.
    async fn names(&self, git: &GitProgram, refs: &TreeRefs) -> Result<Vec<String>, TreeError> {
        let prefix = refs.prefix();
        let call = git.call(Path::new("/"), "list the refs of the git remote", &["ls-remote"]);
        let call = call.timeout(TREE_SEND_TIMEOUT).argument("--refs").argument("--");
        let call = call.argument(&self.address).argument(format!("{prefix}*"));
        let ended = call.run().await.map_err(|error| self.slow(error))?;
        if ended.code != 0 {
            return Err(self.unreachable(&ended));
        }
        let printed = String::from_utf8_lossy(&ended.stdout);
        let names = printed.lines().filter_map(|line| Some(line.split_once('\t')?.1.to_owned()));
        Ok(names.filter(|name| name.starts_with(prefix)).collect())
    }

    pub(super) fn unreachable(&self, ended: &GitEnded) -> TreeError {
        TreeError::Unreachable { remote: self.address.clone(), said: ended.complaint() }
    }

    /// A call of the remote that takes too long may succeed later.
    pub(super) fn slow(&self, error: TreeError) -> TreeError {
        match error {
            TreeError::TookTooLong { after, .. } => TreeError::Unreachable {
                remote: self.address.clone(),
                said: format!("no answer within {} s", after.as_secs()),
            },
            other => other,
        }
    }
}

/// The arguments of a push.
pub(super) fn push_arguments() -> &'static [&'static str] {
    PUSH
}

/// Deletes all trees of a session. Returns how many there were. The session's branch stays: it is
/// the result.
pub async fn delete_trees(
    git: &GitProgram,
    remote: &GitRemote,
    refs: &TreeRefs,
) -> Result<usize, TreeError> {
    let names = remote.names(git, refs).await?;
    if names.is_empty() {
        return Ok(0);
    }
    // A push needs a repository, even to delete.
    let doing = "delete refs of the git remote";
    let scratch = tempfile::tempdir()
        .map_err(|error| TreeError::Failed { doing, said: error.to_string() })?;
    let init = git.call(scratch.path(), doing, &["init", "--quiet", "--bare", "--template=", "."]);
    init.done().await?;
    for names in names.chunks(TREE_REFS_DELETED_AT_ONCE) {
        let call = git.call(scratch.path(), doing, PUSH).variable("GIT_DIR", scratch.path());
        let call = call.timeout(TREE_SEND_TIMEOUT).argument("--").argument(remote.address());
        let call = names.iter().fold(call, |call, name| call.argument(format!(":{name}")));
        let ended = call.run().await.map_err(|error| remote.slow(error))?;
        let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
        if let Some(refused) = printed.lines().find(|line| line.starts_with("!\t")) {
            let summary = refused.rsplit('\t').next().unwrap_or_default();
            let said = refusal(summary, &ended.stderr);
            return Err(TreeError::Refused { remote: remote.address.clone(), said });
        }
        if ended.code != 0 {
            return Err(remote.unreachable(&ended));
        }
    }
    Ok(names.len())
}

/// The reason in git's words, and what the remote has printed.
fn refusal(summary: &str, stderr: &str) -> String {
    let reason = summary.split_once('(').and_then(|(_, reason)| reason.strip_suffix(')'));
    let lines = stderr.lines().filter_map(|line| line.strip_prefix("remote: ")).map(str::trim);
    let told: Vec<&str> = lines.filter(|line| !line.is_empty()).take(5).collect();
    match (reason.unwrap_or(summary), &told[..]) {
        (reason, []) => reason.to_owned(),
        (reason, told) => format!("{reason}: {}", told.join(" ")),
    }
}
