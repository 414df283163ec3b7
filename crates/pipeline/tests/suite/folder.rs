//! A session's folder: what is in it, what never leaves it, and what a crash leaves.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hookwright_pipeline::folder::{
    AgentStatus, BrokenStatus, ChildOutput, Context, ContextInputs, ContextLimits, ContextStage,
    FolderError, IterationAt, SessionFolder, StageAt, StatusDecision, StatusFile, TurnAt, TurnKind,
    TurnTexts,
};
use hookwright_pipeline::limits::STATUS_BYTES_MAX;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Each step alone, opening the folder again.
trait OneByOne {
    fn create_iteration(&self, at: IterationAt<'_>) -> Result<(), FolderError>;
    fn write_context(&self, at: IterationAt<'_>, context: &Context) -> Result<(), FolderError>;
    fn write_output(&self, at: IterationAt<'_>, text: &[u8]) -> Result<(), FolderError>;
    fn forget_status(&self, at: IterationAt<'_>) -> Result<(), FolderError>;
    fn forget_output(&self, at: IterationAt<'_>) -> Result<(), FolderError>;
    fn has_output(&self, at: IterationAt<'_>) -> Result<bool, FolderError>;
    fn read_status(&self, at: IterationAt<'_>) -> StatusFile;
}

impl OneByOne for SessionFolder {
    fn create_iteration(&self, at: IterationAt<'_>) -> Result<(), FolderError> {
        self.make_iteration(at).map(drop)
    }

    fn write_context(&self, at: IterationAt<'_>, context: &Context) -> Result<(), FolderError> {
        self.make_iteration(at)?.write_context(context)
    }

    fn write_output(&self, at: IterationAt<'_>, text: &[u8]) -> Result<(), FolderError> {
        self.make_iteration(at)?.write_output(text)
    }

    fn forget_status(&self, at: IterationAt<'_>) -> Result<(), FolderError> {
        self.open_iteration(at)?.map_or(Ok(()), |folder| folder.forget_status())
    }

    fn forget_output(&self, at: IterationAt<'_>) -> Result<(), FolderError> {
        self.open_iteration(at)?.map_or(Ok(()), |folder| folder.forget_output())
    }

    fn has_output(&self, at: IterationAt<'_>) -> Result<bool, FolderError> {
        self.open_iteration(at)?.map_or(Ok(false), |folder| folder.has_output())
    }

    fn read_status(&self, at: IterationAt<'_>) -> StatusFile {
        match self.open_iteration(at) {
            Ok(folder) => folder.map_or(StatusFile::Missing, |folder| folder.read_status()),
            Err(error) => {
                let cause = error.to_string();
                StatusFile::Broken(BrokenStatus::Unreadable { cause })
            }
        }
    }
}

const PLAN: StageAt<'_> = StageAt { index: 0, name: "plan" };
const FIRST: IterationAt<'_> = IterationAt { stage: PLAN, iteration: 1 };

fn folder_in(root: &Path) -> SessionFolder {
    SessionFolder::new(root, "calm-fox".parse().expect("a name"))
}

fn created() -> (TempDir, SessionFolder) {
    let root = TempDir::new().expect("a folder");
    let folder = folder_in(root.path());
    folder.create().expect("created");
    (root, folder)
}

/// All files and folders below, relative to it.
fn everything_below(path: &Path) -> Vec<String> {
    fn add(path: &Path, from: &Path, all: &mut Vec<String>) {
        for entry in fs::read_dir(path).expect("a folder") {
            let path = entry.expect("an entry").path();
            all.push(path.strip_prefix(from).expect("below").display().to_string());
            if path.is_dir() && !path.is_symlink() {
                add(&path, from, all);
            }
        }
    }
    let mut all = Vec::new();
    add(path, path, &mut all);
    all.sort();
    all
}

fn context(folder: &SessionFolder, at: IterationAt<'_>, pipeline: &str) -> Context {
    Context {
        version: Context::VERSION,
        session: folder.session().to_string(),
        pipeline: pipeline.to_owned(),
        stage: ContextStage {
            id: at.stage.name.to_owned(),
            index: at.stage.index,
            template: "improve-plan".to_owned(),
        },
        iteration: at.iteration,
        item: None,
        paths: folder.context_paths(at),
        inputs: ContextInputs::default(),
        limits: ContextLimits { max_iterations: Some(25), remaining_seconds: None },
    }
}

#[test]
fn a_new_attempt_of_a_turn_removes_the_agents_output_of_the_last_one() {
    let (_root, folder) = created();
    for kind in [TurnKind::Iteration, TurnKind::RawDelivery] {
        let turn = folder.make_iteration(FIRST).expect("made");
        turn.keep_prompt(kind, "go").expect("kept");
        turn.keep_said(kind, "attempt 1").expect("kept");
        turn.keep_prompt(kind, "go on").expect("kept");
        let kept = folder.read_turn(TurnAt { iteration: FIRST, kind }).expect("read");
        assert_eq!(kept, TurnTexts { prompt: Some("go on".to_owned()), said: None });
    }
}

#[test]
fn the_next_write_removes_the_second_name_that_a_killed_writer_left() {
    let (root, folder) = created();
    let notes = folder.progress();
    let other_name = notes.with_file_name(".progress.md.1-0.unfinished");
    fs::hard_link(&notes, &other_name).expect("linked");
    fs::write(&notes, "my notes").expect("written");
    folder.create().expect("it is there already");
    assert!(!other_name.exists(), "{:?}", everything_below(root.path()));
    assert_eq!(fs::read_to_string(&notes).expect("read"), "my notes");
}

#[test]
fn a_new_folder_has_its_own_ignore_file_notes_with_a_heading_and_room_for_children() {
    let (root, folder) = created();
    assert_eq!(
        everything_below(root.path()),
        [
            ".hookwright",
            ".hookwright/sessions",
            ".hookwright/sessions/.gitignore",
            ".hookwright/sessions/calm-fox",
            ".hookwright/sessions/calm-fox/children",
            ".hookwright/sessions/calm-fox/progress.md",
        ]
    );
    let ignore = root.path().join(".hookwright/sessions/.gitignore");
    assert_eq!(fs::read_to_string(ignore).expect("there"), "*\n");
    assert_eq!(fs::read_to_string(folder.progress()).expect("there"), "# Progress: calm-fox\n");
    assert_eq!(folder.path(), root.path().join(".hookwright/sessions/calm-fox"));
    assert!(folder.children().is_dir());
    let from_root = folder.progress();
    let from_root = folder.from_root(&from_root);
    assert_eq!(from_root, Path::new(".hookwright/sessions/calm-fox/progress.md"));
}

#[test]
fn outputs_are_named_relative_to_the_root() {
    let folder = folder_in(Path::new("/project"));
    let stage = StageAt { index: 3, name: "look & see" };
    let iterations = [1, 20, 4321];
    let named = iterations.map(|iteration| {
        let output = folder.output(IterationAt { stage, iteration });
        folder.from_root(&output).display().to_string()
    });
    assert_eq!(folder.outputs_from_root(stage, &iterations), named);
    assert_eq!(
        named[1],
        ".hookwright/sessions/calm-fox/stage-03-look---see/iterations/020/output.md"
    );
}

#[test]
fn git_sees_nothing_of_it() {
    let (root, folder) = created();
    folder.write_output(FIRST, b"x").expect("written");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root.path()).output();
        String::from_utf8(output.expect("git is there").stdout).expect("text")
    };
    git(&["init", "-q"]);
    assert_eq!(git(&["status", "--porcelain", "--untracked-files=all"]), "");
}

#[test]
fn creating_it_again_overwrites_nothing() {
    let (root, folder) = created();
    let ignore = root.path().join(".hookwright/sessions/.gitignore");
    fs::write(folder.progress(), "my notes").expect("written");
    fs::write(&ignore, "*\n!kept\n").expect("written");
    assert!(folder.exists().expect("readable"));
    folder.create().expect("created");
    assert_eq!(fs::read_to_string(folder.progress()).expect("there"), "my notes");
    assert_eq!(fs::read_to_string(ignore).expect("there"), "*\n!kept\n");
}

#[test]
fn a_session_that_never_was_has_no_folder() {
    let root = TempDir::new().expect("a folder");
    let folder = folder_in(root.path());
    assert!(!folder.exists().expect("readable"));
    assert_eq!(folder.read_status(FIRST), StatusFile::Missing);
    assert_eq!(folder.stage_outputs(PLAN).expect("readable"), Vec::<PathBuf>::new());
    assert!(!folder.has_output(FIRST).expect("readable"));
    folder.forget_status(FIRST).expect("nothing to forget");
    assert_eq!(everything_below(root.path()), Vec::<String>::new());
}

#[test]
fn sessions_that_start_at_once_do_not_disturb_each_other() {
    for _ in 0..20 {
        let root = TempDir::new().expect("a folder");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let root = root.path();
                scope.spawn(move || {
                    let name = format!("s{number}").parse().expect("a name");
                    SessionFolder::new(root, name).create().expect("created");
                });
            }
        });
        let names = everything_below(&root.path().join(".hookwright/sessions"));
        assert_eq!(names.len(), 1 + 8 * 3, "{names:?}");
    }
}

#[test]
fn an_iteration_has_its_files_in_a_folder_with_three_digits_or_more() {
    let (_root, folder) = created();
    let stage = StageAt { index: 7, name: "work" };
    for (iteration, name) in [(1, "001"), (42, "042"), (1_000, "1000"), (1_000_000, "1000000")] {
        let at = IterationAt { stage, iteration };
        let expected = folder.path().join("stage-07-work/iterations").join(name);
        folder.create_iteration(at).expect("made");
        assert!(expected.is_dir());
        assert_eq!(folder.context(at), expected.join("context.json"));
        assert_eq!(folder.status(at), expected.join("status.json"));
        assert_eq!(folder.output(at), expected.join("output.md"));
    }
}

#[test]
fn no_name_of_a_stage_leaves_the_session() {
    let (_root, folder) = created();
    for (index, name) in [(0, "../../x"), (1, "a/b"), (2, "é\n."), (3, "")] {
        let at = IterationAt { stage: StageAt { index, name }, iteration: 1 };
        folder.write_output(at, b"x").expect("written");
        let shown = folder.stage(at.stage);
        assert_eq!(shown.parent(), Some(folder.path()), "{name}");
        assert_eq!(folder.stage_outputs(at.stage).expect("readable"), [folder.output(at)]);
    }
    let stage = StageAt { index: 4, name: &"long".repeat(200) };
    folder.create_iteration(IterationAt { stage, iteration: 1 }).expect("made");
}

#[test]
fn the_context_has_the_shape_that_agents_know() {
    let (_root, folder) = created();
    let at = IterationAt { stage: StageAt { index: 1, name: "work" }, iteration: 3 };
    let mut context = context(&folder, at, "full-workflow");
    context.inputs = ContextInputs {
        from_parent: None,
        from_stage: BTreeMap::from([("plan".to_owned(), vec!["a/output.md".to_owned()])]),
        from_previous_iterations: vec!["b/output.md".to_owned()],
    };
    folder.write_context(at, &context).expect("written");
    let read = || -> Value {
        serde_json::from_slice(&fs::read(folder.context(at)).expect("there")).expect("JSON")
    };
    let dir = folder.path().display();
    let iteration = format!("{dir}/stage-01-work/iterations/003");
    let mut expected = json!({
        "version": 1,
        "session": "calm-fox",
        "pipeline": "full-workflow",
        "stage": {"id": "work", "index": 1, "template": "improve-plan"},
        "iteration": 3,
        "paths": {
            "session_dir": format!("{dir}"),
            "stage_dir": format!("{dir}/stage-01-work"),
            "progress": format!("{dir}/progress.md"),
            "output": format!("{iteration}/output.md"),
            "status": format!("{iteration}/status.json"),
        },
        "inputs": {
            "from_stage": {"plan": ["a/output.md"]},
            "from_previous_iterations": ["b/output.md"],
        },
        "limits": {"max_iterations": 25, "remaining_seconds": -1},
    });
    assert_eq!(read(), expected);

    context.limits.remaining_seconds = Some(3600);
    folder.write_context(at, &context).expect("written again");
    expected["limits"]["remaining_seconds"] = json!(3600);
    assert_eq!(read(), expected);
}

#[test]
fn outputs_of_a_stage_come_in_the_order_of_its_iterations() {
    let (_root, folder) = created();
    let at = |iteration| IterationAt { stage: PLAN, iteration };
    for iteration in [1000, 2, 999, 1] {
        folder.write_output(at(iteration), b"x").expect("written");
    }
    folder.write_output(at(2), b"again").expect("written again");
    // Iterations without an output, with something else in its place, or invalid ones.
    folder.create_iteration(at(3)).expect("made");
    fs::create_dir_all(folder.output(at(4))).expect("made");
    folder.create_iteration(at(5)).expect("made");
    symlink(folder.output(at(1)), folder.output(at(5))).expect("linked");
    for name in ["0001", "000", "abc", "+12", "-1", "6 "] {
        let other = folder.stage(PLAN).join("iterations").join(name);
        fs::create_dir_all(&other).expect("made");
        fs::write(other.join("output.md"), "x").expect("written");
    }
    let outputs = folder.stage_outputs(PLAN).expect("readable");
    assert_eq!(outputs, [1, 2, 999, 1000].map(|iteration| folder.output(at(iteration))));
    assert_eq!(fs::read(&outputs[1]).expect("there"), b"again");
    let has = |iteration| folder.has_output(at(iteration)).expect("readable");
    assert_eq!([1, 2, 3, 4, 5, 6].map(has), [true, true, false, false, false, false]);
}

#[test]
fn the_agents_answer_is_read() {
    let (_root, folder) = created();
    folder.create_iteration(FIRST).expect("made");
    assert_eq!(folder.read_status(FIRST), StatusFile::Missing);
    fs::write(folder.status(FIRST), r#"{"decision": "stop", "reason": "done"}"#).expect("written");
    let status = AgentStatus {
        decision: StatusDecision::Stop,
        reason: "done".to_owned(),
        summary: String::new(),
        failure: None,
        resets_at: None,
        retry_after: None,
        usage: None,
        agent_session: None,
    };
    assert_eq!(folder.read_status(FIRST), StatusFile::Read(Box::new(status)));
}

#[test]
fn a_stale_answer_and_a_stale_output_can_be_forgotten() {
    let (_root, folder) = created();
    folder.create_iteration(FIRST).expect("made");
    fs::write(folder.status(FIRST), r#"{"decision": "stop"}"#).expect("written");
    folder.write_output(FIRST, b"x").expect("written");
    for _ in 0..2 {
        folder.forget_status(FIRST).expect("forgotten");
        folder.forget_output(FIRST).expect("forgotten");
        assert_eq!(folder.read_status(FIRST), StatusFile::Missing);
        assert!(!folder.has_output(FIRST).expect("readable"));
    }
    // A link is removed, not its target.
    fs::write(folder.progress(), "notes").expect("written");
    symlink(folder.progress(), folder.status(FIRST)).expect("linked");
    folder.forget_status(FIRST).expect("forgotten");
    assert_eq!(fs::read_to_string(folder.progress()).expect("there"), "notes");
    fs::create_dir(folder.status(FIRST)).expect("made");
    let error = folder.forget_status(FIRST).expect_err("a folder");
    assert!(matches!(&error, FolderError::NotAFile { path } if *path == folder.status(FIRST)));
}

#[test]
fn an_answer_that_is_not_a_file_is_broken_and_blocks_nothing() {
    let (root, folder) = created();
    folder.create_iteration(FIRST).expect("made");
    let status = folder.status(FIRST);
    let found = |make: &dyn Fn(&Path)| {
        make(&status);
        let read = folder.read_status(FIRST);
        folder.forget_status(FIRST).or_else(|_| fs::remove_dir(&status)).expect("removed");
        match read {
            StatusFile::Broken(broken) => broken.to_string(),
            StatusFile::Missing | StatusFile::Read(_) => panic!("{read:?}"),
        }
    };
    assert_eq!(
        found(&|path| fs::create_dir(path).expect("made")),
        "status.json is a folder, expected a file"
    );
    // No process ever writes into it.
    let pipe = |path: &Path| {
        assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo is there").success());
    };
    assert_eq!(found(&pipe), "status.json is a pipe, expected a file");
    let elsewhere = root.path().join("elsewhere.json");
    fs::write(&elsewhere, r#"{"decision": "stop"}"#).expect("written");
    assert_eq!(
        found(&|path| symlink(&elsewhere, path).expect("linked")),
        "status.json is a symbolic link, expected a file"
    );
    // The path of a socket must be short, so it is created elsewhere and moved.
    let short = root.path().join("s");
    let socket = |path: &Path| {
        drop(UnixListener::bind(&short).expect("bound"));
        fs::rename(&short, path).expect("moved");
    };
    assert_eq!(found(&socket), "status.json is a socket, expected a file");
}

#[test]
fn an_answer_without_end_is_too_big_and_is_not_read() {
    let (_root, folder) = created();
    folder.create_iteration(FIRST).expect("made");
    let file = fs::File::create(folder.status(FIRST)).expect("made");
    let bytes = 1 << 40;
    file.set_len(bytes).expect("a hole of any size");
    let broken = BrokenStatus::TooBig { bytes, bytes_max: STATUS_BYTES_MAX };
    assert_eq!(folder.read_status(FIRST), StatusFile::Broken(broken));
    file.set_len(0).expect("cut");
    let mut text = r#"{"decision": "continue"}"#.to_owned();
    text.push_str(&" ".repeat(usize::try_from(STATUS_BYTES_MAX).expect("small") - text.len()));
    (&file).write_all(text.as_bytes()).expect("written");
    assert!(matches!(folder.read_status(FIRST), StatusFile::Read(_)));
    (&file).write_all(b" ").expect("written");
    assert!(matches!(folder.read_status(FIRST), StatusFile::Broken(BrokenStatus::TooBig { .. })));
}

#[test]
fn no_link_in_a_path_is_followed() {
    let outside = TempDir::new().expect("a folder");
    let iterations = ".hookwright/sessions/calm-fox/stage-00-plan/iterations";
    let mut planted = PathBuf::new();
    for part in Path::new(iterations).join("001").components() {
        planted.push(part);
        let root = TempDir::new().expect("a folder");
        let link = root.path().join(&planted);
        fs::create_dir_all(link.parent().expect("a parent")).expect("made");
        symlink(outside.path(), &link).expect("linked");
        let folder = folder_in(root.path());
        let is_link = |error: &FolderError| matches!(error, FolderError::SymbolicLink { path } if *path == link);
        let context = context(&folder, FIRST, "x");
        assert!(is_link(&folder.write_context(FIRST, &context).expect_err("a link")), "{link:?}");
        assert!(is_link(&folder.write_output(FIRST, b"x").expect_err("a link")));
        assert!(is_link(&folder.forget_status(FIRST).expect_err("a link")));
        assert!(is_link(&folder.stage_outputs(PLAN).map_or_else(
            |error| error,
            |outputs| {
                // The last link is inside the listed folder.
                panic!("{outputs:?}")
            }
        )));
        assert!(matches!(
            folder.read_status(FIRST),
            StatusFile::Broken(BrokenStatus::Unreadable { .. })
        ));
    }
    assert_eq!(everything_below(outside.path()), Vec::<String>::new());
}

#[test]
fn a_link_in_a_files_place_is_replaced_and_its_target_stays() {
    let (root, folder) = created();
    folder.create_iteration(FIRST).expect("made");
    let outside = root.path().join("precious");
    fs::write(&outside, "precious").expect("written");
    symlink(&outside, folder.output(FIRST)).expect("linked");
    symlink(&outside, folder.context(FIRST)).expect("linked");
    folder.write_output(FIRST, b"new").expect("written");
    folder.write_context(FIRST, &context(&folder, FIRST, "x")).expect("written");
    assert_eq!(fs::read_to_string(&outside).expect("there"), "precious");
    assert_eq!(fs::read_to_string(folder.output(FIRST)).expect("there"), "new");
    assert!(!folder.output(FIRST).is_symlink() && !folder.context(FIRST).is_symlink());

    fs::remove_file(folder.progress()).expect("removed");
    symlink(root.path().join("new"), folder.progress()).expect("linked");
    let error = folder.create().expect_err("a link");
    assert!(matches!(&error, FolderError::SymbolicLink { path } if *path == folder.progress()));
    assert!(!root.path().join("new").exists());
}

#[test]
fn the_root_itself_may_be_a_link() {
    let (root, _folder) = created();
    let link = root.path().join("link");
    symlink(root.path(), &link).expect("linked");
    folder_in(&link).write_output(FIRST, b"x").expect("written");
    assert!(folder_in(root.path()).has_output(FIRST).expect("readable"));
}

#[test]
fn an_obstacle_is_named() {
    let root = TempDir::new().expect("a folder");
    let gone = root.path().join("gone");
    let error = folder_in(&gone).create().expect_err("no root");
    assert_eq!(error.to_string(), format!("the project root `{}` does not exist", gone.display()));

    let file = root.path().join(".hookwright");
    fs::write(&file, "x").expect("written");
    let in_the_way = format!("expected a folder at `{}` but found something else", file.display());
    assert_eq!(folder_in(root.path()).create().expect_err("a file").to_string(), in_the_way);
    let in_the_way = format!("expected a folder at `{}` but found something else", file.display());
    assert_eq!(folder_in(root.path()).exists().expect_err("a file").to_string(), in_the_way);
    fs::remove_file(file).expect("removed");

    let folder = folder_in(root.path());
    folder.create_iteration(FIRST).expect("made");
    for path in [folder.progress(), folder.output(FIRST)] {
        fs::create_dir(&path).expect("made");
        let error = if path == folder.progress() {
            folder.create().expect_err("a folder")
        } else {
            folder.write_output(FIRST, b"x").expect_err("a folder")
        };
        let said = format!("expected a file at `{}` but found something else", path.display());
        assert_eq!(error.to_string(), said);
    }
    assert_eq!(unfinished(folder.output(FIRST).parent().expect("a folder")), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_may_not_be_written_is_named_with_the_systems_reason() {
    // No user can make folders there, not even root.
    let error = folder_in(Path::new("/sys")).create().expect_err("not writable");
    let FolderError::NotWritable { path, source } = &error else { panic!("{error:?}") };
    assert_eq!(path, Path::new("/sys/.hookwright"));
    let said = format!("`/sys/.hookwright` can't be written: {source}");
    assert_eq!(error.to_string(), said);
}

/// Leftovers of writers in a folder.
fn unfinished(folder: &Path) -> Vec<String> {
    let names = everything_below(folder);
    names.into_iter().filter(|name| name.ends_with(".unfinished")).collect()
}

/// The command that runs one ignored test of this binary.
fn in_its_own_process(test: &str) -> Vec<String> {
    let binary = std::env::current_exe().expect("this test has a path");
    let mut words = vec![binary.display().to_string()];
    words.extend(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"].map(Into::into));
    words
}

#[test]
fn a_full_disk_is_an_error_that_leaves_the_old_file_and_nothing_else() {
    let (root, folder) = created();
    folder.write_output(FIRST, b"old").expect("written");
    // The system refuses to let a file grow past the limit, as it does on a full disk.
    let output = Command::new("sh")
        .args(["-c", r#"trap '' XFSZ; ulimit -f 16; exec "$@""#, "sh"])
        .args(in_its_own_process("folder::writes_more_than_there_is_room_for"))
        .current_dir(root.path())
        .output()
        .expect("sh is there");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
    assert_eq!(fs::read(folder.output(FIRST)).expect("there"), b"old");
    assert_eq!(unfinished(root.path()), Vec::<String>::new());
}

#[test]
#[ignore = "runs in a process of its own"]
fn writes_more_than_there_is_room_for() {
    let folder = folder_in(Path::new("."));
    let error = folder.write_output(FIRST, &[b'x'; 1 << 20]).expect_err("no room");
    let FolderError::NoRoom { path, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*path, folder.output(FIRST));
}

#[test]
fn leftovers_of_a_crash_do_not_count_as_outputs_and_the_next_write_removes_them() {
    let (_root, folder) = created();
    folder.create_iteration(FIRST).expect("made");
    let dir = folder.output(FIRST).parent().expect("a folder").to_owned();
    let leftover = dir.join(".output.md.123-4.unfinished");
    let others = dir.join(".context.json.123-4.unfinished");
    fs::write(&leftover, "half").expect("written");
    fs::write(&others, "half").expect("written");
    assert!(!folder.has_output(FIRST).expect("readable"));
    folder.write_output(FIRST, b"whole").expect("written");
    assert!(!leftover.exists() && others.exists());
    folder.write_context(FIRST, &context(&folder, FIRST, "x")).expect("written");
    assert_eq!(unfinished(&dir), Vec::<String>::new());
}

/// The minimum number of kills.
const KILLS: u32 = 60;
/// The minimum number of kills in the middle of a write.
const HITS: u32 = 5;
/// Long enough for any machine: one of a few kills is a hit.
const KILLS_MAX: u32 = 3_000;

#[test]
fn whenever_the_writer_is_killed_every_file_is_whole() {
    let (root, folder) = created();
    let dir = folder.output(FIRST).parent().expect("a folder").to_owned();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let seed = now.as_nanos() as u64;
    let mut random = Random(seed | 1);
    let (mut kills, mut hits) = (0, 0);
    while kills < KILLS || hits < HITS {
        assert!(kills < KILLS_MAX, "only {hits} of {kills} kills came in the middle of a write");
        kill_a_writer(root.path(), &mut random);
        kills += 1;
        hits += u32::from(!unfinished(&dir).is_empty());

        assert!(unfinished(&dir).len() <= 1, "cleaned up by the next write of that file");

        let output = fs::read(folder.output(FIRST)).expect("it has written more than once");
        assert_eq!(output, written_output(number_in(&output)), "kill {kills} with seed {seed}");
        let context = fs::read(folder.context(FIRST)).expect("it has written more than once");
        let context: Value = serde_json::from_slice(&context).expect("whole JSON");
        let number = context["pipeline"].as_str().map(|text| number_in(text.as_bytes()));
        assert_eq!(context["pipeline"], json!(written_text(number.expect("a text"))));
    }
}

/// Starts the writer, waits for its first files, and kills it at a random moment after that.
fn kill_a_writer(root: &Path, random: &mut Random) {
    let words = in_its_own_process("folder::writes_until_it_is_killed");
    let mut writer = Command::new(&words[0])
        .args(&words[1..])
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut lines = BufReader::new(writer.stdout.take().expect("piped")).lines();
    let has_written = lines.by_ref().any(|line| line.expect("text") == "written");
    assert!(has_written, "it writes until it is killed");
    // No event to wait for: the moment is random on purpose.
    std::thread::sleep(Duration::from_micros(random.below(5_000)));
    writer.kill().expect("it runs");
    writer.wait().expect("it has ended");
}

#[test]
#[ignore = "runs in a process of its own, until it is killed"]
fn writes_until_it_is_killed() {
    let folder = folder_in(Path::new("."));
    let mut out = std::io::stdout();
    let first = u64::from(std::process::id());
    // Made beforehand, so that most of the time is spent writing.
    let written: Vec<(Vec<u8>, Context)> = (first..first + 5)
        .map(|number| (written_output(number), context(&folder, FIRST, &written_text(number))))
        .collect();
    let mut told = false;
    for (output, context) in written.iter().cycle() {
        folder.write_output(FIRST, output).expect("written");
        folder.write_context(FIRST, context).expect("written");
        if !told {
            out.write_all(b"\nwritten\n").and_then(|()| out.flush()).expect("the killer reads");
            told = true;
        }
    }
}

/// A text that contains its number, with a length of its own.
fn written_text(number: u64) -> String {
    let length = 1 + usize::try_from(number % 97).expect("small") * 4;
    format!("{number:010} ").repeat(length)
}

fn written_output(number: u64) -> Vec<u8> {
    written_text(number).repeat(100).into_bytes()
}

fn number_in(text: &[u8]) -> u64 {
    let first = text.get(..10).and_then(|bytes| std::str::from_utf8(bytes).ok());
    first.and_then(|text| text.parse().ok()).expect("begins with its number")
}

/// Xorshift: good enough for moments to kill.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

// Conformance: agent-pipelines-050
#[test]
fn a_childs_folder_is_a_sessions_folder_within_its_parents() {
    let (root, folder) = created();
    let child = folder.of_child("stage_complete-1", "calm-fox--x".parse().expect("a name"));
    child.create().expect("created");
    child.create_iteration(FIRST).expect("made");
    let inputs = json!({ "files": ["a"] });
    child.write_inputs(inputs.as_object().expect("a map")).expect("written");
    child.write_child_output(&json!({ "status": "completed" })).expect("written");
    let below = everything_below(&root.path().join(".hookwright/sessions/calm-fox/children"));
    let at = |name: &str| format!("stage_complete-1/{name}");
    assert_eq!(
        below,
        [
            "stage_complete-1".to_owned(),
            at("children"),
            at("inputs.json"),
            at("output.json"),
            at("progress.md"),
            at("stage-00-plan"),
            at("stage-00-plan/iterations"),
            at("stage-00-plan/iterations/001"),
        ]
    );
    assert_eq!(child.read_inputs().expect("read").map(Value::Object), Some(inputs));
    let deeper = child.of_child("session_end-0", "calm-fox--x--y".parse().expect("a name"));
    assert_eq!(deeper.path(), child.children().join("session_end-0"));
    child.remove().expect("removed");
    assert_eq!(everything_below(&folder.children()), Vec::<String>::new());
    assert!(folder.exists().expect("looked"));
}

#[test]
fn a_childs_inputs_are_readable_by_its_user_only_because_they_may_contain_a_secret() {
    let (_root, folder) = created();
    let inputs = json!({ "key": "hunter22" });
    // Also in place of a file that other users could read.
    fs::write(folder.inputs(), "{}").expect("written");
    fs::set_permissions(folder.inputs(), fs::Permissions::from_mode(0o644)).expect("set");
    folder.write_inputs(inputs.as_object().expect("a map")).expect("written");
    let mode = fs::metadata(folder.inputs()).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_childs_output_may_be_any_json_and_nothing_else() {
    let (_root, folder) = created();
    let path = folder.path().join("output.json");
    assert_eq!(folder.read_child_output().expect("read"), ChildOutput::Missing);
    fs::write(&path, "[1, \"two\"]").expect("written");
    assert_eq!(folder.read_child_output().expect("read"), ChildOutput::Read(json!([1, "two"])));
    fs::write(&path, "{broken").expect("written");
    let ChildOutput::Broken(why) = folder.read_child_output().expect("read") else {
        panic!("it is broken")
    };
    assert!(why.starts_with("`output.json` is not JSON: "), "{why}");
    fs::remove_file(&path).expect("removed");
    symlink("/etc/passwd", &path).expect("linked");
    let why = "expected a file `output.json` but found a symbolic link".to_owned();
    assert_eq!(folder.read_child_output().expect("read"), ChildOutput::Broken(why));
    fs::remove_file(&path).expect("removed");
    fs::write(&path, vec![b' '; 1024 * 1024 + 1]).expect("written");
    let why = "`output.json` has 1048577 bytes, expected at most 1048576".to_owned();
    assert_eq!(folder.read_child_output().expect("read"), ChildOutput::Broken(why));
}
