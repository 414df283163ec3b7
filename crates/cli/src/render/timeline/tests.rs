//! Whole timelines, at the widths of ordinary terminals.

use hookwright_events::{ItemState, PauseCause, TurnResult, Usage, WorkItem, WorkSource};
use hookwright_pipeline::record::SessionRecord;
use hookwright_pipeline::timeline::{IterationState, QuestionState};

use super::*;

fn at(time: &str) -> String {
    format!("2026-01-02T{time}Z")
}

fn hook(event: &str, hook: &str, status: &'static str, took: f64, reason: &str) -> TimelineEvent {
    TimelineEvent::Hook(HookRun {
        event: event.to_owned(),
        hook: hook.to_owned(),
        status,
        reason: Some(reason.to_owned()),
        attempts: 1,
        duration_ms: Some(took),
        ..HookRun::default()
    })
}

fn iteration(number: u32, result: TurnResult, deeds: Vec<TimelineEvent>) -> Part {
    Part::Milestone(Milestone::Iteration(Box::new(Iteration {
        is_final: false,
        at: at("03:04:05"),
        stage: 1,
        iteration: number,
        attempt: 1,
        state: IterationState::Ended,
        result: Some(result),
        duration_ms: Some(62_000.0),
        deeds,
        deeds_left_out: 0,
        trouble_left_out: false,
        agent: None,
        failed_hooks_left_out: 0,
    })))
}

#[test]
fn of_an_iteration_with_very_many_hooks_the_middle_is_counted() {
    let deeds = || {
        let hooks = (0..DEEDS_KEPT_AT_EACH_END + 2)
            .map(|number| hook("tool:post_execute", &format!("hook-{number}"), "success", 1.0, ""));
        let Part::Milestone(Milestone::Iteration(mut whole)) =
            iteration(1, TurnResult::default(), hooks.collect())
        else {
            panic!("an iteration");
        };
        whole.deeds_left_out = 1_000;
        Part::Milestone(Milestone::Iteration(whole))
    };
    let short = drawn(vec![stage_began(), deeds()], None);
    let more = DEEDS_KEPT_AT_EACH_END - DEEDS_SHOWN_MAX + 1_000 + 2;
    assert!(short.contains(&format!("… {more} more (`--all`)\n")), "{short}");
    let all = TimelineScreen::new(true, None).part(deeds());
    let middle: Vec<&str> = all.lines().skip(DEEDS_KEPT_AT_EACH_END).take(4).collect();
    assert!(middle[1].contains("… 1000 in the middle (`hookwright sessions log`) …"), "{middle:?}");
    assert!(middle[0].contains("hook-2499 ") && middle[2].contains("hook-2500 "), "{middle:?}");
}

fn work_item(number: u32) -> WorkItem {
    WorkItem {
        source: WorkSource::Issues,
        key: number.to_string(),
        title: "The parser takes a colon for the end of a name".into(),
        content: None,
        file: None,
        plan_file: None,
    }
}

fn item_began(number: u32) -> Part {
    let (item, goes_on) = (work_item(number), false);
    let at = at("03:04:05");
    Part::Milestone(Milestone::ItemBegan { at, stage: 1, execution: number, item, goes_on })
}

fn item_ended(number: u32, state: ItemState, reason: Option<&str>) -> Part {
    Part::Milestone(Milestone::ItemEnded {
        stage: 1,
        execution: number,
        key: number.to_string(),
        state: Some(state),
        reason: reason.map(str::to_owned),
        iterations: Some(1),
        duration_ms: Some(63_500.0),
        usage: None,
    })
}

fn stage_began() -> Part {
    let (stage, iterations_max) = ("work".to_owned(), Some(25));
    Part::Milestone(Milestone::StageBegan { at: at("03:04:05"), stage, index: 1, iterations_max })
}

fn drawn(parts: Vec<Part>, columns: Option<usize>) -> String {
    let mut screen = TimelineScreen::new(false, columns);
    let text: String = parts.into_iter().map(|part| screen.part(part)).collect();
    let record = SessionRecord { name: "one".into(), ..SessionRecord::default() };
    let status = hookwright_events::SessionStatus::Completed;
    text + &screen.finish(&KnownSession { record, version: 1, status, holder: None })
}

