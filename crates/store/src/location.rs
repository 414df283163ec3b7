//! [`StoreLocation`]: where a store is. Only this file knows which kinds of stores there are.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use crate::{SqliteStore, Store, StoreError};

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// A local folder with a SQLite file.
    Folder(PathBuf),
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
    /// A relative path, which would depend on the working directory.
    #[error("`{path}` is not an absolute path; expected the absolute path of a folder")]
    NotAbsolute {
        /// The path, as given.
        path: String,
    },
}

impl StoreLocation {
    /// Opens the store, and creates it if there is none.
    pub fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        match self {
            Self::Folder(folder) => Ok(Arc::new(SqliteStore::open(folder)?)),
        }
    }

    /// Opens the store if there is one. A read-only store can still be read.
    pub fn find(&self) -> Result<Option<Arc<dyn Store>>, StoreError> {
        match self {
            Self::Folder(folder) => {
                Ok(SqliteStore::find(folder)?.map(|store| Arc::new(store) as _))
            }
        }
    }
}

impl FromStr for StoreLocation {
    type Err = LocationError;

    fn from_str(text: &str) -> Result<Self, LocationError> {
        if let Some((scheme, _)) = text.split_once("://") {
            return Err(LocationError::NotSupported { scheme: scheme.to_owned() });
        }
        let path = PathBuf::from(text);
        match path.is_absolute() {
            true => Ok(Self::Folder(path)),
            false => Err(LocationError::NotAbsolute { path: text.to_owned() }),
        }
    }
}

/// The path of the file, for messages.
impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", SqliteStore::file_in(folder).display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_an_absolute_path_and_an_address_is_not_supported() {
        let folder = StoreLocation::Folder("/state/hookwright".into());
        assert_eq!("/state/hookwright".parse(), Ok(folder.clone()));
        assert_eq!(folder.to_string(), "/state/hookwright/store.sqlite3");
        let refused = |text: &str| text.parse::<StoreLocation>().expect_err("refused").to_string();
        assert_eq!(
            refused("postgres://me:secret@db.example.org/hookwright"),
            "a store at an address `postgres://…` is not supported by this build; expected the absolute \
             path of a folder"
        );
        assert_eq!(
            refused("state"),
            "`state` is not an absolute path; expected the absolute path of a folder"
        );
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
