//! `hookwright template`: hooks to start with.

use clap::{Args, Subcommand};
use hookwright_engine::nearest;
use serde_json::json;

use crate::error::Failure;
use crate::exit_code;
use crate::render::Table;
use crate::screen::Screen;
use crate::templates::{self, TEMPLATES, Template};

/// Show hooks to start with, ready to copy into hookwright.yaml
#[derive(Debug, Args)]
pub(crate) struct TemplateArguments {
    #[command(subcommand)]
    command: TemplateCommand,
}

#[derive(Debug, Subcommand)]
enum TemplateCommand {
    /// List the templates
    List {
        /// Print one JSON value on standard output
        #[arg(long)]
        json: bool,
    },
    /// Print one template, to paste below `hooks:`
    Show {
        /// Its name
        name: String,
    },
}

pub(crate) fn template(arguments: &TemplateArguments, screen: &Screen) -> Result<u8, Failure> {
    match &arguments.command {
        TemplateCommand::List { json: true } => {
            let all = TEMPLATES.iter().map(|t| json!({ "name": t.name, "about": t.about }));
            screen.json(&json!({ "version": 1, "templates": all.collect::<Vec<_>>() }))?;
        }
        TemplateCommand::List { json: false } => {
            let mut table = Table::default();
            for template in TEMPLATES {
                table.row([template.name, template.about]);
            }
            screen.result(&table.to_string())?;
        }
        TemplateCommand::Show { name } => screen.result(&find(name)?.below_its_event())?,
    }
    Ok(exit_code::GO_ON)
}

/// The template with this name, or a failure that lists the names.
pub(crate) fn find(name: &str) -> Result<&'static Template, Failure> {
    templates::named(name).ok_or_else(|| Failure::UnknownTemplate {
        name: name.to_owned(),
        nearest: nearest(name, TEMPLATES.iter().map(|template| template.name)),
    })
}
