//! [`GitTrees`]: keeps the work tree in the project's git remote.
//!
//! A tree is a commit whose files are those of the work tree, committed or not, and whose parents
//! are the commit of `HEAD` and the tips of other branches. Its message names them (`head.rs`). It is
//! made with an index of our own: `HEAD`, the branches and the agent's index stay as they are.
//!
//! Not kept: what git ignores, what is staged, a merge or rebase in progress (files with conflicts
//! are kept as they are), repositories inside the work tree, stashes and tags, the repository's
//! settings.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hookwright_engine::Secrets;
use hookwright_process::faults;
use rustix::fs::OFlags;
use tokio::sync::Mutex;

use super::git_program::GitProgram;
use super::head::{HeadState, id};
use super::listing::{WorkListing, WorkPrint};
use super::remote::{GitRemote, NotPushed, TreeRefs, push_arguments};
use super::repository::{Repositories, file};
use super::{
    CarriedWork, KeptTree, LeftOut, TreeError, TreeFuture, TreeId, Trees, WorkPlace,
    secrets_in_objects,
};
use crate::limits::{TREE_INDEX_BYTES_MAX, TREE_REFS_KEPT};

const KEEPING: &str = "save the work tree";
const RESTORING: &str = "restore the work tree";

/// Keeps the work tree of one session, under one lease.
pub struct GitTrees {
    at: Repositories,
    remote: GitRemote,
    submitted: TreeId,
    refs: TreeRefs,
    token: u64,
    secrets: Secrets,
    last: Mutex<LastTree>,
}

#[derive(Default)]
struct LastTree {
    /// The id of the last tree that was kept or restored.
    id: Option<TreeId>,
    /// Its files and its branches.
    state: Option<(String, HeadState)>,
    /// The work tree at that time.
    print: Option<WorkPrint>,
    /// Numbers of the refs that were sent, the oldest first.
    sent: VecDeque<u64>,
    number: u64,
}

impl GitTrees {
    /// The trees of a session whose lease has this token.
    pub fn new(
        git: GitProgram,
        work: &CarriedWork,
        refs: TreeRefs,
        token: u64,
        place: &WorkPlace,
        secrets: Secrets,
    ) -> Self {
        Self {
            at: Repositories::new(git, place),
            remote: GitRemote::new(&work.remote),
            submitted: work.commit.clone(),
            refs,
            token,
            secrets,
            last: Mutex::default(),
        }
    }

    /// Makes the work tree: as it was when this tree was kept, else as it was submitted, on the
    /// branch of the session. Files that git ignores stay if the folder exists.
    pub async fn prepare(&self, tree: Option<&TreeId>) -> Result<(), TreeError> {
        match tree {
            Some(tree) => self.restore(tree).await,
            None => {
                let mut last = self.last.lock().await;
                self.at.make_store().await?;
                self.fetch(&self.submitted).await?;
                let branch = format!("refs/heads/hookwright/{}", self.refs.session());
                let head = HeadState::on_branch(&branch, &self.submitted);
                let files = self.check_out(&self.submitted, &head).await?;
                let state = Some((files, head));
                *last = LastTree { state, number: last.number, ..LastTree::default() };
                Ok(())
            }
        }
    }

    async fn keep_now(&self) -> Result<KeptTree, TreeError> {
        let mut last = self.last.lock().await;
        faults::point("tree");
        self.at.renew_settings()?;
        let head = HeadState::read(&self.at).await?;
        let index = self.readable_index().await?;
        let listing = WorkListing::read(&self.at, &index, &head).await?;
        if listing.print.is_some() && last.print == listing.print {
            return Ok(KeptTree { tree: last.id.clone(), left_out: Vec::new() });
        }
        let files = self.write_tree(&listing).await?;
        if last.state.as_ref().is_some_and(|(known, at)| *known == files && *at == head) {
            last.print = listing.print;
            return Ok(KeptTree { tree: last.id.clone(), left_out: Vec::new() });
        }
        let commit = self.commit(&files, &head).await?;
        let known = last.id.iter().chain([&self.submitted]).map(TreeId::as_str);
        let known: Vec<&str> = known.collect();
        secrets_in_objects::check(&self.at, &self.secrets, commit.as_str(), &known).await?;
        let number = last.number + 1;
        self.send(commit.as_str(), number, &mut last.sent).await?;
        faults::point("tree sent");
        let left_out = left_out(&listing, &head);
        last.id = Some(commit.clone());
        last.number = number;
        last.print = listing.print;
        last.state = Some((files, head));
        Ok(KeptTree { tree: Some(commit), left_out })
    }

