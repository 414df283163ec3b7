//! [`Network`]: a separate network for the binary, with a test's own files in `/etc`, a DNS server
//! at 127.0.0.1 and a receiver of webhooks. It needs Linux namespaces, but no privileges.

use std::process::Command;

use crate::support::{Ran, Sandbox};
use crate::wanted;

/// Creates the network and runs its arguments in it. Prints what the receiver got, as lines, and
/// returns the command's exit code.
const SCRIPT: &str = r##"
import fcntl, http.server, socket, struct, subprocess, sys, threading

# The loopback of a new network is down.
lo = socket.socket()
fcntl.ioctl(lo, 0x8914, struct.pack("16sh22x", b"lo", 1))

def dns():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    ready.release()
    while True:
        asked, sender = server.recvfrom(512)
        at, labels = 12, []
        while asked[at]:
            labels.append(asked[at + 1:at + 1 + asked[at]].decode())
            at += asked[at] + 1
        name, kind = ".".join(labels), asked[at + 2]
        question = asked[12:at + 5]
        if name != "known.example.test":
            code, answers = 3, b""
        elif kind == 1:
            code, answers = 0, b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x05"
        else:
            code, answers = 0, b""
        head = asked[:2] + bytes([0x81, 0x80 | code, 0, 1, 0, bool(answers), 0, 0, 0, 0])
        server.sendto(head + question + answers, sender)

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        got.append(self.headers["host"] + " at " + self.connection.getsockname()[0])
        self.send_response(200)
        self.end_headers()
    def log_message(self, *about):
        pass

got, ready = [], threading.Semaphore(0)
threading.Thread(target=dns, daemon=True).start()
receiver = http.server.ThreadingHTTPServer(("0.0.0.0", 8080), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()
ready.acquire()
ended = subprocess.run(sys.argv[1:], stdout=sys.stderr)
print("\n".join(sorted(got)))
sys.exit(ended.returncode)
"##;

/// A network in which files of `/etc` have other contents.
pub(crate) struct Network<'a> {
    sandbox: &'a Sandbox,
    files: Vec<(&'static str, &'a str)>,
}

impl<'a> Network<'a> {
    pub(crate) fn new(sandbox: &'a Sandbox) -> Self {
        Self { sandbox, files: Vec::new() }
    }

    /// Sets the text of this file in `/etc`.
    pub(crate) fn file(mut self, name: &'static str, text: &'a str) -> Self {
        self.files.push((name, text));
        self
    }

    /// Runs the binary there: its result, and on standard output what the receiver got. `None` if
    /// the test run was told that there are no namespaces.
    pub(crate) fn run(&self, arguments: &[&str]) -> Option<Ran> {
        if wanted::namespaces_are_left_out() {
            return None;
        }
        let mut script = "set -e\n".to_owned();
        for (name, text) in &self.files {
            std::fs::write(self.sandbox.path(&format!("../{name}")), text).unwrap();
            script += &format!("mount --bind \"$HOME/{name}\" \"$(readlink -f /etc/{name})\"\n");
        }
        script += "exec python3 -c \"$network\" \"$@\"";
        let inner = self.sandbox.command(arguments);
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--net", "bash", "-c", &script, "-"]);
        command.arg(inner.get_program()).args(inner.get_args());
        command.current_dir(inner.get_current_dir().unwrap()).env_clear();
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = Ran::from(command.env("network", SCRIPT).output().expect("unshare is there"));
        assert!(
            !ran.stderr.starts_with("unshare: ") && !ran.stderr.contains("mount: "),
            "{ran:?}\nhelp: this machine allows no namespaces; set HOOKWRIGHT_NAMESPACES=none to leave \
             out what needs them"
        );
        Some(ran)
    }
}
