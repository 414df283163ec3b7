//! [`World`]: a project with a pipeline of three stages and hooks of every kind, all of which write
//! into one log what they really do. The log is the truth that the journal is compared with.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use hookwright_events::RunEvent;
use hookwright_pipeline::queue::IssueStates;
use hookwright_store::{
    Filter, JournalKey, KeptTasks, Kind, NewTask, SqliteStore, Store, entries, records,
};
use tempfile::TempDir;

use super::person::Person;

/// The session's name.
pub(crate) const SESSION: &str = "campaign";

/// Iterations of all stages before the first `session:stop`, which is blocked once.
const ITERATIONS: u32 = 12;

/// Iterations of all stages, the one included that the blocked stop asks for.
pub(crate) const ITERATIONS_IN_ALL: usize = ITERATIONS as usize + 1;

/// What is done in the stage `tasks`.
const TASKS: [&str; 3] = ["first", "second", "third"];

/// A home folder with a project in it.
pub(crate) struct World {
    home: TempDir,
    /// Who is asked after every stage.
    pub(crate) person: Person,
}

/// One line of the log: something began or ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// `hook`, `turn`, `child` (a turn of a session that a hook has started), or what was found that
    /// must not be.
    pub(crate) kind: String,
    /// `start` or `end`.
    pub(crate) what: String,
    /// The hook's id; for turns the stage.
    pub(crate) name: String,
    /// Event, stage and iteration.
    pub(crate) at: String,
    /// `HOOKWRIGHT_ATTEMPT`.
    pub(crate) attempt: u32,
    /// The run's marker.
    pub(crate) run_id: String,
    /// Whom it found alive.
    pub(crate) more: String,
}

impl World {
    /// A project in which nothing has happened yet.
    pub(crate) fn new() -> Self {
        let home = TempDir::with_prefix("campaign-").expect("a folder");
        let world = Self { home, person: Person::new() };
        fs::create_dir_all(world.project()).expect("made");
        fs::create_dir_all(world.prompts()).expect("made");
        fs::write(world.log_file(), "").expect("written");
        for (name, text) in FILES {
            let outside = world.outside().to_string_lossy().into_owned();
            let text = text.replace("@OUTSIDE@", &outside);
            let text = text.replace("@ITERATIONS@", &ITERATIONS.to_string());
            let text = text.replace("@PERSON@", &world.person.url());
            let path = world.project().join(name);
            fs::create_dir_all(path.parent().expect("a folder above")).expect("made");
            fs::write(path, text).expect("written");
        }
        for script in SCRIPTS {
            let (name, text) = script;
            fs::write(world.outside().join(name), text).expect("written");
        }
        let tasks = KeptTasks::new(world.store(), &world.project().to_string_lossy());
        for task in TASKS {
            tasks.add(&NewTask::new(task), 0).expect("kept");
        }
        world.git(&["init", "--quiet", "--initial-branch", "main"]);
        world.git(&["config", "user.name", "Campaign"]);
        world.git(&["config", "user.email", "campaign@example.org"]);
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "--message", "begin"]);
        world
    }

    /// Where the log is; nothing there belongs to the project.
    fn outside(&self) -> PathBuf {
        fs::canonicalize(self.home.path()).expect("it exists")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.outside().join("project")
    }

    fn prompts(&self) -> PathBuf {
        self.outside().join("prompts")
    }

    fn log_file(&self) -> PathBuf {
        self.outside().join("log")
    }

    /// What the process prints goes to a file here.
    pub(crate) fn printed(&self) -> PathBuf {
        self.outside().join("printed")
    }

    /// Where the process says how many points it passed.
    pub(crate) fn points(&self) -> PathBuf {
        self.outside().join("points")
    }

    /// The session's folder.
    pub(crate) fn session_folder(&self) -> PathBuf {
        self.project().join(".hookwright/sessions").join(SESSION)
    }

    fn git(&self, arguments: &[&str]) {
        let status = Command::new("git")
            .args(arguments)
            .current_dir(self.project())
            .env("HOME", self.outside())
            .env_remove("GIT_DIR")
            .status()
            .expect("git is there");
        assert!(status.success(), "git {arguments:?}");
    }

    /// The binary in this world: `run` while there is no session, `resume` afterwards.
    /// `number` tells the runners of one session apart, for those whom they start.
    pub(crate) fn command(&self, binary: &Path, number: usize) -> Command {
        let mut command = Command::new(binary);
        match self.journal().is_empty() {
            true => command.args(["run", "pipeline.yaml", "--session", SESSION, "--json"]),
            false => command.args(["resume", SESSION, "--json"]),
        };
        let printed = fs::File::create(self.printed()).expect("a file");
        let complained = fs::File::create(self.outside().join("complained")).expect("a file");
        command
            .current_dir(self.project())
            .env_clear()
            .env("HOME", self.outside())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOOKWRIGHT_POINTS_FILE", self.points())
            .env("CAMPAIGN_RUNNER", number.to_string())
            .stdin(Stdio::null())
            .stdout(printed)
            .stderr(complained);
        command
    }

    /// What the last process complained of.
    pub(crate) fn complaints(&self) -> String {
        fs::read_to_string(self.outside().join("complained")).unwrap_or_default()
    }

    /// The user's store.
    fn store(&self) -> Arc<dyn Store> {
        let folder = self.outside().join(".local/state/hookwright");
        Arc::new(SqliteStore::open(&folder).expect("the store is whole"))
    }

    /// What the session's journal holds, oldest first.
    pub(crate) fn journal(&self) -> Vec<RunEvent> {
        self.journals().remove(SESSION).unwrap_or_default()
    }

    /// The journals of the session and of those that its hooks have started.
    pub(crate) fn journals(&self) -> BTreeMap<String, Vec<RunEvent>> {
        let store = self.store();
        let sessions = records(&*store, Kind::Session, Filter::newest(usize::MAX));
        let names = sessions.map(|record| record.expect("a record").key.name);
        let project = self.project().to_string_lossy().into_owned();
        let read = |session: String| {
            let key = JournalKey { project: project.clone(), session: session.clone() };
            let events = entries(&*store, &key, 0).map(|entry| {
                let entry = entry.expect("an entry");
                serde_json::from_str(&entry.value).expect("a run event")
            });
            (session, events.collect())
        };
        names.map(read).collect()
    }

    /// What became of issues and tasks, by their names.
    pub(crate) fn work(&self) -> BTreeMap<String, String> {
        let (store, project) = (self.store(), self.project().to_string_lossy().into_owned());
        let issues = IssueStates::new(Arc::clone(&store), &project).all().expect("read");
        let issues = issues
            .into_values()
            .map(|kept| (kept.record.number.to_string(), kept.record.state.as_str().to_owned()));
        let tasks = KeptTasks::new(store, &project).list(&[]).expect("read").tasks;
        let tasks = tasks
            .into_iter()
            .map(|kept| (kept.task.id.to_string(), kept.task.state.as_str().to_owned()));
        issues.chain(tasks).collect()
    }

    /// What really happened, oldest first.
    pub(crate) fn log(&self) -> Vec<Line> {
        let text = fs::read_to_string(self.log_file()).expect("a log");
        text.lines().map(Line::read).collect()
    }

    /// What the agent was told in the turn with this marker, as far as it was kept.
    pub(crate) fn prompt(&self, run_id: &str) -> String {
        fs::read_to_string(self.prompts().join(run_id)).unwrap_or_default()
    }
}

