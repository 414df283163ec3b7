//! Other trouble around a session: full disks, read-only folders, damaged stores, misbehaving
//! agents, a second process.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use crate::interrupts::Left;
use crate::support::{Ran, Sandbox};

/// A loop of five iterations, in which every turn prints 20 kB and a hook 40 kB.
fn talkative() -> Sandbox {
    let said = "x".repeat(20_000);
    Sandbox::new()
        .file(
            "loop.yaml",
            "name: talk\nagent: {type: scripted, script: turns.yaml}\nprompt: Talk.\n\
             termination: {type: fixed, iterations: 5}\n\
             hooks: {iteration:complete: [{await: true, command: 'printf %040000d 0'}]}\n",
        )
        .file("turns.yaml", format!("turns: [[{{say: {said}}}]]\nthen: repeat\n"))
}

/// A loop of one iteration with this command as its agent.
fn with_agent(command: &str, more: &str) -> Sandbox {
    let agent = serde_json::json!({ "type": "command", "command": command });
    let text = format!(
        "name: one\nagent: {agent}\nprompt: Work.\ntermination: {{type: fixed, iterations: 1}}\n{more}\n"
    );
    Sandbox::new().file("loop.yaml", text)
}

/// Runs these lines of shell where file systems can be mounted; `$hookwright` is the binary. `None`
/// if the machine does not allow that.
fn in_a_mount_namespace(sandbox: &Sandbox, script: &str) -> Option<Ran> {
    let inner = sandbox.command(&[]);
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "bash", "-c"])
        .arg(format!("set -e; hookwright='{}'\n{script}", inner.get_program().to_string_lossy()))
        .current_dir(inner.get_current_dir().unwrap())
        .env_clear();
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap());
    }
    let ran = Ran::from(command.output().expect("unshare is there"));
    match ran.stderr.starts_with("unshare: ") || ran.stderr.contains("mount: ") {
        true => {
            // Containers often forbid it. Then there is no small disk to fill.
            None
        }
        false => Some(ran),
    }
}

#[test]
fn a_full_disk_ends_a_session_with_a_sentence_and_it_goes_on_when_there_is_room() {
    for (place, size) in [(".hookwright", "120k"), ("../.local/state", "400k")] {
        let sandbox = talkative();
        let script = format!(
            "mkdir -p {place}; mount -t tmpfs -o size={size} none {place}
             code=0; $hookwright run loop.yaml --session s > /dev/null 2> full || code=$?
             echo \"ended with $code\"; cat full >&2
             mount -o remount,size=20m {place}
             $hookwright resume s | tail -n 3"
        );
        let Some(ran) = in_a_mount_namespace(&sandbox, &script) else { continue };
        assert!(ran.stdout.starts_with("ended with 1\n"), "{place}: {ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{place}: {ran:?}");
        assert!(ran.stderr.contains("no space left "), "{place}: {ran:?}");
        assert!(ran.stderr.ends_with("help: free disk space, then resume: `hookwright resume`\n"));
        assert!(ran.stdout.contains("session s: completed\n  5 iterations"), "{place}: {ran:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_told_before_anything_starts() {
    for place in [".hookwright", "../.local/state"] {
        let sandbox = talkative();
        let script = format!(
            "mkdir -p {place}; mount --bind {place} {place}; mount -o remount,bind,ro {place}
             code=0; $hookwright run loop.yaml --session s || code=$?; echo \"ended with $code\""
        );
        let Some(ran) = in_a_mount_namespace(&sandbox, &script) else { continue };
        assert_eq!(ran.stdout, "ended with 1\n", "{place}: {ran:?}");
        assert!(ran.stderr.starts_with("error: "), "{place}: {ran:?}");
        assert!(ran.stderr.contains("Read-only file system"), "{place}: {ran:?}");
        assert!(ran.stderr.contains("help: "), "{place}: {ran:?}");
        if place == ".hookwright" {
            let resumed = sandbox.run(&["resume", "s"]);
            assert!(resumed.stderr.contains("there is no session `s`"), "{resumed:?}");
        }
    }
}

#[test]
fn a_store_that_was_cut_short_or_is_of_a_newer_version_is_left_alone() {
    let sandbox = talkative();
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "s"]).code, 0);
    let folder = sandbox.path("../.local/state/hookwright");
    let file = folder.join("store.sqlite3");
    // The content of its log would repair it.
    let log = folder.join("store.sqlite3-wal");
    let kept = fs::read(&log).ok();
    let whole = fs::read(&file).unwrap();
    let mut newer = whole.clone();
    // The offset of the version that a program gives its SQLite file.
    newer[60..64].copy_from_slice(&1_000_000_u32.to_be_bytes());
    for (bytes, said) in [(&whole[..whole.len() / 2], "damaged"), (&newer[..], "newer")] {
        fs::write(&file, bytes).unwrap();
        let _ = fs::remove_file(&log);
        for arguments in [&["resume", "s"][..], &["run", "loop.yaml"]] {
            let ran = sandbox.run(arguments);
            assert_eq!(ran.code, 1, "{ran:?}");
            assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(said), "{ran:?}");
            assert!(ran.stderr.contains("help: "), "{ran:?}");
            assert_eq!(ran.stdout, "");
        }
        assert!(fs::read(&file).unwrap() == bytes, "{said}: the file was changed");
    }
    fs::write(&file, &whole).unwrap();
    if let Some(kept) = kept {
        fs::write(&log, kept).unwrap();
    }
    assert_eq!(sandbox.run(&["resume", "s"]).code, 0);
}

