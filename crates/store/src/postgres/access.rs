//! [`PostgresAccess`]: an address with what is needed to connect to it.

use std::fmt;
use std::time::Duration;

use super::PostgresAddress;
use crate::limits;

/// How to connect to a database.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresAccess {
    /// Where it is.
    pub address: PostgresAddress,
    /// The user's password, if the server asks for one.
    pub password: Option<Password>,
    /// Whether a connection to another machine may be unencrypted.
    pub allow_plain: bool,
    /// Certificates that sign the server's, as PEM. Without them, those of the system do.
    pub root_certificate: Option<Vec<u8>>,
    /// How long a call waits for its answer.
    pub call_max: Duration,
    /// How long a call waits for a database that is away, once the store is open.
    pub away_max: Duration,
    /// The same for a session.
    pub session_away_max: Duration,
}

/// A password. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl PostgresAccess {
    /// Access without a password, with the usual limits.
    #[must_use]
    pub fn to(address: PostgresAddress) -> Self {
        Self {
            address,
            password: None,
            allow_plain: false,
            root_certificate: None,
            call_max: limits::CALL_MAX,
            away_max: limits::COMMAND_AWAY_MAX,
            session_away_max: limits::SESSION_AWAY_MAX,
        }
    }

    /// Whether the connection has to be encrypted and the server's name verified.
    pub(super) fn is_encrypted(&self) -> bool {
        self.root_certificate.is_some() || !(self.allow_plain || self.address.is_loopback())
    }

    /// A text of the server without address and password.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let password = self.password.iter().map(Password::secret);
        let address = [self.address.host.as_str(), &self.address.user, &self.address.database];
        let mut text = text.to_owned();
        // A shorter word would be found in words that have nothing to do with it.
        for secret in password.chain(address).filter(|secret| secret.len() > 3) {
            text = text.replace(secret, "…");
        }
        text
    }
}

impl Password {
    /// A password with this text.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    pub(super) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

impl fmt::Debug for PostgresAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PostgresAccess(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_server_loses_address_and_password() {
        let address = PostgresAddress::parse("postgres://worker@db.example.org/jobs").unwrap();
        let mut access = PostgresAccess::to(address);
        access.password = Some(Password::new("hunter2".into()));
        let text = "no entry for \"worker\" with hunter2 at db.example.org, database \"jobs\"";
        assert_eq!(access.without_secrets(text), "no entry for \"…\" with … at …, database \"…\"");
        assert!(!format!("{access:?}").contains("hunter2"));
    }

    #[test]
    fn a_connection_is_plain_only_to_this_machine_or_where_that_is_allowed() {
        let to = |host: &str| {
            PostgresAccess::to(PostgresAddress::parse(&format!("postgres://me@{host}/d")).unwrap())
        };
        assert!(!to("127.0.0.1").is_encrypted());
        assert!(to("10.0.0.1").is_encrypted());
        assert!(!PostgresAccess { allow_plain: true, ..to("10.0.0.1") }.is_encrypted());
        let with_root = PostgresAccess { root_certificate: Some(Vec::new()), ..to("127.0.0.1") };
        assert!(with_root.is_encrypted());
    }
}
