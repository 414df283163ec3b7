//! Sessions whose work another machine can continue: real repositories, a bare one as the remote. A
//! machine that died is one whose folders are gone; the next one works at the same path.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_engine::Secrets;
use hookwright_events::{RunEventKind, SessionEvent, SessionStatus, TurnEvent};
use hookwright_pipeline::record::SessionRecord;
use hookwright_pipeline::session::SessionError;
use hookwright_pipeline::store_calls::StoreCalls;
use hookwright_pipeline::trees::{CarriedWork, GitTrees, TreeError, WorkFolder, WorkPlace};
use hookwright_pipeline::work_keeper::{KeepError, WorkKeeper, last_tree, take_work};
use hookwright_store::Kind;
use serde_json::Value;
use tokio::sync::Notify;

use super::project::Project;
use crate::trees::Project as Repository;

const LOOP: &str = "prompt: p
agent: {script: turns.yaml}
termination: {type: fixed, iterations: 3}
hooks:
  iteration:complete:
    - {id: format, await: true, command: 'echo formatted $ITERATION >> formatted'}
    - {id: look, await: true, command: 'true'}
";

const TURNS: &str = "turns:
  - - {run: 'echo one >> work'}
    - {append: {output.log: ignored}}
    - {run: 'echo notes of one >> $PROGRESS'}
  - - {run: 'echo two >> work; git -c user.name=A -c user.email=a@b commit --quiet -a -m two'}
    - {run: 'echo notes of two >> $PROGRESS'}
  - [{run: 'echo three >> work'}]
";

/// The remote, and the place where machines work on the session.
struct World {
    repository: Repository,
    work: CarriedWork,
}

impl World {
    async fn new(files: &[(&str, &str)]) -> Self {
        let ours = [(".gitignore", "output.log\n"), ("work", "zero\n"), ("turns.yaml", TURNS)];
        let files: Vec<(&str, &str)> = ours.into_iter().chain(files.iter().copied()).collect();
        let repository = Repository::with(&files);
        let work = repository.submit().await;
        Self { repository, work }
    }

    /// The work tree is at the same path on all machines; the rest is not.
    fn place(&self, machine: &str) -> WorkPlace {
        let work_tree = self.repository.path("work/tree");
        WorkPlace { work_tree, ..self.repository.place(machine) }
    }

    async fn machine(&self, name: &str, token: u64, project: Option<&Project>) -> Arc<GitTrees> {
        let trees = self.repository.trees(&self.place(name), &self.work, token);
        let tree = project.and_then(|project| {
            last_tree(&**project.store(), &project.workspace(), "").expect("readable")
        });
        trees.prepare(tree.as_ref()).await.expect("prepared");
        Arc::new(trees)
    }

    fn project(&self) -> Project {
        Project::at(self.repository.path("work/tree"))
    }

    /// The machine is gone, with everything on it.
    fn lose(&self, machine: &str) {
        for folder in [machine, "work"] {
            fs::remove_dir_all(self.repository.path(folder)).expect("removed");
        }
    }

    fn read(&self, name: &str) -> String {
        let path = self.repository.path("work/tree").join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| {
            let found =
                std::process::Command::new("find").arg(self.repository.path("work")).output();
            let found = String::from_utf8_lossy(&found.expect("find is there").stdout).into_owned();
            panic!("{name}: {error}; there is {found}")
        })
    }
}

fn keep(project: &mut Project, trees: &Arc<GitTrees>) {
    let trees = Arc::clone(trees);
    project.keep_work(move |folder, record| WorkKeeper::new(trees.clone(), folder, record));
}

/// The entries of a commit and its records.
type Seen = (Vec<String>, Vec<String>);

fn kinds(journal: &[Value]) -> Vec<&str> {
    journal.iter().map(|entry| entry["kind"].as_str().unwrap_or_default()).collect()
}

