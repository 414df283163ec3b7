//! The complete message of every fault that a configuration can have.

use std::os::unix::fs::symlink;

use crate::support::{Ran, Sandbox};

/// The output of `check` for a project file with one fault.
fn said_about(hooks: &str) -> String {
    said_in(&Sandbox::with_hooks(hooks))
}

fn said_in(sandbox: &Sandbox) -> String {
    let Ran { code, stdout, stderr } = sandbox.run(&["check"]);
    assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
    let counted = stderr.strip_suffix("\n1 fault in 1 file\n");
    counted.expect("one fault, and its count").to_owned()
}

#[test]
fn a_folder_is_no_file() {
    let sandbox = Sandbox::new().file("hookwright.yaml/inside", "");
    assert_eq!(
        said_in(&sandbox),
        "error: expected a file but found a folder
 --> hookwright.yaml
help: name a file, like `hookwright.yaml/hooks.yaml`
"
    );
}

#[test]
fn a_file_that_the_system_does_not_open() {
    let sandbox = Sandbox::new();
    symlink("hookwright.yaml", sandbox.path("hookwright.yaml")).expect("linked");
    assert_eq!(
        said_in(&sandbox),
        "error: the file cannot be read: Too many levels of symbolic links
 --> hookwright.yaml
help: check that it exists and is readable: `ls -l hookwright.yaml`
"
    );
}

#[test]
fn a_file_of_50_mb() {
    let sandbox = Sandbox::new().file("hookwright.yaml", vec![b'#'; 50 << 20]);
    assert_eq!(
        said_in(&sandbox),
        "error: the file has 52428800 bytes, expected at most 4194304
 --> hookwright.yaml
help: keep only hooks in it; put scripts and data in other files
"
    );
}

#[test]
fn text_that_is_not_utf_8() {
    let sandbox = Sandbox::new().file("hookwright.yaml", b"hooks: \xe4");
    assert_eq!(
        said_in(&sandbox),
        "error: the file is not UTF-8 text (byte 7)
 --> hookwright.yaml
help: save it as UTF-8: `iconv -f latin1 -t utf-8 hookwright.yaml` if it is Latin-1
"
    );
}

#[test]
fn an_empty_file() {
    assert_eq!(
        said_about(""),
        "error: the file is empty, expected `hooks:`
 --> hookwright.yaml
help: write a first hook: `hooks: {session:start: [{command: echo hello}]}`
"
    );
}

#[test]
fn a_file_with_nothing_but_comments() {
    assert_eq!(
        said_about("# later\n"),
        "error: the file is empty, expected `hooks:`
 --> hookwright.yaml
help: write a first hook: `hooks: {session:start: [{command: echo hello}]}`
"
    );
}

#[test]
fn brackets_that_do_not_fit() {
    assert_eq!(
        said_about("a: [1, 2\nb: }\n"),
        "error: illegal placement of ':' indicator
 --> hookwright.yaml:2:2
  |
2 | b: }
  |  ^
help: look for a missing quote, bracket or space nearby; a string with `: `, ` #`, `{` or `*` needs quotes
"
    );
}

#[test]
fn tabs_that_indent_yaml() {
    assert_eq!(
        said_about("hooks:\n\t- x\n"),
        "error: tabs disallowed within this context (block indentation)
 --> hookwright.yaml:2:2
  |
2 |     - x
  |     ^
help: indent with spaces
"
    );
}

#[test]
fn two_documents_in_one_file() {
    assert_eq!(
        said_about("hooks: {}\n---\nhooks: {}\n"),
        "error: multiple YAML documents detected
 --> hookwright.yaml:3:1
  |
3 | hooks: {}
  | ^
help: keep one document: remove the line `---` and everything below it
"
    );
}

#[test]
fn an_alias_without_its_anchor() {
    assert_eq!(
        said_about("hooks: {tool:pre_execute: [{command: x, matcher: *.rs}]}\n"),
        "error: alias references unknown anchor
 --> hookwright.yaml:1:50
  |
1 | hooks: {tool:pre_execute: [{command: x, matcher: *.rs}]}
  |                                                  ^
help: put a string that begins with `*` in quotes, or define the anchor above it
"
    );
}

