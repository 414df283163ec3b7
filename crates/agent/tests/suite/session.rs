//! A whole session of the built-in agent: a scripted model, tools, hooks that are functions.

use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_agent::agent::{
    AgentEnd, AgentNews, AgentStart, AgentStatus, AskUser, Audience, BuiltInAgent, CallQuestion,
    UserReply,
};
use hookwright_agent::hooks::{AgentHooks, SessionFacts, SubagentFacts};
use hookwright_agent::journal::{AgentJournal, NoJournal};
use hookwright_agent::limits::{SUBAGENTS_MAX, TOOLS_AT_ONCE_MAX};
use hookwright_agent::message::{Block, Message, Role};
use hookwright_agent::model::scripted::ScriptedModel;
use hookwright_agent::permissions::{PermissionMode, PermissionRule, Permissions};
use hookwright_agent::tool::{Tool, ToolCall, ToolEnd, ToolSpec, Touches};
use hookwright_engine::ports::Promise;
use hookwright_engine::{Answer, CancellationToken, Engine, Event, Hook, HookBuilder};
use hookwright_events::{CallOutcome, TurnEvent};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

type Seen = Arc<Mutex<Vec<Event>>>;

/// A tool that says what it was given; with `wait`, it waits until it is cancelled.
struct Echo {
    spec: ToolSpec,
    running: Arc<Notify>,
}

impl Tool for Echo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, input: &Map<String, Value>) -> Touches {
        Touches::Command(input["command"].as_str().unwrap_or_default().to_owned())
    }

    fn run<'a>(&'a self, call: ToolCall<'a>) -> Promise<'a, ToolEnd> {
        Box::pin(async move {
            let took = Duration::ZERO;
            let command = call.input["command"].as_str().unwrap_or_default();
            if command == "wait" {
                self.running.notify_one();
                call.cancel.cancelled().await;
                return ToolEnd::Failed { error: "cut off".into(), is_interrupt: true, took };
            }
            if command == "fail" {
                return ToolEnd::Failed { error: "no".into(), is_interrupt: false, took };
            }
            let text = format!("ran {command}");
            ToolEnd::Ran { response: json!({ "stdout": text }), text, took }
        })
    }
}

#[derive(Default)]
struct User(Option<UserReply>);

impl AskUser for User {
    fn may_run<'a>(&'a self, _question: CallQuestion<'a>) -> Promise<'a, Option<UserReply>> {
        Box::pin(async { self.0.clone() })
    }

    fn is_there(&self) -> bool {
        self.0.is_some()
    }
}

/// Keeps the messages of the conversation, and what the user was told.
#[derive(Clone, Default)]
struct Kept {
    messages: Arc<Mutex<Vec<Message>>>,
    told: Arc<Mutex<Vec<String>>>,
    /// Its subagents.
    below: Arc<Mutex<Vec<(SubagentFacts, Kept)>>>,
}

impl Audience for Kept {
    fn see(&self, news: AgentNews<'_>) {
        match news {
            AgentNews::Answer { message, .. } | AgentNews::UserMessage { message, .. } => {
                self.messages.lock().unwrap().push(message.clone());
            }
            AgentNews::HookMessage(text)
            | AgentNews::Notice(text)
            | AgentNews::InputRewritten { text, .. } => {
                self.told.lock().unwrap().push(text.to_owned());
            }
            AgentNews::Stream(_)
            | AgentNews::Compacted { .. }
            | AgentNews::Retry { .. }
            | AgentNews::CallResult { .. } => {}
        }
    }

    fn for_subagent(&self, subagent: &Arc<SubagentFacts>) -> Arc<dyn Audience> {
        let kept = Kept { told: Arc::clone(&self.told), ..Kept::default() };
        self.below.lock().unwrap().push(((**subagent).clone(), kept.clone()));
        Arc::new(kept)
    }
}

struct Session {
    agent: BuiltInAgent,
    kept: Kept,
    seen: Seen,
    running: Arc<Notify>,
}

struct Ran {
    end: AgentEnd,
    messages: Vec<Message>,
    told: Vec<String>,
    seen: Vec<Event>,
}

