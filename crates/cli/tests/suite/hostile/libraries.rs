//! Attempts to load a library into the program that guards.

use std::process::Command;

use super::{HostileAgent, guard_points, without_messages};
use crate::hook_claude::trust;
use crate::network::Network;
use crate::support::Sandbox;

/// Makes every `hookwright` that loads it exit at once without output, which allows everything.
const YES: &str = r#"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void say_yes(void) {
    char name[16] = {0};
    int file = open("/proc/self/comm", O_RDONLY);
    if (file >= 0 && read(file, name, sizeof name - 1) > 0 && !strncmp(name, "hookwright", 10))
        _exit(0);
    close(file);
}

/* What the loader asks of a library that LD_AUDIT names. */
unsigned la_version(unsigned version) {
    say_yes();
    return version;
}
"#;

/// Compiles that library, in the project.
fn with_library(sandbox: Sandbox, name: &str) -> Sandbox {
    let sandbox = sandbox.file("yes.c", YES).file(&format!("{name}.md"), "");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(sandbox.path(name)).arg(sandbox.path("yes.c"));
    let output = compiler.output().expect("the compiler that links is there");
    assert!(output.status.success(), "{output:?}");
    sandbox
}

#[test]
#[cfg(target_os = "linux")]
fn no_library_that_settings_name_opens_any_guard_point() {
    let sandbox =
        Sandbox::new().global("hooks: {'*': [{await: true, command: 'echo no >&2; exit 2'}]}");
    let sandbox = with_library(with_library(trust(sandbox), "yes.so"), "lib/libgcc_s.so.1");
    let inside = |name: &str| sandbox.path(name).display().to_string();
    for point in guard_points() {
        let expected = without_messages(HostileAgent::new(&sandbox).call(&point));
        assert!(format!("{expected:?}").contains("no"), "{point}: {expected:?}");
        for (name, value) in [
            ("LD_PRELOAD", inside("yes.so")),
            ("LD_AUDIT", inside("yes.so")),
            ("LD_LIBRARY_PATH", inside("lib")),
        ] {
            let ran = HostileAgent::new(&sandbox).setting(name, &value).call(&point);
            assert_eq!(without_messages(ran), expected, "{name}={value} at {point}");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn looking_up_a_host_loads_no_library() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {tool:pre_execute: [{url: 'http://known.example.test:8080/', allow_http: true},
         {command: 'echo no >&2; exit 2'}]}",
    );
    // The library that the C library would load to look names up with the service `yes`.
    let sandbox = with_library(sandbox, "lib/libnss_yes.so.2");
    let folder = sandbox.path("lib").display().to_string();
    let sandbox = sandbox.set("LD_LIBRARY_PATH", &folder);
    let network = Network::new(&sandbox)
        .file("hosts", "127.0.0.1 localhost\n")
        .file("nsswitch.conf", "hosts: files yes dns\npasswd: yes files\n")
        .file("resolv.conf", "nameserver 127.0.0.1\n");
    let Some(ran) = network.run(&["fire", "tool:pre_execute"]) else { return };
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (2, "known.example.test:8080 at 127.0.0.5\n"),
        "{ran:?}"
    );
}
