//! Finds the processes at the other end of a local connection.

use std::net::SocketAddr;

/// The other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Client {
    /// One of these processes of our user: those that hold the connection, and those whose
    /// descriptors may not be read.
    OneOf(Vec<u32>),
    /// A process of another user.
    OtherUser,
    /// The other end is already closed: no process holds it.
    Gone,
    /// The system does not tell.
    Unknown,
}

impl Client {
    /// The client that opened the connection from `client` to `server`, two addresses of this
    /// machine.
    #[cfg(target_os = "linux")]
    pub fn of(client: SocketAddr, server: SocketAddr) -> Self {
        linux::client_of(client, server)
    }

    /// Always unknown: the system does not tell.
    #[cfg(not(target_os = "linux"))]
    pub fn of(_client: SocketAddr, _server: SocketAddr) -> Self {
        Client::Unknown
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::net::{IpAddr, SocketAddr};
    use std::os::unix::ffi::OsStrExt;
    use std::{fs, io};

    use super::Client;
    use crate::process_table::processes;

    /// The kernel's lists of connections, as this process sees them.
    const LISTS: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

    pub(super) fn client_of(client: SocketAddr, server: SocketAddr) -> Client {
        let ends = (plain(client), plain(server));
        let Ok(row) = row_of(ends) else { return Client::Unknown };
        let us = rustix::process::geteuid().as_raw();
        let inode = match row {
            None => return Client::Gone,
            Some(row) if row.inode == 0 => return Client::Gone,
            Some(row) if row.user != us => return Client::OtherUser,
            Some(row) => row.inode,
        };
        let found = holders(inode, us);
        // A process that closed the connection meanwhile was perhaps not found.
        match row_of(ends) {
            Ok(Some(row)) if row.inode == inode => Client::OneOf(found),
            _ => Client::Gone,
        }
    }

    /// The line of the client's end, if there is one.
    fn row_of(ends: ((IpAddr, u16), (IpAddr, u16))) -> io::Result<Option<SocketRow>> {
        let first = fs::read_to_string(LISTS[0])?;
        let second = fs::read_to_string(LISTS[1]).unwrap_or_default();
        let mut rows = first.lines().chain(second.lines()).filter_map(row);
        Ok(rows.find(|row| (row.local, row.remote) == ends))
    }

    /// One line of a list.
    #[derive(Debug, PartialEq, Eq)]
    pub(super) struct SocketRow {
        pub(super) local: (IpAddr, u16),
        pub(super) remote: (IpAddr, u16),
        pub(super) user: u32,
        /// 0 if no process holds it.
        pub(super) inode: u64,
    }

    pub(super) fn row(line: &str) -> Option<SocketRow> {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(SocketRow {
            local: address(fields.get(1)?)?,
            remote: address(fields.get(2)?)?,
            user: fields.get(7)?.parse().ok()?,
            inode: fields.get(9)?.parse().ok()?,
        })
    }

    /// `0100007F:1F90`: the address in words of four bytes, each in the machine's order.
    fn address(text: &str) -> Option<(IpAddr, u16)> {
        let (digits, port) = text.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        let words = digits.as_bytes().chunks(8).map(|word| {
            let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
            Some(word.to_ne_bytes())
        });
        let bytes = words.collect::<Option<Vec<[u8; 4]>>>()?.concat();
        let ip = match bytes.len() {
            4 => IpAddr::from(<[u8; 4]>::try_from(bytes).ok()?),
            _ => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?),
        };
        Some((ip.to_canonical(), port))
    }

    fn plain(address: SocketAddr) -> (IpAddr, u16) {
        (address.ip().to_canonical(), address.port())
    }

    /// The user's processes that hold a socket, or whose descriptors may not be read.
    fn holders(inode: u64, user: u32) -> Vec<u32> {
        let name = format!("socket:[{inode}]");
        let holds = |pid: &u32| {
            let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else {
                // A process whose descriptors may not be read still belongs to our user.
                let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
                return is_of_user(&status, user);
            };
            let mut targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
            targets.any(|target| target.as_os_str().as_bytes() == name.as_bytes())
        };
        processes().into_iter().map(|process| process.pid).filter(holds).collect()
    }

    fn is_of_user(status: &str, user: u32) -> bool {
        let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"));
        ids.is_some_and(|ids| ids.split_whitespace().any(|id| id.parse() == Ok(user)))
    }

    #[cfg(test)]
    mod tests {
        use std::net::{Ipv4Addr, Ipv6Addr};

        use super::*;

        #[test]
        fn a_line_of_either_list_is_read() {
            let line = "   1: 0100007F:A1B2 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 x";
            let local = (IpAddr::from([127, 0, 0, 1]), 0xa1b2);
            let remote = (IpAddr::from([127, 0, 0, 1]), 8080);
            let expected = SocketRow { local, remote, user: 1000, inode: 4711 };
            assert_eq!(row(line), Some(expected));
            let mapped = "0000000000000000FFFF00000100007F:0001";
            assert_eq!(address(mapped), Some((IpAddr::V4(Ipv4Addr::LOCALHOST), 1)));
            let six = "00000000000000000000000001000000:0001";
            assert_eq!(address(six), Some((IpAddr::V6(Ipv6Addr::LOCALHOST), 1)));
            assert_eq!(row("  sl  local_address rem_address   st"), None);
        }

        #[test]
        fn the_client_of_a_connection_is_found_until_it_hangs_up() {
            let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let server = listener.local_addr().unwrap();
            let stream = std::net::TcpStream::connect(server).unwrap();
            let client = stream.local_addr().unwrap();
            let (accepted, _) = listener.accept().unwrap();
            let Client::OneOf(found) = client_of(client, server) else { panic!("it is ours") };
            assert!(found.contains(&std::process::id()), "{found:?}");
            drop(stream);
            assert_eq!(client_of(client, server), Client::Gone);
            drop(accepted);
        }
    }
}