impl Session {
    fn new(turns: Value, hooks: Vec<HookBuilder>) -> Self {
        let seen = Seen::default();
        let keep = Arc::clone(&seen);
        let all = Hook::on("*", move |call| {
            keep.lock().unwrap().push((*call.event).clone());
            async { Ok(Answer::default()) }
        })
        .awaits(true);
        let mut builder = Engine::builder("/").hook(all);
        for hook in hooks {
            builder = builder.hook(hook);
        }
        let engine = builder.build().expect("an engine");
        let running = Arc::new(Notify::new());
        let schema = json!({
            "type": "object", "properties": { "command": { "type": "string" } },
            "required": ["command"], "additionalProperties": false,
        });
        let spec =
            ToolSpec { name: "bash".into(), description: "echoes".into(), input_schema: schema };
        let kept = Kept::default();
        let facts = SessionFacts {
            session_id: "session-1".into(),
            transcript_path: "/t.jsonl".into(),
            cwd: "/".into(),
            permission_mode: "bypassPermissions".into(),
        };
        let model = ScriptedModel::parse("m", &turns.to_string()).expect("a script");
        let agent = BuiltInAgent {
            model: Arc::new(model),
            tools: vec![Arc::new(Echo { spec, running: Arc::clone(&running) })],
            hooks: AgentHooks::new(engine, facts),
            permissions: Permissions {
                mode: PermissionMode::BypassPermissions,
                workspace: "/".into(),
                ..Permissions::default()
            }
            .into(),
            user: Arc::new(User::default()),
            audience: Arc::new(kept.clone()),
            journal: Arc::new(NoJournal),
            system: "You are an agent.".into(),
            subagents: false,
            max_turns: 10,
            max_tokens: 100,
            context_tokens: 128_000,
        };
        Self { agent, kept, seen, running }
    }

    async fn run(self) -> Ran {
        self.run_until(CancellationToken::new()).await
    }

    async fn run_until(self, cancel: CancellationToken) -> Ran {
        let start =
            AgentStart { prompt: "go", before: &[], setup: None, earlier: None, compact: None };
        let end = self.agent.run(start, &cancel).await;
        let messages = self.kept.messages.lock().unwrap().clone();
        let told = self.kept.told.lock().unwrap().clone();
        let seen = self.seen.lock().unwrap().clone();
        Ran { end, messages, told, seen }
    }
}

impl Ran {
    fn events(&self) -> Vec<&str> {
        self.seen.iter().map(|event| event.name.as_str()).collect()
    }

    fn of(&self, name: &str) -> &Event {
        let found = self.seen.iter().find(|event| event.name.as_str() == name);
        found.unwrap_or_else(|| panic!("{name} did not fire: {:?}", self.events()))
    }

    /// The results of all calls, as the model reads them.
    fn results(&self) -> Vec<(String, String, bool)> {
        let blocks = self.messages.iter().flat_map(|message| &message.content);
        blocks
            .filter_map(|block| match block {
                Block::ToolResult { tool_use_id, content, is_error } => {
                    Some((tool_use_id.clone(), content.clone(), *is_error))
                }
                _ => None,
            })
            .collect()
    }

    fn user_texts(&self) -> Vec<String> {
        let users = self.messages.iter().filter(|message| message.role == Role::User);
        users.map(Message::plain_text).collect()
    }

    /// What the Messages API demands: each call has one result in the next message, in that order.
    fn assert_valid(&self) {
        for (at, message) in self.messages.iter().enumerate() {
            let calls: Vec<&String> = message
                .content
                .iter()
                .filter_map(|block| match block {
                    Block::ToolUse { id, .. } => Some(id),
                    _ => None,
                })
                .collect();
            if calls.is_empty() {
                continue;
            }
            let next = &self.messages[at + 1];
            let results: Vec<&String> = next
                .content
                .iter()
                .filter_map(|block| match block {
                    Block::ToolResult { tool_use_id, .. } => Some(tool_use_id),
                    _ => None,
                })
                .collect();
            assert_eq!(results, calls);
        }
    }
}

fn call(command: &str) -> Value {
    json!({ "type": "tool_use", "name": "bash", "input": { "command": command } })
}

fn calls(commands: &[&str]) -> Value {
    let content: Vec<Value> = commands.iter().map(|command| call(command)).collect();
    json!({ "turns": [{ "content": content }, { "content": [{ "type": "text", "text": "done" }] }] })
}

fn said(text: &str) -> Value {
    json!({ "turns": [{ "content": [{ "type": "text", "text": text }] }] })
}

fn on(pattern: &str, answer: Answer) -> HookBuilder {
    Hook::on(pattern, move |_| {
        let answer = answer.clone();
        async move { Ok(answer) }
    })
    .awaits(true)
}

/// The same for calls whose command has this text in it.
fn on_command(pattern: &str, text: &'static str, answer: Answer) -> HookBuilder {
    Hook::on(pattern, move |call| {
        let fits = call.event.text_at("/tool_input/command").is_some_and(|it| it.contains(text));
        let answer = if fits { answer.clone() } else { Answer::default() };
        async move { Ok(answer) }
    })
    .awaits(true)
}

