//! [`CarriedWork`]: the commit that a submitted session starts from, and whether workers can get it.
//!
//! Only what is committed is submitted. The calls use the user's own repository and its settings for
//! the remote (address, SSH command, credentials); they run no hooks and prompt for nothing.

use std::path::{Path, PathBuf};

use hookwright_engine::Secrets;
use serde::{Deserialize, Serialize};

use super::git_program::{GitCall, GitProgram};
use super::remote::{GitRemote, NotPushed, TreeRefs, push_arguments};
use super::{TreeError, TreeId, secrets_in_objects};

const LOOKING: &str = "read the repository";

/// What access tokens of known servers begin with.
const TOKEN_PREFIXES: &[&str] =
    &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "ATATT", "ATBB"];

/// Letters and digits that are no name of a person any more.
const TOKEN_CHARS_MIN: usize = 32;

/// What a worker needs to make the work tree of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarriedWork {
    /// The remote's address.
    pub remote: String,
    /// The submitted commit.
    pub commit: TreeId,
    /// The project root inside the repository; empty if it is the top.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub prefix: PathBuf,
}

/// A project that can be carried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carriable {
    /// What to submit.
    pub work: CarriedWork,
    /// The remote's name in the repository.
    pub remote_name: String,
    /// The number of files with uncommitted changes. They are not submitted.
    pub uncommitted: usize,
}

/// Why a project cannot be carried to a worker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CarryError {
    /// It is not in git.
    #[error("`{}` is not in a git repository", root.display())]
    NotARepository {
        /// The project root.
        root: PathBuf,
    },
    /// Git ignores the project root.
    #[error("git ignores the project root `{}`", root.display())]
    Ignored {
        /// The project root.
        root: PathBuf,
    },
    /// Nothing is committed.
    #[error("the git repository of `{}` has no commit", root.display())]
    NoCommit {
        /// The project root.
        root: PathBuf,
    },
    /// There is no remote to send it to.
    #[error("the git repository of `{}` has no remote", root.display())]
    NoRemote {
        /// The project root.
        root: PathBuf,
    },
    /// There are several remotes, and none is the branch's or `origin`.
    #[error("the git repository has several remotes, and none is `origin`: {}", names.join(", "))]
    SeveralRemotes {
        /// Their names.
        names: Vec<String>,
    },
    /// The address contains a password or token, which would be stored with the session.
    #[error("the address of the git remote `{name}` contains a password or token")]
    PasswordInAddress {
        /// The remote's name.
        name: String,
    },
    /// Workers on other machines cannot reach the address.
    #[error("the address of the git remote `{name}` is the relative path `{address}`")]
    RelativeAddress {
        /// The remote's name.
        name: String,
        /// The address.
        address: String,
    },
    /// Part of the history is missing, and workers could not get it from here.
    #[error("the git repository of `{}` is a shallow clone", root.display())]
    Shallow {
        /// The project root.
        root: PathBuf,
    },
    /// The commit cannot be sent.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl Carriable {
    /// Checks the repository of a project root, and whether its remote would accept a push. Nothing
    /// is sent.
    pub async fn find(git: &GitProgram, root: &Path) -> Result<Self, CarryError> {
        let prefix = prefix(git, root).await?;
        let commit = git.call(root, LOOKING, &["rev-parse", "--quiet", "--verify"]);
        let commit = commit.argument("HEAD^{commit}").run().await?;
        let commit = TreeId::parse(String::from_utf8_lossy(&commit.stdout).trim());
        let commit = commit.ok_or_else(|| CarryError::NoCommit { root: root.to_owned() })?;
        let shallow = git.call(root, LOOKING, &["rev-parse", "--is-shallow-repository"]);
        if shallow.line().await? == "true" {
            return Err(CarryError::Shallow { root: root.to_owned() });
        }
        let remote_name = remote_name(git, root).await?;
        let address = git.call(root, LOOKING, &["remote", "get-url", "--push", "--"]);
        let address = address.argument(&remote_name).line().await?;
        check_address(&remote_name, &address)?;
        let status = ["status", "--porcelain", "-z", "--untracked-files=normal", "--no-renames"];
        let status = git.call(root, LOOKING, &status).done().await?;
        let uncommitted = status.split(|byte| *byte == 0).filter(|line| !line.is_empty()).count();
        let work = CarriedWork { remote: address, commit, prefix };
        let found = Self { work, remote_name, uncommitted };
        let trial =
            git.call(root, "push to the git remote", push_arguments()).argument("--dry-run");
        let refs = TreeRefs::new("trial".parse().expect("a valid name"), "");
        found.push(trial, &refs).await?;
        Ok(found)
    }

    /// Sends the commit, so that workers can fetch it.
    pub async fn submit(
        &self,
        git: &GitProgram,
        root: &Path,
        refs: &TreeRefs,
        secrets: &Secrets,
    ) -> Result<(), CarryError> {
        if let Some(search) = secrets.search() {
            let searching = "search the commits for secrets";
            let listed = git.call(root, searching, &["rev-list", "--objects"]);
            let listed = listed.argument(self.work.commit.as_str()).argument("--not");
            let listed = listed.argument(format!("--remotes={}", self.remote_name)).done().await?;
            secrets_in_objects::check_listed(listed, search, |ids| {
                git.call(root, searching, &["cat-file", "--batch", "--buffer"]).stdin(ids)
            })
            .await?;
        }
        let push = git.call(root, "push to the git remote", push_arguments());
        self.push(push, refs).await
    }

    async fn push(&self, push: GitCall<'_>, refs: &TreeRefs) -> Result<(), CarryError> {
        let remote = GitRemote::new(&self.work.remote);
        let to = refs.submitted();
        match remote.push(push, self.work.commit.as_str(), &to, &[]).await {
            Ok(()) => Ok(()),
            Err(NotPushed::Because(error)) => Err(error.into()),
            Err(NotPushed::NotForward) => {
                let said = format!("`{to}` already exists");
                Err(TreeError::Refused { remote: remote.address().to_owned(), said }.into())
            }
        }
    }
}

