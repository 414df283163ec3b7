use std::fs;
use std::path::Path;
use std::time::Duration;

use hookwright_engine::hook::{Action, Exhausted, Hook, OnFailure, SpawnDir};
use hookwright_engine::matcher::Matcher;
use hookwright_events::{Event, EventName, Power};
use serde_json::{Map, json};

use super::*;
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;

fn environment() -> Environment {
    Environment::new([("SLACK_WEBHOOK".into(), "https://hooks.example/x".into())])
}

fn file(name: &str, layer: Layer) -> ConfigFile {
    ConfigFile::native(name, name, layer)
}

fn load(text: &str) -> Loaded {
    load_text(text, &file("hookwright.yaml", Layer::Project), &environment())
}

/// Every fault as one line: place, message, nearest name.
fn faults(text: &str) -> Vec<String> {
    load(text)
        .faults
        .iter()
        .map(|fault| match fault.kind.nearest() {
            Some(near) => format!("{fault} (near: {near})"),
            None => fault.to_string(),
        })
        .collect()
}

fn one_hook(text: &str) -> Hook {
    let loaded = load(text);
    assert!(loaded.faults.is_empty(), "{:?}", faults(text));
    assert_eq!(loaded.hooks.hooks().len(), 1);
    Hook::clone(&loaded.hooks.hooks()[0])
}

fn event(name: &str) -> Event {
    Event::new(EventName::resolve(name).expect("known"), Map::new())
}

#[test]
fn the_first_example_of_the_documentation_is_read() {
    let loaded = load(
        "version: 1
hooks:
  tool:pre_execute:bash:
    - command: ./guards/no-sudo.sh        # type: shell is clear from `command`
  on_iteration_complete:
    - type: shell
      command: cargo test
      pipe_output: true
  on_stage_complete:
    - type: webhook
      url: ${SLACK_WEBHOOK}
      body: { text: \"Plan ready: ${CALLBACK_URL}\" }
      await: true
      when: ${STAGE} == 'plan'
",
    );
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    let seen: Vec<(&str, &str, String)> = loaded
        .hooks
        .hooks()
        .iter()
        .map(|hook| (hook.id.as_str(), hook.action.kind(), hook.source.to_string()))
        .collect();
    assert_eq!(
        seen,
        [
            ("hookwright/tool:pre_execute:bash#0", "shell", "hookwright.yaml:4".to_owned()),
            ("hookwright/on_iteration_complete#0", "shell", "hookwright.yaml:6".to_owned()),
            ("hookwright/on_stage_complete#0", "webhook", "hookwright.yaml:10".to_owned()),
        ]
    );
}

#[test]
fn every_field_of_a_shell_hook_is_read_from_yaml_and_from_json() {
    let yaml = "
hooks:
  tool:pre_execute:
    - type: shell
      id: guard
      description: keeps sudo out
      enabled: false
      matcher: Bash|Edit
      when: ${ITERATION} > 5
      await: true
      timeout: 500ms
      on_failure: retry
      retries: 2
      retry_delay: 0.5
      on_exhausted: abort
      pipe_output: true
      once: true
      dialect: native
      command: echo ${TOOL_INPUT.command}
      env: { A: text, N: 1, B: true }
      working_dir: sub
      shell: sh
      kill_grace: 1
";
    let json = r#"{"hooks":{"tool:pre_execute":[{"type":"shell","id":"guard",
      "description":"keeps sudo out","enabled":false,"matcher":"Bash|Edit",
      "when":"${ITERATION} > 5","await":true,"timeout":"500ms","on_failure":"retry","retries":2,
      "retry_delay":0.5,"on_exhausted":"abort","pipe_output":true,"once":true,"dialect":"native",
      "command":"echo ${TOOL_INPUT.command}","env":{"A":"text","N":1,"B":true},
      "working_dir":"sub","shell":"sh","kill_grace":1}]}}"#;
    for text in [yaml, json] {
        let hook = one_hook(text);
        assert_eq!(hook.id, "guard");
        assert_eq!(hook.description.as_deref(), Some("keeps sudo out"));
        assert!(!hook.enabled && hook.pipe_output && hook.once);
        assert!(matches!(&hook.matcher, Matcher::Named(names) if names.len() == 2));
        assert_eq!(hook.when.as_ref().map(|when| when.source()), Some("${ITERATION} > 5"));
        assert_eq!(hook.on_failure, Some(OnFailure::Retry));
        let terms = hook.terms(Power::Blocks);
        assert_eq!(terms.timeout, Duration::from_millis(500));
        assert_eq!((terms.retries, terms.retry_delay), (2, Duration::from_millis(500)));
        assert_eq!(terms.on_failure, Exhausted::Abort);
        let Action::Shell(shell) = &hook.action else { panic!("a shell hook") };
        assert_eq!(shell.command.for_shell(), "echo ${HOOKWRIGHT_REF_1}");
        let pairs: Vec<(&str, &str)> =
            shell.env.iter().map(|(name, value)| (name.as_str(), value.source())).collect();
        assert_eq!(pairs, [("A", "text"), ("N", "1"), ("B", "true")]);
        assert_eq!(shell.working_dir.as_deref(), Some("sub".as_ref()));
        assert_eq!(shell.shell.as_deref(), Some("sh"));
        assert_eq!(shell.kill_grace, Some(Duration::from_secs(1)));
    }
}

