//! [`RunningServer`]: one server from its start to its end.
//!
//! A supervisor owns the process. It reads standard error, passes news on, and ends the whole tree when
//! the session ends, when the server misbehaves, or when its leader has died. A server is not started
//! again: a tool that has been called twice may have done its work twice.

use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hookwright_process::{How, InteractiveChild, InteractiveEnd, InteractiveLaunch, find_program};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::client::{ClientFailure, McpClient};
use super::news::{EndCause, NewsDesk, NewsPort, ServerNews};
use super::offered_tools::OfferedTools;
use super::rmcp_client::RmcpClient;
use super::server_tool::ServerTool;
use super::{McpNotices, McpServerSettings};
use crate::limits::{
    MCP_CLOSE_WAIT, MCP_KILL_GRACE, MCP_PAGES_MAX, MCP_STDERR_BYTES_MAX, MCP_TOOLS_MAX,
    MCP_UNASKED_BYTES_MAX, MCP_WORDS_CHARS_MAX,
};
use crate::tool::Tool;

/// A server that has been started. Dropping it ends the server.
pub(super) struct RunningServer {
    stop: DropGuard,
    supervisor: JoinHandle<()>,
}

/// A server whose tools are known.
pub(super) struct ReadyServer {
    pub(super) running: RunningServer,
    pub(super) tools: Vec<Arc<dyn Tool>>,
    /// What the user should know about it, one sentence each.
    pub(super) notices: Vec<String>,
}

/// How a server ended; `None` while it runs.
pub(super) type ServerEnd = watch::Receiver<Option<String>>;

/// Longer than the end of a server takes: until then it is known why it ended.
const END_KNOWN_MAX: Duration = MCP_CLOSE_WAIT.saturating_add(MCP_KILL_GRACE.saturating_mul(2));

/// How often a server is asked for its tools at its start, while it still changes them.
const LISTS_MAX: usize = 3;

impl RunningServer {
    /// Ends the server, with everything that it started.
    pub(super) async fn end(self) {
        drop(self.stop);
        // A supervisor that panicked has dropped the process, which ends it as well.
        let _ = self.supervisor.await;
    }
}

/// Starts a server and asks for its tools. Why it did not start is one sentence without a subject.
pub(super) async fn start(
    settings: McpServerSettings,
    notices: McpNotices,
) -> Result<ReadyServer, String> {
    let working_dir = &settings.working_dir;
    let path = settings.variable("PATH").unwrap_or_default();
    let program = find_program(OsStr::new(&settings.program), &path, working_dir)
        .ok_or_else(|| format!("there is no program `{}`", settings.program))?;
    let launch = InteractiveLaunch {
        program,
        args: settings.args.iter().map(Into::into).collect(),
        shared_env: Arc::clone(&settings.shared_env),
        env: settings.env.clone(),
        working_dir: settings.working_dir.clone(),
        kill_grace: MCP_KILL_GRACE,
        stderr_bytes_max: MCP_STDERR_BYTES_MAX,
        run_id: settings.run_id.clone(),
    };
    let started = InteractiveChild::start(launch).await;
    let (child, streams) = started.map_err(|failure| failure.to_string())?;
    let (port, desk) = NewsPort::new();
    let (tell_end, mut end) = watch::channel(None);
    let (stop, client) = (CancellationToken::new(), Arc::new(OnceLock::new()));
    let settings = Arc::new(settings);
    let supervisor = Supervisor {
        child,
        desk,
        stop: stop.clone(),
        client: Arc::clone(&client),
        settings: Arc::clone(&settings),
        tell_end,
        notices,
    };
    let supervisor = tokio::spawn(supervisor.run());
    let running = RunningServer { stop: stop.drop_guard(), supervisor };
    let introduced = timeout(settings.start_timeout, async {
        let new = RmcpClient::connect(streams, port.clone()).await?;
        let new: Arc<dyn McpClient> = Arc::new(new);
        // It is set here only.
        let _ = client.set(Arc::clone(&new));
        let mut listed = Vec::new();
        for _ in 0..LISTS_MAX {
            let changes = port.tool_changes();
            listed = list_tools(&*new).await?;
            if port.tool_changes() == changes {
                break;
            }
        }
        port.tools_are_settled();
        Ok::<_, StartProblem>((new, listed))
    });
    let problem = match introduced.await {
        Ok(Ok((client, listed))) => {
            let offered = OfferedTools::read(&settings.name, &listed);
            let tool = |offered| -> Arc<dyn Tool> {
                Arc::new(ServerTool::new(
                    offered,
                    Arc::clone(&settings),
                    Arc::clone(&client),
                    end.clone(),
                    port.clone(),
                ))
            };
            let tools = offered.tools.into_iter().map(tool).collect();
            return Ok(ReadyServer { running, tools, notices: offered.left_out });
        }
        Ok(Err(StartProblem::Closed)) => None,
        Ok(Err(StartProblem::Refused(why))) => Some(format!("it refuses: {}", words(&why))),
        Ok(Err(StartProblem::NoList)) => {
            Some("its answer to `tools/list` has no list of tools".to_owned())
        }
        Err(_) => {
            Some(format!("it was not ready within {} s", settings.start_timeout.as_secs_f64()))
        }
    };
    let problem = match problem {
        Some(problem) => problem,
        // It has ended, or will be, and its supervisor says why.
        None => format!("it {}", known_end(&mut end).await),
    };
    running.end().await;
    Err(settings.secrets.hide(&problem).into_owned())
}

/// Why a server's tools are not known.
enum StartProblem {
    Closed,
    Refused(String),
    NoList,
}

