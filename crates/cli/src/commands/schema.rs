//! `hookwright schema`: what editors need to complete and check hookwright.yaml.

use clap::Args;
use hookwright_engine::config::schema as schema_of_hook_files;

use crate::error::Failure;
use crate::exit_code;
use crate::screen::Screen;

/// Print the JSON Schema of hookwright.yaml
///
/// Editors complete and check the file with it: save it, and name it in the file's first lines
/// with `# yaml-language-server: $schema=PATH`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {}

pub(crate) fn schema(_arguments: &SchemaArguments, screen: &Screen) -> Result<u8, Failure> {
    screen.json(&schema_of_hook_files())?;
    Ok(exit_code::GO_ON)
}