    /// Sends a tree, and deletes those that no machine needs any more.
    async fn send(
        &self,
        commit: &str,
        number: u64,
        sent: &mut VecDeque<u64>,
    ) -> Result<(), TreeError> {
        let name = |number| self.refs.tree(self.token, number);
        let too_many = (sent.len() + 1).saturating_sub(TREE_REFS_KEPT);
        let old: Vec<String> = sent.iter().take(too_many).map(|number| name(*number)).collect();
        let push = self.at.store("send the work tree", push_arguments());
        let pushed = self.remote.push(push, commit, &name(number), &old).await;
        pushed.map_err(|error| match error {
            NotPushed::Because(error) => error,
            NotPushed::NotForward => TreeError::Refused {
                remote: self.remote.address().to_owned(),
                said: format!("`{}` already exists", name(number)),
            },
        })?;
        sent.drain(..too_many);
        sent.push_back(number);
        Ok(())
    }

    /// The agent's index, or a copy if parts of it are in another file, which git looks for beside
    /// the settings.
    async fn readable_index(&self) -> Result<PathBuf, TreeError> {
        if !self.at.has_split_index() {
            return Ok(self.at.agents_index());
        }
        self.copy_agents_index().await?;
        Ok(self.at.index().to_owned())
    }

    /// Makes our index a copy of the agent's, in one file.
    async fn copy_agents_index(&self) -> Result<(), TreeError> {
        let (from, to) = (self.at.agents_index(), self.at.index().to_owned());
        let copying = tokio::task::spawn_blocking(move || copy_index(&from, &to));
        copying
            .await
            .map_err(|error| TreeError::Failed { doing: KEEPING, said: error.to_string() })??;
        match self.at.has_split_index() {
            true => self.at.join_index(KEEPING).await,
            false => Ok(()),
        }
    }

    /// Writes the files of the work tree into the store. Returns the id of git's tree.
    async fn write_tree(&self, listing: &WorkListing) -> Result<String, TreeError> {
        self.copy_agents_index().await?;
        let index = self.at.index();
        if !listing.files.is_empty() {
            let arguments = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            let paths = listing.files.iter().flat_map(|path| path.iter().copied().chain([0]));
            let update = self.at.files(KEEPING, index, &arguments).stdin(paths.collect::<Vec<_>>());
            update.done().await?;
        }
        let tree = self.at.files(KEEPING, index, &["write-tree"]).done().await?;
        id(&tree).ok_or_else(|| misread("write-tree"))
    }

    async fn commit(&self, files: &str, head: &HeadState) -> Result<TreeId, TreeError> {
        let call = self.at.store(KEEPING, &["commit-tree", files, "-F", "-"]);
        let parents = head.commits();
        let call = parents.iter().fold(call, |call, parent| call.argument("-p").argument(parent));
        let printed = call.stdin(head.message(&self.refs)).line().await?;
        TreeId::parse(&printed).ok_or_else(|| misread("commit-tree"))
    }

