//! `Listeners`: the ports of this process, and those that other hookwright processes hold.
//!
//! Every listener answers for every wait in the store, so a port that another hookwright process
//! holds serves as well as our own. When that process ends, this one takes the port over.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use hookwright_config::CallbackAddress;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;

use crate::approvals::Approvals;
use crate::listener::serve;
use crate::listener_address::ListenerAddress;
use crate::reception::Desk;
use crate::routes::{PROOF_PATH, router};
use crate::{limits, signing_key};

/// The default port.
pub const PORT: u16 = 8765;

/// The listeners of this process.
pub(crate) struct Listeners {
    approvals: Arc<Approvals>,
    address: CallbackAddress,
    /// Used if the configuration names no port.
    default_port: u16,
    desk: Desk,
    /// Maps each requested port to the port in use.
    ports: Mutex<HashMap<u16, u16>>,
}

/// The address at which people can answer a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Prefix of the links.
    pub(crate) base_url: String,
    /// The port in use.
    pub(crate) port: u16,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

/// Why no listener is available.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program is using the requested port.
    #[error("another program is using the port for answers, {address}")]
    Taken {
        /// The address.
        address: SocketAddr,
    },
    /// The system reports an error.
    #[error("cannot listen for answers at {address}: {cause}")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
}

/// What to do if another program holds the port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfTaken {
    /// Use any free port.
    UseAnother,
    /// Fail: no person can answer.
    Fail,
    /// Wait without a listener: the question has already been sent.
    WaitAnyway,
}

impl Listeners {
    pub(crate) fn new(
        approvals: Arc<Approvals>,
        address: CallbackAddress,
        default_port: u16,
        desk: Desk,
    ) -> Self {
        Self { approvals, address, default_port, desk, ports: Mutex::default() }
    }

    /// Ensures a listener for a new wait. A hook can request its own port.
    pub(crate) async fn reach(&self, own_port: Option<u16>) -> Result<Reached, ListenError> {
        let configured = self.address.port;
        let usual = configured.unwrap_or(self.default_port);
        let is_named = configured.is_some() || own_port == Some(usual);
        let if_taken = if is_named { IfTaken::Fail } else { IfTaken::UseAnother };
        let own_port = own_port.filter(|port| *port != usual);
        let (port, notes) = match own_port {
            // A public address leads to one port only, usually the default one.
            Some(_) if self.address.public_url.is_some() => self.hold(usual, if_taken).await?,
            Some(port) => self.hold(port, IfTaken::Fail).await?,
            None => self.hold(usual, if_taken).await?,
        };
        let port = match own_port {
            Some(own_port) => self.hold(own_port, IfTaken::Fail).await?.0,
            None => port,
        };
        Ok(Reached { base_url: self.base_url(port), port, notes })
    }

    /// Ensures a listener for a wait from before a crash. People already have its address, so only
    /// its own port is useful.
    pub(crate) async fn reach_again(&self, port: u16) -> Result<Vec<String>, ListenError> {
        self.hold(port, IfTaken::WaitAnyway).await.map(|(_, notes)| notes)
    }

    async fn hold(
        &self,
        wanted: u16,
        if_taken: IfTaken,
    ) -> Result<(u16, Vec<String>), ListenError> {
        let mut ports = self.ports.lock().await;
        // A replacement port is no help to a hook that names a certain port.
        let is_it =
            |port: &&u16| **port == wanted || wanted == 0 || if_taken == IfTaken::UseAnother;
        if let Some(port) = ports.get(&wanted).filter(is_it) {
            return Ok((*port, Vec::new()));
        }
        let (port, note) = self.take(wanted, if_taken).await?;
        // If another program holds the port, later answers would not reach us.
        if if_taken != IfTaken::WaitAnyway || note.is_none() {
            ports.extend([(wanted, port), (port, port)]);
        }
        Ok((port, note.into_iter().collect()))
    }

