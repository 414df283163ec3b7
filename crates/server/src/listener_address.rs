//! [`ListenerAddress`]: the host names that a listener answers to, and which requests it accepts.
//!
//! Any web page can make a browser send requests here, under any name that resolves to this
//! machine. So a request must use one of our names, and one that decides must not come from another
//! site.

use std::net::IpAddr;

use axum::http::{HeaderMap, header};

/// The names that a listener answers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerAddress {
    /// The address it listens at.
    pub bind: IpAddr,
    /// The port it listens at.
    pub port: u16,
    /// Prefix of the links, if it is not the listener's own address.
    pub public_url: Option<String>,
}

impl ListenerAddress {
    /// Whether this `Host` is one of our names.
    pub(crate) fn answers_to(&self, host: &str) -> bool {
        let name = host_of(host).to_ascii_lowercase();
        if self.public_url.as_deref().is_some_and(|url| is_host_of(&name, url)) {
            return true;
        }
        // The owner of a name can make it resolve to this machine; an address cannot be forged so.
        match name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => address == self.bind || self.bind.is_unspecified(),
            Err(_) => {
                name == "localhost" && (self.bind.is_loopback() || self.bind.is_unspecified())
            }
        }
    }
}

/// Whether this is the host of a URL.
pub(crate) fn is_host_of(host: &str, url: &str) -> bool {
    authority_of(url)
        .is_some_and(|authority| host_of(authority).eq_ignore_ascii_case(host_of(host)))
}

/// Whether a page of another site may have made the request. Programs other than browsers send none
/// of these headers.
pub(crate) fn is_cross_site(headers: &HeaderMap, base_url: &str) -> bool {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if let Some(site) = text("sec-fetch-site") {
        return !matches!(site, "same-origin" | "none");
    }
    // Our own pages send no referrer, so browsers send `null` as their origin.
    match text(header::ORIGIN.as_str()) {
        None | Some("null") => false,
        Some(origin) => {
            let authority = authority_of(origin);
            let host = text(header::HOST.as_str());
            let is_ours =
                authority.is_some() && (authority == host || authority == authority_of(base_url));
            !is_ours
        }
    }
}

/// `host:port` of a URL.
fn authority_of(url: &str) -> Option<&str> {
    url.split_once("://")?.1.split('/').next()
}

/// `host:port` without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn address(bind: &str, public_url: Option<&str>) -> ListenerAddress {
        let public_url = public_url.map(str::to_owned);
        ListenerAddress { bind: bind.parse().unwrap(), port: 8765, public_url }
    }

    #[test]
    fn a_listener_answers_to_its_address_to_localhost_and_to_its_public_name() {
        let here = address("127.0.0.1", Some("https://Hooks.example.org:8443/x"));
        for host in ["127.0.0.1:8765", "127.0.0.1", "localhost:8765", "LOCALHOST"] {
            assert!(here.answers_to(host), "{host}");
        }
        for host in ["hooks.example.org", "hooks.example.org:8443", "HOOKS.example.ORG"] {
            assert!(here.answers_to(host), "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example", "127.0.0.2", "0.0.0.0", "[::1]"]
        {
            assert!(!here.answers_to(host), "{host}");
        }
        assert!(!address("127.0.0.1", None).answers_to("hooks.example.org"));
        assert!(address("::1", None).answers_to("[::1]:8765"));
        let everywhere = address("0.0.0.0", None);
        assert!(everywhere.answers_to("192.168.1.5:8765") && everywhere.answers_to("localhost"));
        assert!(!everywhere.answers_to("evil.example:8765"));
        assert!(!address("192.168.1.5", None).answers_to("localhost"));
    }

    #[test]
    fn forms_of_other_sites_are_distinguished_from_our_own_and_from_programs() {
        let base = "https://hooks.example.org";
        let case = |headers: &[(&'static str, &'static str)]| {
            let headers = headers.iter().map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            is_cross_site(&headers.collect(), base)
        };
        let host = ("host", "127.0.0.1:8765");
        for ours in [
            vec![host],
            vec![host, ("origin", "null"), ("sec-fetch-site", "same-origin")],
            vec![host, ("origin", "null")],
            vec![host, ("origin", "http://127.0.0.1:8765")],
            vec![host, ("origin", "https://hooks.example.org")],
            vec![host, ("sec-fetch-site", "none")],
        ] {
            assert!(!case(&ours), "{ours:?}");
        }
        for theirs in [
            vec![host, ("origin", "https://evil.example")],
            vec![host, ("origin", "http://127.0.0.1:9999")],
            vec![host, ("origin", "null"), ("sec-fetch-site", "cross-site")],
            vec![host, ("sec-fetch-site", "same-site")],
            vec![host, ("origin", "evil")],
        ] {
            assert!(case(&theirs), "{theirs:?}");
        }
    }
}