// Conformance: agent-pipelines-001
#[test]
fn webhook_spawn_and_git_hooks_are_read_with_every_field() {
    let loaded = load(
        "hooks:
  PostExecutionEnd:
    - url: http://localhost:9/x
      method: PUT
      headers: { X-Key: a }
      body: { n: 1, list: [true, null, 1.5], text: \"${SESSION}\" }
      callback_port: 0
      on_timeout: continue
      on_reject: abort
      secret: ${SLACK_WEBHOOK}
      allow_http: true
    - pipeline: review
      inputs: { files: \"${CHANGED_FILES}\" }
      working_dir: session
    - { type: git-commit, message: done, no_verify: true }
    - { type: git-push, remote: up, branch: main }
",
    );
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    let hooks = loaded.hooks.hooks();
    let Action::Webhook(webhook) = &hooks[0].action else { panic!("a webhook") };
    let hookwright_engine::hook::Body::Json(body) = &webhook.body else { panic!("JSON") };
    assert_eq!(body.source(), json!({ "n": 1, "list": [true, null, 1.5], "text": "${SESSION}" }));
    assert_eq!(webhook.method.as_deref(), Some("PUT"));
    assert_eq!(
        webhook.headers,
        [("X-Key".to_owned(), hookwright_engine::template::TextTemplate::new("a"))]
    );
    assert_eq!(webhook.callback_port, Some(0));
    assert_eq!(webhook.on_timeout, Some(Exhausted::Continue));
    assert_eq!(webhook.on_reject, Some(Exhausted::Abort));
    assert!(webhook.allow_http && webhook.secret.is_some());
    let Action::Spawn(spawn) = &hooks[1].action else { panic!("a spawn") };
    assert_eq!((spawn.pipeline.as_str(), spawn.working_dir), ("review", SpawnDir::Session));
    assert_eq!(spawn.inputs.source()["files"], "${CHANGED_FILES}");
    let Action::GitCommit(commit) = &hooks[2].action else { panic!("a commit") };
    assert!(commit.no_verify);
    let Action::GitPush(push) = &hooks[3].action else { panic!("a push") };
    assert_eq!((push.remote.as_deref(), push.branch.as_deref()), (Some("up"), Some("main")));
    let summaries: Vec<&str> = hooks.iter().map(|hook| hook.action.summary()).collect();
    assert_eq!(summaries, ["http://localhost:9/x", "review", "done", "up"]);
}

#[test]
fn hooks_may_also_be_a_list_whose_entries_name_their_event() {
    let loaded = load(
        r#"{"hooks": [
            {"event": "tool:pre_execute:bash", "command": "a"},
            {"event": "session:start,session:end", "command": "b"}
        ]}"#,
    );
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    let ids: Vec<&str> = loaded.hooks.hooks().iter().map(|hook| hook.id.as_str()).collect();
    assert_eq!(
        ids,
        ["hookwright/tool:pre_execute:bash#0", "hookwright/session:start,session:end#1"]
    );
}

#[test]
fn all_faults_are_shown_each_with_its_place() {
    assert_eq!(
        faults(
            "version: 1
hooks:
  tool:pre_exekute:
    - command: a
  session:start:
    - comand: b
    - command: c
      timeout: soon
    - command: 5
    - {command: d, on_failure: explode}
  session:end:
    command: e
"
        ),
        [
            "hookwright.yaml:3:3: unknown event `tool:pre_exekute` (near: tool:pre_execute)",
            "hookwright.yaml:6:7: unknown key `comand`, expected one of: allow_http, await, body, \
             branch, callback_port, command, description, dialect, enabled, env, event, headers, host, id, \
             inputs, kill_grace, matcher, message, method, no_verify, on_exhausted, on_failure, \
             on_reject, on_timeout, once, pipe_output, pipeline, remote, retries, retry_delay, \
             secret, shell, timeout, type, url, when, working_dir (near: command)",
            "hookwright.yaml:8:16: expected a duration of at most 30 days like 30, 0.5, 500ms, 5m \
             or 2h but found `soon`",
            "hookwright.yaml:9:16: expected a command but found the number `5`",
            "hookwright.yaml:10:32: expected continue, abort, retry, block but found `explode`",
            "hookwright.yaml:12:5: expected a list of hooks but found a map",
        ]
    );
}

#[test]
fn places_are_right_in_flow_maps_behind_anchors_and_in_json() {
    assert_eq!(
        faults("hooks: {session:start: [{command: a}, {command: b, wen: x}]}"),
        ["hookwright.yaml:1:52: unknown key `wen`, expected one of: command, env, working_dir, \
          shell, kill_grace, event, type, id, description, enabled, matcher, host, when, await, timeout, \
          on_failure, retries, retry_delay, on_exhausted, pipe_output, once, dialect (near: when)"]
    );
    // The place to fix is the anchor, not its uses.
    assert_eq!(
        faults(
            "hooks:\n  session:start:\n    - &a {command: x, once: maybe}\n  session:end:\n    - *a\n"
        ),
        ["hookwright.yaml:3:29: expected true or false but found the string `maybe`"; 2]
    );
    assert_eq!(
        faults(
            "{\n\t\"hooks\": {\n\t\t\"session:start\": [{\"command\": \"x\", \"timeout\": -1}]\n\t}\n}\n"
        ),
        [
            "hookwright.yaml:3:49: expected a duration of at most 30 days like 30, 0.5, 500ms, 5m or \
          2h but found `-1`"
        ]
    );
    assert_eq!(
        faults(
            "{\"hooks\": {\"session:start\": [{\"command\": \"ä\", \"when\": \"${ITERATON} == 1\"}]}}"
        ),
        ["hookwright.yaml:1:58: unknown variable `ITERATON` (near: ITERATION)"]
    );
}

