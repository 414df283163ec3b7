//! [`NamedServers`]: the MCP servers that files name, with all values, before they are started.
//!
//! A session of `agent` starts them once (`commands/agent/session_servers.rs`). In a loop or pipeline,
//! each turn of the built-in agent starts its own (`built_in_driver.rs`).

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use hookwright_agent::limits::{MCP_CALL_TIMEOUT, MCP_START_TIMEOUT};
use hookwright_agent::mcp::{
    McpNotices, McpServerSettings, McpServers, ServerReport, StartedServers,
};
use hookwright_config::{McpServerSpec, ServerValues};
use hookwright_engine::Secrets;
use hookwright_engine::variables::Environment;
use tokio_util::sync::CancellationToken;

use crate::model_choice::KEYS;

/// Servers that are to be started, and those that cannot be.
#[derive(Default)]
pub(crate) struct NamedServers {
    settings: Vec<McpServerSettings>,
    /// The names of servers that are not started, and why.
    refused: Vec<(String, String)>,
}

impl NamedServers {
    /// The enabled servers among these. Their runs are called `NAME-1`, `NAME-2` and so on.
    pub(crate) fn new<'a>(
        specs: impl Iterator<Item = &'a McpServerSpec>,
        surroundings: &ServerSurroundings<'_>,
        name: &str,
    ) -> Self {
        let secrets = surroundings.all_secrets();
        let mut named = Self::default();
        for spec in specs.filter(|spec| spec.enabled) {
            let run_id = format!("{name}-{}", named.settings.len() + 1);
            match surroundings.settings(spec, run_id, secrets.clone()) {
                Ok(server) => named.settings.push(server),
                Err(problem) => named.refuse(&spec.name, problem),
            }
        }
        named
    }

    /// Adds a server that is not started.
    pub(crate) fn refuse(&mut self, name: &str, problem: String) {
        self.refused.push((name.to_owned(), problem));
    }

    /// The names of the runs that will be started.
    pub(crate) fn run_ids(&self) -> Vec<String> {
        self.settings.iter().map(|settings| settings.run_id.clone()).collect()
    }

    /// Starts all servers at once, unless `cancel` is cancelled meanwhile.
    pub(crate) async fn start(
        self,
        notices: McpNotices,
        cancel: &CancellationToken,
    ) -> StartedServers {
        let Self { settings, refused } = self;
        let mut started = StartedServers::default();
        if !settings.is_empty() {
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                all = McpServers::start(settings, notices) => started = all,
            }
        }
        for (name, problem) in refused {
            let notice = format!("the MCP server `{name}` was not started: {problem}");
            started.notices.push(notice);
            started.reports.push(ServerReport { name, is_connected: false });
        }
        started
    }
}

/// Where servers run, and where the values of their variables come from.
pub(crate) struct ServerSurroundings<'a> {
    /// The whole environment of this process.
    pub(crate) given: &'a Environment,
    /// The environment of servers, without the keys of models.
    pub(crate) environment: &'a Environment,
    /// Variables on top of that.
    pub(crate) env: &'a [(OsString, OsString)],
    pub(crate) secrets: &'a Secrets,
    pub(crate) working_dir: &'a Path,
}

impl ServerSurroundings<'_> {
    fn settings(
        &self,
        spec: &McpServerSpec,
        run_id: String,
        secrets: Secrets,
    ) -> Result<McpServerSettings, String> {
        let expanded = spec.expand(self).map_err(|error| error.to_string())?;
        let own = expanded.env.into_iter().map(|(name, value)| (name.into(), value.into()));
        Ok(McpServerSettings {
            name: spec.name.clone(),
            program: expanded.command,
            args: expanded.args,
            shared_env: Arc::clone(self.environment.for_hooks()),
            env: self.env.iter().cloned().chain(own).collect(),
            working_dir: self.working_dir.to_owned(),
            timeout: spec.timeout.unwrap_or(MCP_CALL_TIMEOUT),
            start_timeout: spec.start_timeout.unwrap_or(MCP_START_TIMEOUT),
            run_id,
            secrets,
        })
    }

    /// Everything that must not appear in what servers say.
    fn all_secrets(&self) -> Secrets {
        let known = self.secrets.names().chain(KEYS.iter().copied());
        let known = known.filter_map(|name| Some((name.to_owned(), self.secret(name)?)));
        Secrets::new(known.collect())
    }
}

impl ServerValues for ServerSurroundings<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.environment.text(name).map(str::to_owned)
    }

    fn secret(&self, name: &str) -> Option<String> {
        let key = KEYS.contains(&name).then(|| self.given.text(name)).flatten();
        let secret = self.secrets.get(name).or(key).filter(|value| !value.is_empty());
        secret.map(str::to_owned)
    }
}