impl Line {
    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split('|').collect();
        let field = |number: usize| fields.get(number).copied().unwrap_or_default().to_owned();
        Self {
            kind: field(0),
            what: field(1),
            name: field(2),
            at: field(3),
            attempt: field(4).parse().unwrap_or(0),
            run_id: field(5),
            more: field(6),
        }
    }
}

/// `. begin KIND NAME EVENT` says in the log that something starts, and what of earlier processes is
/// still alive then; `finish` says that it ends. A line is one write at the file's end.
const SCRIPTS: &[(&str, &str)] = &[(
    "begin",
    r#"
run="${HOOKWRIGHT_RUN##*[!A-Za-z0-9-]}"
outside="${BASH_SOURCE[0]%/*}"
of="${SESSION#campaign}${STAGE:-}${ISSUE_NUMBER:+#$ISSUE_NUMBER}${TASK_ID:+#$TASK_ID}"
about="$2|$3/$of/${ITERATION:-}|$HOOKWRIGHT_ATTEMPT|$run"
started() { local stat; { read -r -a stat < "/proc/$1/stat"; } 2> /dev/null || return; [ "${stat[2]}" = Z ] || echo "${stat[21]}"; }
finish() { echo "$kind|end|$about" >> "$outside/log"; }
kind=$1
while IFS='|' read -r theirs what name at attempt their_run pid start runner; do
  [ "$what" = start ] || continue
  if [ "$runner" != "$CAMPAIGN_RUNNER" ] || { [ "$kind" = turn ] && [ "$theirs" = turn ]; }; then
    [ "$(started "$pid")" = "$start" ] && echo "survivor|found|$about|$name $at $attempt $pid" >> "$outside/log"
  fi
done < "$outside/log"
echo "$kind|start|$about|$$|$(started $$)|$CAMPAIGN_RUNNER" >> "$outside/log"
"#,
)];

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
      command: . @OUTSIDE@/begin hook tests iteration:complete; echo "PIPED<tests/$STAGE/$ITERATION>"; finish
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
  iteration:error:
    - id: mend
      pipe_output: true
      command: . @OUTSIDE@/begin hook mend iteration:error; echo "PIPED<mend/$STAGE/$ITERATION>"; finish
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
prompt: Mend ${ISSUE_FILE}.
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
