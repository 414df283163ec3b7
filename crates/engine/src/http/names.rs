//! [`HostNames`]: the addresses of a host, from `/etc/hosts` and the DNS servers of
//! `/etc/resolv.conf`.
//!
//! The C library's lookup is not used: it loads the libraries that `/etc/nsswitch.conf` names into
//! this process, even a statically linked one, from the folders in `LD_LIBRARY_PATH`. A repository
//! that sets this variable would run its code inside the guard.
//! `docs/decisions/022-static-linking.md` says what is given up.
//!
//! Both files are read for every lookup, so that a change of the network counts at once.
//! Connections are kept, so lookups are rare.

mod dns;
mod hosts_file;
mod message;
mod resolver_file;

use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::limits::{HOSTS_BYTES_MAX, RESOLVER_BYTES_MAX};
use resolver_file::ResolverFile;

#[derive(Debug, Clone)]
pub(super) struct HostNames {
    files: Arc<NameFiles>,
}

/// The system's files about hosts.
#[derive(Debug)]
struct NameFiles {
    hosts: PathBuf,
    resolver: PathBuf,
    /// The port of DNS servers.
    dns_port: u16,
}

/// Why a host has no address. It does not contain the host's name: an address may be a secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum NameError {
    #[error("unknown host: neither /etc/hosts nor a DNS server knows its name")]
    Unknown,
    #[error("cannot resolve the host name: no DNS server of /etc/resolv.conf answers")]
    NoServer,
    #[error("cannot resolve the host name: the DNS server failed")]
    ServerFailed,
    #[error("cannot resolve the host name: {file} cannot be read: {cause}")]
    Unreadable { file: PathBuf, cause: String },
}

impl HostNames {
    /// Uses the files of this system.
    pub(super) fn of_system() -> Self {
        let (hosts, resolver) = ("/etc/hosts".into(), "/etc/resolv.conf".into());
        Self { files: Arc::new(NameFiles { hosts, resolver, dns_port: 53 }) }
    }
}

impl Resolve for HostNames {
    fn resolve(&self, name: Name) -> Resolving {
        let files = Arc::clone(&self.files);
        Box::pin(async move {
            let found = files.addresses(name.as_str()).await?;
            // A port of 0 is replaced by that of the URL.
            Ok(Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0))) as Addrs)
        })
    }
}

impl NameFiles {
    /// The addresses of this host, in the order in which to try them; at least one.
    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NameError> {
        let listed = hosts_file::addresses(&read(&self.hosts, HOSTS_BYTES_MAX)?, host);
        if !listed.is_empty() {
            return Ok(listed);
        }
        // RFC 6761 forbids asking a server for these names.
        if is_localhost(host) {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let servers = ResolverFile::parse(&read(&self.resolver, RESOLVER_BYTES_MAX)?);
        let mut found = dns::addresses(host, &servers, self.dns_port).await?;
        found.sort_by_cached_key(|ip| (!has_route(*ip), ip.is_ipv4()));
        Ok(found)
    }
}

/// The text of a file; empty if it does not exist, as for the C library.
fn read(path: &Path, bytes_max: u64) -> Result<String, NameError> {
    let unreadable = |error: io::Error| NameError::Unreadable {
        file: path.to_owned(),
        cause: error.to_string(),
    };
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(String::new()),
        opened => opened.map_err(unreadable)?,
    };
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn is_localhost(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// Whether the system has a route to this address. Nothing is sent.
fn has_route(ip: IpAddr) -> bool {
    let any: IpAddr = match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    // The port does not matter: no packet is sent.
    UdpSocket::bind((any, 0)).is_ok_and(|socket| socket.connect((ip, 9)).is_ok())
}

#[cfg(test)]
mod tests;
