//! [`ServerTool`]: one tool of a server. Every call has exactly one result, whatever the server does.

use std::sync::Arc;
use std::time::Instant;

use hookwright_engine::ports::Promise;
use serde_json::{Map, Value};

use super::McpServerSettings;
use super::call_result::tool_end;
use super::client::{ClientCall, ClientFailure, McpClient};
use super::news::{EndCause, NewsPort};
use super::offered_tools::OfferedTool;
use super::server::{ServerEnd, ended, known_end, words};
use crate::tool::{Tool, ToolCall, ToolEnd, ToolSpec, Touches};

pub(super) struct ServerTool {
    offered: OfferedTool,
    settings: Arc<McpServerSettings>,
    client: Arc<dyn McpClient>,
    end: ServerEnd,
    news: NewsPort,
}

impl ServerTool {
    pub(super) fn new(
        offered: OfferedTool,
        settings: Arc<McpServerSettings>,
        client: Arc<dyn McpClient>,
        end: ServerEnd,
        news: NewsPort,
    ) -> Self {
        Self { offered, settings, client, end, news }
    }

    async fn call(&self, call: &ToolCall<'_>) -> Result<Value, ToolProblem> {
        let mut end = self.end.clone();
        let asked = self.client.call_tool(ClientCall {
            tool: &self.offered.own_name,
            arguments: call.input,
            timeout: self.settings.timeout,
            cancel: call.cancel,
        });
        let answer = tokio::select! {
            biased;
            answer = asked => answer,
            end = ended(&mut end) => {
                return Err(self.has_ended(&end.unwrap_or_else(|| "has ended".to_owned())));
            }
        };
        let failure = match answer {
            Ok(result) => return Ok(result),
            Err(failure) => failure,
        };
        if let ClientFailure::TimedOut { is_stuck: true }
        | ClientFailure::Cancelled { is_stuck: true } = failure
        {
            self.news.end(EndCause::Stuck);
        }
        let name = &self.settings.name;
        Err(match failure {
            ClientFailure::Cancelled { .. } => ToolProblem::Interrupted,
            ClientFailure::Refused(why) => ToolProblem::Because(format!(
                "the MCP server `{name}` returned an error: {}",
                words(&why)
            )),
            ClientFailure::TimedOut { .. } => ToolProblem::Because(format!(
                "the MCP server `{name}` did not answer within {} s, and the call was cancelled; \
                 its `timeout` sets the limit",
                self.settings.timeout.as_secs_f64()
            )),
            ClientFailure::Closed => self.has_ended(&known_end(&mut end).await),
        })
    }

    fn has_ended(&self, end: &str) -> ToolProblem {
        let name = &self.settings.name;
        ToolProblem::Because(format!("the MCP server `{name}` {end}; its tools cannot be used"))
    }
}

/// Why a call has no result of the server.
enum ToolProblem {
    Interrupted,
    Because(String),
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.offered.spec
    }

    /// Not by what the server says of its tools: it could say anything.
    fn touches(&self, _: &Map<String, Value>) -> Touches {
        Touches::Other
    }

    fn run<'a>(&'a self, call: ToolCall<'a>) -> Promise<'a, ToolEnd> {
        Box::pin(async move {
            let began = Instant::now();
            let result = self.call(&call).await;
            let took = began.elapsed();
            match result {
                Ok(result) => tool_end(result, &self.settings.secrets, took),
                Err(ToolProblem::Because(error)) => {
                    let error = self.settings.secrets.hide(&error).into_owned();
                    ToolEnd::Failed { error, is_interrupt: false, took }
                }
                Err(ToolProblem::Interrupted) => {
                    ToolEnd::Failed { error: "interrupted".to_owned(), is_interrupt: true, took }
                }
            }
        })
    }
}
