//! [`Watchdog`]: gives a session its orders if its worker does not send beats any more.
//!
//! A worker that stands still passes no orders on to the processes of its sessions. Their agents
//! would work on while another worker continues the sessions.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::contact::{Contact, Moment};
use super::since_boot;
use crate::limits::CLOCK_LOOK;
use crate::orders::{Order, Orders};

/// Watches the worker of a session, in the process of the session, until it is dropped.
pub struct Watchdog {
    beats: SyncSender<Moment>,
}

impl Watchdog {
    /// Begins to watch a worker with these beats. The last one that arrived was sent then, since
    /// this machine's boot.
    pub fn start(interval: Duration, last_beat: Duration, orders: Orders) -> io::Result<Self> {
        let (beats, received) = sync_channel(1);
        let contact = Contact::new(interval, last_beat);
        let watch = move || watch(contact, &received, &orders);
        thread::Builder::new().name("watchdog".to_owned()).spawn(watch)?;
        Ok(Self { beats })
    }

    /// The worker's beat that was sent then, since this machine's boot, has arrived.
    pub fn beat_arrived(&self, sent: Duration) {
        let _ = self.beats.send(sent);
    }
}

fn watch(mut contact: Contact, beats: &Receiver<Moment>, orders: &Orders) {
    loop {
        if let Some(order) = contact.changed_order(since_boot()) {
            let why = match order {
                Order::Continue => "its worker gives signs of life again",
                Order::StartNoTurn | Order::End | Order::Kill => "its worker gives no sign of life",
            };
            orders.give(order, why);
        }
        let now = since_boot();
        let pause = contact.next_change(now).map_or(CLOCK_LOOK, |change| change - now);
        // This thread's waiting does not count the time in which the machine sleeps.
        match beats.recv_timeout(pause.min(CLOCK_LOOK)) {
            Ok(sent) => drop(contact.beat_arrived(sent)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
