//! [`Terminal`]: the bottom of the normal screen, which shows the view.
//!
//! The log is printed above the view and scrolls like any other output. The cursor stays hidden at
//! the view's first column and row, so after a resize it is still there, whether the terminal
//! rewraps its lines or not, and the view is drawn again from there down. Keys are read one by one
//! without echo; Ctrl-C, Ctrl-Z and output processing stay unchanged.

use std::io::{self, IsTerminal, Write};

use rustix::termios::{
    LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetattr,
};

use super::drawing::{Tone, ViewLine};

/// Begins a synchronized update, if the terminal supports that.
const BEGIN: &str = "\x1b[?2026h\r";
const END: &str = "\x1b[?2026l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const NO_WRAPPING: &str = "\x1b[?7l";
const WRAPPING: &str = "\x1b[?7h";
const CLEAR_LINE: &str = "\x1b[2K";
const CLEAR_BELOW: &str = "\x1b[J";
/// From the first column on. Some terminals save a screen that is cleared as a whole to their
/// scrollback, so the view's first line is cleared separately.
const CLEAR_VIEW: &str = "\r\x1b[2K\x1b[C\x1b[J\r";
const DOWN: &str = "\x1b[B";

/// The terminal while the view uses it.
#[derive(Debug)]
pub(crate) struct Terminal {
    colour: bool,
    has_keys: bool,
    /// The keyboard's previous settings; `None` while the view does not have the terminal.
    before: Option<Before>,
    /// The lines that are drawn.
    drawn: Vec<ViewLine>,
    size: (usize, usize),
    /// Whether it was released on purpose, so that it is not taken again without a request.
    is_away: bool,
    /// Whether the terminal is gone.
    is_gone: bool,
}

#[derive(Debug)]
struct Before {
    keyboard: Option<Termios>,
}

impl Terminal {
    /// The terminal on standard output, if it can be drawn on and this process is in its
    /// foreground.
    pub(crate) fn find(colour: bool) -> Option<Self> {
        let has_keys = io::stdin().is_terminal();
        let terminal = Self {
            colour,
            has_keys,
            before: None,
            drawn: Vec::new(),
            size: (0, 0),
            is_away: false,
            is_gone: false,
        };
        let (columns, rows) = terminal.size()?;
        (columns > 0 && rows > 0 && terminal.is_in_foreground()).then_some(terminal)
    }

    /// Columns and rows.
    pub(crate) fn size(&self) -> Option<(usize, usize)> {
        let size = tcgetwinsize(io::stdout()).ok()?;
        Some((usize::from(size.ws_col), usize::from(size.ws_row)))
    }

    pub(crate) fn has_keys(&self) -> bool {
        self.has_keys && self.before.is_some() && !self.is_gone
    }

    /// The typed bytes, if any. After an error the keyboard is not read again.
    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> usize {
        if !self.is_in_foreground() {
            // Reading in the background would stop this process.
            self.give_back();
            return 0;
        }
        // Not through the library's buffer, since bytes in it would not wake the painter.
        match rustix::io::read(io::stdin(), bytes) {
            Ok(number) if number > 0 => number,
            Err(rustix::io::Errno::INTR) => 0,
            Ok(_) | Err(_) => {
                self.has_keys = false;
                0
            }
        }
    }

    /// Whether this process is in the foreground; in the background, using the terminal would stop
    /// it.
    fn is_in_foreground(&self) -> bool {
        let foreground = tcgetpgrp(io::stdout());
        foreground.is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Takes the terminal, unless the view has it. While a shell keeps this process in the
    /// background, lines are printed without a view.
    pub(crate) fn enter(&mut self) {
        let is_ours = self.before.is_some();
        if is_ours || self.is_away || self.is_gone || !self.is_in_foreground() {
            return;
        }
        let keyboard = if self.has_keys { self.take_keys() } else { None };
        self.has_keys = keyboard.is_some();
        self.before = Some(Before { keyboard });
        self.drawn.clear();
        self.send(HIDE_CURSOR);
    }

    /// Takes the terminal again after a stop, since other programs used it meanwhile.
    pub(crate) fn take_again(&mut self) {
        self.is_away = false;
        if let Some(Before { keyboard: Some(keyboard) }) = self.before.take() {
            // The process was stopped without a warning, so the keyboard was never restored.
            self.has_keys = true;
            if self.is_in_foreground() {
                let _ = tcsetattr(io::stdin(), OptionalActions::Now, &keyboard);
            }
        }
        self.enter();
    }

    fn take_keys(&self) -> Option<Termios> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut ours = before.clone();
        ours.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Now, &ours).ok()?;
        Some(before)
    }

    /// Restores the terminal without the view, for good or until [it is taken
    /// again](Self::take_again).
    pub(crate) fn leave(&mut self) {
        self.is_away = true;
        self.give_back();
    }

    fn give_back(&mut self) {
        let Some(Before { keyboard }) = self.before.take() else { return };
        self.drawn.clear();
        self.send(&format!("{CLEAR_VIEW}{WRAPPING}{SHOW_CURSOR}{END}"));
        // In the background that would stop this process, and the shell has restored it.
        if let Some(keyboard) = keyboard.filter(|_| self.is_in_foreground()) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &keyboard);
        }
    }

    /// Prints text above the view, and draws the view below it.
    pub(crate) fn show(&mut self, above: &str, lines: Vec<ViewLine>) {
        if self.before.is_none() {
            self.send(above);
            return;
        }
        let size = self.size().unwrap_or(self.size);
        if above.is_empty() && lines == self.drawn && size == self.size {
            return;
        }
        self.size = size;
        let mut text = String::from(BEGIN);
        if !above.is_empty() {
            text.push_str(CLEAR_VIEW);
            for line in above.split_inclusive('\n') {
                text.extend([line.trim_end_matches('\n'), "\r\n"]);
            }
        }
        let below = lines.len().saturating_sub(1);
        let up = if below > 0 { format!("\x1b[{below}A") } else { String::new() };
        // Make room with empty lines and draw the view without any: whatever size the terminal has
        // now, nothing of the view scrolls away.
        text.extend(std::iter::repeat_n("\n", below).chain([&*up, NO_WRAPPING]));
        for (number, line) in lines.iter().enumerate() {
            let next = if number > 0 { DOWN } else { "" };
            let (tone, plain) = (self.sgr(line.tone), self.plain(line.tone));
            text.extend([next, "\r", CLEAR_LINE, tone, &line.text, plain]);
        }
        text.extend([CLEAR_BELOW, WRAPPING, &*up, "\r"]);
        text.push_str(END);
        self.drawn = lines;
        self.send(&text);
    }

    fn sgr(&self, tone: Tone) -> &'static str {
        match tone {
            _ if !self.colour => "",
            Tone::Plain => "",
            Tone::Strong => "\x1b[1m",
            Tone::Faint => "\x1b[2m",
            Tone::Asking => "\x1b[1;33m",
        }
    }

    fn plain(&self, tone: Tone) -> &'static str {
        if self.colour && tone != Tone::Plain { "\x1b[0m" } else { "" }
    }

    /// Writes to the terminal. An error does not end a session.
    fn send(&mut self, text: &str) {
        if self.is_gone || text.is_empty() {
            return;
        }
        let mut stdout = io::stdout().lock();
        let sent = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        self.is_gone = sent.is_err();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.leave();
    }
}
