//! [`Rows`]: the latest rows of a session's history, and the stage and work item that they belong
//! to.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use hookwright_events::Usage;
use hookwright_pipeline::timeline::{Iteration, IterationState, Milestone, Part, TimelineEvent};

use super::chronicle::Reports;
use crate::limits;

/// The latest rows.
#[derive(Clone, Default)]
pub(crate) struct Rows {
    /// Only rows before this one are visible.
    before: Option<u64>,
    /// Number of all rows.
    count: u64,
    /// Number of iterations among them.
    iterations: u64,
    sight: Sight,
    stages: BTreeMap<u32, StageSum>,
    /// The unfinished rows, once all complete ones are added.
    under_way: Option<Vec<Arc<Row>>>,
}

/// The visible rows.
#[derive(Clone, Default)]
struct Sight {
    kept: VecDeque<Arc<Row>>,
    /// The stage and the work item that began before the oldest visible row.
    stage: Option<Arc<Row>>,
    item: Option<Arc<Row>>,
}

impl Sight {
    fn keep(&mut self, row: Arc<Row>) {
        self.kept.push_back(row);
        if self.kept.len() > limits::ROWS_MAX
            && let Some(gone) = self.kept.pop_front()
        {
            self.leave(gone);
        }
    }

    /// Removes a row from view.
    fn leave(&mut self, row: Arc<Row>) {
        match &row.what {
            RowContent::Milestone(Milestone::StageBegan { .. }) => self.stage = Some(row),
            RowContent::Milestone(Milestone::StageEnded { .. }) => self.stage = None,
            RowContent::Milestone(Milestone::ItemBegan { .. }) => self.item = Some(row),
            RowContent::Milestone(Milestone::ItemEnded { .. }) => self.item = None,
            RowContent::Milestone(_)
            | RowContent::Iteration(..)
            | RowContent::TimelineEvent(..) => {}
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Number from 0.
    pub(crate) number: u64,
    /// Id of its element on the page, which stays the same while the row changes.
    pub(crate) id: String,
    pub(crate) what: RowContent,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RowContent {
    /// Anything but an iteration.
    Milestone(Milestone),
    /// An iteration, with the journal entries that report its deeds.
    Iteration(Box<Iteration>, Vec<Option<u64>>),
    /// Something that happened outside of iterations.
    TimelineEvent(TimelineEvent, Option<u64>),
}

impl RowContent {
    /// The deeds of this row.
    pub(crate) fn deeds(&self) -> &[TimelineEvent] {
        match self {
            RowContent::Iteration(iteration, _) => &iteration.deeds,
            RowContent::TimelineEvent(deed, _) => std::slice::from_ref(deed),
            RowContent::Milestone(_) => &[],
        }
    }
}

impl RowContent {
    /// The row with only what is shown, since nothing else of a kept row is used.
    fn in_short(mut self) -> Self {
        if let RowContent::Iteration(iteration, reports) = &mut self {
            let more = iteration.deeds.len().saturating_sub(limits::DEEDS_SHOWN_MAX);
            iteration.trouble_left_out |= iteration.is_trouble();
            iteration.deeds_left_out += more as u64;
            iteration.deeds.truncate(limits::DEEDS_SHOWN_MAX);
            iteration.deeds.shrink_to_fit();
            reports.truncate(limits::DEEDS_SHOWN_MAX);
            reports.shrink_to_fit();
        }
        self
    }
}

/// Summary of a stage.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StageSum {
    pub(crate) name: String,
    pub(crate) iterations_max: Option<u32>,
    /// Number of ended iterations.
    pub(crate) iterations: u32,
    /// When it began or was resumed.
    pub(crate) at: String,
    /// Why it ended, if it did.
    pub(crate) reason: Option<String>,
    /// Whether it is neither over nor running.
    pub(crate) was_left: bool,
    pub(crate) duration_ms: Option<f64>,
    pub(crate) usage: Option<Usage>,
}

impl Rows {
    /// Without the visible rows, but with their numbering.
    pub(super) fn without_those_in_sight(&self) -> Self {
        let Self { before, count, iterations, .. } = *self;
        let mut sight = Sight { kept: VecDeque::new(), ..self.sight.clone() };
        self.sight.kept.iter().for_each(|row| sight.leave(Arc::clone(row)));
        Self { before, count, iterations, sight, ..Self::default() }
    }

    /// Makes only rows before this one visible from now on.
    pub(super) fn keep_only_before(&mut self, row: u64) {
        self.before = Some(row);
    }

    /// Shows the visible rows of `other`; unfinished rows and sums stay.
    pub(super) fn show(&mut self, other: Self) {
        self.sight = other.sight;
    }

    /// Adds the next part.
    pub(super) fn add(&mut self, part: Part, reports: &mut Reports) {
        let what = match part {
            // The page's header shows it.
            Part::Milestone(Milestone::SessionBegan { .. }) => return,
            Part::Milestone(Milestone::Iteration(iteration)) => {
                let of = iteration.deeds.iter().map(|deed| report_of(deed, reports)).collect();
                RowContent::Iteration(iteration, of)
            }
            Part::Milestone(milestone) => RowContent::Milestone(milestone),
            Part::TimelineEvent(deed) => {
                let report = report_of(&deed, reports);
                RowContent::TimelineEvent(deed, report)
            }
        };
        self.sum_up(&what);
        let what = if self.under_way.is_none() { what.in_short() } else { what };
        let (number, id) = (self.count, self.id_of(&what));
        self.count += 1;
        let row = Arc::new(Row { number, id, what });
        if let Some(under_way) = &mut self.under_way {
            under_way.push(Arc::clone(&row));
        }
        if self.before.is_none_or(|before| number < before) {
            self.sight.keep(row);
        }
    }

    /// Marks the following rows as unfinished.
    pub(super) fn under_way_from_here(&mut self) {
        self.under_way = Some(Vec::new());
    }

    /// Number of all rows.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// An iteration keeps its id from beginning to end, whatever rows come before it.
    fn id_of(&mut self, what: &RowContent) -> String {
        let RowContent::Iteration(iteration, _) = what else {
            return format!("row-{}", self.count);
        };
        self.iterations += 1;
        format!("iteration-{}-{}-{}", iteration.stage, iteration.iteration, self.iterations)
    }

    fn sum_up(&mut self, what: &RowContent) {
        match what {
            RowContent::Milestone(Milestone::StageBegan { at, stage, index, iterations_max }) => {
                let known = self.stages.remove(index);
                let most = iterations_max.or(known.as_ref().and_then(|known| known.iterations_max));
                let sum = StageSum {
                    name: stage.clone(),
                    iterations_max: most,
                    iterations: known.as_ref().map_or(0, |known| known.iterations),
                    at: at.clone(),
                    reason: None,
                    was_left: false,
                    duration_ms: None,
                    usage: known.and_then(|known| known.usage),
                };
                self.stages.insert(*index, sum);
            }
            RowContent::Milestone(Milestone::StageEnded {
                index,
                reason,
                duration_ms,
                usage,
                ..
            }) => {
                if let Some(sum) = self.stages.get_mut(index) {
                    sum.was_left = reason.is_none();
                    sum.reason.clone_from(reason);
                    sum.duration_ms = *duration_ms;
                    sum.usage = usage.or(sum.usage);
                }
            }
            RowContent::Iteration(iteration, _) => {
                let counts = iteration.iteration > 0 && iteration.state == IterationState::Ended;
                if let Some(sum) = self.stages.get_mut(&iteration.stage).filter(|_| counts) {
                    sum.iterations += 1;
                }
            }
            RowContent::Milestone(_) | RowContent::TimelineEvent(..) => {}
        }
    }

    /// The visible rows, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Row> {
        self.sight.kept.iter().map(|row| &**row)
    }

    /// The unfinished rows, visible or not.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = &Row> {
        self.under_way.iter().flatten().map(|row| &**row)
    }

