//! [`EngineState`]: what an engine and its firings have in common: hooks and ports, who watches, what runs in the
//! background.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::{FiringEvent, RunEvent, RunEventKind};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Interest, Observer};
use crate::actions::ActionContext;
use crate::handed_over::{Background, HandedOver};
use crate::hook_set::HookSet;
use crate::ports::Ports;

/// It lives as long as the engine or anything that one of its firings still runs.
pub(crate) struct EngineState {
    pub(super) hooks: HookSet,
    pub(super) skip: Arc<[String]>,
    pub(super) started_by: Arc<[String]>,
    pub(super) ports: Ports,
    pub(super) surroundings: Arc<ActionContext>,
    pub(super) observers: Mutex<Vec<(Interest, Observer)>>,
    pub(super) firings: Arc<AtomicU64>,
    pub(super) runs: AtomicU64,
    /// Tells this engine's runs from those of any other, in this program and elsewhere.
    pub(super) name: u64,
    pub(super) interrupted: CancellationToken,
    pub(super) elsewhere: Background,
    pub(super) handed_over: Mutex<Vec<HandedOver>>,
    pub(super) background: Mutex<StillRunning>,
    /// A firing's last background hook has ended.
    pub(super) quiet: Notify,
}

/// What runs in the background.
#[derive(Default)]
pub(super) struct StillRunning {
    /// Firings whose hooks still run.
    pub(super) firings: usize,
    /// Ids of hooks, by the number of the firing and that of the hook in it.
    pub(super) hooks: BTreeMap<(u64, usize), String>,
}

impl EngineState {
    pub(super) fn observers(&self) -> MutexGuard<'_, Vec<(Interest, Observer)>> {
        self.observers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn background(&self) -> MutexGuard<'_, StillRunning> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn handed_over(&self) -> MutexGuard<'_, Vec<HandedOver>> {
        self.handed_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn hand_over(&self, hook: HandedOver) {
        self.handed_over().push(hook);
    }

    /// Whether anybody reads run events.
    pub(super) fn is_watched(&self) -> bool {
        self.ports.journal.keeps() || !self.observers().is_empty()
    }

    /// Whether anybody is shown output while it comes.
    pub(super) fn output_is_watched(&self) -> bool {
        self.observers().iter().any(|(interest, _)| *interest == Interest::Everything)
    }

    /// Differs from firing to firing and from engine to engine: those who try again at once are
    /// spread by it.
    pub(super) fn chance(&self, firing: u64) -> u64 {
        self.name.rotate_left(u32::try_from(firing % 64).unwrap_or_default())
    }

    pub(super) fn new_run_id(&self) -> String {
        format!("{:016x}-{}", self.name, self.runs.fetch_add(1, Ordering::Relaxed))
    }

    /// Writes run events down, then shows them. The error is the journal's.
    pub(super) async fn record(
        &self,
        firing: u64,
        session: Option<&str>,
        kinds: Vec<RunEventKind>,
    ) -> std::io::Result<()> {
        if kinds.is_empty() || !self.is_watched() {
            return Ok(());
        }
        let at = self.ports.clock.now();
        let of_kind = |kind| RunEvent {
            version: hookwright_events::run_event::VERSION,
            firing,
            at: at.clone(),
            session: session.map(str::to_owned),
            kind,
        };
        let mut events: Vec<RunEvent> = kinds.into_iter().map(of_kind).collect();
        let unkept: Vec<Option<String>> =
            events.iter_mut().map(|event| event.kind.take_unkept()).collect();
        match &events[..] {
            // Output is shown by itself, and never kept.
            [event] if !event.kind.is_journalled() => {}
            [event] => self.ports.journal.record(event).await?,
            events => self.ports.journal.record_all(events).await?,
        }
        for (event, unkept) in events.iter_mut().zip(unkept) {
            event.kind.give_back(unkept);
        }
        self.show(&events);
        Ok(())
    }

    /// Shows run events to whoever watches.
    pub(super) fn show(&self, events: &[RunEvent]) {
        let observers = self.observers().clone();
        for event in events {
            let is_output =
                matches!(event.kind, RunEventKind::Firing(FiringEvent::HookOutput { .. }));
            for (interest, observer) in &observers {
                if *interest == Interest::Everything || !is_output {
                    observer(event);
                }
            }
        }
    }
}
