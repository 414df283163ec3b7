//! `hookwright check`: reads the whole configuration and shows every fault.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::config_files::ConfigOptions;
use crate::configuration::Configuration;
use crate::error::Failure;
use crate::render::count;
use crate::screen::Screen;

/// Read the configuration and show everything that is wrong with it
///
/// Every file is read to its end and every fault is shown with its place, what was found, what was
/// expected and what to do. Nothing is run. Ends with 0 when there is no fault and with 1 when
/// there is one.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Files to check instead of those that would be found, like --config
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print one JSON value on standard output instead of text for people
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    options: ConfigOptions,
}

pub(crate) fn check(mut arguments: CheckArguments, screen: &Screen) -> Result<u8, Failure> {
    arguments.options.config.append(&mut arguments.files);
    let configuration = Configuration::read(&arguments.options)?;
    if arguments.json {
        screen.json(&as_json(&configuration))?;
    } else if configuration.found.files.is_empty() {
        configuration.say_nothing_was_found(screen);
    } else if configuration.loaded.faults.is_empty() {
        screen.result(&all_is_well(&configuration))?;
    } else {
        configuration.show_faults(screen);
    }
    Ok(configuration.exit_code())
}

fn all_is_well(configuration: &Configuration) -> String {
    format!(
        "{} checked, {}, no faults\n",
        count(configuration.found.files.len(), "file"),
        count(configuration.loaded.hooks.hooks().len(), "hook")
    )
}

fn as_json(configuration: &Configuration) -> serde_json::Value {
    let files = configuration.found.files.iter();
    let files: Vec<String> = files.map(|file| file.shown_as.display().to_string()).collect();
    json!({
        "version": 1,
        "files": files,
        "hooks": configuration.loaded.hooks.hooks().len(),
        "faults": configuration.faults_json(),
    })
}