#[test]
fn a_condition_is_checked_when_the_file_is_read_and_points_at_the_variable() {
    let text = "hooks:\n  on_error:\n    - command: x\n      when: \"${ITERATON} % 10 == 0\"\n";
    assert_eq!(
        faults(text),
        ["hookwright.yaml:4:16: unknown variable `ITERATON` (near: ITERATION)"]
    );
    let fault = load(text).faults[0].clone();
    let place = fault.place.clone().expect("a place");
    assert_eq!(&text[place.range], "ITERATON");
    // Variables of the environment are known.
    assert!(
        faults("hooks: {on_error: [{command: x, when: \"${SLACK_WEBHOOK} != ''\"}]}").is_empty()
    );
}

#[test]
fn a_fault_within_a_text_of_several_lines_points_at_its_place() {
    for (text, place) in [
        (
            "hooks:\n  Stop:\n    - command: |\n        echo hi\n        echo ${TOOL_INPT.x}\n",
            (5, 16),
        ),
        ("hooks:\n  Stop:\n    - command: >-\n        echo ${TOOL_INPT.x}\n", (4, 16)),
        (
            "hooks:\n  Stop:\n    - command: x\n      when: |\n        ${STAGE} == 'a' ||\n        ${ITERATON} == 1\n",
            (6, 11),
        ),
        ("hooks:\n  Stop:\n    - command: 'echo ${TOOL_INPT.x}'\n", (3, 24)),
    ] {
        let loaded = load(text);
        let place_of = loaded.faults[0].place.clone().expect("a place");
        assert_eq!((place_of.line, place_of.column), place, "{text}");
        assert!(["TOOL_INPT", "ITERATON"].contains(&&text[place_of.range]), "{text}");
    }
}

