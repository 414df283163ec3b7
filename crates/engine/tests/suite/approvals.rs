//! Webhooks that wait for a person, with waits in memory and a real receiver.

use std::sync::Arc;

use hookwright_engine::ports::memory::{InMemoryJournal, InMemoryWaits};
use hookwright_engine::ports::{NewWait, OpenWait, Ports, WaitEnd, Waits};
use hookwright_engine::{Fired, Firing, PastFiring, Secrets};
use hookwright_events::{FiringEvent, Outcome, PersonOutcome, RunEventKind, Status, Verdict};
use serde_json::{Value, json};

use crate::receiver::{Receiver, Reply};
use crate::support::{Host, event, until};

/// A host, its in-memory waits, and its journal.
struct Asking {
    host: Host,
    waits: Arc<InMemoryWaits>,
    journal: Arc<InMemoryJournal>,
}

impl Asking {
    fn new(hooks: &str) -> Self {
        Self::with(hooks, Arc::default())
    }

    fn with(hooks: &str, waits: Arc<InMemoryWaits>) -> Self {
        let journal = Arc::new(InMemoryJournal::default());
        let ports = Ports { waits: waits.clone(), journal: journal.clone(), ..Ports::default() };
        let secrets = Secrets::new(vec![("KEY".into(), "hunter22-hunter22".into())]);
        Self { host: Host::with_secrets(hooks, ports, &[], secrets), waits, journal }
    }

    /// Fires while a task decides the first wait that opens.
    async fn fire_and(&self, name: &str, data: Value, answer: Value) -> Fired {
        let (fired, ()) = tokio::join!(self.host.fire(name, data), async {
            let (_, wait, _) = self.asked(1).await;
            assert!(self.waits.decide(&wait.id, answer));
        });
        fired
    }

    /// The wait with this number, once it is stored and its request has arrived.
    async fn asked(&self, number: usize) -> (NewWait, OpenWait, Option<WaitEnd>) {
        let find = || self.waits.asked().into_iter().nth(number - 1);
        until("the request has arrived", || find().is_some_and(|(_, wait, _)| wait.was_sent)).await;
        find().expect("it was just there")
    }
}

fn gate(url: &str, more: &str) -> String {
    format!(
        "hooks:
  stage:complete:
    - id: gate
      description: May the plan be built?
      url: '{url}'
      await: true
      body:
        text: 'Plan ready for ${{STAGE}}: ${{CALLBACK_URL}}'
        key: ${{KEY}}
        yes: '${{CALLBACK_URL}}?action=approve'
        later: '${{CALLBACK_URL}}?action=Later'
      {more}
    - id: after
      await: true
      command: printf '%s|%s' \"${{HOOK_RESPONSE.action}}\" \"$HOOK_RESPONSE\" > response
"
    )
}

