//! Machines with real processes.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Output;

use hookwright_machine_lab::{Lab, Machine};

fn lab() -> Lab {
    Lab::new("/bin/true", &[("file", "text\n")])
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..24_000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("waited in vain: {what}");
}

/// Starts a program that outlives the one that starts it, and waits until it runs.
fn leave_a_process(machine: &Machine) {
    let line = "setsid sleep 1000 > /dev/null 2>&1 & true";
    let _ = text(&machine.shell(line));
    until("a process runs", || machine.processes() == ["sleep 1000"]);
}

#[test]
fn machines_have_their_own_names_ids_homes_and_processes() {
    let lab = lab();
    let (a, b) = (lab.machine("a"), lab.machine("b"));
    let seen = "hostname; cat /etc/machine-id /proc/sys/kernel/random/boot_id; pwd";
    let (of_a, of_b) = (text(&a.shell(seen)), text(&b.shell(seen)));
    let (lines_a, lines_b): (Vec<_>, Vec<_>) = (of_a.lines().collect(), of_b.lines().collect());
    assert_eq!((lines_a[0], lines_b[0]), ("a", "b"));
    assert_eq!((lines_a[1], lines_a[2]), (&*a.identity().machine_id, &*a.identity().boot_id));
    assert_ne!(lines_a[1], lines_b[1]);
    assert_ne!(lines_a[2], lines_b[2]);
    // The same path, and another folder.
    assert_eq!(lines_a[3], lines_b[3]);
    let _ = text(&a.shell("echo of a > mine"));
    assert_eq!((a.read("mine").as_str(), b.read("mine").as_str()), ("of a\n", ""));
    let others = format!("ls {}/../machines | wc -l", a.home().display());
    assert_eq!(text(&a.shell(&others)), "0\n");
    leave_a_process(&a);
    assert_eq!(b.processes(), Vec::<String>::new());
    let _ = text(&b.shell("! pgrep sleep"));
    let _ = text(&a.shell("test -s /etc/passwd && pgrep sleep"));
}

#[test]
fn a_copy_of_a_machine_has_its_name_and_ids() {
    let lab = lab();
    let a = lab.machine("a");
    let copy = lab.machine_as("copy", a.identity().clone());
    let seen = "hostname; cat /etc/machine-id /proc/sys/kernel/random/boot_id";
    assert_eq!(text(&a.shell(seen)), text(&copy.shell(seen)));
}

#[test]
fn all_processes_end_with_a_machine_that_is_killed_and_it_starts_again() {
    let lab = lab();
    let mut a = lab.machine("a");
    let before = a.identity().boot_id.clone();
    let mut program = a.spawn(a.command("sleep", &["1001"]));
    let _ = text(&a.shell("setsid sleep 1000 > /dev/null 2>&1 & true"));
    until("both run", || a.processes().len() == 2);
    let pid = program.pid().unwrap();
    a.kill();
    assert!(!program.wait().success());
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    a.start_again();
    assert_eq!(a.processes(), Vec::<String>::new());
    assert_eq!(text(&a.shell("hostname; cat file")), "a\ntext\n");
    assert_ne!(a.identity().boot_id, before);
}

#[test]
fn a_machine_that_is_stopped_does_nothing_until_it_continues() {
    let lab = lab();
    let a = lab.machine("a");
    let counting = "while :; do echo x >> count; sleep 0.01; done";
    let mut program = a.spawn(a.command("bash", &["-c", counting]));
    until("it counts", || a.read("count").len() > 4);
    a.stop();
    let then = a.read("count");
    // Time for it to count, if it could.
    let _ = text(&lab.machine("b").shell("sleep 0.1"));
    assert_eq!(a.read("count"), then);
    assert!(program.ended().is_none());
    a.resume();
    until("it goes on", || a.read("count").len() > then.len());
    program.stop();
    let then = a.read("count");
    program.resume();
    until("it goes on", || a.read("count").len() > then.len());
    program.kill();
    assert!(!program.wait().success());
}

#[test]
fn a_machine_reaps_the_processes_that_it_adopts() {
    let lab = lab();
    let a = lab.machine("a");
    let _ = text(&a.shell("(setsid sleep 0.01 &)"));
    until("it is reaped", || text(&a.shell("ps -eo comm | grep -c sleep || true")) == "0\n");
}

#[test]
fn the_clock_of_a_machine_can_be_wrong() {
    let lab = lab();
    let (mut a, b) = (lab.machine("a"), lab.machine("b"));
    a.set_clock("+1h");
    let seconds =
        |machine: &Machine| -> i64 { text(&machine.shell("date +%s")).trim().parse().unwrap() };
    let ahead = seconds(&a) - seconds(&b);
    assert!((3_480..=3_720).contains(&ahead), "{ahead}");
}

#[test]
fn a_remote_refuses_disappears_and_comes_back() {
    let lab = lab();
    let a = lab.machine("a");
    let push = "git commit -q --allow-empty -m more && git push -q origin HEAD:refs/heads/more";
    lab.remote().refuse();
    let refused = a.shell(push);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no pushes today"), "{refused:?}");
    lab.remote().admit();
    lab.remote().disappear();
    assert!(!a.shell(push).status.success());
    lab.remote().appear();
    let _ = text(&a.shell(push));
    assert_eq!(lab.remote().refs("refs/heads/"), ["refs/heads/main", "refs/heads/more"]);
}

#[test]
fn a_machine_is_stopped_while_a_process_of_it_waits_for_the_program_of_its_new_child() {
    let lab = lab();
    let a = lab.machine("a");
    // The child of `vfork` has no program yet, and its parent waits for that.
    let line = "setsid python3 -c 'import ctypes; libc = ctypes.CDLL(None); \
                libc.vfork() or libc.sleep(1000)' > /dev/null 2>&1 & true";
    let _ = text(&a.shell(line));
    let waits =
        "pgrep --runstates D python3 > /dev/null && pgrep --runstates S python3 > /dev/null";
    until("the parent waits", || a.shell(waits).status.success());
    a.stop();
    a.resume();
    let _ = text(&a.shell(waits));
}
