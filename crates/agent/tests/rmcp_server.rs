//! A server that is written with the official crate of the protocol, and what the agent does with it.
//!
//! Started with `serve`, this program is that server, on its standard streams. Otherwise it starts
//! itself as a server, once for each scenario. A proper server cannot do what is wrong: the script
//! `mcp_server.sh` plays servers that misbehave.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "it is its own test harness")]

#[path = "suite/mcp/situation.rs"]
mod situation;

use std::fs;
use std::future::Future;
use std::os::fd::AsFd as _;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hookwright_agent::mcp::ServerReport;
use hookwright_agent::tool::{ToolCall, ToolEnd, Touches};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use tokio::net::unix::pipe;
use tokio_util::sync::CancellationToken;

use situation::{Situation, call, call_until, failed, is_alive, pid, ran, tool, wait_until};

/// The server. Its tools come in two pages.
struct TestServer;

const PAGES: [&[&str]; 2] =
    [&["echo", "fail", "refuse", "hang"], &["image", "structured", "change", "ask"]];

/// What a tool notes in the working directory.
fn note(name: &str, text: &str) {
    fs::write(name, format!("{text}\n")).unwrap();
}

impl ServerHandler for TestServer {
    fn get_info(&self) -> ServerConfig {
        let tools = ServerCapabilities::builder().enable_tools().enable_tool_list_changed();
        ServerConfig::new(tools.build())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let page = usize::from(request.is_some_and(|request| request.cursor.is_some()));
        let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let schema = Arc::new(schema.as_object().unwrap().clone());
        let tools =
            PAGES[page].iter().map(|name| Tool::new(*name, "Does it.", Arc::clone(&schema)));
        let mut list = ListToolsResult::with_all_items(tools.collect());
        list.next_cursor = (page == 0).then(|| "2".to_owned());
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.as_ref().and_then(|all| all.get("text")?.as_str());
        let said = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = match &*request.name {
            "echo" => said(format!("said: {}", text.unwrap_or_default())),
            "fail" => CallToolResult::error(vec![ContentBlock::text("no such issue")]),
            "refuse" => return Err(ErrorData::invalid_params("there is no such issue", None)),
            "hang" => {
                note("called", "hang");
                context.ct.cancelled().await;
                note("cancelled", "hang");
                said("late".to_owned())
            }
            "image" => CallToolResult::success(vec![
                ContentBlock::image("QUJDRA==", "image/png"),
                ContentBlock::text("a cat"),
            ]),
            "structured" => CallToolResult::structured(json!({ "issues": [1, 2] })),
            "change" => {
                let told = context.peer.notify_tool_list_changed().await;
                said(format!("told: {}", told.is_ok()))
            }
            #[expect(deprecated, reason = "older servers ask for folders")]
            "ask" => {
                let roots = context.peer.list_roots().await;
                said(format!("roots: {}", roots.map_or(0, |known| known.roots.len())))
            }
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        };
        Ok(result.into())
    }
}

async fn serve() {
    note("server.pid", &std::process::id().to_string());
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let stdout = std::io::stdout().as_fd().try_clone_to_owned().unwrap();
    let streams = (
        pipe::Receiver::from_owned_fd(stdin).unwrap(),
        pipe::Sender::from_owned_fd(stdout).unwrap(),
    );
    let running = TestServer.serve(streams).await.unwrap();
    running.waiting().await.unwrap();
}

fn situation() -> Situation {
    let program = std::env::current_exe().unwrap();
    Situation::with([program.to_str().unwrap(), "serve"])
}

async fn tools_of_all_pages_are_called_and_the_end_of_the_session_is_the_servers() {
    let situation = situation();
    let started = situation.start(&[]).await;
    assert_eq!(started.notices, Vec::<String>::new());
    assert_eq!(started.reports, [ServerReport { name: "srv".into(), is_connected: true }]);
    let names: Vec<String> = started.tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let expected = PAGES.concat();
    assert_eq!(names, expected.iter().map(|name| format!("mcp__srv__{name}")).collect::<Vec<_>>());
    assert_eq!(ran(&call(&started, "echo", "hello").await), "said: hello");
    let server = pid(&situation.path("server.pid"));
    assert!(is_alive(&server));
    started.servers.end().await;
    assert!(!is_alive(&server));
    assert_eq!(situation.told(), Vec::<String>::new());
}

