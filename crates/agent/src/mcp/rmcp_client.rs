//! [`RmcpClient`]: the protocol, spoken by the crate rmcp over a child's streams.
//!
//! Its results are read as plain JSON again: a server whose list has one invalid entry still has the
//! others. [`BoundedTransport`] bounds what the crate leaves open: requests of the server that wait, and
//! notifications, each of which would become a task.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_engine::ports::Promise;
use hookwright_process::ChildStreams;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
    Implementation, JsonRpcMessage, ListToolsRequest, PaginatedRequestParams, ServerNotification,
    ServerResult,
};
use rmcp::service::{
    ClientInitializeError, Peer, PeerRequestOptions, RequestHandle, RoleClient, RunningService,
    RxJsonRpcMessage, ServiceError, ServiceExt, TxJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::Value;
use tokio::net::unix::pipe;
use tokio::time::timeout;

use super::client::{ClientCall, ClientFailure, McpClient};
use super::message_lines::FilteredOutput;
use super::news::NewsPort;
use crate::limits::{MCP_CANCEL_WAIT, MCP_OPEN_REQUESTS_MAX};

/// A connection to one server.
pub(super) struct RmcpClient {
    peer: Peer<RoleClient>,
    /// `None` once it is closed. Dropping it ends the connection.
    service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    unasked: Arc<AtomicU64>,
}

impl RmcpClient {
    /// Introduces us to a server. Dropping the promise closes the server's input.
    pub(super) async fn connect(
        streams: ChildStreams,
        news: NewsPort,
    ) -> Result<Self, ClientFailure> {
        let unasked = Arc::new(AtomicU64::new(0));
        let output = FilteredOutput::new(streams.stdout, Arc::clone(&unasked), news.clone());
        // The lines have been measured already.
        let inner = AsyncRwTransport::new(output, streams.stdin).with_max_line_length(usize::MAX);
        let transport = BoundedTransport { inner, open: Arc::default(), news };
        let service = Handler.serve(transport).await.map_err(|error| refusal(&error))?;
        unasked.store(0, Ordering::Relaxed);
        let peer = service.peer().clone();
        Ok(Self { peer, service: Mutex::new(Some(service)), unasked })
    }

    /// Sends a request; the answer arrives in what is returned.
    async fn send(
        &self,
        request: ClientRequest,
    ) -> Result<RequestHandle<RoleClient>, ClientFailure> {
        let options = PeerRequestOptions::no_options();
        self.peer.send_request_with_option(request, options).await.map_err(failure)
    }

    fn answered(
        &self,
        answer: Result<Result<ServerResult, ServiceError>, tokio::sync::oneshot::error::RecvError>,
    ) -> Result<Value, ClientFailure> {
        self.unasked.store(0, Ordering::Relaxed);
        match answer {
            Ok(Ok(result)) => serde_json::to_value(result)
                .map_err(|error| ClientFailure::Refused(error.to_string())),
            Ok(Err(error)) => Err(failure(error)),
            Err(_) => Err(ClientFailure::Closed),
        }
    }
}

impl McpClient for RmcpClient {
    fn list_tools(&self, cursor: Option<String>) -> Promise<'_, Result<Value, ClientFailure>> {
        Box::pin(async move {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ListToolsRequest::with_param(page);
            let handle = self.send(ClientRequest::ListToolsRequest(request)).await?;
            let answer = handle.rx.await;
            self.answered(answer)
        })
    }

    fn call_tool<'a>(&'a self, call: ClientCall<'a>) -> Promise<'a, Result<Value, ClientFailure>> {
        Box::pin(async move {
            let params = CallToolRequestParams::new(call.tool.to_owned())
                .with_arguments(call.arguments.clone());
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
            let mut handle = self.send(request).await?;
            let (reason, failed): (&str, fn(bool) -> ClientFailure) = tokio::select! {
                biased;
                answer = &mut handle.rx => return self.answered(answer),
                () = call.cancel.cancelled() => {
                    ("the user interrupted", |is_stuck| ClientFailure::Cancelled { is_stuck })
                }
                () = tokio::time::sleep(call.timeout) => {
                    ("it took too long", |is_stuck| ClientFailure::TimedOut { is_stuck })
                }
            };
            let told = handle.cancel(Some(reason.to_owned()));
            Err(failed(timeout(MCP_CANCEL_WAIT, told).await.is_err()))
        })
    }

    fn close(&self) {
        drop(self.service.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// What the server gets when it asks us: nothing but that we are there.
struct Handler;

impl rmcp::ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("hookwright", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }
}

/// The crate's transport, with a limit on what a server can make it keep.
struct BoundedTransport {
    inner: AsyncRwTransport<RoleClient, FilteredOutput<pipe::Receiver>, pipe::Sender>,
    /// Requests of the server that we have not answered.
    open: Arc<AtomicUsize>,
    news: NewsPort,
}

impl Transport<RoleClient> for BoundedTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_answer = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let sending = self.inner.send(message);
        let open = Arc::clone(&self.open);
        async move {
            let sent = sending.await;
            if is_answer {
                let less = |open: usize| open.checked_sub(1);
                let _ = open.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            match &message {
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
                JsonRpcMessage::Request(_) => {
                    if self.open.load(Ordering::Relaxed) >= MCP_OPEN_REQUESTS_MAX {
                        continue;
                    }
                    self.open.fetch_add(1, Ordering::Relaxed);
                }
                // Here, so that it is known before the answers behind it.
                JsonRpcMessage::Notification(notification) => {
                    if let ServerNotification::ToolListChangedNotification(_) =
                        notification.notification
                    {
                        self.news.tools_changed();
                    }
                    continue;
                }
            }
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

fn failure(error: ServiceError) -> ClientFailure {
    match error {
        ServiceError::McpError(error) => ClientFailure::Refused(error.message.into_owned()),
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => ClientFailure::Closed,
        other => ClientFailure::Refused(other.to_string()),
    }
}

/// Why a server could not be introduced to us, without what it sent.
fn refusal(error: &ClientInitializeError) -> ClientFailure {
    ClientFailure::Refused(match error {
        ClientInitializeError::ConnectionClosed(_)
        | ClientInitializeError::TransportError { .. } => return ClientFailure::Closed,
        ClientInitializeError::JsonRpcError(error) => error.message.to_string(),
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "its answer is not the one that the protocol expects".to_owned()
        }
        other => other.to_string(),
    })
}
