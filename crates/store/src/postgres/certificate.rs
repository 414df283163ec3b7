//! Why a server's certificate cannot be trusted: what it has, and what was expected.

use rustls::{CertificateError, Error};

use super::access::PostgresAccess;

/// The reason, without the address.
pub(super) fn refusal(access: &PostgresAccess, error: &Error) -> String {
    let text = match error {
        Error::InvalidCertificate(CertificateError::NotValidForNameContext {
            presented, ..
        }) => match presented.as_slice() {
            [] => "its certificate names no host, expected the host of the address".to_owned(),
            names => {
                let names: Vec<String> = names.iter().map(|name| quoted_name(name)).collect();
                let names = names.join(", ");
                format!("its certificate is for {names}, expected the host of the address")
            }
        },
        // The latter if both authorities have the same name.
        Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => {
            let expected = match &access.root_certificate {
                Some(_) => "one in the file of `root_certificate`",
                None => "one that this system knows",
            };
            format!("another authority has signed its certificate, expected {expected}")
        }
        error => error.to_string(),
    };
    access.without_secrets(&text)
}

/// `DnsName("db.example.org")` becomes `db.example.org` in backticks.
fn quoted_name(name: &str) -> String {
    format!("`{}`", name.split('"').nth(1).unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;

    use super::*;
    use crate::PostgresAddress;

    #[test]
    fn a_refusal_says_which_names_or_authority_were_found_and_expected() {
        let address = PostgresAddress::parse("postgres://me@db.example.org/work").unwrap();
        let access = PostgresAccess::to(address);
        let expected = ServerName::try_from("db.example.org").unwrap();
        let of_names = |presented: &[&str]| {
            let presented = presented.iter().map(|name| (*name).to_owned()).collect();
            let expected = expected.clone();
            let error = CertificateError::NotValidForNameContext { expected, presented };
            refusal(&access, &Error::InvalidCertificate(error))
        };
        assert_eq!(
            of_names(&[r#"DnsName("localhost")"#, "IpAddress(10.0.0.1)"]),
            "its certificate is for `localhost`, `IpAddress(10.0.0.1)`, expected the host of the \
             address"
        );
        assert_eq!(
            of_names(&[]),
            "its certificate names no host, expected the host of the address"
        );
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        assert_eq!(
            refusal(&access, &unknown),
            "another authority has signed its certificate, expected one that this system knows"
        );
        let access = PostgresAccess { root_certificate: Some(Vec::new()), ..access };
        assert_eq!(
            refusal(&access, &unknown),
            "another authority has signed its certificate, expected one in the file of \
             `root_certificate`"
        );
    }
}
