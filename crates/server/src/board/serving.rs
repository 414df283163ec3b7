//! [`serve`]: serves a board at an address until it is dropped.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;

use super::Board;
use super::gate::Gate;
use super::routes::{BoardState, router};
use crate::limits;
use crate::listener;
use crate::listener_address::ListenerAddress;
use crate::listeners::nearest;
use crate::reception::Reception;

/// The default port: the one after the port for answers.
pub const PORT: u16 = 8766;

/// A board that is being served. Dropping it ends every page's stream, then the listener.
pub struct Serving {
    /// The address that signs its user in. Everybody who has it can see everything and decide.
    pub url: String,
    /// Notes for the user.
    pub notes: Vec<String>,
    _reception: Reception,
}

/// Why a board cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another program is using the requested port.
    #[error("another program is using the port for the page, {address}")]
    Taken {
        /// The address.
        address: SocketAddr,
    },
    /// The system reports an error.
    #[error("the page cannot be served at {address}: {cause}")]
    Refused {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
}

/// Serves a board at this address. Without a port, uses the default one, or a free one if it is
/// taken.
pub fn serve(board: Board, bind: IpAddr, port: Option<u16>) -> Result<Serving, ServeError> {
    let address = SocketAddr::new(bind, port.unwrap_or(PORT));
    let refused = |cause| ServeError::Refused { address, cause };
    let mut notes = Vec::new();
    let listener = match TcpListener::bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if port.is_some() {
                return Err(ServeError::Taken { address });
            }
            let free = TcpListener::bind(SocketAddr::new(bind, 0)).map_err(refused)?;
            let port = free.local_addr().map_err(refused)?.port();
            notes.push(format!("port {PORT} is already in use, so the page is at port {port}"));
            free
        }
        bound => bound.map_err(refused)?,
    };
    listener.set_nonblocking(true).map_err(refused)?;
    let address = listener.local_addr().map_err(refused)?;
    if !bind.is_loopback() {
        notes.push(
            "others can reach this address, and its traffic is not encrypted; put a proxy or a \
             tunnel with TLS in front of it"
                .to_owned(),
        );
    }
    let gate = Gate::new(board.approvals.key.clone(), address.port()).map_err(refused)?;
    let url = format!("http://{}{}", SocketAddr::new(nearest(bind), address.port()), gate.path());
    let reception = Reception::start().map_err(refused)?;
    let desk = reception.desk();
    let address = ListenerAddress { bind, port: address.port(), public_url: None };
    let router = router(BoardState::new(Arc::new(board), gate, address, desk.clone()));
    let own = desk.clone();
    desk.run(async move {
        // Inside the reception's runtime, which owns the listener from here on.
        if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
            listener::serve(listener, router, own, limits::STREAM_WAIT * 2).await;
        }
    });
    Ok(Serving { url, notes, _reception: reception })
}
