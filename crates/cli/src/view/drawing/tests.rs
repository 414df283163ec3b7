//! Whole views as text: from run events and keys to the terminal's content.

use hookwright_events::{
    EventName, FiringEvent, RunEvent, RunEventKind, SessionEvent, TurnEvent, TurnName, TurnResult,
    Usage, WorkItem, WorkSource,
};

use super::*;
use crate::view::keys::Keys;

/// A session with one stage after another; its clock is at noon.
struct Scene {
    model: ViewModel,
    dialog: Dialog,
}

const NOON: i64 = 1_767_355_200_000;

impl Scene {
    fn new() -> Self {
        let stages = [("plan", "claude"), ("work", "codex")];
        let stages = stages.map(|(stage, agent)| (stage.to_owned(), agent.to_owned()));
        let model = ViewModel::new("one", "full-workflow", stages.to_vec());
        Self { model, dialog: Dialog::default() }
    }

    /// Adds an event this many seconds after noon.
    fn at(mut self, second: u32, firing: u64, kind: RunEventKind) -> Self {
        let at = format!("2026-01-02T12:{:02}:{:02}Z", second / 60, second % 60);
        let session = Some("one".to_owned());
        self.model.see(&RunEvent { version: 1, firing, at, session, kind });
        self
    }

    fn begun(self) -> Self {
        let (stage, index, iterations_max) = ("work".to_owned(), 2, 25);
        self.at(
            0,
            0,
            RunEventKind::Session(SessionEvent::StageStarted { stage, index, iterations_max }),
        )
        .at(1, 0, starting(3))
        .at(
            1,
            0,
            RunEventKind::Turn(TurnEvent::AgentRunning { pid: 4711, start_time: None }),
        )
    }

    fn asked(self, wait: &str, question: &str) -> Self {
        let hook = format!("gate-{wait}");
        self.at(
            2,
            7,
            RunEventKind::Firing(FiringEvent::HookWaiting {
                hook,
                wait: wait.to_owned(),
                question: question.to_owned(),
                since: "2026-01-02T12:00:02Z".into(),
                until: "2026-01-02T12:30:00Z".into(),
                url: Some(format!("http://127.0.0.1:8765/callback/{wait}.0123456789abcdef")),
            }),
        )
    }

    fn typed(mut self, keys: &str) -> Self {
        for key in Keys::default().of(keys.as_bytes()) {
            self.dialog.press(key, &self.model);
        }
        self
    }

    /// The view 65 seconds after noon.
    fn drawn(&self, columns: usize, rows: usize) -> String {
        let now_ms = NOON + 65_000;
        let around = Surroundings { columns, rows, now_ms, has_keys: true };
        let lines = lines(&self.model, &self.dialog, around);
        assert!(lines.len() < rows, "something has to be seen above it");
        for line in &lines {
            assert!(super::columns(&line.text) < columns, "too wide: {}", line.text);
        }
        lines.iter().map(|line| format!("{}\n", line.text)).collect()
    }
}

fn starting(iteration: u32) -> RunEventKind {
    let turn = TurnName { stage: 2, iteration };
    RunEventKind::Turn(TurnEvent::TurnStarting {
        turn,
        attempt: 1,
        run_id: "r".into(),
        agent: None,
    })
}

fn says(text: &str) -> RunEventKind {
    RunEventKind::Turn(TurnEvent::AgentOutput { stream: "stdout".into(), text: text.to_owned() })
}

fn fired(event: &str) -> RunEventKind {
    let event = EventName::resolve(event).expect("it is in the table");
    RunEventKind::Firing(FiringEvent::Fired {
        event,
        subject: None,
        key: None,
        data: None,
        late_answers: Vec::new(),
    })
}

fn hook(id: &str, awaited: bool) -> RunEventKind {
    let hook = id.to_owned();
    RunEventKind::Firing(FiringEvent::HookStarting {
        hook,
        attempt: 1,
        awaited,
        run_id: None,
        digest: None,
    })
}

#[test]
fn the_progress_the_agent_and_the_last_lines_are_shown() {
    let scene = Scene::new().begun().at(2, 0, says("one\ntwo\nthree\nfour\nfive\nsix\n"));
    assert_eq!(
        scene.drawn(60, 24),
        "\
── one: full-workflow ──────────────────────────── 1m05s ──
stage 2/2 work, iteration 3 of at most 25
▸ agent codex works, 1m04s, process 4711
  │ two
  │ three
  │ four
  │ five
  │ six
p pause  s stop  o more output  i prompt  ? help
"
    );
    let more = scene.typed("o");
    assert_eq!(
        more.drawn(60, 24),
        "\
── one: full-workflow ──────────────────────────── 1m05s ──
stage 2/2 work, iteration 3 of at most 25
▸ agent codex works, 1m04s, process 4711
  │ one
  │ two
  │ three
  │ four
  │ five
  │ six
p pause  s stop  o less output  i prompt  ? help
"
    );
}

