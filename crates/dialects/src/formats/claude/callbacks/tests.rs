//! Rules of `callbacks.rs`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use hookwright_config::HookFiles;
use hookwright_engine::{
    Decision, Engine, Firing, FiringEvent, HookSet, Interest, RunEventKind, Setup, Verdict,
};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use super::*;
use crate::claude::answer::{
    AsyncHookOutput, HookSpecificOutput, PermissionDecision, PreToolUseOutput, SyncHookOutput, True,
};
use crate::claude::event::session::{Stop, UserPromptSubmit};
use crate::claude::event::tool::{PostToolUse, PreToolUse};

fn engine(hooks: impl IntoIterator<Item = Hook>) -> Engine {
    let mut set = HookSet::new();
    for hook in hooks {
        set.add(hook).unwrap();
    }
    Engine::new(Setup::new(set, "/".into(), Default::default()))
}

async fn fire(hooks: impl IntoIterator<Item = Hook>, name: &str, data: Value) -> Decision {
    engine(hooks).fire(Event::named(name, data).unwrap(), Firing::default()).await.decision
}

async fn call_bash(hooks: impl IntoIterator<Item = Hook>) -> Decision {
    let data = json!({ "tool_name": "bash", "tool_input": { "command": "ls" },
        "tool_use_id": "toolu_1" });
    fire(hooks, "PreToolUse", data).await
}

fn permission(word: PermissionDecision, reason: &str) -> HookOutput {
    HookSpecificOutput::PreToolUse(PreToolUseOutput {
        permission_decision: Some(word),
        permission_decision_reason: Some(reason.into()),
        ..PreToolUseOutput::default()
    })
    .into()
}

fn context(text: &str) -> HookOutput {
    HookSpecificOutput::PreToolUse(PreToolUseOutput {
        additional_context: Some(text.into()),
        ..PreToolUseOutput::default()
    })
    .into()
}

/// A group whose members give these answers, in order.
fn saying(outputs: impl IntoIterator<Item = HookOutput>) -> Group<PreToolUse> {
    outputs.into_iter().fold(Group::all(), |group, output| {
        group.then(move |_| {
            let output = output.clone();
            async move { Ok(output) }
        })
    })
}

// Conformance: claude-code-009, claude-code-014
#[tokio::test]
async fn a_member_gets_typed_input_the_id_of_the_call_and_a_token() {
    let seen = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&seen);
    let group = Group::matching("Bash").then(move |call: Call<PreToolUse>| {
        *keep.lock().unwrap() =
            Some((call.input.tool_name, call.tool_use_id, call.cancelled.is_cancelled()));
        async { Ok(HookOutput::nothing()) }
    });
    assert_eq!(call_bash([group.into_hook("a").unwrap()]).await, Decision::default());
    let seen = seen.lock().unwrap().take();
    assert_eq!(seen, Some(("Bash".into(), Some("toolu_1".into()), false)));
}

// Conformance: claude-code-021
#[tokio::test]
async fn the_first_deny_counts_then_the_first_allow_else_an_ask() {
    use PermissionDecision::{Allow, Ask, Deny};
    let verdict = async |words: &[(PermissionDecision, &str)]| {
        let outputs = words.iter().map(|(word, reason)| permission(*word, reason));
        call_bash([saying(outputs).into_hook("a").unwrap()]).await.verdict
    };
    assert_eq!(
        verdict(&[(Allow, "a"), (Deny, "b"), (Deny, "c"), (Ask, "d")]).await,
        Verdict::Block { reason: "b".into() }
    );
    assert_eq!(
        verdict(&[(Ask, "a"), (Allow, "b"), (Allow, "c")]).await,
        Verdict::Allow { reason: Some("b".into()), rewritten_input: None }
    );
    assert_eq!(
        verdict(&[(Ask, "a"), (Ask, "b")]).await,
        Verdict::Ask { reason: Some("a".into()), rewritten_input: None }
    );
}

