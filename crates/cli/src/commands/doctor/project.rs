//! What is wrong here, in whatever agent: hook files, their trust and their faults, the switch of all
//! hooks, and the addresses of listeners.

use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use hookwright_config::{CallbackAddress, ReadFile};

use super::finding::Finding;
use crate::config_files::{ConfigFiles, ConfigOptions, process_environment};
use crate::error::{Failure, advice};
use crate::hook_switches::off_by_environment;
use crate::text::{count, visible_path};
use crate::trust::{self, Standing, Trust};

/// How long an address may take to answer. One that takes longer is no use to people either.
const ANSWER_WAIT: Duration = Duration::from_secs(2);

/// The port that a public address has if it names none.
const HTTPS_PORT: u16 = 443;

/// Everything about hook files.
pub(super) fn findings(options: &ConfigOptions) -> Result<Vec<Finding>, Failure> {
    let mut all = Vec::new();
    if let Some(why) = off_by_environment() {
        let text = format!("{why}: agents that you start from here run no hooks");
        all.push(Finding::open("switch", text, "unset HOOKWRIGHT"));
    }
    let found = ConfigFiles::find(options)?.without_hooks_of_agents();
    if found.files.is_empty() {
        let text = "no hook file found here or for all projects, so nothing is guarded";
        all.push(Finding::note("hook files", text, "hookwright init"));
        return Ok(all);
    }
    let read = found.read();
    all.extend(of_trust(&found, &read));
    let (loaded, _) = found.load_read(&read, &process_environment());
    for fault in &loaded.faults {
        let text = format!("{}: {}", fault.location(), advice(fault).heading);
        all.push(Finding::note(
            "check",
            format!("{text}; what it would guard is blocked"),
            "hookwright check",
        ));
    }
    if loaded.faults.is_empty() {
        let hooks = count(loaded.hooks.hooks().len(), "hook");
        let text = format!("{}, {hooks}, no faults", count(found.files.len(), "file"));
        all.push(Finding::good("check", text));
    }
    all.extend(of_listener(&loaded.callback));
    Ok(all)
}

/// Which files may run inside agents.
fn of_trust(found: &ConfigFiles, read: &[ReadFile]) -> Vec<Finding> {
    let trust = match Trust::of_user().or_problem() {
        Ok(trust) => trust,
        Err(problem) => {
            let message = Failure::Trust(problem).message();
            return vec![Finding::note(
                "hook files",
                format!(
                    "{}; until then everything that a hook can block is blocked",
                    message.heading
                ),
                message.help,
            )];
        }
    };
    let untrusted = trust.untrusted(found.in_need_of_trust(read));
    let mut all: Vec<Finding> = untrusted
        .iter()
        .map(|file| {
            let how = match file.standing {
                Standing::Changed => "has changed since it was trusted",
                Standing::Unknown | Standing::Trusted => "is not trusted",
            };
            let text = format!(
                "{} {how}: its hooks do not run, and what a hook can block is blocked",
                visible_path(&file.place)
            );
            Finding::note("hook files", text, trust::command_to_type([&*file.place], false))
        })
        .collect();
    let is_untrusted =
        |file: &&ReadFile| untrusted.iter().any(|it| it.read.file().path == file.file().path);
    let trusted: Vec<String> = read
        .iter()
        .filter(|file| !is_untrusted(file))
        .map(|file| visible_path(&found.display_path(&file.file().path)))
        .collect();
    if !trusted.is_empty() {
        all.push(Finding::good("hook files", format!("{} (trusted)", trusted.join(", "))));
    }
    all
}

/// Whether people's answers can arrive, if the files say where.
fn of_listener(callback: &CallbackAddress) -> Vec<Finding> {
    let mut all = Vec::new();
    if let Some(port) = callback.port.filter(|port| *port != 0) {
        let bind = callback.bind.unwrap_or(std::net::Ipv4Addr::LOCALHOST.into());
        all.push(of_own_address(SocketAddr::new(bind, port)));
    }
    if let Some(url) = &callback.public_url {
        all.push(of_public_url(url));
    }
    all
}

/// The address of this machine: free, or answered by a listener.
fn of_own_address(address: SocketAddr) -> Finding {
    match TcpListener::bind(address) {
        Ok(_) => Finding::good("listener", format!("{address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            match TcpStream::connect_timeout(&address, ANSWER_WAIT) {
                Ok(_) => Finding::good("listener", format!("{address} answers")),
                Err(_) => Finding::note(
                    "listener",
                    format!("{address} is taken, and nothing answers there"),
                    "set `callback.port` to another port",
                ),
            }
        }
        Err(error) => Finding::note(
            "listener",
            format!("nothing can listen at {address}: {}", crate::error::without_number(&error)),
            "set `callback.bind` to an address of this machine, and `callback.port` to one above 1023",
        ),
    }
}

/// The address that people's links begin with.
fn of_public_url(url: &str) -> Finding {
    let help = "start `hookwright serve`, or check the proxy that leads to this machine";
    let Some(place) = host_and_port(url) else {
        return Finding::note(
            "listener",
            format!("`{url}` names no host"),
            "set `callback.public_url`",
        );
    };
    let addresses = place.to_socket_addrs();
    let Ok(addresses) = addresses else {
        let text = format!("{url}: its host has no address");
        return Finding::note("listener", text, "check `callback.public_url`");
    };
    let mut addresses = addresses;
    match addresses.any(|address| TcpStream::connect_timeout(&address, ANSWER_WAIT).is_ok()) {
        true => Finding::good("listener", format!("{url} answers")),
        false => Finding::note("listener", format!("nothing answers at {url} now"), help),
    }
}

/// The host and the port of a URL.
fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let place = rest.split(['/', '?', '#']).next()?;
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let by_scheme = if scheme == "http" { 80 } else { HTTPS_PORT };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (place, by_scheme),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_host_and_a_port() {
        for (url, expected) in [
            ("https://a.example", Some(("a.example", 443))),
            ("http://a.example/x", Some(("a.example", 80))),
            ("https://user@a.example:8443/x?y", Some(("a.example", 8443))),
            ("http://[::1]:7000", Some(("::1", 7000))),
            ("http://[::1]/", Some(("::1", 80))),
            ("a.example", None),
            ("https://", None),
        ] {
            let expected = expected.map(|(host, port)| (host.to_owned(), port));
            assert_eq!(host_and_port(url), expected, "{url}");
        }
    }

    #[test]
    fn an_address_is_free_answers_or_is_not_ours() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        assert_eq!(
            of_own_address(address),
            Finding::good("listener", format!("{address} answers"))
        );
        let url = format!("http://{address}/x");
        assert_eq!(of_public_url(&url), Finding::good("listener", format!("{url} answers")));
        drop(listener);
        assert_eq!(
            of_own_address(address),
            Finding::good("listener", format!("{address} is free"))
        );
        let silent = of_public_url(&url).lines();
        assert!(
            silent.contains("nothing answers at") && silent.contains("hookwright serve"),
            "{silent}"
        );
        let foreign = of_own_address("192.0.2.1:7000".parse().expect("an address")).lines();
        assert!(foreign.contains("callback.bind"), "{foreign}");
    }
}
