//! Sessions, tasks and questions in a Postgres database, and the commands that prepare it.

use std::process::Command;

use hookwright_postgres_server::{Cluster, PASSWORD, Relay, WORKER};
use hookwright_store::{SqliteStore, Store};

use crate::interrupts::{Left, start, started, until};
use crate::runs::lines;
use crate::support::{Ran, Sandbox};

pub(crate) const SETTINGS: &str = "../.config/hookwright/store.yaml";

/// A new database without a store.
pub(crate) fn empty() -> String {
    empty_in(Cluster::shared())
}

pub(crate) fn empty_in(cluster: &Cluster) -> String {
    cluster.create_database("template1")
}

/// Names the store at this address in the user's settings.
pub(crate) fn at(sandbox: Sandbox, address: &str) -> Sandbox {
    sandbox.file(SETTINGS, format!("store: {address}\n"))
}

/// A project whose store is in a new database.
pub(crate) fn shared(sandbox: Sandbox) -> Sandbox {
    let sandbox = at(sandbox, &Cluster::shared().address(&empty()));
    let initialised = sandbox.run(&["store", "init"]);
    assert_eq!(initialised, Ran::new(0, "the store is initialised (version 1)\n", ""));
    sandbox
}

pub(crate) fn write(sandbox: &Sandbox, name: &str, text: &str) {
    std::fs::write(sandbox.path(name), text).unwrap();
}

#[test]
fn a_session_runs_is_killed_and_resumed_in_a_database() {
    let sandbox = shared(Sandbox::new().file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 3}\nagent: {command: 'echo agent $ITERATION $HOOKWRIGHT_ATTEMPT >> log; if [ $ITERATION = 2 ] && [ ! -e go ]; then echo $$ > pid; exec sleep 1000; fi'}\n",
    ));
    let agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the agent runs", || agent.has_run());
    let (_, running) = sandbox.json(&["sessions", "list", "--json"]);
    assert_eq!(
        (&running["sessions"][0]["name"], &running["sessions"][0]["status"]),
        (&"s".into(), &"active".into())
    );
    started.kill();
    let status = sandbox.run(&["status"]);
    assert!(status.stdout.contains("cut off"), "{status:?}");
    write(&sandbox, "go", "");
    let resumed = sandbox.run(&["resume", "s"]);
    assert_eq!(resumed.code, 0, "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(lines(&sandbox, "log"), ["agent 1 1", "agent 2 1", "agent 2 2", "agent 3 1"]);
    let shown = sandbox.run(&["sessions", "show", "s"]);
    assert!(shown.stdout.contains("completed"), "{shown:?}");
    let state = sandbox.path("../.local/state/hookwright/store.sqlite3");
    assert!(!state.exists(), "the file on this machine was used");
    let pruned = sandbox.run(&["sessions", "prune", "--keep", "0", "--yes"]);
    assert_eq!(pruned.code, 0, "{pruned:?}");
    let (_, left) = sandbox.json(&["sessions", "list", "--json"]);
    assert_eq!(left["sessions"], serde_json::json!([]));
}

#[test]
fn tasks_are_added_and_completed_in_a_database() {
    let sandbox = shared(Sandbox::new());
    assert_eq!(sandbox.run(&["task", "add", "fix it"]), Ran::new(0, "TAS-1\n", ""));
    assert_eq!(sandbox.run(&["task", "done", "1"]), Ran::new(0, "TAS-1 is completed\n", ""));
    let (_, tasks) = sandbox.json(&["task", "list", "--all", "--json"]);
    assert_eq!(tasks[0]["state"], "completed");
}

