//! `hookwright approvals`, `approve`, `reject`: a person decides in the terminal.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hookwright_config::CallbackAddress;
use hookwright_engine::ports::{AnswerMeaning, NewWait, OpenWait, WaitEnd, WaitKey, Waits};
use hookwright_server::{Approvals, AskingProcess, AskingProject, WaitDesk};
use hookwright_store::{Life, Living, SqliteStore};
use serde_json::json;

use crate::support::{Ran, Sandbox, this_user};

/// The state folder of the sandbox.
fn state(sandbox: &Sandbox) -> PathBuf {
    sandbox.path("../.local/state/hookwright")
}

/// This test as a session that asks people.
fn session(sandbox: &Sandbox, keeper: fn() -> String) -> WaitDesk {
    let folder = state(sandbox);
    let address = CallbackAddress { port: Some(0), ..CallbackAddress::default() };
    let about = AskingProcess { pipeline: None, address, default_port: 0 };
    WaitDesk::new(about, move || {
        let store = Arc::new(SqliteStore::open(&folder).map_err(io::Error::other)?);
        let approvals = Approvals::of_folder(&folder, store, Arc::new(Keeper(keeper)))
            .map_err(io::Error::other)?;
        Ok((approvals, AskingProject { name: "/home/ann/shop".into(), root: None }))
    })
}

/// A keeper that describes itself so. All others live.
struct Keeper(fn() -> String);

impl Living for Keeper {
    fn this(&self) -> String {
        self.0()
    }

    fn judge(&self, _: &str) -> Life {
        Life::MayRun
    }
}

/// An unparsable keeper, which counts as alive.
fn alive() -> String {
    "this test".into()
}

/// A process that has ended.
fn dead() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let keeper = json!({ "pid": 1, "start_time": 0, "boot_id": "before", "host": host.trim() });
    keeper.to_string()
}

fn question(timeout: Duration) -> NewWait {
    NewWait {
        key: Some(WaitKey {
            session: "calm-fox".into(),
            firing: "7".into(),
            hook: "deploy".into(),
            digest: "d".into(),
        }),
        session: Some("calm-fox".into()),
        hook: "deploy".into(),
        event: "stage:complete".into(),
        stage: Some("plan".into()),
        iteration: Some(3),
        question: "Plan ready.\u{1b}[2J Shall the work begin?".into(),
        offered: vec!["revise".into()],
        timeout,
        ..NewWait::default()
    }
}

const HOUR: Duration = Duration::from_secs(3600);

fn ask(desk: &WaitDesk, question: NewWait) -> OpenWait {
    block_on(desk.open(question)).expect("asked")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(future)
}

/// A time of ISO 8601 as people read it in UTC.
fn in_utc(moment: &str) -> String {
    moment[.."2026-01-02T03:04:05".len()].replace('T', " ")
}

#[test]
fn without_any_wait_nothing_is_listed_made_or_decided() {
    let sandbox = Sandbox::new();
    let nothing = Ran::new(0, "", "nothing waits for a decision\n");
    assert_eq!(sandbox.run(&["approvals"]), nothing);
    assert_eq!(sandbox.json(&["approvals", "--json"]), (0, json!([])));
    let unknown = "error: no question has the id `k7m2p9qx`\n\
                   help: no question waits for a decision now\n";
    assert_eq!(sandbox.run(&["approve", "k7m2p9qx"]), Ran::new(1, "", unknown));
    assert_eq!(sandbox.run(&["reject", "k7m2p9qx"]), Ran::new(1, "", unknown));
    assert!(!state(&sandbox).exists(), "looking makes nothing");
}

#[test]
fn what_waits_is_listed_for_people_and_for_programs() {
    let sandbox = Sandbox::new();
    let desk = session(&sandbox, alive);
    let open = ask(&desk, question(HOUR + Duration::from_secs(59)));
    let (id, url) = (&open.id, &open.callback_url);
    let expected = format!(
        "{id}  Plan ready.␛[2J Shall the work begin?\n          \
         stage:complete, session calm-fox, stage plan, iteration 3, 1 hour left\n          \
         {url}\n"
    );
    let hint = "decide with: hookwright approve ID, or hookwright reject ID\n";
    assert_eq!(sandbox.run(&["approvals"]), Ran::new(0, &expected, hint));
    let listed = json!([{
        "version": 1,
        "id": id,
        "session": "calm-fox",
        "event": "stage:complete",
        "question": "Plan ready.\u{1b}[2J Shall the work begin?",
        "since": open.since,
        "until": open.until,
        "url": url,
        "project": "/home/ann/shop",
        "hook": "deploy",
        "pipeline": null,
        "stage": "plan",
        "iteration": 3,
        "actions": ["approve", "revise", "reject"],
        "running": true,
    }]);
    assert_eq!(sandbox.json(&["approvals", "--json"]), (0, listed));
}

#[test]
fn approving_in_another_process_wakes_the_session_that_asked() {
    let sandbox = Sandbox::new().set("USER", "ann");
    let desk = session(&sandbox, alive);
    let open = ask(&desk, question(HOUR));
    let (ran, end) = std::thread::scope(|scope| {
        let approving = scope.spawn(|| sandbox.run(&["approve", &open.id, "-m", "go on, please"]));
        let end = block_on(desk.decided(&open.id)).expect("known");
        (approving.join().expect("no panic"), end)
    });
    let told = format!("approved {}: session calm-fox continues\n", open.id);
    assert_eq!(ran, Ran::new(0, &told, ""));
    let WaitEnd::Decided { response, word, by, at } = end else { panic!("decided") };
    assert_eq!(response, json!({ "action": "approve", "message": "go on, please" }));
    // Variables about the user do not count, since any program can set them.
    assert_eq!((word, by), (AnswerMeaning::Yes, format!("{}, without a terminal", this_user())));
    // The first answer counts.
    let late = sandbox.run(&["reject", &open.id]);
    let heading = format!(
        "error: `{}` was already approved, by {}, without a terminal, at {}\n",
        open.id,
        this_user(),
        in_utc(&at)
    );
    let help = "help: the first answer counts; nothing was changed\n";
    assert_eq!(late, Ran::new(1, "", &format!("{heading}{help}")));
    assert_eq!(sandbox.json(&["approvals", "--json"]), (0, json!([])));
}