/// The project root inside its repository.
async fn prefix(git: &GitProgram, root: &Path) -> Result<PathBuf, CarryError> {
    let shown = git.call(root, LOOKING, &["rev-parse", "--show-prefix"]).run().await?;
    let is_outside = shown.stderr.contains("not a git repository")
        || shown.stderr.contains("must be run in a work tree");
    if shown.code != 0 && is_outside {
        return Err(CarryError::NotARepository { root: root.to_owned() });
    }
    if shown.code != 0 {
        return Err(shown.failure().into());
    }
    use std::os::unix::ffi::OsStrExt;
    let prefix = shown.stdout.strip_suffix(b"\n").unwrap_or(&shown.stdout);
    let prefix = PathBuf::from(std::ffi::OsStr::from_bytes(prefix));
    if prefix.as_os_str().is_empty() {
        return Ok(prefix);
    }
    let ignored = git.call(root, LOOKING, &["check-ignore", "--quiet", "--", "."]).run().await?;
    match ignored.code {
        0 => Err(CarryError::Ignored { root: root.to_owned() }),
        _ => Ok(prefix.components().collect()),
    }
}

/// The remote of the current branch, else `origin`, else the only one.
async fn remote_name(git: &GitProgram, root: &Path) -> Result<String, CarryError> {
    let names = git.call(root, LOOKING, &["remote"]).line().await?;
    let names: Vec<String> = names.lines().map(str::to_owned).collect();
    let branch = git.call(root, LOOKING, &["symbolic-ref", "--quiet", "--short", "HEAD"]);
    let branch = branch.run().await?;
    let branch = String::from_utf8_lossy(&branch.stdout).trim().to_owned();
    let of_branch = git.call(root, LOOKING, &["config", "--get"]);
    let of_branch = of_branch.argument(format!("branch.{branch}.remote")).run().await?;
    let of_branch = String::from_utf8_lossy(&of_branch.stdout).trim().to_owned();
    for name in [of_branch.as_str(), "origin"] {
        if names.iter().any(|known| known == name) {
            return Ok(name.to_owned());
        }
    }
    match names.len() {
        0 => Err(CarryError::NoRemote { root: root.to_owned() }),
        1 => Ok(names.into_iter().next().unwrap_or_default()),
        _ => Err(CarryError::SeveralRemotes { names }),
    }
}

/// Whether other machines can use the address, and everyone with the store may see it.
fn check_address(name: &str, address: &str) -> Result<(), CarryError> {
    let Some((_, rest)) = address.split_once("://") else {
        // `host:path` is an address of SSH.
        let is_path = !address.split('/').next().unwrap_or_default().contains(':');
        if is_path && !address.starts_with('/') {
            let (name, address) = (name.to_owned(), address.to_owned());
            return Err(CarryError::RelativeAddress { name, address });
        }
        return Ok(());
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    match user.contains(':') || is_token(user) {
        true => Err(CarryError::PasswordInAddress { name: name.to_owned() }),
        false => Ok(()),
    }
}

/// Whether a user's name is an access token, which some servers take in its place.
fn is_token(user: &str) -> bool {
    let is_random = user.len() >= TOKEN_CHARS_MIN
        && user.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && user.bytes().any(|byte| byte.is_ascii_digit());
    is_random || TOKEN_PREFIXES.iter().any(|prefix| user.starts_with(prefix))
}

fn is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_must_be_usable_elsewhere_and_hold_no_password() {
        let name = "origin".to_owned();
        for address in [
            "/srv/git/shop.git",
            "file:///srv/git/shop.git",
            "git@example.org:shop.git",
            "example.org:shop.git",
            "ssh://git@example.org:22/shop.git",
            "https://example.org/shop.git",
            "https://ann@example.org/a:b@c.git",
        ] {
            assert_eq!(check_address(&name, address), Ok(()), "{address}");
        }
        let random = "https://0123456789abcdef0123456789abcdef01234567@example.org/shop.git";
        for address in [
            "https://ann:hunter22@example.org/shop.git",
            "http://:x@h/",
            "https://ghp_abc@example.org/shop.git",
            random,
        ] {
            let expected = Err(CarryError::PasswordInAddress { name: name.clone() });
            assert_eq!(check_address(&name, address), expected, "{address}");
        }
        for address in ["../shop.git", "shop.git", "./a:b"] {
            let expected =
                CarryError::RelativeAddress { name: name.clone(), address: address.into() };
            assert_eq!(check_address(&name, address), Err(expected), "{address}");
        }
    }
}