#[test]
fn a_question_is_answered_through_a_database() {
    let sandbox = shared(Sandbox::new().file("hookwright.yaml", "callback: {port: 0}\n").file(
        "loop.yaml",
        "prompt: p\nagent: {command: 'true'}\ntermination: {type: fixed, iterations: 1}\nhooks: {session:start: [{id: gate, type: webhook, await: true, body: {text: 'Go on?'}}]}\n",
    ));
    let session = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    let waiting = || sandbox.json(&["approvals", "--json"]).1[0]["id"].as_str().map(str::to_owned);
    until("somebody is asked", || waiting().is_some());
    let said = sandbox.run(&["approve", &waiting().unwrap()]);
    assert_eq!(said.code, 0, "{said:?}");
    let ran = session.ran();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_session_needs_no_more_rights_than_the_owner_of_the_schema_grants() {
    let database = empty();
    let cluster = Cluster::shared();
    cluster.sql(&database, &format!("GRANT CREATE ON DATABASE {database} TO {WORKER}"));
    let address = cluster.address(&database).replace("owner@", &format!("{WORKER}@"));
    let sandbox =
        Sandbox::new().file(SETTINGS, format!("store: {address}\npassword_file: store.password\n"));
    let folder = sandbox.path("../.config/hookwright");
    std::fs::write(folder.join("store.password"), format!("{PASSWORD}\n")).unwrap();
    let refused = sandbox.run(&["store", "init"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("has mode 0644, expected 0600"), "{}", refused.stderr);
    assert!(refused.stderr.contains("help: run `chmod 600 store.password`"), "{}", refused.stderr);
    chmod(&folder.join("store.password"));
    let done = Ran::new(0, "the store is initialised (version 1)\n", "");
    assert_eq!(sandbox.run(&["store", "init"]), done);
    let again = Ran::new(0, "the store is initialised already (version 1)\n", "");
    assert_eq!(sandbox.run(&["store", "init"]), again);
    let current = Ran::new(0, "the store has this version already (version 1)\n", "");
    assert_eq!(sandbox.run(&["store", "upgrade"]), current);
    let checked = sandbox.run(&["store", "check"]);
    assert_eq!((checked.code, checked.stderr.as_str()), (0, ""));
    assert!(checked.stdout.starts_with("the store is a Postgres database: opened in "));
    assert_eq!(sandbox.run(&["task", "add", "fix it"]).code, 0);
}

fn chmod(file: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// The process id of a session in a container means another process, or none, outside of it.
#[test]
fn a_session_in_a_container_of_this_machine_is_stopped_through_the_store() {
    let sandbox = shared(Sandbox::new().file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'echo yes > works; exec sleep 1000'}\n",
    ));
    let run = sandbox.command(&["run", "loop.yaml", "--session", "s"]);
    let mut inside = Command::new("unshare");
    inside.args(["-Urpf", "--mount-proc", "--kill-child"]).arg(run.get_program());
    inside.args(run.get_args()).current_dir(run.get_current_dir().unwrap()).env_clear();
    inside.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let session = started(inside);
    until("the agent works", || sandbox.path("works").exists());
    let stopped = sandbox.run(&["stop", "s"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert!(stopped.stdout.starts_with("session s: interrupted"), "{stopped:?}");
    assert_eq!(session.ran().code, 130);
}

/// Neither address nor password is seen by hooks or agents, nor in what is stored and printed.
#[test]
fn address_and_password_reach_nothing_that_a_session_starts() {
    let cluster = Cluster::shared();
    let database = empty();
    cluster.sql(&database, &format!("GRANT CREATE ON DATABASE {database} TO {WORKER}"));
    let address = cluster.address(&database).replace("owner@", &format!("{WORKER}@"));
    let sandbox = Sandbox::new()
        .file("../.config/hookwright/secrets.env", format!("HOOKWRIGHT_STORE_PASSWORD='{PASSWORD}'\n"))
        .set("HOOKWRIGHT_STORE", &address)
        .file(
            "loop.yaml",
            "prompt: p\nagent: {command: 'env >> seen'}\ntermination: {type: fixed, iterations: 1}\nhooks:\n  session:start:\n    - {command: 'env >> seen; echo \"got $HOOKWRIGHT_STORE_PASSWORD\" >> seen; cat ~/.config/hookwright/secrets.env', await: true}\n",
        );
    chmod(&sandbox.path("../.config/hookwright/secrets.env"));
    assert_eq!(sandbox.run(&["store", "init"]).code, 0);
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let port = cluster.port().to_string();
    let seen = lines(&sandbox, "seen").join("\n");
    assert!(seen.contains("PATH="), "{seen}");
    let journal = "SELECT convert_from(value, 'UTF8') FROM hookwright.entries";
    let journal = cluster.sql(&database, journal);
    assert!(journal.contains("session_started"), "{journal}");
    let log = sandbox.run(&["sessions", "log", "s"]);
    for (what, text) in [("environment", &seen), ("journal", &journal), ("log", &log.stdout)] {
        assert!(!text.contains(PASSWORD), "the password is in the {what}: {text}");
        assert!(!text.contains(&port), "the address is in the {what}: {text}");
    }
}

#[test]
fn the_variable_is_ignored_inside_a_session() {
    let sandbox = Sandbox::new().file(
        "loop.yaml",
        "prompt: p\nagent: {command: 'HOOKWRIGHT_STORE=postgres://me@127.0.0.1:1/evil $BIN task add inner 2>> said'}\ntermination: {type: fixed, iterations: 1}\n",
    );
    let sandbox = sandbox.set("BIN", env!("CARGO_BIN_EXE_hookwright"));
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let said = lines(&sandbox, "said");
    assert_eq!(said, ["note: HOOKWRIGHT_STORE is ignored inside a session or a hook"]);
    let (_, tasks) = sandbox.json(&["task", "list", "--json"]);
    assert_eq!(tasks[0]["content"], "inner");
}

#[test]
fn settings_that_are_wrong_say_what_where_and_what_to_do() {
    for (settings, place, heading, help) in [
        (
            "store: postgres://me:hunter2@db/work",
            "1:8",
            "the address contains a password",
            "remove it from the address",
        ),
        (
            "store: postgres://me@/work",
            "1:8",
            "the address has no host",
            "write `store: postgres://USER@HOST/DATABASE`",
        ),
        (
            "store: mysql://me@db/work",
            "1:8",
            "a store at an address `mysql://…` is not supported",
            "write `store: postgres://",
        ),
        ("\nstroe: x", "2:1", "unknown key `stroe`", "did you mean `store`?"),
        ("store: [1]", "1:8", "expected a text", "write one setting a line"),
        ("allow_plain: 1", "1:14", "expected true or false", "write one setting a line"),
        (
            "store: postgres://me@db/work\nroot_certificate: no.pem",
            "2:19",
            "`no.pem`: expected a file but found nothing",
            "name a file",
        ),
        ("store: {", "", "the file is not valid YAML", "write one setting a line"),
    ] {
        let ran = Sandbox::new().file(SETTINGS, settings).run(&["status"]);
        assert_eq!(ran.code, 1, "{settings}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.starts_with(&format!("error: {heading}")), "{settings}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("store.yaml:{place}")), "{settings}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("help: {help}")), "{settings}: {}", ran.stderr);
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
}

#[test]
fn databases_that_cannot_be_used_say_what_to_do() {
    let cluster = Cluster::shared();
    let closed = Relay::to(cluster.port());
    closed.close();
    let newer = shared_database();
    cluster.sql(&newer, "UPDATE hookwright.schema_version SET version = 7");
    let cases = [
        (cluster.address(&empty()), "is not initialised", "`hookwright store init`"),
        (cluster.address(&newer), "has version 7, expected at most 1", "use the newer hookwright"),
        (cluster.address("none"), "denies access: the server has no such database", "check user"),
        (
            cluster.address("postgres").replace("owner@", &format!("{WORKER}@")),
            "denies access: the server asks for a password",
            "check user, password and rights",
        ),
        (closed.address("postgres"), "is unreachable: ", "check that the database runs"),
    ];
    for (address, heading, help) in cases {
        let ran = at(Sandbox::new(), &address).run(&["sessions", "list"]);
        assert_eq!(ran.code, 1, "{address}: {}{}", ran.stdout, ran.stderr);
        assert!(
            ran.stderr.contains(heading) && ran.stderr.contains(help),
            "{address}: {}",
            ran.stderr
        );
        assert!(!ran.stderr.contains("127.0.0.1"), "{}", ran.stderr);
    }
}

fn shared_database() -> String {
    let database = empty();
    let sandbox = at(Sandbox::new(), &Cluster::shared().address(&database));
    assert_eq!(sandbox.run(&["store", "init"]).code, 0);
    database
}

#[test]
fn sessions_and_tasks_of_this_machine_are_moved_and_a_running_one_is_left_out() {
    let sandbox = Sandbox::new().file(
        "loop.yaml",
        "prompt: p\nagent: {command: 'if [ -e wait ]; then echo $$ > pid; while [ -e wait ]; do sleep 0.05; done; fi'}\ntermination: {type: fixed, iterations: 1}\n",
    );
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "ended"]).code, 0);
    assert_eq!(sandbox.run(&["task", "add", "fix it"]).code, 0);
    write(&sandbox, "wait", "");
    let agent = Left::by(&sandbox, "pid");
    let running = start(&sandbox, &["run", "loop.yaml", "--session", "running"]);
    until("the agent runs", || agent.has_run());
    let nowhere = sandbox.run(&["store", "move"]);
    assert!(nowhere.stderr.contains("expected a database"), "{}", nowhere.stderr);

    let sandbox = shared(sandbox);
    let moved = sandbox.run(&["store", "move"]);
    assert_eq!(moved.code, 1, "{moved:?}");
    assert!(moved.stdout.starts_with("copied 1 session and "), "{moved:?}");
    assert!(moved.stderr.contains("warning: session `running` is running"), "{moved:?}");
    std::fs::remove_file(sandbox.path("wait")).unwrap();
    assert_eq!(running.ran().code, 0);
    let moved = sandbox.run(&["store", "move"]);
    assert_eq!((moved.code, moved.stderr.as_str()), (0, ""), "{moved:?}");
    assert!(moved.stdout.starts_with("copied 1 session and 0 other records"), "{moved:?}");
    let (_, sessions) = sandbox.json(&["sessions", "list", "--json"]);
    let names: Vec<_> =
        sessions["sessions"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["running", "ended"]);
    let (_, tasks) = sandbox.json(&["task", "list", "--json"]);
    assert_eq!(tasks[0]["content"], "fix it");
    // The file is as it was.
    let file = SqliteStore::open(&sandbox.path("../.local/state/hookwright")).unwrap();
    assert_eq!(
        file.list(hookwright_store::Kind::Session, &hookwright_store::Filter::newest(9))
            .unwrap()
            .len(),
        2
    );
}
