use super::*;

fn source(name: &str, text: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile { path: name.into(), text: text.into() })
}

fn form(name: &str) -> Form {
    if name == "config.json" { Form::AutoAgent } else { Form::Native }
}

fn changed(edited: Result<Edited, NotEditable>, before: &str) -> String {
    match edited {
        Ok(Edited::Changed { text }) => text,
        other => panic!("{other:?} of {before:?}"),
    }
}

fn add(name: &str, text: &str, hook: GitHook) -> String {
    changed(added(&source(name, text), hook, form(name)), text)
}

fn remove(name: &str, text: &str, hook: GitHook) -> String {
    changed(removed(&source(name, text), hook, form(name)), text)
}

/// Texts of many layouts, none of which has a git hook at the point.
fn layouts() -> Vec<(&'static str, String)> {
    let json = [
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "{\"logLevel\":\"info\"}",
        "{\"a\":1,\"b\":[1,2]}",
        "{\n  \"providers\": [\"claude\", \"gemini\"],\n  \"big\": 1.50e+3\n}\n",
        "{\n\t\"a\": 1,\n\t\"hooks\": {\n\t\t\"Stop\": []\n\t}\n}",
        "{\r\n    \"a\": \"\\u00e4\\/\",\r\n    \"b\": {}\r\n}\r\n",
        "\u{feff}{\n  \"a\": 1\n}\n",
        "{\"hooks\":{}}",
        "{\"hooks\": {}}\n",
        "{\n  \"hooks\": {\n  }\n}\n",
        "{\n  \"hooks\": { },\n  \"z\": 0\n}\n",
        "{\"hooks\":{\"PostExecutionEnd\":[]}}",
        "{\n  \"hooks\": {\n    \"PostExecutionEnd\": [\n    ]\n  }\n}\n",
        "{\n  \"hooks\": {\n    \"PostExecutionEnd\": [ ],\n    \"Stop\": []\n  }\n}\n",
        "{\"hooks\":{\"PostExecutionEnd\":[{\"type\":\"command\",\"command\":\"a\"}]}}",
        "{\"hooks\":{\"PostExecutionEnd\":[{\"type\":\"command\",\"command\":\"a\"},{\"type\":\"command\",\"command\":\"}]\\\"\"}]},\"z\":1}",
        "{\n  \"hooks\": {\n    \"PostExecutionEnd\": [\n      {\n        \"type\": \"command\",\n        \"command\": \"echo ']}'\"\n      }\n    ]\n  },\n  \"z\": \"last\"\n}\n",
        "{\n  \"hooks\": {\n    \"PostExecutionEnd\": [\n      { \"type\": \"command\", \"command\": \"a\" },\n      { \"type\": \"command\", \"command\": \"b\" }\n    ]\n  }\n}",
        "{\n  \"hooks\": {\n    \"PostExecutionEnd\": [{\"type\": \"command\", \"command\": \"a\"}]\n  }\n}",
        "{ // a\n  \"hooks\": { /* } */\n    \"PostExecutionEnd\": [ // [\n      {\"type\": \"command\", \"command\": \"a\"} // last\n    ] // ]\n  }\n}\n",
        "{\n  \"hooks\": {\"PreExecutionStart\": [{\"type\": \"git-commit\"}]},\n  \"list\": [\n    1,\n    2\n  ]\n}\n",
    ];
    let yaml = [
        "version: 1\n",
        "version: 1",
        "# mine\n\nversion: 1   # here\n\n# the end\n",
        "---\nversion: 1\n...\n",
        "version: 1\r\nmodel: opus\r\n",
        "{}\n",
        "{version: 1}\n",
        "{version: 1, hooks: {session:start: [{command: 'it''s ]'}]}}\n",
        "hooks: {}\n",
        "hooks: {} # none\nmodel: x\n",
        "hooks:\n  execution:post_end: []\n",
        "hooks:\n  execution:post_end: [ ] # none yet\n  session:end: []\n",
        "hooks:\n  session:end:\n    - command: a\n",
        "hooks:\n  session:end:\n  - command: a\n  - command: b\n",
        "hooks:\n  session:end:\n      - command: a\n\n\nmodel: opus\n",
        "hooks:\n    # what we do\n    session:end:\n        - command: |\n            a\n\n            # not a comment\n          once: true\n    # nothing more\n\n# bye\n",
        "hooks:\n  execution:post_end:\n    - command: cargo test   # first\n",
        "hooks:\n  execution:post_end:\n    - command: cargo test\n      # about the timeout\n      timeout: 5m\n    # - command: off\n  session:end:\n    - command: a\n",
        "hooks:\n  PostExecutionEnd:\n  - {command: a}\n  - {command: 'b # c'}\n",
        "hooks:\n  execution:post_end: [{command: a}]\nmodel: x",
        "hooks:\n  execution:post_end:\n    - command: >\n        folded\n        text\n\n  \nversion: 1\n",
        "hooks:\n  - event: execution:post_end\n    command: a\n  - event: session:end\n    type: git-commit\nversion: 1\n",
        "hooks:\n- event: execution:post_end\n  command: a",
        "\"hooks\":\n  \"execution:post_end\":\n    - \"command\": \"a\"\n",
        "hooks:\r\n  execution:post_end:\r\n    - command: a\r\n  session:end: []\r\n",
    ];
    let native_json = [
        "{\"version\": 1}\n",
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"execution:post_end\": [\n      {\"command\": \"a\"}\n    ]\n  }\n}\n",
        "{\n  \"hooks\": [\n    {\"event\": \"session:end\", \"command\": \"a\"}\n  ]\n}\n",
    ];
    let of = |name, text: &str| (name, text.to_owned());
    json.iter()
        .map(|text| of("config.json", text))
        .chain(yaml.iter().map(|text| of("hookwright.yaml", text)))
        .chain(native_json.iter().map(|text| of("hookwright.json", text)))
        .collect()
}

