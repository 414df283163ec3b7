//! [`Orders`]: what a session may do while its process loses touch with the store, or is asked to
//! give the session back. The `heart` gives them, or a worker to its session processes; the session
//! obeys them. The same way brings what others want of a session: to look into the store, where an
//! answer or a request waits, and to end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// What a session has to do. Each order includes those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Continue.
    #[default]
    Continue,
    /// Start no turn of an agent. Taken back if the store is reached again.
    StartNoTurn,
    /// End the agents, in order, and then this run of the session. It is left as cut off, so that
    /// another process can continue it. Final.
    End,
    /// Kill the agents at once. No hook runs any more. Final.
    Kill,
}

/// An order with its reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenOrder {
    /// The order.
    pub order: Order,
    /// Why it was given, in words.
    pub why: String,
}

/// What comes for the sessions of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionMessage {
    /// The order has changed.
    Order(GivenOrder),
    /// There is something in the store to look for.
    Wake,
    /// A beat of this process has arrived in the store.
    Beat {
        /// When it was sent, since this machine's boot.
        sent: Duration,
    },
    /// Someone has asked the session to end, so many times.
    Stop {
        /// More than once: it is to exit at once.
        times: u64,
    },
}

type SessionMessageListener = dyn Fn(&SessionMessage) + Send + Sync;

/// The orders for the sessions of one process. Clones share them.
#[derive(Clone, Default)]
pub struct Orders {
    given: Arc<watch::Sender<GivenOrder>>,
    wakes: Arc<watch::Sender<u64>>,
    listener: Option<Arc<SessionMessageListener>>,
}

impl Orders {
    /// Orders of which every change is also told to this listener, on the giver's thread, as is every
    /// other message.
    pub fn telling(listener: impl Fn(&SessionMessage) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Arc::new(listener)), ..Self::default() }
    }

    /// Gives an order. One that is final is not taken back.
    pub fn give(&self, order: Order, why: &str) {
        let mut changed = None;
        self.given.send_if_modified(|given| {
            if given.order == order || given.order >= Order::End && order < given.order {
                return false;
            }
            *given = GivenOrder { order, why: why.to_owned() };
            changed = Some(given.clone());
            true
        });
        if let Some(given) = changed {
            self.tell(&SessionMessage::Order(given));
        }
    }

    /// Says that there is something in the store to look for.
    pub fn wake(&self) {
        self.wakes.send_modify(|wakes| *wakes += 1);
        self.tell(&SessionMessage::Wake);
    }

    /// Asks the session to end, so many times.
    pub fn stop(&self, times: u64) {
        self.tell(&SessionMessage::Stop { times });
    }

    /// Says that the beat has arrived which was sent then, since this machine's boot.
    pub fn beat_arrived(&self, sent: Duration) {
        self.tell(&SessionMessage::Beat { sent });
    }

    /// Changes with each call of [`Self::wake`].
    pub fn wakes(&self) -> watch::Receiver<u64> {
        self.wakes.subscribe()
    }

    fn tell(&self, message: &SessionMessage) {
        if let Some(listener) = &self.listener {
            listener(message);
        }
    }

    /// The last order.
    pub fn current(&self) -> GivenOrder {
        self.given.borrow().clone()
    }

    /// Waits until this order, or a stronger one, is given.
    pub async fn reached(&self, order: Order) -> GivenOrder {
        self.until(|given| given.order >= order).await
    }

    /// Waits until turns of agents may start.
    pub(crate) async fn turns_may_start(&self) {
        self.until(|given| given.order < Order::StartNoTurn).await;
    }

    async fn until(&self, holds: impl Fn(&GivenOrder) -> bool) -> GivenOrder {
        let mut watched = self.given.subscribe();
        // `self` holds the sender, so it cannot go away.
        let given = watched.wait_for(|given| holds(given)).await.ok().map(|given| given.clone());
        match given {
            Some(given) => given,
            None => std::future::pending().await,
        }
    }
}

impl fmt::Debug for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Orders({:?})", self.current())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_final_order_is_not_taken_back_and_each_change_is_told_once() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let telling = Arc::clone(&told);
        let orders = Orders::telling(move |message| match message {
            SessionMessage::Order(given) => telling.lock().unwrap().push(given.order),
            SessionMessage::Wake | SessionMessage::Beat { .. } | SessionMessage::Stop { .. } => {
                panic!("{message:?}")
            }
        });
        for order in [
            Order::StartNoTurn,
            Order::StartNoTurn,
            Order::Continue,
            Order::End,
            Order::Continue,
            Order::StartNoTurn,
            Order::Kill,
            Order::End,
        ] {
            orders.give(order, "a reason");
        }
        let expected = [Order::StartNoTurn, Order::Continue, Order::End, Order::Kill];
        assert_eq!(*told.lock().unwrap(), expected);
        assert_eq!(orders.current().order, Order::Kill);
    }
}
