//! [`EngineState`]: what an engine and its firings share: hooks, ports, observers, background
//! hooks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hookwright_events::{RunEvent, RunEventKind};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Interest, Observer};
use crate::actions::ActionContext;
use crate::handed_over::{Background, HandedOver};
use crate::hook_set::HookSet;
use crate::ports::Ports;

/// Lives as long as the engine or anything that one of its firings still runs.
pub(crate) struct EngineState {
    pub(super) hooks: HookSet,
    pub(super) skip: Arc<[String]>,
    pub(super) started_by: Arc<[String]>,
    pub(super) ports: Ports,
    pub(super) surroundings: Arc<ActionContext>,
    pub(super) observers: Mutex<Vec<(Interest, Observer)>>,
    pub(super) firings: Arc<AtomicU64>,
    pub(super) runs: AtomicU64,
    /// Tells this engine's runs from those of all other engines, in this program and elsewhere.
    pub(super) name: u64,
    pub(super) interrupted: CancellationToken,
    pub(super) background_place: Background,
    pub(super) handed_over: Mutex<Vec<HandedOver>>,
    pub(super) background: Mutex<StillRunning>,
    /// Notified when a firing's last background hook has ended.
    pub(super) quiet: Notify,
}

/// When run events are journalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recording {
    Now,
    /// At the latest with what is recorded next.
    WithNext,
}

#[derive(Default)]
pub(super) struct StillRunning {
    /// Firings whose hooks still run.
    pub(super) firings: usize,
    /// Ids of hooks, by the firing's number and the hook's number in it.
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

    /// Whether anything reads run events.
    pub(super) fn is_watched(&self) -> bool {
        self.ports.journal.keeps() || !self.observers().is_empty()
    }

    /// Whether anything reads the ids of processes.
    pub(super) fn processes_are_watched(&self) -> bool {
        let reads = |(interest, _): &(Interest, Observer)| *interest != Interest::NoProcesses;
        self.ports.journal.keeps() || self.observers().iter().any(reads)
    }

    /// Whether anything shows live output.
    pub(super) fn output_is_watched(&self) -> bool {
        self.observers().iter().any(|(interest, _)| *interest == Interest::Everything)
    }

    /// Differs between firings and between engines, and so spreads simultaneous retries.
    pub(super) fn chance(&self, firing: u64) -> u64 {
        self.name.rotate_left(u32::try_from(firing % 64).unwrap_or_default())
    }

    pub(super) fn new_run_id(&self) -> String {
        format!("{:016x}-{}", self.name, self.runs.fetch_add(1, Ordering::Relaxed))
    }

    /// Journals run events, then shows them. The error is the journal's.
    pub(super) async fn record(
        &self,
        firing: u64,
        session: Option<&str>,
        kinds: Vec<RunEventKind>,
        recording: Recording,
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
            // Observers see only what is journalled.
            events if recording == Recording::WithNext && self.observers().is_empty() => {
                self.ports.journal.record_with_next(events).await?;
            }
            // Output is only shown, never journalled.
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

    /// Sends run events to the observers.
    pub(super) fn show(&self, events: &[RunEvent]) {
        let observers = self.observers().clone();
        for event in events {
            for (interest, observer) in &observers {
                if interest.includes(&event.kind) {
                    observer(event);
                }
            }
        }
    }
}
