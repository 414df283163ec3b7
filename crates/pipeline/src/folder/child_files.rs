//! What a session that a hook has started is given, and what it leaves: `inputs.json`, `output.json`.

use hookwright_engine::limits::OUTPUT_BYTES_MAX;
use serde_json::{Map, Value};

use super::open_folder::Read;
use super::{FolderError, SessionFolder};

const INPUTS: &str = "inputs.json";
const OUTPUT: &str = "output.json";

/// What was found in the place of `output.json`.
#[derive(Debug, Clone, PartialEq)]
pub enum ChildOutput {
    /// Nothing.
    Missing,
    /// Something that cannot be used, and why.
    Broken(String),
    /// Any JSON.
    Read(Value),
}

impl SessionFolder {
    /// What the session was given.
    pub fn inputs(&self) -> std::path::PathBuf {
        self.path.join(INPUTS)
    }

    /// Reads what the session was given; `None` if it is not there or is no JSON any more.
    pub fn read_inputs(&self) -> Result<Option<Map<String, Value>>, FolderError> {
        match self.read_json(INPUTS)? {
            ChildOutput::Read(Value::Object(inputs)) => Ok(Some(inputs)),
            _ => Ok(None),
        }
    }

    /// Writes what the session is given, for its user alone: it may carry a secret on purpose.
    pub fn write_inputs(&self, inputs: &Map<String, Value>) -> Result<(), FolderError> {
        self.make(&[])?.replace_private(INPUTS, &json_of(inputs))
    }

    /// Reads what the session has left.
    pub fn read_child_output(&self) -> Result<ChildOutput, FolderError> {
        self.read_json(OUTPUT)
    }

    /// Writes what the session leaves.
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
