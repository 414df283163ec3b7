//! [`PostgresAddress`]: the address of a database, and how a text names one.

use std::net::IpAddr;

/// The port of a Postgres if the address names none.
const USUAL_PORT: u16 = 5432;

/// The address of a database. It has no password.
#[derive(Clone, PartialEq, Eq)]
pub struct PostgresAddress {
    pub(super) user: String,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) database: String,
}

/// Why a text is not the address of a database. No variant contains the text: it may have a
/// password in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It does not begin with `postgres://`.
    #[error("expected an address that begins with `postgres://`")]
    NotPostgres,
    /// A part is missing or empty.
    #[error("the address has no {part}")]
    Missing {
        /// The part's name.
        part: &'static str,
    },
    /// A password, which other processes of the machine might read.
    #[error("the address contains a password")]
    Password,
    /// The port is not a number from 1 to 65535.
    #[error("the port of the address is not a number from 1 to 65535")]
    Port,
    /// Something follows the name of the database.
    #[error("the address has options behind the database")]
    Options,
    /// A `%` that two hexadecimal digits do not follow, or bytes that are not UTF-8 or NUL.
    #[error("the {part} of the address contains an invalid `%` sequence")]
    Escape {
        /// The part's name.
        part: &'static str,
    },
}

impl PostgresAddress {
    /// Reads `postgres://USER@HOST[:PORT]/DATABASE`.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let rest = text
            .strip_prefix("postgres://")
            .or_else(|| text.strip_prefix("postgresql://"))
            .ok_or(AddressError::NotPostgres)?;
        // A password may contain any of the characters that divide an address.
        let (user, rest) = match rest.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(AddressError::Password),
            Some(parts) => parts,
            None => ("", rest),
        };
        if rest.contains(['?', '#']) {
            return Err(AddressError::Options);
        }
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        if database.contains('/') {
            return Err(AddressError::Options);
        }
        let (host, port) = divide(place)?;
        Ok(Self {
            host: present(host, "host")?.to_owned(),
            user: decoded(present(user, "user")?, "user")?,
            port,
            database: decoded(present(database, "database")?, "database")?,
        })
    }

    /// Whether it names this machine itself.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let is_loopback_ip = self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        is_loopback_ip || self.host.eq_ignore_ascii_case("localhost")
    }
}

/// Shows no part of the address.
impl std::fmt::Debug for PostgresAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PostgresAddress(…)")
    }
}

fn present<'a>(text: &'a str, part: &'static str) -> Result<&'a str, AddressError> {
    if text.is_empty() { Err(AddressError::Missing { part }) } else { Ok(text) }
}

/// Host and port. An IPv6 address is in brackets.
fn divide(place: &str) -> Result<(&str, u16), AddressError> {
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => (host, Some(rest.strip_prefix(':').ok_or(AddressError::Port)?)),
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let port = match port {
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            port.parse().ok().filter(|port| *port != 0).ok_or(AddressError::Port)?
        }
        Some(_) => return Err(AddressError::Port),
        None => USUAL_PORT,
    };
    Ok((host, port))
}

/// The text with its `%` sequences replaced.
fn decoded(text: &str, part: &'static str) -> Result<String, AddressError> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(AddressError::Escape { part });
        };
        bytes.push(u8::try_from(high * 16 + low).expect("two hexadecimal digits"));
    }
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or(AddressError::Escape { part })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(user: &str, host: &str, port: u16, database: &str) -> PostgresAddress {
        let (user, host, database) = (user.to_owned(), host.to_owned(), database.to_owned());
        PostgresAddress { user, host, port, database }
    }

    #[test]
    fn an_address_has_user_host_and_database() {
        let parse = |text: &str| PostgresAddress::parse(text).expect(text);
        assert!(
            parse("postgres://me@db.example.org/work")
                == address("me", "db.example.org", 5432, "work")
        );
        assert!(
            parse("postgresql://a%40b@[::1]:15432/x%2Fy") == address("a@b", "::1", 15432, "x/y")
        );
    }

    #[test]
    fn an_address_that_is_wrong_is_refused_without_being_shown() {
        let missing = |part| AddressError::Missing { part };
        for (text, error) in [
            ("http://me@db/work", AddressError::NotPostgres),
            ("postgres://me@/work", missing("host")),
            ("postgres://me@:5432/work", missing("host")),
            ("postgres://db/work", missing("user")),
            ("postgres://me@db", missing("database")),
            ("postgres://me@db/", missing("database")),
            ("postgres://me:secret@db/work", AddressError::Password),
            ("postgres://me:se@cr/et@db/work", AddressError::Password),
            ("postgres://me:@db/work", AddressError::Password),
            ("postgres://me@db:x/work", AddressError::Port),
            ("postgres://me@db:0/work", AddressError::Port),
            ("postgres://me@db:70000/work", AddressError::Port),
            ("postgres://me@db/work?password=secret", AddressError::Options),
            ("postgres://me@db/work/more", AddressError::Options),
            ("postgres://m%zz@db/work", AddressError::Escape { part: "user" }),
            ("postgres://me@db/%00", AddressError::Escape { part: "database" }),
        ] {
            let found = PostgresAddress::parse(text).expect_err(text);
            assert_eq!(found, error, "{text}");
            assert!(!found.to_string().contains("secret"));
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let is_loopback = |host: &str| address("me", host, 1, "d").is_loopback();
        assert!(is_loopback("localhost") && is_loopback("127.0.0.7") && is_loopback("::1"));
        assert!(!is_loopback("localhost.example.org") && !is_loopback("10.0.0.1"));
    }
}