#[test]
fn every_fault_of_an_entry_is_reported_even_if_its_action_is_missing() {
    let found = faults("hooks: {Stop: [{comand: x, timeout: 5x, once: maybe}]}");
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn a_condition_that_is_too_long_is_a_fault_even_with_wide_letters_at_its_end() {
    let long =
        format!("hooks: {{Stop: [{{command: x, when: \"'xy' == '{}'\"}}]}}", "ä".repeat(5500));
    let found = faults(&long);
    assert!(found.len() == 1 && found[0].contains("expected at most 10000"), "{found:?}");
}

#[test]
fn too_deep_nesting_and_too_many_values_are_different_faults() {
    let deep = format!("hooks: {}x{}", "[".repeat(70), "]".repeat(70));
    let found = faults(&deep);
    assert!(found.len() == 1 && found[0].contains("at most 64 levels of nesting"), "{found:?}");
}

#[test]
fn a_path_into_an_unknown_variable_is_a_fault() {
    assert_eq!(
        faults("hooks:\n  Stop:\n    - command: echo ${TOOL_INPT.command}\n"),
        ["hookwright.yaml:3:23: unknown variable `TOOL_INPT` (near: TOOL_INPUT)"]
    );
}

#[test]
fn unknown_keys_are_faults_and_old_keys_are_reported_with_their_successor() {
    assert_eq!(
        faults("hoks: {}\n"),
        ["hookwright.yaml:1:1: unknown key `hoks`, expected one of: version, hooks, \
          disable_global_hooks, callback, trace, permissions, mcp_servers, agent, model, \
          project, worker (near: hooks)"]
    );
    assert_eq!(
        faults("completion: plateau\ndefaults: {}\n"),
        [
            "hookwright.yaml:1:1: the key `completion` is not \
             supported; instead, use `termination`",
            "hookwright.yaml:2:1: the key `defaults` is not supported; instead, use `agent` and \
             `model` in each loop",
        ]
    );
    assert_eq!(
        faults("hooks: {Stop: [{command: x, url: y}]}"),
        ["hookwright.yaml:1:29: the key `url` is for webhook hooks, this is a shell hook"]
    );
}

#[test]
fn a_host_is_one_name_or_several_and_an_unknown_one_is_a_fault() {
    assert!(one_hook("hooks: {Stop: [{command: x}]}").hosts.is_empty());
    for host in ["run", "[run]"] {
        let hook = one_hook(&format!("hooks: {{Stop: [{{command: x, host: {host}}}]}}"));
        assert_eq!(hook.hosts, ["run".into()]);
    }
    assert_eq!(
        faults("hooks: {Stop: [{command: x, host: rnu}, {command: y, host: [run, 7]}]}"),
        [
            "hookwright.yaml:1:35: expected the name of a host (run) but found `rnu` (near: run)",
            "hookwright.yaml:1:66: expected the name of a host but found the number `7`",
        ]
    );
}

#[test]
fn faults_of_mcp_servers_name_their_place_and_the_nearest_key() {
    assert_eq!(
        faults(
            "mcp_servers:\n  a: {command: x, arg: [1]}\n  b: {args: [1]}\n  A: {command: y}\n  \
             a__b: {command: x}\n  c: npx\n  d: {command: x, args: y, env: [1], timeout: 0}\n  \
             e: {command: '', args: [[1]], env: {HOOKWRIGHT_RUN: x, 'A=B': y}, enabled: 1}\n"
        ),
        [
            "hookwright.yaml:2:19: unknown key `arg`, expected one of: command, args, env, timeout, \
             start_timeout, enabled (near: args)",
            "hookwright.yaml:3:3: missing `command`",
            "hookwright.yaml:4:3: the name `A` appears twice, first in line 2",
            "hookwright.yaml:5:3: expected a server's name: letters, digits, `-` and single `_` \
             between them, at most 32 characters but found `a__b`",
            "hookwright.yaml:6:6: expected a server, a map with `command` but found the string `npx`",
            "hookwright.yaml:7:25: expected a list of arguments but found the string `y`",
            "hookwright.yaml:7:33: expected a map from names to strings but found a list",
            "hookwright.yaml:7:47: expected a duration greater than zero but found `0`",
            "hookwright.yaml:8:16: expected a program, without its arguments but found ``",
            "hookwright.yaml:8:27: expected an argument, a string but found a list",
            "hookwright.yaml:8:38: expected a variable's name and a value without NUL bytes but \
             found `A=B`",
            "hookwright.yaml:8:38: the name `HOOKWRIGHT_RUN` is already used by a variable of \
             hookwright",
            "hookwright.yaml:8:78: expected true or false but found the number `1`",
        ]
    );
}

#[test]
fn if_two_mcp_servers_have_one_name_the_nearer_file_wins() {
    let (project, global) =
        (file("hookwright.yaml", Layer::Project), file("hooks.yaml", Layer::Global));
    let texts = [
        (&global, "mcp_servers: {a: {command: theirs}, b: {command: b}}"),
        (&project, "mcp_servers: {A: {command: ours, args: [x y, '']}}"),
    ];
    let loaded = load_texts(texts, &Environment::default(), Scope::All);
    let servers: Vec<String> = loaded
        .agent_settings
        .mcp_servers()
        .map(|server| format!("{}: {}", server.name, server.summary()))
        .collect();
    assert_eq!(servers, ["A: ours 'x y' ''", "b: b"]);
}

#[test]
fn top_level_values_of_the_wrong_kind_are_faults() {
    assert_eq!(
        faults(
            "version: 2\ndisable_global_hooks: 1\ncallback: {port: 70000, hots: x}\n\
             permissions: {allow: bash, deni: []}\nmcp_servers: []\nmodel: 7\n"
        ),
        [
            "hookwright.yaml:1:10: expected version 1 but found `2`",
            "hookwright.yaml:2:23: expected true or false but found the number `1`",
            "hookwright.yaml:3:18: expected a port from 0 to 65535 but found `70000`",
            "hookwright.yaml:3:25: unknown key `hots`, expected one of: bind, port, public_url",
            "hookwright.yaml:4:22: expected a list of rules but found the string `bash`",
            "hookwright.yaml:4:28: unknown key `deni`, expected one of: allow, ask, deny (near: deny)",
            "hookwright.yaml:5:14: expected a map from names to servers but found a list",
            "hookwright.yaml:6:8: expected the name of a model but found the number `7`",
        ]
    );
}

#[test]
fn the_first_file_that_sets_the_callback_address_wins() {
    let text = "callback: {bind: localhost, port: 0, public_url: \"https://a.example:8443/x/\"}";
    let kept = CallbackAddress {
        bind: Some([127, 0, 0, 1].into()),
        port: Some(0),
        public_url: Some("https://a.example:8443/x".into()),
    };
    assert_eq!(load(text).callback, kept);
    assert_eq!(load("hooks: {}").callback, CallbackAddress::default());
    let (project, global) =
        (file("hookwright.yaml", Layer::Project), file("hooks.yaml", Layer::Global));
    let texts =
        [(&project, "callback: {port: 9000}"), (&global, "callback: {port: 9001, bind: \"::1\"}")];
    let both = load_texts(texts, &environment(), Scope::All);
    let ports = CallbackAddress {
        bind: Some("::1".parse().expect("an address")),
        port: Some(9000),
        public_url: None,
    };
    assert_eq!((both.callback, both.faults), (ports, Vec::new()));
}

#[test]
fn an_unusable_callback_address_is_a_fault() {
    assert_eq!(
        faults("callback: {bind: example.org, public_url: \"example.org\"}"),
        [
            "hookwright.yaml:1:18: expected an address of this machine like 127.0.0.1 or 0.0.0.0 but \
             found `example.org`",
            "hookwright.yaml:1:43: expected an address like https://hooks.example.org but found \
             `example.org`",
        ]
    );
    for url in ["https://", "http://:80", "https://a/?x", "https://a b", "https://u@a", "ftp://a"] {
        assert_eq!(faults(&format!("callback: {{public_url: {url:?}}}")).len(), 1, "{url}");
    }
}

#[test]
fn keys_that_contradict_each_other_are_a_fault() {
    for (entry, message) in [
        ("{command: x, await: false, on_failure: abort}", "nothing waits for the failure"),
        ("{command: x, on_exhausted: abort}", "needs `on_failure: retry`"),
        ("{command: x, timeout: 0}", "a timeout longer than 0"),
        (
            "{command: x, dialect: other}",
            "expected the name of a dialect (native) but found `other`",
        ),
        ("{url: 'http://example.com/'}", "expected an https address"),
        ("{url: 'http://127.0.0.1.evil@example.com/'}", "expected an https address"),
        ("{url: 'ftp://x'}", "expected an https address"),
        ("{type: command, command: x}", "expected shell, webhook, spawn, git-commit, git-push"),
        ("{command: x, retries: 101}", "a whole number from 0 to 100"),
        ("{command: x, retries: -1}", "a whole number from 0 to 100"),
        ("{command: ''}", "expected a command"),
        ("{command: x, env: [a]}", "a map from names to strings"),
        ("{command: x, env: {'A=B': c}}", "a variable's name"),
        ("{command: x, env: {A: [1]}}", "expected a string but found a list"),
        ("{command: x, matcher: '/(/'}", "invalid regular expression: unclosed group"),
        ("{command: x, event: Stop}", "`event` is for hooks in a list"),
        ("{command: 'if (( ${TOOL_INPUT.n} > 3 )); then exit 2; fi'}", "evaluates"),
        ("{command: x, matcher: 7}", "expected a name, A|B, a glob"),
        ("{type: shell}", "missing `command`"),
        ("{type: webhook}", "missing `url`"),
        ("{type: webhook, await: false}", "missing `url`"),
        ("{type: spawn}", "missing `pipeline`"),
        ("{pipeline: x, working_dir: home}", "expected project, session"),
        ("text", "expected a hook, a map with"),
    ] {
        let found = faults(&format!("hooks: {{session:start: [{entry}]}}"));
        assert!(found.len() == 1 && found[0].contains(message), "{entry}: {found:?}");
    }
    for (text, message) in [
        (
            "hooks: {PreToolUse: [{command: x, matcher: 'Write,Edit'}]}",
            "names are separated by `|`",
        ),
        ("hooks: {PreToolUse: [{command: x, matcher: '.*'}]}", "`.*` is not a name, `A|B`"),
        ("hooks: {stage:start: [{command: x, on_failure: block}]}", "this one cannot"),
        ("hooks: {user:prompt_submit: [{command: x, matcher: a}]}", "this event has none"),
        ("hooks: {session:end: [{command: x, pipe_output: true}]}", "reaches no agent"),
        (
            "hooks: {Stop: [{command: x, id: a}, {command: y, id: a}]}",
            "appears twice, first in line 1",
        ),
        ("hooks: 5", "a map from events to lists of hooks but found the number `5`"),
        ("hooks: [{command: x}]", "missing `event`"),
        ("hooks: [{event: nope, command: x}]", "unknown event `nope`"),
        ("[1]", "expected a map with the key `hooks` but found a list"),
        ("just text", "expected a map with the key `hooks` but found the string `just text`"),
    ] {
        let found = faults(text);
        assert!(found.len() == 1 && found[0].contains(message), "{text}: {found:?}");
    }
    // A webhook's `await` waits for a person, so nothing is contradictory here.
    assert!(
        faults("hooks: {Stop: [{url: 'https://x', await: false, on_failure: abort}]}").is_empty()
    );
}

#[test]
fn invalid_yaml_has_one_fault_with_its_place() {
    for (text, expected) in [
        ("", "hookwright.yaml: the file is empty, expected `hooks:`"),
        ("# nothing\n", "hookwright.yaml: the file is empty, expected `hooks:`"),
        ("a: [1, 2\nb: }", "hookwright.yaml:2:2: "),
        (
            "hooks:\n  Stop:\n    - command: a\n  Stop:\n    - command: b\n",
            "hookwright.yaml:4:3: the key `Stop` appears twice",
        ),
        ("hooks:\n\t- x\n", "hookwright.yaml:2:2: tabs"),
        ("a: 1\n---\nb: 2\n", "hookwright.yaml:3:1: multiple YAML documents"),
    ] {
        let found = faults(text);
        assert!(found.len() == 1 && found[0].starts_with(expected), "{text:?}: {found:?}");
    }
}

#[test]
fn a_bomb_of_anchors_is_refused_before_it_is_expanded() {
    let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (name, before) in ["b", "c", "d", "e", "f", "g", "h", "i"].iter().zip("abcdefgh".chars()) {
        let nine = vec![format!("*{before}"); 9].join(",");
        bomb.push_str(&format!("{name}: &{name} [{nine}]\n"));
    }
    let refused = "expected aliases to repeat at most 20000 values but found more";
    let found = faults(&bomb);
    assert!(found.len() == 1 && found[0].contains(refused), "{found:?}");
    // One that stays below the limit on values costs its reader most.
    let small = bomb.lines().take(6).collect::<Vec<_>>().join("\n");
    let found = faults(&small);
    assert!(small.len() < 324 && found.len() == 1 && found[0].contains(refused), "{found:?}");
    let text = "x".repeat(400_000);
    let found = faults(&format!("a: &a {text}\nb: [{}]\n", ["*a"; 30].join(",")));
    assert!(found.len() == 1 && found[0].contains("bytes of text"), "{found:?}");
    let nested: String = (0..60).map(|at| format!("&a{at} [")).collect();
    let found = faults(&format!("a: {nested}{}{}", "x,".repeat(10_000), "]".repeat(60)));
    assert!(found.len() == 1 && found[0].contains(refused), "{found:?}");
    let deep = faults(&"[".repeat(100_000));
    assert!(deep.len() == 1, "{deep:?}");
}

#[test]
fn one_anchor_may_serve_many_hooks() {
    let first = "hooks:\n  Stop:\n    - &first {timeout: 5, command: echo}\n";
    let loaded = load(&format!("{first}{}", "    - *first\n".repeat(500)));
    assert_eq!((loaded.faults.len(), loaded.hooks.hooks().len()), (0, 501));
}

#[test]
fn files_that_cannot_be_read_have_one_fault_each() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    fs::write(path("large.yaml"), vec![b'#'; 50 * 1024 * 1024]).expect("written");
    fs::write(path("latin.yaml"), b"hooks: \xe4").expect("written");
    fs::create_dir(path("folder.yaml")).expect("made");
    for (name, message) in [
        ("large.yaml", "the file has 52428800 bytes, expected at most 4194304"),
        ("latin.yaml", "the file is not UTF-8 text (byte 7)"),
        ("folder.yaml", "expected a file but found a folder"),
        ("missing.yaml", "the file cannot be read: No such file or directory"),
    ] {
        let file = ConfigFile::native(path(name), name, Layer::Project);
        let loaded = super::load(&[file], &environment());
        assert_eq!(loaded.faults.len(), 1);
        assert!(loaded.faults[0].to_string().contains(message), "{}", loaded.faults[0]);
        assert_eq!(loaded.hooks.broken_for(&event("tool:pre_execute")).count(), 1);
    }
}

