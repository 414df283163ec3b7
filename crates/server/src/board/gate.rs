//! [`Gate`]: access control of the board.
//!
//! Sessions are visible to their user alone, not to other users of the machine nor to other sites
//! in the browser. The printed address holds a token; opening it sets a cookie, which scripts
//! cannot read and other sites cannot make the browser send. Every process has a new gate:
//! addresses that were printed before stop working.

use std::io;

use axum::http::{HeaderMap, header};

use crate::signing_key::{SigningKey, random_text, same};

/// Prefix of the address's path.
const OPEN_PATH: &str = "/open/";

/// Access to the board of one process.
pub(crate) struct Gate {
    key: SigningKey,
    /// Random text.
    visit: String,
    /// Cookies ignore ports, so the port is part of the name.
    cookie_name: String,
}

impl Gate {
    /// A new gate, for a listener at this port.
    pub(crate) fn new(key: SigningKey, port: u16) -> io::Result<Self> {
        Ok(Self { key, visit: random_text()?, cookie_name: format!("hookwright-{port}") })
    }

    /// The path that signs a visitor in.
    pub(crate) fn path(&self) -> String {
        format!("{OPEN_PATH}{}", self.sign("address", ""))
    }

    /// The cookie for a request of that path; `None` for any other path.
    pub(crate) fn cookie_for(&self, path: &str) -> Option<String> {
        let token = path.strip_prefix(OPEN_PATH)?;
        let (name, value) = (&self.cookie_name, self.sign("cookie", ""));
        let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict");
        same(token, &self.sign("address", "")).then_some(cookie)
    }

    /// Whether a request comes from a signed-in visitor.
    pub(crate) fn lets_in(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).into_iter();
        let cookies =
            cookies.filter_map(|cookie| cookie.to_str().ok()).flat_map(|all| all.split(';'));
        let ours = cookies.filter_map(|cookie| cookie.trim().split_once('='));
        let expected = self.sign("cookie", "");
        ours.filter(|(name, _)| *name == self.cookie_name).any(|(_, value)| same(value, &expected))
    }

    /// The token in a form that answers a wait.
    pub(crate) fn form_token(&self, wait: &str) -> String {
        self.sign("form", wait)
    }

    /// Whether a form's token is valid.
    pub(crate) fn is_form_token(&self, token: &str, wait: &str) -> bool {
        same(token, &self.form_token(wait))
    }

    fn sign(&self, purpose: &str, about: &str) -> String {
        self.key.board_token(purpose, &self.visit, about)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn gate(folder: &std::path::Path) -> Gate {
        Gate::new(SigningKey::of_folder(folder).unwrap(), 8766).unwrap()
    }

    fn lets_in(gate: &Gate, cookies: &[&str]) -> bool {
        let values = cookies.iter().map(|cookie| HeaderValue::from_str(cookie).unwrap());
        gate.lets_in(&values.map(|value| (header::COOKIE, value)).collect())
    }

    #[test]
    fn only_the_address_gives_a_cookie_and_only_the_cookie_lets_in() {
        let folder = tempfile::tempdir().unwrap();
        let ours = gate(folder.path());
        let path = ours.path();
        let set = ours.cookie_for(&path).unwrap();
        let cookie = set.strip_suffix("; Path=/; HttpOnly; SameSite=Strict").unwrap();
        assert!(lets_in(&ours, &[cookie]));
        assert!(lets_in(&ours, &["a=b", &format!("c=d; {cookie};e=f")]));
        let token = path.strip_prefix("/open/").unwrap();
        let with_token = format!("hookwright-8766={token}");
        let elsewhere = cookie.replace("8766", "8765");
        for other in ["", "hookwright-8766=", &cookie[..cookie.len() - 1], &with_token, &elsewhere]
        {
            assert!(!lets_in(&ours, &[other]), "{other}");
        }
        for other in ["/open/", "/open", "/", &path[..path.len() - 1], &format!("{path}0")] {
            assert_eq!(ours.cookie_for(other), None, "{other}");
        }
    }

    #[test]
    fn a_restarted_program_accepts_no_earlier_address_cookie_or_form() {
        let folder = tempfile::tempdir().unwrap();
        let (before, now) = (gate(folder.path()), gate(folder.path()));
        assert_eq!(now.cookie_for(&before.path()), None);
        assert!(!lets_in(&now, &[&before.cookie_for(&before.path()).unwrap()]));
        assert!(!now.is_form_token(&before.form_token("w"), "w"));
        assert!(now.is_form_token(&now.form_token("w"), "w"));
        assert!(!now.is_form_token(&now.form_token("w"), "v"));
    }
}
