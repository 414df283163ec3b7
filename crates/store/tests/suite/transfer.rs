//! Sessions are copied from one store to another, and nothing that is there is overwritten.

use std::sync::{Arc, Once};

use hookwright_store::{
    Commit, Expected, Kind, LaneKey, Put, Queued, SqliteStore, Store, Transfer, TransferOutcome,
    WatchedStore,
};

use crate::situation::{append, key, postgres, put, texts, values};

fn write(store: &dyn Store, puts: Vec<Put>) {
    store.commit(&Commit { puts, ..Commit::unsynced() }).unwrap();
}

#[test]
fn sessions_and_queues_are_the_same_after_the_move_and_after_another_one() {
    let (from, to) = (SqliteStore::in_memory().unwrap(), postgres());
    let many: Vec<String> = (0..2_500).map(|number| number.to_string()).collect();
    append(&from, "a", 0, &many);
    write(&from, vec![put("a", Expected::Absent, "record of a"), put("b", Expected::Absent, "b")]);
    let queued = |name: &str, rank| Put {
        kind: Kind::Task,
        queued: Some(Queued::at("open/", rank)),
        ..put(name, Expected::Absent, name)
    };
    write(&from, vec![queued("TAS-1", 7), queued("TAS-2", 3)]);
    let transfer = Transfer { from: &from, to: &to };
    let sessions = || -> Vec<_> {
        let keys = transfer.keys(Kind::Session).unwrap();
        keys.iter().map(|key| (key.name.clone(), transfer.session(key).unwrap())).collect()
    };
    let both = |outcome| vec![("a".to_owned(), outcome), ("b".to_owned(), outcome)];
    assert_eq!(sessions(), both(TransferOutcome::Copied));
    assert_eq!(values(&to, "a"), many);
    assert_eq!(to.get(Kind::Session, &key("a")).unwrap().unwrap().value, "record of a");
    let tasks = || -> Vec<_> {
        transfer.records(Kind::Task).unwrap().into_iter().map(|(_, outcome)| outcome).collect()
    };
    assert_eq!(tasks(), [TransferOutcome::Copied; 2]);
    let lane = LaneKey { kind: Kind::Task, project: "/projects/one", lane: "open/" };
    let order: Vec<_> = to.queue(lane, i64::MIN, 9).unwrap().into_iter().map(|it| it.0).collect();
    assert_eq!(order, [3, 7]);

    assert_eq!(sessions(), both(TransferOutcome::AlreadyThere));
    assert_eq!(tasks(), [TransferOutcome::AlreadyThere; 2]);
    // A session that went on here since is continued there.
    append(&from, "a", 2_500, &texts(["more"]));
    write(&from, vec![put("a", Expected::Any, "later")]);
    // One that went on there is left alone.
    append(&to, "b", 0, &texts(["there"]));
    write(&to, vec![put("b", Expected::Any, "went on")]);
    write(&to, vec![Put { kind: Kind::Task, ..put("TAS-1", Expected::Any, "done") }]);
    assert_eq!(sessions()[0].1, TransferOutcome::Copied);
    assert_eq!(sessions()[1].1, TransferOutcome::Differs);
    assert_eq!(values(&to, "a").len(), 2_501);
    assert_eq!(to.get(Kind::Session, &key("b")).unwrap().unwrap().value, "went on");
    assert_eq!(tasks(), [TransferOutcome::Differs, TransferOutcome::AlreadyThere]);
}

#[test]
fn a_copy_that_was_interrupted_is_made_anew() {
    let (from, to) = (SqliteStore::in_memory().unwrap(), postgres());
    append(&from, "a", 0, &texts(["1", "2"]));
    write(&from, vec![put("a", Expected::Absent, "record")]);
    // The journal is there, and the record is not.
    append(&to, "a", 0, &texts(["1"]));
    let outcome = Transfer { from: &from, to: &to }.session(&key("a")).unwrap();
    assert_eq!(outcome, TransferOutcome::Copied);
    assert_eq!(values(&to, "a"), ["1", "2"]);
}

#[test]
fn a_session_that_begins_there_during_the_move_is_left_alone() {
    let (from, there) = (SqliteStore::in_memory().unwrap(), Arc::new(postgres()));
    append(&from, "a", 0, &texts(["1", "2"]));
    write(&from, vec![put("a", Expected::Absent, "record")]);
    let (begun, begins) = (Once::new(), Arc::clone(&there));
    let to = WatchedStore::new(Arc::clone(&there) as Arc<dyn Store>).before_commit(move |_| {
        begun.call_once(|| {
            append(&*begins, "a", 0, &texts(["there"]));
            write(&*begins, vec![put("a", Expected::Absent, "another")]);
        });
        Ok(())
    });
    let outcome = Transfer { from: &from, to: &to }.session(&key("a")).unwrap();
    assert_eq!(outcome, TransferOutcome::Differs);
    assert_eq!(values(&*there, "a"), ["there"]);
    assert_eq!(there.get(Kind::Session, &key("a")).unwrap().unwrap().value, "another");
}