#[tokio::test]
async fn a_session_whose_machine_died_in_a_turn_continues_elsewhere_with_its_tree_and_files() {
    continues_elsewhere(|project| project).await;
}

#[tokio::test]
async fn it_continues_from_a_store_that_must_not_be_called_on_its_thread_too() {
    continues_elsewhere(Project::with_remote_store).await;
}

async fn continues_elsewhere(stored: impl Fn(Project) -> Project) {
    let world = World::new(&[("loop.yaml", LOOP)]).await;
    let one = world.machine("one", 7, None).await;
    let mut project = stored(world.project());
    keep(&mut project, &one);
    // The second turn never ends: its work is sent, but its end is not recorded.
    project.store().refuse("turn_ended", 1);
    project.take_up().await.expect_err("cut off");
    assert_eq!(world.read("work"), "zero\none\ntwo\n");
    drop(one);
    world.lose("one");

    project.store().take_all();
    let two = world.machine("two", 8, Some(&project)).await;
    assert_eq!(world.read("work"), "zero\none\n");
    assert_eq!(world.read("formatted"), "formatted 1\n");
    keep(&mut project, &two);
    let ended = project.take_up().await.expect("it came to an end");
    assert_eq!((ended.status, ended.iterations), (SessionStatus::Completed, 3));
    assert_eq!(world.read("work"), "zero\none\ntwo\nthree\n");
    assert_eq!(world.read("formatted"), "formatted 1\nformatted 2\nformatted 3\n");
    let notes = world.read(".hookwright/sessions/s/progress.md");
    assert!(notes.contains("notes of one") && notes.contains("notes of two"), "{notes}");
    for iteration in ["001", "002", "003"] {
        world.read(&format!(
            ".hookwright/sessions/s/stage-00-tree/iterations/{iteration}/output.md"
        ));
    }
    // The result: with the agent's commit below it.
    let (remote, branch) = (world.repository.path("remote.git"), "hookwright/calm-fox");
    let work = world.repository.git(&remote, &["show", &format!("{branch}:work")]);
    assert_eq!(work, "zero\none\ntwo\nthree");
    let log = world.repository.git(&remote, &["log", "--format=%s", branch]);
    assert_eq!(log.lines().skip(1).collect::<Vec<_>>(), ["two", "first"]);
}

#[tokio::test]
async fn the_end_its_tree_and_its_files_are_one_commit_and_an_unchanged_tree_is_not_kept_again() {
    let world = World::new(&[("loop.yaml", LOOP)]).await;
    let trees = world.machine("one", 7, None).await;
    let mut project = world.project();
    keep(&mut project, &trees);
    let commits: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let seen = Arc::clone(&commits);
    project.store().record(move |commit| {
        let entries = commit.append.iter().flat_map(|append| append.entries).map(|entry| {
            let entry: Value = serde_json::from_str(entry).expect("JSON");
            let hook = entry["hook"].as_str().unwrap_or_default().to_owned();
            format!("{} {hook}", entry["kind"].as_str().unwrap_or_default()).trim().to_owned()
        });
        let puts = commit.puts.iter().filter(|put| put.kind != Kind::Session);
        let puts = puts.map(|put| format!("{}:{}", put.kind.word(), put.key.name)).collect();
        seen.lock().unwrap().push((entries.collect(), puts));
    });
    project.take_up().await.expect("it came to an end");
    let commits = commits.lock().unwrap().clone();
    let with = |kind: &str| -> Vec<_> {
        commits.iter().filter(|(entries, _)| entries.iter().any(|it| it == kind)).collect()
    };
    for (entries, puts) in with("turn_ended") {
        assert!(entries.contains(&"tree_kept".to_owned()), "{entries:?}");
        assert!(puts.contains(&"session tree:".to_owned()), "{puts:?}");
        assert!(puts.iter().any(|put| put.ends_with("/output.md")), "{puts:?}");
    }
    for (entries, _) in with("hook_ended format") {
        assert!(entries.contains(&"tree_kept".to_owned()), "{entries:?}");
    }
    for (entries, puts) in with("hook_ended look") {
        assert!(!entries.contains(&"tree_kept".to_owned()), "{entries:?}");
        assert_eq!(puts, &[""; 0]);
    }
    assert_eq!((with("turn_ended").len(), with("hook_ended look").len()), (3, 3));
    // Each id is that of a commit on the remote.
    let remote = world.repository.path("remote.git");
    let journal = project.journal();
    let kept = journal.iter().filter(|entry| entry["kind"] == "tree_kept");
    for entry in kept {
        let tree = entry["tree"].as_str().expect("a text");
        assert_eq!(world.repository.git(&remote, &["cat-file", "-t", tree]), "commit");
    }
}