// Conformance: agent-pipelines-002, agent-pipelines-028, agent-pipelines-036, agent-pipelines-069
#[tokio::test]
async fn the_wait_with_its_question_is_stored_before_the_request_is_sent() {
    let mut receiver = Receiver::new([]).await;
    let asking = Asking::new(&gate(&receiver.url("/"), "callback_port: 0"));
    let data = json!({
        "stage": "plan", "iteration": 3, "changed_files": ["a", "b"], "stage_outputs": "x\ny"
    });
    let fired = asking.fire_and("stage:complete", data, json!({ "action": "approve" })).await;
    let request = receiver.next().await;
    let (wait, open, _) = asking.asked(1).await;
    let callback = "http://localhost/callback/wait-1";
    assert_eq!(
        request.json(),
        json!({
            "text": format!("Plan ready for plan: {callback}"), "key": "hunter22-hunter22",
            "yes": format!("{callback}?action=approve"), "later": format!("{callback}?action=Later")
        })
    );
    assert_eq!(
        NewWait { request: Value::Null, ..wait.clone() },
        NewWait {
            key: None,
            session: None,
            hook: "gate".into(),
            event: "stage:complete".into(),
            subject: Some("plan".into()),
            stage: Some("plan".into()),
            iteration: Some(3),
            pipeline: None,
            question: "Plan ready for plan".into(),
            offered: vec!["approve".into(), "later".into()],
            changed_files: vec!["a".into(), "b".into()],
            stage_outputs: vec!["x".into(), "y".into()],
            timeout: std::time::Duration::from_secs(3600),
            port: Some(0),
            request: Value::Null,
        }
    );
    let stored = wait.request.to_string();
    assert!(!stored.contains("hunter22") && !stored.contains("callback/"), "{stored}");
    assert_eq!(fired.reports[0].status, Status::Success);
    assert_eq!(fired.reports[0].reason.as_deref(), Some("`approve` by this program"));
    assert_eq!(asking.host.read("response"), r#"approve|{"action":"approve"}"#);

    let waiting = |event: &hookwright_events::RunEvent| match &event.kind {
        RunEventKind::Firing(FiringEvent::HookWaiting {
            hook,
            wait,
            question,
            since,
            until,
            url,
        }) => Some((
            (hook.clone(), wait.clone(), question.clone()),
            (since.clone(), until.clone(), url.clone()),
        )),
        _ => None,
    };
    let names = ("gate".to_owned(), "wait-1".to_owned(), "Plan ready for plan".to_owned());
    let shown: Vec<_> = asking.host.seen().iter().filter_map(waiting).collect();
    let times = (open.since.clone(), open.until.clone());
    assert_eq!(shown, [(names.clone(), (times.0.clone(), times.1.clone(), Some(callback.into())))]);
    let kept: Vec<_> = asking.journal.events().iter().filter_map(waiting).collect();
    assert_eq!(kept, [(names, (times.0, times.1, None))]);
}

#[tokio::test]
async fn the_record_of_a_question_contains_no_secret() {
    let receiver = Receiver::new([]).await;
    let asking = Asking::new(&gate(&receiver.url("/"), ""));
    let secret = |before: &str| format!("{before}hunter22-hunter22");
    let data = json!({
        "stage": secret("stage "), "pipeline": secret("pipeline "),
        "changed_files": [secret("a/")], "stage_outputs": format!("x\n{}", secret("b/")),
    });
    asking.fire_and("stage:complete", data, json!({ "action": "approve" })).await;
    let (wait, ..) = asking.asked(1).await;
    let hidden = |before: &str| format!("{before}[secret KEY]");
    assert_eq!(wait.subject, Some(hidden("stage ")));
    assert_eq!((wait.stage, wait.pipeline), (Some(hidden("stage ")), Some(hidden("pipeline "))));
    assert_eq!(wait.changed_files, [hidden("a/")]);
    assert_eq!(wait.stage_outputs, ["x".to_owned(), hidden("b/")]);
}

#[tokio::test]
async fn a_question_without_values_is_asked_unchanged() {
    for (body, question) in [
        ("{text: Shall the work begin?}", "Shall the work begin?"),
        ("{text: Shall the work begin?, stage: '${STAGE}'}", "Shall the work begin?"),
        ("{text: [no, text]}", "May it?"),
        ("{words: Shall the work begin?}", "May it?"),
        ("[text]", "May it?"),
    ] {
        let receiver = Receiver::new([]).await;
        let url = receiver.url("/");
        let hook = format!(
            "{{id: gate, url: '{url}', await: true, description: 'May it?', body: {body}}}"
        );
        let asking = Asking::new(&format!("hooks: {{stage:complete: [{hook}]}}"));
        let answer = json!({ "action": "approve" });
        asking.fire_and("stage:complete", json!({ "stage": "plan" }), answer).await;
        let (wait, _, _) = asking.asked(1).await;
        assert_eq!(wait.question, question, "{body}");
    }
}

// Conformance: agent-pipelines-038
#[tokio::test]
async fn words_approve_or_reject_and_on_reject_handles_a_rejection() {
    let rejected = || "not today".to_owned();
    for (action, on_reject, verdict, status) in [
        ("yes", "", None, Status::Success),
        (" LATER ", "", None, Status::Success),
        ("no", "", Some(Verdict::Abort { reason: rejected() }), Status::Blocked),
        ("Cancel", "on_reject: continue", None, Status::Blocked),
    ] {
        let receiver = Receiver::new([]).await;
        let asking = Asking::new(&gate(&receiver.url("/"), on_reject));
        let answer = json!({ "action": action, "message": "not today" });
        let fired = asking.fire_and("stage:complete", json!({ "stage": "plan" }), answer).await;
        let expected = verdict.unwrap_or(Verdict::Proceed { rewritten_input: None });
        let aborts = matches!(expected, Verdict::Abort { .. });
        assert_eq!(
            (fired.decision.verdict, fired.reports[0].status),
            (expected, status),
            "{action}"
        );
        assert_eq!(asking.host.exists("response"), !aborts, "{action}");
    }
}

#[tokio::test]
async fn at_a_point_that_can_block_a_person_decides_the_operation() {
    for (answer, expected) in [
        (json!({ "action": "approve" }), Verdict::Proceed { rewritten_input: None }),
        (
            json!({ "action": "reject", "message": "too risky" }),
            Verdict::Block { reason: "too risky".into() },
        ),
        (json!({ "action": "no" }), Verdict::Block { reason: "rejected by this program".into() }),
    ] {
        // The receiver's response is not the answer then.
        let receiver = Receiver::new([Reply::ok(r#"{"decision": "deny"}"#)]).await;
        let hooks = "hooks: {tool:pre_execute: [{id: gate, url: 'URL', await: true}]}";
        let asking = Asking::new(&hooks.replace("URL", &receiver.url("/")));
        let data = json!({ "tool_name": "bash" });
        let fired = asking.fire_and("tool:pre_execute", data, answer.clone()).await;
        assert_eq!(fired.decision.verdict, expected, "{answer}");
    }
}

// Conformance: agent-pipelines-032, agent-pipelines-100
#[tokio::test]
async fn a_missing_answer_is_handled_by_on_timeout() {
    let reason = || "no answer within 20 ms".to_owned();
    let proceed = Verdict::Proceed { rewritten_input: None };
    for (name, more, expected) in [
        ("stage:complete", "", Verdict::Abort { reason: reason() }),
        ("stage:complete", "on_timeout: continue", proceed),
        ("tool:pre_execute", "", Verdict::Block { reason: reason() }),
        ("tool:pre_execute", "on_timeout: abort", Verdict::Abort { reason: reason() }),
    ] {
        let receiver = Receiver::new([]).await;
        let hooks = format!(
            "hooks: {{'{name}': [{{id: gate, url: '{}', await: true, timeout: 20ms, {more}}}]}}",
            receiver.url("/")
        );
        let asking = Asking::new(&hooks);
        let fired = asking.host.fire(name, json!({ "tool_name": "bash" })).await;
        assert_eq!(fired.decision.verdict, expected, "{name} {more}");
        assert_eq!(fired.reports[0].status, Status::TimedOut);
    }
}

// Conformance: agent-pipelines-033
#[tokio::test]
async fn a_request_that_does_not_arrive_is_a_failure_and_ends_the_wait() {
    let busy = || Reply::of(503, "", "");
    let receiver = Receiver::new([busy(), busy()]).await;
    let more = "retries: 1\n      retry_delay: 1ms";
    let asking = Asking::new(&gate(&receiver.url("/"), more));
    let fired = asking.host.fire("stage:complete", json!({ "stage": "plan" })).await;
    let report = &fired.reports[0];
    assert_eq!((report.status, report.attempts), (Status::Failed, 2));
    assert_eq!(report.reason.as_deref(), Some("status 503 in 2 attempts"));
    let asked: Vec<_> = asking.waits.asked().into_iter().map(|(_, _, end)| end).collect();
    assert_eq!(asked.last(), Some(&Some(WaitEnd::Abandoned)));
}

#[tokio::test]
async fn a_decision_counts_even_while_the_receiver_is_down() {
    let mut receiver = Receiver::new([Reply::Silent]).await;
    let asking = Asking::new(&gate(&receiver.url("/"), ""));
    let firing = asking.host.fire("stage:complete", json!({ "stage": "plan" }));
    let (fired, ()) = tokio::join!(firing, async {
        receiver.next().await;
        assert!(asking.waits.decide("wait-1", json!({ "action": "ok" })));
    });
    assert_eq!(fired.reports[0].status, Status::Success);
}

#[tokio::test]
async fn an_interrupt_or_a_dropped_firing_ends_a_wait_that_is_not_resumed() {
    for is_dropped in [false, true] {
        let receiver = Receiver::new([]).await;
        let asking = Asking::new(&gate(&receiver.url("/"), ""));
        {
            let mut firing = std::pin::pin!(asking.host.fire("stage:complete", json!({})));
            tokio::select! {
                _ = &mut firing => panic!("no answer was given"),
                _ = asking.asked(1) => {}
            }
            if !is_dropped {
                asking.host.engine.interrupt();
                firing.await;
            }
        }
        let end = asking.waits.decided("wait-1").await.expect("it is there");
        assert_eq!(end, WaitEnd::Abandoned);
    }
}

/// An interrupted firing of a session: all that its journal had by then, and whether its hook is
/// known to have ended.
async fn cut_off(asking: &Asking) -> Box<PastFiring> {
    let firing = Firing {
        session: Some("calm-fox".into()),
        key: Some("stage:complete/0".into()),
        ..Firing::default()
    };
    {
        let event = event("stage:complete", json!({ "stage": "plan" }));
        let mut firing = std::pin::pin!(asking.host.engine.fire(event, firing));
        tokio::select! {
            _ = &mut firing => panic!("no answer was given"),
            _ = asking.asked(1) => {}
        }
    }
    let kinds = asking.journal.events().into_iter().map(|event| event.kind);
    Box::new(PastFiring::new(1, kinds))
}

async fn take_up(asking: &Asking, past: Box<PastFiring>) -> Fired {
    let firing = Firing { session: Some("calm-fox".into()), past: Some(past), ..Firing::default() };
    let event = event("stage:complete", json!({ "stage": "plan" }));
    asking.host.engine.fire(event, firing).await
}

#[tokio::test]
async fn an_interrupted_wait_is_resumed_and_no_person_is_asked_twice() {
    let mut receiver = Receiver::new([]).await;
    let hooks = gate(&receiver.url("/"), "");
    let before = Asking::new(&hooks);
    let past = cut_off(&before).await;
    assert_eq!(before.waits.asked().len(), 1);
    let request = receiver.next().await;

    // Another process, with the same waits.
    let after = Asking::with(&hooks, Arc::clone(&before.waits));
    let (fired, ()) = tokio::join!(take_up(&after, past), async {
        let shown = |event: &hookwright_events::RunEvent| {
            matches!(&event.kind, RunEventKind::Firing(FiringEvent::HookWaiting { url: Some(url), .. })
                if request.body.contains(url.as_str()))
        };
        until("it waits", || after.host.seen().iter().any(shown)).await;
        assert!(after.waits.decide("wait-1", json!({ "action": "approve" })));
    });
    assert_eq!(fired.decision.verdict, Verdict::Proceed { rewritten_input: None });
    assert_eq!(after.host.read("response"), r#"approve|{"action":"approve"}"#);
    assert_eq!(after.waits.asked().len(), 1);
    assert!(receiver.is_quiet());
}

#[tokio::test]
async fn a_decision_made_while_no_process_ran_counts_once() {
    let mut receiver = Receiver::new([]).await;
    let hooks = gate(&receiver.url("/"), "");
    let before = Asking::new(&hooks);
    let past = cut_off(&before).await;
    assert!(before.waits.decide("wait-1", json!({ "action": "reject", "message": "no" })));
    let after = Asking::with(&hooks, Arc::clone(&before.waits));
    let fired = take_up(&after, past).await;
    assert_eq!(fired.decision.verdict, Verdict::Abort { reason: "no".into() });
    receiver.next().await;
    assert!(receiver.is_quiet());

    // Another firing of the same session asks again. (The first number belongs to the resumed one.)
    after.host.fire("session:start", json!({})).await;
    let firing = Firing {
        session: Some("calm-fox".into()),
        key: Some("stage:complete/1".into()),
        ..Firing::default()
    };
    after.waits.answer_next(json!({ "action": "ok" }));
    let event = event("stage:complete", json!({ "stage": "work" }));
    let other = after.host.engine.fire(event, firing).await;
    assert_eq!(other.decision.verdict, Verdict::Proceed { rewritten_input: None });
    assert_eq!(after.waits.asked().len(), 2);
}

#[tokio::test]
async fn a_request_that_was_stored_and_not_sent_is_sent_as_it_was_rendered() {
    let mut receiver = Receiver::new([Reply::Silent]).await;
    let hooks = gate(&receiver.url("/"), "");
    let before = Asking::new(&hooks);
    let firing = Firing {
        session: Some("calm-fox".into()),
        key: Some("stage:complete/0".into()),
        ..Firing::default()
    };
    let cut_off = {
        let event = event("stage:complete", json!({ "stage": "plan" }));
        let mut firing = std::pin::pin!(before.host.engine.fire(event, firing));
        tokio::select! {
            _ = &mut firing => panic!("no answer was given"),
            request = receiver.next() => request,
        }
    };
    let kinds = before.journal.events().into_iter().map(|event| event.kind);
    let past = Box::new(PastFiring::new(1, kinds));
    let after = Asking::with(&hooks, Arc::clone(&before.waits));
    let firing = Firing { session: Some("calm-fox".into()), past: Some(past), ..Firing::default() };
    // The values have changed since, but the request as rendered counts.
    let event = event("stage:complete", json!({ "stage": "another" }));
    let firing = after.host.engine.fire(event, firing);
    let (fired, sent) = tokio::join!(firing, async {
        let sent = receiver.next().await;
        assert!(after.waits.decide("wait-1", json!({ "action": "ok" })));
        sent
    });
    assert_eq!(fired.reports[0].status, Status::Success);
    assert_eq!(
        (sent.body.as_str(), sent.header("webhook-id")),
        (&*cut_off.body, cut_off.header("webhook-id"))
    );
}

#[tokio::test]
async fn a_persons_answer_is_journalled_without_secrets() {
    let receiver = Receiver::new([]).await;
    let asking = Asking::new(&gate(&receiver.url("/"), ""));
    let answer = json!({ "action": "ok", "message": "use hunter22-hunter22" });
    asking.fire_and("stage:complete", json!({ "stage": "plan" }), answer).await;
    let responses: Vec<Value> = asking
        .journal
        .events()
        .into_iter()
        .filter_map(|event| match event.kind {
            RunEventKind::Firing(FiringEvent::HookEnded {
                outcome: Outcome::Person(PersonOutcome::Decided { response, .. }),
                ..
            }) => Some(*response),
            _ => None,
        })
        .collect();
    assert_eq!(responses, [json!({ "action": "ok", "message": "use [secret KEY]" })]);
}

#[tokio::test]
async fn without_an_approver_nothing_is_sent_and_the_hook_fails_at_once() {
    let mut receiver = Receiver::new([]).await;
    let host = Host::new(&gate(&receiver.url("/"), "on_failure: abort").replace("${KEY}", "x"));
    let fired = host.fire("stage:complete", json!({ "stage": "plan" })).await;
    let reason = "hook gate failed (cannot ask a person: this program cannot ask people)";
    assert_eq!(fired.decision.verdict, Verdict::Abort { reason: reason.into() });
    assert!(receiver.is_quiet());
}
