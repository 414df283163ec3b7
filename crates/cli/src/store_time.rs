//! The time of the user's store. Machines that share a store may have clocks that differ.

use std::sync::{Arc, OnceLock, Weak};

use hookwright_engine::ports::Clock;
use hookwright_server::approvals::{self, iso};
use hookwright_store::Store;

/// The shared store that this process has opened.
static SHARED: OnceLock<Weak<dyn Store>> = OnceLock::new();

/// From now on the time is that of this store, if it is shared.
pub(crate) fn follow(store: &Arc<dyn Store>) {
    if store.is_remote() {
        let _ = SHARED.set(Arc::downgrade(store));
    }
}

/// Now, in milliseconds since 1970. Without a shared store it is this machine's time.
pub(crate) fn now_ms() -> i64 {
    let shared = SHARED.get().and_then(Weak::upgrade);
    shared.map_or_else(approvals::now_ms, |store| store.now_ms())
}

/// Tells the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreTime;

impl Clock for StoreTime {
    fn now(&self) -> String {
        iso(now_ms())
    }
}