#[test]
fn a_bomb_of_anchors() {
    let mut bomb = String::from("a: &a [x,x,x,x,x,x,x,x,x]\n");
    for (name, before) in "bcdefghi".chars().zip("abcdefgh".chars()) {
        let nine = vec![format!("*{before}"); 9].join(",");
        bomb.push_str(&format!("{name}: &{name} [{nine}]\n"));
    }
    assert_eq!(
        said_about(&bomb),
        "error: expected aliases to repeat at most 20000 values but found more
 --> hookwright.yaml:5:11
  |
5 | e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]
  |           ^^
help: write the values out instead of repeating them with anchors
"
    );
}

#[test]
fn a_duplicate_key() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: a
  Stop:
    - command: b
"
        ),
        "error: the key `Stop` appears twice
 --> hookwright.yaml:4:3
  |
4 |   Stop:
  |   ^^^^
help: merge both `Stop` entries into one
"
    );
}

#[test]
fn a_misspelt_key() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      timout: 5
"
        ),
        "error: unknown key `timout`
 --> hookwright.yaml:4:7
  |
4 |       timout: 5
  |       ^^^^^^
help: did you mean `timeout`?
"
    );
}

#[test]
fn an_unknown_key() {
    assert_eq!(
        said_about(
            "callback: {port: 0, color: red}
"
        ),
        "error: unknown key `color`
 --> hookwright.yaml:1:21
  |
1 | callback: {port: 0, color: red}
  |                     ^^^^^
help: expected one of: bind, port, public_url
"
    );
}

#[test]
fn a_key_that_has_a_successor() {
    assert_eq!(
        said_about("completion: plateau\n"),
        "error: the key `completion` is not supported
 --> hookwright.yaml:1:1
  |
1 | completion: plateau
  | ^^^^^^^^^^
help: instead, use `termination`
"
    );
}

#[test]
fn a_key_of_another_type_of_hook() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      url: https://example.com
"
        ),
        "error: the key `url` is for webhook hooks, this is a shell hook
 --> hookwright.yaml:4:7
  |
4 |       url: https://example.com
  |       ^^^
help: remove `url`, or make it a hook of its own with `type: webhook`
"
    );
}

#[test]
fn a_value_of_another_kind() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      once: maybe
"
        ),
        "error: expected true or false but found the string `maybe`
 --> hookwright.yaml:4:13
  |
4 |       once: maybe
  |             ^^^^^
help: write `true` or `false`, without quotes
"
    );
}

#[test]
fn a_hook_without_its_dash() {
    assert_eq!(
        said_about("hooks:\n  Stop:\n    command: x\n"),
        "error: expected a list of hooks but found a map
 --> hookwright.yaml:3:5
  |
3 |     command: x
  |     ^
help: begin each hook with a dash: `- command: cargo test`
"
    );
}

#[test]
fn hooks_that_are_no_map() {
    assert_eq!(
        said_about("hooks: 5\n"),
        "error: expected a map from events to lists of hooks but found the number `5`
 --> hookwright.yaml:1:8
  |
1 | hooks: 5
  |        ^
help: write events with their hooks: `hooks: {session:start: [{command: echo hello}]}`
"
    );
}

#[test]
fn a_file_that_is_no_map() {
    assert_eq!(
        said_about("just text\n"),
        "error: expected a map with the key `hooks` but found the string `just text`
 --> hookwright.yaml:1:1
  |
1 | just text
  | ^^^^^^^^^
help: write events with their hooks: `hooks: {session:start: [{command: echo hello}]}`
"
    );
}

#[test]
fn a_hook_that_is_only_text() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - cargo test
"
        ),
        "error: expected a hook, a map with `command`, `url` or `pipeline` but found the string `cargo test`
 --> hookwright.yaml:3:7
  |
3 |     - cargo test
  |       ^^^^^^^^^^
help: write what it does: `- command: cargo test`
"
    );
}

#[test]
fn a_list_where_names_have_values() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      env: [A]
"
        ),
        "error: expected a map from names to strings but found a list
 --> hookwright.yaml:4:12
  |
