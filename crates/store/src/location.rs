//! [`StoreLocation`]: where a store is. Only this file knows which kinds of stores there are.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

#[cfg(feature = "postgres")]
use crate::{AddressError, PostgresAccess, PostgresAddress, PostgresStore};
use crate::{SqliteStore, Store, StoreError};

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// A local folder with a SQLite file.
    Folder(PathBuf),
    /// A database.
    #[cfg(feature = "postgres")]
    Postgres(Box<PostgresAccess>),
}

/// Why a text is not a store's location.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// An address. It may contain a password, so the error shows only its scheme.
    #[error(
        "a store at an address `{scheme}://…` is not supported by this build; expected the absolute path \
         of a folder"
    )]
    NotSupported {
        /// The text before `://`.
        scheme: String,
    },
    /// The address of a database that cannot be used.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Address(AddressError),
    /// A relative path, which would depend on the working directory.
    #[error("`{path}` is not an absolute path; expected the absolute path of a folder")]
    NotAbsolute {
        /// The path, as given.
        path: String,
    },
}

impl StoreLocation {
    /// Opens the store. Creates a file if there is none; a database has to be initialised before
    /// (`PostgresStore::init`).
    pub fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        match self {
            Self::Folder(folder) => Ok(Arc::new(SqliteStore::open(folder)?)),
            #[cfg(feature = "postgres")]
            Self::Postgres(access) => Ok(Arc::new(PostgresStore::open(access)?)),
        }
    }

    /// Opens the store if there is one. A read-only store can still be read.
    pub fn find(&self) -> Result<Option<Arc<dyn Store>>, StoreError> {
        match self {
            Self::Folder(folder) => {
                Ok(SqliteStore::find(folder)?.map(|store| Arc::new(store) as _))
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(access) => Ok(Some(Arc::new(PostgresStore::open(access)?))),
        }
    }
}

impl FromStr for StoreLocation {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        if let Some((scheme, _)) = text.split_once("://") {
            #[cfg(feature = "postgres")]
            if matches!(scheme, "postgres" | "postgresql") {
                let address = PostgresAddress::parse(text).map_err(LocationError::Address)?;
                return Ok(Self::Postgres(Box::new(PostgresAccess::to(address))));
            }
            return Err(LocationError::NotSupported { scheme: scheme.to_owned() });
        }
        let path = PathBuf::from(text);
        match path.is_absolute() {
            true => Ok(Self::Folder(path)),
            false => Err(LocationError::NotAbsolute { path: text.to_owned() }),
        }
    }
}

/// For messages: the path of the file, or the kind of the database without its address.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", SqliteStore::file_in(folder).display()),
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => f.write_str("postgres://…"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_an_absolute_path_or_the_address_of_a_database() {
        let folder = StoreLocation::Folder("/state/hookwright".into());
        assert_eq!("/state/hookwright".parse(), Ok(folder.clone()));
        assert_eq!(folder.to_string(), "/state/hookwright/store.sqlite3");
        let refused = |text: &str| text.parse::<StoreLocation>().expect_err("refused").to_string();
        assert_eq!(
            refused("mysql://me:secret@db.example.org/hookwright"),
            "a store at an address `mysql://…` is not supported by this build; expected the absolute \
             path of a folder"
        );
        assert_eq!(
            refused("state"),
            "`state` is not an absolute path; expected the absolute path of a folder"
        );
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn a_database_is_named_without_its_address() {
        let location: StoreLocation = "postgres://me@db.example.org/work".parse().expect("valid");
        assert_eq!(location.to_string(), "postgres://…");
        assert!(!format!("{location:?}").contains("db.example.org"));
        let refused = "postgres://me:secret@db.example.org/work".parse::<StoreLocation>();
        assert_eq!(refused, Err(LocationError::Address(AddressError::Password)));
    }

    #[test]
    fn a_store_is_found_once_it_was_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let location = StoreLocation::Folder(folder.path().join("store"));
        assert!(location.find().expect("looked for").is_none());
        let store = location.open().expect("made");
        store.acquire("lease", "me", None).expect("free");
        let found = location.find().expect("looked for").expect("it is there");
        assert_eq!(found.holder("lease").expect("read").map(|held| held.holder), Some("me".into()));
    }
}
