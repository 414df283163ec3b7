use std::os::unix::fs::{PermissionsExt, symlink};

use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;
use tempfile::TempDir;

use super::*;
use crate::config_files::{ConfigFiles, ConfigOptions};

const HARMLESS: &str = "hooks: {session:start: [{id: harmless, command: 'true'}]}\n";
const HOSTILE: &str = "hooks: {session:start: [{id: hostile, command: 'rm -r /'}]}\n";

/// A folder with a file in it, and a state folder.
struct World {
    root: TempDir,
}

impl World {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        fs::write(root.path().join("hookwright.yaml"), HARMLESS).unwrap();
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    fn state(&self) -> PathBuf {
        self.path("state")
    }

    fn file(&self, name: &str) -> ConfigFile {
        ConfigFile::native(self.path(name), name, Layer::Project)
    }

    /// Trusts a file as it is.
    fn trust(&self, name: &str) {
        let content = fs::read(self.path(name)).unwrap();
        add(&self.state(), &[(place(&self.path(name)), Sha256::digest(&content))]).unwrap();
    }

    fn standing(&self, name: &str) -> Standing {
        let content = fs::read(self.path(name)).unwrap();
        Trust::read(&self.state()).standing(&self.file(name), &content)
    }

    fn found(&self, config: Vec<PathBuf>) -> ConfigFiles {
        self.found_from(".", config)
    }

    fn found_from(&self, folder: &str, config: Vec<PathBuf>) -> ConfigFiles {
        let cwd = Some(self.path(folder));
        let options = ConfigOptions { config, dialect: None, cwd, no_global_hooks: true };
        ConfigFiles::find(&options).unwrap()
    }
}

#[test]
fn a_file_is_trusted_as_it_is_and_where_it_is() {
    let world = World::new();
    assert_eq!(world.standing("hookwright.yaml"), Standing::Unknown);
    world.trust("hookwright.yaml");
    assert_eq!(world.standing("hookwright.yaml"), Standing::Trusted);
    fs::write(world.path("hookwright.yaml"), HOSTILE).unwrap();
    assert_eq!(world.standing("hookwright.yaml"), Standing::Changed);
    fs::write(world.path("hookwright.yaml"), HARMLESS).unwrap();
    assert_eq!(world.standing("hookwright.yaml"), Standing::Trusted);
    fs::write(world.path("other.yaml"), HARMLESS).unwrap();
    assert_eq!(world.standing("other.yaml"), Standing::Unknown);
}

#[test]
fn swapping_a_file_between_check_and_load_gains_nothing() {
    let world = World::new();
    world.trust("hookwright.yaml");
    let found = world.found(Vec::new());
    let files = found.read();
    let trust = Trust::read(&world.state());
    assert!(trust.untrusted(found.in_need_of_trust(&files)).is_empty());
    fs::write(world.path("hookwright.yaml"), HOSTILE).unwrap();
    let (loaded, _) = found.load_read(&files, &Environment::default());
    let ids: Vec<&str> = loaded.hooks.hooks().iter().map(|hook| hook.id.as_str()).collect();
    assert_eq!(ids, ["harmless"]);
    // The reverse: a file that was hostile when it was read is not trusted.
    let files = found.read();
    fs::write(world.path("hookwright.yaml"), HARMLESS).unwrap();
    let untrusted = trust.untrusted(found.in_need_of_trust(&files));
    let untrusted: Vec<_> = untrusted
        .iter()
        .map(|file| (file.read.text(), file.place.clone(), file.standing))
        .collect();
    let place = world.path("hookwright.yaml");
    assert_eq!(untrusted, [(Some(HOSTILE), place, Standing::Changed)]);
}

