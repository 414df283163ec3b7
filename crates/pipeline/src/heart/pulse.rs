//! [`Pulse`]: when a worker sends a beat, whom it declares dead, and what its sessions may still do.
//! No IO and no clock: what happened goes in, what to do comes out.
//!
//! Two rules keep a living worker's leases safe, and neither compares the clocks of two machines:
//!
//! - Another worker is dead after [`BEATS_UNTIL_DEATH`] of our own beats that arrived while its
//!   number stayed the same. Beats are never sent in bursts, so these take at least as many
//!   intervals. A server that does not answer, or an observer that sleeps, counts nothing.
//! - A worker whose own beats do not arrive has no agent left before others can have counted that
//!   far (`contact.rs`).

use std::collections::BTreeMap;
use std::time::Duration;

use hookwright_store::{BeatReply, Fence, WatchedWorker, WorkerId};

use super::contact::{Contact, Moment};
use crate::limits::BEATS_UNTIL_DEATH;
use crate::orders::Order;

/// What happened.
#[derive(Debug)]
pub(super) enum Happened {
    /// Time has passed.
    Nothing,
    /// The beat that was sent then has been answered.
    Answered { sent: Moment, reply: BeatReply },
    /// The beat has not been answered, and may have arrived or not.
    Failed,
    /// The store says that this worker was woken.
    Woken,
    /// The look has been answered, or could not be made.
    Looked { reply: Option<BeatReply> },
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PulseStep {
    Beat,
    /// Tell all sessions that the beat which was sent then has arrived.
    Arrived(Moment),
    /// With the number that was seen: if it has changed since, the worker lives.
    DeclareDead(WatchedWorker),
    /// End the sessions of these leases at once.
    Lose(Vec<Fence>),
    /// Give this order to all sessions.
    Give(Order),
    /// Look why this worker was woken.
    Look,
    /// Wake all sessions.
    Wake,
    /// Ask the sessions of these leases to end, so many times.
    Stop(Vec<(Fence, u64)>),
    /// This worker was declared dead.
    Die,
}

#[derive(Debug)]
pub(super) struct Pulse {
    interval: Duration,
    contact: Contact,
    /// When the next beat is sent; `None` while one is under way.
    due: Option<Moment>,
    /// The number of each watched worker, and our beats that arrived since it changed.
    watched: BTreeMap<WorkerId, (u64, u32)>,
    is_dead: bool,
    /// How often this worker was woken, as far as its sessions know.
    wakes: u64,
    /// How often sessions were asked to end, as far as they know.
    stops: Vec<(Fence, u64)>,
    is_looking: bool,
    /// Woken while it was looking.
    looks_again: bool,
}

impl Pulse {
    /// The worker has joined by a call that was made then.
    pub(super) fn new(interval: Duration, joined: Moment) -> Self {
        Self {
            interval,
            contact: Contact::new(interval, joined),
            due: Some(joined),
            watched: BTreeMap::new(),
            is_dead: false,
            wakes: 0,
            stops: Vec::new(),
            is_looking: false,
            looks_again: false,
        }
    }

    pub(super) fn advance(&mut self, happened: Happened, now: Moment) -> Vec<PulseStep> {
        let mut steps = Vec::new();
        if self.is_dead {
            return steps;
        }
        match happened {
            Happened::Nothing => {}
            Happened::Failed => self.due = Some(now + self.interval),
            Happened::Answered { sent, reply } => {
                self.due = Some(now + self.interval);
                if self.contact.beat_arrived(sent) && reply.is_living {
                    steps.push(PulseStep::Arrived(sent));
                }
                let dead = self.count(&reply.watched);
                steps.extend(dead.into_iter().map(PulseStep::DeclareDead));
                steps.extend(self.learn(reply));
            }
            Happened::Woken if self.is_looking => self.looks_again = true,
            Happened::Woken => steps.extend(self.look()),
            Happened::Looked { reply } => {
                self.is_looking = false;
                steps.extend(reply.into_iter().flat_map(|reply| self.learn(reply)));
                if self.looks_again {
                    steps.extend(self.look());
                }
            }
        }
        if self.is_dead {
            self.due = None;
            return vec![PulseStep::Die];
        }
        steps.extend(self.contact.changed_order(now).map(PulseStep::Give));
        if self.due.is_some_and(|due| due <= now) {
            self.due = None;
            steps.push(PulseStep::Beat);
        }
        steps
    }

    fn look(&mut self) -> Option<PulseStep> {
        (self.is_looking, self.looks_again) = (true, false);
        Some(PulseStep::Look)
    }

    /// What a beat or a look tells.
    fn learn(&mut self, reply: BeatReply) -> Vec<PulseStep> {
        self.is_dead = !reply.is_living;
        let mut steps = Vec::new();
        if !reply.lost.is_empty() {
            steps.push(PulseStep::Lose(reply.lost));
        }
        if reply.wakes > self.wakes {
            self.wakes = reply.wakes;
            steps.push(PulseStep::Wake);
        }
        let known = |fence: &Fence| self.stops.iter().find(|(known, _)| known == fence);
        let more = |(fence, times): &(Fence, u64)| {
            let more = times.saturating_sub(known(fence).map_or(0, |(_, times)| *times));
            (more > 0).then(|| (fence.clone(), more))
        };
        let stops: Vec<_> = reply.stops.iter().filter_map(more).collect();
        if !stops.is_empty() {
            self.stops = reply.stops;
            steps.push(PulseStep::Stop(stops));
        }
        steps
    }

    /// How long nothing has to be done, unless something happens.
    pub(super) fn pause(&self, now: Moment) -> Duration {
        let due = self.due.filter(|due| *due > now);
        let next = self.contact.next_change(now).into_iter().chain(due).min();
        match self.due {
            Some(due) if due <= now => Duration::ZERO,
            _ => next.map_or(self.interval, |next| next - now),
        }
    }

    /// Counts one beat that has arrived. Returns the workers that have been silent for too many.
    fn count(&mut self, seen: &[WatchedWorker]) -> Vec<WatchedWorker> {
        let before = std::mem::take(&mut self.watched);
        let mut dead = Vec::new();
        for worker in seen {
            let beats = match before.get(&worker.id) {
                Some((number, beats)) if *number == worker.number => beats + 1,
                _ => 0,
            };
            self.watched.insert(worker.id, (worker.number, beats));
            if beats >= BEATS_UNTIL_DEATH {
                dead.push(*worker);
            }
        }
        dead
    }
}

#[cfg(test)]
mod tests;