#[test]
fn an_unreadable_entry_is_remembered_for_the_events_it_would_have_woken() {
    let loaded = load(
        "hooks:\n  tool:pre_execute:\n    - command: a\n      timeout: x\n  Stop:\n    - command: fine\n",
    );
    assert_eq!(loaded.hooks.hooks().len(), 1, "the good entry stays");
    assert_eq!(loaded.hooks.broken_for(&event("tool:pre_execute")).count(), 1);
    assert_eq!(loaded.hooks.broken_for(&event("session:stop")).count(), 0);
    // If even the event cannot be read, the entry may have been a guard for any event.
    let loaded = load("hooks: {tool:nonsense: [{command: a}]}");
    assert_eq!(loaded.hooks.broken_for(&event("user:prompt_submit")).count(), 1);
    let open = event("claude:config_change");
    assert_eq!(load("hooks: {'claude:*': [{comand: a}]}").hooks.broken_for(&open).count(), 1);
}

#[test]
fn faults_of_entries_under_an_unknown_event_follow_the_unknown_event() {
    for (text, expected) in [
        (
            "hooks:\n  sesion:start:\n    - comand: a\n    - command: b\n      timeout: x\n",
            &["2:3: unknown event", "3:7: unknown key `comand`", "5:16: expected a duration"][..],
        ),
        ("hooks: {sesion:start: 3}", &["1:9: unknown event", "1:23: expected a list of hooks"]),
        (
            "hooks: [{event: sesion:start, comand: a}, {command: b, once: 3}]",
            &[
                "1:17: unknown event",
                "1:31: unknown key",
                "1:43: missing `event`",
                "1:62: expected true",
            ],
        ),
        // What depends on the event is not judged.
        (
            "hooks: {Stopp: [{command: a, on_failure: block, matcher: b, pipe_output: true}]}",
            &["1:9: unknown event"],
        ),
        (
            "hooks: {Stopp: [{command: a, event: b}, 3]}",
            &["1:9: unknown", "1:30: `event`", "1:41: "],
        ),
    ] {
        let found = faults(text);
        let begins = |(found, expected): (&String, &&str)| {
            found.starts_with(&format!("hookwright.yaml:{expected}"))
        };
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(found.iter().zip(expected).all(begins), "{found:?}");
        let loaded = load(text);
        assert!(loaded.hooks.hooks().is_empty(), "{text}");
        assert!(loaded.hooks.broken_for(&event("tool:pre_execute")).next().is_some(), "{text}");
    }
}

