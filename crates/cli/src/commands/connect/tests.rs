//! Connect, connect again and undo, with real files of every kind.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use hookwright_dialects::hosts::{self, FileShare, Host, HostFile};

use super::plan::{FileChange, PlanFailure, to_connect, to_disconnect};
use super::undo_record::LockedRecord;
use crate::error::{ConnectFailure, SettingsFileError};

#[path = "../../../../dialects/src/settings_text/tests/generator.rs"]
mod generator;

use generator::{Dice, settings};

/// Generated settings files.
const FILES: u64 = 2_000;

const PROGRAM: &str = "/opt/my tools/hookwright";

/// What a case found.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    merged: usize,
    unchanged: usize,
    faults: usize,
    refused: usize,
}

/// A host with a file of settings, and that file.
fn shared_files() -> Vec<(&'static Host, HostFile)> {
    let first = hosts::all().iter().map(|host| (*host, host.files(PROGRAM).remove(0)));
    first.filter(|(_, file)| matches!(file.share, FileShare::Settings { .. })).collect()
}

fn events(file: &HostFile) -> Vec<String> {
    let all: serde_json::Value = serde_json::from_str(&file.text).unwrap();
    all.get("hooks").unwrap_or(&all).as_object().unwrap().keys().cloned().collect()
}

/// An entry of an older installation.
fn older_entry(host: &Host) -> String {
    format!(
        "{{\"type\": \"command\", \"command\": \"/old/bin/hookwright hook {} --deadline 5\"}}",
        host.name
    )
}

/// Every path below a folder, with what it is and has.
fn tree(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if metadata.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            all.push((path, metadata.permissions().mode(), content));
        }
    }
    all.sort();
    all
}

/// Files in memory, where there are such: the disk would be synced thousands of times.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

#[test]
fn two_thousand_settings_files_are_given_back_byte_for_byte_or_refused() {
    let hosts = shared_files();
    let mut counted = Counted::default();
    let mut dice = Dice::new(20_261_118);
    for number in 0..FILES {
        let (host, file) = &hosts[usize::try_from(number).unwrap() % hosts.len()];
        one_file(&mut dice, host, file, &mut counted);
    }
    let Counted { merged, unchanged, faults, refused } = counted;
    assert!(merged > 1_000 && faults > 100 && refused > 100, "{counted:?}");
    assert_eq!((merged + unchanged + faults + refused) as u64, FILES);
}

/// One settings file through connect, connect and undo.
fn one_file(dice: &mut Dice, host: &Host, target: &HostFile, counted: &mut Counted) {
    let root = folder();
    let (home, state) = (root.path().join("home"), root.path().join("state"));
    let path = home.join(target.path);
    fs::create_dir_all(&home).unwrap();
    let events = events(target);
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let mut text = settings(dice, &events, &older_entry(host));
    if dice.once_in(250) {
        text = text.replacen('{', &format!("{{\"big\": \"{}\",", "x".repeat(5 << 20)), 1);
    }
    lay_out(dice, &home, &path, &text);
    let before = tree(&home);
    let what = || format!("{} at {}:\n{text}", host.name, path.display());
    let plan = match to_connect(host, target, &path) {
        Ok((plan, _)) => plan,
        Err(failure) => {
            match failure {
                PlanFailure::Fault(fault) => {
                    assert!(fault.place.is_some(), "{}", what());
                    counted.faults += 1;
                }
                PlanFailure::Failed(ConnectFailure::File(
                    SettingsFileError::ReadOnly { .. }
                    | SettingsFileError::DanglingLink { .. }
                    | SettingsFileError::NotText { .. }
                    | SettingsFileError::NotAFile { .. }
                    | SettingsFileError::SeveralNames { .. },
                )) => counted.refused += 1,
                PlanFailure::Failed(other) => panic!("{other:?} {}", what()),
            }
            assert_eq!(tree(&home), before, "{}", what());
            return;
        }
    };
    if plan.change == FileChange::Nothing {
        counted.unchanged += 1;
        return;
    }
    counted.merged += 1;
    plan.connect(&state).unwrap_or_else(|failure| panic!("{failure:?} {}", what()));
    let connected = fs::read(&path).unwrap();
    let (again, _) = to_connect(host, target, &path).unwrap_or_else(|_| panic!("{}", what()));
    assert_eq!(again.change, FileChange::Nothing, "{}", what());
    assert_eq!(fs::read(&path).unwrap(), connected);
    let undo = to_disconnect(host, target, &path, &state).unwrap_or_else(|_| panic!("{}", what()));
    undo.disconnect(&state).unwrap_or_else(|failure| panic!("{failure:?} {}", what()));
    assert!(tree(&home) == before, "{}", what());
    let left = tree(&state.join("connect"));
    assert!(left.iter().all(|(path, ..)| path.extension().is_some_and(|it| it == "lock")));
}

