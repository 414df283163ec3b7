//! [`ProbeReport`]: the results of a probe, as a table and as JSON.

use std::path::PathBuf;
use std::time::Duration;

use hookwright_dialects::hosts::{Host, ProgramVersion};
use serde_json::{Value, json};

use super::check::Check;
use super::name_of_event;
use super::verdict::ProbeVerdict;
use crate::render::Table;
use crate::text::{visible, visible_path};

/// The results of a probe.
#[derive(Debug)]
pub(crate) struct ProbeReport {
    pub(crate) host: &'static Host,
    pub(crate) program: PathBuf,
    pub(crate) version: Option<ProgramVersion>,
    pub(crate) rows: Vec<ProbeRow>,
    /// Whether the user's settings call us; without that there is only a clean home.
    pub(crate) is_connected: bool,
    pub(crate) took: Duration,
    /// The ends of the outputs of runs in which something went wrong.
    pub(crate) talk: Vec<String>,
}

/// What was seen of one check in both homes.
#[derive(Debug)]
pub(crate) struct ProbeRow {
    pub(crate) check: Check,
    pub(crate) clean: Option<ProbeVerdict>,
    pub(crate) of_user: Option<ProbeVerdict>,
}

impl ProbeReport {
    /// For people.
    pub(crate) fn table(&self) -> String {
        let mut table = Table::with_headings(&["event", "check", "clean home", "your settings"]);
        for row in &self.rows {
            let word = |verdict: &Option<ProbeVerdict>| {
                verdict.as_ref().map_or(String::new(), ProbeVerdict::word)
            };
            let event = name_of_event(self.host, row.check.event());
            let cells = [event, row.check.what().to_owned(), word(&row.clean), word(&row.of_user)];
            table.row(cells.iter());
        }
        format!("{}\n\n{table}", self.heading())
    }

    /// The agent, its version and its program.
    pub(crate) fn heading(&self) -> String {
        let version = self.version.map_or("of an unknown version".into(), |it| it.to_string());
        format!("{} {version} ({})", self.host.display_name, visible_path(&self.program))
    }

    /// What it comes to.
    pub(crate) fn summary(&self) -> String {
        let failed = |pick: fn(&ProbeRow) -> &Option<ProbeVerdict>| {
            let verdicts = self.rows.iter().filter_map(move |row| pick(row).as_ref());
            verdicts.filter(|verdict| verdict.is_failure()).count()
        };
        let known = |verdict: &Option<ProbeVerdict>| *verdict == Some(ProbeVerdict::OpenKnown);
        let known = self.rows.iter().filter(|row| known(&row.clean) || known(&row.of_user)).count();
        let count = failed(|row| &row.clean) + failed(|row| &row.of_user);
        let failed = match count {
            0 => "every deny held".to_owned(),
            1 => "1 check failed".to_owned(),
            many => format!("{many} checks failed"),
        };
        let known = if known == 0 { String::new() } else { format!(", {known} known hole open") };
        format!("{failed}{known} ({:.0} s)", self.took.as_secs_f64())
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        let word = |verdict: &Option<ProbeVerdict>| verdict.as_ref().map(ProbeVerdict::word);
        let rows = self.rows.iter().map(|row| {
            json!({
                "event": name_of_event(self.host, row.check.event()),
                "native": row.check.event(),
                "check": row.check.what(),
                "clean": word(&row.clean),
                "yours": word(&row.of_user),
            })
        });
        json!({
            "version": 1,
            "agent": self.host.name,
            "name": self.host.display_name,
            "program": self.program.to_string_lossy(),
            "agent_version": self.version.map(|it| it.to_string()),
            "connected": self.is_connected,
            "failed": self.has_failed(),
            "seconds": (self.took.as_secs_f64() * 10.0).round() / 10.0,
            "rows": rows.collect::<Vec<_>>(),
            "talk": self.talk.iter().map(|talk| visible(talk)).collect::<Vec<_>>(),
        })
    }
}