#[test]
fn the_view_is_drawn_even_before_the_first_event() {
    assert_eq!(
        Scene::new().drawn(60, 24),
        "\
── one: full-workflow ─────────────────────────────── 0s ──
before the first stage
p pause  s stop  o more output  i prompt  ? help
"
    );
}

#[test]
fn every_running_hook_has_its_time_and_leaves_when_it_ends() {
    let child = RunEventKind::Firing(FiringEvent::HookSpawned {
        hook: "review".into(),
        session: "one-review".into(),
        pipeline: "review".into(),
    });
    let skipped = RunEventKind::Firing(FiringEvent::HookSkipped {
        hook: "other".into(),
        reason: "when".into(),
        ended_by: None,
    });
    let scene = Scene::new()
        .begun()
        .at(30, 7, fired("iteration:complete"))
        .at(30, 7, hook("tests", true))
        .at(61, 7, hook("review", false))
        .at(62, 7, child)
        .at(63, 7, skipped);
    assert_eq!(
        scene.drawn(70, 24),
        "\
── one: full-workflow ────────────────────────────────────── 1m05s ──
stage 2/2 work, iteration 3 of at most 25
▸ agent codex works, 1m04s, process 4711
▸ hook tests at iteration:complete, 35s
▸ hook review at iteration:complete, 4s, in the background, as sessi…
p pause  s stop  o more output  i prompt  ? help
"
    );
}

#[test]
fn of_many_hooks_the_rest_is_counted() {
    let mut scene = Scene::new().begun().at(5, 7, fired("iteration:complete"));
    for number in 0..8 {
        scene = scene.at(5, 7, hook(&format!("h{number}"), true));
    }
    let drawn = scene.drawn(60, 24);
    assert!(
        drawn.contains("▸ hook h4 at iteration:complete, 1m00s\n  and 3 hooks more\n"),
        "{drawn}"
    );
}

#[test]
fn a_question_has_its_address_whole_and_its_keys() {
    let scene = Scene::new().begun().asked("w1", "Deploy version 1.4?\nReally?");
    assert_eq!(
        scene.drawn(70, 24),
        "\
── one: full-workflow ────────────────────────────────────── 1m05s ──
stage 2/2 work, iteration 3 of at most 25
▸ agent codex works, 1m04s, process 4711
? gate-w1 asks (28m55s left): Deploy version 1.4?…
  http://127.0.0.1:8765/callback/w1.0123456789abcdef
a approve  r reject  p pause  s stop  o more output  i prompt  ? help
"
    );
    assert_eq!(
        scene.drawn(40, 24),
        "\
── one: full-workflow ──────── 1m05s ──
stage 2/2 work, iteration 3 of at most…
▸ agent codex works, 1m04s, process 47…
? gate-w1 asks (28m55s left):
  Deploy version 1.4?…
  http://127.0.0.1:8765/callback/w1.012
3456789abcdef
a r p s o i ?
"
    );
}

#[test]
fn the_chosen_one_of_two_questions_is_marked_and_asked_about() {
    let scene = Scene::new().begun().asked("w1", "First?").asked("w2", "Second?").typed("\ta");
    assert_eq!(
        scene.drawn(90, 24).lines().skip(3).collect::<Vec<_>>(),
        [
            "? gate-w1 asks (28m55s left): First?",
            "  http://127.0.0.1:8765/callback/w1.0123456789abcdef",
            "> gate-w2 asks (28m55s left): Second?",
            "  http://127.0.0.1:8765/callback/w2.0123456789abcdef",
            "approve w2: sure? y/n",
        ]
    );
}

#[test]
fn typed_text_stays_visible_and_cannot_control_the_terminal() {
    let asked = || Scene::new().begun().asked("w1", "Deploy?");
    let foot = |scene: Scene, columns: usize| {
        scene.drawn(columns, 24).lines().last().map(str::to_owned).expect("a line")
    };
    assert_eq!(foot(asked().typed("r"), 90), "why not? (Enter continues, Esc goes back) ▏");
    assert_eq!(foot(asked().typed("rnot yet"), 40), "why not? not yet▏");
    assert_eq!(foot(asked().typed("rabcdefghijklmnopq"), 20), "why not? ijklmnopq▏");
    assert_eq!(
        foot(asked().typed("rno\u{202e}\n"), 60),
        "reject w1 with the message `no\\u{202e}`: sure? y/n"
    );
}

