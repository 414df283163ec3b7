//! [`remote_address`]: where a git remote is, the same text however it is reached, and without
//! credentials, so that it may be stored and shown.

use std::path::Path;

/// Longer addresses are not compared.
const BYTES_MAX: usize = 2 * 1024;

/// `github.com/acme/shop` for `https://user:token@github.com/acme/shop.git` and for
/// `git@github.com:acme/shop.git`; an absolute path for a remote on this machine.
pub(super) fn remote_address(url: &str, root: &Path) -> Option<String> {
    let url = url.trim();
    if url.is_empty() || url.len() > BYTES_MAX {
        return None;
    }
    let address = match url.split_once("://") {
        Some(("file", path)) => local(Path::new(path)),
        Some((scheme, rest)) => {
            let rest = rest.split(['?', '#']).next().unwrap_or_default();
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            on_host(without_port(without_user(host), scheme), path)?
        }
        None => match url.split_once(':') {
            // As in `git@github.com:acme/shop.git`. A password may stand before the `@`.
            Some((before, _)) if !before.contains('/') => {
                let begin = url.split('/').next().unwrap_or_default().len();
                let (hosts, rest) = url.split_at(begin);
                let host_and_path = format!("{}{rest}", without_user(hosts));
                let (host, path) = host_and_path.split_once(':')?;
                on_host(host, path)?
            }
            _ => local(&root.join(url)),
        },
    };
    (!address.is_empty()).then_some(address)
}

fn on_host(host: &str, path: &str) -> Option<String> {
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    (!host.is_empty() && !path.is_empty()).then(|| format!("{}/{path}", host.to_lowercase()))
}

fn without_user(host: &str) -> &str {
    host.rsplit_once('@').map_or(host, |(_, host)| host)
}

/// Without the port that the scheme has anyway.
fn without_port<'a>(host: &'a str, scheme: &str) -> &'a str {
    let usual = match scheme {
        "https" => ":443",
        "http" => ":80",
        "ssh" => ":22",
        "git" => ":9418",
        _ => return host,
    };
    host.strip_suffix(usual).unwrap_or(host)
}

fn local(path: &Path) -> String {
    let whole = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    whole.as_os_str().as_encoded_bytes().escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Option<String> {
        remote_address(url, Path::new("/projects/shop"))
    }

    #[test]
    fn one_repository_has_one_address_however_it_is_reached() {
        for url in [
            "https://github.com/acme/shop.git",
            "https://github.com/acme/shop",
            "https://GitHub.com:443/acme/shop/",
            "ssh://git@github.com/acme/shop.git",
            "ssh://git@github.com:22/acme/shop.git",
            "git@github.com:acme/shop.git",
            "github.com:/acme/shop",
        ] {
            assert_eq!(address(url).as_deref(), Some("github.com/acme/shop"), "{url}");
        }
        for other in [
            "https://github.com/acme/shop2",
            "https://github.com/Acme/shop",
            "https://github.com:8443/acme/shop",
            "https://github.com.evil.example/acme/shop",
            "https://evil.example/github.com/acme/shop",
            "https://github.com@evil.example/acme/shop",
        ] {
            assert_ne!(address(other).as_deref(), Some("github.com/acme/shop"), "{other}");
        }
    }

    #[test]
    fn credentials_are_left_out() {
        for url in [
            "https://me:SECRET@github.com/acme/shop.git",
            "https://SECRET@github.com/acme/shop.git",
            "https://me:SEC@SECRET@github.com/acme/shop.git",
            "https://github.com/acme/shop.git?private_token=SECRET",
            "https://github.com/acme/shop.git#SECRET",
            "me:SECRET@github.com:acme/shop.git",
            "codecommit::eu://SECRET@github.com/acme/shop",
        ] {
            assert_eq!(address(url).as_deref(), Some("github.com/acme/shop"), "{url}");
        }
    }

    #[test]
    fn a_remote_on_this_machine_is_a_path() {
        assert_eq!(address("/srv/no/shop.git").as_deref(), Some("/srv/no/shop.git"));
        assert_eq!(address("file:///srv/no/shop.git").as_deref(), Some("/srv/no/shop.git"));
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("clone");
        std::fs::create_dir_all(folder.path().join("origin")).expect("made");
        std::fs::create_dir_all(&root).expect("made");
        let relative = remote_address("../origin", &root);
        assert_eq!(
            relative,
            remote_address(&folder.path().join("origin").to_string_lossy(), &root)
        );
    }

    #[test]
    fn what_names_no_place_is_none() {
        for url in ["", "  ", "https://", "https://me:SECRET@", "https:///x?SECRET", "host:"] {
            assert_eq!(address(url), None, "{url}");
        }
        assert_eq!(address(&"x".repeat(BYTES_MAX + 1)), None);
    }
}
