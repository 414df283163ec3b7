//! `hookwright init`: writes a first hookwright.yaml that works.
//!
//! It never overwrites or edits a file, whose comments and order belong to its author.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, ErrorKind, IsTerminal, Write};
use std::path::Path;

use clap::Args;
use hookwright_config::schema;

use super::template::find;
use crate::config_files::{ConfigFiles, ConfigOptions, PROJECT_NAMES};
use crate::error::Failure;
use crate::exit_code;
use crate::screen::Screen;
use crate::templates::{self, TEMPLATES, Template};
use crate::text::one_line;

/// Write a first hookwright.yaml in this folder
///
/// Uses the templates that you name. Without any, it asks in a terminal, and uses block-sudo
/// elsewhere. The schema for editors is written to .hookwright/hookwright.schema.json. An existing
/// file is never overwritten or edited.
#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// A template to start with; may be given more than once (`hookwright template list`)
    #[arg(long, value_name = "NAME")]
    template: Vec<String>,

    /// The folder to write in, instead of this one
    #[arg(long, value_name = "DIR")]
    cwd: Option<std::path::PathBuf>,
}

pub(crate) fn init(arguments: &InitArguments, screen: &Screen) -> Result<u8, Failure> {
    let chosen = chosen(arguments, screen)?;
    let options = ConfigOptions {
        config: Vec::new(),
        dialect: None,
        cwd: arguments.cwd.clone(),
        no_global_hooks: true,
    };
    let folder = ConfigFiles::find(&options)?.working_dir;
    for name in PROJECT_NAMES {
        if fs::symlink_metadata(folder.join(name)).is_ok() {
            return Err(Failure::FileIsThere { name });
        }
    }
    write_new(&folder.join(PROJECT_NAMES[0]), &templates::file(&chosen))?;
    let names: Vec<&str> = chosen.iter().map(|template| template.name).collect();
    screen.result(&format!("wrote {} with {}\n", PROJECT_NAMES[0], names.join(", ")))?;
    write_schema(&folder, screen)?;
    screen.talk("next: `hookwright list`, then `hookwright fire tool:pre_execute --data '…'`\n");
    Ok(exit_code::GO_ON)
}

fn chosen(arguments: &InitArguments, screen: &Screen) -> Result<Vec<&'static Template>, Failure> {
    if !arguments.template.is_empty() {
        return arguments.template.iter().map(|name| find(name)).collect();
    }
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        return ask(screen);
    }
    Ok(vec![&TEMPLATES[0]])
}

fn ask(screen: &Screen) -> Result<Vec<&'static Template>, Failure> {
    for (number, template) in TEMPLATES.iter().enumerate() {
        screen.talk(&format!("{}  {:<16} {}\n", number + 1, template.name, template.about));
    }
    loop {
        screen.talk("which templates? (numbers or names, Enter for 1) ");
        let mut line = String::new();
        let read = io::stdin().lock().read_line(&mut line);
        if read.map_err(|cause| Failure::CannotAsk { cause })? == 0 || line.trim().is_empty() {
            return Ok(vec![&TEMPLATES[0]]);
        }
        let words = line.split([',', ' ', '\t', '\n']).filter(|word| !word.is_empty());
        match words.map(meant).collect() {
            Ok(chosen) => return Ok(chosen),
            Err(word) => {
                let word: String = word;
                screen.talk(&format!("unknown template `{}`\n", one_line(&word, 40)));
            }
        }
    }
}

fn meant(word: &str) -> Result<&'static Template, String> {
    let by_number =
        word.parse::<usize>().ok().and_then(|number| TEMPLATES.get(number.wrapping_sub(1)));
    by_number.or_else(|| templates::named(word)).ok_or_else(|| word.to_owned())
}

/// Overwrites the schema, which people don't edit.
fn write_schema(folder: &Path, screen: &Screen) -> Result<(), Failure> {
    let path = folder.join(".hookwright/hookwright.schema.json");
    let shown = ".hookwright/hookwright.schema.json";
    let cannot = |cause| Failure::CannotCreate { path: shown.into(), cause };
    fs::create_dir_all(folder.join(".hookwright")).map_err(cannot)?;
    fs::write(path, format!("{:#}\n", schema())).map_err(cannot)?;
    screen.result(&format!("wrote {shown}\n"))
}

fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|cause| match cause.kind() {
        // Another process was faster.
        ErrorKind::AlreadyExists => Failure::FileIsThere { name: PROJECT_NAMES[0] },
        _ => Failure::CannotCreate { path: PROJECT_NAMES[0].into(), cause },
    })
}
