//! Secrets reach only hooks that name them, and are redacted everywhere else.

use hookwright_engine::Secrets;
use hookwright_engine::ports::Ports;
use hookwright_events::{FiringEvent, RunEventKind, Status, Verdict};
use serde_json::json;

use crate::support::Host;

/// A quote and a slash, so that JSON and addresses escape it differently.
const TOKEN: &str = "hunter/2\"2&x";

fn host(hooks: &str) -> Host {
    let secrets = Secrets::new(vec![
        ("TOKEN".to_owned(), TOKEN.to_owned()),
        ("OTHER".to_owned(), "correct horse".to_owned()),
    ]);
    Host::with_secrets(hooks, Ports::default(), &[("PLAIN", "blue")], secrets)
}

/// Asserts that no output of the engine contains a secret, in any of its forms.
fn assert_hidden(host: &Host, record: &serde_json::Value) {
    let seen = serde_json::to_string(&host.seen()).expect("plain data");
    for text in [seen, record.to_string()] {
        for part in ["hunter", "correct horse", "correct%20horse"] {
            let at = text.find(part);
            let around = at.map(|at| &text[at.saturating_sub(40)..(at + 40).min(text.len())]);
            assert_eq!(around, None);
        }
    }
}

#[tokio::test]
async fn a_secret_reaches_the_hook_that_names_it_and_no_other() {
    let host = host(
        "hooks:
  session:start:
    - {await: true, command: 'printf %s \"$TOKEN\" > named'}
    - {await: true, command: 'env > unnamed'}
    - {await: true, command: 'env > by_env', env: {KEY: 'Bearer ${TOKEN} ${PLAIN} ${SESSION}.'}}
    - {await: true, command: 'printf %s \"${TOKEN:-none}\" > deep'}
    - {await: true, command: 'printenv TOKEN > asked; echo MY_TOKEN TOKENS'}
    - {await: true, command: 'env > like; echo MY_TOKEN TOKENS'}",
    );
    host.fire("session:start", json!({ "session": "s" })).await;
    assert_eq!(host.read("named"), TOKEN);
    assert!(!host.read("unnamed").contains("hunter"));
    let by_env = host.read("by_env");
    assert!(by_env.contains(&format!("KEY=Bearer {TOKEN} blue s.\n")), "{by_env}");
    assert!(!by_env.contains("\nTOKEN="), "only what was asked for");
    assert_eq!(host.read("deep"), TOKEN);
    assert_eq!(host.read("asked"), format!("{TOKEN}\n"));
    assert!(!host.read("like").contains("hunter"));
}

// Conformance: agent-pipelines-090, code-forge-067
#[tokio::test]
async fn no_form_of_a_secret_leaks_anywhere() {
    let host = host(
        r#"hooks:
  tool:pre_execute:
    - id: reasons
      on_failure: continue
      command: |
        echo "$TOKEN and $OTHER" >&2
        python3 -c 'import json,os,urllib.parse as u; t=os.environ["TOKEN"]; print(json.dumps(t), u.quote(t), u.quote(t, safe=""), u.quote_plus(t), json.dumps(t).replace("/", "\\/"))'
        exit 7
    - id: answers
      command: |
        python3 -c 'import json,os; t=os.environ["TOKEN"]; print(json.dumps({"additionalContext": t, "systemMessage": "m " + t, "updatedInput": {t: [t]}}))'
    - id: pipes
      pipe_output: true
      command: echo "piped $TOKEN"
    - id: denies
      command: |
        python3 -c 'import json,os; print(json.dumps({"decision": "deny", "reason": "no " + os.environ["TOKEN"]}))'
"#,
    );
    let fired = host.fire("tool:pre_execute", json!({ "tool_name": "bash" })).await;
    assert_eq!(fired.decision.verdict, Verdict::Block { reason: "no [secret TOKEN]".into() });
    assert_eq!(fired.reports[0].stderr, "[secret TOKEN] and [secret OTHER]\n");
    assert!(fired.reports[0].stdout.contains("\"[secret TOKEN]\" "), "{}", fired.reports[0].stdout);
    assert_hidden(&host, &fired.record());
    let shown: String = host
        .seen()
        .into_iter()
        .filter_map(|event| match event.kind {
            RunEventKind::Firing(FiringEvent::HookOutput { text, .. }) => Some(text),
            _ => None,
        })
        .collect();
    assert!(shown.contains("piped [secret TOKEN]"), "{shown}");
}

