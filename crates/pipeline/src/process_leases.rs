//! Leases of a process that has ended although its worker lives: those of child sessions and of
//! tasks, which the process has taken itself. Nothing else releases them, because a living worker
//! keeps its leases.

use hookwright_store::{Fence, Store, StoreError, WorkerLease};

use crate::lease::LeaseOwner;

/// Releases what the ended process of a session held, except the session's own lease.
pub fn release(store: &dyn Store, process: &LeaseOwner, own: &Fence) -> Result<(), StoreError> {
    let Some((workers, worker)) = store.workers().zip(process.worker) else { return Ok(()) };
    for WorkerLease { fence, holder } in workers.leases(worker)? {
        let is_its = serde_json::from_str::<LeaseOwner>(&holder).is_ok_and(|it| it == *process);
        if is_its && fence.lease != own.lease {
            store.release(&fence.lease, fence.token)?;
        }
    }
    Ok(())
}
