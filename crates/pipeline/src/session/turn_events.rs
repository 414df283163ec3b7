//! [`FiredInTurn`]: events that a driver fires while its agent works.
//!
//! Such a firing has a key below its turn, [`Point::InTurn`]. An interrupted turn is repeated as
//! another attempt, so its driver's firings are never confused with those of the attempt before.

use std::io;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use hookwright_agents::TurnEvents;
use hookwright_engine::ports::Promise;
use hookwright_engine::{Engine, Firing};
use hookwright_events::{
    Decision, Event, EventName, FiringKey, Point, TurnEvent, TurnName, Verdict,
};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::recorder::Recorder;
use super::{Session, completed};

/// Fires events within one attempt of a turn.
pub(super) struct FiredInTurn {
    engine: Engine,
    recorder: Recorder,
    /// The driver asks the questions that hooks want to be asked.
    is_host: bool,
    /// The start of the iteration. Every event of the turn has most of its data too.
    start: Arc<Event>,
    stage: usize,
    iteration: u32,
    attempt: u32,
    fired: AtomicU32,
    /// Ends the session.
    interrupt: CancellationToken,
    /// Ends the turn.
    pub(super) cancel: CancellationToken,
    aborted: OnceLock<String>,
}

impl Session {
    pub(super) fn fired_in_turn(
        &mut self,
        name: &TurnName,
        attempt: u32,
        start: Arc<Event>,
        is_host: bool,
    ) -> FiredInTurn {
        let index = self.course.position().index();
        FiredInTurn {
            engine: self.engine(Some(index)),
            recorder: self.recorder.clone(),
            is_host,
            start,
            stage: index,
            iteration: name.iteration,
            attempt,
            fired: AtomicU32::new(0),
            interrupt: self.interrupt.token().clone(),
            cancel: self.interrupt.token().child_token(),
            aborted: OnceLock::new(),
        }
    }
}

impl FiredInTurn {
    /// Why a hook wants the session to end.
    pub(super) fn aborted(&self) -> Option<&str> {
        self.aborted.get().map(String::as_str)
    }

    async fn decide(&self, event: EventName, data: Map<String, Value>) -> Decision {
        let number = self.fired.fetch_add(1, Ordering::Relaxed) + 1;
        let Self { stage, iteration, attempt, .. } = *self;
        let key = FiringKey::from(Point::InTurn { stage, iteration, attempt, number });
        let mut common = self.start.data.clone();
        for of_start in ["timestamp", "stage_outputs"] {
            common.remove(of_start);
        }
        let data = common.into_iter().chain(data).collect();
        let firing = Firing {
            session: Some(self.recorder.session.clone()),
            no_approver: !self.is_host,
            key: Some(key.to_string()),
            remakes_data: true,
            skips_unheard: true,
            ..Firing::default()
        };
        let firing = self.engine.fire(Event::new(event, data), firing);
        let fired = completed(firing, &self.interrupt, || self.engine.interrupt()).await;
        // Hooks that could not run must not count as hooks that agree.
        if let Some(error) = self.recorder.journal.failure() {
            return abort(error.to_string());
        }
        if self.cancel.is_cancelled() {
            return abort("interrupted".to_owned());
        }
        if let Verdict::Abort { reason } = &fired.decision.verdict {
            let _ = self.aborted.set(reason.clone());
            self.cancel.cancel();
        }
        fired.decision
    }
}

fn abort(reason: String) -> Decision {
    Decision { verdict: Verdict::Abort { reason }, ..Decision::default() }
}

impl TurnEvents for FiredInTurn {
    fn fire(&self, event: EventName, data: Map<String, Value>) -> Promise<'_, Decision> {
        Box::pin(self.decide(event, data))
    }

    fn record(&self, happened: TurnEvent) -> Promise<'_, io::Result<()>> {
        Box::pin(async move { self.recorder.write(happened).await.map_err(io::Error::other) })
    }
}