// Conformance: code-forge-067
#[tokio::test]
async fn a_secret_in_pieces_or_at_a_cut_of_the_output_is_redacted() {
    let host = host(
        r#"hooks:
  session:start:
    - {id: pieces, await: true, command: 'for ((i = 0; i < ${#TOKEN}; i++)); do printf %s "${TOKEN:i:1}"; done; echo; printf %s "${TOKEN:0:7}"'}
    - id: cut
      await: true
      command: |
        python3 -c 'import os; t=os.environ["TOKEN"]; import sys; sys.stdout.write("x" * (512 * 1024 - 5) + t + "y" * 700000 + t + "z" * (512 * 1024 - 6))'
    - {id: held, await: true, command: 'printf "%s" "${TOKEN:0:5}"; sleep 1000 & echo $! > pid'}"#,
    );
    let fired = host.fire("session:start", json!({})).await;
    assert_eq!(fired.reports[0].stdout, "[secret TOKEN]\nhunter/", "the beginning is no secret");
    let cut = &fired.reports[1].stdout;
    assert!(cut.starts_with("xxx") && cut.ends_with("zzz") && cut.contains("bytes left out"));
    for part in ["hunt", "2\"2", "\"2&x"] {
        assert!(!cut.contains(part), "{part}");
    }
    assert_eq!(fired.reports[2].stdout, "hunte", "what is held back is let out at the end");
    let _ = std::process::Command::new("kill").arg(host.read("pid").trim()).status();
}

#[tokio::test]
async fn secrets_in_output_before_a_timeout_are_redacted_too() {
    let host = host(
        "hooks: {session:start: [{await: true, timeout: 0.3, kill_grace: 10ms, command: 'echo \"a $TOKEN\"; sleep 1000'}]}",
    );
    let fired = host.fire("session:start", json!({})).await;
    assert_eq!(fired.reports[0].status, Status::TimedOut);
    assert_hidden(&host, &fired.record());
}

#[tokio::test]
async fn an_unknown_name_in_env_is_reported_and_nothing_starts() {
    let host =
        host("hooks: {session:start: [{await: true, command: 'touch ran', env: {A: '${TOKE}'}}]}");
    let fired = host.fire("session:start", json!({})).await;
    let reason = fired.reports[0].reason.as_deref().unwrap_or_default();
    assert!(reason.contains("unknown variable `TOKE` in `env: A`"), "{reason}");
    assert!(!host.exists("ran"));
}

#[tokio::test]
async fn git_gets_no_secret_and_shows_none() {
    let host = host(
        "hooks:
  session:start:
    - {id: commit, type: git-commit, await: true, message: 'done ${TOKEN}'}
  session:end:
    - {id: push, type: git-push, await: true, remote: up, branch: main}",
    );
    let git = |arguments: &[&str]| {
        let ran = std::process::Command::new("git")
            .args(["-c", "user.name=u", "-c", "user.email=u@example.com"])
            .args(arguments)
            .current_dir(host.path())
            .output()
            .expect("git runs");
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    host.write("a", "a");
    let fired = host.fire("session:start", json!({})).await;
    let reason = fired.reports[0].reason.as_deref().unwrap_or_default();
    assert!(reason.contains("the commit message must not contain the secret `TOKEN`"), "{reason}");
    git(&["remote", "add", "up", "file:///nowhere/correct%20horse/x.git"]);
    let fired = host.fire("session:end", json!({})).await;
    assert_eq!(fired.reports[0].status, Status::Failed);
    assert!(fired.reports[0].stderr.contains("[secret OTHER]"), "{}", fired.reports[0].stderr);
    assert_hidden(&host, &fired.record());
}
