//! The data of a session's events.

use std::path::Path;

use hookwright_events::firing_key::{ClosingEvent, ExecutionEvent};
use hookwright_events::{FiringKey, ItemState, Point};
use serde_json::{Map, Value, json};

use super::event_place::EventPlace;
use super::{Halt, Session};
use crate::folder::{IterationAt, StageAt};
use crate::limits::EXECUTION_OUTPUT_BYTES_MAX;
use crate::plan::Until;

impl Session {
    /// The data of an event, merged with `more`.
    pub(super) async fn data_of(
        &self,
        key: &FiringKey,
        more: Value,
    ) -> Result<Map<String, Value>, Halt> {
        Ok(match &key.point {
            Point::SessionStop { .. } | Point::Closing { event: ClosingEvent::SessionStop, .. } => {
                self.data_of_stop(more).await
            }
            Point::SessionStart { .. }
            | Point::Closing { .. }
            | Point::InTurn { .. }
            | Point::Task(_)
            | Point::Below { .. }
            | Point::Unknown(_) => self.data_of_session(more),
            Point::StageStart { .. } => self.data_of_stage(more),
            Point::StageComplete { stage } => {
                let outputs = self.folder.stage_outputs(self.stage_at(*stage))?;
                let outputs: Vec<String> =
                    outputs.iter().map(|path| self.path_from_root(path)).collect();
                self.data_of_iteration(json!({ "stage_outputs": outputs }))
            }
            Point::Iteration { .. } => self.data_of_iteration(more),
            Point::Execution { event, .. } => match event {
                ExecutionEvent::PreStart | ExecutionEvent::PostStart => self.data_of_execution(),
                ExecutionEvent::PreEnd | ExecutionEvent::PostEnd => self.data_of_item_end()?,
            },
        })
    }

    /// The data of every event of the session, merged with `more`.
    pub(super) fn data_of_session(&self, more: Value) -> Map<String, Value> {
        add(self.event_place().of_session(), more)
    }

    /// The data of the current stage, merged with `more`.
    pub(super) fn data_of_stage(&self, more: Value) -> Map<String, Value> {
        add(self.event_place().of_stage(), more)
    }

    /// The data of the current iteration, merged with `more`.
    pub(super) fn data_of_iteration(&self, more: Value) -> Map<String, Value> {
        add(self.event_place().of_iteration(), more)
    }

    /// Where the session is, as its events tell it.
    fn event_place(&self) -> EventPlace<'_> {
        let position = self.course.position();
        EventPlace {
            session: &self.recorder.session,
            session_id: self.recorder.journal.session_id(),
            plan: &self.plan,
            folder: &self.folder,
            stage: position.index(),
            iteration: position.iteration,
            iterations: position.iterations,
            outputs: &position.outputs,
            last_decision: position.last_decision.as_deref(),
            item: position.item.as_ref(),
        }
    }

    fn data_of_execution(&self) -> Map<String, Value> {
        let provider = self.plan.stages[self.course.position().index()].first_agent();
        self.data_of_stage(json!({ "provider": provider }))
    }

    /// The data about the end of a work item.
    fn data_of_item_end(&self) -> Result<Map<String, Value>, Halt> {
        let position = self.course.position();
        let output =
            self.folder.read_output(self.current_iteration(), EXECUTION_OUTPUT_BYTES_MAX)?;
        let end = position.item_end.as_ref();
        let more = json!({
            "success": end.is_some_and(|(state, _)| *state == ItemState::Done),
            "duration": self.time_of_item(),
            "files_modified": position.work.files,
            "output": self.workplace.secrets.hide(&output),
        });
        let mut data = add(self.data_of_execution(), more);
        if let Some(provider) = &position.work.provider {
            data.insert("provider".to_owned(), provider.clone().into());
        }
        if let Some((_, Some(error))) = end {
            data.insert("error".to_owned(), error.clone().into());
        }
        Ok(data)
    }

    /// How long the current work item has taken, in milliseconds.
    pub(super) fn time_of_item(&self) -> u64 {
        let past = self.course.history().items.get(&self.course.position().place());
        past.map_or(0, |past| self.recorder.since(&past.at))
    }

    /// The data of `session:stop`, including the state of the queues.
    async fn data_of_stop(&self, more: Value) -> Map<String, Value> {
        let mut data = self.data_of_session(more);
        // An unreadable queue does not keep a session from stopping.
        if let Ok(Some((done, all))) = self.progress().await {
            data.insert("issues_completed".to_owned(), done.into());
            data.insert("issues_total".to_owned(), all.into());
        }
        data.insert(
            "duration".to_owned(),
            self.recorder.since(&self.recorder.journal.record().start_time).into(),
        );
        data
    }

    /// The number of work items that are done, and of all, if there is a queue.
    async fn progress(&self) -> Result<Option<(usize, usize)>, Halt> {
        let mut is_queue = false;
        let mut open = 0;
        for index in 0..self.plan.stages.len() {
            if matches!(self.plan.stages[index].until, Until::Queue { .. }) {
                is_queue = true;
                open += self.open_items(index).await?;
            }
        }
        let mut states: std::collections::BTreeMap<(u32, &str), bool> = Default::default();
        for ((stage, _), past) in &self.course.history().items {
            let is_done = matches!(past.ended, Some((ItemState::Done, _)));
            let is_open = matches!(past.ended, Some((ItemState::Open, _)));
            if !is_open {
                states.insert((*stage, &past.item.key), is_done);
            }
        }
        let done = states.values().filter(|is_done| **is_done).count();
        Ok(is_queue.then_some((done, states.len() + open)))
    }

    pub(super) fn stage_at(&self, index: usize) -> StageAt<'_> {
        StageAt { index, name: &self.plan.stages[index].name }
    }

    pub(super) fn current_iteration(&self) -> IterationAt<'_> {
        let position = self.course.position();
        IterationAt { stage: self.stage_at(position.index()), iteration: position.iteration }
    }

    pub(super) fn path_from_root(&self, path: &Path) -> String {
        self.folder.from_root(path).to_string_lossy().into_owned()
    }
}

fn add(mut data: Map<String, Value>, more: Value) -> Map<String, Value> {
    if let Value::Object(more) = more {
        data.extend(more);
    }
    data
}