#[test]
fn sessions_of_a_store_that_cannot_be_written_can_be_looked_at() {
    let sandbox = talkative();
    assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", "s"]).code, 0);
    let place = "../.local/state";
    let script = format!(
        "mount --bind {place} {place}; mount -o remount,bind,ro {place}
         $hookwright sessions list; $hookwright sessions show s; $hookwright sessions log s | tail -n 1
         $hookwright status; code=0; $hookwright resume s || code=$?; echo \"ended with $code\""
    );
    let Some(ran) = in_a_mount_namespace(&sandbox, &script) else { return };
    assert!(ran.stdout.contains("\ns     completed  talk"), "{ran:?}");
    assert!(ran.stdout.contains("iteration 5: continue"), "{ran:?}");
    assert!(ran.stdout.ends_with("ended with 1\n"), "{ran:?}");
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{ran:?}");
    assert!(ran.stderr.contains("cannot be written"), "{ran:?}");
}

#[test]
fn sessions_that_were_lost_with_the_log_of_the_store_are_named_once() {
    let sandbox = talkative();
    for session in ["one", "two"] {
        assert_eq!(sandbox.run(&["run", "loop.yaml", "--session", session]).code, 0);
    }
    let log = sandbox.path("../.local/state/hookwright/store.sqlite3-wal");
    assert!(fs::metadata(&log).unwrap().len() > 0, "the test needs commits in the log");
    fs::remove_file(&log).unwrap();
    let ran = sandbox.run(&["sessions", "list"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.starts_with("warning: the store has lost its last commits"), "{ran:?}");
    for session in ["one", "two"] {
        assert!(ran.stderr.contains(&format!("session `{session}` of ")), "{ran:?}");
    }
    assert!(ran.stderr.contains("help: "), "{ran:?}");
    let ran = sandbox.run(&["sessions", "list"]);
    assert!(!ran.stderr.contains("lost"), "{ran:?}");
}

/// Runs the binary with this limit of open files.
fn with_descriptors(sandbox: &Sandbox, limit: u32, arguments: &[&str]) -> Ran {
    let inner = sandbox.command(arguments);
    let mut command = Command::new("bash");
    command.args(["-c", &format!("ulimit -n {limit}; exec \"$0\" \"$@\"")]);
    command.arg(inner.get_program()).args(inner.get_args()).current_dir(sandbox.path("."));
    command.env_clear().envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::from(command.output().unwrap())
}

#[test]
fn too_few_descriptors_are_an_error_that_says_so_and_block_at_a_guard() {
    let sandbox = talkative().file(
        "hookwright.yaml",
        "hooks: {tool:pre_execute: [{id: guard, command: 'exit 0'}], session:start: [{command: 'true'}]}",
    );
    // Below the first number not even a program can be loaded.
    for limit in 4..20 {
        for arguments in [
            &["fire", "tool:pre_execute"][..],
            &["fire", "session:start"],
            &["run", "loop.yaml"],
            &["sessions", "list"],
        ] {
            let ran = with_descriptors(&sandbox, limit, arguments);
            let what = format!("{limit} descriptors, {arguments:?}: {ran:?}");
            assert!(!ran.stderr.contains("panicked"), "{what}");
            if arguments == ["fire", "tool:pre_execute"] {
                assert!(ran.code == 2 || (ran.code == 0 && ran.stderr.is_empty()), "{what}");
            } else if ran.code == 1 {
                assert!(ran.stderr.contains("open files"), "{what}");
            }
        }
    }
}

#[test]
fn an_agent_that_never_ends_is_ended_when_its_time_is_over() {
    // A busy machine needs longer until the agent runs; then there is something to end.
    for seconds in (0..6).map(|doubled| 1 << doubled) {
        let runtime = format!("max_runtime: {seconds}s");
        let sandbox = with_agent("echo $$ > pid; exec sleep 1000", &runtime);
        let agent = Left::by(&sandbox, "pid");
        let ran = sandbox.run(&["run", "loop.yaml"]);
        // A limit like the others: the session is completed, and names the limit.
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains("completed (max_runtime)"), "{ran:?}");
        if agent.has_run() {
            return assert!(agent.is_gone(), "it lives");
        }
    }
    panic!("the agent never came so far as to run");
}

