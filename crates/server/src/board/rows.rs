//! [`Rows`]: the latest parts of a session's story, and what they belong to.

use std::collections::{BTreeMap, VecDeque};

use hookwright_events::Usage;
use hookwright_pipeline::timeline::{Deed, Iteration, IterationState, Milestone, Part};

use super::chronicle::Reports;
use crate::limits;

/// The latest parts.
#[derive(Clone)]
pub(crate) struct Rows {
    /// Only those before this one.
    before: Option<u64>,
    /// How many there were.
    count: u64,
    kept: VecDeque<Row>,
    /// The stage and the piece of work that had begun before the oldest that is kept.
    stage: Option<Row>,
    item: Option<Row>,
    /// How many of them were iterations.
    iterations: u64,
    stages: BTreeMap<u32, StageSum>,
    /// From which one on they are not complete.
    under_way_from: Option<u64>,
}

/// One part.
#[derive(Clone)]
pub(crate) struct Row {
    /// From 0.
    pub(crate) number: u64,
    /// Names its element on the page: the same as long as it tells of the same.
    pub(crate) id: String,
    pub(crate) what: What,
}

#[derive(Clone)]
pub(crate) enum What {
    /// Anything but an iteration.
    Milestone(Milestone),
    /// An iteration, with the journal's entries that report its deeds.
    Iteration(Box<Iteration>, Vec<Option<u64>>),
    /// Something that happened outside of iterations.
    Deed(Deed, Option<u64>),
}

impl What {
    /// What happened in it.
    pub(crate) fn deeds(&self) -> &[Deed] {
        match self {
            What::Iteration(iteration, _) => &iteration.deeds,
            What::Deed(deed, _) => std::slice::from_ref(deed),
            What::Milestone(_) => &[],
        }
    }
}

impl What {
    /// With as much as is shown: of a row that is kept, nothing else is asked for.
    fn in_short(mut self) -> Self {
        if let What::Iteration(iteration, reports) = &mut self {
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

/// A stage in a few words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StageSum {
    pub(crate) name: String,
    pub(crate) iterations_max: Option<u32>,
    /// Those that ended.
    pub(crate) iterations: u32,
    /// When it began, or went on.
    pub(crate) at: String,
    /// Why it ended, if it did.
    pub(crate) reason: Option<String>,
    /// It is neither over nor under way.
    pub(crate) was_left: bool,
    pub(crate) duration_ms: Option<f64>,
    pub(crate) usage: Option<Usage>,
}

impl Rows {
    pub(super) fn new(before: Option<u64>) -> Self {
        Self {
            before,
            count: 0,
            kept: VecDeque::new(),
            stage: None,
            item: None,
            iterations: 0,
            stages: BTreeMap::new(),
            under_way_from: None,
        }
    }

    /// Takes in the next part.
    pub(super) fn add(&mut self, part: Part, reports: &mut Reports) {
        let what = match part {
            // The head of the page says so.
            Part::Milestone(Milestone::SessionBegan { .. }) => return,
            Part::Milestone(Milestone::Iteration(iteration)) => {
                let of = iteration.deeds.iter().map(|deed| report_of(deed, reports)).collect();
                What::Iteration(iteration, of)
            }
            Part::Milestone(milestone) => What::Milestone(milestone),
            Part::Deed(deed) => {
                let report = report_of(&deed, reports);
                What::Deed(deed, report)
            }
        };
        self.sum_up(&what);
        let what = if self.under_way_from.is_none() { what.in_short() } else { what };
        let (number, id) = (self.count, self.id_of(&what));
        self.count += 1;
        if self.before.is_none_or(|before| number < before) {
            self.keep(Row { number, id, what });
        }
    }

    /// What comes from now on is not complete.
    pub(super) fn under_way_from_here(&mut self) {
        self.under_way_from = Some(self.count);
    }

    fn keep(&mut self, row: Row) {
        self.kept.push_back(row);
        if self.kept.len() <= limits::ROWS_MAX {
            return;
        }
        let Some(gone) = self.kept.pop_front() else { return };
        match &gone.what {
            What::Milestone(Milestone::StageBegan { .. }) => self.stage = Some(gone),
            What::Milestone(Milestone::StageEnded { .. }) => self.stage = None,
            What::Milestone(Milestone::ItemBegan { .. }) => self.item = Some(gone),
            What::Milestone(Milestone::ItemEnded { .. }) => self.item = None,
            What::Milestone(_) | What::Iteration(..) | What::Deed(..) => {}
        }
    }

    /// An iteration has its id from its beginning to its end: whatever comes before it is told, it stays the
    /// same one of all of them.
    fn id_of(&mut self, what: &What) -> String {
        let What::Iteration(iteration, _) = what else { return format!("row-{}", self.count) };
        self.iterations += 1;
        format!("iteration-{}-{}-{}", iteration.stage, iteration.iteration, self.iterations)
    }

    fn sum_up(&mut self, what: &What) {
        match what {
            What::Milestone(Milestone::StageBegan { at, stage, index, iterations_max }) => {
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
            What::Milestone(Milestone::StageEnded {
                index, reason, duration_ms, usage, ..
            }) => {
                if let Some(sum) = self.stages.get_mut(index) {
                    sum.was_left = reason.is_none();
                    sum.reason.clone_from(reason);
                    sum.duration_ms = *duration_ms;
                    sum.usage = usage.or(sum.usage);
                }
            }
            What::Iteration(iteration, _) => {
                let counts = iteration.iteration > 0 && iteration.state == IterationState::Ended;
                if let Some(sum) = self.stages.get_mut(&iteration.stage).filter(|_| counts) {
                    sum.iterations += 1;
                }
            }
            What::Milestone(_) | What::Deed(..) => {}
        }
    }

    /// Those in sight, oldest first.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Row> {
        self.kept.iter()
    }

    /// What is under way.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = &Row> {
        let from = self.under_way_from.unwrap_or(u64::MAX);
        self.kept.iter().filter(move |row| row.number >= from)
    }

    /// The beginning of the stage in which the oldest one in sight stands.
    pub(crate) fn stage_before(&self) -> Option<&Row> {
        self.stage.as_ref()
    }

    /// The beginning of the piece of work in which the oldest one in sight stands.
    pub(crate) fn item_before(&self) -> Option<&Row> {
        self.item.as_ref()
    }

    /// How many are older than those in sight.
    pub(crate) fn older(&self) -> u64 {
        self.kept.front().map_or(0, |oldest| oldest.number)
    }

    /// The stages that have begun, by their numbers.
    pub(crate) fn stages(&self) -> &BTreeMap<u32, StageSum> {
        &self.stages
    }
}

/// The entry that reports a hook, if there is one: only those have a duration.
fn report_of(deed: &Deed, reports: &mut Reports) -> Option<u64> {
    match deed {
        Deed::Hook { hook, duration_ms: Some(_), .. } => reports.take(hook),
        Deed::Hook { .. }
        | Deed::Decision { .. }
        | Deed::Question { .. }
        | Deed::Child { .. }
        | Deed::GivenUp { .. }
        | Deed::AgentChanged { .. }
        | Deed::Pause { .. }
        | Deed::Note { .. } => None,
    }
}