// Conformance: claude-code-027, claude-code-039, claude-code-044
#[tokio::test]
async fn every_event_of_a_turn_fires_in_its_order() {
    let ran = Session::new(calls(&["ls"]), Vec::new()).run().await;
    assert_eq!(
        ran.events(),
        [
            "session:start",
            "user:prompt_submit",
            "session:message",
            "llm:pre_request",
            "llm:stream_start",
            "llm:stream_end",
            "llm:post_response",
            "session:message",
            "tool:pre_execute",
            "permission:check",
            "permission:granted",
            "tool:post_execute",
            "session:message",
            "llm:pre_request",
            "llm:stream_start",
            "llm:stream_end",
            "llm:post_response",
            "session:message",
            "session:stop",
            "session:notification",
            "session:end",
        ]
    );
    assert_eq!(ran.end.status, AgentStatus::Completed);
    assert_eq!((ran.end.text.as_str(), ran.end.turns), ("done", 2));
    ran.assert_valid();
}

#[tokio::test]
async fn events_carry_their_fields() {
    let ran = Session::new(calls(&["ls"]), Vec::new()).run().await;
    for (event, fields) in [
        ("user:prompt_submit", json!({ "prompt": "go", "permission_mode": "bypassPermissions" })),
        ("session:message", json!({ "role": "user", "message_count": 1 })),
        ("llm:pre_request", json!({ "model": "m", "message_count": 1, "request_attempt": 1 })),
        ("llm:post_response", json!({ "model": "m", "request_attempt": 1 })),
        ("tool:pre_execute", json!({ "tool_name": "bash", "tool_input": { "command": "ls" } })),
        ("permission:check", json!({ "permission_level": "allow" })),
        ("tool:post_execute", json!({ "tool_response": { "stdout": "ran ls" }, "duration_ms": 0 })),
        ("session:stop", json!({ "reason": "completed", "last_assistant_message": "done" })),
        ("session:end", json!({ "reason": "completed", "session_id": "session-1" })),
    ] {
        let data = &ran.of(event).data;
        for (field, value) in fields.as_object().expect("fields") {
            assert_eq!(data.get(field), Some(value), "{event} {field}: {data:?}");
        }
        assert_eq!(data["transcript_path"], "/t.jsonl", "{event}");
    }
    assert!(ran.of("llm:stream_end").data["tokens"].as_u64().is_some_and(|tokens| tokens > 0));
    let id = &ran.of("tool:pre_execute").data["tool_use_id"];
    assert_eq!(id, &ran.of("tool:post_execute").data["tool_use_id"]);
}

// Conformance: claude-code-028
#[tokio::test]
async fn a_denied_call_does_not_run_and_the_model_reads_why() {
    let deny = on_command("tool:pre_execute:bash", "sudo", Answer::deny("no sudo"));
    let ran = Session::new(calls(&["sudo ls", "ls"]), vec![deny]).run().await;
    let results = ran.results();
    assert_eq!(results[0].1, "This call was denied: no sudo");
    assert!(results[0].2 && !results[1].2);
    assert_eq!(results[1].1, "ran ls");
    assert_eq!(ran.of("permission:denied").data["reason"], "no sudo");
    assert_eq!(ran.end.denials.len(), 1);
    ran.assert_valid();
}

// Conformance: claude-code-031
#[tokio::test]
async fn rewritten_input_is_what_runs_and_what_is_recorded() {
    let rewrite = on("tool:pre_execute", Answer::rewrite(json!({ "command": "ls -l" })));
    let ran = Session::new(calls(&["ls"]), vec![rewrite]).run().await;
    assert_eq!(ran.results()[0].1, "ran ls -l");
    assert_eq!(ran.of("permission:check").data["tool_input"], json!({ "command": "ls -l" }));
    assert_eq!(ran.of("tool:post_execute").data["tool_input"], json!({ "command": "ls -l" }));
}

#[tokio::test]
async fn a_rewrite_that_does_not_fit_the_tool_denies_the_call() {
    let rewrite = on("tool:pre_execute", Answer::rewrite(json!({ "cmd": "ls" })));
    let ran = Session::new(calls(&["ls"]), vec![rewrite]).run().await;
    let (_, text, is_error) = &ran.results()[0];
    assert!(is_error & text.starts_with("A hook rewrote the input of this call"), "{text}");
    assert!(!ran.events().contains(&"tool:post_execute"));
}

