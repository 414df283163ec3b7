//! [`SessionServers`]: the MCP servers of a session of `agent`, from its start to its end.
//!
//! What a session starts is recorded before it starts. If the program is killed, the next session ends
//! what is left (`left_servers.rs`).

use std::sync::Arc;

use hookwright_agent::agent::{AgentNews, Audience};
use hookwright_agent::mcp::{McpNotices, McpServers, ServerReport, StartedServers};
use hookwright_agent::tool::Tool;
use tokio_util::sync::CancellationToken;

use super::left_servers::{LeftServers, ServerRecord};
use super::output::AgentOutput;
use crate::mcp_servers::NamedServers;

/// The servers that a session is to start.
pub(super) struct SessionServers {
    pub(super) named: NamedServers,
    pub(super) left: LeftServers,
    pub(super) session_id: String,
}

/// The servers of a session that runs.
pub(super) struct RunningServers {
    servers: McpServers,
    record: Option<ServerRecord>,
}

impl SessionServers {
    /// Starts all servers, unless the session is cancelled meanwhile, and tells the user what came of it.
    /// Returns their tools beside them.
    pub(super) async fn start(
        self,
        output: &AgentOutput,
        cancel: &CancellationToken,
    ) -> (RunningServers, StartedTools) {
        let Self { named, left, session_id } = self;
        left.end_all().await;
        let run_ids = named.run_ids();
        let record = match run_ids.is_empty() {
            true => None,
            false => left.record(&session_id, run_ids),
        };
        let later = output.clone();
        let notices: McpNotices = Arc::new(move |text| later.see(AgentNews::Notice(text)));
        let StartedServers { servers, tools, reports, notices } =
            named.start(notices, cancel).await;
        (RunningServers { servers, record }, StartedTools { tools, reports, notices })
    }
}

/// What servers add to a session.
pub(super) struct StartedTools {
    pub(super) tools: Vec<Arc<dyn Tool>>,
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
