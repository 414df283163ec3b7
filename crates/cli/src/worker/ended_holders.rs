//! [`ended_holders`]: the workers whose sessions may be queued again.

use std::time::Duration;

use hookwright_pipeline::lease::LeaseOwner;
use hookwright_pipeline::submission;
use hookwright_store::{Store, StoreError, WorkerId, Workers};

/// A worker that gave a sign of life at most so long ago is not looked at any closer.
const RECENTLY: Duration = Duration::from_secs(60);

/// Living workers that one search looks at, for each project.
const LIVING_LOOKED_AT_MAX: usize = 32;

/// Workers with sessions of a project that may have ended, and this one. Of those that live, only
/// some are looked at, behind `last`: each worker looks, and there may be thousands.
pub(super) fn ended_holders(
    store: &dyn Store,
    workers: &dyn Workers,
    project: &str,
    own: &str,
    last: &mut String,
) -> Result<Vec<String>, StoreError> {
    let first = last.clone();
    let (mut ended, mut living, mut is_behind_first) = (Vec::new(), 0, true);
    while living < LIVING_LOOKED_AT_MAX {
        let next = submission::holder_behind(store, project, last)?;
        let Some(worker) = next.filter(|worker| is_behind_first || *worker <= first) else {
            last.clear();
            if !is_behind_first || first.is_empty() {
                break;
            }
            is_behind_first = false;
            continue;
        };
        last.clone_from(&worker);
        match worker != own && lives(workers, &worker)? {
            true => living += 1,
            false => ended.push(worker),
        }
    }
    Ok(ended)
}

/// Whether a worker has given a sign of life lately: then nothing is looked at any closer. Whether its
/// sessions are taken is never decided by that.
fn lives(workers: &dyn Workers, id: &str) -> Result<bool, StoreError> {
    let Ok(id) = id.parse::<WorkerId>() else { return Ok(false) };
    let found = workers.find(id)?.filter(|found| !found.is_dead);
    let Some(found) = found else { return Ok(false) };
    let process = serde_json::from_str::<LeaseOwner>(&found.description);
    // A process of this machine that has ended is recognised at once.
    let may_run = process.is_ok_and(|process| process.may_run());
    Ok(may_run && found.silent_for < RECENTLY)
}
