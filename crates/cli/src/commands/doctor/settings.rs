//! What is wrong in the settings of one agent: whether they call us, and whether that guards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_config::{ConfigFile, Fault, read_text};
use hookwright_dialects::hosts::{self, Host, HostFile, OwnEntry};
use hookwright_dialects::{Location, Whereabouts};
use hookwright_engine::hook::Layer;
use hookwright_events::EventName;

use super::agent::how_to_connect;
use super::entry_trust;
use super::finding::{Finding, Standing};
use super::own_program::{NamedProgram, OwnProgram};
use crate::config_files::process_environment;
use crate::error::advice;
use crate::text::visible_path;
use crate::user_folders::UserFolders;

/// The settings of one host, of the user and of the project.
pub(super) struct HostSettings {
    host: &'static Host,
    files: Vec<CheckedFile>,
}

/// One file of settings.
pub(super) struct CheckedFile {
    pub(super) path: PathBuf,
    of_user: bool,
    /// Its entries that call us.
    pub(super) read: Result<Vec<OwnEntry>, Fault>,
    text: String,
}

impl HostSettings {
    /// Reads them.
    pub(super) fn find(host: &'static Host, project: &Path) -> Self {
        let folders = UserFolders::current();
        let config_home = folders.config();
        let whereabouts = Whereabouts {
            project,
            home: folders.home.as_deref(),
            config_home: config_home.as_deref(),
        };
        let agents = host.agents.iter().filter(|agent| agent.name == host.name);
        let environment = process_environment();
        let locations = agents.flat_map(|agent| (agent.settings)(&whereabouts, &environment));
        let file = |Location { path, layer }: Location| {
            let (text, read) = match text_of(&path)? {
                Ok(text) => (text.clone(), hosts::own_entries(host, &path, &text)),
                Err(fault) => (String::new(), Err(fault)),
            };
            Some(CheckedFile { of_user: layer == Layer::Global, path, read, text })
        };
        Self { host, files: locations.filter_map(file).collect() }
    }

    /// What is wrong with them.
    pub(super) fn findings(&self, own: &OwnProgram) -> Vec<Finding> {
        let mut all = self.faults();
        all.extend(self.switched_off());
        let entries: Vec<&OwnEntry> = self.entries().map(|(_, entry)| entry).collect();
        if entries.is_empty() {
            all.extend(self.not_ours());
            if !all.iter().any(|it| it.standing == Standing::Open) {
                let name = self.host.display_name;
                let text = format!("{name} does not call hookwright, so no guard holds in it");
                all.push(Finding::open("settings", text, how_to_connect(self.host)));
            }
            return all;
        }
        all.extend(self.missing_events());
        all.extend(self.programs(own));
        all.extend(self.times());
        all.extend(self.open_if_missing());
        all.extend(self.not_executable());
        all.extend(self.untrusted());
        if all.is_empty() {
            let places = self.files.iter().filter(|file| file.calls_us());
            let places: Vec<String> = places.map(|file| visible_path(&file.path)).collect();
            let events = entries.len();
            all.push(Finding::good(
                "settings",
                format!("{} ({events} entries)", places.join(", ")),
            ));
        }
        all
    }

    fn entries(&self) -> impl Iterator<Item = (&CheckedFile, &OwnEntry)> {
        self.files
            .iter()
            .flat_map(|file| file.read.iter().flatten().map(move |entry| (file, entry)))
    }

    /// Settings with which the host runs no hooks.
    fn switched_off(&self) -> Vec<Finding> {
        let mut all: Vec<Finding> = Vec::new();
        for file in &self.files {
            for switch in self.host.differences.off_switches {
                let path = switch.path(&file.path);
                let Some(Ok(text)) = text_of(&path) else { continue };
                let written = switch.written();
                let said = format!("`{written}` in {} switches hooks off", visible_path(&path));
                let help = format!("remove `{written}` from {}", visible_path(&path));
                let finding = Finding::open("switch", said, help);
                if switch.is_off_in(&text) && !all.contains(&finding) {
                    all.push(finding);
                }
            }
        }
        all
    }

