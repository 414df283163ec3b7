//! [`ProbeHome`]: a home directory with a project, which is thrown away.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hookwright_dialects::hosts::{Host, offline};
use hookwright_model_server::{ModelBehaviour, ModelServer};
use serde_json::Value;
use tempfile::TempDir;

use super::limits::SHORT_TIMEOUT_SECONDS;
use super::own_program;
use super::script::{CalledProgram, HOOKS, RunPlan};
use crate::error::{Failure, ProbeFailure};
use crate::trust::{self, Sha256};

/// A program that is killed before it does anything.
const CRASHING: &str = "#!/bin/sh\nkill -KILL $$\n";

/// The home of one run. It is removed when this is dropped.
pub(super) struct ProbeHome {
    _folder: TempDir,
    /// The home directory.
    pub(super) home: PathBuf,
    /// The project in it.
    pub(super) project: PathBuf,
    /// Where temporary files go.
    pub(super) temporary: PathBuf,
    /// The model.
    pub(super) model: ModelServer,
    /// Whether its settings were trusted by the user.
    pub(super) is_users: bool,
}

/// A file of settings in a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HomeFile {
    /// Its path below the home directory.
    pub(super) path: String,
    pub(super) text: String,
    pub(super) is_program: bool,
}

/// Which settings make the agent call us.
#[derive(Debug, Clone)]
pub(super) enum HomeSettings {
    /// Those that we generate, for the program of the plan.
    Generated(&'static Host),
    /// The user's.
    OfUser(Vec<HomeFile>),
}

impl HomeSettings {
    fn files(&self, program: &Path, is_short: bool) -> Vec<HomeFile> {
        match self {
            Self::OfUser(files) => files.clone(),
            Self::Generated(host) => {
                let files = host.files(&program.to_string_lossy()).into_iter();
                let short = |text: String| if is_short { shortened(&text) } else { text };
                files
                    .map(|file| HomeFile {
                        path: file.path.to_owned(),
                        text: short(file.text),
                        is_program: file.is_program,
                    })
                    .collect()
            }
        }
    }
}

impl ProbeHome {
    /// Makes a home for one run, with its model.
    pub(super) fn make(
        host: &'static Host,
        own: &Path,
        plan: &RunPlan,
        settings: &HomeSettings,
    ) -> Result<Self, ProbeFailure> {
        let folder = tempfile::Builder::new().prefix("hookwright-probe-").tempdir();
        let folder = folder.map_err(ProbeFailure::NoHome)?;
        let home = fs::canonicalize(folder.path()).map_err(ProbeFailure::NoHome)?;
        let (project, temporary) = (home.join("project"), home.join("tmp"));
        let model =
            ModelServer::start(ModelBehaviour::Conversations(plan.conversations(host, &project)));
        let model = model.map_err(ProbeFailure::NoModel)?;
        let made =
            Self { _folder: folder, home, project, temporary, model, is_users: plan.is_users };
        made.fill(host, own, plan, settings).map_err(ProbeFailure::NoHome)?;
        Ok(made)
    }

    fn fill(
        &self,
        host: &'static Host,
        own: &Path,
        plan: &RunPlan,
        settings: &HomeSettings,
    ) -> io::Result<()> {
        fs::create_dir(&self.project)?;
        fs::create_dir(&self.temporary)?;
        let program = own_program(&plan.program, own, &self.home);
        if plan.program == CalledProgram::Crashing {
            write(&program, CRASHING, true)?;
        }
        let run = host.offline;
        let offline = run.files(&self.model.url()).into_iter();
        let offline = offline.chain([run.server_file(&own.to_string_lossy())]);
        let mut files: Vec<HomeFile> = Vec::new();
        let offline =
            offline.map(|(path, text)| HomeFile { path: path.to_owned(), text, is_program: false });
        for file in offline.chain(settings.files(&program, plan.is_short)) {
            match files.iter_mut().find(|known| known.path == file.path) {
                Some(known) => known.text = offline::merged(&known.text, &file.text),
                None => files.push(file),
            }
        }
        for file in &files {
            // The user's settings name themselves by their path.
            let text = file.text.replace(HOME, &self.home.to_string_lossy());
            write(&self.home.join(&file.path), &text, file.is_program)?;
        }
        let hooks = self.project.join("hookwright.yaml");
        write(&hooks, HOOKS, false)?;
        let state = self.home.join(".local/state/hookwright");
        let trusted = [(trust::place(&hooks), Sha256::digest(HOOKS.as_bytes()))];
        trust::add(&state, &trusted)
            .map_err(|error| io::Error::other(Failure::Trust(error).message().heading))
    }
}

/// In the text of a settings file: the home directory of the run.
pub(super) const HOME: &str = "/HOME-OF-THE-PROBE";

fn write(path: &Path, text: &str, is_program: bool) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mode = if is_program { 0o755 } else { 0o644 };
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}

/// Generated settings with short timeouts, and deadlines to match.
fn shortened(text: &str) -> String {
    let seconds = SHORT_TIMEOUT_SECONDS;
    if let Ok(mut whole) = serde_json::from_str::<Value>(text) {
        shorten(&mut whole);
        return whole.to_string();
    }
    // Programs and plugins: ours name the number twice at most.
    let mut text = text.replace("const seconds = 60", &format!("const seconds = {seconds}"));
    for deadline in ["--deadline 30", "--deadline 60"] {
        text = text.replace(deadline, &format!("--deadline {seconds}"));
    }
    text
}

fn shorten(value: &mut Value) {
    let seconds = SHORT_TIMEOUT_SECONDS;
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(args)) = fields.get_mut("args") {
                args.truncate(2);
                args.extend(["--deadline".into(), seconds.to_string().into()]);
                fields.insert("timeout".to_owned(), seconds.into());
            }
            for (key, value) in fields.iter_mut() {
                match value.as_u64() {
                    Some(1000..) if key == "timeout" => *value = (seconds * 1000).into(),
                    Some(_) if key == "timeout" || key == "timeoutSec" => *value = seconds.into(),
                    _ => shorten(value),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(shorten),
        Value::String(text) => {
            if let Some((before, rest)) = text.split_once("--deadline ") {
                let after = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
                *text = format!("{before}--deadline {seconds}{after}");
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hookwright_dialects::hosts;

    use super::*;

    #[test]
    fn short_settings_of_every_host_have_the_short_timeout_and_the_deadline_to_match() {
        let short = Duration::from_secs(SHORT_TIMEOUT_SECONDS);
        for host in hosts::all() {
            let files = HomeSettings::Generated(host).files(Path::new("/bin/hookwright"), true);
            for file in files {
                let name = format!("{}: {}", host.name, file.path);
                if !file.path.ends_with(".json") {
                    let seconds = SHORT_TIMEOUT_SECONDS;
                    let ways =
                        [format!("--deadline {seconds}"), format!("const seconds = {seconds}")];
                    assert!(
                        ways.iter().any(|way| file.text.contains(way)),
                        "{name}:\n{}",
                        file.text
                    );
                    continue;
                }
                let path = Path::new(&file.path);
                let entries = hosts::own_entries(host, path, &file.text).expect("readable");
                assert!(!entries.is_empty(), "{name}");
                for entry in entries {
                    assert_eq!(
                        (entry.timeout, entry.deadline),
                        (Some(short), Some(short)),
                        "{name}"
                    );
                }
            }
        }
    }
}
