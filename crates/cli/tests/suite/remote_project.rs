//! A project as sessions on workers need it: in a git repository with a remote, beside the project.

use std::path::PathBuf;

use crate::projects::git;
use crate::shared_store::shared;
use crate::support::Sandbox;

/// A project whose store is in a new database, and whose files are committed.
pub(crate) fn shared_with_remote(sandbox: Sandbox) -> Sandbox {
    shared(with_remote(sandbox))
}

/// Commits the files of a project, and gives it an empty remote.
pub(crate) fn with_remote(sandbox: Sandbox) -> Sandbox {
    let (root, remote) = (sandbox.path(""), remote(&sandbox));
    git(&root, &["init", "--quiet", "--template=", "--bare", &remote.to_string_lossy()]);
    git(&root, &["init", "--quiet", "--template="]);
    git(&root, &["remote", "add", "origin", &remote.to_string_lossy()]);
    commit(&sandbox, "first");
    sandbox
}

/// Commits what is in the checkout.
pub(crate) fn commit(sandbox: &Sandbox, message: &str) {
    git(&sandbox.path(""), &["add", "--all"]);
    git(&sandbox.path(""), &["commit", "--quiet", "--message", message]);
}

/// The remote of a project.
pub(crate) fn remote(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("..").canonicalize().expect("it exists").join("remote.git")
}
