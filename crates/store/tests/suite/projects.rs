//! The names of projects. Each rule runs for every store.

use std::sync::{Arc, Barrier};

use hookwright_postgres_server::Cluster;
use hookwright_store::{
    Commit, Expected, KeptProjects, Kind, PostgresStore, ProjectError, ProjectOrigin, Put,
    RecordKey, SqliteStore, Store, limits,
};

use crate::situation::{access, database, for_every_store, put};

const NOW: i64 = 1_000;

fn remote(address: &str) -> ProjectOrigin {
    ProjectOrigin::Remote {
        address: address.to_owned(),
        root_commit: "c0ffee".to_owned(),
        folder: String::new(),
    }
}

#[test]
fn a_name_belongs_to_its_first_origin_until_another_one_is_confirmed() {
    for_every_store(|store| {
        let projects = KeptProjects::new(store);
        assert_eq!(projects.get("shop").unwrap(), None);
        let folder = ProjectOrigin::Folder { path: "/projects/shop".to_owned() };
        let git_folder = "/projects/shop/.git".to_owned();
        let local = ProjectOrigin::Local { git_folder, folder: "part".to_owned() };
        let bound = |origin: &ProjectOrigin| projects.bind("shop", origin.clone(), NOW).unwrap();
        assert_eq!(bound(&folder).origins, std::slice::from_ref(&folder));
        assert_eq!(bound(&local).origins, std::slice::from_ref(&folder));
        let confirm = |origin: &ProjectOrigin, only: bool| {
            projects.confirm("shop", origin, only, NOW).unwrap().origins
        };
        assert_eq!(confirm(&local, false), [folder.clone(), local.clone()]);
        assert_eq!(confirm(&local, false), [folder.clone(), local.clone()]);
        let all = [folder, local, remote("git.example.org/shop")];
        assert_eq!(confirm(&all[2], false), all);
        assert_eq!(projects.get("shop").unwrap().unwrap().origins, all);
        assert_eq!(confirm(&all[1], true), all[1..2]);
        assert_eq!(projects.get("other").unwrap(), None);
    });
}

#[test]
fn of_many_that_bind_a_name_at_once_one_gets_it() {
    let folder = tempfile::tempdir().unwrap();
    bind_at_once(|| Arc::new(SqliteStore::open(folder.path()).unwrap()));
    let address = Cluster::shared().address(&database());
    bind_at_once(|| Arc::new(PostgresStore::open(&access(&address)).unwrap()));
}

fn bind_at_once(open: impl Fn() -> Arc<dyn Store> + Sync) {
    let barrier = Barrier::new(8);
    let bound: Vec<Vec<ProjectOrigin>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|number| {
                let (open, barrier) = (&open, &barrier);
                scope.spawn(move || {
                    let projects = KeptProjects::new(open());
                    barrier.wait();
                    projects.bind("shop", remote(&number.to_string()), NOW).unwrap().origins
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(bound[0].len(), 1);
    assert!(bound.iter().all(|origins| *origins == bound[0]), "{bound:?}");
}

#[test]
fn a_name_has_a_limited_number_of_origins() {
    for_every_store(|store| {
        let projects = KeptProjects::new(store);
        let max = limits::ORIGINS_PER_PROJECT_MAX;
        for number in 0..max {
            projects.confirm("shop", &remote(&number.to_string()), false, NOW).unwrap();
        }
        let refused = projects.confirm("shop", &remote("more"), false, NOW);
        assert_eq!(refused, Err(ProjectError::TooMany { name: "shop".to_owned(), max }));
        assert!(projects.confirm("shop", &remote("more"), true, NOW).is_ok());
    });
}

#[test]
fn a_record_that_cannot_be_read_gives_the_name_to_no_repository() {
    for_every_store(|store| {
        let key = RecordKey { project: String::new(), name: "shop".to_owned() };
        for value in ["", "{}", r#"{"origins": [{}]}"#, r#"{"origins": [{"remote": "x"}]}"#] {
            let put =
                Put { kind: Kind::Project, key: key.clone(), ..put("", Expected::Any, value) };
            store.commit(&Commit { puts: vec![put], ..Commit::synced() }).unwrap();
            let projects = KeptProjects::new(Arc::clone(&store));
            let unreadable = ProjectError::Unreadable { name: "shop".to_owned() };
            assert_eq!(projects.get("shop"), Err(unreadable.clone()));
            assert_eq!(projects.bind("shop", remote("x"), NOW), Err(unreadable));
        }
    });
}