#[test]
fn hooks_of_two_files_with_one_stem_have_different_ids() {
    let folder = tempfile::tempdir().expect("a folder");
    let files: Vec<ConfigFile> = ["a", "b"]
        .iter()
        .map(|name| {
            fs::create_dir(folder.path().join(name)).expect("made");
            let path = folder.path().join(name).join("hooks.yaml");
            fs::write(&path, "hooks: {Stop: [{command: x}]}").expect("written");
            ConfigFile::native(path, format!("{name}/hooks.yaml"), Layer::Project)
        })
        .collect();
    let loaded = super::load(&files, &environment());
    let ids: Vec<&str> = loaded.hooks.hooks().iter().map(|hook| hook.id.as_str()).collect();
    assert_eq!(ids, ["hooks/Stop#0", "hooks~2/Stop#0"]);
}

#[test]
fn loop_and_pipeline_files_have_keys_of_their_own() {
    let text = "name: work\ntermination: {type: queue}\nhooks: {on_error: [{command: x}]}\n";
    let read = |layer| load_text(text, &file("loop.yaml", layer), &environment());
    assert!(read(Layer::Loop).faults.is_empty());
    assert_eq!(read(Layer::Project).faults.len(), 2);
    let text = "name: full\nstages: [{name: a, loop: x}]\nhooks: {on_error: [{command: x}]}\n";
    assert!(
        load_text(text, &file("pipeline.yaml", Layer::Pipeline), &environment()).faults.is_empty()
    );
}

