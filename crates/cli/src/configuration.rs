//! [`Configuration`]: the files for a command's options, read and checked.

use std::collections::HashSet;
use std::sync::Arc;

use hookwright_config::{self as config, ConfigFile, Fault, Loaded, Warning};
use hookwright_engine::HookSet;
use serde_json::Value;

use crate::config_files::{ConfigFiles, ConfigOptions, PROJECT_NAMES, process_environment};
use crate::error::{Failure, fault_json};
use crate::exit_code;
use crate::runner::ProjectRunner;
use crate::screen::Screen;
use crate::text::{count, visible};

/// A command's configuration.
pub(crate) struct Configuration {
    pub(crate) found: ConfigFiles,
    pub(crate) loaded: Loaded,
}

/// The loops and pipelines of the project, and those that they name; none if files are named, since
/// only those count then.
pub(crate) fn runs_of_project(options: &ConfigOptions) -> Result<Vec<ConfigFile>, Failure> {
    match options.config.is_empty() {
        true => Ok(ProjectRunner::find(options)?.runs_of_project()?.files),
        false => Ok(Vec::new()),
    }
}

impl Configuration {
    /// Finds, reads and checks every file. Faults are not failures: they are in `loaded`.
    pub(crate) fn read(options: &ConfigOptions) -> Result<Self, Failure> {
        let found = ConfigFiles::find(options)?;
        let (loaded, _) = found.load(&process_environment());
        Ok(Self { found, loaded })
    }

    /// Reads and checks these files, and returns warnings.
    pub(crate) fn check(found: ConfigFiles) -> (Self, Vec<Warning>) {
        let (loaded, warnings) = found.check(&process_environment());
        (Self { found, loaded }, warnings)
    }

    /// Reads the loops and pipelines of the project, each separately, and notes their faults.
    /// Returns the hooks of each.
    pub(crate) fn read_runs(&mut self, options: &ConfigOptions) -> Result<Vec<HookSet>, Failure> {
        let environment = process_environment();
        let mut runs = Vec::new();
        for file in runs_of_project(options)? {
            let loaded = config::load(std::slice::from_ref(&file), &environment);
            self.add_faults(loaded.faults.iter().map(|fault| Fault::clone(fault)));
            runs.push(loaded.hooks);
            self.found.files.push(file);
        }
        Ok(runs)
    }

    /// Adds faults that were found after reading the files.
    pub(crate) fn add_faults(&mut self, faults: impl IntoIterator<Item = Fault>) {
        for fault in faults {
            if !self.loaded.faults.iter().any(|known| **known == fault) {
                self.loaded.faults.push(Arc::new(fault));
            }
        }
    }

    /// Adds skipped entries that were found after reading the files.
    pub(crate) fn add_left_out(&mut self, left_out: Vec<Arc<Fault>>) {
        for fault in left_out {
            if !self.loaded.left_out.contains(&fault) {
                self.loaded.left_out.push(fault);
            }
        }
    }

    /// 1 for a faulty configuration, else 0.
    pub(crate) fn exit_code(&self) -> u8 {
        if self.loaded.faults.is_empty() { exit_code::GO_ON } else { exit_code::OUR_FAULT }
    }

    /// Prints every fault and their number on standard error.
    pub(crate) fn show_faults(&self, screen: &Screen) {
        let faults = self.faults();
        if faults.is_empty() {
            return;
        }
        screen.faults(faults.iter().copied());
        let files: HashSet<_> = faults.iter().map(|fault| &fault.source.path).collect();
        screen.talk(&format!(
            "{} in {}\n",
            count(faults.len(), "fault"),
            count(files.len(), "file")
        ));
    }

    /// Prints the skipped entries of foreign files on standard error.
    pub(crate) fn show_left_out(&self, screen: &Screen) {
        screen.left_out(&self.loaded.left_out);
    }

    /// The same as JSON.
    pub(crate) fn left_out_json(&self) -> Vec<Value> {
        self.loaded.left_out.iter().map(|fault| fault_json(fault)).collect()
    }

    /// Every fault as JSON.
    pub(crate) fn faults_json(&self) -> Vec<Value> {
        self.faults().into_iter().map(fault_json).collect()
    }

    /// Prints that no file was found, and where it was searched.
    pub(crate) fn say_nothing_was_found(&self, screen: &Screen) {
        say_nothing_was_found(&self.found, screen);
    }

    /// Every fault, file by file, from top to bottom. The engine reports a file's keys before its
    /// hooks.
    fn faults(&self) -> Vec<&Fault> {
        let mut faults: Vec<&Fault> = self.loaded.faults.iter().map(AsRef::as_ref).collect();
        let file_of = |fault: &&Fault| {
            let files = &self.found.files;
            files.iter().position(|file| file.shown_as == fault.source.path).unwrap_or(files.len())
        };
        // Files that a pipeline names come after the others.
        faults.sort_by_key(file_of);
        for of_one_file in faults.chunk_by_mut(|a, b| a.source.path == b.source.path) {
            of_one_file.sort_by_key(|fault| {
                let place = fault.place.as_ref();
                place.map_or((0, 0), |place| (place.line, place.column))
            });
        }
        faults
    }
}

/// Prints that no file was found, and where it was searched.
pub(crate) fn say_nothing_was_found(found: &ConfigFiles, screen: &Screen) {
    let mut text = format!(
        "note: no `{}` in {} or any folder above it",
        PROJECT_NAMES[0],
        found.display_path(&found.working_dir).display()
    );
    if let Some(folder) = &found.global_folder {
        let global = found.display_path(&folder.join("hooks.yaml"));
        text.push_str(&format!(", and no `{}`", global.display()));
    }
    text.push_str(
        "\nhelp: write a first one: `echo 'hooks: {session:start: [{command: echo hello}]}' > \
         hookwright.yaml`\n",
    );
    screen.talk(&visible(&text));
}