// Conformance: claude-code-017, claude-code-018
#[tokio::test]
async fn members_run_one_by_one_and_continue_false_ends_only_their_own_group() {
    let stop = SyncHookOutput {
        go_on: Some(false),
        stop_reason: Some("enough".into()),
        ..SyncHookOutput::default()
    };
    let first = saying([context("1"), stop.into(), context("never")]).into_hook("a").unwrap();
    let second = saying([context("2")]).into_hook("b").unwrap();
    let decision = call_bash([first, second]).await;
    assert_eq!(decision.verdict, Verdict::Stop { reason: "enough".into() });
    assert_eq!(decision.additional_context, ["1", "2"]);
}

// Conformance: claude-code-020
#[tokio::test]
async fn an_error_or_a_panic_of_one_member_keeps_no_other_from_running() {
    let group = Group::all()
        .then(|_: Call<PreToolUse>| async { Err("no network".into()) })
        .then(|_| async { panic!("oops") })
        .then(|_| -> std::future::Ready<_> { panic!("at once") })
        .then(|_| async { Ok(context("last")) });
    let decision = call_bash([group.into_hook("a").unwrap()]).await;
    assert_eq!(
        decision,
        Decision {
            additional_context: vec!["last".into()],
            system_messages: vec![
                "Hook callback failed: no network\nHook callback failed: panicked: oops\n\
                 Hook callback failed: panicked: at once"
                    .into()
            ],
            ..Decision::default()
        }
    );
}

#[tokio::test]
async fn a_group_that_blocks_on_failure_does_unless_a_member_has_a_better_reason() {
    let failing = || Group::all().blocking_on_failure().then(|_| async { Err("broken".into()) });
    let blocked = call_bash([failing().into_hook("a").unwrap()]).await;
    assert_eq!(blocked.verdict, Verdict::Block { reason: "hook a failed (broken)".into() });
    let deny = permission(PermissionDecision::Deny, "mine");
    let denying = failing().then(move |_: Call<PreToolUse>| {
        let deny = deny.clone();
        async move { Ok(deny) }
    });
    let denied = call_bash([denying.into_hook("a").unwrap()]).await;
    assert_eq!(denied.verdict, Verdict::Block { reason: "mine".into() });
}

// Conformance: claude-code-016
#[tokio::test(start_paused = true)]
async fn members_share_one_timeout_and_earlier_answers_count() {
    let token = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&token);
    let later = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&later);
    let group = Group::all()
        .timeout(Duration::from_secs(1))
        .then(|_: Call<PreToolUse>| async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            Ok(context("in time"))
        })
        .then(move |call| {
            *keep.lock().unwrap() = Some(call.cancelled);
            async {
                tokio::time::sleep(Duration::from_millis(700)).await;
                Ok(context("too late"))
            }
        })
        .then(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Ok(HookOutput::nothing()) }
        });
    let decision = call_bash([group.into_hook("a").unwrap()]).await;
    let reason = "PreToolUse hook did not respond before its timeout".to_owned();
    assert_eq!(decision.verdict, Verdict::Block { reason });
    assert_eq!(decision.additional_context, ["in time"]);
    assert!(token.lock().unwrap().as_ref().unwrap().is_cancelled());
    assert_eq!(later.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_blocks_a_prompt_and_is_only_reported_elsewhere() {
    async fn forever<T>(_: Call<T>) -> Result<HookOutput, CallbackFailure> {
        std::future::pending().await
    }
    let second = Duration::from_secs(1);
    let prompt = Group::<UserPromptSubmit>::all().timeout(second).then(forever);
    let decision = fire([prompt.into_hook("a").unwrap()], "UserPromptSubmit", json!({})).await;
    let reason = "UserPromptSubmit hook did not respond before its timeout".to_owned();
    assert_eq!(decision.verdict, Verdict::Block { reason });
    let stop = Group::<Stop>::all().timeout(second).then(forever);
    let decision = fire([stop.into_hook("a").unwrap()], "Stop", json!({})).await;
    let told = "Hook callback failed: Stop hook did not respond before its timeout".to_owned();
    assert_eq!(decision, Decision { system_messages: vec![told], ..Decision::default() });
}

// Conformance: claude-code-019, code-forge-030
#[tokio::test]
async fn groups_run_at_once_and_answer_in_order() {
    let meeting = Arc::new(Barrier::new(2));
    let group = |text: &'static str| {
        let meeting = Arc::clone(&meeting);
        Group::all().then(move |_: Call<PreToolUse>| {
            let meeting = Arc::clone(&meeting);
            async move {
                // Returns only if both run at the same time.
                meeting.wait().await;
                Ok(context(text))
            }
        })
    };
    let hooks = [group("one").into_hook("a").unwrap(), group("two").into_hook("b").unwrap()];
    assert_eq!(call_bash(hooks).await.additional_context, ["one", "two"]);
}

