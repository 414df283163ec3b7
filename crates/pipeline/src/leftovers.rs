//! Ends what dead workers of this machine left running: an agent does not notice that the process
//! which started it was killed. Done before this process takes a session over.

use hookwright_engine::limits::KILL_GRACE;
use hookwright_process::end_runs;
use hookwright_store::{StoreError, WorkerId, Workers};

use crate::lease::LeaseOwner;

/// The marker of every process that a worker's sessions start.
pub fn marker_of(worker: WorkerId) -> String {
    format!("worker-{worker}")
}

/// Ends what workers left that ran on this machine and are dead. A worker that this machine knows to
/// have ended is declared dead at once, and gives its sessions back. Returns how many processes were
/// ended.
pub async fn end_leftovers(workers: &dyn Workers) -> Result<usize, StoreError> {
    let (mut dead, mut ended, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let page = workers.list(after)?;
        let Some(last) = page.last() else { break };
        after = Some(last.watched.id);
        for worker in page {
            let process = serde_json::from_str::<LeaseOwner>(&worker.description);
            let Ok(process) = process.map_err(drop) else { continue };
            if !process.machine.is_this() {
                continue;
            }
            let has_ended = process.has_ended_here();
            if worker.is_dead || has_ended && workers.declare_dead(worker.watched)? {
                dead.push(marker_of(worker.watched.id));
            }
            ended.extend(has_ended.then_some(worker.watched.id));
        }
    }
    let found = match dead.is_empty() {
        true => 0,
        false => end_runs(dead, KILL_GRACE).await.len(),
    };
    for worker in ended {
        workers.leave(worker)?;
    }
    Ok(found)
}
