//! `hookwright schema`: JSON Schemas with which editors complete and check hookwright.yaml and test
//! files.

use clap::Args;
use hookwright_config::schema as schema_of_hook_files;
use hookwright_config::test_file::test_schema;

use crate::error::Failure;
use crate::exit_code;
use crate::screen::Screen;

/// Print the JSON Schema of hookwright.yaml
///
/// Editors complete and check the file with it: save it, and name it in the file's first lines
/// with `# yaml-language-server: $schema=PATH`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// Print the schema of test files (hookwright.test.yaml) instead
    #[arg(long)]
    tests: bool,
}

pub(crate) fn schema(arguments: &SchemaArguments, screen: &Screen) -> Result<u8, Failure> {
    let schema = if arguments.tests { test_schema() } else { schema_of_hook_files() };
    screen.json(&schema)?;
    Ok(exit_code::GO_ON)
}