    /// Fetches the session's trees, and makes sure that this one is among them.
    async fn fetch(&self, tree: &TreeId) -> Result<(), TreeError> {
        let arguments = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--no-auto-maintenance",
        ];
        let refs = format!("{}*", self.refs.prefix());
        self.at.remove_locks_below(self.refs.prefix())?;
        // Only our own objects count: those of the agent's repository may go away.
        let fetch = self.at.store_alone("fetch the work tree", &arguments);
        self.remote.fetch(fetch, &format!("+{refs}:{refs}")).await?;
        let exists = ["cat-file", "-e"];
        let exists = self.at.store_alone(RESTORING, &exists);
        match exists.argument(format!("{tree}^{{commit}}")).run().await?.code {
            0 => Ok(()),
            _ => Err(self.missing(tree)),
        }
    }

    fn missing(&self, tree: &TreeId) -> TreeError {
        let remote = self.remote.address().to_owned();
        match *tree == self.submitted {
            true => TreeError::MissingCommit { remote, commit: tree.clone() },
            false => TreeError::Missing { remote, tree: tree.clone() },
        }
    }

    async fn restore_now(&self, tree: &TreeId) -> Result<(), TreeError> {
        let mut last = self.last.lock().await;
        if last.id.as_ref() == Some(tree) {
            return Ok(());
        }
        faults::point("tree is fetched");
        self.at.make_store().await?;
        self.fetch(tree).await?;
        faults::point("tree fetched");
        let show = self.at.store_alone(RESTORING, &["cat-file", "commit", tree.as_str()]);
        let head = HeadState::parse(&show.done().await?).ok_or_else(|| TreeError::Failed {
            doing: RESTORING,
            said: format!("the commit {tree} is not a work tree of a session"),
        })?;
        let files = self.check_out(tree, &head).await?;
        *last = LastTree {
            id: Some(tree.clone()),
            state: Some((files, head)),
            number: last.number,
            ..LastTree::default()
        };
        Ok(())
    }

    /// Makes the work tree anew: the agent's repository in this state, with these files. What git
    /// ignores stays. Returns the id of git's tree.
    async fn check_out(&self, tree: &TreeId, head: &HeadState) -> Result<String, TreeError> {
        self.at.renew_agents(self.remote.address()).await?;
        head.write(&self.at).await?;
        // With the user's own filters, as `git checkout` does it.
        if head.commit.is_some() {
            self.at.agents(RESTORING, &["reset", "--hard", "--quiet"]).done().await?;
        }
        // Then what differs from the commit, without filters.
        let index = self.at.index();
        copy_index(&self.at.agents_index(), index)?;
        let read = ["read-tree", "--reset", "-u", tree.as_str()];
        self.at.files(RESTORING, index, &read).done().await?;
        let clean = ["clean", "-ffdq", "-e", ".hookwright/sessions/"];
        self.at.files(RESTORING, index, &clean).done().await?;
        self.files_of(tree.as_str()).await
    }

    /// The id of a commit's tree.
    async fn files_of(&self, commit: &str) -> Result<String, TreeError> {
        let parse = self.at.store(KEEPING, &["rev-parse", "--verify"]);
        parse.argument(format!("{commit}^{{tree}}")).line().await
    }

    async fn publish_now(&self) -> Result<String, TreeError> {
        let kept = self.keep_now().await?.tree;
        faults::point("branch");
        let last = self.last.lock().await;
        let (files, head) = last.state.as_ref().ok_or_else(|| misread("write-tree"))?;
        // The agent's own commit, if it has committed everything.
        let commit = match (&head.commit, kept) {
            (Some(commit), _) if self.files_of(commit).await? == *files => commit.clone(),
            (_, Some(kept)) => kept.as_str().to_owned(),
            (_, None) => self.submitted.as_str().to_owned(),
        };
        let usual = format!("hookwright/{}", self.refs.session());
        if self.push_branch(&commit, &usual, None).await? {
            return Ok(usual);
        }
        // At an earlier end of the session, what the agent had not committed became a commit there.
        let name = format!("refs/heads/{usual}");
        let tip = self.at.store("read the branch of the session", &["ls-remote"]);
        if let Some(tip) = self.remote.tip(tip, &name).await?
            && self.is_tree(&tip).await?
            && self.push_branch(&commit, &usual, Some(&tip)).await?
        {
            return Ok(usual);
        }
        // A person has worked on it since.
        let other = format!("{usual}-{}", self.token);
        if self.push_branch(&commit, &other, None).await? {
            return Ok(other);
        }
        let said = "the branch of the session has other commits".to_owned();
        Err(TreeError::Refused { remote: self.remote.address().to_owned(), said })
    }
}

