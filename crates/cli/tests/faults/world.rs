//! [`World`]: a project with a pipeline of several stages and hooks of every kind. All of them log
//! what they really do, and the journal is compared with that log.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use hookwright_events::RunEvent;
use hookwright_store::NewTask;

use super::ground::{Ground, Line};
use super::person::Person;

/// The session's name.
pub(crate) const SESSION: &str = "campaign";

/// Iterations of all stages before the first `session:stop`, which is blocked once. The last of
/// them is the final delivery, since tests fail after the one before it.
const ITERATIONS: u32 = 13;

/// Iterations of all stages, including the one after the blocked stop.
pub(crate) const ITERATIONS_IN_ALL: usize = ITERATIONS as usize + 1;

/// The work items of the stage `tasks`.
const TASKS: [&str; 3] = ["first", "second", "third"];

/// The project, and a person.
pub(crate) struct World {
    ground: Ground,
    /// Gets a question after every stage.
    pub(crate) person: Person,
}

impl World {
    /// A project in which nothing has happened yet.
    pub(crate) fn new() -> Self {
        let world = Self { ground: Ground::new(&[]), person: Person::new() };
        fs::create_dir_all(world.prompts()).expect("made");
        for (name, text) in FILES {
            let text = text.replace("@ITERATIONS@", &ITERATIONS.to_string());
            world.ground.write(name, &text.replace("@PERSON@", &world.person.url()));
        }
        for task in TASKS {
            world.ground.tasks().add(&NewTask::new(task), 0).expect("kept");
        }
        world.ground.git(&["init", "--quiet", "--initial-branch", "main"]);
        world.ground.git(&["config", "user.name", "Campaign"]);
        world.ground.git(&["config", "user.email", "campaign@example.org"]);
        world.ground.git(&["add", "."]);
        world.ground.git(&["commit", "--quiet", "--message", "begin"]);
        world
    }

    fn prompts(&self) -> PathBuf {
        self.ground.outside().join("prompts")
    }

    /// The file with the process's standard output.
    pub(crate) fn printed(&self) -> PathBuf {
        self.ground.printed(SESSION)
    }

    /// The number of points that the last process passed, by name.
    pub(crate) fn points(&self) -> BTreeMap<String, u64> {
        self.ground.passed()
    }

    /// The session's folder.
    pub(crate) fn session_folder(&self) -> PathBuf {
        self.ground.project().join(".hookwright/sessions").join(SESSION)
    }

    /// The binary in this world: `run` while there is no session, `resume` afterwards. `number`
    /// distinguishes the runners of one session for their children.
    pub(crate) fn command(&self, binary: &Path, number: usize) -> Command {
        let mut command = self.ground.command(binary, SESSION, number);
        match self.journal().is_empty() {
            true => command.args(["run", "pipeline.yaml", "--session", SESSION, "--json"]),
            false => command.args(["resume", SESSION, "--json"]),
        };
        command
    }

    /// The standard error of the last process.
    pub(crate) fn complaints(&self) -> String {
        self.ground.complaints(SESSION)
    }

    /// The session's journal, oldest entry first.
    pub(crate) fn journal(&self) -> Vec<RunEvent> {
        self.ground.journal(SESSION)
    }

    /// The journals of the session and of its children.
    pub(crate) fn journals(&self) -> BTreeMap<String, Vec<RunEvent>> {
        self.ground.journals()
    }

    /// The states of issues and tasks, by name.
    pub(crate) fn work(&self) -> BTreeMap<String, String> {
        self.ground.work()
    }

    /// What really happened, oldest first.
    pub(crate) fn log(&self) -> Vec<Line> {
        self.ground.log()
    }

    /// The commits after the first one.
    pub(crate) fn commits(&self) -> Vec<String> {
        let listed = self.ground.git(&["rev-list", "--reverse", "HEAD"]);
        listed.lines().skip(1).map(str::to_owned).collect()
    }

    /// The agent's prompt in the turn with this marker, if it was kept.
    pub(crate) fn prompt(&self, run_id: &str) -> String {
        fs::read_to_string(self.prompts().join(run_id)).unwrap_or_default()
    }
}