4 |       env: [A]
  |            ^
help: write names with their values: `{NAME: value}`
"
    );
}

#[test]
fn a_misspelt_word() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      on_failure: abrt
"
        ),
        "error: expected continue, abort, retry, block but found `abrt`
 --> hookwright.yaml:4:19
  |
4 |       on_failure: abrt
  |                   ^^^^
help: did you mean `abort`?
"
    );
}

#[test]
fn an_unknown_word() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      on_failure: sometimes
"
        ),
        "error: expected continue, abort, retry, block but found `sometimes`
 --> hookwright.yaml:4:19
  |
4 |       on_failure: sometimes
  |                   ^^^^^^^^^
help: write one of `continue`, `abort`, `retry`, `block`
"
    );
}

#[test]
fn a_duration_that_is_none() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      timeout: soon
"
        ),
        "error: expected a duration of at most 30 days like 30, 0.5, 500ms, 5m or 2h but found `soon`
 --> hookwright.yaml:4:16
  |
4 |       timeout: soon
  |                ^^^^
help: write a duration of at most 30 days like 30, 0.5, 500ms, 5m or 2h
"
    );
}

// Conformance: agent-pipelines-091
#[test]
fn plain_http_beyond_this_machine() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - url: http://example.com
"
        ),
        "error: expected an https address, http to this machine, or `allow_http: true` beside it but found `http://example.com`
 --> hookwright.yaml:3:12
  |
3 |     - url: http://example.com
  |            ^^^^^^^^^^^^^^^^^^
help: use https, or write `allow_http: true` beside it
"
    );
}

#[test]
fn a_hook_that_does_nothing() {
    assert_eq!(
        said_about("hooks:\n  Stop:\n    - id: a\n"),
        "error: missing `command`, `url` or `pipeline`, or a `type` that needs none of them
 --> hookwright.yaml:3:7
  |
3 |     - id: a
  |       ^
help: set what the hook does: `command: cargo test`
"
    );
}

// Conformance: agent-pipelines-012
#[test]
fn a_shell_hook_without_a_command() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - type: shell
"
        ),
        "error: missing `command`
 --> hookwright.yaml:3:7
  |
3 |     - type: shell
  |       ^
help: set what to run: `command: cargo test`
"
    );
}

// Conformance: agent-pipelines-024
#[test]
fn a_webhook_without_an_address() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - type: webhook
"
        ),
        "error: missing `url`
 --> hookwright.yaml:3:7
  |
3 |     - type: webhook
  |       ^
help: set where to send it: `url: https://example.com/hook`; a question with `await: true` needs no address
"
    );
}

// Conformance: agent-pipelines-042
#[test]
fn a_spawn_without_a_pipeline() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - type: spawn
"
        ),
        "error: missing `pipeline`
 --> hookwright.yaml:3:7
  |
3 |     - type: spawn
  |       ^
help: set what to run: `pipeline: review`
"
    );
}

#[test]
fn an_entry_of_a_list_without_an_event() {
    assert_eq!(
        said_about("hooks:\n  - command: x\n"),
        "error: missing `event`
 --> hookwright.yaml:2:5
  |
2 |   - command: x
  |     ^
help: name the event: `event: tool:pre_execute`
"
    );
}

#[test]
fn a_failure_policy_without_await() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      await: false
      on_failure: abort
"
        ),
        "error: `await: false` cannot be combined with `abort` or `block`: nothing waits for the failure
 --> hookwright.yaml:4:7
  |
4 |       await: false
  |       ^^^^^
help: remove `await: false`, or write `on_failure: continue`
"
    );
}

#[test]
fn a_block_where_nothing_can_be_blocked() {
    assert_eq!(
        said_about(
            "hooks:
  stage:start:
    - command: x
      on_failure: block
"
        ),
        "error: `block` needs an event that can be blocked, and this one cannot
 --> hookwright.yaml:4:7
  |
4 |       on_failure: block
  |       ^^^^^^^^^^
help: use `abort` or `continue`; `hookwright events` shows which events can be blocked
"
    );
}