#[tokio::test]
async fn a_session_without_a_keeper_stores_neither_trees_nor_files() {
    let mut project =
        Project::new(&[("loop.yaml", LOOP), ("turns.yaml", "turns: [[{say: x}]]\nthen: repeat")]);
    let others = Arc::new(Mutex::new(0));
    let seen = Arc::clone(&others);
    project.store().record(move |commit| {
        let is_ours = |kind| matches!(kind, Kind::SessionFile | Kind::SessionTree);
        *seen.lock().unwrap() += commit.puts.iter().filter(|put| is_ours(put.kind)).count();
    });
    project.take_up().await.expect("it came to an end");
    assert!(!kinds(&project.journal()).contains(&"tree_kept"));
    assert_eq!(*others.lock().unwrap(), 0);
}

#[tokio::test]
async fn a_remote_that_refuses_cuts_the_session_off_and_the_turn_is_repeated() {
    let world = World::new(&[("loop.yaml", LOOP)]).await;
    let trees = world.machine("one", 7, None).await;
    let mut project = world.project();
    keep(&mut project, &trees);
    let hook = world.repository.path("remote.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().expect("a folder")).expect("made");
    fs::write(&hook, "#!/bin/sh\necho 'not today' >&2\nexit 1\n").expect("written");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("set");
    let error = project.take_up().await.expect_err("refused");
    let SessionError::Work(KeepError::Tree(TreeError::Refused { said, .. })) = &error else {
        panic!("{error}")
    };
    assert!(said.contains("not today"), "{said}");
    let journal = project.journal();
    assert!(!kinds(&journal).contains(&"turn_ended"));
    assert!(journal.iter().any(|entry| {
        entry["kind"] == "noted"
            && entry["note"].as_str().is_some_and(|it| it.contains("not today"))
    }));
    fs::remove_file(hook).expect("removed");
    let again = world.machine("one", 8, Some(&project)).await;
    keep(&mut project, &again);
    let ended = project.take_up().await.expect("it came to an end");
    assert_eq!(ended.status, SessionStatus::Completed);
    assert_eq!(world.read("work"), "zero\none\ntwo\nthree\n");
}

#[tokio::test]
async fn while_the_remote_is_away_nothing_counts_as_ended_and_a_note_says_so() {
    let world = World::new(&[("loop.yaml", LOOP)]).await;
    let trees = world.machine("one", 7, None).await;
    let (here, away) = (world.repository.path("remote.git"), world.repository.path("away.git"));
    fs::rename(&here, &away).expect("moved");
    let notes: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&notes);
    let mut project = world.project().watched(move |event| {
        if let RunEventKind::Session(SessionEvent::Noted { note }) = &event.kind {
            told.lock().unwrap().push(note.clone());
            if note.contains("trying again") {
                fs::rename(&away, &here).expect("moved");
            }
        }
    });
    keep(&mut project, &trees);
    let ended = project.take_up().await.expect("it came to an end");
    assert_eq!(ended.status, SessionStatus::Completed);
    let notes = notes.lock().unwrap().clone();
    assert!(notes.iter().any(|it| it == "the git remote is reachable again"), "{notes:?}");
    assert_eq!(world.read("work"), "zero\none\ntwo\nthree\n");
}

