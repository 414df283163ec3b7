//! `hookwright import`: converts another system's hooks to the native format.

mod replacement;

use std::path::{Path, PathBuf};

use std::sync::Arc;

use clap::Args;
use clap::builder::PossibleValuesParser;
use hookwright_config::{Loaded, ReadFile};
use hookwright_dialects::Foreign;
use hookwright_dialects::agent_files::{self, AgentFormat, AgentHooks};
use hookwright_dialects::native::{self, NativeHook};

use self::replacement::{Replaced, Replacement, found_by_itself};
use crate::config_files::{ConfigFiles, ConfigOptions, process_environment};
use crate::error::{Failure, ImportFailure, still_found};
use crate::exit_code;
use crate::render::yaml;
use crate::screen::Screen;
use crate::text::{count, visible};

/// Print the hooks of another system's file in the native format
///
/// Prints the hooks on standard output as YAML, ready for hookwright.yaml. If a native hook would
/// behave differently, the hook keeps its dialect (`dialect: NAME`), and a comment above it
/// explains the difference. Entries that cannot be used are shown on standard error. The file
/// itself is not changed. As long as hookwright finds it beside the native file, every hook runs
/// twice.
///
/// Hook files of Codex, Copilot CLI, Droid, Gemini CLI and Qwen Code are read too. These agents run
/// their hooks themselves, also after the import. A hook that calls `hookwright hook` is left out.
///
/// With --replace, writes the native file (hookwright.yaml in the project, hooks.yaml for all
/// projects) and renames the old file so that hookwright no longer finds it: FILE.before-import,
/// with a number if that name is taken. No file is ever overwritten, and nothing is changed if
/// anything in the file cannot be imported, or if its system reads other settings from it.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The file
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Format of the file, if its name doesn't tell: a dialect, or the agent whose hooks it has
    #[arg(long, value_name = "NAME", value_parser = formats())]
    dialect: Option<String>,

    /// Write the native file and rename the old one, instead of printing
    #[arg(long)]
    replace: bool,

    /// Act as if started in this folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

/// The dialects, and the agents whose hook files only this command reads.
fn formats() -> PossibleValuesParser {
    let dialects = hookwright_dialects::all().iter().map(|foreign| foreign.name());
    PossibleValuesParser::new(dialects.chain(agent_files::names()))
}

pub(crate) fn import(arguments: &ImportArguments, screen: &Screen) -> Result<u8, Failure> {
    let agent = match &arguments.dialect {
        Some(name) => agent_files::named(name),
        None => agent_files::of_file(&arguments.file),
    };
    if let Some(agent) = agent {
        return import_of_agent(agent, arguments, screen);
    }
    let found = ConfigFiles::find(&ConfigOptions {
        config: vec![arguments.file.clone()],
        dialect: arguments.dialect.clone(),
        cwd: arguments.cwd.clone(),
        no_global_hooks: true,
    })?;
    let file = &found.files[0];
    let foreign = file.dialect.and_then(|dialect| hookwright_dialects::named(dialect.name()));
    let Some(foreign) = foreign else {
        return Err(Failure::NothingToImport { file: file.shown_as.clone() });
    };
    let (loaded, _) = found.load(&process_environment());
    screen.left_out(&loaded.left_out);
    let imported = Imported::of(foreign, &loaded);
    if imported.hooks.is_empty() && imported.unsaid.is_empty() && !loaded.left_out.is_empty() {
        return Ok(exit_code::OUR_FAULT);
    }
    let text = imported.text(&file.shown_as.display().to_string(), foreign.name());
    let summary = imported.summary(loaded.left_out.len());
    let all = ConfigFiles::find(&ConfigOptions {
        config: Vec::new(),
        dialect: None,
        cwd: arguments.cwd.clone(),
        no_global_hooks: false,
    })?;
    if arguments.replace {
        let replacement = Replacement::of(&file.path, &all)?;
        let entries = loaded.left_out.len() + imported.unsaid.len();
        if entries > 0 {
            let file = file.shown_as.clone();
            return Err(ImportFailure::SomeLeftOut { file, entries }.into());
        }
        let hooks = imported.hooks.iter().map(|(_, list)| list.len()).sum();
        let replaced = replacement.carry_out(&text, hooks)?;
        screen.result(&visible(&told(&replaced, &file.shown_as)))?;
        screen.talk(&summary);
        return Ok(exit_code::GO_ON);
    }
    screen.result(&text)?;
    screen.talk(&summary);
    if found_by_itself(&file.path, &all).is_some() {
        let can_be_replaced = Replacement::of(&file.path, &all).is_ok();
        screen.advice("note:", &[still_found(&file.shown_as, can_be_replaced)]);
    }
    Ok(exit_code::GO_ON)
}