#[test]
fn on_exhausted_without_retry() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      on_exhausted: abort
"
        ),
        "error: `on_exhausted` needs `on_failure: retry`
 --> hookwright.yaml:4:7
  |
4 |       on_exhausted: abort
  |       ^^^^^^^^^^^^
help: add `on_failure: retry`, or use `on_failure` alone
"
    );
}

#[test]
fn a_matcher_where_there_is_no_subject() {
    assert_eq!(
        said_about(
            "hooks:
  user:prompt_submit:
    - command: x
      matcher: a
"
        ),
        "error: `matcher` compares an event's subject, but this event has none
 --> hookwright.yaml:4:7
  |
4 |       matcher: a
  |       ^^^^^^^
help: remove `matcher`, or use `when`, which can test all of an event's data
"
    );
}

#[test]
fn piped_output_without_a_reader() {
    assert_eq!(
        said_about(
            "hooks:
  session:end:
    - command: x
      pipe_output: true
"
        ),
        "error: `pipe_output` reaches no agent at the end of a session
 --> hookwright.yaml:4:7
  |
4 |       pipe_output: true
  |       ^^^^^^^^^^^
help: remove `pipe_output`, or listen to `session:stop`
"
    );
}

#[test]
fn a_version_of_tomorrow() {
    assert_eq!(
        said_about("version: 2\n"),
        "error: expected version 1 but found `2`
 --> hookwright.yaml:1:10
  |
1 | version: 2
  |          ^
help: write `version: 1`, or leave the line out
"
    );
}

#[test]
fn a_misspelt_event() {
    assert_eq!(
        said_about(
            "hooks:
  tool:pre_exeute:
    - command: x
"
        ),
        "error: unknown event `tool:pre_exeute`
 --> hookwright.yaml:2:3
  |
2 |   tool:pre_exeute:
  |   ^^^^^^^^^^^^^^^
help: did you mean `tool:pre_execute`?
"
    );
}

#[test]
fn an_unknown_event_name() {
    assert_eq!(
        said_about(
            "hooks:
  nonsense:
    - command: x
"
        ),
        "error: unknown event `nonsense`
 --> hookwright.yaml:2:3
  |
2 |   nonsense:
  |   ^^^^^^^^
help: `hookwright events` lists every event
"
    );
}

#[test]
fn a_subject_where_there_is_none() {
    assert_eq!(
        said_about(
            "hooks:
  user:interrupt:bash:
    - command: x
"
        ),
        "error: event `user:interrupt` has no subject, so `user:interrupt:bash` can never match
 --> hookwright.yaml:2:3
  |
2 |   user:interrupt:bash:
  |   ^^^^^^^^^^^^^^^^^^^
help: write `user:interrupt` alone
"
    );
}

#[test]
fn a_comma_too_many_between_events() {
    assert_eq!(
        said_about(
            "hooks:
  Stop,,SessionEnd:
    - command: x
"
        ),
        "error: an event name is missing
 --> hookwright.yaml:2:3
  |
2 |   Stop,,SessionEnd:
  |   ^^^^^^^^^^^^^^^^
help: write a name between the commas, as in `tool:pre_execute, session:stop`
"
    );
}

#[test]
fn a_matcher_that_is_no_regular_expression() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      matcher: /(/
"
        ),
        "error: invalid regular expression: unclosed group
 --> hookwright.yaml:4:16
  |
4 |       matcher: /(/
  |                ^^^
help: fix the expression between the slashes, or remove the slashes to match plain names
"
    );
}

#[test]
fn a_matcher_with_an_empty_name() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      matcher: a||b
"
        ),
        "error: one of the names between `|` is empty
 --> hookwright.yaml:4:16
  |
4 |       matcher: a||b
  |                ^^^^
help: remove the `|` that has no name beside it
"
    );
}

#[test]
fn a_condition_with_a_misspelt_variable() {
    assert_eq!(
        said_about(
            r#"hooks:
  Stop:
    - command: x
      when: "${ITERATON} % 10 == 0"
"#
        ),
        r#"error: unknown variable `ITERATON`
 --> hookwright.yaml:4:16
  |
4 |       when: "${ITERATON} % 10 == 0"
  |                ^^^^^^^^
help: did you mean `ITERATION`?
"#
    );
}

