//! [`ResolverFile`]: which DNS servers are queried, for which names, and with which timeouts
//! (resolv.conf(5)).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

use crate::limits::{DNS_ATTEMPTS_MAX, DNS_DOMAINS_MAX, DNS_SERVERS_MAX, DNS_TIMEOUT_MAX};

/// The settings in `/etc/resolv.conf`, with the C library's defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolverFile {
    servers: Vec<(IpAddr, u32)>,
    /// Search domains for short names.
    search: Vec<String>,
    /// A name with at least this many dots is first looked up as it is.
    dots: usize,
    /// The timeout per server.
    pub(super) timeout: Duration,
    /// How often all servers are queried.
    pub(super) attempts: usize,
}

impl ResolverFile {
    /// Parses the file. Unknown lines are skipped.
    pub(super) fn parse(text: &str) -> Self {
        let mut file = Self {
            servers: Vec::new(),
            search: Vec::new(),
            dots: 1,
            timeout: Duration::from_secs(5),
            attempts: 2,
        };
        for line in text.lines() {
            let mut words = line.split(['#', ';']).next().unwrap_or_default().split_whitespace();
            match words.next() {
                Some("nameserver") => file.servers.extend(words.next().and_then(server)),
                // The last of these lines counts.
                Some("search" | "domain") => {
                    let domains = words.map(|domain| domain.trim_matches('.').to_owned());
                    file.search =
                        domains.filter(|it| !it.is_empty()).take(DNS_DOMAINS_MAX).collect();
                }
                Some("options") => words.for_each(|option| file.set(option)),
                _ => {}
            }
        }
        file.servers.truncate(DNS_SERVERS_MAX);
        if file.servers.is_empty() {
            file.servers.push((Ipv4Addr::LOCALHOST.into(), 0));
        }
        file
    }

    fn set(&mut self, option: &str) {
        let Some((name, value)) = option.split_once(':') else { return };
        let Ok(value) = value.parse::<u32>() else { return };
        match name {
            "ndots" => self.dots = value.min(15) as usize,
            "timeout" => {
                self.timeout = Duration::from_secs(value.max(1).into()).min(DNS_TIMEOUT_MAX);
            }
            "attempts" => self.attempts = (value.max(1) as usize).min(DNS_ATTEMPTS_MAX),
            _ => {}
        }
    }

    /// The servers in the order in which they are queried.
    pub(super) fn servers(&self, port: u16) -> impl Iterator<Item = SocketAddr> {
        self.servers.iter().map(move |(ip, scope)| match ip {
            IpAddr::V4(_) => SocketAddr::new(*ip, port),
            IpAddr::V6(ip) => SocketAddrV6::new(*ip, port, 0, *scope).into(),
        })
    }

    /// The names to look up for a host, in order.
    pub(super) fn candidates(&self, host: &str) -> Vec<String> {
        if let Some(whole) = host.strip_suffix('.') {
            return vec![whole.to_owned()];
        }
        let mut names: Vec<String> =
            self.search.iter().map(|domain| format!("{host}.{domain}")).collect();
        let has_dots = host.matches('.').count() >= self.dots;
        names.insert(if has_dots { 0 } else { names.len() }, host.to_owned());
        names
    }
}

/// An address, and the network interface of a link-local one (`fe80::1%eth0`).
fn server(word: &str) -> Option<(IpAddr, u32)> {
    let Some((ip, interface)) = word.split_once('%') else {
        return Some((word.parse().ok()?, 0));
    };
    let ip: Ipv6Addr = ip.parse().ok()?;
    let number = interface.parse().ok().or_else(|| {
        let is_name = !interface.contains('/') && interface != "..";
        let path = is_name.then(|| format!("/sys/class/net/{interface}/ifindex"))?;
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    });
    Some((ip.into(), number?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_domains_and_options_are_read_and_the_rest_is_left_out() {
        let file = ResolverFile::parse(
            "# made by hand\nnameserver 10.0.0.1\nnameserver nonsense\nnameserver fe80::1%7 ; here\n\
             domain old.example\nsearch example.com. lan\noptions ndots:2 edns0 timeout:3\n\
             options attempts:99 rotate timeout:x\nnameserver 10.0.0.2\nnameserver 10.0.0.3\n",
        );
        let servers: Vec<String> = file.servers(53).map(|address| address.to_string()).collect();
        assert_eq!(servers, ["10.0.0.1:53", "[fe80::1%7]:53", "10.0.0.2:53"]);
        assert_eq!(file.search, ["example.com", "lan"]);
        assert_eq!((file.dots, file.timeout, file.attempts), (2, Duration::from_secs(3), 5));
    }

    #[test]
    fn without_a_server_this_machine_is_asked() {
        let servers: Vec<SocketAddr> = ResolverFile::parse("").servers(53).collect();
        assert_eq!(servers, ["127.0.0.1:53".parse().unwrap()]);
    }

    #[test]
    fn an_interface_is_found_by_its_name_and_an_unknown_one_leaves_the_server_out() {
        assert_eq!(server("fe80::1%lo"), Some(("fe80::1".parse().unwrap(), 1)));
        for word in ["fe80::1%no-such-interface", "fe80::1%../lo", "10.0.0.1%lo", ""] {
            assert_eq!(server(word), None, "{word}");
        }
    }

    #[test]
    fn short_names_are_searched_in_the_domains_first_and_others_are_tried_unchanged() {
        let file = ResolverFile::parse("search example.com lan\n");
        assert_eq!(file.candidates("build"), ["build.example.com", "build.lan", "build"]);
        assert_eq!(file.candidates("a.b"), ["a.b", "a.b.example.com", "a.b.lan"]);
        assert_eq!(file.candidates("build."), ["build"]);
    }
}