#[test]
fn a_file_that_was_named_needs_no_trust() {
    let world = World::new();
    let named = world.found(vec!["hookwright.yaml".into()]);
    assert_eq!(named.in_need_of_trust(&named.read()).count(), 0);
    let found = world.found(Vec::new());
    assert_eq!(found.in_need_of_trust(&found.read()).count(), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_a_fault_and_no_matter_of_trust() {
    let world = World::new();
    fs::write(world.path("hookwright.yaml"), b"\xff").unwrap();
    let found = world.found(Vec::new());
    let files = found.read();
    assert!(Trust::read(&world.state()).untrusted(found.in_need_of_trust(&files)).is_empty());
    let (loaded, _) = found.load_read(&files, &Environment::default());
    assert_eq!((loaded.faults.len(), loaded.hooks.hooks().len()), (1, 0));
}

#[test]
fn a_link_is_trusted_where_it_is_and_neither_lends_nor_borrows_trust() {
    let world = World::new();
    fs::create_dir(world.path("evil")).unwrap();
    symlink(world.path("hookwright.yaml"), world.path("evil/hookwright.yaml")).unwrap();
    // Its scripts would be searched in the folder of the link.
    world.trust("hookwright.yaml");
    assert_eq!(world.standing("evil/hookwright.yaml"), Standing::Unknown);
    world.trust("evil/hookwright.yaml");
    assert_eq!(world.standing("evil/hookwright.yaml"), Standing::Trusted);
    fs::write(world.path("hookwright.yaml"), HOSTILE).unwrap();
    assert_eq!(world.standing("evil/hookwright.yaml"), Standing::Changed);
}

#[test]
fn a_folder_that_is_reached_by_a_link_is_the_same_folder() {
    let world = World::new();
    symlink(world.path("."), world.path("linked")).unwrap();
    world.trust("hookwright.yaml");
    let found = world.found_from("linked", Vec::new());
    let files = found.read();
    assert_eq!(files.len(), 1);
    let trust = Trust::read(&world.state());
    assert!(trust.untrusted(found.in_need_of_trust(&files)).is_empty());
}

#[test]
fn a_link_on_the_way_to_a_file_lends_no_trust_either() {
    let world = World::new();
    for folder in ["mine/.system", "evil"] {
        fs::create_dir_all(world.path(folder)).unwrap();
    }
    fs::write(world.path("mine/.system/hooks.yaml"), HARMLESS).unwrap();
    symlink(world.path("mine/.system"), world.path("evil/.system")).unwrap();
    world.trust("mine/.system/hooks.yaml");
    assert_eq!(world.standing("mine/.system/hooks.yaml"), Standing::Trusted);
    assert_eq!(world.standing("evil/.system/hooks.yaml"), Standing::Unknown);
}

#[test]
fn a_place_is_spelt_in_one_way() {
    let world = World::new();
    fs::create_dir_all(world.path("a/b")).unwrap();
    symlink(world.path("a/b"), world.path("link")).unwrap();
    for (spelt, is) in [
        ("a//b/./x", "a/b/x"),
        ("a/b/../x", "a/x"),
        // Not where its spelling says, but where the system resolves it.
        ("link/../x", "a/x"),
        ("a/../link/x", "link/x"),
        ("none/x", "none/x"),
    ] {
        assert_eq!(place(&world.path(spelt)), world.path(is), "{spelt}");
    }
}

#[test]
fn nothing_is_trusted_where_the_trust_file_is_not_to_be_trusted() {
    let world = World::new();
    world.trust("hookwright.yaml");
    let path = world.state().join("trust");
    let good = fs::read(&path).unwrap();
    let problem = || {
        let trust = Trust::read(&world.state());
        let content = HARMLESS.as_bytes();
        assert_eq!(trust.standing(&world.file("hookwright.yaml"), content), Standing::Unknown);
        format!("{:?}", trust.problem.unwrap())
    };
    let shown = format!("path: {path:?}");
    for mode in [0o620, 0o602, 0o666] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(problem(), format!("OthersCanWrite {{ {shown}, mode: {mode} }}"));
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, &good[..good.len() - 1]).unwrap();
    assert_eq!(problem(), format!("Damaged {{ {shown}, line: 3 }}"));
    fs::write(&path, "hookwright trust 2\n").unwrap();
    assert_eq!(problem(), format!("Newer {{ {shown}, version: \"2\" }}"));
    fs::write(&path, vec![b'\n'; 1024 * 1024 + 1]).unwrap();
    assert_eq!(problem(), format!("TooLarge {{ {shown}, bytes_max: 1048576 }}"));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(problem(), format!("NotAFile {{ {shown} }}"));
    fs::remove_dir(&path).unwrap();
    // A named pipe without a writer must not block.
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(problem(), format!("NotAFile {{ {shown} }}"));
}

#[test]
fn a_trust_file_of_another_user_counts_for_nothing() {
    let world = World::new();
    world.trust("hookwright.yaml");
    let path = world.state().join("trust");
    // Only root can give a file away, so others cannot create this situation.
    if std::os::unix::fs::chown(&path, Some(12_345), None).is_err() {
        return;
    }
    let trust = Trust::read(&world.state());
    assert!(matches!(&trust.problem, Some(TrustError::OfOthers { owner: 12_345, .. })));
    assert_eq!(trust.records(), []);
}

#[test]
fn the_trust_file_is_the_users_alone_and_leaves_nothing_beside_it() {
    let world = World::new();
    fs::create_dir(world.state()).unwrap();
    fs::write(world.state().join("trust.new"), "left by a process that died").unwrap();
    world.trust("hookwright.yaml");
    let mut there: Vec<(String, u32)> = fs::read_dir(world.state())
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            (entry.file_name().into_string().unwrap(), mode)
        })
        .collect();
    there.sort();
    assert_eq!(there, [("trust".to_owned(), 0o600), ("trust.lock".to_owned(), 0o600)]);
}