async fn what_a_tool_returns_reaches_the_model_as_text_and_hooks_whole() {
    let started = situation().start(&[]).await;
    assert_eq!(failed(&call(&started, "fail", "").await), "no such issue");
    let refused = call(&started, "refuse", "").await;
    assert!(failed(&refused).contains("there is no such issue"), "{refused:?}");
    let image = call(&started, "image", "").await;
    assert_eq!(ran(&image), "[image of type image/png, about 6 bytes, not shown]\na cat");
    let structured = call(&started, "structured", "").await;
    assert!(ran(&structured).contains("issues"), "{structured:?}");
    let ToolEnd::Ran { response, .. } = &image else { panic!("{image:?}") };
    assert_eq!(response[0]["data"], "QUJDRA==");
    started.servers.end().await;
}

async fn calls_at_once_each_get_their_own_result() {
    let started = situation().start(&[]).await;
    let echo = tool(&started, "mcp__srv__echo");
    let mut running = tokio::task::JoinSet::new();
    for number in 0..50 {
        let echo = Arc::clone(&echo);
        running.spawn(async move {
            let Value::Object(input) = json!({ "text": number.to_string() }) else {
                panic!("an object")
            };
            let (judged, cancel) = (Touches::Other, CancellationToken::new());
            let (input, judged, cancel) = (&input, &judged, &cancel);
            let call = ToolCall { id: "toolu_1", input, judged, run_id: "tool-1", cancel };
            (number, ran(&echo.run(call).await).to_owned())
        });
    }
    for (number, said) in running.join_all().await {
        assert_eq!(said, format!("said: {number}"));
    }
    started.servers.end().await;
}

async fn a_call_that_takes_too_long_or_is_interrupted_is_cancelled_at_the_server() {
    let situation = situation();
    let mut settings = situation.settings("srv", &[]);
    settings.timeout = Duration::from_millis(300);
    let started = situation.start_all(vec![settings]).await;
    assert!(failed(&call(&started, "hang", "").await).contains("did not answer within 0.3 s"));
    wait_until("the server reads it", || situation.path("cancelled").exists());
    started.servers.end().await;
    for name in ["called", "cancelled"] {
        fs::remove_file(situation.path(name)).unwrap();
    }
    let started = situation.start(&[]).await;
    let cancel = CancellationToken::new();
    let interrupting = async {
        while !situation.path("called").exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(call_until(&started, "hang", "", &cancel), interrupting);
    assert!(matches!(end, ToolEnd::Failed { is_interrupt: true, .. }), "{end:?}");
    wait_until("the server reads it", || situation.path("cancelled").exists());
    assert_eq!(ran(&call(&started, "echo", "x").await), "said: x");
    started.servers.end().await;
}

async fn changed_tools_are_told_and_a_server_that_asks_for_folders_gets_none() {
    let situation = situation();
    let started = situation.start(&[]).await;
    assert_eq!(ran(&call(&started, "change", "").await), "told: true");
    assert_eq!(ran(&call(&started, "ask", "").await), "roots: 0");
    wait_until("the user is told", || !situation.told().is_empty());
    let told = situation.told();
    assert!(told.len() == 1 && told[0].contains("has changed its tools"), "{told:?}");
    started.servers.end().await;
}

type Scenario = fn() -> Pin<Box<dyn Future<Output = ()>>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if arguments.first().is_some_and(|first| first == "serve") {
        runtime.block_on(serve());
        return ExitCode::SUCCESS;
    }
    macro_rules! scenarios {
        ($($name:ident),* $(,)?) => {
            [$((stringify!($name), (|| Box::pin($name())) as Scenario)),*]
        };
    }
    let all = scenarios![
        tools_of_all_pages_are_called_and_the_end_of_the_session_is_the_servers,
        what_a_tool_returns_reaches_the_model_as_text_and_hooks_whole,
        calls_at_once_each_get_their_own_result,
        a_call_that_takes_too_long_or_is_interrupted_is_cancelled_at_the_server,
        changed_tools_are_told_and_a_server_that_asks_for_folders_gets_none,
    ];
    // As the usual harness has them: words are parts of names, and options start with `-`.
    let lists = arguments.iter().any(|argument| argument == "--list");
    let mut words = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
    let is_any = words.peek().is_none();
    let words: Vec<&String> = words.collect();
    for (name, scenario) in all {
        if !is_any && !words.iter().any(|word| name.contains(*word)) {
            continue;
        }
        if lists {
            println!("{name}: test");
            continue;
        }
        // A failed assertion ends this program with its message.
        runtime.block_on(scenario());
        println!("test {name} ... ok");
    }
    ExitCode::SUCCESS
}