#[test]
fn a_condition_with_a_variable_that_is_never_set() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      when: ${XYZZY} == 0
"
        ),
        "error: unknown variable `XYZZY`
 --> hookwright.yaml:4:15
  |
4 |       when: ${XYZZY} == 0
  |               ^^^^^
help: use a variable that `hookwright events NAME` lists, or set it in the environment
"
    );
}

#[test]
fn a_condition_with_one_equals_sign() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      when: ${STAGE} = 'plan'
"
        ),
        "error: expected `==` but found `=`
 --> hookwright.yaml:4:22
  |
4 |       when: ${STAGE} = 'plan'
  |                      ^
help: compare with `==`
"
    );
}

#[test]
fn a_condition_that_makes_no_sense() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      when: ${STAGE} == == 1
"
        ),
        "error: expected a value but found `==`
 --> hookwright.yaml:4:25
  |
4 |       when: ${STAGE} == == 1
  |                         ^^
help: a condition looks like `${ITERATION} % 10 == 0 && ${STAGE} in ['plan', 'work']`
"
    );
}

#[test]
fn a_condition_with_an_open_quote() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      when: ${STAGE} == 'plan
"
        ),
        "error: the string that begins here has no closing quote
 --> hookwright.yaml:4:25
  |
4 |       when: ${STAGE} == 'plan
  |                         ^^^^^
help: close it with the quote it began with
"
    );
}

#[test]
fn a_condition_with_a_bad_expression() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      when: ${STAGE} matches '('
"
        ),
        "error: `(` is not a valid regular expression: unclosed group
 --> hookwright.yaml:4:30
  |
4 |       when: ${STAGE} matches '('
  |                              ^^^
help: fix the expression, or use `contains` or `startsWith` to compare plain text
"
    );
}

#[test]
fn a_condition_that_nests_too_deep() {
    let (open, close) = ("(".repeat(70), ")".repeat(70));
    let hooks = format!("hooks:\n  Stop:\n    - command: x\n      when: {open}1{close}\n");
    assert_eq!(
        said_about(&hooks),
        "error: the condition nests deeper than 64 levels
 --> hookwright.yaml:4:77
  |
4 | …((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
  |                                          ^
help: test it in the hook's command: a script can exit with 0 when it has nothing to do
"
    );
}

#[test]
fn an_empty_condition() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      when: ''
"
        ),
        "error: expected a condition but found ``
 --> hookwright.yaml:4:13
  |
4 |       when: ''
  |             ^^
help: write a condition
"
    );
}

#[test]
fn a_path_into_a_misspelt_variable() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: echo ${TOOL_INPT.command}
"
        ),
        "error: unknown variable `TOOL_INPT`
 --> hookwright.yaml:3:23
  |
3 |     - command: echo ${TOOL_INPT.command}
  |                       ^^^^^^^^^
help: did you mean `TOOL_INPUT`?
"
    );
}

#[test]
fn a_path_into_a_variable_that_is_never_set() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: echo ${XYZZY.command}
"
        ),
        "error: unknown variable `XYZZY`
 --> hookwright.yaml:3:23
  |
3 |     - command: echo ${XYZZY.command}
  |                       ^^^^^
help: use a variable that `hookwright events NAME` lists, or set it in the environment
"
    );
}

#[test]
fn a_duplicate_id() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - {command: echo, id: a}
    - {command: echo, id: a}
"
        ),
        "error: the id `a` appears twice, first in line 3
 --> hookwright.yaml:4:7
  |
4 |     - {command: echo, id: a}
  |       ^
help: give one of the two another `id`
"
    );
}

#[test]
fn an_unknown_dialect() {
    assert_eq!(
        said_about(
            "hooks:
  Stop:
    - command: x
      dialect: other
"
        ),
        "error: expected the name of a dialect (autoagent, claude, code-forge, iteratr, native) but found `other`
 --> hookwright.yaml:4:16
  |
4 |       dialect: other
  |                ^^^^^
help: leave `dialect` out for a native hook
"
    );
}
