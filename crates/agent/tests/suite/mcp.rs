//! Servers of the real protocol, in every state in which a server can be.

mod situation;

use std::sync::Arc;
use std::time::Duration;

use hookwright_agent::mcp::ServerReport;
use hookwright_agent::tool::{ToolCall, ToolEnd, Touches};
use hookwright_engine::Secrets;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use situation::{Situation, call, call_until, failed, is_alive, pid, ran, tool, wait_until};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp_server.sh");

fn with_script() -> Situation {
    Situation::with(["bash", SCRIPT])
}

#[tokio::test]
async fn tools_of_a_server_are_tools_like_any_other() {
    let situation = with_script();
    let started = situation.start(&[]).await;
    assert_eq!(started.notices, Vec::<String>::new());
    assert_eq!(started.reports, [ServerReport { name: "srv".into(), is_connected: true }]);
    let echo = tool(&started, "mcp__srv__echo");
    assert_eq!(echo.spec().description, "Says it again.");
    assert_eq!(echo.spec().input_schema["properties"]["text"]["type"], "string");
    let end = call(&started, "echo", "hello").await;
    let ToolEnd::Ran { response, text, .. } = &end else { panic!("{end:?}") };
    assert_eq!(text, "said: hello");
    assert_eq!(*response, json!([{ "type": "text", "text": "said: hello" }]));
    assert_eq!(failed(&call(&started, "fail", "").await), "no such issue");
    assert_eq!(
        ran(&call(&started, "image", "").await),
        "[image of type image/png, about 6 bytes, not shown]\na cat"
    );
    started.servers.end().await;
    assert_eq!(situation.told(), Vec::<String>::new());
}

#[tokio::test]
async fn calls_at_once_each_get_their_own_result() {
    let situation = with_script();
    let started = situation.start(&[]).await;
    let words: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    let echo = tool(&started, "mcp__srv__echo");
    let mut running = tokio::task::JoinSet::new();
    for word in words.clone() {
        let echo = Arc::clone(&echo);
        running.spawn(async move {
            let Value::Object(input) = json!({ "text": word }) else { panic!("an object") };
            let (judged, cancel) = (Touches::Other, CancellationToken::new());
            let call = ToolCall {
                id: "toolu_1",
                input: &input,
                judged: &judged,
                run_id: "tool-1",
                cancel: &cancel,
            };
            (word, ran(&echo.run(call).await).to_owned())
        });
    }
    for (word, said) in running.join_all().await {
        assert_eq!(said, format!("said: {word}"));
    }
    started.servers.end().await;
}