impl From<ClientFailure> for StartProblem {
    fn from(failure: ClientFailure) -> Self {
        match failure {
            ClientFailure::Refused(why) => Self::Refused(why),
            ClientFailure::TimedOut { .. }
            | ClientFailure::Cancelled { .. }
            | ClientFailure::Closed => Self::Closed,
        }
    }
}

/// Waits until a server has ended: how, or nothing if its supervisor is gone.
pub(super) async fn ended(end: &mut ServerEnd) -> Option<String> {
    end.wait_for(Option::is_some).await.ok().and_then(|end| end.clone())
}

/// How a server ended whose connection is closed.
pub(super) async fn known_end(end: &mut ServerEnd) -> String {
    let known = timeout(END_KNOWN_MAX, ended(end)).await.ok().flatten();
    known.unwrap_or_else(|| "closed the connection".to_owned())
}

/// All pages of a server's tools.
async fn list_tools(client: &dyn McpClient) -> Result<Vec<Value>, StartProblem> {
    let mut entries = Vec::new();
    let mut cursor = None;
    for _ in 0..MCP_PAGES_MAX {
        let mut page = client.list_tools(cursor.take()).await?;
        match page.get_mut("tools").map(Value::take) {
            Some(Value::Array(tools)) => entries.extend(tools),
            _ => return Err(StartProblem::NoList),
        }
        cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        // One more than there may be, so that the others can be named.
        if cursor.is_none() || entries.len() > MCP_TOOLS_MAX {
            break;
        }
    }
    Ok(entries)
}

/// Owns a server's process.
struct Supervisor {
    child: InteractiveChild,
    desk: NewsDesk,
    stop: CancellationToken,
    client: Arc<OnceLock<Arc<dyn McpClient>>>,
    settings: Arc<McpServerSettings>,
    tell_end: watch::Sender<Option<String>>,
    notices: McpNotices,
}

/// Why the supervisor stops.
enum Stopped {
    /// The session ends.
    Session,
    /// The leader has ended, or waits for a terminal.
    Leader,
    Cause(EndCause),
}

impl Supervisor {
    async fn run(mut self) {
        let stopped = self.watch().await;
        if let Some(client) = self.client.get() {
            client.close();
        }
        match stopped {
            // Its input is closed: it may end by itself.
            Stopped::Session | Stopped::Cause(EndCause::OutputClosed) => {
                let _ = timeout(MCP_CLOSE_WAIT, self.child.wait()).await;
            }
            Stopped::Leader | Stopped::Cause(EndCause::Flood | EndCause::Stuck) => {}
        }
        let end = self.child.end().await;
        let why = self.settings.secrets.hide(&how(&stopped, &end)).into_owned();
        let is_ready = self.client.get().is_some();
        if is_ready && !matches!(stopped, Stopped::Session) {
            let name = &self.settings.name;
            (self.notices)(&format!("the MCP server `{name}` {why}; its tools fail from now on"));
        }
        self.tell_end.send_replace(Some(why));
    }

    /// Waits for a reason to stop, and passes news on.
    async fn watch(&mut self) -> Stopped {
        let mut told = Vec::new();
        loop {
            let news = tokio::select! {
                biased;
                () = self.stop.cancelled() => return Stopped::Session,
                news = self.desk.next() => match news {
                    Ok(news) => news,
                    Err(cause) => return Stopped::Cause(cause),
                },
                () = self.child.wait() => return Stopped::Leader,
            };
            let kind = std::mem::discriminant(&news);
            // Once of each kind is enough.
            if !told.contains(&kind) {
                told.push(kind);
                let name = &self.settings.name;
                let text = format!("the MCP server `{name}` {}", said(&news));
                (self.notices)(&self.settings.secrets.hide(&text));
            }
        }
    }
}

fn said(news: &ServerNews) -> String {
    match news {
        ServerNews::NoMessage(line) => format!(
            "prints what is not a message, and that is ignored: `{}`; logs belong on its standard \
             error",
            words(line)
        ),
        ServerNews::TooLong => {
            "sent a message that is too long and answers nothing; it is ignored".to_owned()
        }
        ServerNews::ToolsChanged => {
            "has changed its tools; this session keeps those that it began with".to_owned()
        }
    }
}

/// How a server ended, behind its name.
fn how(stopped: &Stopped, end: &InteractiveEnd) -> String {
    let how = match (stopped, &end.how) {
        (Stopped::Cause(EndCause::Flood), _) => {
            return format!(
                "was ended: it sent more than {} MiB that answer nothing",
                MCP_UNASKED_BYTES_MAX / (1024 * 1024)
            );
        }
        (Stopped::Cause(EndCause::Stuck), _) => {
            return "was ended: it does not read what it is sent".to_owned();
        }
        (_, How::WantedTerminal) => {
            "was ended: it waited for a terminal, and there is none".to_owned()
        }
        (_, How::Exited { code }) => format!("has ended with exit code {code}"),
        (_, How::Killed { signal }) => format!("was killed by signal {signal}"),
        (Stopped::Cause(EndCause::OutputClosed), _) => {
            "was ended: it closed its standard output".to_owned()
        }
        (_, How::Cancelled | How::TimedOut { .. } | How::NotStarted { .. }) => {
            "was ended".to_owned()
        }
    };
    match last_words(&end.stderr.text()) {
        Some(words) => format!("{how}; its last words: `{words}`"),
        None => how,
    }
}

/// The end of what it printed on standard error.
fn last_words(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" | ");
    let too_many = last.chars().count().saturating_sub(MCP_WORDS_CHARS_MAX);
    let last: String = last.chars().skip(too_many).collect();
    (!last.is_empty()).then_some(last)
}

/// A server's own words, not too many.
pub(super) fn words(text: &str) -> String {
    text.chars().take(MCP_WORDS_CHARS_MAX).collect()
}