#[test]
fn a_loop_is_read_with_all_its_keys() {
    let text = "name: work
agent: [{type: command, command: my-agent, prompt: argument}, {script: turns.yaml}, claude]
model: opus
prompt_file: work.md
termination: {type: judgment, min_iterations: 3}
max_iterations: 25
max_runtime: 2h
delay: 500ms
";
    let loaded = load_text(text, &file("loop.yaml", Layer::Loop), &environment());
    assert_eq!(loaded.faults, []);
    let (_, read) = &loaded.loops[0];
    let agents = read.agents.iter().flatten().map(|agent| &agent.definition);
    let agents: Vec<&AgentDefinition> = agents.collect();
    let [command, scripted, known] = agents[..] else { panic!("three agents") };
    assert_eq!(command.kind, "command");
    assert_eq!(command.text("command"), Some("my-agent"));
    assert_eq!(command.text("prompt"), Some("argument"));
    assert_eq!(
        (&*scripted.kind, scripted.file("script")),
        ("scripted", Some(Path::new("turns.yaml")))
    );
    assert_eq!(*known, AgentDefinition::named("claude"));
    assert!(matches!(&read.prompt, Some(PromptSpec::File(path, place))
        if path.as_os_str() == "work.md" && place.line == 4));
    let model = read.model.as_ref().map(|(name, place)| (name.as_str(), place.line));
    assert_eq!(model, Some(("opus", 3)));
    let judgment = Termination::Judgment { consensus: 2, min_iterations: 3 };
    assert_eq!(read.termination, Some(judgment));
    assert_eq!((read.max_iterations, read.delay), (Some(25), Some(Duration::from_millis(500))));
    assert_eq!(read.max_runtime, Some(Duration::from_secs(7200)));
}

#[test]
fn a_pipeline_is_read_with_its_stages_and_the_loops_in_it() {
    let text = "stages:
  - {name: plan, loop: improve-plan, runs: 3}
  - name: work
    inputs: {from: plan, select: all}
    loop:
      prompt: go
      agent: {command: x}
      termination: {type: fixed, iterations: 2}
      disable_global_hooks: true
      hooks: {on_error: [{command: inner}]}
hooks: {on_error: [{command: outer}]}
";
    let file = file("pipeline.yaml", Layer::Pipeline);
    let read = |scope| load_texts([(&file, text)], &environment(), scope);
    let loaded = read(Scope::All);
    assert_eq!(loaded.faults, []);
    let stages = &loaded.pipelines[0].1.stages;
    assert_eq!((stages[0].name.as_str(), stages[0].runs), ("plan", Some(3)));
    assert_eq!(stages[1].inputs, Some(Inputs { from: "plan".into(), select: Select::All }));
    let StageBody::Inline(inline) = &stages[1].body else { panic!("{:?}", stages[1].body) };
    assert_eq!(inline.termination, Some(Termination::Fixed { iterations: Some(2) }));
    for (scope, ids, disabled) in [
        (Scope::All, &["pipeline/on_error#0", "work/on_error#0"][..], true),
        (Scope::Stage(Some("work")), &["pipeline/on_error#0", "work/on_error#0"], true),
        (Scope::Stage(Some("plan")), &["pipeline/on_error#0"], false),
        (Scope::Stage(None), &["pipeline/on_error#0"], false),
    ] {
        let hooks = read(scope).hooks;
        let found: Vec<&str> = hooks.hooks().iter().map(|hook| hook.id.as_str()).collect();
        assert_eq!((found.as_slice(), hooks.global_is_disabled()), (ids, disabled));
    }
}

#[test]
fn impossible_values_of_a_loop_or_a_pipeline_are_faults() {
    for (text, expected) in [
        ("termination: {}", "1:14: missing `type`: fixed, judgment or queue"),
        ("termination: {type: fixd}", "expected fixed, judgment, queue but found `fixd`"),
        ("termination: {type: fixed, consensus: 2}", "unknown key `consensus`"),
        ("termination: {type: fixed, iterations: 0}", "from 1 to 1000000 but found `0`"),
        (
            "agent: {type: claude, command: x}",
            "the key `command` is for command agents, this is a claude agent",
        ),
        ("agent: {type: claude, args: -v}", "a list of arguments for the agent's program"),
        ("agent: {type: 5}", "command, scripted, or an agent's name"),
        ("agent: {type: command}", "missing `command`"),
        ("agent: {type: scripted}", "missing `script`"),
        ("agent: {command: x, promt: stdin}", "unknown key `promt`"),
        ("agent: 5", "an agent's name, or a map with `type`"),
        ("prompt: a\nprompt_file: b", "2:1: `prompt` and `prompt_file` cannot"),
        ("max_cost: 0", "an amount of US dollars above 0, like 5 or 0.5 but found `0`"),
        ("max_cost: $5", "an amount of US dollars above 0"),
        ("completion: plateau", "instead, use `termination`"),
    ] {
        let loaded = load_text(text, &file("loop.yaml", Layer::Loop), &environment());
        let said = loaded.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(said.contains(expected), "{text}: {said}");
    }
    for (text, expected) in [
        ("name: x", "1:1: missing `stages`"),
        ("stages: []", "a list of 1 to 99 stages but found `0 stages`"),
        ("stages: [{name: a}]", "missing `loop`"),
        ("stages: [{loop: ./a/b}]", "missing `name`"),
        ("stages: [{name: ../x, loop: a}]", "a name of letters, digits"),
        ("stages: [{loop: a}, {name: a, loop: b}]", "a name that no other stage has"),
        ("stages: [{stage: a, name: x}]", "instead, use `loop`"),
        ("stages: [{loop: a, inputs: {from: b}}, {loop: b}]", "the name of an earlier stage"),
        ("stages: [{loop: a, inputs: {from: a}}]", "the name of an earlier stage"),
        ("stages: [{loop: a}, {loop: b, inputs: {from: a, select: last}}]", "latest, all"),
        ("stages: [{name: a, loop: {promt: x}}]", "unknown key `promt`"),
        ("stages: [{name: a, loop: {hooks: {nonsense: [{command: x}]}}}]", "nonsense"),
    ] {
        let file = file("pipeline.yaml", Layer::Pipeline);
        let loaded = load_text(text, &file, &environment());
        let said = loaded.faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(said.contains(expected), "{text}: {said}");
    }
}

