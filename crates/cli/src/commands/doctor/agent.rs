//! What is wrong in one agent: its program, its version, its settings, what it trusts, its last probe.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookwright_config::{ConfigFile, Fault, read_text};
use hookwright_dialects::hosts::codex::{CodexTrust, HookTrust};
use hookwright_dialects::hosts::{self, Host, HostFile, OwnEntry, ProgramVersion};
use hookwright_dialects::{Location, Whereabouts};
use hookwright_engine::hook::Layer;
use hookwright_events::EventName;
use hookwright_process::find_program;

use super::finding::Finding;
use super::own_program::OwnProgram;
use crate::config_files::process_environment;
use crate::error::advice;
use crate::installed_agent::{InstalledAgent, VersionUnknown};
use crate::probe::record::ProbeRecord;
use crate::text::visible_path;
use crate::trust::Sha256;
use crate::user_folders::UserFolders;

/// Everything about one agent.
pub(super) fn findings(
    agent: &InstalledAgent,
    version: &Result<ProgramVersion, VersionUnknown>,
    own: &OwnProgram,
    project: &Path,
) -> Vec<Finding> {
    let mut all = vec![of_version(agent, version)];
    all.extend(Settings::find(agent.host, project).findings(own));
    all.push(of_probe(agent));
    all
}

/// How to make the agent call us.
pub(super) fn how_to_connect(host: &dyn Host) -> String {
    format!("run `hookwright connect {}`", host.name())
}

fn of_version(agent: &InstalledAgent, version: &Result<ProgramVersion, VersionUnknown>) -> Finding {
    let host = agent.host;
    let (program, place) = (host.program(), visible_path(&agent.program));
    let update = program.install_command();
    match version {
        Ok(version) if *version < program.measured => match program.missing_before {
            Some(missing) => Finding::open(
                "version",
                format!("{version} is too old ({place}): before {}, {missing}", program.measured),
                update,
            ),
            None => Finding::note(
                "version",
                format!(
                    "{version} is older than the oldest measured one, {} ({place})",
                    program.measured
                ),
                update,
            ),
        },
        Ok(version) => Finding::good("version", format!("{version} ({place})")),
        Err(VersionUnknown::Failed { cause }) => Finding::note(
            "version",
            format!("`{place} --version` failed: {cause}"),
            format!("run it yourself, or install it again: {update}"),
        ),
        Err(VersionUnknown::NotPrinted { printed }) => Finding::note(
            "version",
            format!("`{place} --version` printed no version but `{printed}`"),
            format!("check which program this is, or install it again: {update}"),
        ),
    }
}

fn of_probe(agent: &InstalledAgent) -> Finding {
    let probe = format!("hookwright doctor --probe {}", agent.host.name());
    let state = UserFolders::current().own_state();
    match state.and_then(|state| ProbeRecord::read(&state, agent.host)) {
        None => Finding::note("probe", "never probed, so nothing proves that hooks hold", probe),
        Some(record) if record.program != agent.program || record.is_outdated() => Finding::note(
            "probe",
            format!("the program has changed since its probe ({})", day(&record)),
            probe,
        ),
        Some(record) if record.failed => {
            Finding::open("probe", format!("checks failed ({})", day(&record)), probe)
        }
        Some(record) => Finding::good("probe", format!("every deny held ({})", day(&record))),
    }
}

fn day(record: &ProbeRecord) -> String {
    let version = record.agent_version.as_deref().unwrap_or("unknown version");
    format!("{version}, {}", record.at.get(..10).unwrap_or_default())
}

/// The settings of one host, of the user and of the project.
struct Settings {
    host: &'static dyn Host,
    files: Vec<SettingsFile>,
}

/// One file of settings.
struct SettingsFile {
    path: PathBuf,
    of_user: bool,
    read: Result<Vec<OwnEntry>, Fault>,
    text: String,
}