// Conformance: claude-code-032, claude-code-037, claude-code-043
#[tokio::test]
async fn contexts_reach_the_next_request_once() {
    let hooks = vec![
        on("session:start", Answer::context("from the start")),
        on("tool:post_execute", Answer::context("from the tool")),
    ];
    let ran = Session::new(calls(&["ls"]), hooks).run().await;
    let texts = ran.user_texts();
    assert_eq!(texts[0], "go\nFrom a hook:\nfrom the start");
    assert_eq!(texts[1], "From a hook:\nfrom the tool");
    assert_eq!(texts.len(), 2);
}

#[tokio::test]
async fn a_blocked_prompt_sends_nothing() {
    let block = on("user:prompt_submit", Answer::deny("not now").with_message("for the user"));
    let ran = Session::new(said("x"), vec![block]).run().await;
    assert_eq!(ran.end.status, AgentStatus::PromptBlocked("not now".into()));
    assert!(!ran.events().contains(&"llm:pre_request"));
    assert_eq!(ran.of("session:end").data["reason"], "blocked");
    assert_eq!(ran.told, ["for the user"]);
}

#[tokio::test]
async fn a_blocked_request_ends_the_session_and_answers_open_calls() {
    let second = Hook::on("llm:pre_request", |call| {
        let later = call.event.data["message_count"].as_u64().is_some_and(|count| count > 1);
        async move { Ok(if later { Answer::deny("too dear") } else { Answer::default() }) }
    });
    let ran = Session::new(calls(&["ls"]), vec![second]).run().await;
    assert_eq!(ran.end.status, AgentStatus::RequestBlocked("too dear".into()));
    ran.assert_valid();
}

// Conformance: claude-code-038
#[tokio::test]
async fn a_blocked_stop_goes_on_with_the_reason() {
    let times = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&times);
    let block = Hook::on("session:stop", move |_| {
        let mut times = counted.lock().unwrap();
        *times += 1;
        let first = *times == 1;
        async move { Ok(if first { Answer::deny("run the tests") } else { Answer::default() }) }
    });
    let turns = json!({ "turns": [
        { "content": [{ "type": "text", "text": "one" }] },
        { "content": [{ "type": "text", "text": "two" }] },
    ] });
    let ran = Session::new(turns, vec![block]).run().await;
    assert_eq!(ran.end.text, "two");
    assert_eq!(ran.user_texts()[1], "A hook did not let you stop: run the tests");
    let stops: Vec<&Value> = ran
        .seen
        .iter()
        .filter(|event| event.name.as_str() == "session:stop")
        .map(|event| &event.data["stop_hook_active"])
        .collect();
    assert_eq!(stops, [false, true]);
}

#[tokio::test]
async fn an_answer_without_content_is_never_sent_back_empty() {
    let times = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&times);
    let block = Hook::on("session:stop", move |_| {
        let mut times = counted.lock().unwrap();
        *times += 1;
        let first = *times == 1;
        async move { Ok(if first { Answer::deny("go on") } else { Answer::default() }) }
    });
    let turns = json!({ "turns": [
        { "content": [] },
        { "content": [{ "type": "text", "text": "done" }] },
    ] });
    let ran = Session::new(turns, vec![block]).run().await;
    assert_eq!(ran.end.text, "done");
    assert!(ran.messages.iter().all(|message| !message.content.is_empty()), "{:?}", ran.messages);
}

#[tokio::test]
async fn continue_false_ends_the_session_and_no_call_starts() {
    let stop = on_command("tool:pre_execute", "second", Answer::stop("enough"));
    let ran = Session::new(calls(&["first", "second", "third"]), vec![stop]).run().await;
    assert_eq!(ran.end.status, AgentStatus::EndedByHook("enough".into()));
    assert_eq!(ran.results().len(), 3);
    assert!(ran.results().iter().all(|(_, text, _)| text.contains("not started")));
    assert!(!ran.events().contains(&"tool:post_execute"));
    assert!(!ran.events().contains(&"session:stop"));
    ran.assert_valid();
}

#[tokio::test]
async fn what_hooks_do_to_a_result_is_done() {
    let updated = Answer { updated_output: Some(json!("replaced")), ..Answer::default() };
    let hooks = vec![
        on_command("tool:post_execute", "one", updated),
        on_command("tool:post_execute", "two", Answer::deny("wrong format")),
    ];
    let ran = Session::new(calls(&["one", "two"]), hooks).run().await;
    assert_eq!(ran.results()[0].1, "replaced");
    assert_eq!(ran.results()[1].1, "ran two");
    assert_eq!(ran.user_texts()[1], "From a hook:\nwrong format");
}

