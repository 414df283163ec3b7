//! Settings files as people and programs write them: comments, trailing commas, byte order marks,
//! line ends, odd indentation, other tools' entries, keys that appear twice.

/// Random numbers that a seed determines.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        let number = usize::try_from(self.below(all.len() as u64)).unwrap_or_default();
        all[number]
    }
}

/// How a generated file is written.
struct Style {
    newline: &'static str,
    step: &'static str,
    has_lines: bool,
    trailing_commas: bool,
    comments: bool,
}

/// A settings file. `events` are names of the host's events, and `own` is an entry that calls us.
pub(crate) fn settings(dice: &mut Dice, events: &[&str], own: &str) -> String {
    let is_plain = dice.once_in(3);
    let style = Style {
        newline: dice.one_of(&["\n", "\n", "\n", "\r\n"]).to_owned().leak(),
        step: dice.one_of(&["  ", "    ", "\t", " "]).to_owned().leak(),
        has_lines: !dice.once_in(5),
        trailing_commas: !is_plain && dice.once_in(3),
        comments: !is_plain && dice.once_in(2),
    };
    let mark = if dice.once_in(12) { "\u{feff}" } else { "" };
    if dice.once_in(40) {
        return format!(
            "{mark}{}",
            dice.one_of(&["", "\n", "{}", "{ }", "{\n}\n", "// nothing\n", "/* a */{}"])
        );
    }
    if dice.once_in(40) {
        let broken = [
            "{",
            "[1, 2",
            "{\"a\" 1}",
            "{\"hooks\": {]}",
            "hooks: yes",
            "\"text\"",
            "{\"a\": tru}",
        ];
        return dice.one_of(&broken).to_owned();
    }
    let mut parts = Vec::new();
    for number in 0..dice.below(5) {
        let value = value(dice, &style, 1, 2);
        let key = dice.one_of(&["model", "théme", "env", "a\\\"b", "permissions", "\\u0068ooks2"]);
        // Keys appear twice in a few files.
        let key = if dice.once_in(20) { key.to_owned() } else { format!("{key}{number}") };
        parts.push(format!("\"{key}\":{}{value}", dice.one_of(&[" ", "", "  "])));
    }
    if !dice.once_in(4) {
        let hooks = hooks(dice, &style, events, own);
        let at = usize::try_from(dice.below(parts.len() as u64 + 1)).unwrap_or_default();
        parts.insert(at, format!("\"hooks\": {hooks}"));
        if dice.once_in(60) {
            parts.push("\"hooks\": {}".to_owned());
        }
    }
    let end = dice.one_of(&["", "\n", "\n\n", "\r\n"]);
    let start = if style.comments && dice.once_in(2) { "// my settings\n" } else { "" };
    format!("{mark}{start}{}{end}", bracketed(dice, &style, "{", "}", &parts, 0))
}

fn hooks(dice: &mut Dice, style: &Style, events: &[&str], own: &str) -> String {
    if dice.once_in(30) {
        return dice.one_of(&["[]", "null", "\"none\"", "3"]).to_owned();
    }
    let mut parts = Vec::new();
    for event in events {
        if dice.once_in(3) {
            continue;
        }
        if dice.once_in(40) {
            parts.push(format!("\"{event}\": {}", dice.one_of(&["{}", "null", "\"x\""])));
            continue;
        }
        let mut groups = Vec::new();
        for _ in 0..dice.below(3) {
            groups.push(group(dice, style, own));
        }
        let list = bracketed(dice, style, "[", "]", &groups, 2);
        parts.push(format!("\"{event}\": {list}"));
        if dice.once_in(100) {
            parts.push(format!("\"{event}\": []"));
        }
    }
    bracketed(dice, style, "{", "}", &parts, 1)
}

/// An entry of another tool, of ours, or of both.
fn group(dice: &mut Dice, style: &Style, own: &str) -> String {
    let other =
        "{\"type\": \"command\", \"command\": \"/opt/other/guard.sh --all\", \"timeout\": 5}";
    let mut commands: Vec<String> = Vec::new();
    for _ in 0..dice.below(3) {
        commands.push(if dice.once_in(3) { own } else { other }.to_owned());
    }
    let inner = bracketed(dice, style, "[", "]", &commands, 4);
    let mut parts = vec![format!("\"hooks\": {inner}")];
    if dice.once_in(3) {
        parts.insert(
            0,
            format!("\"matcher\": \"{}\"", dice.one_of(&["", "*", "Bash", "Edit|Write"])),
        );
    }
    bracketed(dice, style, "{", "}", &parts, 3)
}

fn value(dice: &mut Dice, style: &Style, depth: usize, depth_max: usize) -> String {
    if depth > depth_max || dice.once_in(2) {
        let words = [
            "true",
            "null",
            "1",
            "-2.50e3",
            "\"\"",
            "\"a // b /* c */\"",
            "\"}],{\"",
            "\"日本\\n\"",
            "1E400",
        ];
        return dice.one_of(&words).to_owned();
    }
    let count = dice.below(3);
    if dice.once_in(2) {
        let parts: Vec<String> =
            (0..count).map(|_| value(dice, style, depth + 1, depth_max)).collect();
        return bracketed(dice, style, "[", "]", &parts, depth);
    }
    let part = |number| format!("\"k{number}\": {}", value(dice, style, depth + 1, depth_max));
    let parts: Vec<String> = (0..count).map(part).collect();
    bracketed(dice, style, "{", "}", &parts, depth)
}

fn bracketed(
    dice: &mut Dice,
    style: &Style,
    open: &str,
    close: &str,
    parts: &[String],
    depth: usize,
) -> String {
    let line = |depth: usize| format!("{}{}", style.newline, style.step.repeat(depth));
    if parts.is_empty() {
        return format!("{open}{}{close}", dice.one_of(&["", "", " "]));
    }
    let has_lines = style.has_lines && !dice.once_in(6);
    let mut text = open.to_owned();
    for (number, part) in parts.iter().enumerate() {
        if has_lines {
            if style.comments && dice.once_in(6) {
                text += &format!("{}// about the next", line(depth + 1));
            }
            text += &line(depth + 1);
        } else if number > 0 {
            text += dice.one_of(&[" ", " ", ""]);
        }
        text += part;
        if style.comments && dice.once_in(15) {
            text += " /* before a comma */ ";
        }
        let is_last = number + 1 == parts.len();
        if !is_last || style.trailing_commas {
            text += ",";
        }
        if style.comments && has_lines && dice.once_in(8) {
            text += dice.one_of(&[" // \"about\" this, too", " /* { */", "// x"]);
        }
    }
    if has_lines && !dice.once_in(10) {
        text += &line(depth);
    } else if text.lines().last().is_some_and(|last| last.contains("//")) {
        text += "\n";
    }
    text + close
}