#[test]
fn what_many_threads_trust_at_once_is_all_trusted() {
    let world = World::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let state = world.state();
            scope.spawn(move || {
                for number in 0..10 {
                    let place = PathBuf::from(format!("/{thread}/{number}"));
                    add(&state, &[(place, Sha256::digest(b""))]).unwrap();
                }
            });
        }
    });
    assert_eq!(Trust::read(&world.state()).records().len(), 80);
}

#[test]
fn files_that_are_gone_make_room_and_others_do_not() {
    let world = World::new();
    world.trust("hookwright.yaml");
    let gone: Vec<(PathBuf, Sha256)> = (0..limits::TRUSTED_FILES_MAX - 1)
        .map(|number| (format!("/gone/{number}").into(), Sha256::digest(b"")))
        .collect();
    add(&world.state(), &gone).unwrap();
    assert_eq!(Trust::read(&world.state()).records().len(), limits::TRUSTED_FILES_MAX);
    fs::write(world.path("other.yaml"), HARMLESS).unwrap();
    world.trust("other.yaml");
    let places = [world.path("hookwright.yaml"), world.path("other.yaml")];
    let trust = Trust::read(&world.state());
    let kept: Vec<PathBuf> = trust.records().into_iter().map(|record| record.place).collect();
    assert_eq!(kept, places);

    let many: Vec<(PathBuf, Sha256)> = (0..limits::TRUSTED_FILES_MAX)
        .map(|number| {
            let path = world.path(&format!("{number}"));
            fs::write(&path, "").unwrap();
            (path, Sha256::digest(b""))
        })
        .collect();
    let full = add(&world.state(), &many);
    assert!(matches!(full, Err(TrustError::Full { files_max: 4096, .. })), "{full:?}");
    assert_eq!(Trust::read(&world.state()).records().len(), 2);
}

#[test]
fn the_command_to_type_can_be_typed() {
    let places = ["/a/hookwright.yaml", "/it's $(here)/x"].map(Path::new);
    assert_eq!(
        command_to_type(places, false),
        r"hookwright trust /a/hookwright.yaml '/it'\''s $(here)/x'"
    );
    assert_eq!(command_to_type([Path::new("/ä")], true), "hookwright trust --yes /ä");
}