// Conformance: claude-code-019, claude-code-022
#[tokio::test]
async fn between_groups_the_strictest_decision_counts() {
    let allow = saying([permission(PermissionDecision::Allow, "a")]).into_hook("a").unwrap();
    let ask = saying([permission(PermissionDecision::Ask, "b")]).into_hook("b").unwrap();
    let verdict = call_bash([allow, ask]).await.verdict;
    assert_eq!(verdict, Verdict::Ask { reason: Some("b".into()), rewritten_input: None });
}

// Conformance: claude-code-019
#[tokio::test]
async fn the_last_rewrite_and_every_other_field_of_the_members_reach_the_host() {
    let rewrite = |command: &str| -> HookOutput {
        let input = json!({ "command": command }).as_object().unwrap().clone();
        HookSpecificOutput::PreToolUse(PreToolUseOutput {
            updated_input: Some(input),
            ..PreToolUseOutput::default()
        })
        .into()
    };
    let quiet = SyncHookOutput {
        suppress_output: Some(true),
        system_message: Some("m".into()),
        ..SyncHookOutput::default()
    };
    let group = saying([rewrite("a"), rewrite("b"), quiet.into()]);
    let decision = call_bash([group.into_hook("a").unwrap()]).await;
    let rewritten_input = Some(json!({ "command": "b" }));
    assert_eq!(
        decision,
        Decision {
            verdict: Verdict::Proceed { rewritten_input },
            system_messages: vec!["m".into()],
            suppress_output: true,
            ..Decision::default()
        }
    );
}

/// An engine with a shell, in a temporary folder.
fn engine_with_shell(hook: Hook) -> (tempfile::TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
    let environment = std::env::vars_os();
    let engine = Engine::builder(folder.path()).environment(environment).built_hook(hook);
    (folder, engine.build().unwrap())
}

fn bash(command: &str) -> Event {
    let data = json!({ "tool_name": "bash", "tool_input": { "command": command } });
    Event::named("PreToolUse", data).unwrap()
}

