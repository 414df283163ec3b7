//! Points at which a hook has ended the session, and what is left to do there.
//!
//! When the session is resumed, the hooks that have run at such a point don't run again, and those
//! after the one that ended it do. A question that was not answered with yes is asked again. All
//! that is a firing of its own, whose key is the first one's with a number appended.

use std::collections::HashMap;

use hookwright_events::{FiringEvent, FiringKey, Point, Status, Verdict};

use super::History;
use super::known::KnownFiring;

/// What is left of a firing that ended the session.
#[derive(Debug, Clone, Default)]
pub(super) struct Aborted {
    /// Hooks that had their turn.
    ran: Vec<String>,
    /// Those of them that were awaited and did not succeed.
    failed: Vec<String>,
}

impl Aborted {
    /// Reads the records of a firing, if its verdict ends the session.
    pub(super) fn from_records(verdict: &Verdict, records: &[FiringEvent]) -> Option<Self> {
        if !matches!(verdict, Verdict::Abort { .. } | Verdict::Stop { .. }) {
            return None;
        }
        let mut aborted = Self::default();
        let mut awaited_ones = Vec::new();
        for happened in records {
            match happened {
                FiringEvent::HookStarting { hook, awaited, .. } => {
                    aborted.ran.push(hook.clone());
                    awaited_ones.extend(awaited.then(|| hook.clone()));
                }
                FiringEvent::HookSkipped { hook, reason, ended_by }
                    if ended_by.is_none() && !says_an_end(reason, &aborted.ran) =>
                {
                    aborted.ran.push(hook.clone());
                }
                FiringEvent::HookReported { report }
                    if report.status != Status::Success && awaited_ones.contains(&report.id) =>
                {
                    aborted.failed.push(report.id.clone());
                }
                _ => {}
            }
        }
        Some(aborted)
    }
}

/// Reads older journals, in which only the words of the reason say that a hook was passed over because
/// another one had ended the session.
fn says_an_end(reason: &str, ran: &[String]) -> bool {
    let by = reason.strip_suffix(" aborted").or_else(|| reason.strip_suffix(" ended the session"));
    by.is_some_and(|by| ran.iter().any(|hook| hook == by))
}

/// What is left to do at a point at which the session was ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Again {
    /// How often it was ended there.
    times: u32,
    /// Hooks that had their turn.
    pub(crate) ran: Vec<String>,
    /// Those of them that were awaited and did not succeed.
    pub(crate) failed: Vec<String>,
    /// The point is reached again anyway, with all its hooks.
    pub(crate) fires_anew: bool,
}

impl History {
    /// What is left of the firing with this key, and the key for firing that, if hooks there have
    /// ended the session.
    pub(crate) fn again_at(&self, key: &FiringKey) -> Option<(FiringKey, &Again)> {
        let again = self.again.get(key)?;
        let times = if again.fires_anew { 0 } else { again.times };
        Some((FiringKey { again: times, ..key.clone() }, again))
    }

    /// Hooks that were awaited and did not succeed where the session was ended.
    pub(crate) fn failed_at_ends(&self) -> impl Iterator<Item = &str> {
        self.again.values().flat_map(|again| &again.failed).map(String::as_str)
    }

    /// Makes sure that what ended the session does not end it again when it is resumed.
    pub(super) fn leave_behind(&mut self) {
        let mut ended: Vec<(u64, FiringKey, Aborted)> = Vec::new();
        for (key, known) in &mut self.firings_by_key {
            let KnownFiring { verdict: Some(verdict), .. } = known else { continue };
            if !matches!(verdict, Verdict::Abort { .. } | Verdict::Stop { .. }) {
                continue;
            }
            *verdict = Verdict::Proceed { rewritten_input: None };
            let aborted = known.aborted.take().filter(|_| key.task().is_none());
            ended.extend(aborted.map(|aborted| (known.number, key.clone(), aborted)));
        }
        ended.sort_by_key(|(number, ..)| *number);
        for (_, key, aborted) in ended {
            note(&mut self.again, key.point, aborted);
        }
    }
}

fn note(all: &mut HashMap<FiringKey, Again>, point: Point, aborted: Aborted) {
    let Aborted { ran, failed } = aborted;
    // A session that has ended starts once more when it is resumed, and asks again whether it may
    // stop.
    let anew = match point {
        Point::SessionStart { endings } => Some(Point::SessionStart { endings: endings + 1 }),
        Point::SessionStop { time } => Some(Point::SessionStop { time }),
        _ => None,
    };
    if let Some(point) = anew {
        all.insert(point.into(), Again { failed, fires_anew: true, ..Again::default() });
        return;
    }
    let again = all.entry(point.into()).or_default();
    again.times += 1;
    again.ran.extend(ran);
    again.failed = failed;
}