#[test]
fn a_pause_is_shown_with_its_reason_and_duration() {
    let pause = |until: Option<&str>, cause| {
        RunEventKind::Session(SessionEvent::Paused {
            cause,
            reason: "asked too often".into(),
            until: until.map(str::to_owned),
        })
    };
    let line = |scene: Scene| scene.drawn(90, 24).lines().nth(2).map(str::to_owned);
    let limited = pause(Some("2026-01-02T13:05:00Z"), PauseCause::RateLimit);
    let scene = || Scene::new().at(1, 0, fired("session:start"));
    assert_eq!(
        line(scene().at(5, 0, limited.clone())).as_deref(),
        Some("‖ paused for 1m00s, continues in 1h03m: asked too often")
    );
    assert_eq!(
        line(scene().at(5, 0, pause(None, PauseCause::Person))).as_deref(),
        Some("‖ paused for 1m00s (p: continue): asked too often")
    );
    assert_eq!(
        line(scene().typed("p")).as_deref(),
        Some("will pause before the next step (p: continue)")
    );
    let over =
        scene().at(5, 0, limited).at(6, 0, RunEventKind::Session(SessionEvent::Continued {}));
    assert_eq!(line(over).as_deref(), Some("p pause  s stop  o more output  i prompt  ? help"));
}

#[test]
fn work_and_cost_are_shown_as_far_as_they_are_known() {
    let item = WorkItem {
        source: WorkSource::Issues,
        key: "3".into(),
        title: "Parser".into(),
        content: None,
        file: None,
        plan_file: None,
    };
    let usage = Some(Usage { input_tokens: 1_500, output_tokens: 0, cost_usd: Some(0.25) });
    let result = TurnResult { usage, ..TurnResult::default() };
    let turn = TurnName { stage: 2, iteration: 3 };
    let ended =
        RunEventKind::Turn(TurnEvent::TurnEnded { turn, attempt: 1, result, duration_ms: 1.0 });
    let (from, to, reason) = ("codex".into(), "gemini".into(), "down".into());
    let usage = Usage { input_tokens: 500, output_tokens: 0, cost_usd: Some(1.0) };
    let (hook, session) = ("review".into(), "one--review".into());
    let used = RunEventKind::Firing(FiringEvent::ChildUsed { hook, session, stage: 2, usage });
    let scene = Scene::new()
        .begun()
        .at(2, 0, RunEventKind::Session(SessionEvent::ItemStarted { stage: 2, execution: 1, item }))
        .at(3, 0, ended.clone())
        .at(3, 0, ended)
        .at(3, 7, used)
        .at(4, 0, starting(4))
        .at(5, 0, RunEventKind::Turn(TurnEvent::AgentChanged { from, to, reason }));
    assert_eq!(
        scene.drawn(70, 24),
        "\
── one: full-workflow ────────────────── 3.5k tokens, $1.50, 1m05s ──
stage 2/2 work, iteration 4 of at most 25, issue 3: Parser
▸ agent gemini works, 1m00s
p pause  s stop  o more output  i prompt  ? help
"
    );
}

#[test]
fn foreign_text_is_made_visible_and_cut_to_the_width() {
    let text = "\u{1b}[31mred\u{1b}[0m\ta\u{7}\u{202e}b 日本語日本語日本語\n";
    let scene = Scene::new().begun().at(2, 0, says(text));
    let drawn = scene.drawn(40, 24);
    assert_eq!(drawn.lines().nth(3), Some("  │ ␛[31mred␛[0m a␇\\u{202e}b 日本語日…"));
}

#[test]
fn a_small_terminal_keeps_what_matters_most() {
    let scene = || {
        Scene::new().begun().at(2, 7, fired("stage:complete")).at(2, 7, hook("tests", true)).at(
            3,
            0,
            says("one\ntwo\nthree\n"),
        )
    };
    assert_eq!(
        scene().drawn(20, 5),
        "\
stage 2/2 work, it…
▸ agent codex work…
p s o i ?
"
    );
    assert_eq!(
        scene().asked("w1", "Deploy?").drawn(20, 5),
        "\
▸ agent codex work…
  Deploy?
a r p s o i ?
"
    );
    assert_eq!(scene().drawn(20, 2), "p s o i ?\n");
    assert_eq!(scene().drawn(2, 3), "…\n");
}

#[test]
fn the_view_fits_every_size() {
    let scene = Scene::new()
        .begun()
        .asked("w1", "Deploy version 1.4 to production now?")
        .at(3, 0, says("a line that is longer than most of these terminals are wide\n"))
        .typed("?o");
    for columns in 2..120 {
        for rows in 2..40 {
            scene.drawn(columns, rows);
        }
    }
}

