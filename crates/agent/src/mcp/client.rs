//! [`McpClient`]: what we need of the protocol. Servers and tools know this trait only; the crate that
//! speaks the protocol is known in `rmcp_client.rs` and nowhere else.

use std::time::Duration;

use hookwright_engine::ports::Promise;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

/// Speaks with one server.
pub(super) trait McpClient: Send + Sync {
    /// One page of the server's tools: an object with `tools` and perhaps `nextCursor`.
    fn list_tools(&self, cursor: Option<String>) -> Promise<'_, Result<Value, ClientFailure>>;

    /// Calls a tool: an object with `content`, `isError` and `structuredContent`. A call that is
    /// cancelled or takes too long is cancelled at the server as well.
    fn call_tool<'a>(&'a self, call: ClientCall<'a>) -> Promise<'a, Result<Value, ClientFailure>>;

    /// Ends the connection, and so the server's input. Calls in flight fail.
    fn close(&self);
}

/// A call of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientCall<'a> {
    /// The tool, by the server's own name for it.
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Map<String, Value>,
    pub(super) timeout: Duration,
    pub(super) cancel: &'a CancellationToken,
}

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClientFailure {
    /// The server answered with an error.
    Refused(String),
    /// It did not answer in time. `is_stuck`: it does not even read.
    TimedOut { is_stuck: bool },
    /// We cancelled the request.
    Cancelled { is_stuck: bool },
    /// The connection has ended.
    Closed,
}
