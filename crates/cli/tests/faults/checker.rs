//! [`Checker`]: checks a world each time its runner has died and once when it is done, and counts
//! defects.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use hookwright_events::{
    FiringEvent, Outcome, PersonOutcome, RunEvent, RunEventKind, SessionEvent, SessionStatus,
    Status, TurnEvent, Usage,
};

use super::defect::{Defect, Found};
use super::essence::essence;
use super::ground::Line;
use super::world::{ITERATIONS_IN_ALL, SESSION, World};

/// Checks one world.
#[derive(Default)]
pub(crate) struct Checker {
    pub(crate) found: Found,
    /// The journals at the last check, by session.
    journals: BTreeMap<String, Vec<RunEvent>>,
}

impl Checker {
    pub(crate) fn defect(&mut self, defect: Defect, what: impl Into<String>) {
        self.found.push((defect, what.into()));
    }

    /// Called when the runner has died or ended: nothing may be lost or half written.
    pub(crate) fn look(&mut self, world: &World) {
        let journals = world.journals();
        let mut new = Vec::new();
        for (session, journal) in &journals {
            let before = self.journals.get(session).map_or(&[][..], Vec::as_slice);
            if !journal.starts_with(before) {
                let what = format!("the journal of {session} has changed behind its end");
                self.found.push((Defect::CompletionLost, what));
            }
            new.extend(journal.get(before.len()..).unwrap_or_default().iter().cloned());
        }
        self.look_at_shown(world, &new);
        self.look_at_files(&world.session_folder());
        self.journals = journals;
    }

    /// Everything that was shown is in the journal.
    fn look_at_shown(&mut self, world: &World, new: &[RunEvent]) {
        let printed = fs::read_to_string(world.printed()).unwrap_or_default();
        let whole = printed.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let mut recorded: Vec<String> = new.iter().map(essence).collect();
        for line in whole {
            let Ok(event) = RunEvent::from_json(line) else { continue };
            let is_only_shown = match &event.kind {
                RunEventKind::Session(SessionEvent::Noted { .. }) => true,
                kind => !kind.is_journalled(),
            };
            if is_only_shown {
                continue;
            }
            match recorded.iter().position(|known| *known == essence(&event)) {
                Some(at) => drop(recorded.swap_remove(at)),
                None => self.defect(
                    Defect::CompletionLost,
                    format!("shown, not recorded: {}", essence(&event)),
                ),
            }
        }
    }