#[test]
fn without_a_keyboard_no_keys_are_offered() {
    let scene = Scene::new().begun();
    let around = Surroundings { columns: 60, rows: 24, now_ms: NOON, has_keys: false };
    let last = lines(&scene.model, &scene.dialog, around).pop().map(|line| line.text);
    assert_eq!(last.as_deref(), Some("▸ agent codex works, 0s, process 4711"));
}

#[test]
fn help_explains_the_keys_until_it_is_closed() {
    let open = Scene::new().begun().typed("?");
    assert_eq!(
        open.drawn(70, 24),
        "\
── one: full-workflow ────────────────────────────────────── 1m05s ──
stage 2/2 work, iteration 3 of at most 25
▸ agent codex works, 1m04s, process 4711
  a approve, r reject the question; Tab shows the next question
  p pause before the next step, p again continues
  s stop the session, like Ctrl-C; once more exits at once
  o more or less of the agent's output, i its prompt, ? this help
p pause  s stop  o more output  i prompt  ? help
"
    );
    assert_eq!(open.typed("?").drawn(70, 24).lines().count(), 4);
}

#[test]
fn nothing_of_another_session_is_shown() {
    let mut scene = Scene::new().begun();
    let before = scene.drawn(60, 24);
    let at = "2026-01-02T12:00:09Z".to_owned();
    let session = Some("one-review".to_owned());
    scene.model.see(&RunEvent { version: 1, firing: 1, at, session, kind: hook("other", true) });
    assert_eq!(scene.drawn(60, 24), before);
}

fn told(prompt: &str) -> RunEventKind {
    let turn = TurnName { stage: 2, iteration: 3 };
    RunEventKind::Turn(TurnEvent::AgentPrompted { turn, prompt: prompt.to_owned() })
}

#[test]
fn the_agents_prompt_is_shown_instead_of_its_output_on_request() {
    let prompt: String = (1..=30).map(|number| format!("line {number}\u{1b}[2J\n")).collect();
    let scene = Scene::new().begun().at(1, 0, told(&prompt)).at(2, 0, says("hello\n"));
    let asked = scene.typed("i");
    assert_eq!(
        asked.drawn(72, 24),
        "\
── one: full-workflow ──────────────────────────────────────── 1m05s ──
stage 2/2 work, iteration 3 of at most 25
▸ agent codex works, 1m04s, process 4711
  the agent's prompt:
  > line 1␛[2J
  > line 2␛[2J
  > line 3␛[2J
  > line 4␛[2J
  > line 5␛[2J
  > line 6␛[2J
  > line 7␛[2J
  > line 8␛[2J
  > line 9␛[2J
  > line 10␛[2J
  … 20 lines more: hookwright sessions show one --iteration 3
p pause  s stop  o more output  i output  ? help
"
    );
    let small = asked.drawn(72, 12);
    assert!(small.contains("  > line 1␛[2J\n") && small.contains(" lines more: "), "{small}");
    assert!(asked.typed("i").drawn(72, 24).contains("  │ hello\n"));
}

#[test]
fn at_the_end_it_shows_what_the_session_waits_for_and_when_a_hook_is_retried() {
    let retry = RunEventKind::Firing(FiringEvent::HookRetrying {
        hook: "notify".into(),
        attempt: 2,
        after_ms: 40_000,
        reason: "cannot connect\u{1b}[2J".into(),
    });
    let scene = Scene::new().at(0, 9, fired("session:end")).at(30, 9, hook("notify", false));
    let scene = scene.at(35, 9, retry);
    assert_eq!(
        scene.drawn(100, 24),
        "\
── one: full-workflow ──────────────────────────────────────────────────────────────────── 1m05s ──
at the end, waiting for 1 hook
▸ hook notify at session:end, 35s, in the background, attempt 2 in 10s: cannot connect␛[2J
p pause  s stop  o more output  i prompt  ? help
"
    );
    // The time of all attempts counts.
    let again = RunEventKind::Firing(FiringEvent::HookStarting {
        hook: "notify".into(),
        attempt: 2,
        awaited: false,
        run_id: None,
        digest: None,
    });
    let drawn = scene.at(60, 9, again).drawn(100, 24);
    assert!(
        drawn.contains("notify at session:end, 35s, in the background, attempt 2\n"),
        "{drawn}"
    );
}

#[test]
fn hooks_of_another_process_are_over_when_the_session_is_resumed() {
    let scene =
        Scene::new().begun().at(2, 3, fired("iteration:complete")).at(3, 3, hook("tests", true));
    assert!(scene.drawn(70, 24).contains("▸ hook tests"));
    let resumed = scene.at(
        60,
        0,
        RunEventKind::Session(SessionEvent::SessionResumed { time: 1, sources: None }),
    );
    let drawn = resumed.drawn(70, 24);
    assert!(!drawn.contains('▸'), "{drawn}");
}
