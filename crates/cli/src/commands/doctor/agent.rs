//! What is wrong in one agent: its program, its version, its settings, its last probe.

use std::path::Path;

use hookwright_dialects::hosts::{Host, ProgramVersion};

use super::finding::Finding;
use super::own_program::OwnProgram;
use super::settings::HostSettings;
use crate::installed_agent::{InstalledAgent, VersionUnknown};
use crate::probe::record::ProbeRecord;
use crate::text::visible_path;
use crate::user_folders::UserFolders;

/// Everything about one agent.
pub(super) fn findings(
    agent: &InstalledAgent,
    version: &Result<ProgramVersion, VersionUnknown>,
    own: &OwnProgram,
    project: &Path,
) -> Vec<Finding> {
    let mut all = vec![of_version(agent, version)];
    all.extend(HostSettings::find(agent.host, project).findings(own));
    all.push(of_probe(agent));
    all
}

/// How to make the agent call us.
pub(super) fn how_to_connect(host: &Host) -> String {
    format!("run `hookwright connect {}`", host.name)
}

fn of_version(agent: &InstalledAgent, version: &Result<ProgramVersion, VersionUnknown>) -> Finding {
    let host = agent.host;
    let (program, place) = (host.program, visible_path(&agent.program));
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
    let probe = format!("hookwright doctor --probe {}", agent.host.name);
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
