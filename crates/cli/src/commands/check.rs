//! `hookwright check`: reads the whole configuration and shows every fault and every warning.

mod unfired_hooks;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use hookwright_config::{ConfigFile, Fault, FaultKind, Warning, WarningKind};
use hookwright_engine::hook::Layer;
use hookwright_pipeline::sources::Source;
use serde_json::json;

use self::unfired_hooks::UnfiredHooks;
use crate::config_files::{ConfigFiles, ConfigOptions};
use crate::configuration::Configuration;
use crate::error::{Advice, Certainty, Failure, cut_folder, unfired_together, warning_json};
use crate::exit_code;
use crate::runner::ProjectRunner;
use crate::screen::Screen;
use crate::text::count;

/// Check the configuration and show everything that is wrong with it
///
/// Without FILE, checks the whole project: its hook files, loops and pipelines (beside
/// hookwright.yaml, in loops/, pipelines/ and .hookwright/). Every file is read to its end. Every
/// fault is shown with its place, what was found, what was expected and what to do. For a loop or a
/// pipeline, the loops, prompts, scripts and programs that it names are checked too. Nothing is
/// run. Exits with 0 if there is no fault and with 1 if there is one.
///
/// Warnings are about commands that can run but probably don't do what is meant (a variable in
/// single quotes, free text outside quotes or where the shell evaluates it again, an unknown
/// variable), missing programs and scripts, tools that no agent has and inputs that a tool does not
/// have, hooks that nothing fires, entries of other systems' files that cannot be used, and files
/// in a folder of issues that look like issues but are not. They don't change the exit code, unless
/// --strict is given.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Files to check instead of searching, like --config
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Exit with 1 for warnings too
    #[arg(long)]
    strict: bool,

    /// Print one JSON value on standard output instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    options: ConfigOptions,
}

pub(crate) fn check(mut arguments: CheckArguments, screen: &Screen) -> Result<u8, Failure> {
    arguments.options.config.append(&mut arguments.files);
    let mut found = ConfigFiles::find(&arguments.options)?;
    let mut notes = Vec::new();
    if arguments.options.config.is_empty() {
        let runs = ProjectRunner::find(&arguments.options)?.runs_of_project()?;
        found.add_files(runs.files);
        notes.extend(runs.cut.iter().map(|folder| cut_folder(folder)));
    } else {
        found.look_inside();
    }
    let of_runs = OfRuns::find(&found, &arguments.options)?;
    found.add_files(of_runs.named.clone());
    let (mut configuration, mut warnings) = Configuration::check(found);
    if of_runs.unfired.rules_are_obeyed() {
        warnings.retain(|warning| !matches!(warning.kind, WarningKind::NotEnforced));
    }
    warnings.append(&mut of_runs.unfired.warnings());
    let unfired = of_runs.unfired.without_runs(&configuration);
    notes.extend(unfired_together(Certainty::AsFarAsKnown, &unfired));
    configuration.add_faults(of_runs.faults);
    configuration.add_left_out(of_runs.left_out);
    let has_faults = !configuration.loaded.faults.is_empty();
    if arguments.json {
        screen.json(&as_json(&configuration, &warnings, &notes))?;
    } else if configuration.found.files.is_empty() {
        configuration.say_nothing_was_found(screen);
    } else {
        configuration.show_left_out(screen);
        screen.warnings(&warnings);
        screen.advice("note:", &notes);
        if has_faults {
            configuration.show_faults(screen);
            screen.talk(&said_of(&configuration, &warnings));
        } else {
            screen.result(&all_is_well(&configuration, &warnings))?;
        }
    }
    if arguments.strict && count_of(&configuration, &warnings) > 0 {
        return Ok(exit_code::OUR_FAULT);
    }
    Ok(configuration.exit_code())
}