// Conformance: autoagent-044, autoagent-045
#[test]
fn what_is_added_and_removed_leaves_every_byte_as_it_was() {
    use GitHook::{Commit, Push};
    for (name, text) in layouts() {
        for (first, second) in [(Commit, Push), (Push, Commit)] {
            let one = add(name, &text, first);
            assert_eq!(remove(name, &one, first), text, "{first:?} of\n{one}");
            let both = add(name, &one, second);
            assert_eq!(remove(name, &both, second), one, "{second:?} of\n{both}");
            let other = remove(name, &both, first);
            assert_eq!(remove(name, &other, second), text, "{second:?} alone of\n{other}");
        }
    }
}

// Conformance: autoagent-045
#[test]
fn push_comes_after_commit_whatever_the_order() {
    use GitHook::{Commit, Push};
    for (name, text) in layouts() {
        for (first, second) in [(Commit, Push), (Push, Commit)] {
            let both = add(name, &add(name, &text, first), second);
            let both = source(name, &both);
            let file = File::new(&both, form(name)).expect("readable");
            let at = |hook: GitHook| match &file.hooks_of(hook)[..] {
                [one] => one.index,
                several => panic!("{} of {hook:?}", several.len()),
            };
            assert!(at(Commit) < at(Push), "{}", both.text);
        }
    }
}

#[test]
fn a_second_time_there_is_nothing_to_do() {
    for (name, text) in layouts() {
        for hook in [GitHook::Commit, GitHook::Push] {
            let none = removed(&source(name, &text), hook, form(name)).expect("readable");
            assert!(matches!(none, Edited::AlreadySo { line: None, .. }), "{none:?}");
            let there = added(&source(name, &add(name, &text, hook)), hook, form(name));
            assert!(
                matches!(there, Ok(Edited::AlreadySo { line: Some(_), .. })),
                "{there:?} after {hook:?} in\n{text}"
            );
        }
    }
}

#[test]
fn a_new_hook_looks_like_its_neighbours() {
    for (name, text, hook, expected) in [
        (
            "config.json",
            "{\n  \"logLevel\": \"info\"\n}\n",
            GitHook::Commit,
            "{\n  \"logLevel\": \"info\",\n  \"hooks\": {\n    \"PostExecutionEnd\": [\n      {\n        \
             \"type\": \"git-commit\",\n        \"message\": \"Complete issue #{{issueNumber}}: \
             {{issueTitle}}\"\n      }\n    ]\n  }\n}\n",
        ),
        (
            "config.json",
            "{\n\t\"hooks\": {\n\t\t\"PostExecutionEnd\": [\n\t\t\t{ \"type\": \"command\", \"command\": \"a\" }\n\t\t]\n\t}\n}",
            GitHook::Push,
            "{\n\t\"hooks\": {\n\t\t\"PostExecutionEnd\": [\n\t\t\t{ \"type\": \"command\", \"command\": \"a\" },\n\t\t\t\
             {\"type\": \"git-push\", \"remote\": \"origin\"}\n\t\t]\n\t}\n}",
        ),
        (
            "config.json",
            "{\"a\":1}",
            GitHook::Push,
            "{\"a\":1, \"hooks\": { \"PostExecutionEnd\": [ {\"type\": \"git-push\", \"remote\": \"origin\"} ] }}",
        ),
        (
            "hookwright.yaml",
            "version: 1\n",
            GitHook::Commit,
            "version: 1\nhooks:\n  execution:post_end:\n    - type: git-commit\n      message: \"Complete \
             issue #${ISSUE_NUMBER}: ${ISSUE_TITLE}\"\n      await: true\n",
        ),
        (
            "hookwright.yaml",
            "hooks:\n  execution:post_end:\n  - command: a # first\n  # last\n  - type: git-push\n# end\n",
            GitHook::Commit,
            "hooks:\n  execution:post_end:\n  - command: a # first\n  - type: git-commit\n    message: \
             \"Complete issue #${ISSUE_NUMBER}: ${ISSUE_TITLE}\"\n    await: true\n  # last\n  - type: git-push\n# end\n",
        ),
        (
            "hookwright.yaml",
            "hooks:\n- event: session:end\n  command: a\n",
            GitHook::Push,
            "hooks:\n- event: session:end\n  command: a\n- event: execution:post_end\n  type: git-push\n  \
             remote: origin\n  await: true\n",
        ),
    ] {
        assert_eq!(add(name, text, hook), expected);
    }
}

