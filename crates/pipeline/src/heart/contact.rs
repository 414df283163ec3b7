//! [`Contact`]: what sessions may still do, by the time since the last beat that has arrived. No IO
//! and no clock.
//!
//! A worker whose beats do not arrive has no agent left after [`KILL_AFTER`] intervals since it sent
//! the last one that did. Other workers cannot have counted that far by then. The worker keeps that
//! itself (`pulse.rs`), and so does each process in which it runs a session (`watchdog.rs`), because
//! the worker alone may stand still.

use std::time::Duration;

use crate::limits::{END_AFTER, KILL_AFTER, NO_TURN_AFTER};
use crate::orders::Order;

/// A time, since this machine's boot. It includes the time in which the machine slept.
pub(super) type Moment = Duration;

#[derive(Debug)]
pub(super) struct Contact {
    interval: Duration,
    /// When the last beat that has arrived was sent.
    last_beat: Moment,
    order: Order,
}

impl Contact {
    /// A beat that was sent then has arrived.
    pub(super) fn new(interval: Duration, last_beat: Moment) -> Self {
        Self { interval, last_beat, order: Order::Continue }
    }

    /// The beat that was sent then has arrived. Returns whether it is newer than all others.
    pub(super) fn beat_arrived(&mut self, sent: Moment) -> bool {
        let is_newer = sent > self.last_beat;
        self.last_beat = self.last_beat.max(sent);
        is_newer
    }

    /// The order that applies now, if it is another one than before. After an outage it is
    /// [`Order::Continue`] again, for sessions that begin later. A session that was told to end
    /// keeps its order (`orders.rs`).
    pub(super) fn changed_order(&mut self, now: Moment) -> Option<Order> {
        let silent = now.saturating_sub(self.last_beat);
        let order = match silent {
            _ if silent >= self.interval * KILL_AFTER => Order::Kill,
            _ if silent >= self.interval * END_AFTER => Order::End,
            _ if silent >= self.interval * NO_TURN_AFTER => Order::StartNoTurn,
            _ => Order::Continue,
        };
        (std::mem::replace(&mut self.order, order) != order).then_some(order)
    }

    /// When the order changes next, unless a beat arrives.
    pub(super) fn next_change(&self, now: Moment) -> Option<Moment> {
        let limits = [NO_TURN_AFTER, END_AFTER, KILL_AFTER];
        let changes = limits.map(|beats| self.last_beat + self.interval * beats);
        changes.into_iter().find(|change| *change > now)
    }
}