    fn faults(&self) -> Vec<Finding> {
        let faulty = self.files.iter().filter_map(|file| Some((file, file.read.as_ref().err()?)));
        faulty
            .map(|(file, fault)| {
                let place = match fault.place {
                    Some(_) => fault.location(),
                    None => visible_path(&file.path),
                };
                let text = format!("{place}: {}", advice(fault).heading);
                let help =
                    format!("repair the file: {} cannot read it either", self.host.display_name);
                Finding::open("settings", text, help)
            })
            .collect()
    }

    /// A file where ours should be, which is not what we generate.
    fn not_ours(&self) -> Option<Finding> {
        let generated = self.host.files("hookwright");
        let is_whole = generated.iter().any(|file| !file.path.ends_with(".json"));
        let file = self.files.iter().find(|file| is_whole && file.text.contains("hookwright"))?;
        let text = format!(
            "{} is not what this version generates, so it may not guard",
            visible_path(&file.path)
        );
        Some(Finding::open("settings", text, how_to_connect(self.host)))
    }

    /// Events for which we would be called by the settings that we generate.
    fn missing_events(&self) -> Vec<Finding> {
        let generated = self.generated();
        let called: Vec<&EventName> =
            self.entries().filter_map(|(_, entry)| entry.native.as_ref()).collect();
        let missing = generated.iter().filter(|(_, entry)| {
            entry.native.as_ref().is_some_and(|native| !called.contains(&native))
        });
        let missing: Vec<&OwnEntry> = missing.map(|(_, entry)| entry).collect();
        let names: Vec<&str> = missing.iter().map(|entry| entry.event.as_str()).collect();
        let is_guard = |entry: &&OwnEntry| is_before_tool(entry.native.as_ref());
        match (names.is_empty(), missing.iter().any(is_guard)) {
            (true, _) => Vec::new(),
            (false, true) => {
                let text = format!(
                    "tool calls reach no guard: nothing calls hookwright at {}",
                    names.join(", ")
                );
                vec![Finding::open("settings", text, how_to_connect(self.host))]
            }
            (false, false) => {
                let text = format!("hooks do not run at {}", names.join(", "));
                vec![Finding::note("settings", text, how_to_connect(self.host))]
            }
        }
    }

    /// The entries of the settings that we generate, with their files.
    fn generated(&self) -> Vec<(HostFile, OwnEntry)> {
        let files = self.host.files("hookwright").into_iter();
        let entries = files.flat_map(|file| {
            let entries = hosts::own_entries(self.host, Path::new(file.path), &file.text);
            entries.unwrap_or_default().into_iter().map(move |entry| (file.clone(), entry))
        });
        entries.collect()
    }

    /// The programs that the settings name.
    fn programs(&self, own: &OwnProgram) -> Vec<Finding> {
        let mut named: Vec<&str> =
            self.entries().map(|(_, entry)| entry.program.as_str()).collect();
        named.sort_unstable();
        named.dedup();
        let connect = how_to_connect(self.host);
        let finding = |name: &str| match own.compared(name) {
            NamedProgram::Same if name.contains('/') => None,
            NamedProgram::Same => Some(Finding::note(
                "settings",
                "they name `hookwright` without its path, so another program of that name can answer",
                connect.clone(),
            )),
            NamedProgram::Missing => Some(Finding::open(
                "settings",
                format!("the program that they call does not exist or cannot be executed: {name}"),
                connect.clone(),
            )),
            NamedProgram::Other(path) => Some(Finding::note(
                "settings",
                format!("they call another program than this one: {}", visible_path(&path)),
                format!("{connect}, or ask that one: `{} doctor`", visible_path(&path)),
            )),
            // The shell of the agent expands it.
            NamedProgram::Unknown => None,
        };
        named.into_iter().filter_map(finding).collect()
    }

