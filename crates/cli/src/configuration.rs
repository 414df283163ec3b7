//! [`Configuration`]: the files that a command's options lead to, read and checked.

use std::collections::HashSet;
use std::sync::Arc;

use hookwright_engine::config::{Fault, Loaded, Warning};
use serde_json::Value;

use crate::config_files::{ConfigFiles, ConfigOptions, PROJECT_NAMES, process_environment};
use crate::error::{Failure, fault_json};
use crate::exit_code;
use crate::render::{count, visible};
use crate::screen::Screen;

/// What a command knows once it has read its configuration.
pub(crate) struct Configuration {
    pub(crate) found: ConfigFiles,
    pub(crate) loaded: Loaded,
}

impl Configuration {
    /// Finds, reads and checks every file. Faults are not failures: they are in `loaded`.
    pub(crate) fn read(options: &ConfigOptions) -> Result<Self, Failure> {
        let found = ConfigFiles::find(options)?;
        let (loaded, _) = found.load(&process_environment());
        Ok(Self { found, loaded })
    }

    /// The same, where files that were named are loops and pipelines also if only their content says
    /// so; and what is probably not meant.
    pub(crate) fn check(options: &ConfigOptions) -> Result<(Self, Vec<Warning>), Failure> {
        let mut found = ConfigFiles::find(options)?;
        if !options.config.is_empty() {
            found.look_inside();
        }
        let (loaded, warnings) = found.check(&process_environment());
        Ok((Self { found, loaded }, warnings))
    }

    /// Adds faults that reading the files did not show.
    pub(crate) fn add_faults(&mut self, faults: Vec<Fault>) {
        for fault in faults {
            if !self.loaded.faults.iter().any(|known| **known == fault) {
                self.loaded.faults.push(Arc::new(fault));
            }
        }
    }

    /// Adds what is left out that reading the files did not show.
    pub(crate) fn add_left_out(&mut self, left_out: Vec<Arc<Fault>>) {
        for fault in left_out {
            if !self.loaded.left_out.contains(&fault) {
                self.loaded.left_out.push(fault);
            }
        }
    }

    /// 1 for a faulty configuration, whatever else went well.
    pub(crate) fn exit_code(&self) -> u8 {
        if self.loaded.faults.is_empty() { exit_code::GO_ON } else { exit_code::OUR_FAULT }
    }

    /// Shows every fault and their count on standard error; nothing where there is none.
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

    /// Shows what was left out of foreign files on standard error.
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

    /// Says that no file was found, and where one was looked for.
    pub(crate) fn say_nothing_was_found(&self, screen: &Screen) {
        say_nothing_was_found(&self.found, screen);
    }

    /// Every fault, file by file, from top to bottom. The engine reports them as it finds them, the
    /// keys of a file before its hooks.
    fn faults(&self) -> Vec<&Fault> {
        let mut faults: Vec<&Fault> = self.loaded.faults.iter().map(AsRef::as_ref).collect();
        let file_of = |fault: &&Fault| {
            let files = &self.found.files;
            files.iter().position(|file| file.shown_as == fault.source.path).unwrap_or(files.len())
        };
        // What a pipeline names comes behind the files themselves.
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

/// Says that no file was found, and where one was looked for.
pub(crate) fn say_nothing_was_found(found: &ConfigFiles, screen: &Screen) {
    let mut text = format!(
        "note: no `{}` in {} or any folder above it",
        PROJECT_NAMES[0],
        found.shown(&found.working_dir).display()
    );
    if let Some(folder) = &found.global_folder {
        let global = found.shown(&folder.join("hooks.yaml"));
        text.push_str(&format!(", and no `{}`", global.display()));
    }
    text.push_str(
        "\nhelp: write a first one: `echo 'hooks: {session:start: [{command: echo hello}]}' > \
         hookwright.yaml`\n",
    );
    screen.talk(&visible(&text));
}
