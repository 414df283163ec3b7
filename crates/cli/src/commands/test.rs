//! `hookwright test`: cases that fire events and compare the results, without an agent.
//!
//! | module | does |
//! |---|---|
//! | `found` | finds test files |
//! | `tree` | a project's files, and copies of them |
//! | `workspace` | the folder in which a case runs |
//! | `case_run` | runs one case |
//! | `snapshot` | finds changed files |
//! | `comparison`, `line_diff` | compares expected and actual results |
//! | `shown` | prints results for people and programs |

mod case_run;
mod comparison;
mod found;
mod line_diff;
mod shown;
mod snapshot;
mod tree;
mod workspace;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use hookwright_config::test_file::TestCase;
use hookwright_config::{Fault, load};
use hookwright_engine::variables::Environment;
use serde_json::{Value, json};

use self::case_run::Runner;
use self::found::FoundTestFile;
use self::tree::Tree;
use self::workspace::{CaseFolder, CopyInUse, needed, remove_copy_in_use};
use crate::config_files::{ConfigFiles, ConfigOptions, dialect_names};
use crate::error::{Failure, ProjectCopyError, TestFailure, fault_json};
use crate::exit_code;
use crate::hook_switches::off_by_environment;
use crate::host::runtime;
use crate::interrupts::Interrupts;
use crate::screen::Screen;
use crate::text::{count, one_line, visible};

/// Run the cases of test files and show which of them pass
///
/// A case fires events and states the expected results: the decision, its reason, the hooks that
/// ran, the files they changed. Test files are beside the hooks or in a folder tests there; their
/// names end in hookwright.test.yaml. Each case runs in a copy of the project that is removed
/// afterwards, and only with the project's own hooks. Exits with 0 if every case passed, 5 if one
/// failed, 1 for faulty files and bad usage, 130 if interrupted.
#[derive(Debug, Args)]
pub(crate) struct TestArguments {
    /// Test files, or folders with test files, instead of those of the project
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Run only cases with this text in their name
    #[arg(long, short, value_name = "TEXT")]
    filter: Option<String>,

    /// List the cases instead of running them
    #[arg(long)]
    list: bool,

    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,

    /// Run in the project itself instead of in a copy; cases that create files or have a setup
    /// still get a copy
    #[arg(long)]
    in_place: bool,

    /// Show how long each case took
    #[arg(long)]
    time: bool,

    /// Also run the hooks for all projects (~/.config/hookwright/hooks.yaml)
    #[arg(long)]
    global_hooks: bool,

    /// Read this file instead of searching; may be given more than once
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,

    /// Format of the --config files, if their names don't tell
    #[arg(long, value_name = "NAME", value_parser = dialect_names())]
    dialect: Option<String>,

    /// Act as if started in this folder
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

pub(crate) fn test(arguments: &TestArguments, screen: &Screen) -> Result<u8, Failure> {
    let config = ConfigFiles::find(&ConfigOptions {
        config: arguments.config.clone(),
        dialect: arguments.dialect.clone(),
        cwd: arguments.cwd.clone(),
        no_global_hooks: !arguments.global_hooks,
    })?;
    if config.files.is_empty() {
        return Err(
            TestFailure::NoHookFile { folder: config.display_path(&config.working_dir) }.into()
        );
    }
    let found = found::read(&arguments.paths, &config)?;
    let faults = faults(&found, &config);
    if !faults.is_empty() {
        return told(&faults, arguments.json, screen);
    }
    let chosen = chosen(&found, arguments.filter.as_deref())?;
    if arguments.list {
        return list(&chosen, arguments.json, screen);
    }
    if let Some(by) = off_by_environment() {
        return Err(TestFailure::SwitchedOff { by }.into());
    }
    let runtime = runtime()?;
    runtime.block_on(run(arguments, &config, &chosen, screen))
}

/// A case and its file.
struct ChosenCase<'a> {
    file: &'a FoundTestFile,
    case: &'a TestCase,
}

fn chosen<'a>(
    found: &'a [FoundTestFile],
    filter: Option<&str>,
) -> Result<Vec<ChosenCase<'a>>, Failure> {
    let all =
        found.iter().flat_map(|file| file.file.cases.iter().map(|case| ChosenCase { file, case }));
    let asked: Vec<ChosenCase<'a>> = all
        .filter(|chosen| filter.is_none_or(|filter| chosen.case.name.contains(filter)))
        .collect();
    if asked.is_empty() {
        let any = found.iter().any(|file| !file.file.cases.is_empty());
        let filter = filter.filter(|_| any).map(str::to_owned);
        return Err(TestFailure::NoCases { filter }.into());
    }
    Ok(asked)
}

/// The faults of the test files and of the hooks. A condition may use a variable that only the
/// cases set.
fn faults(found: &[FoundTestFile], config: &ConfigFiles) -> Vec<Arc<Fault>> {
    let ours = std::env::vars_os();
    let cases = found.iter().flat_map(|file| &file.file.cases);
    let set = cases.flat_map(|case| &case.env).map(|(name, value)| (name.into(), value.into()));
    let environment = Environment::new(ours.chain(set));
    let mut faults = load(&config.files, &environment).faults;
    faults.extend(found.iter().flat_map(|file| &file.file.faults).cloned().map(Arc::new));
    faults
}