/// The file as one of many kinds: alone, behind links, read-only, missing.
fn lay_out(dice: &mut Dice, home: &Path, path: &Path, text: &str) {
    let folder = path.parent().unwrap();
    if dice.once_in(30) {
        return;
    }
    let elsewhere = home.join("dot files");
    match dice.below(20) {
        // The folder is a link.
        0 => {
            fs::create_dir_all(&elsewhere).unwrap();
            fs::create_dir_all(folder.parent().unwrap()).unwrap();
            symlink(&elsewhere, folder).unwrap();
        }
        _ => fs::create_dir_all(folder).unwrap(),
    }
    let mut file = path.to_owned();
    match dice.below(20) {
        0 => return symlink(home.join("no such file"), path).unwrap(),
        1 => return fs::create_dir(path).unwrap(),
        2 | 3 => {
            fs::create_dir_all(&elsewhere).unwrap();
            file = elsewhere.join("linked");
            symlink(&file, path).unwrap();
        }
        _ => {}
    }
    let mut bytes = text.as_bytes().to_vec();
    if dice.once_in(60) {
        bytes.extend([b'"', 0xff, 0xfe]);
    }
    fs::write(&file, bytes).unwrap();
    let mode = match dice.below(12) {
        0 => 0o444,
        1..4 => 0o600,
        4 => 0o664,
        _ => 0o644,
    };
    fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    if dice.once_in(60) {
        fs::hard_link(&file, home.join("another name")).unwrap();
    }
}

/// A connected file of one host, with its text before.
struct Connected {
    _root: tempfile::TempDir,
    host: &'static Host,
    target: HostFile,
    path: PathBuf,
    state: PathBuf,
}

const BEFORE: &str = "{\n  // mine\n  \"model\": \"x\",\n}\n";

impl Connected {
    fn new() -> Self {
        let root = folder();
        let host = hosts::named("qwen").unwrap();
        let target = host.files(PROGRAM).remove(0);
        let (path, state) = (root.path().join(target.path), root.path().join("state"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, BEFORE).unwrap();
        let connected = Self { _root: root, host, target, path, state };
        connected.connect();
        connected
    }

    fn connect(&self) {
        let Ok((plan, _)) = to_connect(self.host, &self.target, &self.path) else { panic!() };
        plan.connect(&self.state).unwrap();
    }

    fn undo(&self) {
        let Ok(plan) = to_disconnect(self.host, &self.target, &self.path, &self.state) else {
            panic!()
        };
        plan.disconnect(&self.state).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.path).unwrap()
    }

    fn edit(&self, from: &str, to: &str) {
        let text = self.text();
        assert!(text.contains(from), "{text}");
        fs::write(&self.path, text.replacen(from, to, 1)).unwrap();
    }
}

#[test]
fn a_file_that_was_edited_loses_only_our_entries() {
    let file = Connected::new();
    file.edit("\"x\"", "\"y\"");
    file.undo();
    assert_eq!(file.text(), BEFORE.replace("\"x\"", "\"y\""));
}

#[test]
fn an_edit_between_two_connections_survives_the_undo() {
    let mut file = Connected::new();
    file.edit("\"x\"", "\"y\"");
    file.target = file.host.files("/newer/hookwright").remove(0);
    file.connect();
    assert!(file.text().contains("/newer/hookwright") && !file.text().contains(PROGRAM));
    file.undo();
    assert_eq!(file.text(), BEFORE.replace("\"x\"", "\"y\""));
}

#[test]
fn an_update_of_our_path_still_gives_back_the_first_content() {
    let mut file = Connected::new();
    file.target = file.host.files("/newer/hookwright").remove(0);
    file.connect();
    file.undo();
    assert_eq!(file.text(), BEFORE);
}

#[test]
fn a_crash_after_the_record_and_before_the_file_is_no_edit() {
    let file = Connected::new();
    let connected = file.text();
    // As if the first connection had ended before it replaced the file.
    fs::write(&file.path, BEFORE).unwrap();
    file.undo();
    assert_eq!(file.text(), BEFORE);
    file.connect();
    fs::write(&file.path, BEFORE).unwrap();
    file.connect();
    assert_eq!(file.text(), connected);
    file.undo();
    assert_eq!(file.text(), BEFORE);
}

#[test]
fn a_file_that_changes_after_it_was_shown_stays() {
    let file = Connected::new();
    file.undo();
    let Ok((plan, _)) = to_connect(file.host, &file.target, &file.path) else { panic!() };
    fs::write(&file.path, "{}").unwrap();
    let refused = plan.connect(&file.state);
    assert!(
        matches!(refused, Err(ConnectFailure::File(SettingsFileError::ChangedMeanwhile { .. }))),
        "{refused:?}"
    );
    assert_eq!(file.text(), "{}");
}

#[test]
fn a_damaged_record_changes_nothing_and_a_wrong_backup_is_never_written() {
    let file = Connected::new();
    let connected = file.text();
    for entry in fs::read_dir(file.state.join("connect")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "original") {
            fs::write(&path, "{\"evil\": true}").unwrap();
        }
    }
    let plan = to_disconnect(file.host, &file.target, &file.path, &file.state);
    assert!(
        matches!(plan, Err(PlanFailure::Failed(ConnectFailure::DamagedRecord { .. }))),
        "{plan:?}"
    );
    assert_eq!(file.text(), connected);
}

#[test]
fn two_connections_of_one_file_at_once_do_not_mix() {
    let file = Connected::new();
    let Ok((plan, _)) = to_connect(file.host, &file.target, &file.path) else { panic!() };
    let held = LockedRecord::of(&file.state, &plan.file).unwrap();
    drop(held);
    file.undo();
    let Ok((first, _)) = to_connect(file.host, &file.target, &file.path) else { panic!() };
    let Ok((second, _)) = to_connect(file.host, &file.target, &file.path) else { panic!() };
    let state = &file.state;
    let results = std::thread::scope(|scope| {
        let all = [&first, &second].map(|plan| scope.spawn(move || plan.connect(state).is_ok()));
        all.map(|thread| thread.join().unwrap())
    });
    assert_eq!(results.iter().filter(|done| **done).count(), 1, "the other one sees the change");
    file.undo();
    assert_eq!(file.text(), BEFORE);
}