#[tokio::test]
async fn an_interrupt_ends_the_wait_for_a_remote_that_is_away() {
    let world = World::new(&[("loop.yaml", LOOP)]).await;
    let trees = world.machine("one", 7, None).await;
    let here = world.repository.path("remote.git");
    fs::rename(&here, world.repository.path("away.git")).expect("moved");
    let project = world.project();
    let interrupt = project.interrupt();
    let mut project = project.watched(move |event| {
        if let RunEventKind::Session(SessionEvent::Noted { note }) = &event.kind
            && note.contains("trying again")
        {
            interrupt.ask("Ctrl-C");
        }
    });
    keep(&mut project, &trees);
    let ended = tokio::time::timeout(Duration::from_secs(60), project.take_up()).await;
    let error = ended.expect("it does not wait").expect_err("cut off");
    assert!(matches!(error, SessionError::Work(KeepError::Interrupted(_))), "{error}");
    assert!(!kinds(&project.journal()).contains(&"turn_ended"));
}

#[tokio::test]
async fn a_child_session_continues_elsewhere_with_its_parent() {
    let parent = "prompt: p
agent: {script: turns.yaml}
termination: {type: fixed, iterations: 1}
hooks: {iteration:complete: [{id: child, await: true, pipeline: child}]}
";
    let child = "prompt: p
agent: {script: child-turns.yaml}
termination: {type: fixed, iterations: 2}
";
    let turns = "turns: [[{run: 'echo child 1 >> work'}], [{run: 'echo child 2 >> work'}]]";
    let files = [("loop.yaml", parent), ("child.yaml", child), ("child-turns.yaml", turns)];
    let world = World::new(&files).await;
    let one = world.machine("one", 7, None).await;
    let turns = Arc::new(Mutex::new(0));
    let kill = Arc::new(Notify::new());
    let now = Arc::clone(&kill);
    let mut project = world.project().watched(move |event| {
        if matches!(event.kind, RunEventKind::Turn(TurnEvent::TurnStarting { .. })) {
            let mut turns = turns.lock().unwrap();
            *turns += 1;
            // The child's second one: its first is recorded, and that of the parent.
            if *turns == 3 {
                now.notify_one();
            }
        }
    });
    keep(&mut project, &one);
    project.take_up_until(kill.notified()).await;
    drop(one);
    world.lose("one");
    let two = world.machine("two", 8, Some(&project)).await;
    assert_eq!(world.read("work"), "zero\none\nchild 1\n");
    keep(&mut project, &two);
    let ended = project.take_up().await.expect("it came to an end");
    assert_eq!(ended.status, SessionStatus::Completed);
    assert_eq!(world.read("work"), "zero\none\nchild 1\nchild 2\n");
}

#[tokio::test]
async fn a_machine_takes_the_work_below_its_folder_and_removes_it_afterwards() {
    let world = World::new(&[("services/shop/loop.yaml", LOOP)]).await;
    let work = CarriedWork { prefix: "services/shop".into(), ..world.work.clone() };
    let record =
        SessionRecord { id: "id".into(), name: "calm-fox".into(), ..SessionRecord::default() };
    let name = record.name.parse().expect("a name");
    let project = Project::new(&[]);
    let calls = StoreCalls::new(project.store().shared()).expect("local");
    let folder = WorkFolder::chosen(&world.repository.path("worker"));
    let place = WorkPlace::below(&folder, &work, &name, &record.id);
    let git = world.repository.program();
    let secrets = Secrets::default();
    let keeper = take_work(git, &calls, &record, &work, 7, &place, secrets).await;
    drop(keeper.expect("prepared"));
    assert!(place.root(&work).ends_with("services/shop"));
    assert!(place.root(&work).join("loop.yaml").exists());
    place.remove().expect("removed");
    assert!(!place.work_tree.exists());
    place.remove().expect("nothing to remove");
}