// Conformance: claude-code-013, claude-code-017
#[tokio::test]
async fn functions_and_commands_of_one_group_run_in_turn() {
    let group = Group::matching("Bash")
        .then(|_: Call<PreToolUse>| async { Ok(context("first")) })
        .then_command("grep -q 'sudo' && { echo 'no sudo' >&2; exit 2; }; exit 0")
        .then_command(r#"echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "second"}}'"#)
        .then_command("exit 7")
        .then(|_| async { Ok(context("last")) });
    let (_folder, engine) = engine_with_shell(group.into_hook("a").unwrap());
    let decision = engine.fire(bash("ls"), Firing::default()).await.decision;
    assert_eq!(decision.verdict, Verdict::Proceed { rewritten_input: None });
    assert_eq!(decision.additional_context, ["first", "second", "last"]);
    let told = "Hook callback failed: Failed with non-blocking status code: No stderr output";
    assert_eq!(decision.system_messages, [told]);
    let decision = engine.fire(bash("sudo ls"), Firing::default()).await.decision;
    assert_eq!(decision.verdict, Verdict::Block { reason: "no sudo".into() });
}

// Conformance: claude-code-016
#[tokio::test]
async fn a_command_gets_the_rest_of_its_groups_time() {
    let group = Group::<PreToolUse>::all().timeout(Duration::from_millis(100));
    let (_folder, engine) =
        engine_with_shell(group.then_command("sleep 60").into_hook("a").unwrap());
    let decision = engine.fire(bash("ls"), Firing::default()).await.decision;
    let reason = "PreToolUse hook did not respond before its timeout".to_owned();
    assert_eq!(decision.verdict, Verdict::Block { reason });
}

// Conformance: claude-code-023
#[tokio::test]
async fn a_member_that_goes_async_does_not_delay_the_others_and_answers_late() {
    let gate = Arc::new(tokio::sync::Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let deny = permission(PermissionDecision::Deny, "mine");
    let group = Group::all()
        .then(move |call: Call<PreToolUse>| {
            let gate = Arc::clone(&opened);
            async move {
                call.go_async(None);
                gate.acquire().await?.forget();
                Ok(context("from the function"))
            }
        })
        .then_command(
            r#"echo '{"async": true}'; until [ -e go ]; do sleep 0.01; done
            echo '{"systemMessage": "from the command"}'"#,
        )
        .then(move |_| {
            let deny = deny.clone();
            async move { Ok(deny) }
        });
    let (folder, engine) = engine_with_shell(group.into_hook("a").unwrap());
    let firing = || Firing { session: Some("s".into()), ..Firing::default() };
    let decision = engine.fire(bash("ls"), firing()).await.decision;
    assert_eq!(decision.verdict, Verdict::Block { reason: "mine".into() });
    gate.add_permits(1);
    std::fs::write(folder.path().join("go"), "").unwrap();
    engine.settle().await;
    let next = Event::named("SessionStart", json!({})).unwrap();
    let decision = engine.fire(next, firing()).await.decision;
    assert_eq!(decision.additional_context, ["from the function"]);
    assert_eq!(decision.system_messages, ["from the command"]);
}

#[tokio::test]
async fn an_async_answer_is_reported_and_the_other_members_still_decide() {
    let goes_on = AsyncHookOutput { is_async: True, async_timeout: None };
    let group = saying([HookOutput::Async(goes_on), permission(PermissionDecision::Deny, "no")]);
    let engine = engine([group.into_hook("a").unwrap()]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    engine.observe(
        Interest::NoOutput,
        Arc::new(move |event| {
            if let RunEventKind::Firing(FiringEvent::HookWentAsync { hook, .. }) = &event.kind {
                keep.lock().unwrap().push(hook.clone());
            }
        }),
    );
    let decision = engine.fire(bash("ls"), Firing::default()).await.decision;
    assert_eq!(decision.verdict, Verdict::Block { reason: "no".into() });
    engine.settle().await;
    assert_eq!(*seen.lock().unwrap(), ["a"]);
}

// Conformance: claude-code-026
#[tokio::test(start_paused = true)]
async fn a_background_member_that_is_too_late_is_reported() {
    let group = Group::all().then(|call: Call<PreToolUse>| async move {
        call.go_async(Some(Duration::from_secs(90)));
        std::future::pending().await
    });
    let engine = engine([group.timeout(Duration::from_secs(1)).into_hook("a").unwrap()]);
    let firing = || Firing { session: Some("s".into()), ..Firing::default() };
    assert_eq!(engine.fire(bash("ls"), firing()).await.decision, Decision::default());
    engine.settle().await;
    let next = Event::named("SessionStart", json!({})).unwrap();
    let told = "Hook callback failed: PreToolUse hook did not respond before its timeout";
    assert_eq!(engine.fire(next, firing()).await.decision.system_messages, [told]);
}

#[tokio::test]
async fn an_engine_takes_groups_and_files_of_other_systems() {
    let folder = tempfile::tempdir().unwrap();
    let guard = json!({ "type": "command", "command": "echo 'by a file' >&2; exit 2" });
    let settings = json!({ "hooks": {
        "PreToolUse": [{ "matcher": "Bash", "hooks": [guard] }],
        "SessionStart": [{ "hooks": [{ "type": "no such type" }] }],
    } });
    std::fs::create_dir(folder.path().join(".claude")).unwrap();
    std::fs::write(folder.path().join(".claude/settings.json"), settings.to_string()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "a test is its own host")]
    let environment = std::env::vars_os();
    let claude = crate::named("claude").unwrap();
    let files = HookFiles::in_project(folder.path())
        .dialects(crate::known())
        .dialect_file(claude, ".claude/settings.json")
        .text("rules", "hooks: {tool:pre_execute: [{command: 'true', dialect: claude}]}")
        .load()
        .unwrap();
    assert_eq!(files.left_out.len(), 1, "{:?}", files.left_out);
    let engine = Engine::builder(folder.path())
        .environment(environment)
        .hooks(files.hooks)
        .built_hook(saying([context("by a function")]).into_hook("group").unwrap())
        .build()
        .unwrap();
    let decision = engine.fire(bash("ls"), Firing::default()).await.decision;
    assert_eq!(decision.verdict, Verdict::Block { reason: "by a file".into() });
    assert_eq!(decision.additional_context, ["by a function"]);
}

// Conformance: claude-code-015
#[test]
fn a_matcher_is_a_name_a_glob_or_empty() {
    let wakes = |matcher: &str, tool: &str| {
        let event = Event::named("PreToolUse", json!({ "tool_name": tool })).unwrap();
        ToolMatcher::parse(matcher).unwrap().is_none_or(|looks| looks.wakes(&event))
    };
    for (matcher, tool, fits) in [
        ("", "Bash", true),
        ("Bash", "Bash", true),
        ("Bash", "bash", true),
        ("Bash", "BashOutput", false),
        ("BASH", "Bash", false),
        ("mcp__*", "mcp__github__create", true),
        ("mcp__*", "mcp__a/b", false),
        ("*", "Read", true),
        ("B?sh", "Bash", true),
        ("[BD]ash", "Dash", true),
        ("[^B]ash", "Bash", false),
        ("Bash|Edit", "Bash", false),
        (".*", "Bash", false),
        (r"a\*", "a*", true),
    ] {
        assert_eq!(wakes(matcher, tool), fits, "{matcher} {tool}");
    }
    let stop = Event::named("Stop", json!({})).unwrap();
    assert!(ToolMatcher::parse("Bash").unwrap().unwrap().wakes(&stop));
}

#[test]
fn an_unusable_group_is_refused_with_the_reason() {
    for matcher in ["[", "[]", "a[\\d]", "\\"] {
        let error = Group::<PostToolUse>::matching(matcher).into_hook("a").unwrap_err();
        assert_eq!(error, GroupError::BadMatcher { matcher: matcher.into() });
    }
    let error = Group::<PostToolUse>::all().timeout(Duration::ZERO).into_hook("a").unwrap_err();
    assert_eq!(error, GroupError::NoTime);
}

// Conformance: claude-code-008
#[tokio::test]
async fn data_of_another_shape_are_a_failure_of_the_member() {
    let group = Group::<Stop>::all().then(|_| async { Ok(HookOutput::nothing()) });
    let odd = json!({ "stop_hook_active": "yes" });
    let decision = fire([group.into_hook("a").unwrap()], "Stop", odd).await;
    let told = "Hook callback failed: the event's data does not have the expected types";
    assert_eq!(decision.system_messages, [told]);
}

// Conformance: claude-code-001
#[test]
fn every_event_with_a_type_has_its_input() {
    assert_eq!(crate::claude::event::TYPED.len(), 15);
    for name in crate::claude::event::TYPED {
        assert!(Pattern::parse(name).is_ok(), "{name}");
    }
}
