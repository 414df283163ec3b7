//! What the git actions share: `git` itself, called with arguments, never through a shell.
//!
//! Prompts fail at once, so git never waits for a person. Messages are in English, so that they can
//! be recognised. Each call holds a slot only while it runs, and all calls and firings of one
//! attempt share one timeout.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_events::{
    Answer, Decision, Event, EventName, FiringEvent, Outcome, Output, ProcessOutcome, RunEventKind,
    WorkOutcome, field,
};
use hookwright_process::{Launch, Leader, MARKER, OutputFilter, Stream, Watch, find_program};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::child_news::ChildNews;
use super::{ActionNews, HookAttempt};
use crate::Firing;
use crate::chain::{CHAIN_VARIABLE, Chain};
use crate::limits::{KILL_GRACE, LINGER, OUTPUT_BYTES_MAX};
use crate::past::{Committing, PastFiring};
use crate::process_outcome::{process_outcome, timed_out};
use crate::secrets::Secrets;

/// Settings for every call: colours would hide the words that are searched, and values are UTF-8.
const SETTINGS: &[&str] = &["-c", "color.ui=false", "-c", "i18n.commitEncoding=UTF-8"];

/// Variables for every call. `false` refuses every prompt for a password.
const VARIABLES: &[(&str, &str)] = &[
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "force"),
];

/// Variables that git sets for its own hooks. The engine may run below such a hook, but works in
/// the project root, not in that hook's repository; and paths must be taken literally.
pub const GIT_LOCATION_VARIABLES: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// `git` in the project root, for one attempt of one hook.
pub(super) struct GitRunner<'a> {
    pub(super) attempt: &'a HookAttempt,
    news: &'a mut dyn ActionNews,
    program: PathBuf,
    inherited: Arc<[(OsString, OsString)]>,
    /// The chain for events that git's own hooks, or ours, fire.
    chain: Chain,
    calls: u32,
    /// The time of all calls and firings; waiting for a slot does not count.
    pub(super) took: Duration,
    /// The output of the last call that changes something.
    output: Output,
    /// Contexts and messages of the hooks of fired events.
    said: Answer,
}

/// A call that ended by itself.
pub(super) struct Ran {
    pub(super) code: i32,
    pub(super) output: Output,
}

/// Whether a call's output is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GitOutput {
    Yes,
    No,
}

impl<'a> GitRunner<'a> {
    /// Finds `git` as a shell in the project root would.
    pub(super) fn new(
        attempt: &'a HookAttempt,
        news: &'a mut dyn ActionNews,
    ) -> Result<Self, Outcome> {
        let around = &attempt.surroundings;
        let path = around.environment.get("PATH");
        let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        let Some(program) = find_program(OsStr::new("git"), path, &around.root) else {
            return Err(Outcome::Process(ProcessOutcome::NotStarted {
                cause: "`git` not found".to_owned(),
            }));
        };
        let inherited = around.environment.for_hooks();
        let is_ours_to_say = |name: &OsString| GIT_LOCATION_VARIABLES.iter().any(|not| name == not);
        let inherited = if inherited.iter().any(|(name, _)| is_ours_to_say(name)) {
            inherited.iter().filter(|(name, _)| !is_ours_to_say(name)).cloned().collect()
        } else {
            Arc::clone(inherited)
        };
        let hook = &attempt.hook;
        let chain = attempt.chain.with(&attempt.event.name, &hook.id, &hook.source.path);
        let (took, output, said) = (Duration::ZERO, Output::default(), Answer::default());
        Ok(Self { attempt, news, program, inherited, chain, calls: 0, took, output, said })
    }

    /// Runs a query; its output is not shown.
    pub(super) async fn ask(&mut self, arguments: &[&str]) -> Result<Ran, Outcome> {
        self.call(arguments, Vec::new(), GitOutput::No).await
    }

    /// Runs a call that changes something.
    pub(super) async fn act(&mut self, arguments: &[&str], stdin: Vec<u8>) -> Result<Ran, Outcome> {
        let ran = self.call(arguments, stdin, GitOutput::Yes).await?;
        self.output = ran.output.clone();
        Ok(ran)
    }