// Conformance: claude-code-033
#[tokio::test]
async fn a_tool_that_cannot_do_its_work_is_an_error() {
    let ran = Session::new(calls(&["fail"]), Vec::new()).run().await;
    let error = ran.of("tool:error");
    assert_eq!(error.data["error"], "no");
    assert_eq!(error.data["is_interrupt"], false);
    assert_eq!(ran.results()[0], (ran.results()[0].0.clone(), "no".to_owned(), true));
}

#[tokio::test]
async fn an_unknown_tool_and_an_input_against_its_schema_are_answered() {
    let turns = json!({ "turns": [{ "content": [
        { "type": "tool_use", "name": "fly", "input": {} },
        { "type": "tool_use", "name": "bash", "input": { "cmd": "ls" } },
    ] }] });
    let ran = Session::new(turns, Vec::new()).run().await;
    let results = ran.results();
    assert_eq!(results[0].1, "There is no tool `fly`. The tools are: bash.");
    assert!(results[1].1.starts_with("The input of this call is invalid: "), "{results:?}");
    assert!(!ran.events().contains(&"tool:pre_execute"));
    ran.assert_valid();
}

#[tokio::test]
async fn a_question_without_anyone_to_ask_is_a_denial() {
    let session = Session::new(calls(&["ls"]), Vec::new());
    session.agent.permissions.change(|all| all.mode = PermissionMode::Default);
    let ran = session.run().await;
    let (_, text, _) = &ran.results()[0];
    assert!(text.ends_with("; no one can be asked here"), "{text}");
    let events = ran.events();
    assert!(events.contains(&"permission:prompt") && events.contains(&"permission:denied"));
}

#[tokio::test]
async fn the_user_answers_questions() {
    for (reply, expected) in [
        (UserReply::Yes, "ran ls"),
        (UserReply::No(None), "This call was denied: the user does not permit it"),
        (
            UserReply::No(Some("use find".into())),
            "This call was denied: the user does not permit it: use find",
        ),
    ] {
        let mut session = Session::new(calls(&["ls"]), Vec::new());
        session.agent.permissions.change(|all| all.mode = PermissionMode::Default);
        session.agent.user = Arc::new(User(Some(reply)));
        let ran = session.run().await;
        assert_eq!(ran.results()[0].1, expected);
        let shown = ran.of("session:notification");
        assert_eq!(shown.data["notification_type"], "permission_prompt");
    }
}

#[tokio::test]
async fn a_hook_answers_in_place_of_the_user_and_changes_rules_for_the_session() {
    let rules = json!([
        { "type": "addRules", "rules": [{ "toolName": "bash", "ruleContent": "ls *" }],
          "behavior": "allow", "destination": "session" },
        { "type": "setMode", "mode": "plan", "destination": "userSettings" },
    ]);
    let allow = Answer { updated_permissions: Some(rules), ..Answer::allow() };
    let session = Session::new(calls(&["ls", "ls -l"]), vec![on("permission:prompt", allow)]);
    session.agent.permissions.change(|all| all.mode = PermissionMode::Default);
    let ran = session.run().await;
    assert!(ran.results().iter().all(|(_, _, is_error)| !is_error), "{:?}", ran.results());
    let prompts = ran.events().iter().filter(|name| **name == "permission:prompt").count();
    assert_eq!(prompts, 1, "the second call has a rule");
    assert_eq!(
        ran.told,
        ["a hook's change of permissions has the destination `userSettings`; only `session` is \
          possible"]
    );
}

#[tokio::test]
async fn no_hook_gets_past_a_deny_rule() {
    let hooks =
        vec![on("tool:pre_execute", Answer::allow()), on("permission:prompt", Answer::allow())];
    let session = Session::new(calls(&["rm x"]), hooks);
    let rule = PermissionRule::parse("bash(rm *)", None).expect("a rule");
    session.agent.permissions.change(|all| all.deny = vec![rule]);
    let ran = session.run().await;
    assert_eq!(
        ran.results()[0].1,
        "This call was denied: the permission rule `bash(rm *)` denies it"
    );
    assert_eq!(ran.of("permission:denied").data["permission_rule"], "bash(rm *)");
}

