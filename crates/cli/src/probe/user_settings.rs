//! [`UserSettings`]: what a probe takes over of the user's settings: our entries, the switches of
//! hooks, and the trust. No credentials, no MCP servers, no variables, no key helpers, and no hooks of
//! other people.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hookwright_config::{ConfigFile, Fault, read_text};
use hookwright_dialects::hosts::codex::CodexTrust;
use hookwright_dialects::hosts::{self, Host};
use hookwright_dialects::{Location, Whereabouts};
use hookwright_engine::hook::Layer;

use super::home::{HOME, HomeFile};
use crate::config_files::process_environment;
use crate::error::ProbeFailure;
use crate::user_folders::UserFolders;

/// Codex's file of settings, with its trust.
const CODEX_CONFIG: &str = "config.toml";

/// What a probe takes over of the user's settings.
#[derive(Debug, Default)]
pub(super) struct UserSettings {
    files: Vec<HomeFile>,
    calls_us: bool,
}

impl UserSettings {
    /// Reads the user's settings of this host.
    pub(super) fn read(host: &Host) -> Result<Self, ProbeFailure> {
        let folders = UserFolders::current();
        let config_home = folders.config();
        let whereabouts = Whereabouts {
            // A project's settings are not the user's.
            project: Path::new("/nonexistent"),
            home: folders.home.as_deref(),
            config_home: config_home.as_deref(),
        };
        let environment = process_environment();
        let agents = host.agents.iter().filter(|agent| agent.name == host.name);
        let locations = agents.flat_map(|agent| (agent.settings)(&whereabouts, &environment));
        let of_user = locations.filter(|location| location.layer == Layer::Global);
        let mut found = Self::default();
        for Location { path, .. } in of_user {
            found.add(host, &path)?;
        }
        Ok(found)
    }

    /// Whether anything in them calls us.
    pub(super) fn calls_us(&self) -> bool {
        self.calls_us
    }

    pub(super) fn files(&self) -> &[HomeFile] {
        &self.files
    }

    fn add(&mut self, host: &Host, path: &Path) -> Result<(), ProbeFailure> {
        let Some(text) = text_of(path)? else { return Ok(()) };
        let faulty = |cause: String| ProbeFailure::Settings { path: path.to_owned(), cause };
        let keys = switch_keys(host, path);
        let entries = hosts::own_entries(host, path, &text);
        let entries = entries.map_err(|fault| faulty(crate::error::advice(&fault).heading))?;
        self.calls_us |= !entries.is_empty();
        let kept = hosts::own_settings(host, path, &text, &keys);
        let kept = kept.map_err(|fault| faulty(crate::error::advice(&fault).heading))?;
        let Some(below) = path_in_home(host, path) else { return Ok(()) };
        if let Some(text) = kept {
            let is_program =
                fs::metadata(path).is_ok_and(|it| it.permissions().mode() & 0o111 != 0);
            self.files.push(HomeFile { path: below.clone(), text, is_program });
        }
        self.add_switches(host, path, &below)?;
        let config = path.with_file_name(CODEX_CONFIG);
        if host.name == "codex"
            && let Some(text) = text_of(&config)?
        {
            let trust = CodexTrust::parse(&text)
                .map_err(|cause| ProbeFailure::Settings { path: config.clone(), cause })?;
            let to = PathBuf::from(HOME).join(&below);
            let file = Path::new(&below).with_file_name(CODEX_CONFIG);
            let text = trust.moved(path, &to);
            let path = file.to_string_lossy().into_owned();
            self.files.push(HomeFile { path, text, is_program: false });
        }
        Ok(())
    }
}

impl UserSettings {
    /// Adds switches that are in files beside these settings. Those of the system are there anyway.
    fn add_switches(
        &mut self,
        host: &Host,
        settings: &Path,
        below: &str,
    ) -> Result<(), ProbeFailure> {
        for switch in host.differences.off_switches {
            let path = switch.path(settings);
            if path == settings || Path::new(switch.file).is_absolute() {
                continue;
            }
            let (Some(text), Some(key)) = (text_of(&path)?, switch.keys.first()) else { continue };
            let whole: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            if let Some(value) = whole.get(*key) {
                let file = Path::new(below).with_file_name(switch.file);
                let text = serde_json::json!({ *key: value }).to_string();
                let path = file.to_string_lossy().into_owned();
                self.files.push(HomeFile { path, text, is_program: false });
            }
        }
        Ok(())
    }
}

/// The keys at the top of this file that can keep hooks from running.
fn switch_keys(host: &Host, path: &Path) -> Vec<&'static str> {
    let here = host.differences.off_switches.iter().filter(|switch| switch.path(path) == path);
    here.filter_map(|switch| switch.keys.first().copied()).collect()
}

/// Where the same file is in a home without variables that move it.
fn path_in_home(host: &Host, path: &Path) -> Option<String> {
    let files = host.files("hookwright");
    let same = files.iter().find(|file| Path::new(file.path).file_name() == path.file_name());
    same.map(|file| file.path.to_owned())
}

fn text_of(path: &Path) -> Result<Option<String>, ProbeFailure> {
    // Opening a named pipe would block.
    if !path.is_file() {
        return Ok(None);
    }
    let file = ConfigFile::native(path.to_owned(), path.to_owned(), Layer::Global);
    let cause = |fault: Fault| crate::error::advice(&fault).heading;
    let faulty = |cause: String| ProbeFailure::Settings { path: path.to_owned(), cause };
    read_text(&file).map(Some).map_err(|fault| faulty(cause(fault)))
}
