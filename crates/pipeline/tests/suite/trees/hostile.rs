//! What agents and crashes leave in the places of work trees and of our own files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use hookwright_engine::Secrets;
use hookwright_pipeline::trees::{
    GitTrees, TreeRefs, Trees, WorkFolder, WorkFolderError, WorkPlace,
};

use super::{Machine, Project, write};

async fn started<'a>(project: &'a Project) -> Machine<'a> {
    let work = project.submit().await;
    let one = project.machine("one", &work, 7);
    one.trees.prepare(None).await.expect("prepared");
    one
}

fn make_fifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo is there");
    assert!(made.success());
}

#[tokio::test]
async fn sessions_that_begin_at_once_share_a_store_that_is_not_there_yet() {
    let project = Project::with(&[("a", "1")]);
    let (found, git, secrets) = (project.find().await, project.program(), Secrets::default());
    let mut sessions = Vec::new();
    for id in ["a", "b", "c", "d", "e", "f"] {
        let refs = TreeRefs::new("calm-fox".parse().expect("a name"), id);
        found.submit(&git, &project.checkout(), &refs, &secrets).await.expect("sent");
        sessions.push((id, refs));
    }
    for round in 0..5 {
        let store = project.place(&format!("of-all-{round}")).store;
        let machine = |(id, refs): &(&str, TreeRefs)| {
            let place = project.place(&format!("{round}-{id}"));
            let place = WorkPlace { store: store.clone(), ..place };
            let (git, refs, secrets) = (git.clone(), refs.clone(), secrets.clone());
            let trees = GitTrees::new(git, &found.work, refs, 7, &place, secrets);
            Machine { project: &project, place, trees }
        };
        let machines: Vec<Machine<'_>> = sessions.iter().map(machine).collect();
        let [a, b, c, d, e, f] = &machines[..] else { panic!("six") };
        let prepared = tokio::join!(
            a.trees.prepare(None),
            b.trees.prepare(None),
            c.trees.prepare(None),
            d.trees.prepare(None),
            e.trees.prepare(None),
            f.trees.prepare(None),
        );
        let prepared: [Result<(), _>; 6] = prepared.into();
        for prepared in prepared {
            prepared.expect("prepared");
        }
        for machine in &machines {
            assert!(machine.tree().join("a").is_file());
        }
        let beside = fs::read_dir(store.parent().expect("a folder")).expect("listed");
        assert_eq!(beside.count(), 1, "only the store is left");
    }
}

#[tokio::test]
async fn a_link_in_the_place_of_the_work_tree_leads_nothing_elsewhere() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    one.write("a", "2");
    let tree = one.keep().await;
    let precious = project.path("precious");
    write(&precious.join("a"), "of the user");
    project.git(&precious, &["init", "--quiet"]);
    fs::remove_dir_all(one.tree()).expect("removed");
    symlink(&precious, one.tree()).expect("linked");
    let work = project.find().await.work;
    let again = project.machine("one", &work, 8);
    again.trees.prepare(Some(&tree)).await.expect("restored");
    assert_eq!(fs::read_to_string(precious.join("a")).expect("there"), "of the user");
    assert!(precious.join(".git/HEAD").is_file());
    assert!(!again.tree().is_symlink());
    assert_eq!(fs::read_to_string(again.tree().join("a")).expect("there"), "2");
    // The same when it is removed.
    fs::remove_dir_all(again.tree()).expect("removed");
    symlink(&precious, again.tree()).expect("linked");
    again.place.remove().expect("removed");
    assert!(!again.tree().is_symlink());
    assert!(precious.join("a").is_file());
}

#[tokio::test]
async fn our_files_are_written_over_what_is_in_their_place() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    let (precious, attributes) = (project.path("guards"), one.place.store.join("info/attributes"));
    let folder = project.path("work");
    fs::create_dir(&folder).expect("made");
    let link = |path: &Path| symlink(&precious, path).expect("linked");
    for make in [&make_fifo as &dyn Fn(&Path), &link] {
        write(&precious, "a guard");
        fs::remove_file(&attributes).expect("removed");
        make(&attributes);
        one.trees.prepare(None).await.expect("prepared");
        assert_eq!(fs::read_to_string(&attributes).expect("there"), "* -filter\n");
        let ignored = folder.join(".gitignore");
        let _ = fs::remove_file(&ignored);
        make(&ignored);
        WorkFolder::chosen(&folder).make().expect("made");
        assert_eq!(fs::read_to_string(&ignored).expect("there"), "*\n");
        assert!(!ignored.is_symlink() && !attributes.is_symlink());
        assert_eq!(fs::read_to_string(&precious).expect("there"), "a guard");
    }
}