#[tokio::test]
async fn a_cancelled_session_ends_its_tools_and_fires_the_end() {
    let session = Session::new(calls(&["wait", "ls"]), Vec::new());
    let cancel = CancellationToken::new();
    let (running, token) = (Arc::clone(&session.running), cancel.clone());
    let canceller = tokio::spawn(async move {
        running.notified().await;
        token.cancel();
    });
    let ran = session.run_until(cancel).await;
    canceller.await.expect("ended");
    assert_eq!(ran.end.status, AgentStatus::Interrupted);
    assert_eq!(ran.of("tool:error").data["is_interrupt"], true);
    let events = ran.events();
    let end = &events[events.len() - 4..];
    assert_eq!(end, ["user:interrupt", "session:stop", "session:notification", "session:end"]);
    assert_eq!(ran.of("session:stop").data["reason"], "interrupted");
    assert_eq!(ran.results()[0].1, "cut off");
    ran.assert_valid();
}

#[tokio::test]
async fn an_interrupt_ends_a_hook_behind_a_tool_and_starts_none_for_the_other_calls() {
    let running = Arc::new(Notify::new());
    let told = Arc::clone(&running);
    let hangs = Hook::on("tool:post_execute", move |_| {
        told.notify_one();
        std::future::pending()
    });
    let session = Session::new(calls(&["one", "two"]), vec![hangs]);
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    let canceller = tokio::spawn(async move {
        running.notified().await;
        token.cancel();
    });
    let ran = session.run_until(cancel).await;
    canceller.await.expect("ended");
    assert_eq!(ran.end.status, AgentStatus::Interrupted);
    let fired = ran.events().into_iter().filter(|event| *event == "tool:post_execute");
    assert_eq!(fired.count(), 1);
    let results: Vec<_> = ran.results().into_iter().map(|(_, text, _)| text).collect();
    assert_eq!(results, ["ran one", "ran two"]);
    ran.assert_valid();
}

#[tokio::test]
async fn an_answer_that_fails_is_tried_again_and_hooks_see_every_attempt() {
    tokio::time::pause();
    let turns = json!({ "turns": [
        { "error": { "status": 529 } },
        { "error": { "status": 429, "retry_after": "7" } },
        { "content": [{ "type": "text", "text": "done" }] },
    ] });
    let began = tokio::time::Instant::now();
    let ran = Session::new(turns, Vec::new()).run().await;
    assert_eq!(ran.end.status, AgentStatus::Completed);
    let attempts: Vec<u64> = ran
        .seen
        .iter()
        .filter(|event| event.name.as_str() == "llm:pre_request")
        .filter_map(|event| event.data["request_attempt"].as_u64())
        .collect();
    assert_eq!(attempts, [1, 2, 3]);
    assert_eq!(began.elapsed().as_secs(), 8, "one second, then what the server named");
}

#[tokio::test]
async fn a_model_that_fails_for_good_ends_the_session() {
    let turns = json!({ "turns": [{ "error": { "status": 401 } }] });
    let ran = Session::new(turns, Vec::new()).run().await;
    assert!(matches!(ran.end.status, AgentStatus::ModelFailed(_)), "{:?}", ran.end.status);
    assert_eq!(ran.of("session:stop").data["reason"], "error");
    assert!(ran.of("session:end").data["error"].is_string());
}

#[tokio::test]
async fn the_limit_on_turns_ends_the_session() {
    let mut session = Session::new(calls(&["ls"]), Vec::new());
    session.agent.max_turns = 1;
    let ran = session.run().await;
    assert_eq!(ran.end.status, AgentStatus::MaxTurns);
    assert_eq!(ran.of("session:end").data["reason"], "max_turns");
    ran.assert_valid();
}

/// Keeps what is recorded, and refuses from the record with this number on.
#[derive(Default)]
struct Entries {
    kept: Mutex<Vec<TurnEvent>>,
    refused_from: Option<usize>,
}

/// Keeps what is recorded in one commit, and what is still put off.
#[derive(Default)]
struct Commits {
    made: Mutex<Vec<Vec<TurnEvent>>>,
    waiting: Mutex<Vec<TurnEvent>>,
}

impl AgentJournal for Commits {
    fn record(&self, happened: TurnEvent) -> Promise<'_, std::io::Result<()>> {
        let mut commit = std::mem::take(&mut *self.waiting.lock().unwrap());
        commit.push(happened);
        self.made.lock().unwrap().push(commit);
        Box::pin(ready(Ok(())))
    }

    fn record_with_next(&self, happened: TurnEvent) -> Promise<'_, std::io::Result<()>> {
        self.waiting.lock().unwrap().push(happened);
        Box::pin(ready(Ok(())))
    }

    fn record_waiting(&self) -> Promise<'_, std::io::Result<()>> {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap());
        self.made.lock().unwrap().extend(Some(waiting).filter(|waiting| !waiting.is_empty()));
        Box::pin(ready(Ok(())))
    }
}