    /// The branch that HEAD names; `None` if HEAD is detached.
    pub(super) async fn current_branch(&mut self) -> Result<Option<String>, Outcome> {
        let ran = self.ask(&["symbolic-ref", "--quiet", "HEAD"]).await?;
        match ran.code {
            0 => {
                let name = ran.output.stdout.trim_end();
                Ok(Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()))
            }
            1 if ran.output.stderr.is_empty() => Ok(None),
            _ => Err(self.failure("git symbolic-ref", ran)),
        }
    }

    /// Fires an event that guards something. After a crash it is fired again, since what it guards
    /// may have changed.
    pub(super) async fn ask_hooks(
        &mut self,
        name: EventName,
        data: Map<String, Value>,
    ) -> Result<Decision, Outcome> {
        self.fire(name, data, None).await
    }

    /// Fires an event that reports what was done. After a crash it is resumed.
    pub(super) async fn tell_hooks(
        &mut self,
        name: EventName,
        data: Map<String, Value>,
    ) -> Result<Decision, Outcome> {
        let place = &self.attempt.place;
        // A firing two levels below the host's is not resumed.
        let is_known = place.firing == place.number.to_string();
        let key = self.attempt.key_path_to(&name).filter(|_| is_known);
        self.fire(name, data, key).await
    }

    /// What is known of such an event from before a crash.
    pub(super) fn told_before(&self, event: &EventName) -> Option<&PastFiring> {
        let key = self.attempt.key_path_to(event)?;
        let fired = &self.attempt.cut_off.as_ref()?.fired;
        fired.iter().find(|(known, _)| *known == key).map(|(_, past)| past)
    }

    /// Journals that a commit follows. A commit that cannot be journalled does not happen.
    pub(super) async fn announce_commit(&mut self, committing: Committing) -> Result<(), Outcome> {
        let (attempt, hook) = (self.attempt, self.attempt.hook.id.clone());
        let Committing { head, tree } = committing;
        let kind = RunEventKind::Firing(FiringEvent::HookCommitting { hook, head, tree });
        let place = &attempt.place;
        let written = attempt.engine.record(place.number, &place.session, kind).await;
        written.map_err(|error| {
            self.refused(format!("the commit cannot be recorded in the journal: {error}"))
        })
    }

    /// Fires an event below this hook, in the same session and about the same work item. No slot is
    /// held meanwhile.
    async fn fire(
        &mut self,
        name: EventName,
        mut data: Map<String, Value>,
        key: Option<String>,
    ) -> Result<Decision, Outcome> {
        let past = key.as_ref().and_then(|_| self.told_before(&name).cloned()).map(Box::new);
        let fields = field::COMMON_FIELDS.iter().chain(field::WORK_ITEM_FIELDS);
        for field in fields.filter(|field| **field != "timestamp") {
            if let Some(value) = self.attempt.event.data.get(*field) {
                data.insert((*field).to_owned(), value.clone());
            }
        }
        let data = past.as_ref().and_then(|past| past.data()).unwrap_or(data);
        let event = Event::new(name, data);
        let begun = Instant::now();
        let left = self.time_left();
        let within = self.attempt.key_path_to(&event.name);
        let chain = self.chain.clone();
        let firing = Firing { chain, within, key, past, ..Firing::default() };
        let firing = self.attempt.engine.fire(event, firing);
        let fired = tokio::time::timeout(left, firing).await;
        self.took += begun.elapsed();
        if self.attempt.cancel.is_cancelled() {
            return Err(Outcome::Process(ProcessOutcome::Interrupted {
                output: self.output.clone(),
            }));
        }
        let decision = fired.map_err(|_| self.timed_out(self.output.clone()))?.decision;
        self.hear(&decision);
        Ok(decision)
    }

    /// A success, with a description.
    pub(super) fn done(&self, what: String, output: Output) -> Outcome {
        Outcome::Work(WorkOutcome::Done { what, output, said: Box::new(self.said.clone()) })
    }

    /// A failure without retry.
    pub(super) fn refused(&self, cause: String) -> Outcome {
        let (exit_code, output) = (None, self.output.clone());
        let said = Box::new(self.said.clone());
        Outcome::Work(WorkOutcome::Failed { cause, may_retry: false, exit_code, output, said })
    }

    /// A call that failed for a known reason.
    pub(super) fn failed(&self, cause: String, ran: Ran) -> Outcome {
        let (exit_code, output) = (Some(ran.code), ran.output);
        let said = Box::new(self.said.clone());
        Outcome::Work(WorkOutcome::Failed { cause, may_retry: true, exit_code, output, said })
    }

    /// A call that failed for an unknown reason.
    pub(super) fn failure(&self, what: &str, ran: Ran) -> Outcome {
        let stderr = &ran.output.stderr;
        let root = self.attempt.surroundings.root.display();
        let locked = stderr.lines().find_map(|line| {
            let (_, path) = line.split_once("Unable to create '")?;
            let (path, _) = path.rsplit_once("': File exists")?;
            path.ends_with(".lock").then_some(path)
        });
        let cause = if stderr.contains("not a git repository") {
            format!("`{root}` is not in a git repository")
        } else if let Some(lock) = locked {
            format!(
                "another git process is running, or has crashed and left `{lock}`: remove that \
                 file if no git is running"
            )
        } else {
            match complaint(stderr).or_else(|| complaint(&ran.output.stdout)) {
                Some(line) => format!("{what} failed: {line}"),
                None => format!("{what} failed without a message (exit code {})", ran.code),
            }
        };
        self.failed(cause, ran)
    }

    async fn call(
        &mut self,
        arguments: &[&str],
        stdin: Vec<u8>,
        shown: GitOutput,
    ) -> Result<Ran, Outcome> {
        let attempt = self.attempt;
        let left = self.time_left();
        if left.is_zero() {
            return Err(self.timed_out(self.output.clone()));
        }
        let slot = tokio::select! {
            slot = attempt.surroundings.slots.take(attempt.terms.awaited) => slot,
            () = attempt.cancel.cancelled() => {
                return Err(Outcome::Process(ProcessOutcome::Interrupted { output: self.output.clone() }));
            }
        };
        self.calls += 1;
        let launch = Launch {
            program: self.program.clone(),
            args: SETTINGS.iter().chain(arguments).map(OsString::from).collect(),
            shared_env: Arc::clone(&self.inherited),
            env: self.variables(),
            working_dir: attempt.surroundings.root.clone(),
            stdin,
            timeout: left,
            kill_grace: KILL_GRACE,
            linger: LINGER,
            output_bytes_max: OUTPUT_BYTES_MAX,
            run_id: format!("{}-{}", attempt.run_id, self.calls),
        };
        let child_news = ChildNews::new(&attempt.hook.id, &launch.run_id, &mut *self.news);
        let secrets = &attempt.surroundings.secrets;
        let mut watching = GitWatch { secrets, child_news, shown };
        let ended = hookwright_process::run(launch, &mut watching, &attempt.cancel).await;
        drop(slot);
        self.took += ended.duration;
        match process_outcome(ended, ToString::to_string) {
            ProcessOutcome::Exited { code, output } => Ok(Ran { code, output }),
            // The time limit is the hook's, not the call's.
            ProcessOutcome::TimedOut { output, .. } => Err(self.timed_out(output)),
            other => Err(other.into()),
        }
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> =
            VARIABLES.iter().map(|(name, value)| (name.into(), value.into())).collect();
        // Each call is a run of its own inside the hook's, so that it can be found after a crash of
        // the host.
        let outer = self.attempt.surroundings.environment.get(MARKER);
        let mut marker =
            outer.filter(|outer| !outer.is_empty()).map_or_else(OsString::new, |outer| {
                let mut marker = outer.to_owned();
                marker.push(":");
                marker
            });
        marker.push(&self.attempt.run_id);
        all.push((MARKER.into(), marker));
        all.push((CHAIN_VARIABLE.into(), self.chain.to_text().into()));
        all.push(("HOOKWRIGHT_HOOK".into(), self.attempt.hook.id.clone().into()));
        all.push(("HOOKWRIGHT_ATTEMPT".into(), self.attempt.number.to_string().into()));
        all
    }

    fn time_left(&self) -> Duration {
        self.attempt.terms.timeout.saturating_sub(self.took)
    }

    fn timed_out(&self, output: Output) -> Outcome {
        timed_out(self.attempt.terms.timeout, output).into()
    }

    /// Keeps what the hooks of a fired event say to the agent and the user.
    fn hear(&mut self, decision: &Decision) {
        let piped = Some(&decision.piped_output).filter(|piped| !piped.is_empty());
        self.said
            .additional_context
            .extend(decision.additional_context.iter().chain(piped).cloned());
        self.said.must_reach_agent |= decision.must_reach_agent;
        for message in &decision.system_messages {
            let all = self.said.system_message.get_or_insert_default();
            if !all.is_empty() {
                all.push('\n');
            }
            all.push_str(message);
        }
    }
}

/// The line in which git explains best what went wrong.
pub(super) fn complaint(stderr: &str) -> Option<&str> {
    let mut lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).rev();
    let begins = |word: &str| lines.clone().find_map(|line| line.strip_prefix(word));
    begins("fatal: ")
        .or_else(|| begins("error: "))
        .or_else(|| lines.find(|line| !line.starts_with("hint:")))
}

/// Watches git while it runs.
struct GitWatch<'a> {
    secrets: &'a Secrets,
    child_news: ChildNews<'a>,
    shown: GitOutput,
}

impl Watch for GitWatch<'_> {
    fn filter(&mut self, _stream: Stream) -> Option<Box<dyn OutputFilter>> {
        self.secrets.filter()
    }

    fn started(&mut self, leader: &Leader) {
        self.child_news.started(leader);
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) -> Option<Duration> {
        if self.shown == GitOutput::Yes {
            self.child_news.printed(stream, bytes);
        }
        None
    }
}
