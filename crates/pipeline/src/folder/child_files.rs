//! The input and output of a session that a hook has started: `inputs.json`, `output.json`.

use hookwright_engine::limits::OUTPUT_BYTES_MAX;
use serde_json::{Map, Value};

use super::open_folder::Read;
use super::{FolderError, SessionFolder};

const INPUTS: &str = "inputs.json";
const OUTPUT: &str = "output.json";

/// The result of reading `output.json`.
#[derive(Debug, Clone, PartialEq)]
pub enum ChildOutput {
    /// The file does not exist.
    Missing,
    /// It is invalid, and why.
    Broken(String),
    /// Any JSON.
    Read(Value),
}

impl SessionFolder {
    /// The file with the session's inputs.
    pub fn inputs(&self) -> std::path::PathBuf {
        self.path.join(INPUTS)
    }

    /// Reads the session's inputs; `None` if the file is missing or no longer valid JSON.
    pub fn read_inputs(&self) -> Result<Option<Map<String, Value>>, FolderError> {
        match self.read_json(INPUTS)? {
            ChildOutput::Read(Value::Object(inputs)) => Ok(Some(inputs)),
            _ => Ok(None),
        }
    }

    /// Writes the session's inputs, readable by its user only: they may contain a secret on
    /// purpose.
    pub fn write_inputs(&self, inputs: &Map<String, Value>) -> Result<(), FolderError> {
        self.make(&[])?.replace_private(INPUTS, &json_of(inputs))
    }

    /// Reads the session's output.
    pub fn read_child_output(&self) -> Result<ChildOutput, FolderError> {
        self.read_json(OUTPUT)
    }

    /// Writes the session's output.
    pub fn write_child_output(&self, output: &Value) -> Result<(), FolderError> {
        self.make(&[])?.replace(OUTPUT, &json_of(output))
    }

    fn read_json(&self, name: &str) -> Result<ChildOutput, FolderError> {
        let Some(folder) = self.open(&[])? else { return Ok(ChildOutput::Missing) };
        Ok(match folder.read(name, OUTPUT_BYTES_MAX as u64)? {
            Read::Missing => ChildOutput::Missing,
            Read::Whole(bytes) => match serde_json::from_slice(&bytes) {
                Ok(value) => ChildOutput::Read(value),
                Err(error) => ChildOutput::Broken(format!("`{name}` is not JSON: {error}")),
            },
            Read::TooBig { bytes } => ChildOutput::Broken(format!(
                "`{name}` has {bytes} bytes, expected at most {OUTPUT_BYTES_MAX}"
            )),
            Read::NotAFile { found } => {
                ChildOutput::Broken(format!("expected a file `{name}` but found {found}"))
            }
        })
    }
}

pub(super) fn json_of(value: &impl serde::Serialize) -> Vec<u8> {
    let mut json = serde_json::to_vec_pretty(value).expect("JSON is plain data");
    json.push(b'\n');
    json
}