impl Commits {
    fn kinds(&self) -> Vec<Vec<String>> {
        let kind =
            |event| serde_json::to_value(event).unwrap()["kind"].as_str().unwrap().to_owned();
        self.made.lock().unwrap().iter().map(|made| made.iter().map(kind).collect()).collect()
    }
}

impl AgentJournal for Entries {
    fn record(&self, happened: TurnEvent) -> Promise<'_, std::io::Result<()>> {
        let mut kept = self.kept.lock().unwrap();
        if self.refused_from.is_some_and(|from| kept.len() >= from) {
            return Box::pin(ready(Err(std::io::Error::other("no space"))));
        }
        kept.push(happened);
        Box::pin(ready(Ok(())))
    }
}

impl Entries {
    fn kinds(&self) -> Vec<String> {
        let kept = self.kept.lock().unwrap();
        let kind =
            |event| serde_json::to_value(event).unwrap()["kind"].as_str().unwrap().to_owned();
        kept.iter().map(kind).collect()
    }
}

#[tokio::test]
async fn requests_calls_and_questions_are_recorded_before_and_after_they_happen() {
    let mut session = Session::new(calls(&["ls", "rm"]), Vec::new());
    session.agent.permissions = Permissions {
        mode: PermissionMode::Default,
        allow: vec![PermissionRule::parse("bash(ls)", None).expect("a rule")],
        workspace: "/".into(),
        ..Permissions::default()
    }
    .into();
    session.agent.user = Arc::new(User(Some(UserReply::No(Some("not now".into())))));
    let entries = Arc::new(Entries::default());
    session.agent.journal = Arc::clone(&entries) as _;
    session.run().await.assert_valid();
    assert_eq!(
        entries.kinds(),
        [
            "request_sending",
            "request_ended",
            "question_asked",
            "question_answered",
            "call_starting",
            "call_ended",
            "call_ended",
            "request_sending",
            "request_ended",
        ]
    );
    let kept = entries.kept.lock().unwrap();
    assert!(matches!(
        &kept[3],
        TurnEvent::QuestionAnswered { allowed: false, words: Some(words), .. } if words == "not now"
    ));
    assert!(matches!(&kept[4], TurnEvent::CallStarting { what, .. } if what == "ls"));
    let TurnEvent::CallEnded { outcome, .. } = &kept[6] else { panic!("{:?}", kept[6]) };
    assert_eq!(*outcome, CallOutcome::Denied);
}

#[tokio::test]
async fn an_end_is_recorded_with_the_next_start_unless_something_is_waited_for_before_that() {
    // Two calls at once: the end of the first is recorded while the other may still run.
    let call = |command: &str| json!({ "type": "tool_use", "name": "bash", "input": { "command": command } });
    let turns = json!({ "turns": [
        { "content": [call("ls"), call("ls")] },
        { "error": { "status": 529 } },
        { "content": [{ "type": "text", "text": "done" }] },
    ] });
    let mut session = Session::new(turns, Vec::new());
    let commits = Arc::new(Commits::default());
    session.agent.journal = Arc::clone(&commits) as _;
    tokio::time::pause();
    session.run().await.assert_valid();
    assert_eq!(
        commits.kinds(),
        [
            &["request_sending"][..],
            &["request_ended", "call_starting", "call_starting"],
            &["call_ended"],
            &["call_ended", "request_sending"],
            // The next attempt waits.
            &["request_ended"],
            &["request_sending"],
            // The end of the session may wait for hooks.
            &["request_ended"],
        ]
    );
}

#[tokio::test]
async fn what_cannot_be_recorded_does_not_happen_and_the_session_ends_in_order() {
    for (refused_from, results) in [(0, 0), (2, 1), (3, 1)] {
        let mut session = Session::new(calls(&["ls"]), Vec::new());
        let entries = Entries { refused_from: Some(refused_from), ..Entries::default() };
        session.agent.journal = Arc::new(entries);
        let ran = session.run().await;
        ran.assert_valid();
        assert_eq!(ran.end.status, AgentStatus::JournalFailed("no space".to_owned()));
        assert_eq!(ran.results().len(), results);
        let has_run = ran.events().contains(&"tool:post_execute");
        assert_eq!(has_run, refused_from == 3, "the tool runs only if its start was recorded");
        assert_eq!(ran.of("session:end").text("reason"), Some("error"));
        assert_eq!(ran.end.turns, u32::from(refused_from > 0));
    }
}