/// Prints the hooks of another agent's file. The agent continues to run them itself.
fn import_of_agent(
    agent: &'static AgentFormat,
    arguments: &ImportArguments,
    screen: &Screen,
) -> Result<u8, Failure> {
    let found = ConfigFiles::find(&ConfigOptions {
        config: vec![arguments.file.clone()],
        dialect: None,
        cwd: arguments.cwd.clone(),
        no_global_hooks: true,
    })?;
    let file = found.files[0].clone().in_dialect(None);
    if arguments.replace {
        return Err(ImportFailure::AgentReadsIt { file: file.shown_as }.into());
    }
    let read = ReadFile::read(&file).source().and_then(|source| agent.read(&source));
    let AgentHooks { hooks, left_out, own_calls } = match read {
        Ok(read) => read,
        Err(fault) => {
            screen.left_out(&[Arc::new(fault)]);
            return Ok(exit_code::OUR_FAULT);
        }
    };
    screen.left_out(&left_out);
    if hooks.is_empty() && !left_out.is_empty() {
        return Ok(exit_code::OUR_FAULT);
    }
    let mut imported = Imported { hooks: Vec::new(), unsaid: Vec::new() };
    for hook in hooks {
        imported.add(hook);
    }
    screen.result(&imported.text(&file.shown_as.display().to_string(), agent.name()))?;
    screen.talk(&imported.summary(left_out.len()));
    if own_calls > 0 {
        let entries = if own_calls == 1 { "entry calls" } else { "entries call" };
        screen.talk(&format!(
            "{own_calls} {entries} `hookwright hook` and {} left out\n",
            if own_calls == 1 { "is" } else { "are" }
        ));
    }
    let shown = visible(&file.shown_as.to_string_lossy()).into_owned();
    screen.talk(&format!(
        "note: {} runs the hooks in {shown} as long as they are there\n",
        hookwright_dialects::hosts::named(agent.name()).map_or(agent.name(), |it| it.display_name)
    ));
    Ok(exit_code::GO_ON)
}

/// A description of the changes.
fn told(replaced: &Replaced, old: &Path) -> String {
    let Replaced { native, backup, now_count } = replaced;
    let (native, backup, old) = (native.display(), backup.display(), old.display());
    let mut text = format!("wrote {native}\nrenamed {old} to {backup}\n");
    for place in now_count {
        text.push_str(&format!("the hook of {place} is active now: {old} had replaced it\n"));
    }
    text.push_str(&format!(
        "agents run the hooks of {native} once you trust it: `hookwright trust`\nto undo: `rm \
         {native} && mv {backup} {old}`\n"
    ));
    text
}

/// The hooks of a file in native form.
struct Imported {
    /// By event, in the order of the file.
    hooks: Vec<(String, Vec<NativeHook>)>,
    /// Hooks without a native form, with the reason.
    unsaid: Vec<(String, &'static str)>,
}

impl Imported {
    fn of(foreign: &dyn Foreign, loaded: &Loaded) -> Self {
        let mut imported = Self { hooks: Vec::new(), unsaid: Vec::new() };
        for hook in loaded.hooks.hooks() {
            match native::said(foreign, hook) {
                Ok(said) => imported.add(said),
                Err(why) => imported.unsaid.push((hook.source.to_string(), why)),
            }
        }
        imported
    }

    fn add(&mut self, said: NativeHook) {
        match self.hooks.iter_mut().find(|(name, _)| *name == said.event) {
            Some((_, list)) => list.push(said),
            None => self.hooks.push((said.event.clone(), vec![said])),
        }
    }

    fn text(&self, file: &str, dialect: &str) -> String {
        let mut text = format!("# The hooks of {} ({dialect}).\n", visible(file));
        for (place, why) in &self.unsaid {
            text.push_str(&format!("# Left out: {}, {why}.\n", visible(place)));
        }
        text.push_str("version: 1\n");
        if self.hooks.is_empty() {
            text.push_str("hooks: {}\n");
            return text;
        }
        text.push_str("hooks:\n");
        for (event, list) in &self.hooks {
            text.push_str(&format!("  {}:\n", yaml::key(event)));
            for said in list {
                for difference in &said.differences {
                    text.push_str(&format!("    # {difference}\n"));
                }
                text.push_str(&yaml::entry(&said.fields, 4));
            }
        }
        text
    }

    fn summary(&self, left_out: usize) -> String {
        let all: Vec<&NativeHook> = self.hooks.iter().flat_map(|(_, list)| list).collect();
        let kept = all.iter().filter(|said| said.fields.contains_key("dialect")).count();
        let mut parts = vec![count(all.len(), "hook")];
        if kept > 0 {
            parts.push(format!("{kept} of them with their dialect"));
        }
        let to_adapt = all
            .iter()
            .filter(|said| !said.differences.is_empty() && !said.fields.contains_key("dialect"));
        let to_adapt = to_adapt.count();
        if to_adapt > 0 {
            parts.push(format!("{to_adapt} to adapt, see the comments"));
        }
        if left_out + self.unsaid.len() > 0 {
            parts.push(format!("{} left out", left_out + self.unsaid.len()));
        }
        format!("{}\n", parts.join(", "))
    }
}
