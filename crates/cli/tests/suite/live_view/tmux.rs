//! [`Tmux`]: a shell on a real terminal; a test presses its keys and reads its screen.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::interrupts::{comes_true, until};
use crate::support::Sandbox;

/// The unchanged modes of a terminal: a visible cursor, line wrapping, the normal screen, and the
/// shell's keyboard settings.
pub(super) const WHOLE: &str = "cursor 1, wrap 1, alternate 0, icanon, echo";

/// A separate terminal with a shell in the sandbox's project. It ends with the test.
pub(super) struct Tmux {
    socket: PathBuf,
    _folder: TempDir,
}

impl Tmux {
    pub(super) fn start(sandbox: &Sandbox, columns: u32, rows: u32) -> Self {
        let folder = TempDir::new().unwrap();
        // The shell finds the binary and has its own prompt.
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_hookwright"));
        let (folder_of_binary, path) = (binary.parent().unwrap(), std::env::var("PATH").unwrap());
        let rc = format!(
            "PS1='$ '; PATH='{}:{path}'; TERM=screen-256color; unset CI HISTFILE",
            folder_of_binary.display()
        );
        std::fs::write(folder.path().join("rc"), rc).unwrap();
        let tmux = Self { socket: folder.path().join("s"), _folder: folder };
        let rc = tmux.socket.with_file_name("rc");
        let mut command = Command::new("tmux");
        // The server, and so the shell, has the sandbox's environment.
        let of_sandbox = sandbox.command(&[]);
        command.env_clear().env("LC_ALL", "C.UTF-8").env("TERM", "xterm-256color");
        for (name, value) in of_sandbox.get_envs() {
            command.envs(value.map(|value| (name, value)));
        }
        let (columns, rows) = (columns.to_string(), rows.to_string());
        command.arg("-u").arg("-S").arg(&tmux.socket).args([
            "-f",
            "/dev/null",
            "new-session",
            "-d",
        ]);
        command.args(["-x", &columns, "-y", &rows, "-c"]).arg(sandbox.path("."));
        command.args(["bash", "--noprofile", "--rcfile"]).arg(rc).arg("-i");
        assert!(command.status().unwrap().success());
        tmux.wait_for_prompt();
        tmux
    }

    /// Types a line once the shell shows its prompt: text typed earlier appears twice on the
    /// screen.
    pub(super) fn types(&self, line: &str) {
        self.wait_for_prompt();
        self.ask(&["send-keys", "-l", line]);
        self.press("Enter");
    }

    /// Presses a key by its name, or types letters.
    pub(super) fn press(&self, key: &str) {
        self.ask(&["send-keys", key]);
    }

    pub(super) fn resize(&self, columns: u32, rows: u32) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.ask(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Waits until this is on the screen, apart from the typed line.
    pub(super) fn wait_for(&self, text: &str) {
        self.wait_until(text, |screen| {
            screen.lines().any(|line| !line.starts_with("$ ") && line.contains(text))
        });
    }

    /// Waits until the session has printed its last line, and the shell shows its prompt.
    pub(super) fn wait_for_end(&self) {
        self.wait_for("files:");
        self.wait_for_prompt();
    }

    /// Waits until the shell shows its prompt.
    pub(super) fn wait_for_prompt(&self) {
        self.wait_until("a prompt", |screen| screen.lines().last() == Some("$"));
    }

    pub(super) fn wait_until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let last = std::cell::RefCell::new(String::new());
        let seen = comes_true(|| {
            let screen = trimmed(&self.captured(&["-J"]));
            let found = holds(&screen);
            last.replace(screen);
            found
        });
        assert!(seen, "waited in vain for {what}:\n{}", last.borrow());
    }

    /// Waits until the screen and the scrollback are exactly this, without times. The terminal
    /// draws piece by piece, so a capture may be incomplete.
    pub(super) fn wait_for_all(&self, expected: &str) {
        if !comes_true(|| self.all() == expected) {
            assert_eq!(self.all(), expected);
        }
    }

    /// The same for the screen alone.
    pub(super) fn wait_for_screen(&self, expected: &str) {
        if !comes_true(|| self.screen() == expected) {
            assert_eq!(self.screen(), expected);
        }
    }

    /// The screen and the scrollback, without times.
    pub(super) fn all(&self) -> String {
        without_times(&trimmed(&self.captured(&["-J"])))
    }

    /// The screen alone, without times.
    pub(super) fn screen(&self) -> String {
        without_times(&trimmed(&self.ask(&["capture-pane", "-p"])))
    }

    /// The screen and the scrollback, unchanged.
    pub(super) fn captured(&self, how: &[&str]) -> String {
        self.ask(&[&["capture-pane", "-p", "-S", "-"], how].concat())
    }

    /// The terminal's modes that programs may have changed, once the shell has it again.
    pub(super) fn modes(&self) -> String {
        self.wait_for_prompt();
        let format = "cursor #{cursor_flag}, wrap #{wrap_flag}, alternate #{alternate_on}";
        let screen = self.ask(&["display-message", "-p", format]);
        // While the shell edits a line it uses other settings, so a program reads them.
        let folder = self.ask(&["display-message", "-p", "#{pane_current_path}"]);
        let file = PathBuf::from(folder.trim()).join("modes");
        self.types("stty -a > modes.new && mv modes.new modes");
        until("the modes are known", || file.exists());
        let modes = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        self.wait_for_prompt();
        let words: Vec<&str> = modes.split_whitespace().collect();
        let of =
            |name: &'static str| words.iter().find(|word| word.ends_with(name)).unwrap().to_owned();
        format!("{}, {}, {}", screen.trim(), of("icanon"), of("echo"))
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        let output =
            command.arg("-u").arg("-S").arg(&self.socket).args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        let _ = command.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

/// Without spaces at the ends of lines and empty lines at the end.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    lines[..end].iter().map(|line| format!("{line}\n")).collect()
}

/// `T` for every duration, `N` for every process, rules and gaps as short as possible.
pub(super) fn without_times(text: &str) -> String {
    text.lines().map(|line| without_times_in_line(line) + "\n").collect()
}

fn without_times_in_line(line: &str) -> String {
    if line.starts_with("── ") {
        let mut parts = line.trim_matches(['─', ' ']).split('─').map(str::trim);
        let (left, right) = (parts.next().unwrap(), parts.next_back().unwrap_or_default());
        // A rule that is not completely drawn is returned as it is.
        return match is_span(right.trim_end_matches(' ')) {
            true => format!("── {left} ── T ──"),
            false => line.to_owned(),
        };
    }
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    let mut shown: Vec<String> = Vec::new();
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let plain = word.trim_end_matches([',', ':', ')']);
        let rest = &word[plain.len()..];
        let next = words.peek().map(|next| next.trim_end_matches([',', ':']));
        if is_span(plain) {
            shown.push(format!("T{rest}"));
        } else if is_number(plain) && next == Some("s") {
            let unit = words.next().unwrap();
            shown.push(format!("T{}", &unit[1..]));
        } else if shown.last().is_some_and(|last| last == "process") && is_number(plain) {
            shown.push(format!("N{rest}"));
        } else if !(word.is_empty() && shown.last().is_some_and(String::is_empty)) {
            shown.push(word.to_owned());
        }
    }
    format!("{indent}{}", shown.join(" "))
}

/// `12ms`, `4.31s`, `1m02s`.
fn is_span(word: &str) -> bool {
    let number = word.trim_end_matches(['m', 's', 'h']);
    number != word && number.split(['m', 'h']).all(is_number)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
}
