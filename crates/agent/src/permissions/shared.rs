//! [`SharedPermissions`]: the permissions of a session, which all of its agents share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::{JudgedCall, Judgement, PermissionMode, Permissions, RefusedUpdate};
use crate::hooks::CallVerdict;

/// Permissions behind a lock. A change counts for every clone.
#[derive(Debug, Clone, Default)]
pub struct SharedPermissions(Arc<Mutex<Permissions>>);

impl From<Permissions> for SharedPermissions {
    fn from(permissions: Permissions) -> Self {
        Self(Arc::new(Mutex::new(permissions)))
    }
}

impl SharedPermissions {
    /// Judges a call that hooks have answered.
    pub fn judge(&self, call: JudgedCall<'_>, hooks: &CallVerdict) -> Judgement {
        self.locked().judge(call, hooks)
    }

    /// Makes the changes that a hook asks for; returns those that were refused.
    pub fn update(&self, updates: &Value) -> Vec<RefusedUpdate> {
        self.locked().update(updates)
    }

    /// Makes any change.
    pub fn change(&self, change: impl FnOnce(&mut Permissions)) {
        change(&mut self.locked());
    }

    /// The mode that counts now.
    pub fn mode(&self) -> PermissionMode {
        self.locked().mode
    }

    fn locked(&self) -> MutexGuard<'_, Permissions> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
