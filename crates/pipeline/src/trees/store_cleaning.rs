//! What goes from the local stores of git objects: the refs of a session that leaves the machine, and
//! objects that no ref needs, while no session uses the store.
//!
//! The last commit that was fetched stays. With it, git fetches for the next session only what is
//! new.

use std::fs;
use std::path::Path;

use tokio::time::Instant;

use super::git_program::GitProgram;
use super::remote::TreeRefs;
use super::repository::Repositories;
use super::tree_lock::StoreLock;
use super::{CarriedWork, TreeError, WorkFolder, WorkPlace};
use crate::limits::TREE_PRUNE_MAX;

const CLEANING: &str = "clean the local store of git objects";

/// The ref of the commit that stays.
const LAST: &str = "refs/kept/last";

/// What the refs of all sessions begin with.
const OF_SESSIONS: &str = "refs/hookwright/";

/// Deletes the refs of a session that leaves this machine from its local store.
pub async fn forget_trees(
    git: GitProgram,
    place: &WorkPlace,
    work: &CarriedWork,
    refs: &TreeRefs,
) -> Result<(), TreeError> {
    let at = Repositories::new(git, place);
    at.renew_settings()?;
    at.store_alone(CLEANING, &["update-ref", LAST, work.commit.as_str()]).done().await?;
    delete_refs(&at, refs.prefix()).await
}

/// Deletes objects that no session needs from the stores of a worker's folder that are not in use.
/// Returns how many stores it has cleaned. A store that cannot be cleaned stays as it is.
pub async fn clean_stores(git: &GitProgram, folder: &WorkFolder) -> usize {
    let began = Instant::now();
    let stores = folder.path().join(WorkPlace::STORES);
    let entries = fs::read_dir(stores).into_iter().flatten().flatten();
    let mut cleaned = 0;
    for store in entries.map(|entry| entry.path()) {
        let left = TREE_PRUNE_MAX.saturating_sub(began.elapsed());
        if left.is_zero() {
            break;
        }
        let is_store = store.extension().is_some_and(|ending| ending == "git");
        let is_folder = fs::symlink_metadata(&store).is_ok_and(|found| found.is_dir());
        if !is_store || !is_folder {
            continue;
        }
        let place = WorkPlace::named(folder, Path::new(""), store);
        let Ok(Some(_lock)) = StoreLock::alone(&place) else { continue };
        let at = Repositories::new(git.clone(), &place);
        let clean = tokio::time::timeout(left, clean(&at));
        cleaned += usize::from(clean.await.is_ok_and(|cleaned| cleaned.is_ok()));
    }
    cleaned
}

/// Cleans a store that no session uses.
async fn clean(at: &Repositories) -> Result<(), TreeError> {
    at.renew_settings()?;
    // Sessions whose processes were killed have left refs. One of them may continue here.
    let newest = ["for-each-ref", "--sort=-creatordate", "--count=1", "--format=%(objectname)"];
    let newest = at.store_alone(CLEANING, &newest).argument(OF_SESSIONS).line().await?;
    if !newest.is_empty() {
        at.store_alone(CLEANING, &["update-ref", LAST, &newest]).done().await?;
    }
    delete_refs(at, OF_SESSIONS).await?;
    at.store_alone(CLEANING, &["prune", "--expire=now"]).timeout(TREE_PRUNE_MAX).done().await?;
    Ok(())
}

async fn delete_refs(at: &Repositories, prefix: &str) -> Result<(), TreeError> {
    let list = at.store_alone(CLEANING, &["for-each-ref", "--format=delete %(refname)"]);
    let deletions = list.argument(prefix).done().await?;
    at.remove_locks_below(prefix)?;
    at.store_alone(CLEANING, &["update-ref", "--stdin"]).stdin(deletions).done().await?;
    Ok(())
}