/// A session with one of everything.
fn story() -> Vec<Part> {
    let usage = Usage { input_tokens: 48_000, output_tokens: 1_200, cost_usd: Some(0.31) };
    let result = TurnResult {
        decision: "continue".into(),
        summary: "The lexer now asks the table of names before it ends one, with a test for it"
            .into(),
        changed_files: vec!["a".into(), "b".into()],
        agent: Some("codex".into()),
        usage: Some(usage),
        ..TurnResult::default()
    };
    let question = TimelineEvent::Question {
        event: "stage:complete".into(),
        hook: "gate".into(),
        wait: "w1".into(),
        question: "Deploy version 1.4 to production?".into(),
        since: at("03:05:00"),
        state: QuestionState::Rejected,
        action: Some("reject".into()),
        message: Some("not before Monday".into()),
        by: Some("kim in the terminal".into()),
        duration_ms: Some(754_000.0),
    };
    let (reason, until) = ("the model was asked too often".to_owned(), None);
    let pause = TimelineEvent::Pause {
        at: at("03:04:10"),
        cause: PauseCause::RateLimit,
        reason,
        until,
        duration_ms: Some(40_000.0),
    };
    let changed = TimelineEvent::AgentChanged {
        from: "claude".into(),
        to: "codex".into(),
        reason: "overloaded".into(),
    };
    let deeds = vec![
        pause,
        changed,
        hook(
            "iteration:complete",
            "tests",
            "failed",
            4_310.0,
            "exit code 1: 2 tests failed in parser",
        ),
        hook("iteration:complete", "hookwright/iteration:complete#1", "success", 12.0, ""),
    ];
    let child = TimelineEvent::Child {
        event: "execution:post_end".into(),
        hook: "review".into(),
        session: "one-review-1".into(),
        pipeline: "review".into(),
    };
    vec![
        stage_began(),
        item_began(1),
        iteration(1, result, deeds),
        Part::TimelineEvent(child),
        item_ended(1, ItemState::Failed, Some("a hook at execution:pre_end blocked its end")),
        Part::Milestone(Milestone::StageEnded {
            stage: "work".into(),
            index: 1,
            reason: Some("completed".into()),
            iterations: Some(1),
            duration_ms: Some(64_000.0),
            usage: Some(usage),
        }),
        Part::TimelineEvent(question),
        Part::Milestone(Milestone::SessionEnded {
            at: at("03:20:00"),
            status: hookwright_events::SessionStatus::Completed,
            reason: "completed".into(),
            usage: Some(usage),
        }),
    ]
}

#[test]
fn everything_has_its_place_at_120_columns() {
    assert_eq!(
        drawn(story(), Some(120)),
        "\
├─ stage 1 work: at most 25 iterations
│  ├─ issue 1: The parser takes a colon for the end of a name
│  │  ├─ iteration 1: continue, 1m02s by codex, 2 files changed, 1 hook failed, 49.2k tokens, $0.31: The lexer now asks…
│  │  │     paused (rate limit) for 40.00s: the model was asked too often
│  │  │     codex takes over from claude: overloaded
│  │  │     iteration:complete    tests                         failed       4.31s  exit code 1: 2 tests failed in pars…
│  │  │     iteration:complete    hookwright/iteration:complete#1  success       12ms
│  │  │  execution:post_end    review as session one-review-1
│  │  └─ failed after 1 iteration, 1m04s: a hook at execution:pre_end blocked its end
│  └─ completed after 1 iteration, 1m04s, 49.2k tokens, $0.31
│  asked by gate: rejected by kim in the terminal after 12m34s: Deploy version 1.4 to production?
│    with the message: not before Monday
└─ completed at 2026-01-02 03:20:00, 49.2k tokens, $0.31
"
    );
}

#[test]
fn nothing_is_wider_than_80_columns() {
    assert_eq!(
        drawn(story(), Some(80)),
        "\
├─ stage 1 work: at most 25 iterations
│  ├─ issue 1: The parser takes a colon for the end of a name
│  │  ├─ iteration 1: continue, 1m02s by codex, 2 files changed, 1 hook failed
│  │  │       49.2k tokens, $0.31: The lexer now asks the table of names before…
│  │  │     paused (rate limit) for 40.00s: the model was asked too often
│  │  │     codex takes over from claude: overloaded
│  │  │     iteration:complete    tests                       failed       4.31s
│  │  │       exit code 1: 2 tests failed in parser
│  │  │     iteration:complete    hookwright/iteration:comp…  success       12ms
│  │  │  execution:post_end    review as session one-review-1
│  │  └─ failed after 1 iteration, 1m04s: a hook at execution:pre_end blocked i…
│  └─ completed after 1 iteration, 1m04s, 49.2k tokens, $0.31
│  asked by gate: rejected by kim in the terminal after 12m34s
│    Deploy version 1.4 to production?
│    with the message: not before Monday
└─ completed at 2026-01-02 03:20:00, 49.2k tokens, $0.31
"
    );
}

#[test]
fn of_many_pieces_of_work_the_first_the_last_and_the_failed_ones_are_drawn() {
    let mut parts = vec![stage_began()];
    for number in 1..=20 {
        let state = if number == 9 { ItemState::Blocked } else { ItemState::Done };
        parts.extend([item_began(number), item_ended(number, state, None)]);
    }
    let drawn = drawn(parts, None);
    let lines: Vec<&str> = drawn
        .lines()
        .filter(|line| !line.contains("└─ done"))
        .map(|line| line.trim_start_matches(['│', '├', '└', '─', ' ']))
        .map(|line| line.split(':').next().unwrap_or_default())
        .collect();
    assert_eq!(
        lines,
        [
            "stage 1 work",
            "issue 1",
            "issue 2",
            "issue 3",
            "… 5 pieces of work not shown …",
            "issue 9",
            "blocked after 1 iteration, 1m04s",
            "… 6 pieces of work not shown …",
            "issue 16",
            "issue 17",
            "issue 18",
            "issue 19",
            "issue 20",
            "completed",
            "not shown",
        ]
    );
}
