//! [`OpenIteration`]: an iteration's folder that is held open, and the files in it.

use hookwright_process::Captured;

use super::child_files::json_of;
use super::open_folder::{OpenFolder, Read};
use super::{CONTEXT, Context, FolderError, OUTPUT, STATUS, StatusFile, status};
use crate::limits::OUTPUT_READ_BYTES_MAX;

/// An iteration's folder, opened once for all operations in it.
pub struct OpenIteration(pub(super) OpenFolder);

impl OpenIteration {
    /// Writes `context.json`.
    pub fn write_context(&self, context: &Context) -> Result<(), FolderError> {
        self.0.replace(CONTEXT, &json_of(context))
    }

    /// Writes `output.md`.
    pub fn write_output(&self, output: &[u8]) -> Result<(), FolderError> {
        self.0.replace(OUTPUT, output)
    }

    /// Reads the agent's answer.
    pub fn read_status(&self) -> StatusFile {
        status::read(&self.0, STATUS)
    }

    /// Removes the answer of an interrupted attempt; it must not count for the next one.
    pub fn forget_status(&self) -> Result<(), FolderError> {
        self.0.remove(STATUS)
    }

    /// Removes the output of an interrupted attempt.
    pub fn forget_output(&self) -> Result<(), FolderError> {
        self.0.remove(OUTPUT)
    }

    /// Whether the iteration has an output: the agent may have written it itself. Only a regular
    /// file counts.
    pub fn has_output(&self) -> Result<bool, FolderError> {
        self.0.has_file(OUTPUT)
    }

    /// Its output as text: its first and its last half, if it has more than `bytes_max` bytes.
    pub(super) fn read_output(&self, bytes_max: usize) -> Result<String, FolderError> {
        Ok(match self.0.read(OUTPUT, OUTPUT_READ_BYTES_MAX)? {
            Read::Missing | Read::NotAFile { .. } => String::new(),
            Read::TooBig { bytes } => format!("[{bytes} bytes, too many to be read]"),
            Read::Whole(whole) => {
                let mut kept = Captured::default();
                kept.push(&whole, bytes_max);
                kept.text().into_owned()
            }
        })
    }
}
