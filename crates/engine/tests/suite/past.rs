//! The same machine resumes an interrupted firing: hooks that ended do not run again, and one that
//! had started runs again with a higher attempt number.

use std::io;
use std::path::Path;
use std::sync::Arc;

use hookwright_engine::ports::memory::{InMemoryJournal, InMemoryMemory};
use hookwright_engine::ports::{Journal, Keepsake, Memory, Ports, Promise};
use hookwright_engine::{Chain, Firing, PastFiring};
use hookwright_events::{
    Answer, Decision, EventName, FiringEvent, RunEvent, RunEventKind, Status, Verdict,
};
use serde_json::json;

use crate::support::{Host, event};

const HOOKS: &str = "
hooks:
  iteration:complete:
    - {id: first, await: true, command: 'echo $HOOKWRIGHT_ATTEMPT >> first; echo one'}
    - {id: never, await: true, when: '${ITERATION} == 2', command: 'touch never'}
    - {id: second, await: true, on_failure: retry, retries: 2, retry_delay: 0, command: 'echo $HOOKWRIGHT_ATTEMPT >> second; [ $(wc -l < second) -ge 2 ]'}
    - {id: third, pipe_output: true, when: \"${LAST_HOOK_STATUS} == 'success'\", command: 'echo $HOOKWRIGHT_ATTEMPT >> third; echo piped'}
    - {id: behind, command: 'echo $HOOKWRIGHT_ATTEMPT >> behind'}
";

fn journalled() -> (Host, Arc<InMemoryJournal>) {
    let journal = Arc::new(InMemoryJournal::default());
    let ports = Ports { journal: Arc::clone(&journal) as _, ..Ports::default() };
    (Host::with(HOOKS, ports, &[]), journal)
}

async fn fire(host: &Host, past: Option<PastFiring>) -> hookwright_engine::Fired {
    let data = json!({ "iteration": 1, "session": "s" });
    let firing = Firing {
        session: Some("s".into()),
        key: Some("k".into()),
        past: past.map(Box::new),
        ..Firing::default()
    };
    let fired = host.engine.fire(event("iteration:complete", data), firing).await;
    host.engine.settle().await;
    fired
}

/// Everything that a run without a crash journals.
async fn whole() -> Vec<RunEventKind> {
    let (host, journal) = journalled();
    fire(&host, None).await;
    journal.events().into_iter().map(|event| event.kind).collect()
}

fn lines(host: &Host, name: &str) -> Vec<String> {
    if !host.exists(name) {
        return Vec::new();
    }
    host.read(name).lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn after_an_interruption_at_any_point_no_ended_hook_runs_again_and_the_decision_is_the_same()
{
    let records = whole().await;
    let decided = records
        .iter()
        .position(|kind| matches!(kind, RunEventKind::Firing(FiringEvent::Decided { .. })));
    let RunEventKind::Firing(FiringEvent::Decided { decision }) =
        &records[decided.expect("decided")]
    else {
        unreachable!()
    };
    let expected = Decision::from_record(decision);
    assert_eq!(expected.verdict, Verdict::Proceed { rewritten_input: None });
    assert!(expected.piped_output.contains("piped"));
    for cut in 1..=records.len() {
        let past = &records[..cut];
        let (host, journal) = journalled();
        // What the hooks of the killed run had done by then.
        let of = |name: &str, ended: bool| {
            past.iter()
                .filter(|kind| match kind {
                    RunEventKind::Firing(FiringEvent::HookStarting { hook, .. }) => {
                        !ended && hook == name
                    }
                    RunEventKind::Firing(FiringEvent::HookEnded { hook, .. }) => {
                        ended && hook == name
                    }
                    _ => false,
                })
                .count()
        };
        for name in ["first", "second", "third", "behind"] {
            let attempts: String = (1..=of(name, false)).map(|n| format!("{n}\n")).collect();
            if !attempts.is_empty() {
                host.write(name, &attempts);
            }
        }
        let fired = fire(&host, Some(PastFiring::new(1, past.to_vec()))).await;
        assert_eq!(fired.decision, expected, "{cut}");
        assert!(!host.exists("never"));
        for (name, needed) in [("first", 1), ("second", 2), ("third", 1), ("behind", 1)] {
            let (started, ended) = (of(name, false), of(name, true));
            let was_cut_off = started - ended;
            let runs = lines(&host, name);
            let numbers: Vec<String> = (1..=runs.len()).map(|n| n.to_string()).collect();
            assert_eq!(runs, numbers, "cut at {cut}: {name} has an attempt number twice");
            // A second attempt of `second` succeeds, even if the first was interrupted.
            let most = needed + was_cut_off;
            assert!(
                runs.len() <= most && runs.len() >= needed.max(started),
                "{cut} {name} {runs:?}"
            );
        }
        // Together with the records from before, the journal is complete and has no duplicates.
        let added: Vec<RunEventKind> = journal.events().into_iter().map(|e| e.kind).collect();
        let all: Vec<&RunEventKind> = past.iter().chain(&added).collect();
        let count = |is: &dyn Fn(&RunEventKind) -> bool| all.iter().filter(|k| is(k)).count();
        assert_eq!(
            count(&|k| matches!(k, RunEventKind::Firing(FiringEvent::Fired { .. }))),
            1,
            "{cut}"
        );
        assert_eq!(
            count(&|k| matches!(k, RunEventKind::Firing(FiringEvent::Decided { .. }))),
            1,
            "{cut}"
        );
        for name in ["first", "second", "third", "behind"] {
            let reported = count(
                &|k| matches!(k, RunEventKind::Firing(FiringEvent::HookReported { report }) if report.id == name && report.status == Status::Success),
            );
            assert_eq!(reported, 1, "{cut} {name}");
        }
        let skipped =
            count(&|k| matches!(k, RunEventKind::Firing(FiringEvent::HookSkipped { .. })));
        assert_eq!(skipped, 1, "{cut}");
    }
}

#[tokio::test]
async fn observers_learn_of_resumed_firings_and_the_journal_gets_no_duplicates() {
    let records = whole().await;
    let starting = records
        .iter()
        .position(|kind| matches!(kind, RunEventKind::Firing(FiringEvent::HookStarting { .. })))
        .expect("it started");
    let (host, journal) = journalled();
    fire(&host, Some(PastFiring::new(1, records[..=starting].to_vec()))).await;
    let seen = host.seen();
    let name = EventName::resolve("iteration:complete").expect("known");
    assert_eq!((seen[0].firing, seen[0].session.as_deref()), (1, Some("s")));
    assert_eq!(
        seen[0].kind,
        RunEventKind::Firing(FiringEvent::TakenUp { event: name, subject: None })
    );
    let is_kept = |event: &RunEvent| event.kind != seen[0].kind;
    assert!(journal.events().iter().all(is_kept) && seen[1..].iter().all(is_kept));
}

#[tokio::test]
async fn a_decided_firing_does_not_run_hooks_added_later() {
    let records = whole().await;
    let journal = Arc::new(InMemoryJournal::default());
    let ports = Ports { journal: Arc::clone(&journal) as _, ..Ports::default() };
    let more = format!("{HOOKS}    - {{id: new, await: true, command: 'touch new'}}\n");
    let host = Host::with(&more, ports, &[]);
    fire(&host, Some(PastFiring::new(1, records))).await;
    assert!(!host.exists("new") && !host.exists("first") && !host.exists("behind"));
    assert_eq!(journal.events(), []);
}

#[tokio::test]
async fn a_hook_that_is_another_one_now_runs_although_its_name_has_run() {
    let records = whole().await;
    let first_ended = records
        .iter()
        .position(|kind| matches!(kind, RunEventKind::Firing(FiringEvent::HookEnded { .. })))
        .expect("it ended");
    let (ports, changed) = (Ports::default(), HOOKS.replace("echo one", "echo other"));
    let host = Host::with(&changed, ports, &[]);
    fire(&host, Some(PastFiring::new(1, records[..=first_ended].to_vec()))).await;
    assert!(host.exists("first"));
}

#[tokio::test]
async fn late_answers_are_delivered_only_by_the_hosts_next_firing() {
    let records = whole().await;
    let memory = Arc::new(InMemoryMemory::default());
    let ports = Ports { memory: Arc::clone(&memory) as _, ..Ports::default() };
    let host = Host::with(HOOKS, ports, &[]);
    let answer = Answer { additional_context: vec!["late".into()], ..Answer::default() };
    memory.keep("s", Keepsake::LateAnswer { answer: Box::new(answer) }).await;
    let taken_up = fire(&host, Some(PastFiring::new(1, records))).await;
    assert_eq!(taken_up.decision.additional_context, Vec::<String>::new());
    let name = EventName::resolve("iteration:complete").expect("known");
    let chain = Chain::default().with(&name, "commit", Path::new("hookwright.yaml"));
    let message = || event("session:message", json!({ "session": "s" }));
    let nested = Firing { chain, ..Firing::default() };
    let by_an_action = host.engine.fire(message(), nested).await;
    assert_eq!(by_an_action.decision.additional_context, Vec::<String>::new());
    let by_the_host = host.engine.fire(message(), Firing::default()).await;
    assert_eq!(by_the_host.decision.additional_context, ["late"]);
}

/// A journal from which memory is rebuilt after a crash.
#[derive(Default)]
struct WholeJournal(InMemoryJournal);

impl Journal for WholeJournal {
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
        self.0.record(event)
    }

    fn keeps_memory(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_decided_firing_that_is_resumed_remembers_nothing_a_second_time() {
    let hooks = r#"
hooks:
  iteration:complete:
    - {id: later, await: true, command: "echo '{\"async\": true}'; echo '{\"additionalContext\": \"late\"}'"}
    - {id: behind, command: 'echo $HOOKWRIGHT_ATTEMPT >> behind'}
"#;
    let host_with = |journal: &Arc<WholeJournal>| {
        let ports = Ports { journal: Arc::clone(journal) as _, ..Ports::default() };
        Host::with(hooks, ports, &[])
    };
    let journal = Arc::new(WholeJournal::default());
    fire(&host_with(&journal), None).await;
    let is_end_of_behind = |kind: &RunEventKind| match kind {
        RunEventKind::Firing(FiringEvent::HookEnded { hook, .. }) => hook == "behind",
        RunEventKind::Firing(FiringEvent::HookReported { report }) => report.id == "behind",
        _ => false,
    };
    let records = journal.0.events().into_iter().map(|event| event.kind);
    let records: Vec<RunEventKind> = records.filter(|kind| !is_end_of_behind(kind)).collect();
    let remembered =
        |kind: &RunEventKind| matches!(kind, RunEventKind::Firing(FiringEvent::Remembered { .. }));
    assert!(records.iter().any(remembered), "{records:?}");
    // The agent was told in the meantime, so memory has nothing for it.
    let again = Arc::new(WholeJournal::default());
    let host = host_with(&again);
    fire(&host, Some(PastFiring::new(1, records))).await;
    assert_eq!(lines(&host, "behind"), ["2"]);
    let message = event("session:message", json!({ "session": "s" }));
    let next = host.engine.fire(message, Firing::default()).await;
    assert_eq!(next.decision.additional_context, Vec::<String>::new());
    assert!(!again.0.events().iter().any(|event| remembered(&event.kind)));
}