impl Settings {
    fn find(host: &'static dyn Host, project: &Path) -> Self {
        let folders = UserFolders::current();
        let config_home = folders.config();
        let whereabouts = Whereabouts {
            project,
            home: folders.home.as_deref(),
            config_home: config_home.as_deref(),
        };
        let agents = host.agents().iter().filter(|agent| agent.name == host.name());
        let environment = process_environment();
        let locations = agents.flat_map(|agent| (agent.settings)(&whereabouts, &environment));
        let file = |Location { path, layer }: Location| {
            let (text, read) = match text_of(&path)? {
                Ok(text) => (text.clone(), hosts::own_entries(host, &path, &text)),
                Err(fault) => (String::new(), Err(fault)),
            };
            Some(SettingsFile { of_user: layer == Layer::Global, path, read, text })
        };
        Self { host, files: locations.filter_map(file).collect() }
    }

    fn findings(&self, own: &OwnProgram) -> Vec<Finding> {
        let mut all = self.faults();
        let entries: Vec<&OwnEntry> = self.entries().map(|(_, entry)| entry).collect();
        if entries.is_empty() {
            all.extend(self.not_ours());
            if !all.iter().any(|it| it.standing == super::finding::Standing::Open) {
                let name = self.host.display_name();
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

    fn entries(&self) -> impl Iterator<Item = (&SettingsFile, &OwnEntry)> {
        self.files
            .iter()
            .flat_map(|file| file.read.iter().flatten().map(move |entry| (file, entry)))
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
                    format!("repair the file: {} cannot read it either", self.host.display_name());
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
            Compared::Same if name.contains('/') => None,
            Compared::Same => Some(Finding::note(
                "settings",
                "they name `hookwright` without its path, so another program of that name can answer",
                connect.clone(),
            )),
            Compared::Missing => Some(Finding::open(
                "settings",
                format!("the program that they call does not exist or cannot be executed: {name}"),
                connect.clone(),
            )),
            Compared::Other(path) => Some(Finding::note(
                "settings",
                format!("they call another program than this one: {}", visible_path(&path)),
                format!("{connect}, or ask that one: `{} doctor`", visible_path(&path)),
            )),
            // The shell of the agent expands it.
            Compared::Unknown => None,
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
            self.host.display_name(),
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
        let is_program = |file: &&SettingsFile| {
            let same = |it: &&HostFile| Path::new(it.path).file_name() == file.path.file_name();
            generated.iter().find(same).is_some_and(|it| it.is_program)
        };
        let is_closed = |file: &&SettingsFile| {
            fs::metadata(&file.path).is_ok_and(|it| it.permissions().mode() & 0o111 == 0)
        };
        let files = self.files.iter().filter(|file| file.calls_us());
        let closed = files.filter(is_program).filter(is_closed);
        closed
            .map(|file| {
                let place = visible_path(&file.path);
                let text =
                    format!("{} skips {place}: it is not executable", self.host.display_name());
                Finding::open("settings", text, format!("chmod +x {place}"))
            })
            .collect()
    }

    /// Entries that Codex skips because they are not trusted.
    fn untrusted(&self) -> Vec<Finding> {
        if self.host.name() != "codex" {
            return Vec::new();
        }
        let ours = self.files.iter().filter(|file| file.of_user && file.calls_us());
        ours.flat_map(|file| untrusted_in(self.host, file)).collect()
    }
}

fn untrusted_in(host: &dyn Host, file: &SettingsFile) -> Vec<Finding> {
    let config = file.path.with_file_name("config.toml");
    let text = match text_of(&config) {
        Some(Ok(text)) => text,
        Some(Err(fault)) => {
            let text = format!("{}: {}", visible_path(&config), advice(&fault).heading);
            return vec![Finding::open("trust", text, "make the file readable")];
        }
        None => String::new(),
    };
    let trust = match CodexTrust::parse(&text) {
        Ok(trust) => trust,
        Err(cause) => {
            let cause = cause.lines().next().unwrap_or_default().to_owned();
            let text = format!("{}: {cause}", visible_path(&config));
            return vec![Finding::open("trust", text, "repair the file")];
        }
    };
    if trust.is_off {
        let text = format!("{} switches hooks off (`features`)", visible_path(&config));
        return vec![Finding::open("trust", text, "remove `hooks = false` from it")];
    }
    let digest = |bytes: &[u8]| Sha256::digest(bytes).to_hex();
    let mut skipped: Vec<(HookTrust, &str)> = Vec::new();
    for entry in file.read.iter().flatten() {
        let standing = trust.of_entry(&file.path, entry, digest);
        if standing != HookTrust::Trusted {
            skipped.push((standing, &entry.event));
        }
    }
    let Some((standing, _)) = skipped.first() else { return Vec::new() };
    let why = match standing {
        HookTrust::Changed => "they have changed since they were trusted",
        HookTrust::Disabled => "they are switched off",
        HookTrust::Untrusted | HookTrust::Trusted => "they are not trusted",
    };
    let names: Vec<&str> = skipped.iter().map(|(_, event)| *event).collect();
    let text = format!("Codex skips hookwright at {} and says nothing: {why}", names.join(", "));
    let help = format!("{}, or trust them in Codex: /hooks", how_to_connect(host));
    vec![Finding::open("trust", text, help)]
}

impl SettingsFile {
    fn calls_us(&self) -> bool {
        self.read.as_ref().is_ok_and(|entries| !entries.is_empty())
    }
}

/// What a program that settings name is.
pub(super) enum Compared {
    /// This one.
    Same,
    /// Another one, at this path.
    Other(PathBuf),
    /// There is none.
    Missing,
    /// Its path depends on variables.
    Unknown,
}

impl OwnProgram {
    /// What the program that settings name is.
    fn compared(&self, name: &str) -> Compared {
        let expanded = name.strip_prefix("~/").or(name.strip_prefix("$HOME/"));
        let home = UserFolders::current().home.clone();
        let name = match (expanded, home) {
            (Some(below), Some(home)) => home.join(below).into_os_string(),
            _ if name.contains('$') || name.starts_with('~') => return Compared::Unknown,
            _ => name.into(),
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        match find_program(OsStr::new(&name), &path, Path::new("/")) {
            None => Compared::Missing,
            Some(found) if self.is(&found) => Compared::Same,
            Some(found) => Compared::Other(found),
        }
    }
}

fn is_before_tool(event: Option<&EventName>) -> bool {
    event == Some(&EventName::TOOL_PRE_EXECUTE)
}

fn can_block(event: Option<&EventName>) -> bool {
    event.is_some_and(|event| event.power().can_block())
}

/// The text of a settings file; `None` if there is none.
fn text_of(path: &Path) -> Option<Result<String, Fault>> {
    // Opening a named pipe would block.
    let is_there = fs::metadata(path).is_ok_and(|found| found.is_file());
    let shown_as = PathBuf::from(visible_path(path));
    is_there.then(|| read_text(&ConfigFile::native(path.to_owned(), shown_as, Layer::Global)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `codex app-server` 0.166.0 answered to `hooks/list` for these hooks.
    #[test]
    fn our_digest_of_a_hook_is_the_one_that_codex_names() {
        let hooks = r#"{"hooks": {
            "PreToolUse": [{"hooks": [{"type": "command", "timeout": 60,
                "command": "/bin/hookwright hook codex --deadline 60 || exit 2"}]}]}}"#;
        let digest = "1d2b767f0f5fc4a3b92b3683f24bae4fb91300e53cec2e5114d6e475c71a9956";
        let path = Path::new("/home/user/.codex/hooks.json");
        let host = hosts::named("codex").expect("a host");
        let entry = hosts::own_entries(host, path, hooks).expect("readable").remove(0);
        let text = format!(
            "[hooks.state.\"{}:pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:{digest}\"\n",
            path.display()
        );
        let trust = CodexTrust::parse(&text).expect("TOML");
        let ours = |bytes: &[u8]| Sha256::digest(bytes).to_hex();
        assert_eq!(trust.of_entry(path, &entry, ours), HookTrust::Trusted);
    }
}
