//! [`Relay`]: a network between a client and a server that a test can close, stop and delay.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Passes connections on to a port of this machine.
#[derive(Debug)]
pub struct Relay {
    port: u16,
    network: Arc<Network>,
}

#[derive(Debug)]
struct Network {
    state: Mutex<State>,
    changed: Condvar,
    /// How often a client spoke after the server had, or first.
    round_trips: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// New connections are closed.
    is_closed: bool,
    /// How many were.
    refused: u64,
    /// What clients send is held back.
    holds_requests: bool,
    /// What the server sends is held back.
    holds_answers: bool,
    /// What clients of connections below this number sent is held back, and their later messages.
    kept_below: u64,
    /// What clients of connections below this number sent, and is held back, is lost.
    lost_below: u64,
    /// The number of the next connection.
    next: u64,
    /// How long each message from a client takes longer.
    delay: Duration,
    /// The connections that are open.
    open: Vec<(TcpStream, TcpStream)>,
    /// How many messages are held back.
    held: usize,
}

impl Relay {
    /// A relay to this port.
    #[must_use]
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let (state, changed) = (Mutex::default(), Condvar::new());
        let network = Arc::new(Network { state, changed, round_trips: AtomicU64::new(0) });
        let shared = Arc::clone(&network);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A connection that fails is one that a client has lost.
                let _ = shared.connect(client, server);
            }
        });
        Self { port, network }
    }

    /// Where clients connect, at 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address of a database through this relay, for the superuser.
    #[must_use]
    pub fn address(&self, database: &str) -> String {
        crate::cluster::address(self.port, crate::OWNER, database)
    }

    /// How many round trips there were.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.network.round_trips.load(Ordering::SeqCst)
    }

    /// Cuts all connections and refuses new ones.
    pub fn close(&self) {
        let mut state = self.network.state();
        state.is_closed = true;
        state.cut();
    }

    /// Refuses new connections. Those that are open stay.
    pub fn refuse(&self) {
        self.network.state().is_closed = true;
    }

    /// How many connections were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.network.state().refused
    }

    /// Admits connections again.
    pub fn open(&self) {
        self.network.state().is_closed = false;
    }

    /// Cuts all connections. Requests that are held back still arrive once they are released.
    pub fn cut(&self) {
        self.network.state().cut();
    }

    /// Holds back what clients send from now on.
    pub fn hold_requests(&self) {
        self.network.state().holds_requests = true;
    }

    /// Holds back what the server answers from now on.
    pub fn hold_answers(&self) {
        self.network.state().holds_answers = true;
    }

    /// Holds back both directions, as a network does that passes nothing on.
    pub fn stop(&self) {
        let mut state = self.network.state();
        state.holds_requests = true;
        state.holds_answers = true;
    }

    /// Cuts all connections, and keeps what their clients have sent. New connections pass. What is
    /// kept arrives at the next [`Self::release`], later than what clients sent after it.
    pub fn keep_back(&self) {
        let mut state = self.network.state();
        state.kept_below = state.next;
        state.holds_requests = false;
        state.cut();
    }

    /// Cuts all connections. What is held back is lost, whichever way it was going.
    pub fn lose(&self) {
        let mut state = self.network.state();
        state.lost_below = state.next;
        state.holds_requests = false;
        state.holds_answers = false;
        state.cut();
        drop(state);
        self.network.changed.notify_all();
    }

    /// Passes everything on again, also what was held back.
    pub fn release(&self) {
        let mut state = self.network.state();
        state.holds_requests = false;
        state.holds_answers = false;
        state.kept_below = 0;
        drop(state);
        self.network.changed.notify_all();
    }

    /// Delays every message of a client by this long.
    pub fn delay(&self, delay: Duration) {
        self.network.state().delay = delay;
    }

    /// Waits until a message is held back, but not longer than this; whether there is one.
    pub fn wait_for_held(&self, most: Duration) -> bool {
        let state = self.network.state();
        let changed = &self.network.changed;
        let waited = changed.wait_timeout_while(state, most, |state| state.held == 0);
        waited.map_or_else(|poisoned| poisoned.into_inner().0.held, |(state, _)| state.held) > 0
    }

    /// Waits until this many messages are held back.
    pub fn wait_until_held(&self, count: usize) {
        let mut state = self.network.state();
        while state.held < count {
            state = self.network.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    fn cut(&mut self) {
        for (client, _) in self.open.drain(..) {
            // Only the client's side: what is on its way to the server arrives.
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

impl Network {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(self: &Arc<Self>, client: TcpStream, server: u16) -> io::Result<()> {
        {
            let mut state = self.state();
            if state.is_closed {
                state.refused += 1;
                return client.shutdown(Shutdown::Both);
            }
        }
        let server = TcpStream::connect(("127.0.0.1", server))?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let server_spoke = Arc::new(AtomicBool::new(true));
        let number = {
            let mut state = self.state();
            state.open.push((client.try_clone()?, server.try_clone()?));
            state.next += 1;
            state.next - 1
        };
        let requests = (client.try_clone()?, server.try_clone()?, Arc::clone(&server_spoke));
        let network = Arc::clone(self);
        thread::spawn(move || {
            let (from, to, server_spoke) = requests;
            network.pass(from, to, |network| {
                if server_spoke.swap(false, Ordering::SeqCst) {
                    network.round_trips.fetch_add(1, Ordering::SeqCst);
                }
                let delay = network.state().delay;
                thread::sleep(delay);
                network.wait_while(|state| {
                    (state.holds_requests || number < state.kept_below)
                        && number >= state.lost_below
                });
                number >= network.state().lost_below
            });
        });
        let network = Arc::clone(self);
        thread::spawn(move || {
            network.pass(server, client, |network| {
                server_spoke.store(true, Ordering::SeqCst);
                network.wait_while(|state| state.holds_answers && number >= state.lost_below);
                number >= network.state().lost_below
            });
        });
        Ok(())
    }

    /// Passes one direction on until it ends. `admit` says whether to pass a message on, after
    /// having waited for that.
    fn pass(&self, mut from: TcpStream, mut to: TcpStream, admit: impl Fn(&Self) -> bool) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            if !admit(self) || to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Read);
        let _ = to.shutdown(Shutdown::Write);
    }

    fn wait_while(&self, is_held: impl Fn(&State) -> bool) {
        let mut state = self.state();
        if !is_held(&state) {
            return;
        }
        state.held += 1;
        self.changed.notify_all();
        while is_held(&state) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.held -= 1;
    }
}
