//! A host without files: its hooks are functions, and they note what happens to them.

use std::future::pending;
use std::sync::{Arc, Mutex};

use hookwright_engine::{Answer, Call, Engine, EngineBuilder, Fired, Firing, Hook, HookBuilder};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::event;

/// An engine whose only hooks are these.
pub(crate) fn engine(hooks: impl IntoIterator<Item = HookBuilder>) -> Engine {
    hooks.into_iter().fold(Engine::builder("/"), EngineBuilder::hook).build().expect("no faults")
}

pub(crate) async fn fire(engine: &Engine, name: &str, data: Value) -> Fired {
    engine.fire(event(name, data), Firing::default()).await
}

/// Fires a guard with one callback.
pub(crate) async fn at_a_guard(hook: HookBuilder) -> Fired {
    fire(&engine([hook]), "tool:pre_execute", json!({ "tool_name": "bash" })).await
}

/// Reports that a callback's future was dropped.
pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Notes of callbacks, in order.
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub(crate) fn add(&self, note: impl Into<String>) {
        self.0.lock().expect("no panic while it was held").push(note.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().expect("no panic while it was held").clone()
    }
}

/// A callback that reports that it runs, then waits for its token, or forever.
pub(crate) fn waits(listens: bool, running: &Arc<Notify>, notes: &Notes) -> HookBuilder {
    let (running, notes) = (Arc::clone(running), notes.clone());
    Hook::on("*", move |call: Call| {
        let (running, notes) = (Arc::clone(&running), notes.clone());
        async move {
            let token = call.cancelled.clone();
            let _dropped = OnDrop(|| {
                notes.add(if token.is_cancelled() { "told, then dropped" } else { "dropped" })
            });
            running.notify_one();
            if listens {
                call.cancelled.cancelled().await;
                notes.add("heard");
                return Ok(Answer::allow());
            }
            pending().await
        }
    })
}
