//! MCP servers: programs that a session starts, whose tools the model calls as `mcp__server__tool`.
//!
//! [`McpServers::start`] starts all servers at once and returns their tools, which are tools like any
//! other: hooks, permissions and limits come before them. A server that does not start, dies, hangs or
//! floods costs its own tools; the session goes on, and the user is told. [`McpServers::end`] ends
//! every server with everything that it started; dropping the servers does so too.
//!
//! | file | holds |
//! |---|---|
//! | `server.rs` | one server from its start to its end |
//! | `server_tool.rs` | one tool of a server |
//! | `client.rs` | what we need of the protocol, as a trait |
//! | `rmcp_client.rs` | the protocol itself; only this file knows the crate that speaks it |
//! | `message_lines.rs` | which of a server's lines are messages |
//! | `offered_tools.rs` | which of a server's tools a model is told about |
//! | `call_result.rs` | what a server returned, for the model and for hooks |
//! | `news.rs` | what those who read a server's output tell its supervisor |
//!
//! The tools of a session stay those that it began with, also if a server changes them: a description
//! that is exchanged later was never looked at, and every change would invalidate the model's cache.

mod call_result;
mod client;
mod message_lines;
mod news;
mod offered_tools;
mod rmcp_client;
mod server;
mod server_tool;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::Secrets;
use tokio::task::JoinSet;

use self::server::{ReadyServer, RunningServer};
use crate::limits::MCP_SERVERS_MAX;
use crate::tool::Tool;

/// What a server is started with. No shell reads any of it.
#[derive(Debug, Clone)]
pub struct McpServerSettings {
    /// Its name, as the names of its tools contain it.
    pub name: String,
    /// The program; a name without a slash is searched in the `PATH` of the environment below.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The part of its environment that all servers share.
    pub shared_env: Arc<[(OsString, OsString)]>,
    /// The rest, which overrides the shared part.
    pub env: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub working_dir: PathBuf,
    /// How long one call may take.
    pub timeout: Duration,
    /// How long it may take until its tools are known.
    pub start_timeout: Duration,
    /// The unique name of this run of it: its processes are found by it after a crash.
    pub run_id: String,
    /// What must not appear in its results and messages.
    pub secrets: Secrets,
}

impl McpServerSettings {
    fn variable(&self, name: &str) -> Option<OsString> {
        let strings = self.env.iter().rev().chain(self.shared_env.iter().rev());
        strings.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }
}

/// Is told what the user should know about a server while the session runs. It must be quick.
pub type McpNotices = Arc<dyn Fn(&str) + Send + Sync>;

/// The servers of a session.
#[derive(Default)]
pub struct McpServers {
    running: Vec<RunningServer>,
}

/// Servers that have been started, as far as they could be.
#[derive(Default)]
pub struct StartedServers {
    /// The servers.
    pub servers: McpServers,
    /// Their tools, in the order of the settings.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Each server, in the order of the settings.
    pub reports: Vec<ServerReport>,
    /// What the user should know, one sentence each.
    pub notices: Vec<String>,
}

/// What became of a server's start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerReport {
    /// Its name.
    pub name: String,
    /// Whether it runs.
    pub is_connected: bool,
}

impl McpServers {
    /// Starts all servers at once. Takes no longer than the slowest, and that has a limit. Dropping the
    /// promise ends what has been started.
    pub async fn start(mut all: Vec<McpServerSettings>, notices: McpNotices) -> StartedServers {
        let mut started = StartedServers::default();
        for left_out in all.drain(MCP_SERVERS_MAX.min(all.len())..) {
            started.notices.push(format!(
                "the MCP server `{}` was not started: there may be {MCP_SERVERS_MAX}",
                left_out.name
            ));
            started.reports.push(ServerReport { name: left_out.name, is_connected: false });
        }
        let mut starts = JoinSet::new();
        let names: Vec<String> = all.iter().map(|settings| settings.name.clone()).collect();
        for (number, settings) in all.into_iter().enumerate() {
            let notices = Arc::clone(&notices);
            starts.spawn(async move { (number, server::start(settings, notices).await) });
        }
        let mut results: Vec<_> = names.iter().map(|_| None).collect();
        while let Some(joined) = starts.join_next().await {
            // A start that panicked has no result.
            if let Ok((number, result)) = joined {
                results[number] = Some(result);
            }
        }
        let mut reports = Vec::with_capacity(names.len());
        for (name, result) in names.into_iter().zip(results) {
            let problem = match result {
                Some(Ok(ready)) => {
                    let ReadyServer { running, tools, notices } = ready;
                    let said =
                        notices.iter().map(|said| format!("the MCP server `{name}`: {said}"));
                    started.notices.extend(said);
                    started.servers.running.push(running);
                    started.tools.extend(tools);
                    reports.push(ServerReport { name, is_connected: true });
                    continue;
                }
                Some(Err(problem)) => problem,
                None => "its start failed; this is a defect of hookwright".to_owned(),
            };
            started.notices.push(format!("the MCP server `{name}` did not start: {problem}"));
            reports.push(ServerReport { name, is_connected: false });
        }
        reports.append(&mut started.reports);
        started.reports = reports;
        started
    }

    /// Ends every server with everything that it started, all at once.
    pub async fn end(self) {
        let mut ends = JoinSet::new();
        for running in self.running {
            ends.spawn(running.end());
        }
        while ends.join_next().await.is_some() {}
    }
}