#[test]
fn what_an_agent_prints_without_end_does_not_stay_in_memory() {
    let sandbox = with_agent(
        "head -c 1000000000 /dev/zero",
        "hooks: {iteration:complete: [{await: true, command: 'grep -e ^Name: -e ^VmHWM: /proc/$PPID/status > peak'}]}",
    );
    let ran = sandbox.run(&["run", "loop.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let peak = fs::read_to_string(sandbox.path("peak")).unwrap();
    let words: Vec<&str> = peak.split_whitespace().collect();
    let ["Name:", "hookwright", "VmHWM:", kilobytes, "kB"] = words[..] else { panic!("{peak}") };
    assert!(kilobytes.parse::<u64>().unwrap() < 60_000, "{peak}");
}

#[test]
fn an_agent_that_a_signal_ends_has_failed_and_the_signal_is_named() {
    let ran = with_agent("kill -SEGV $$", "").run(&["run", "loop.yaml"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stdout.contains("the agent was killed by signal 11"), "{ran:?}");
}

#[test]
fn a_status_that_cannot_be_read_is_an_error_that_says_so() {
    for (status, said) in [
        ("{\"decision\": \"sto", "status.json"),
        ("{\"decision\": \"perhaps\"}", "perhaps"),
        ("[]", "status.json"),
        ("", "status.json"),
    ] {
        let sandbox = with_agent(&format!("printf '%s' '{status}' > \"$STATUS\""), "");
        let ran = sandbox.run(&["run", "loop.yaml"]);
        assert_eq!(ran.code, 5, "{ran:?}");
        assert!(ran.stdout.contains(said), "{ran:?}");
    }
}

#[test]
fn of_two_processes_that_resume_a_session_one_runs_and_the_other_names_it() {
    let sandbox = with_agent("until [ -e go ]; do sleep 0.01; done", "");
    let mut first =
        until_the_agent_works(sandbox.command(&["run", "loop.yaml", "--session", "s", "--json"]));
    first.kill().unwrap();
    first.wait().unwrap();
    let mut second = until_the_agent_works(sandbox.command(&["resume", "s", "--json"]));
    let third = sandbox.run(&["resume", "s"]);
    assert_eq!((third.code, third.stdout.as_str()), (1, ""), "{third:?}");
    assert!(third.stderr.contains(&format!("process {}", second.id())), "{third:?}");
    let again = sandbox.run(&["run", "loop.yaml", "--session", "s"]);
    assert_eq!(again.code, 1, "{again:?}");
    fs::write(sandbox.path("go"), "").unwrap();
    let mut rest = String::new();
    second.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    assert!(second.wait().unwrap().success(), "{rest}");
}

/// Starts it and returns when the agent's process runs.
fn until_the_agent_works(mut command: Command) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::with_capacity(1, child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"agent_running\"") {
        line.clear();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it ended before");
    }
    child.stdout = Some(lines.into_inner());
    child
}