    fn look_at_files(&mut self, folder: &Path) {
        for path in files(folder) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).unwrap_or_default();
            let is_whole = match name.as_str() {
                "context.json" | "status.json" => {
                    serde_json::from_str::<serde_json::Value>(&text).is_ok()
                }
                "output.md" => text.trim_end().ends_with("WHOLE"),
                _ => true,
            };
            if !is_whole {
                self.defect(Defect::HalfWrittenFile, format!("{}: {text}", path.display()));
            }
        }
    }

    /// Called when the session has ended: everything is accounted for.
    pub(crate) fn look_at_end(&mut self, world: &World) {
        for path in files(&world.session_folder()) {
            let name = path.to_string_lossy().into_owned();
            if name.ends_with(".unfinished") {
                self.defect(Defect::HalfWrittenFile, format!("left behind: {name}"));
            }
        }
        let journals = std::mem::take(&mut self.journals);
        for (session, journal) in &journals {
            self.look_at_hooks(journal);
            self.look_at_turns(session, journal);
        }
        let all: Vec<RunEvent> = journals.values().flatten().cloned().collect();
        self.look_at_log(world, &all);
        let journal = journals.get(SESSION).cloned().unwrap_or_default();
        self.look_at_prompts(world, &journal);
        self.look_at_person(world, &journal);
        self.look_at_work(world, &journal);
        self.look_at_children(&journals, &journal);
        self.look_at_commits(world, &journal);
        let is_done = journal.last().is_some_and(|event| match &event.kind {
            RunEventKind::Session(SessionEvent::SessionEnded { status, .. }) => {
                *status == SessionStatus::Completed
            }
            _ => false,
        });
        if !is_done {
            self.defect(Defect::NotFinished, world.complaints());
        }
    }

    /// Every hook that started was reported once, with rising attempts, and did not start again
    /// after that. Every firing was decided once.
    fn look_at_hooks(&mut self, journal: &[RunEvent]) {
        let mut attempts: BTreeMap<(u64, String), u32> = BTreeMap::new();
        let mut reported: BTreeSet<(u64, String)> = BTreeSet::new();
        let mut open: BTreeSet<u64> = BTreeSet::new();
        let mut keys: BTreeSet<String> = BTreeSet::new();
        for event in journal {
            match &event.kind {
                RunEventKind::Firing(FiringEvent::Fired { key, .. }) => {
                    open.insert(event.firing);
                    // An action that fires (a commit) fires again when it runs again.
                    if let Some(key) = key
                        && !keys.insert(key.clone())
                    {
                        self.defect(Defect::RunAfterCompletion, format!("{key} fired twice"));
                    }
                }
                RunEventKind::Firing(FiringEvent::HookStarting { hook, attempt, .. }) => {
                    let run = (event.firing, hook.clone());
                    if reported.contains(&run) {
                        self.defect(Defect::RunAfterCompletion, format!("{run:?}"));
                    }
                    let last = attempts.insert(run.clone(), *attempt).unwrap_or(0);
                    if *attempt != last + 1 {
                        let what = format!("{run:?}: attempt {attempt} behind {last}");
                        self.defect(Defect::SameAttemptTwice, what);
                    }
                }
                RunEventKind::Firing(FiringEvent::HookReported { report })
                    if !reported.insert((event.firing, report.id.clone())) =>
                {
                    let what = format!("{} of {} reported twice", report.id, event.firing);
                    self.defect(Defect::RunAfterCompletion, what);
                }
                RunEventKind::Firing(FiringEvent::Decided { .. })
                    if !open.remove(&event.firing) =>
                {
                    let what = format!("firing {} decided twice", event.firing);
                    self.defect(Defect::RunAfterCompletion, what);
                }
                _ => {}
            }
        }
        for run in attempts.keys().filter(|run| !reported.contains(run)) {
            self.defect(Defect::Unaccounted, format!("{run:?} started and was never reported"));
        }
        for firing in open {
            self.defect(Defect::Unaccounted, format!("firing {firing} was never decided"));
        }
    }

    fn look_at_turns(&mut self, session: &str, journal: &[RunEvent]) {
        let mut attempts = BTreeMap::new();
        let mut ended = BTreeSet::new();
        for event in journal {
            match &event.kind {
                RunEventKind::Turn(TurnEvent::TurnStarting { turn, attempt, .. }) => {
                    if ended.contains(turn) {
                        self.defect(Defect::RunAfterCompletion, format!("{turn:?}"));
                    }
                    let last = attempts.insert(turn.clone(), *attempt).unwrap_or(0);
                    if *attempt != last + 1 {
                        let what = format!("{turn:?}: attempt {attempt} behind {last}");
                        self.defect(Defect::SameAttemptTwice, what);
                    }
                }
                RunEventKind::Turn(TurnEvent::TurnEnded { turn, .. }) => {
                    ended.insert(turn.clone());
                }
                _ => {}
            }
        }
        for turn in attempts.keys().filter(|turn| !ended.contains(*turn)) {
            self.defect(Defect::CompletionLost, format!("{turn:?} has no end"));
        }
        let expected = if session == SESSION { ITERATIONS_IN_ALL } else { 2 };
        if ended.iter().filter(|turn| turn.iteration > 0).count() != expected {
            let what = format!("other iterations of {session} than {expected}: {ended:?}");
            self.defect(Defect::NotFinished, what);
        }
    }

    /// What really ran is what was recorded, once for each record.
    fn look_at_log(&mut self, world: &World, journal: &[RunEvent]) {
        let mut recorded: BTreeMap<String, (String, u32)> = BTreeMap::new();
        for event in journal {
            match &event.kind {
                RunEventKind::Firing(FiringEvent::HookStarting {
                    hook,
                    attempt,
                    run_id: Some(run_id),
                    ..
                }) => {
                    recorded.insert(run_id.clone(), (hook.clone(), *attempt));
                }
                RunEventKind::Turn(TurnEvent::TurnStarting { attempt, run_id, .. }) => {
                    recorded.insert(run_id.clone(), (String::new(), *attempt));
                }
                _ => {}
            }
        }
        let mut runs = BTreeSet::new();
        let mut names = BTreeSet::new();
        let mut once = BTreeSet::new();
        for line in world.log() {
            match (line.kind.as_str(), line.what.as_str()) {
                ("survivor", _) => self.defect(Defect::SecondAgent, format!("{line:?}")),
                (kind, "start") => {
                    if !runs.insert(line.run_id.clone()) {
                        self.defect(Defect::SameAttemptTwice, format!("{line:?}"));
                    }
                    let name = (line.name.clone(), line.at.clone(), line.attempt);
                    if kind == "hook" && !names.insert(name) {
                        self.defect(Defect::SameAttemptTwice, format!("{line:?}"));
                    }
                    match recorded.get(&line.run_id) {
                        Some((hook, attempt))
                            if *attempt == line.attempt
                                && (kind != "hook" || *hook == line.name) => {}
                        found => self
                            .defect(Defect::RunWithoutRecord, format!("{line:?}, found {found:?}")),
                    }
                    if line.name == "first-only" {
                        once.insert(line.at.clone());
                    }
                    let number = line.at.rsplit('/').next().and_then(|it| it.parse::<u32>().ok());
                    if line.name == "even" && number.is_none_or(|number| number % 2 != 0) {
                        self.defect(Defect::RunWithoutRecord, format!("unmet: {line:?}"));
                    }
                }
                _ => {}
            }
        }
        if once.len() != 1 {
            self.defect(Defect::RunAfterCompletion, format!("a hook with `once` ran at {once:?}"));
        }
        // The last attempt of each hook that was not killed has ended.
        let ended: BTreeSet<String> = world
            .log()
            .into_iter()
            .filter(|line| line.what == "end")
            .map(|line| line.run_id)
            .collect();
        let mut last: BTreeMap<(Option<String>, u64, String), String> = BTreeMap::new();
        for event in journal {
            if let RunEventKind::Firing(FiringEvent::HookStarting {
                hook,
                run_id: Some(run_id),
                ..
            }) = &event.kind
                && !["commit", "gate", "review", "review-behind"].contains(&hook.as_str())
            {
                let run = (event.session.clone(), event.firing, hook.clone());
                last.insert(run, run_id.clone());
            }
        }
        for (run, run_id) in last {
            if !ended.contains(&run_id) {
                self.defect(Defect::Unaccounted, format!("{run:?} never came to its end"));
            }
        }
    }

    /// After each stage the person got one question, which was decided once and used once.
    fn look_at_person(&mut self, world: &World, journal: &[RunEvent]) {
        let mut questions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for question in world.person.asked() {
            let what = format!("{} {}", question.id, question.body);
            let stage = question.body["stage"].as_str().unwrap_or_default().to_owned();
            questions.entry(stage).or_default().insert(what);
        }
        for (stage, asked) in questions.iter().filter(|(_, asked)| asked.len() != 1) {
            self.defect(Defect::AskedTwice, format!("{stage}: {asked:?}"));
        }
        let mut used: BTreeMap<u64, u32> = BTreeMap::new();
        let mut stages = 0;
        for event in journal {
            match &event.kind {
                RunEventKind::Firing(FiringEvent::HookEnded {
                    outcome: Outcome::Person(PersonOutcome::Decided { .. }),
                    ..
                }) => {
                    *used.entry(event.firing).or_default() += 1;
                }
                RunEventKind::Session(SessionEvent::StageEnded { .. }) => stages += 1,
                _ => {}
            }
        }
        for (firing, times) in used.iter().filter(|(_, times)| **times > 1) {
            self.defect(Defect::AnswerUsedTwice, format!("{times} times in firing {firing}"));
        }
        let passed = world.log().iter().filter(|line| line.name == "gated").count();
        let answered: BTreeSet<String> = world.person.answered().into_iter().collect();
        if (questions.len(), used.len()) != (stages, stages) || passed < stages {
            let what = format!(
                "{stages} stages, {} questions, {} answers, {} used, {passed} lines behind the gate",
                questions.len(),
                answered.len(),
                used.len()
            );
            self.defect(Defect::AnswerLost, what);
        }
    }

    /// Each issue and each task was taken once, and has the recorded state.
    fn look_at_work(&mut self, world: &World, journal: &[RunEvent]) {
        let mut taken: BTreeMap<String, u32> = BTreeMap::new();
        let mut ended: BTreeMap<String, String> = BTreeMap::new();
        for event in journal {
            match &event.kind {
                RunEventKind::Session(SessionEvent::ItemStarted { item, .. }) => {
                    *taken.entry(item.key.clone()).or_default() += 1;
                }
                RunEventKind::Session(SessionEvent::ItemEnded { key, state, .. }) => {
                    let state = match (state.as_str(), key.starts_with("TAS")) {
                        ("done", true) => "completed",
                        (word, _) => word,
                    };
                    if ended.insert(key.clone(), state.to_owned()).is_some() {
                        self.defect(Defect::WorkTwice, format!("{key} ended twice"));
                    }
                }
                _ => {}
            }
        }
        for (key, times) in taken.iter().filter(|(_, times)| **times > 1) {
            self.defect(Defect::WorkTwice, format!("{key} was taken {times} times"));
        }
        let expected = [
            ("1", "done"),
            ("2", "blocked"),
            ("3", "done"),
            ("TAS-1", "completed"),
            ("TAS-2", "completed"),
            ("TAS-3", "completed"),
        ];
        let expected: BTreeMap<String, String> =
            expected.iter().map(|(key, state)| ((*key).to_owned(), (*state).to_owned())).collect();
        let kept = world.work();
        if ended != expected || kept != expected {
            self.defect(Defect::WorkLost, format!("recorded {ended:?}, kept {kept:?}"));
        }
    }

    /// Each hook that starts a session has started one, which has ended.
    fn look_at_children(
        &mut self,
        journals: &BTreeMap<String, Vec<RunEvent>>,
        journal: &[RunEvent],
    ) {
        let mut spawned: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for event in journal {
            if let RunEventKind::Firing(FiringEvent::HookSpawned { hook, session, .. }) =
                &event.kind
            {
                spawned.entry(hook.clone()).or_default().insert(session.clone());
            }
        }
        let children: BTreeSet<String> =
            journals.keys().filter(|name| *name != SESSION).cloned().collect();
        let named: BTreeSet<String> = spawned.values().flatten().cloned().collect();
        let is_one_each = spawned.len() == 2 && spawned.values().all(|names| names.len() == 1);
        if !is_one_each || children != named {
            self.defect(Defect::ChildLost, format!("{spawned:?}, and there are {children:?}"));
        }
        for name in &children {
            let used = journals[name].iter().filter_map(|event| event.kind.used());
            let told = journal.iter().filter_map(|event| match &event.kind {
                RunEventKind::Firing(FiringEvent::ChildUsed { session, usage, .. })
                    if session == name =>
                {
                    Some(*usage)
                }
                _ => None,
            });
            let (used, told) = (used.reduce(Usage::and), told.reduce(Usage::and));
            if used != told || used.is_none() {
                self.defect(Defect::CostWrong, format!("{name} used {used:?}, told {told:?}"));
            }
        }
        for (name, journal) in journals {
            let is_done = journal.iter().rev().any(|event| match &event.kind {
                RunEventKind::Session(SessionEvent::SessionEnded { status, .. }) => {
                    *status == SessionStatus::Completed
                }
                _ => false,
            });
            if !is_done {
                self.defect(Defect::ChildLost, format!("{name} was not completed"));
            }
        }
    }

    /// No commit failed, and the hooks after each ran to their end, in one firing.
    fn look_at_commits(&mut self, world: &World, journal: &[RunEvent]) {
        for event in journal {
            if let RunEventKind::Firing(FiringEvent::HookReported { report }) = &event.kind
                && report.id == "commit"
                && report.status == Status::Failed
            {
                self.defect(Defect::CommitFailed, format!("{:?}", report.reason));
            }
        }
        let log = world.log();
        for commit in world.commits() {
            let is_told = |event: &&RunEvent| match &event.kind {
                RunEventKind::Firing(FiringEvent::Fired { event, data: Some(data), .. }) => {
                    event.as_str() == "git:post_commit"
                        && data.get("commit_id") == Some(&commit.as_str().into())
                }
                _ => false,
            };
            let firings = journal.iter().filter(is_told).count();
            if firings != 1 {
                self.defect(Defect::CommitUntold, format!("{firings} firings about {commit}"));
            }
            for name in ["committed", "committed-behind"] {
                let of_commit = |line: &&Line| line.name == name && line.at.contains(&commit);
                let ended = log.iter().filter(of_commit).any(|line| line.what == "end");
                if !ended {
                    self.defect(Defect::CommitUntold, format!("{name} of {commit}"));
                }
            }
        }
    }

    /// Each piped text reached exactly one completed turn; texts after the last turn reached none.
    fn look_at_prompts(&mut self, world: &World, journal: &[RunEvent]) {
        let mut run_ids = BTreeMap::new();
        let mut prompts = String::new();
        let mut expected = BTreeSet::from(["PIPED<greet>".to_owned(), "PIPED<stop>".to_owned()]);
        let mut late = BTreeSet::new();
        let is_turn = |event: &RunEvent| {
            matches!(event.kind, RunEventKind::Turn(TurnEvent::TurnStarting { .. }))
        };
        let last_turn = journal.iter().rposition(is_turn).unwrap_or_default();
        let mut too_late = BTreeSet::new();
        for (number, event) in journal.iter().enumerate() {
            match &event.kind {
                RunEventKind::Turn(TurnEvent::TurnStarting { turn, run_id, .. }) => {
                    run_ids.insert(turn.clone(), run_id.clone());
                }
                RunEventKind::Turn(TurnEvent::TurnEnded { turn, .. }) => {
                    prompts.push_str(&world.prompt(&run_ids[turn]));
                }
                RunEventKind::Firing(FiringEvent::Fired {
                    key: Some(key),
                    late_answers,
                    data: Some(data),
                    ..
                }) => {
                    let text = |name: &str| data.get(name).map(ToString::to_string);
                    let at = format!(
                        "{}/{}",
                        text("stage").unwrap_or_default().trim_matches('"'),
                        text("iteration").unwrap_or_default()
                    );
                    let hook = match key.split('/').next().unwrap_or_default() {
                        "iteration:start" => "before",
                        "iteration:complete" => "tests",
                        "iteration:error" => "fix",
                        "task:complete" => {
                            let task = text("task_id").unwrap_or_default();
                            expected.insert(format!("PIPED<task/{}>", task.trim_matches('"')));
                            ""
                        }
                        _ => "",
                    };
                    if !hook.is_empty() {
                        let piped = format!("PIPED<{hook}/{at}>");
                        match number < last_turn {
                            true => expected.insert(piped),
                            false => too_late.insert(piped),
                        };
                    }
                    let contexts = late_answers.iter().flat_map(|it| &it.additional_context);
                    match number < last_turn {
                        true => late.extend(contexts.cloned()),
                        false => too_late.extend(contexts.cloned()),
                    }
                }
                _ => {}
            }
        }
        // The scripted agent keeps no prompt of this turn.
        late.remove("LATE<plan/2>");
        expected.extend(late);
        for marker in expected {
            match prompts.matches(&marker).count() {
                1 => {}
                0 => self.defect(Defect::PipedLost, marker),
                _ => self.defect(Defect::PipedTwice, marker),
            }
        }
        for marker in too_late.into_iter().filter(|marker| prompts.contains(marker.as_str())) {
            self.defect(Defect::PipedTwice, format!("{marker}, after the last turn"));
        }
        let is_delivery = |event: &&RunEvent| {
            matches!(event.kind, RunEventKind::Turn(TurnEvent::FinalDelivery { .. }))
        };
        let deliveries = journal.iter().filter(is_delivery).count();
        if deliveries != 1 {
            self.defect(Defect::DeliveredTwice, format!("{deliveries} final deliveries"));
        }
    }
}

/// All files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