#[test]
fn rejecting_works_without_a_listener_and_without_a_running_session() {
    let sandbox = Sandbox::new().set("TZ", "UTC0");
    let desk = session(&sandbox, dead);
    let open = ask(&desk, question(HOUR));
    drop(desk);
    let listed = sandbox.run(&["approvals"]);
    assert!(listed.stdout.contains(", its session is not running\n"), "{listed:?}");
    let ran = sandbox.run(&["reject", &open.id]);
    let told = format!(
        "rejected {}: it takes effect when you resume session calm-fox: hookwright resume calm-fox\n",
        open.id
    );
    assert_eq!(ran, Ran::new(0, &told, ""));
    let resumed = session(&sandbox, alive);
    let found = block_on(resumed.find(&question(HOUR).key.expect("a key"))).expect("read");
    assert_eq!(found.expect("it is there").id, open.id);
    let end = block_on(resumed.decided(&open.id)).expect("known");
    let WaitEnd::Decided { response, word, by, .. } = end else { panic!("decided") };
    assert_eq!(response, json!({ "action": "reject", "message": null }));
    assert_eq!((word, by), (AnswerMeaning::No, format!("{}, without a terminal", this_user())));
}

#[test]
fn a_wait_that_cannot_be_resumed_ends_with_the_process_that_asked() {
    let sandbox = Sandbox::new();
    let desk = session(&sandbox, dead);
    let open = ask(&desk, NewWait { key: None, session: None, ..question(HOUR) });
    assert_eq!(sandbox.json(&["approvals", "--json"]), (0, json!([])));
    let gone = format!(
        "error: the process that asked `{}` no longer waits\n\
         help: nothing is left to decide; list the open questions: `hookwright approvals`\n",
        open.id
    );
    assert_eq!(sandbox.run(&["approve", &open.id]), Ran::new(1, "", &gone));
}

#[test]
fn a_wait_outside_of_sessions_names_none_to_resume() {
    let sandbox = Sandbox::new();
    let desk = session(&sandbox, alive);
    let session = Some("fire-1".to_owned());
    let open = ask(&desk, NewWait { key: None, session, ..question(HOUR) });
    let told = format!("rejected {}: the process that asked is notified\n", open.id);
    assert_eq!(sandbox.run(&["reject", &open.id]), Ran::new(0, &told, ""));
}

#[test]
fn a_wait_whose_time_is_over_cannot_be_approved() {
    let sandbox = Sandbox::new().set("TZ", "UTC0");
    let desk = session(&sandbox, alive);
    let open = ask(&desk, question(Duration::ZERO));
    let late = format!(
        "error: the time to decide `{}` ran out at {}\n\
         help: the hook's `on_timeout` decides what happens now\n",
        open.id,
        in_utc(&open.until)
    );
    assert_eq!(sandbox.run(&["approve", &open.id]), Ran::new(1, "", &late));
}

#[test]
fn words_that_the_hook_offers_can_be_given_and_others_are_named() {
    let sandbox = Sandbox::new().set("LOGNAME", "bob");
    let desk = session(&sandbox, alive);
    let open = ask(&desk, question(HOUR));
    let refused = "error: this question does not accept the answer `perhaps`\n\
                   help: use `approve`, `revise`, `reject`\n";
    let ran = sandbox.run(&["approve", &open.id, "--action", "perhaps"]);
    assert_eq!(ran, Ran::new(1, "", refused));
    let (code, told) = sandbox.json(&["approve", &open.id, "--action", "Revise", "--json"]);
    let WaitEnd::Decided { at, .. } = block_on(desk.decided(&open.id)).expect("known") else {
        panic!("decided")
    };
    let expected = json!({
        "version": 1, "id": open.id, "session": "calm-fox", "action": "revise", "message": null,
        "by": format!("{}, without a terminal", this_user()), "at": at, "running": true,
    });
    assert_eq!((code, told), (0, expected));
}

#[test]
fn an_id_that_is_nearly_right_is_named() {
    let sandbox = Sandbox::new();
    let desk = session(&sandbox, alive);
    let open = ask(&desk, question(HOUR));
    let nearly = &format!("{}!", &open.id[..open.id.len() - 1]);
    let unknown =
        format!("error: no question has the id `{nearly}`\nhelp: did you mean `{}`?\n", open.id);
    assert_eq!(sandbox.run(&["approve", nearly]), Ran::new(1, "", &unknown));
    let unknown = "error: no question has the id `!`\n\
                   help: list the open questions: `hookwright approvals`\n";
    assert_eq!(sandbox.run(&["approve", "!"]), Ran::new(1, "", unknown));
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new();
    let desk = session(&sandbox, alive);
    ask(&desk, question(HOUR));
    let key = std::fs::canonicalize(state(&sandbox).join("callback.key")).expect("it is there");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).expect("ours");
    let key = key.display();
    let refused = format!(
        "error: other users can read the key for answer addresses (mode 644)\n --> {key}\n\
         help: other users may have read it; remove it to get a new one \
         (addresses already sent stop working): `rm {key}`\n"
    );
    assert_eq!(sandbox.run(&["approvals"]), Ran::new(1, "", &refused));
}