#[tokio::test]
async fn a_server_that_does_not_start_is_named_with_its_reason_and_the_others_run() {
    let situation = with_script();
    let mut missing = situation.settings("missing", &[]);
    missing.program = "no-such-program".to_owned();
    let exits = situation.settings("exits", &["exits"]);
    let refuses = situation.settings("refuses", &["refuses"]);
    let good = situation.settings("srv", &[]);
    let started = situation.start_all(vec![missing, exits, refuses, good]).await;
    assert_eq!(
        started.notices,
        [
            "the MCP server `missing` did not start: there is no program `no-such-program`",
            "the MCP server `exits` did not start: it has ended with exit code 3; its last words: \
             `the token is missing`",
            "the MCP server `refuses` did not start: it refuses: log in first",
        ]
    );
    let connected: Vec<bool> = started.reports.iter().map(|report| report.is_connected).collect();
    assert_eq!(connected, [false, false, false, true]);
    assert_eq!(ran(&call(&started, "echo", "x").await), "said: x");
    started.servers.end().await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_after_its_time_and_ended() {
    let situation = with_script();
    let mut silent = situation.settings("srv", &["writes-pid", "is-silent"]);
    silent.start_timeout = Duration::from_millis(300);
    let started = situation.start_all(vec![silent]).await;
    let [notice] = &started.notices[..] else { panic!("{:?}", started.notices) };
    assert!(
        notice.starts_with("the MCP server `srv` did not start: it was not ready within 0.3 s"),
        "{notice}"
    );
    if let Ok(pid) = std::fs::read_to_string(situation.path("server.pid")) {
        assert!(!is_alive(&pid));
    }
}

#[tokio::test]
async fn the_end_of_a_session_ends_servers_with_everything_that_they_started() {
    let situation = with_script();
    let modes = ["writes-pid", "leaves-processes", "ignores-its-end"];
    let started = situation.start(&modes).await;
    let pids = [pid(&situation.path("server.pid")), pid(&situation.path("left.pid"))];
    assert!(pids.iter().all(|pid| is_alive(pid)));
    started.servers.end().await;
    assert!(!pids.iter().any(|pid| is_alive(pid)), "{pids:?}");
}

#[tokio::test]
async fn dropped_servers_and_dropped_starts_leave_nothing() {
    let situation = with_script();
    let modes = ["writes-pid", "leaves-processes", "ignores-its-end"];
    let started = situation.start(&modes).await;
    let pids = [pid(&situation.path("server.pid")), pid(&situation.path("left.pid"))];
    drop(started);
    let gone = async {
        while pids.iter().any(|pid| is_alive(pid)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), gone).await.expect("they end");
    for name in ["server.pid", "left.pid"] {
        std::fs::remove_file(situation.path(name)).unwrap();
    }
    let silent = situation.settings("srv", &["writes-pid", "leaves-processes", "is-silent"]);
    let starting = situation.start_all(vec![silent]);
    let written = async {
        while !situation.path("left.pid").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = starting => panic!("it is silent"),
        () = written => {}
    }
    let pids = [pid(&situation.path("server.pid")), pid(&situation.path("left.pid"))];
    let gone = async {
        while pids.iter().any(|pid| is_alive(pid)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), gone).await.expect("they end");
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_gives_it_one_result_and_is_not_started_again() {
    let situation = with_script();
    let started = situation.start(&["leaves-processes"]).await;
    let end = call(&started, "die", "").await;
    let why = "the MCP server `srv` has ended with exit code 4; its last words: `out of memory`; its \
        tools";
    assert_eq!(failed(&end), format!("{why} cannot be used"));
    assert!(!is_alive(&pid(&situation.path("left.pid"))), "what it left is ended too");
    assert_eq!(failed(&call(&started, "echo", "x").await), format!("{why} cannot be used"));
    assert_eq!(situation.told(), [format!("{why} fail from now on")]);
    started.servers.end().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_at_the_server_which_goes_on() {
    let situation = with_script();
    let mut settings = situation.settings("srv", &[]);
    settings.timeout = Duration::from_millis(300);
    let started = situation.start_all(vec![settings]).await;
    let end = call(&started, "hang", "").await;
    assert_eq!(
        failed(&end),
        "the MCP server `srv` did not answer within 0.3 s, and the call was cancelled; its \
         `timeout` sets the limit"
    );
    wait_until("the server reads it", || situation.path("cancelled").exists());
    assert_eq!(situation.told(), Vec::<String>::new());
    started.servers.end().await;
}

#[tokio::test]
async fn an_interrupt_ends_a_call_at_once_and_the_server_is_told() {
    let situation = with_script();
    let started = situation.start(&["marks-calls"]).await;
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

#[tokio::test]
async fn a_server_that_stops_reading_is_ended() {
    let situation = with_script();
    let mut settings = situation.settings("srv", &[]);
    settings.timeout = Duration::from_millis(300);
    let started = situation.start_all(vec![settings]).await;
    let much = "x".repeat(1024 * 1024);
    let (first, second) = tokio::join!(
        call(&started, "deaf", ""),
        // It does not fit into the pipe.
        call(&started, "echo", &much),
    );
    assert!(failed(&first).contains("did not answer within 0.3 s"), "{first:?}");
    assert!(failed(&second).starts_with("the MCP server `srv` "), "{second:?}");
    let last = call(&started, "echo", "x").await;
    let stuck = "the MCP server `srv` was ended: it does not read what it is sent; its tools";
    assert!(failed(&last).starts_with(stuck), "{last:?}");
    assert_eq!(situation.told(), [format!("{stuck} fail from now on")]);
}

#[tokio::test]
async fn a_result_of_100_mb_is_refused_and_the_server_goes_on() {
    let situation = with_script();
    let started = situation.start(&[]).await;
    assert_eq!(
        failed(&call(&started, "huge", "").await),
        "the MCP server `srv` returned an error: the server's answer is longer than 8388608 bytes, \
         and was not read"
    );
    assert_eq!(ran(&call(&started, "echo", "x").await), "said: x");
    let big = call(&started, "big", "").await;
    assert!(ran(&big).starts_with("first xxx") && ran(&big).ends_with("xxx last"));
    assert!(ran(&big).len() < 101_000 && ran(&big).contains("bytes left out"));
    assert_eq!(situation.told(), Vec::<String>::new());
    started.servers.end().await;
}

#[tokio::test]
async fn a_server_that_prints_without_end_is_ended_at_its_start_and_in_a_call() {
    let situation = with_script();
    for mode in ["floods-stdout", "floods-lines"] {
        let started = situation.start(&[mode]).await;
        assert_eq!(
            started.notices,
            ["the MCP server `srv` did not start: it was ended: it sent more than 128 MiB that \
              answer nothing"],
            "{mode}"
        );
    }
    let situation = with_script();
    let started = situation.start(&[]).await;
    let flooded = "the MCP server `srv` was ended: it sent more than 128 MiB that answer nothing; \
        its tools";
    assert_eq!(failed(&call(&started, "flood", "").await), format!("{flooded} cannot be used"));
    assert_eq!(
        situation.told(),
        [
            "the MCP server `srv` prints what is not a message, and that is ignored: `no message`; \
             logs belong on its standard error"
                .to_owned(),
            format!("{flooded} fail from now on"),
        ]
    );
}

#[tokio::test]
async fn a_flood_on_standard_error_holds_up_no_call() {
    let situation = with_script();
    let started = situation.start(&["floods-stderr"]).await;
    for _ in 0..3 {
        assert_eq!(ran(&call(&started, "echo", "x").await), "said: x");
    }
    started.servers.end().await;
    assert_eq!(situation.told(), Vec::<String>::new());
}

#[tokio::test]
async fn logs_on_standard_output_are_ignored_and_told_once() {
    let situation = with_script();
    let started = situation.start(&["logs-to-stdout"]).await;
    assert_eq!(ran(&call(&started, "echo", "x").await), "said: x");
    assert_eq!(
        situation.told(),
        ["the MCP server `srv` prints what is not a message, and that is ignored: `listening on \
          standard input`; logs belong on its standard error"]
    );
    started.servers.end().await;
}

#[tokio::test]
async fn tools_that_a_model_cannot_be_told_about_are_left_out_and_named() {
    let situation = with_script();
    let modes = ["tools-of-one-name", "bad-schemas", "odd-names"];
    let started = situation.start(&modes).await;
    let names: Vec<&str> = started.tools.iter().map(|tool| &*tool.spec().name).collect();
    assert_eq!(names[..2], ["mcp__srv__a_b", "mcp__srv__sp_ace___31m_"], "{names:?}");
    assert_eq!(started.notices.len(), 6, "{:#?}", started.notices);
    assert!(started.notices[5].ends_with("2 more of its tools are left out"));
    assert_eq!(ran(&call(&started, "a_b", "x").await), "said: x");
    started.servers.end().await;
}

#[tokio::test]
async fn changed_tools_are_told_once_and_the_session_keeps_its_own() {
    let situation = with_script();
    let started = situation.start(&[]).await;
    for _ in 0..2 {
        assert_eq!(ran(&call(&started, "changed", "").await), "changed");
    }
    started.servers.end().await;
    assert_eq!(
        situation.told(),
        ["the MCP server `srv` has changed its tools; this session keeps those that it began with"]
    );
}

#[tokio::test]
async fn tools_that_change_while_the_server_starts_are_listed_again() {
    let situation = with_script();
    let started = situation.start(&["changes-at-start"]).await;
    assert!(started.tools.iter().any(|tool| tool.spec().name == "mcp__srv__late"));
    started.servers.end().await;
    assert_eq!(situation.told(), Vec::<String>::new());
}

#[tokio::test]
async fn a_servers_own_questions_are_refused() {
    let situation = with_script();
    let started = situation.start(&[]).await;
    assert_eq!(ran(&call(&started, "ask", "").await), "refused with -32601");
    started.servers.end().await;
}

#[tokio::test]
async fn a_server_has_the_given_environment_only_and_its_secrets_are_replaced() {
    let situation = with_script();
    let mut settings = situation.settings("srv", &[]);
    settings.env.push(("TOKEN".into(), "sesame-open-1234".into()));
    settings.secrets = Secrets::new(vec![("GIVEN".into(), "sesame-open-1234".into())]);
    let started = situation.start_all(vec![settings]).await;
    assert_eq!(
        ran(&call(&started, "variables", "").await),
        "HOOKWRIGHT_RUN PATH PWD SHLVL TOKEN token=[secret GIVEN]"
    );
    started.servers.end().await;
}

#[tokio::test]
async fn there_is_a_limit_on_servers() {
    let situation = with_script();
    let all = (0..34).map(|number| {
        let mut settings = situation.settings(&format!("s{number}"), &[]);
        settings.program = "/nowhere".to_owned();
        settings
    });
    let started = situation.start_all(all.collect()).await;
    assert_eq!(started.reports.len(), 34);
    assert_eq!(
        started.notices.iter().filter(|notice| notice.ends_with("there may be 32")).count(),
        2
    );
}