const FILES: &[(&str, &str)] = &[
    ("hookwright.yaml", "callback: {port: 0}\n"),
    (
        "pipeline.yaml",
        r#"
name: campaign
stages:
  - {name: plan, loop: ./plan.yaml}
  - {name: work, loop: ./work.yaml, inputs: {from: plan, select: latest}}
  - {name: issues, loop: ./issues.yaml}
  - {name: tasks, loop: ./tasks.yaml}
  - {name: judge, loop: ./judge.yaml}
hooks:
  session:start:
    - id: greet
      pipe_output: true
      command: . @OUTSIDE@/begin hook greet session:start; echo "PIPED<greet>"; finish
    - id: greet-behind
      command: . @OUTSIDE@/begin hook greet-behind session:start; sleep 0.05; finish
  stage:start:
    - id: stage-begins
      await: true
      command: . @OUTSIDE@/begin hook stage-begins stage:start; finish
  stage:complete:
    - id: gate
      url: '@PERSON@'
      await: true
      retry_delay: 10ms
      body: {stage: "${STAGE}", link: "${CALLBACK_URL}", asked: "${TIMESTAMP}"}
    - id: gated
      await: true
      when: "${HOOK_RESPONSE.action} == 'approve'"
      command: . @OUTSIDE@/begin hook gated stage:complete; finish
    - id: review
      type: spawn
      pipeline: ./review.yaml
      inputs: {of: "${STAGE}"}
      when: "${STAGE} == 'issues'"
    - id: review-behind
      type: spawn
      pipeline: ./review.yaml
      await: false
      when: "${STAGE} == 'tasks'"
    - id: reviewed
      await: true
      when: "${STAGE} == 'issues'"
      command: |
        . @OUTSIDE@/begin hook reviewed stage:complete
        [ "$LAST_HOOK_STATUS" = success ] || echo "survivor|found|$about|no review: $SPAWN_OUTPUT" >> "$outside/log"
        finish
    - id: stage-over
      command: . @OUTSIDE@/begin hook stage-over stage:complete; sleep 0.05; finish
  execution:pre_start:
    - id: guard
      command: |
        . @OUTSIDE@/begin hook guard execution:pre_start
        finish
        [ "$ISSUE_NUMBER" != 2 ] || { echo "not this one" >&2; exit 2; }
  execution:post_end:
    - id: item-over
      await: true
      command: . @OUTSIDE@/begin hook item-over execution:post_end; finish
  task:complete:
    - id: checked
      pipe_output: true
      command: . @OUTSIDE@/begin hook checked task:complete; echo "PIPED<task/$TASK_ID>"; finish
  iteration:start:
    - id: before
      pipe_output: true
      command: . @OUTSIDE@/begin hook before iteration:start; echo "PIPED<before/$STAGE/$ITERATION>"; finish
  iteration:complete:
    - id: tests
      pipe_output: true
      command: . @OUTSIDE@/begin hook tests iteration:complete; echo "PIPED<tests/$STAGE/$ITERATION>"; finish; [ "$STAGE/$ITERATION" != judge/2 ]
    - id: notify
      command: . @OUTSIDE@/begin hook notify iteration:complete; sleep 0.03; finish
    - id: flaky
      await: true
      on_failure: retry
      retries: 3
      retry_delay: 10ms
      command: . @OUTSIDE@/begin hook flaky iteration:complete; finish; [ "$HOOKWRIGHT_ATTEMPT" -gt 1 ]
    - id: flaky-behind
      await: false
      on_failure: retry
      retries: 3
      retry_delay: 10ms
      command: . @OUTSIDE@/begin hook flaky-behind iteration:complete; finish; [ "$HOOKWRIGHT_ATTEMPT" -gt 1 ]
    - id: first-only
      once: true
      await: true
      command: . @OUTSIDE@/begin hook first-only iteration:complete; finish
    - id: even
      await: true
      when: "${ITERATION} % 2 == 0"
      command: . @OUTSIDE@/begin hook even iteration:complete; finish
    - id: later
      await: true
      command: |
        . @OUTSIDE@/begin hook later iteration:complete
        echo '{"async": true}'
        sleep 0.02
        echo "{\"additionalContext\": \"LATE<$STAGE/$ITERATION>\"}"
        finish
    - id: commit
      type: git-commit
      await: true
      message: ${STAGE} ${ITERATION}
  git:post_commit:
    - id: committed
      await: true
      command: . @OUTSIDE@/begin hook committed git:post_commit; finish
    - id: committed-behind
      await: false
      command: . @OUTSIDE@/begin hook committed-behind git:post_commit; sleep 0.02; finish
  iteration:error:
    - id: fix
      pipe_output: true
      command: . @OUTSIDE@/begin hook fix iteration:error; echo "PIPED<fix/$STAGE/$ITERATION>"; finish
  session:stop:
    - id: stop-guard
      command: |
        . @OUTSIDE@/begin hook stop-guard session:stop
        finish
        [ "$ITERATION" = @ITERATIONS@ ] || exit 0
        echo "PIPED<stop>" >&2
        exit 2
    - id: stop-behind
      await: false
      command: . @OUTSIDE@/begin hook stop-behind session:stop; sleep 0.02; finish
  session:end:
    - id: goodbye
      command: . @OUTSIDE@/begin hook goodbye session:end; sleep 0.02; finish
    - id: goodbye-awaited
      await: true
      command: . @OUTSIDE@/begin hook goodbye-awaited session:end; finish
"#,
    ),
    (
        "plan.yaml",
        r"
name: plan
agent: {type: scripted, script: plan.turns.yaml}
termination: {type: fixed, iterations: 2}
prompt: Plan.
",
    ),
    (
        "plan.turns.yaml",
        r#"
turns:
  - - run: . @OUTSIDE@/begin turn plan agent; echo "prompt" > "$outside/prompts/$run"
    - if_prompt: {contains: "PIPED<greet>", then: [{run: 'echo "PIPED<greet>" >> "@OUTSIDE@/prompts/${HOOKWRIGHT_RUN##*[!A-Za-z0-9-]}"'}]}
    - if_prompt: {contains: "PIPED<before/plan/1>", then: [{run: 'echo "PIPED<before/plan/1>" >> "@OUTSIDE@/prompts/${HOOKWRIGHT_RUN##*[!A-Za-z0-9-]}"'}]}
    - if_prompt: {contains: "PIPED<before/plan/2>", then: [{run: 'echo "PIPED<before/plan/2>" >> "@OUTSIDE@/prompts/${HOOKWRIGHT_RUN##*[!A-Za-z0-9-]}"'}]}
    - if_prompt: {contains: "PIPED<tests/plan/1>", then: [{run: 'echo "PIPED<tests/plan/1>" >> "@OUTSIDE@/prompts/${HOOKWRIGHT_RUN##*[!A-Za-z0-9-]}"'}]}
    - if_prompt: {contains: "LATE<plan/1>", then: [{run: 'echo "LATE<plan/1>" >> "@OUTSIDE@/prompts/${HOOKWRIGHT_RUN##*[!A-Za-z0-9-]}"'}]}
    - write: {"plan-${ITERATION}.md": "a plan\n"}
    - say: planned WHOLE
    - status: {decision: continue, summary: planned}
then: repeat
"#,
    ),
    (
        "work.yaml",
        r"
name: work
agent: {type: command, command: bash ./agent}
termination: {type: fixed, iterations: 2}
prompt: Work. ${INPUTS.plan}
",
    ),
    (
        "issues.yaml",
        r"
name: issues
agent: {type: command, command: bash ./agent}
termination: {type: queue, source: {issues: issues}}
prompt: Fix ${ISSUE_FILE}.
",
    ),
    ("issues/1-first.md", "# The first\n"),
    ("issues/2-second.md", "# The second\n"),
    ("issues/3-third.md", "# The third\n"),
    (
        "tasks.yaml",
        r"
name: tasks
agent: {type: command, command: bash ./agent}
termination: {type: queue}
prompt: Do ${TASK_CONTENT}.
",
    ),
    (
        "review.yaml",
        r#"
name: review
agent: {type: command, command: KIND=child bash ./agent}
termination: {type: fixed, iterations: 2}
prompt: Review.
hooks:
  iteration:complete:
    - id: looked
      await: true
      command: . @OUTSIDE@/begin hook looked iteration:complete; finish
"#,
    ),
    (
        "judge.yaml",
        r"
name: judge
agent: {type: command, command: bash ./agent}
termination: {type: judgment, consensus: 1, min_iterations: 2}
max_iterations: 9
prompt: Judge.
",
    ),
    (
        "agent",
        r#"
. @OUTSIDE@/begin "${KIND:-turn}" "$STAGE" agent
cat > "$outside/prompts/$run"
sleep 0.02
echo "$STAGE $ITERATION" > "$STAGE-$ITERATION.txt"
[ "${TASK_ID:-}" != TAS-1 ] || "$HOOKWRIGHT_BIN" task done TAS-1 > /dev/null
if [ "$STAGE" = judge ] && [ "$ITERATION" -ge 2 ]; then decision=stop; else decision=continue; fi
usage='{"input_tokens": 3, "cost_usd": 0.5}'
echo "{\"decision\": \"$decision\", \"summary\": \"done\", \"usage\": $usage}" > "$STATUS.part"
mv "$STATUS.part" "$STATUS"
finish
echo "$STAGE $ITERATION WHOLE"
case "$STAGE/$ITERATION" in work/1|issues/2) exit 1;; esac
"#,
    ),
];