// Conformance: autoagent-044
#[test]
fn every_hook_of_the_type_goes_and_no_other() {
    let text = "{\"hooks\": {\"PostExecutionEnd\": [{\"type\": \"git-commit\", \"message\": \"mine\", \
                \"noVerify\": true}, {\"type\": \"command\", \"command\": \"a\"}, {\"type\": \
                \"git-commit\"}], \"PreExecutionEnd\": [{\"type\": \"git-commit\"}]}}";
    assert_eq!(
        remove("config.json", text, GitHook::Commit),
        "{\"hooks\": {\"PostExecutionEnd\": [{\"type\": \"command\", \"command\": \"a\"}], \
         \"PreExecutionEnd\": [{\"type\": \"git-commit\"}]}}"
    );
    let text = "hooks:\n  execution:post_end:\n    - type: git-commit\n      message: |\n        mine\n\n    - \
                command: a\n  git:pre_commit:\n    - type: git-commit\n";
    assert_eq!(
        remove("hookwright.yaml", text, GitHook::Commit),
        "hooks:\n  execution:post_end:\n\n    - command: a\n  git:pre_commit:\n    - type: git-commit\n"
    );
}

#[test]
fn a_file_of_ours_that_loses_its_only_hook_stays_a_configuration() {
    let text = "hooks:\n  execution:post_end:\n    - type: git-commit\n";
    assert_eq!(remove("hookwright.yaml", text, GitHook::Commit), "hooks: {}\n");
    let text = "hooks:\n  - event: execution:post_end\n    type: git-commit\n";
    assert_eq!(remove("hookwright.yaml", text, GitHook::Commit), "hooks: []\n");
}

#[test]
fn what_cannot_be_edited_is_left_alone() {
    for (name, text) in [
        ("config.json", "[]"),
        ("config.json", "{\"hooks\": []}"),
        ("config.json", "{\"hooks\": {\"PostExecutionEnd\": {}}}"),
        ("hookwright.yaml", "- a\n"),
        ("hookwright.yaml", "hooks: text\n"),
        (
            "hookwright.yaml",
            "hooks: &all\n  session:end: &list\n    - command: a\n  execution:post_end: *list\n",
        ),
    ] {
        let edited = added(&source(name, text), GitHook::Commit, form(name));
        assert!(matches!(edited, Err(NotEditable::Layout { .. })), "{text}: {edited:?}");
    }
    let broken = added(&source("config.json", "{"), GitHook::Commit, Form::AutoAgent);
    assert!(matches!(broken, Err(NotEditable::Unreadable(_))), "{broken:?}");
}

/// Makes choices from a random list of bytes; when that is used up, always the first.
struct Tape(std::vec::IntoIter<u8>);

impl Tape {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[usize::from(self.0.next().unwrap_or_default()) % from.len()]
    }

    fn blank(&mut self) -> &'static str {
        self.pick(&["", " ", "\n", "\n  ", "\n\t\t", "  ", "\r\n    ", "\n\n "])
    }

    fn remark(&mut self, indent: usize) -> String {
        let indent = " ".repeat(indent);
        match self.pick(&[0, 0, 0, 1, 2, 3]) {
            0 => String::new(),
            1 => "\n".to_owned(),
            2 => format!("{indent}# - type: git-commit: {{[\n"),
            _ => format!("\n{indent}# it's\n"),
        }
    }
}

fn in_brackets(tape: &mut Tape, open: char, parts: Vec<String>, close: char) -> String {
    let mut text = format!("{open}{}", tape.blank());
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            text.push_str(&format!("{},{}", tape.blank(), tape.blank()));
        }
        text.push_str(part);
    }
    if !parts.is_empty() {
        text.push_str(tape.blank());
    }
    text.push(close);
    text
}

fn some_hooks_in_brackets(tape: &mut Tape) -> String {
    let number = tape.pick(&[0, 1, 2, 3]);
    let items = (0..number).map(|_| {
        let command = tape.pick(&["a", "echo ']}'", "\\\" {[", "// /* # \\\\"]);
        let fields = vec![
            "\"type\": \"command\"".to_owned(),
            format!("\"command\":{}\"{command}\"", tape.blank()),
        ];
        in_brackets(tape, '{', fields, '}')
    });
    let items: Vec<String> = items.collect();
    in_brackets(tape, '[', items, ']')
}