/// What planning the loops and pipelines shows.
struct OfRuns {
    /// Faults that would keep them from running: missing files that they name, and faults of the
    /// project's and the user's files. A missing agent is not one, since `--agent` can name it.
    faults: Vec<Fault>,
    /// Entries that they would skip.
    left_out: Vec<Arc<Fault>>,
    /// Their hooks that no event can fire.
    unfired: UnfiredHooks,
    /// The loops and pipelines that they name.
    named: Vec<ConfigFile>,
}

impl OfRuns {
    fn find(found: &ConfigFiles, options: &ConfigOptions) -> Result<Self, Failure> {
        let searching = options.searching();
        let faults_of_children = ProjectRunner::find(&searching)?.faults_of_children(found)?;
        let (mut faults, mut left_out) = (faults_of_children, Vec::new());
        let (mut unfired, mut named) = (UnfiredHooks::new(found), Vec::new());
        let runs =
            found.files.iter().filter(|file| matches!(file.layer, Layer::Loop | Layer::Pipeline));
        for file in runs {
            // The same steps as `run`, so that both find the same faults.
            let mut place = ProjectRunner::find(&searching)?;
            let asked = file.path.to_string_lossy();
            place.enter_project_of(&asked, &searching)?;
            match place.prepare(place.asked(&asked, None))? {
                Ok(prepared) => {
                    unfired.add(&prepared);
                    named.extend(prepared.sources.runs().filter_map(Source::config_file));
                    // Skipped entries of other files do not keep it from running.
                    let others = &place.found.files;
                    let is_other = |fault: &Arc<Fault>| {
                        others.iter().any(|file| file.shown_as == fault.source.path)
                    };
                    let news = prepared.plan.left_out.into_iter();
                    left_out.extend(news.filter(|fault| !is_other(fault)));
                }
                Err(found) => {
                    unfired.has_unknown_run = true;
                    let is_news = |fault: &Fault| !matches!(fault.kind, FaultKind::NoAgent);
                    faults.extend(found.into_iter().filter(is_news));
                }
            }
        }
        Ok(Self { faults, left_out, unfired, named })
    }
}

fn all_is_well(configuration: &Configuration, warnings: &[Warning]) -> String {
    let said = said_of(configuration, warnings);
    let warnings = if said.is_empty() { "\n".into() } else { format!(", {said}") };
    let servers = match configuration.loaded.agent_settings.mcp_servers().count() {
        0 => String::new(),
        servers => format!(", {}", count(servers, "MCP server")),
    };
    format!(
        "{} checked, {}{servers}, no faults{warnings}",
        count(configuration.found.files.len(), "file"),
        count(configuration.loaded.hooks.hooks().len(), "hook")
    )
}

fn said_of(configuration: &Configuration, warnings: &[Warning]) -> String {
    match count_of(configuration, warnings) {
        0 => String::new(),
        all => format!("{}\n", count(all, "warning")),
    }
}

/// Counts skipped entries of foreign files as warnings.
fn count_of(configuration: &Configuration, warnings: &[Warning]) -> usize {
    configuration.loaded.left_out.len() + warnings.len()
}

fn as_json(
    configuration: &Configuration,
    warnings: &[Warning],
    notes: &[Advice],
) -> serde_json::Value {
    let files = configuration.found.files.iter();
    let files: Vec<String> = files.map(|file| file.shown_as.display().to_string()).collect();
    let servers = configuration.loaded.agent_settings.mcp_servers().map(|server| &server.name);
    let note = |note: &Advice| json!({ "message": note.heading, "help": note.help });
    json!({
        "version": 1,
        "files": files,
        "hooks": configuration.loaded.hooks.hooks().len(),
        "mcp_servers": servers.collect::<Vec<_>>(),
        "faults": configuration.faults_json(),
        "left_out": configuration.left_out_json(),
        "warnings": warnings.iter().map(warning_json).collect::<Vec<_>>(),
        "notes": notes.iter().map(note).collect::<Vec<_>>(),
    })
}
