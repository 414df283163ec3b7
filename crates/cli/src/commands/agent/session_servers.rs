//! [`SessionServers`]: the MCP servers of a session, from the files to their processes.
//!
//! What a session starts is recorded before it starts. If the program is killed, the next session ends
//! what is left (`left_servers.rs`).

use std::sync::Arc;

use hookwright_agent::agent::{AgentNews, Audience};
use hookwright_agent::limits::{MCP_CALL_TIMEOUT, MCP_START_TIMEOUT};
use hookwright_agent::mcp::{
    McpNotices, McpServerSettings, McpServers, ServerReport, StartedServers,
};
use hookwright_config::{AgentSettings, McpServerSpec, ServerValues};
use hookwright_engine::Secrets;
use hookwright_engine::variables::Environment;
use tokio_util::sync::CancellationToken;

use super::left_servers::{LeftServers, ServerRecord};
use super::output::AgentOutput;
use crate::host::ProjectHooks;
use crate::model_choice::KEYS;

/// The servers that a session is to start.
pub(super) struct SessionServers {
    settings: Vec<McpServerSettings>,
    /// Servers that cannot be started, and why.
    problems: Vec<(String, String)>,
    left: LeftServers,
    session_id: String,
}

/// The servers of a session that runs.
pub(super) struct RunningServers {
    servers: McpServers,
    record: Option<ServerRecord>,
}

impl SessionServers {
    /// The servers that the files name.
    pub(super) fn new(
        files: &AgentSettings,
        values: &SessionValues<'_>,
        left: LeftServers,
        session_id: &str,
    ) -> Self {
        let secrets = values.secrets();
        let (mut settings, mut problems) = (Vec::new(), Vec::new());
        for spec in files.mcp_servers().filter(|spec| spec.enabled) {
            let run_id = format!("mcp-{session_id}-{}", settings.len() + 1);
            match values.settings(spec, run_id, secrets.clone()) {
                Ok(server) => settings.push(server),
                Err(problem) => problems.push((spec.name.clone(), problem)),
            }
        }
        Self { settings, problems, left, session_id: session_id.to_owned() }
    }

    /// Starts all servers, unless the session is cancelled meanwhile, and tells the user what came of it.
    /// Returns their tools beside them.
    pub(super) async fn start(
        self,
        output: &AgentOutput,
        cancel: &CancellationToken,
    ) -> (RunningServers, StartedTools) {
        let Self { settings, problems, left, session_id } = self;
        left.end_all().await;
        let mut started = StartedServers::default();
        let mut record = None;
        if !settings.is_empty() {
            let run_ids = settings.iter().map(|settings| settings.run_id.clone()).collect();
            record = left.record(&session_id, run_ids);
            let later = output.clone();
            let notices: McpNotices = Arc::new(move |text| later.see(AgentNews::Notice(text)));
            tokio::select! {
                biased;
                () = cancel.cancelled() => {}
                all = McpServers::start(settings, notices) => started = all,
            }
        }
        let StartedServers { servers, tools, mut reports, mut notices } = started;
        for (name, problem) in problems {
            notices.push(format!("the MCP server `{name}` was not started: {problem}"));
            reports.push(ServerReport { name, is_connected: false });
        }
        (RunningServers { servers, record }, StartedTools { tools, reports, notices })
    }
}

/// What servers add to a session.
pub(super) struct StartedTools {
    pub(super) tools: Vec<Arc<dyn hookwright_agent::tool::Tool>>,
    pub(super) reports: Vec<ServerReport>,
    pub(super) notices: Vec<String>,
}

impl RunningServers {
    /// Ends every server with everything that it started.
    pub(super) async fn end(self) {
        self.servers.end().await;
        if let Some(record) = self.record {
            record.remove();
        }
    }
}

/// Where the values of a server's variables come from.
pub(super) struct SessionValues<'a> {
    pub(super) hooks: &'a ProjectHooks,
    /// The whole environment of this process.
    pub(super) given: &'a Environment,
    /// The environment of servers, with the marker of the session.
    pub(super) environment: &'a Environment,
}

impl SessionValues<'_> {
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
            env: own.collect(),
            working_dir: self.hooks.root.clone(),
            timeout: spec.timeout.unwrap_or(MCP_CALL_TIMEOUT),
            start_timeout: spec.start_timeout.unwrap_or(MCP_START_TIMEOUT),
            run_id,
            secrets,
        })
    }

    /// Everything that must not appear in what servers say.
    fn secrets(&self) -> Secrets {
        let known = self.hooks.secrets.names().chain(KEYS.iter().copied());
        let known = known.filter_map(|name| Some((name.to_owned(), self.secret(name)?)));
        Secrets::new(known.collect())
    }
}

impl ServerValues for SessionValues<'_> {
    fn variable(&self, name: &str) -> Option<String> {
        self.hooks.environment.text(name).map(str::to_owned)
    }

    fn secret(&self, name: &str) -> Option<String> {
        let key = KEYS.contains(&name).then(|| self.given.text(name)).flatten();
        let secret = self.hooks.secrets.get(name).or(key).filter(|value| !value.is_empty());
        secret.map(str::to_owned)
    }
}