/// A tool that counts how many of its calls run at once.
struct Crowd {
    spec: ToolSpec,
    running: AtomicUsize,
    most: Arc<AtomicUsize>,
}

impl Tool for Crowd {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn touches(&self, _input: &Map<String, Value>) -> Touches {
        Touches::Subagent
    }

    fn run<'a>(&'a self, _call: ToolCall<'a>) -> Promise<'a, ToolEnd> {
        Box::pin(async {
            let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
            self.most.fetch_max(running, Ordering::Relaxed);
            // All others that may run begin before this one ends.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            self.running.fetch_sub(1, Ordering::Relaxed);
            ToolEnd::Ran { response: Value::Null, text: "ran".into(), took: Duration::ZERO }
        })
    }
}

/// An answer with as many calls, and one behind it that ends the work.
fn calls_of(tool: &str, input: Value, number: usize) -> Value {
    let call = json!({ "type": "tool_use", "name": tool, "input": input });
    json!([{ "content": vec![call; number] }, { "content": [{ "type": "text", "text": "done" }] }])
}

#[tokio::test]
async fn no_more_tools_run_at_once_than_the_limit() {
    let turns = calls_of("crowd", json!({}), 3 * TOOLS_AT_ONCE_MAX);
    let mut session = Session::new(json!({ "turns": turns }), Vec::new());
    let most = Arc::new(AtomicUsize::new(0));
    let spec = ToolSpec {
        name: "crowd".into(),
        description: "counts".into(),
        input_schema: json!({ "type": "object" }),
    };
    let (running, counted) = (AtomicUsize::new(0), Arc::clone(&most));
    session.agent.tools = vec![Arc::new(Crowd { spec, running, most: counted })];
    let ran = session.run().await;
    assert_eq!(most.load(Ordering::Relaxed), TOOLS_AT_ONCE_MAX);
    let results = ran.results();
    assert_eq!(results.len(), 3 * TOOLS_AT_ONCE_MAX);
    assert!(results.iter().all(|(_, text, is_error)| text == "ran" && !is_error), "{results:?}");
}

#[tokio::test]
async fn a_call_beyond_the_sessions_subagents_gets_that_result() {
    let task = json!({ "description": "d", "prompt": "work" });
    let turns = calls_of("task", task, SUBAGENTS_MAX + 1);
    let mut session = Session::new(
        json!({ "turns": turns, "conversations": [
        { "prompt": "work", "turns": [{ "content": [{ "type": "text", "text": "done" }] }] },
    ] }),
        Vec::new(),
    );
    (session.agent.subagents, session.agent.max_turns) = (true, u32::MAX);
    let results = session.run().await.results();
    assert_eq!(results.len(), SUBAGENTS_MAX + 1);
    let refused: Vec<_> = results.into_iter().filter(|(_, _, is_error)| *is_error).collect();
    let [(_, text, _)] = &refused[..] else { panic!("{refused:?}") };
    assert_eq!(
        text,
        "the session has had 1000 subagents, which is the limit: do the work yourself"
    );
}

#[tokio::test]
async fn a_call_beyond_the_subagents_at_once_gets_that_result_and_the_others_go_on() {
    let task = |prompt: &str| json!({ "description": "d", "prompt": prompt });
    let above = calls_of("task", task("above"), TOOLS_AT_ONCE_MAX);
    let below = calls_of("task", task("below"), TOOLS_AT_ONCE_MAX);
    let mut session = Session::new(
        json!({ "turns": above, "conversations": [
        { "prompt": "above", "turns": vec![below[0].clone(); TOOLS_AT_ONCE_MAX] },
        { "prompt": "below", "turns": [{ "content": [{ "type": "text", "text": "done" }] }] },
    ] }),
        Vec::new(),
    );
    (session.agent.subagents, session.agent.max_turns) = (true, u32::MAX);
    let below = Arc::clone(&session.kept.below);
    let ran = session.run().await;
    assert_eq!(ran.end.status, AgentStatus::Completed);
    assert!(ran.results().iter().all(|(_, _, is_error)| !is_error), "{:?}", ran.results());
    let below = below.lock().unwrap();
    let messages = below.iter().flat_map(|(_, kept)| kept.messages.lock().unwrap().clone());
    let refused = messages.flat_map(|message| message.content).filter(|block| {
        let refusal = "32 subagents are running, which is the limit: wait for them, or do the work \
                       yourself";
        matches!(block, Block::ToolResult { content, is_error: true, .. } if content == refusal)
    });
    assert!(refused.count() > 0, "64 are started at once below the first 8");
}
