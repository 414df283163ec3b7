//! Reads a configuration file, within limits and without surprises.

use std::fs;
use std::io::{ErrorKind, Read};
use std::sync::Arc;

use super::{ConfigFile, Fault, FaultKind, SourceFile};
use crate::limits::CONFIG_BYTES_MAX;

/// A file that was read once. A caller that checks its text and then loads it
/// ([`load_read`](super::load_read)) loads exactly the text it has checked, even if the file
/// changes meanwhile.
#[derive(Debug, Clone)]
pub struct ReadFile {
    pub(super) file: ConfigFile,
    pub(super) source: Result<Arc<SourceFile>, Fault>,
}

impl ReadFile {
    /// Reads a file.
    pub fn read(file: &ConfigFile) -> Self {
        Self { file: file.clone(), source: read(file) }
    }

    /// The file that was read.
    pub fn file(&self) -> &ConfigFile {
        &self.file
    }

    /// Its text for a reader of its own, or why there is none.
    pub fn source(&self) -> Result<Arc<SourceFile>, Fault> {
        self.source.clone()
    }

    /// Its contents, byte for byte; `None` if it could not be read.
    pub fn text(&self) -> Option<&str> {
        self.source.as_ref().ok().map(|source| &*source.text)
    }
}

/// The file's text, or the one fault of the whole file.
pub(super) fn read(file: &ConfigFile) -> Result<Arc<SourceFile>, Fault> {
    let whole = |kind| Fault {
        source: Arc::new(SourceFile { path: file.shown_as.clone(), text: "".into() }),
        place: None,
        kind,
    };
    let unreadable = |error: std::io::Error| match error.kind() {
        ErrorKind::IsADirectory => whole(FaultKind::IsFolder),
        _ => whole(FaultKind::Unreadable { cause: error.to_string() }),
    };
    let mut opened = fs::File::open(&file.path).map_err(unreadable)?;
    let metadata = opened.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(whole(FaultKind::IsFolder));
    }
    if metadata.len() > CONFIG_BYTES_MAX {
        let bytes = metadata.len();
        return Err(whole(FaultKind::TooLarge { bytes, bytes_max: CONFIG_BYTES_MAX }));
    }
    let mut bytes = Vec::new();
    // A pipe or a device has no length to check beforehand; reading stops just past the limit.
    opened.by_ref().take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > CONFIG_BYTES_MAX {
        let bytes = bytes.len() as u64;
        return Err(whole(FaultKind::TooLarge { bytes, bytes_max: CONFIG_BYTES_MAX }));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| whole(FaultKind::NotText { byte: error.utf8_error().valid_up_to() }))?;
    Ok(Arc::new(SourceFile { path: file.shown_as.clone(), text: text.into() }))
}