    async fn take(
        &self,
        wanted: u16,
        if_taken: IfTaken,
    ) -> Result<(u16, Option<String>), ListenError> {
        for _ in 0..limits::BIND_ATTEMPTS_MAX {
            if let Some(port) = self.bind(wanted).await? {
                return Ok((port, None));
            }
            match self.holder_of(wanted).await {
                Holder::Hookwright => {
                    self.take_over_later(wanted);
                    return Ok((wanted, None));
                }
                Holder::OtherProgram => break,
                Holder::Free => {}
            }
        }
        let address = self.address_of(wanted);
        match if_taken {
            IfTaken::Fail => Err(ListenError::Taken { address }),
            IfTaken::WaitAnyway => {
                self.take_over_later(wanted);
                let note = format!(
                    "the address that was sent points to {address}, which another program is \
                     using now; answer with `hookwright approve` or `hookwright reject`"
                );
                Ok((wanted, Some(note)))
            }
            IfTaken::UseAnother => {
                let port = self.bind(0).await?.ok_or(ListenError::Taken { address })?;
                let mut note =
                    format!("another program is using port {wanted}, so answers go to port {port}");
                if self.address.public_url.is_some() {
                    note.push_str("; make sure that `public_url` leads there");
                }
                Ok((port, Some(note)))
            }
        }
    }

    /// Listens at a port; `None` if another process holds it.
    async fn bind(&self, wanted: u16) -> Result<Option<u16>, ListenError> {
        let address = self.address_of(wanted);
        let refused = |cause| ListenError::Refused { address, cause };
        match TcpListener::bind(address).await {
            Ok(listener) => {
                let port = listener.local_addr().map_err(refused)?.port();
                self.start(listener, port);
                Ok(Some(port))
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(cause) => Err(refused(cause)),
        }
    }

    fn start(&self, listener: TcpListener, port: u16) {
        let router = router(Arc::clone(&self.approvals), self.known_as(port));
        let turn = self.approvals.port_turns.try_take(self.address_of(port));
        let desk = self.desk.clone();
        self.desk.run(async move {
            serve(listener, router, desk, limits::CONNECTION_WAIT).await;
            drop(turn);
        });
    }

    /// Listens at a port as soon as its holder is gone.
    fn take_over_later(&self, port: u16) {
        let (address, desk) = (self.address_of(port), self.desk.clone());
        let turns = self.approvals.port_turns.clone();
        let router = router(Arc::clone(&self.approvals), self.known_as(port));
        self.desk.run(async move {
            let mut coming = std::pin::pin!(turns.wait_for(address));
            let mut turn = None;
            let listener = loop {
                let pause = match turn {
                    Some(_) => limits::TAKE_OVER_PAUSE,
                    None => limits::TAKE_OVER_PAUSE_WITHOUT_TURN,
                };
                tokio::select! {
                    () = desk.stop.cancelled() => return,
                    come = &mut coming, if turn.is_none() => turn = Some(come),
                    () = tokio::time::sleep(pause) => {}
                }
                if let Ok(listener) = TcpListener::bind(address).await {
                    break listener;
                }
            };
            serve(listener, router, desk, limits::CONNECTION_WAIT).await;
            drop(turn);
        });
    }

    async fn holder_of(&self, port: u16) -> Holder {
        let address = SocketAddr::new(nearest(self.bind_address()), port);
        let Ok(challenge) = signing_key::random_text() else {
            return Holder::OtherProgram;
        };
        let asked = tokio::time::timeout(limits::PROOF_WAIT, ask(address, &challenge)).await;
        match asked {
            Ok(Ok(proof)) if self.approvals.key.is_proof(&proof, port, &challenge) => {
                Holder::Hookwright
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => Holder::Free,
            Ok(_) | Err(_) => Holder::OtherProgram,
        }
    }

    fn known_as(&self, port: u16) -> ListenerAddress {
        let public_url = self.address.public_url.clone();
        ListenerAddress { bind: self.bind_address(), port, public_url }
    }

    fn bind_address(&self) -> IpAddr {
        self.address.bind.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }

    fn address_of(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.bind_address(), port)
    }

    fn base_url(&self, port: u16) -> String {
        match &self.address.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", SocketAddr::new(nearest(self.bind_address()), port)),
        }
    }
}

/// The holder of a port.
enum Holder {
    Hookwright,
    OtherProgram,
    Free,
}

/// The address at which this machine can reach itself.
pub(crate) fn nearest(bind: IpAddr) -> IpAddr {
    match bind {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

/// Asks the listener to prove that it is hookwright. The challenge tells other programs nothing.
async fn ask(address: SocketAddr, challenge: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "GET {PROOF_PATH}?challenge={challenge} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         \r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(limits::PROOF_BYTES_MAX).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let is_good = head.starts_with("HTTP/1.1 200 ");
    Ok(if is_good { body.trim().to_owned() } else { String::new() })
}
