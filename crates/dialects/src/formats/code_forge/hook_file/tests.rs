use super::*;

/// A project and a configuration folder.
struct Place {
    folder: tempfile::TempDir,
    project: PathBuf,
    config_home: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (project, config_home) = (folder.path().join("project"), folder.path().join("config"));
        Self { folder, project, config_home }
    }

    fn whereabouts(&self) -> Whereabouts<'_> {
        Whereabouts { project: &self.project, home: None, config_home: Some(&self.config_home) }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    fn read(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.folder.path().join(name)).expect("it is there");
        serde_json::from_str(&text).expect("JSON")
    }
}

fn hook(event: &str) -> Entry {
    Entry::new(event, "true")
}

// Conformance: code-forge-011, code-forge-044, code-forge-075
#[test]
fn saved_hooks_are_read_back_unchanged() {
    let place = Place::new();
    let all = [hook("tool:*").timeout(2.5), hook("*").description("é")];
    let global = save_global(&place.whereabouts(), &all).expect("saved");
    assert_eq!(global, place.config_home.join("src/forge/hooks.json"));
    let project = save_project(&place.whereabouts(), &all[..1]).expect("saved");
    assert_eq!(project, place.project.join(".src/forge/hooks.json"));
    assert_eq!(load_global(&place.whereabouts()), (all.to_vec(), vec![]));
    assert_eq!(load_project(&place.whereabouts()), (all[..1].to_vec(), vec![]));
    let text = fs::read_to_string(project).expect("it is there");
    let written = "{\n  \"hooks\": [\n    {\n      \"event\": \"tool:*\",\n      \"command\": \"true\",\n      \
                   \"timeout\": 2.5\n    }\n  ]\n}\n";
    assert_eq!(text, written);
}

// Conformance: code-forge-045
#[test]
fn without_files_there_are_no_hooks() {
    let place = Place::new();
    assert_eq!(load_global(&place.whereabouts()), (default_hooks(), vec![]));
    assert_eq!(load_project(&place.whereabouts()), (default_hooks(), vec![]));
}

#[test]
fn other_keys_and_unreadable_entries_are_kept() {
    let place = Place::new();
    let before = json!({ "version": 3, "hooks": [
        { "event": "*", "command": "old", "owner": "me" },
        { "event": "tool:pre_exec", "command": "to be fixed" },
        { "event": "tool:pre_exec,*", "command": "half of it works" },
        "not a hook",
    ], "more": { "x": [1] } });
    place.write("project/.forge/hooks.json", &before.to_string());
    let (mut hooks, left_out) = load_project(&place.whereabouts());
    assert_eq!((hooks.len(), left_out.len()), (2, 3));
    hooks[0].command = "new".into();
    save_project(&place.whereabouts(), &hooks).expect("saved");
    let after = json!({ "version": 3, "hooks": [
        { "event": "*", "command": "new", "owner": "me" },
        { "event": "tool:pre_exec,*", "command": "half of it works" },
        { "event": "tool:pre_exec", "command": "to be fixed" },
        "not a hook",
    ], "more": { "x": [1] } });
    assert_eq!(place.read("project/.forge/hooks.json"), after);
}

#[test]
fn saving_over_two_files_puts_all_hooks_into_one() {
    let place = Place::new();
    let one =
        |command: &str| json!({ "hooks": [{ "event": "*", "command": command }], "own": command });
    place.write("config/src/forge/hooks.json", &one("a").to_string());
    place.write("config/forge/hooks.json", &one("b").to_string());
    let (hooks, _) = load_global(&place.whereabouts());
    let saved = save_global(&place.whereabouts(), &hooks).expect("saved");
    assert_eq!(saved, place.config_home.join("src/forge/hooks.json"));
    assert_eq!(load_global(&place.whereabouts()), (hooks, vec![]));
    assert_eq!(place.read("config/forge/hooks.json"), json!({ "hooks": [], "own": "b" }));
}

#[test]
fn a_file_of_another_format_is_not_changed() {
    for (text, why) in [
        ("{\"hooks\": [", "EOF while parsing a list at line 1 column 11"),
        ("[]", "invalid type: sequence, expected a map at line 1 column 0"),
        ("{\"hooks\": {}}", "`hooks` is not a list"),
    ] {
        let place = Place::new();
        place.write("project/.src/forge/hooks.json", "{}");
        let path = place.write("project/.forge/hooks.json", text);
        let error = save_project(&place.whereabouts(), &[hook("*")]).expect_err("not theirs");
        let said = format!("{}: expected an object with a list `hooks`: {why}", path.display());
        assert_eq!(error.to_string(), said);
        assert_eq!(fs::read_to_string(path).expect("it is there"), text);
        assert_eq!(place.read("project/.src/forge/hooks.json"), json!({}), "nothing was written");
    }
}

#[test]
fn replacing_a_file_keeps_its_link_and_permissions_and_leaves_no_other_file() {
    let place = Place::new();
    let real = place.write("elsewhere/mine.json", "{}");
    fs::set_permissions(&real, Permissions::from_mode(0o640)).expect("set");
    let link = place.project.join(".forge/hooks.json");
    fs::create_dir_all(link.parent().expect("a folder")).expect("made");
    std::os::unix::fs::symlink(&real, &link).expect("linked");
    save_project(&place.whereabouts(), &[hook("*")]).expect("saved");
    assert_eq!(fs::read_link(&link).expect("still a link"), real);
    assert_eq!(fs::metadata(&real).expect("there").permissions().mode() & 0o777, 0o640);
    let beside = fs::read_dir(real.parent().expect("a folder")).expect("a folder").count();
    assert_eq!(beside, 1, "no draft is left");
}

#[test]
fn errors_of_the_system_are_reported() {
    let place = Place::new();
    let path = place.write("project/.forge", "a file where the folder belongs");
    place.write("project/.src", "another");
    let error = save_project(&place.whereabouts(), &[]).expect_err("no folder can be made");
    assert!(matches!(&error, SaveError::Unwritable { .. }), "{error}");
    assert!(path.is_file());
    let nowhere = Whereabouts { config_home: None, ..place.whereabouts() };
    let error = save_global(&nowhere, &[]).expect_err("no folder");
    assert_eq!(error.to_string(), "the user's configuration folder does not exist");
}