fn some_json(tape: &mut Tape) -> String {
    let mut members = Vec::new();
    for key in ["a", "ä {", "\\u0061b"] {
        if tape.pick(&[true, false]) {
            let value = tape.pick(&["1.50", "-0", "\"}]\\\"\"", "{ }", "[[], {}]", "null"]);
            members.push(format!("\"{key}\"{}:{}{value}", tape.blank(), tape.blank()));
        }
    }
    if tape.pick(&[true, true, false]) {
        let mut points = Vec::new();
        for point in ["PreExecutionStart", "PostExecutionEnd", "Stop"] {
            if tape.pick(&[true, false]) {
                points.push(format!("\"{point}\": {}", some_hooks_in_brackets(tape)));
            }
        }
        let hooks = format!("\"hooks\":{}{}", tape.blank(), in_brackets(tape, '{', points, '}'));
        let at = usize::from(tape.pick(&[0_u8, 1, 2, 3])).min(members.len());
        members.insert(at, hooks);
    }
    let root = in_brackets(tape, '{', members, '}');
    format!("{}{root}{}", tape.pick(&["", "\u{feff}", "\n"]), tape.pick(&["", "\n", "\r\n", " "]))
}

fn some_items(tape: &mut Tape, indent: usize) -> String {
    let mut text = String::new();
    let (dash, pad) = (" ".repeat(indent), " ".repeat(indent + 2));
    for _ in 0..tape.pick(&[1, 2, 3]) {
        text.push_str(&tape.remark(indent));
        text.push_str(&match tape.pick(&[0, 1, 2, 3, 4]) {
            0 => format!("{dash}- command: a   # first\n"),
            1 => format!("{dash}- {{command: 'it''s ]'}}\n"),
            2 => format!("{dash}- command: |\n{pad}  one\n\n{pad}  # two\n"),
            3 => format!("{dash}- command: \"- type: git-push\"\n{pad}timeout: 5m\n"),
            _ => format!("{dash}-   command: >-\n{pad}    folded\n{pad}    text\n"),
        });
    }
    text
}

fn some_yaml(tape: &mut Tape) -> String {
    let mut text = tape.pick(&["", "# mine\n", "---\n", "\n"]).to_owned();
    text.push_str(tape.pick(&["version: 1\n", "model: 'a: b' # c\n"]));
    text.push_str(&tape.remark(0));
    let child = tape.pick(&[2_usize, 4, 1, 3]);
    let step = tape.pick(&[2_usize, 0, 4]);
    match tape.pick(&[0, 1, 1, 1, 2]) {
        0 => {}
        1 => {
            text.push_str("hooks:   # ours\n");
            let points = ["session:end", "execution:post_end", "session:start"];
            for (number, point) in points.iter().enumerate() {
                if number > 0 && tape.pick(&[true, false]) {
                    continue;
                }
                text.push_str(&tape.remark(child));
                text.push_str(&format!("{}{point}:", " ".repeat(child)));
                text.push_str(&match tape.pick(&[0, 1, 1]) {
                    0 => format!(" {}\n", tape.pick(&["[]", "[ ]", "[{command: a}]", "[] # none"])),
                    _ => format!("\n{}", some_items(tape, child + step)),
                });
            }
        }
        _ => {
            text.push_str(tape.pick(&["hooks: {}\n", "hooks: { } # none\n", "hooks: {Stop: []}\n"]))
        }
    }
    text.push_str(&tape.remark(0));
    text.push_str(tape.pick(&["", "agent: claude\n", "agent: claude", "# bye\n"]));
    if tape.pick(&[false, false, true]) { text.replace('\n', "\r\n") } else { text }
}

/// Switching on and off again must keep all bytes of the file.
fn keeps_its_bytes(name: &str, text: &str) {
    use GitHook::{Commit, Push};
    for (first, second) in [(Commit, Push), (Push, Commit)] {
        let one = add(name, text, first);
        assert_eq!(remove(name, &one, first), text);
        let both = add(name, &one, second);
        assert_eq!(remove(name, &both, second), one);
        assert_eq!(remove(name, &remove(name, &both, first), second), text);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(400))]

    #[test]
    fn any_json_keeps_its_bytes(tape: Vec<u8>) {
        let text = some_json(&mut Tape(tape.into_iter()));
        keeps_its_bytes("config.json", &text);
    }

    #[test]
    fn any_yaml_keeps_its_bytes(tape: Vec<u8>) {
        let text = some_yaml(&mut Tape(tape.into_iter()));
        keeps_its_bytes("hookwright.yaml", &text);
    }
}