    /// The beginning of the stage that the oldest visible row belongs to.
    pub(crate) fn stage_before(&self) -> Option<&Row> {
        self.sight.stage.as_deref()
    }

    /// The beginning of the work item that the oldest visible row belongs to.
    pub(crate) fn item_before(&self) -> Option<&Row> {
        self.sight.item.as_deref()
    }

    /// How many rows are older than the visible ones.
    pub(crate) fn older(&self) -> u64 {
        self.sight.kept.front().map_or(0, |oldest| oldest.number)
    }

    /// The row before which the next newer page ends, if there is a newer one than the first page.
    pub(crate) fn newer(&self) -> Option<u64> {
        let newest = self.sight.kept.back()?.number + 1 + limits::ROWS_MAX as u64;
        Some(newest).filter(|newest| *newest < self.count)
    }

    /// The stages that have begun, by number.
    pub(crate) fn stages(&self) -> &BTreeMap<u32, StageSum> {
        &self.stages
    }
}

/// The entry that reports a hook, if there is one: only those have a duration.
fn report_of(deed: &TimelineEvent, reports: &mut Reports) -> Option<u64> {
    match deed {
        TimelineEvent::Hook(run) if run.duration_ms.is_some() => reports.take(&run.hook),
        TimelineEvent::Hook(_)
        | TimelineEvent::Decision { .. }
        | TimelineEvent::Question { .. }
        | TimelineEvent::Child { .. }
        | TimelineEvent::GivenUp { .. }
        | TimelineEvent::AgentChanged { .. }
        | TimelineEvent::Call { .. }
        | TimelineEvent::CallQuestion { .. }
        | TimelineEvent::RequestFailed { .. }
        | TimelineEvent::Pause { .. }
        | TimelineEvent::Note { .. } => None,
    }
}
