//! The program as shipped: linked statically and at fixed addresses. It starts faster, and
//! `hostile/libraries.rs` shows the other advantage.

use crate::network::Network;
use crate::support::Sandbox;

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_program_needs_no_loader_and_no_relocations() {
    assert_eq!(
        env!("HOOKWRIGHT_LINKED"),
        "static",
        "the build said why it could not link statically; as a rule the file libc.a is missing"
    );
    let program = std::fs::read(env!("CARGO_BIN_EXE_hookwright")).unwrap();
    let number = |at: usize, bytes: usize| {
        program[at..at + bytes].iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    // ELF(5), 64 bits: the type of the file, and its loadable segments.
    const AT_FIXED_ADDRESSES: usize = 2;
    const RELOCATIONS: usize = 2;
    const LOADER: usize = 3;
    assert_eq!(number(16, 2), AT_FIXED_ADDRESSES);
    let (first, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    for part in 0..count {
        let kind = number(first + part * size, 4);
        assert!(kind != RELOCATIONS && kind != LOADER, "part {part} is of type {kind}");
    }
}

#[test]
fn webhooks_find_their_hosts_in_the_hosts_file_and_by_the_dns_server_of_this_machine() {
    let hook = |host: &str| format!("{{url: 'http://{host}:8080/', allow_http: true}}");
    let hooks = ["listed.example.test", "known.example.test", "known", "localhost"].map(hook);
    let sandbox = Sandbox::with_hooks(&format!("hooks: {{session:start: [{}]}}", hooks.join(", ")));
    let network = Network::new(&sandbox)
        .file("hosts", "127.0.0.1 localhost\n127.0.0.4 listed.example.test\n")
        .file("resolv.conf", "nameserver 127.0.0.1\nsearch example.test\n");
    let Some(ran) = network.run(&["fire", "session:start"]) else { return };
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (
            0,
            "known.example.test:8080 at 127.0.0.5\nknown:8080 at 127.0.0.5\n\
             listed.example.test:8080 at 127.0.0.4\nlocalhost:8080 at 127.0.0.1\n"
        ),
        "{ran:?}"
    );
}

#[test]
fn a_webhook_to_a_host_that_is_unknown_fails_and_says_so() {
    let sandbox = Sandbox::with_hooks(
        "hooks: {tool:pre_execute: [{url: 'http://unknown.example.test:8080/', allow_http: true,
         retries: 0}]}",
    );
    let network = Network::new(&sandbox).file("resolv.conf", "nameserver 127.0.0.1\n");
    let Some(ran) = network.run(&["fire", "tool:pre_execute"]) else { return };
    assert_eq!((ran.code, ran.stdout.as_str()), (2, "\n"), "{ran:?}");
    let said = "cannot connect: unknown host: neither /etc/hosts nor a DNS server knows its name";
    assert!(ran.stderr.contains(said), "{ran:?}");
}