fn told(faults: &[Arc<Fault>], as_json: bool, screen: &Screen) -> Result<u8, Failure> {
    if as_json {
        let faults: Vec<Value> = faults.iter().map(|fault| fault_json(fault)).collect();
        screen.json(&json!({ "version": 1, "cases": [], "faults": faults }))?;
    } else {
        screen.faults(faults.iter().map(AsRef::as_ref));
        screen.talk(&format!("{}, so no case was run\n", count(faults.len(), "fault")));
    }
    Ok(exit_code::OUR_FAULT)
}

fn list(chosen: &[ChosenCase<'_>], as_json: bool, screen: &Screen) -> Result<u8, Failure> {
    if as_json {
        let cases = chosen.iter().map(|ChosenCase { file, case }| {
            shown::case_json(&file.shown_as.display().to_string(), case, None)
        });
        screen.json(&json!({ "version": 1, "cases": cases.collect::<Vec<_>>() }))?;
        return Ok(exit_code::GO_ON);
    }
    let line = |ChosenCase { file, case }: &ChosenCase<'_>| {
        let place = format!("{}:{}", file.shown_as.display(), case.line);
        format!("{}: {}\n", visible(&place), one_line(&case.name, usize::MAX - 1))
    };
    screen.result(&chosen.iter().map(line).collect::<String>())?;
    Ok(exit_code::GO_ON)
}

async fn run(
    arguments: &TestArguments,
    config: &ConfigFiles,
    chosen: &[ChosenCase<'_>],
    screen: &Screen,
) -> Result<u8, Failure> {
    let copy_in_use = CopyInUse::default();
    let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
    let to_remove = Arc::clone(&copy_in_use);
    interrupts.leaving = Some(Box::new(move || remove_copy_in_use(&to_remove)));
    let mut runner = Runner { config, screen, interrupts };
    let mut places = Places { arguments, config, screen, tree: None, copy_in_use };
    let mut results = Vec::new();
    let mut last_file = None;
    for ChosenCase { file, case } in chosen {
        let workspace = places.workspace(case)?;
        let result = runner.run(case, &workspace).await;
        drop(workspace);
        if runner.interrupts.came {
            break;
        }
        if !arguments.json {
            if last_file != Some(&file.shown_as) {
                last_file = Some(&file.shown_as);
                let shown = file.shown_as.display().to_string();
                screen.result(&format!("{}\n", visible(&shown)))?;
            }
            screen.result(&shown::case(case, &result, arguments.time))?;
        }
        results.push(result);
    }
    let failed = results.iter().filter(|result| !result.passed()).count();
    let passed = results.len() - failed;
    if arguments.json {
        let cases: Vec<Value> = chosen
            .iter()
            .zip(&results)
            .map(|(ChosenCase { file, case }, result)| {
                shown::case_json(&file.shown_as.display().to_string(), case, Some(result))
            })
            .collect();
        screen.json(&json!({
            "version": 1,
            "interrupted": runner.interrupts.came,
            "passed": passed,
            "failed": failed,
            "cases": cases,
        }))?;
    } else {
        screen.result(&shown::summary(passed, failed))?;
    }
    if runner.interrupts.came {
        let left = count(chosen.len() - results.len(), "case");
        screen.talk(&format!("interrupted: {left} did not finish\n"));
        return Ok(exit_code::INTERRUPTED);
    }
    Ok(if failed == 0 { exit_code::GO_ON } else { exit_code::FAILED })
}

/// Creates the workspace of every case.
struct Places<'a> {
    arguments: &'a TestArguments,
    config: &'a ConfigFiles,
    screen: &'a Screen,
    /// Listed once, when it is needed.
    tree: Option<Tree>,
    copy_in_use: CopyInUse,
}

impl Places<'_> {
    fn workspace(&mut self, case: &TestCase) -> Result<CaseFolder, Failure> {
        let root = &self.config.project_root;
        let cannot = |cause: ProjectCopyError| cause.into_failure(self.config.display_path(root));
        if (self.arguments.in_place || case.in_place) && !prepares(case) {
            return Ok(CaseFolder::in_place(self.config));
        }
        let first = self.tree.is_none();
        let tree = match self.tree.take() {
            Some(tree) => tree,
            None => Tree::of_project(root, &needed(self.config)).map_err(cannot)?,
        };
        let made = CaseFolder::copy(self.config, &tree, &self.copy_in_use).map_err(cannot);
        self.tree = Some(tree);
        let (workspace, left_out) = made?;
        for link in left_out.iter().filter(|_| first) {
            let link = link.display().to_string();
            self.screen.talk(&format!(
                "note: `{}` points outside the project and was not copied\n",
                visible(&link)
            ));
        }
        Ok(workspace)
    }
}

/// Whether a case changes the project before its first event.
fn prepares(case: &TestCase) -> bool {
    case.setup.is_some()
        || !case.files.is_empty()
        || case.steps.iter().any(|step| !step.files.is_empty())
}