impl GitTrees {
    /// Pushes a branch, if it goes forward or its tip is this one.
    async fn push_branch(
        &self,
        commit: &str,
        branch: &str,
        instead_of: Option<&str>,
    ) -> Result<bool, TreeError> {
        let to = format!("refs/heads/{branch}");
        let push = self.at.store("push the branch of the session", push_arguments());
        let push = match instead_of {
            Some(tip) => push.argument(format!("--force-with-lease={to}:{tip}")),
            None => push,
        };
        let pushed = self.remote.push(push, commit, &to, &[]).await;
        faults::point("branch sent");
        match pushed {
            Ok(()) => Ok(true),
            Err(NotPushed::NotForward) => Ok(false),
            Err(NotPushed::Because(error)) => Err(error),
        }
    }

    /// Whether a commit is a tree of this session.
    async fn is_tree(&self, commit: &str) -> Result<bool, TreeError> {
        let shown = self.at.store_alone(KEEPING, &["cat-file", "commit", commit]).run().await?;
        Ok(shown.code == 0 && HeadState::is_of(&shown.stdout, &self.refs))
    }
}

impl Trees for GitTrees {
    fn keep(&self) -> TreeFuture<'_, KeptTree> {
        Box::pin(self.keep_now())
    }

    fn restore<'a>(&'a self, tree: &'a TreeId) -> TreeFuture<'a, ()> {
        Box::pin(self.restore_now(tree))
    }

    fn publish(&self) -> TreeFuture<'_, String> {
        Box::pin(self.publish_now())
    }
}

/// What is not part of a tree with these files.
fn left_out(listing: &WorkListing, head: &HeadState) -> Vec<LeftOut> {
    let text = |path: &Vec<u8>| String::from_utf8_lossy(path).into_owned();
    let nested = listing.nested.iter().map(|path| LeftOut::NestedRepository { path: text(path) });
    let moved = listing.submodules.iter().map(|path| LeftOut::Submodule { path: text(path) });
    let branches = Some(head.left_out).filter(|count| *count > 0);
    nested.chain(moved).chain(branches.map(|count| LeftOut::Branches { count })).collect()
}

/// Copies the agent's index, which tells what is tracked and which files have not changed. It is a
/// file that the agent can write.
fn copy_index(from: &Path, to: &Path) -> Result<(), TreeError> {
    // Left by a call that was killed; only one session uses this index.
    let mut lock = to.as_os_str().to_owned();
    lock.push(".lock");
    for stale in [PathBuf::from(lock), to.to_owned()] {
        match fs::remove_file(&stale) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(file("remove", &stale, &error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut source = match File::options().read(true).custom_flags(flags).open(from) {
        Ok(source) => source,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(file("read", from, &error)),
    };
    let found = source.metadata().map_err(|error| file("read", from, &error))?;
    if !found.is_file() || found.len() > TREE_INDEX_BYTES_MAX {
        let cause = format!("expected a file of at most {TREE_INDEX_BYTES_MAX} bytes");
        return Err(TreeError::File { doing: "read", path: from.to_owned(), cause });
    }
    let mut copy = || -> io::Result<()> {
        let mut target = File::create_new(to)?;
        io::copy(&mut io::Read::take(&mut source, TREE_INDEX_BYTES_MAX), &mut target)?;
        target.flush()?;
        // Git reads the content of files that changed at this time or later.
        target.set_modified(found.modified()?)
    };
    copy().map_err(|error| file("write", to, &error))
}

fn misread(command: &str) -> TreeError {
    let said = format!("`git {command}` printed unexpected output");
    TreeError::Failed { doing: KEEPING, said }
}
