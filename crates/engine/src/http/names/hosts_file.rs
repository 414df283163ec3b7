//! `/etc/hosts`: an address and its names on each line (hosts(5)).

use std::net::IpAddr;

/// The addresses that the file lists for this host, in its order.
pub(super) fn addresses(text: &str, host: &str) -> Vec<IpAddr> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let address = |line: &str| {
        let entry = line.split('#').next().unwrap_or_default();
        let mut words = entry.split_ascii_whitespace();
        let ip = words.next()?.parse::<IpAddr>().ok()?;
        words.any(|name| name.eq_ignore_ascii_case(host)).then_some(ip)
    };
    text.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_the_addresses_of_all_lines_that_name_it() {
        let text = "# the first one\n127.0.0.1 localhost\n\n10.0.0.1\tbuild.example.com  Build # ci\n\
                    ::1 localhost ip6-localhost\n10.0.0.2 build\nnonsense build\n10.0.0.3 # build\n\
                    fe80::1%eth0 build\n";
        let of = |host: &str| -> Vec<String> {
            addresses(text, host).iter().map(IpAddr::to_string).collect()
        };
        assert_eq!(of("build"), ["10.0.0.1", "10.0.0.2"]);
        assert_eq!(of("BUILD.example.com."), ["10.0.0.1"]);
        assert_eq!(of("localhost"), ["127.0.0.1", "::1"]);
        assert_eq!(of("10.0.0.1"), [""; 0], "an address is no name");
        assert_eq!(of("example.com"), [""; 0]);
    }
}
