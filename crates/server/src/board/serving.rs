//! [`serve`]: shows a board at an address, until it is dropped.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;

use super::Board;
use super::gate::Gate;
use super::routes::{Door, router};
use crate::limits;
use crate::listener;
use crate::listeners::nearest;
use crate::reach::Reach;
use crate::reception::Reception;

/// The port where nothing says otherwise: beside the one for answers.
pub const PORT: u16 = 8766;

/// A board that is shown. Dropping it ends every page's stream, then the listener.
pub struct Serving {
    /// The address that lets its user in. Whoever has it sees everything and can decide.
    pub url: String,
    /// What a person should know about it.
    pub notes: Vec<String>,
    _reception: Reception,
}

/// Why a board cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Somebody else has the port that was asked for.
    #[error("another program is using the port for the page, {address}")]
    Taken {
        /// Where.
        address: SocketAddr,
    },
    /// The system does not let us.
    #[error("the page cannot be served at {address}: {cause}")]
    Refused {
        /// Where.
        address: SocketAddr,
        /// What it says.
        cause: io::Error,
    },
}

/// Shows a board at this address; without a port at the usual one, or a free one if that is taken.
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
    let reach = Reach { bind, port: address.port(), public_url: None };
    let router = router(Door::new(Arc::new(board), gate, reach, desk.clone()));
    let own = desk.clone();
    desk.run(async move {
        // Within the runtime of the reception, which it belongs to from here on.
        if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
            listener::serve(listener, router, own, limits::STREAM_WAIT * 2).await;
        }
    });
    Ok(Serving { url, notes, _reception: reception })
}