    /// Deadlines that are later than the agent's own timeout.
    fn times(&self) -> Vec<Finding> {
        let late = self.entries().filter(|(_, entry)| {
            let patience =
                entry.native.as_ref().map_or(Duration::MAX, |event| self.host.patience(event));
            entry.deadline.unwrap_or(patience) > entry.timeout.unwrap_or(patience)
        });
        let late: Vec<&OwnEntry> = late.map(|(_, entry)| entry).collect();
        let Some(first) = late.first() else { return Vec::new() };
        let names: Vec<&str> = late.iter().map(|entry| entry.event.as_str()).collect();
        let text = format!(
            "{} waits less than hookwright may take at {}: a slow guard is passed over",
            self.host.display_name,
            names.join(", ")
        );
        let help = match first.timeout {
            Some(timeout) => {
                format!(
                    "set `--deadline` to at most the timeout beside it: --deadline {}",
                    timeout.as_secs()
                )
            }
            None => how_to_connect(self.host),
        };
        match late.iter().any(|entry| can_block(entry.native.as_ref())) {
            true => vec![Finding::open("timeout", text, help)],
            false => vec![Finding::note("timeout", text, help)],
        }
    }

    /// Entries before a tool call that block nothing if our program is missing.
    fn open_if_missing(&self) -> Option<Finding> {
        let needs = self
            .generated()
            .into_iter()
            .any(|(_, entry)| is_before_tool(entry.native.as_ref()) && entry.blocks_otherwise);
        let open =
            |entry: &OwnEntry| is_before_tool(entry.native.as_ref()) && !entry.blocks_otherwise;
        let is_open = self.entries().any(|(_, entry)| open(entry));
        (needs && is_open).then(|| {
            let text = "tools run if hookwright is missing or crashes";
            Finding::open("settings", text, how_to_connect(self.host))
        })
    }

    /// Files that the agent starts as programs.
    fn not_executable(&self) -> Vec<Finding> {
        let generated = self.host.files("hookwright");
        let is_program = |file: &&CheckedFile| {
            let same = |it: &&HostFile| Path::new(it.path).file_name() == file.path.file_name();
            generated.iter().find(same).is_some_and(|it| it.is_program)
        };
        let is_closed = |file: &&CheckedFile| {
            fs::metadata(&file.path).is_ok_and(|it| it.permissions().mode() & 0o111 == 0)
        };
        let files = self.files.iter().filter(|file| file.calls_us());
        let closed = files.filter(is_program).filter(is_closed);
        closed
            .map(|file| {
                let place = visible_path(&file.path);
                let text =
                    format!("{} skips {place}: it is not executable", self.host.display_name);
                Finding::open("settings", text, format!("chmod +x {place}"))
            })
            .collect()
    }

    /// Entries that Codex skips because they are not trusted.
    fn untrusted(&self) -> Vec<Finding> {
        if self.host.name != "codex" {
            return Vec::new();
        }
        let ours = self.files.iter().filter(|file| file.of_user && file.calls_us());
        ours.flat_map(|file| entry_trust::findings(self.host, file)).collect()
    }
}

impl CheckedFile {
    fn calls_us(&self) -> bool {
        self.read.as_ref().is_ok_and(|entries| !entries.is_empty())
    }
}

fn is_before_tool(event: Option<&EventName>) -> bool {
    event == Some(&EventName::TOOL_PRE_EXECUTE)
}

fn can_block(event: Option<&EventName>) -> bool {
    event.is_some_and(|event| event.power().can_block())
}

/// The text of a settings file; `None` if there is none.
pub(super) fn text_of(path: &Path) -> Option<Result<String, Fault>> {
    // Opening a named pipe would block.
    let is_there = fs::metadata(path).is_ok_and(|found| found.is_file());
    let shown_as = PathBuf::from(visible_path(path));
    is_there.then(|| read_text(&ConfigFile::native(path.to_owned(), shown_as, Layer::Global)))
}
