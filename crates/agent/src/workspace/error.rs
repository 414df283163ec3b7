//! [`PathError`]: why a path cannot be used. The model reads these texts, so each says what to do.

use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

/// Why a path cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum PathError {
    #[error("the path is empty: name a file or folder")]
    Empty,
    #[error("the path contains a NUL character, which no file name has")]
    Nul,
    #[error("the path is longer than {} bytes", crate::limits::PATH_BYTES_MAX)]
    TooLong,
    #[error("`{asked}`: `~` is not expanded here; write the whole path (or `./{asked}`)")]
    Tilde { asked: String },
    #[error(
        "`{asked}` leads to `{}`, which is outside the workspace `{}`: use a path inside it",
        path.display(),
        root.display()
    )]
    Outside { asked: String, path: PathBuf, root: PathBuf },
    #[error(
        "`{}` is protected: it decides what this agent may do. Ask the user to change it",
        path.display()
    )]
    Protected { path: PathBuf },
    #[error("`{}` does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is not a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("`{}` is {found}, not a regular file", path.display())]
    NotAFile { path: PathBuf, found: &'static str },
    #[error("`{}` leads through too many links", path.display())]
    TooManyLinks { path: PathBuf },
    #[error("the path now leads to `{}`, not to what was checked: try again", path.display())]
    Moved { path: PathBuf },
    #[error("`{}` cannot be written: {source}. Nothing was changed", path.display())]
    NotWritable { path: PathBuf, source: io::Error },
    #[error(
        "no space is left for `{}`: {source}. Nothing was changed; free some space and try again",
        path.display()
    )]
    NoSpace { path: PathBuf, source: io::Error },
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Other { doing: &'static str, path: PathBuf, source: io::Error },
}

impl PathError {
    pub(crate) fn other(doing: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Other { doing, path: path.to_owned(), source }
    }

    /// Why something could not be written.
    pub(crate) fn writing(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match Errno::from_io_error(&source) {
            Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Self::NoSpace { path, source },
            _ => Self::NotWritable { path, source },
        }
    }
}