#[tokio::test]
async fn locks_that_a_killed_fetch_left_are_not_in_the_way() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    let refs = one.place.store.join("refs");
    let lock = fetched(&refs).with_extension("lock");
    fs::write(&lock, "").expect("written");
    // The ref is to be fetched again.
    fs::remove_file(fetched(&refs)).expect("removed");
    let work = project.find().await.work;
    let again = project.machine("one", &work, 8);
    again.trees.prepare(None).await.expect("prepared");
}

/// The ref of the submitted commit in the store.
fn fetched(refs: &Path) -> std::path::PathBuf {
    let below = fs::read_dir(refs.join("hookwright/calm-fox")).expect("listed").next();
    below.expect("an id").expect("read").path().join("0/0")
}

#[tokio::test]
async fn folders_that_cannot_be_written_are_removed_with_the_work_tree() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    one.write("cache/module/file", "1");
    for folder in ["cache/module", "cache"] {
        let mode = fs::Permissions::from_mode(0o555);
        fs::set_permissions(one.tree().join(folder), mode).expect("set");
    }
    one.place.remove().expect("removed");
    assert!(!one.tree().exists());
}

#[tokio::test]
async fn settings_that_an_agent_writes_into_the_store_run_nothing() {
    let project = Project::with(&[("a", "1")]);
    let one = started(&project).await;
    let (store, ran) = (&one.place.store, project.path("ran"));
    let evil = project.path("evil");
    let program = format!("sh -c 'touch {}; exit 1'", ran.display());
    let plant = |config: &Path| {
        for name in ["core.alternateRefsCommand", "remote.x.vcs", "core.sshCommand", "core.pager"] {
            project.git(
                &project.path("home"),
                &["config", "--file", &config.to_string_lossy(), name, &program],
            );
        }
    };
    let settings = store.join("config");
    let before = fs::read_to_string(&settings).expect("read");
    plant(&settings);
    // And elsewhere, for a store that says that its settings are there.
    project.git(&project.path("home"), &["init", "--quiet", "--bare", &evil.to_string_lossy()]);
    plant(&evil.join("config"));
    fs::write(store.join("commondir"), evil.as_os_str().as_encoded_bytes()).expect("written");
    one.write("a", "2");
    one.keep().await;
    assert_eq!(fs::read_to_string(&settings).expect("read"), before);
    assert!(!store.join("commondir").exists());
    plant(&settings);
    one.trees.publish().await.expect("published");
    assert_eq!(fs::read_to_string(&settings).expect("read"), before);
    assert!(!ran.exists());
}

#[tokio::test]
async fn a_folder_that_comes_from_the_repository_is_refused() {
    let project = Project::with(&[("a", "1"), (".hookwright/loop.yaml", "prompt: p\n")]);
    let (checkout, git) = (project.checkout(), project.program());
    let folder = WorkFolder::of_checkout(&checkout);
    folder.check_untracked(&git).await.expect("git tracks nothing there");
    for path in [".hookwright/work/stores/a.git/config", ".hookwright/work/trees"] {
        write(&checkout.join(path), "x");
        project.git(&checkout, &["add", "-f", path]);
        let refused = Err(WorkFolderError::Tracked { path: path.to_owned() });
        assert_eq!(folder.check_untracked(&git).await, refused);
        project.git(&checkout, &["rm", "-f", "--quiet", path]);
    }
    symlink("..", checkout.join(".hookwright/work")).expect("linked");
    project.git(&checkout, &["add", "-f", ".hookwright/work"]);
    let refused = Err(WorkFolderError::Tracked { path: ".hookwright/work".to_owned() });
    assert_eq!(folder.check_untracked(&git).await, refused);
    // Outside git there is nothing to track.
    let outside = WorkFolder::of_checkout(&project.path("home"));
    outside.check_untracked(&git).await.expect("nothing is tracked");
}