#[test]
fn more_hooks_than_the_limit_are_a_fault() {
    let mut text = String::from("hooks:\n  session:start:\n");
    for _ in 0..=hookwright_engine::limits::HOOKS_MAX {
        text.push_str("    - {command: x}\n");
    }
    let loaded = load(&text);
    assert_eq!(loaded.hooks.hooks().len(), hookwright_engine::limits::HOOKS_MAX);
    assert_eq!(loaded.faults.len(), 1);
    assert!(loaded.faults[0].to_string().contains("more than 10000 hooks"));
}

/// Whether a hook is awaited, and what its failure leads to, if the file sets neither.
// Conformance: agent-pipelines-014, agent-pipelines-016, agent-pipelines-031
#[test]
fn defaults_depend_on_what_the_event_can_do() {
    let plain = one_hook("hooks: {'*': [{command: x}]}");
    let shape = |hook: &Hook, power| {
        let terms = hook.terms(power);
        (terms.awaited, terms.on_failure, terms.retries, terms.timeout.as_secs())
    };
    assert_eq!(shape(&plain, Power::Blocks), (true, Exhausted::Block, 0, 300));
    assert_eq!(shape(&plain, Power::BlocksOnPurpose), (true, Exhausted::Continue, 0, 300));
    assert_eq!(shape(&plain, Power::Annotates), (true, Exhausted::Continue, 0, 300));
    assert_eq!(shape(&plain, Power::Observes), (false, Exhausted::Continue, 0, 300));
    let awaited = |text: &str| one_hook(text).terms(Power::Observes).awaited;
    assert!(awaited("hooks: {'*': [{command: x, pipe_output: true}]}"));
    assert!(awaited("hooks: {'*': [{command: x, on_failure: abort}]}"));
    assert!(awaited("hooks: {'*': [{command: x, on_failure: retry, on_exhausted: abort}]}"));
    assert!(awaited("hooks: {'*': [{pipeline: x}]}"));
    assert!(!awaited("hooks: {'*': [{command: x, on_failure: retry}]}"));
    assert!(!awaited("hooks: {'*': [{url: 'https://x'}]}"));
    assert!(awaited("hooks: {'*': [{url: 'https://x', await: true}]}"));
    let off = one_hook("hooks: {'*': [{command: x, await: false, on_failure: continue}]}");
    assert!(!off.terms(Power::Blocks).awaited);
    let retry = one_hook("hooks: {'*': [{command: x, on_failure: retry}]}");
    assert_eq!(shape(&retry, Power::Blocks), (true, Exhausted::Block, 3, 300));
    let spawn = one_hook("hooks: {'*': [{pipeline: x, on_failure: retry}]}");
    assert_eq!(shape(&spawn, Power::Observes), (true, Exhausted::Continue, 0, 3600));
    let webhook = one_hook("hooks: {'*': [{url: 'https://x'}]}");
    assert_eq!(webhook.terms(Power::Observes).timeout.as_secs(), 30);
    let person = one_hook("hooks: {'*': [{url: 'https://x', await: true}]}");
    assert_eq!(person.terms(Power::Observes).timeout.as_secs(), 3600);
}

#[test]
fn a_file_is_loaded_as_it_was_read_even_if_it_has_changed_since() {
    let folder = tempfile::TempDir::new().unwrap();
    let file = |name: &str| ConfigFile::native(folder.path().join(name), name, Layer::Project);
    let text = "hooks: {Stop: [{command: x, id: first}]}";
    std::fs::write(file("a.yaml").path, text).unwrap();
    let read = [ReadFile::read(&file("a.yaml")), ReadFile::read(&file("none.yaml"))];
    std::fs::write(file("a.yaml").path, text.replace("first", "second")).unwrap();
    std::fs::write(file("none.yaml").path, text.replace("first", "third")).unwrap();
    assert_eq!(read.each_ref().map(ReadFile::text), [Some(text), None]);
    let loaded = load_read(&read, &environment());
    let ids: Vec<&str> = loaded.hooks.hooks().iter().map(|hook| hook.id.as_str()).collect();
    assert_eq!(ids, ["first"]);
    let [fault] = &loaded.faults[..] else { panic!("{:?}", loaded.faults) };
    assert!(matches!(fault.kind, FaultKind::Unreadable { .. }), "{:?}", fault.kind);
}

#[test]
fn a_webhook_needs_an_address_unless_it_asks_a_person() {
    let text = "hooks: {stage:complete: [{type: webhook, await: true, body: {text: go?}}]}";
    assert_eq!(one_hook(text).action.summary(), "ask a person");
}
