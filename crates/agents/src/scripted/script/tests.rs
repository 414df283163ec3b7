use super::*;

fn read(text: &str) -> Script {
    Script::read(text, Path::new("turns.yaml")).unwrap_or_else(|faults| panic!("{faults:?}"))
}

fn faults(text: &str) -> Vec<String> {
    let faults = Script::read(text, Path::new("turns.yaml")).expect_err(text);
    faults.iter().map(ToString::to_string).collect()
}

fn say(text: &str) -> Vec<ScriptAction> {
    vec![ScriptAction::Say(text.to_owned())]
}

#[test]
fn every_action_is_read() {
    let script = read(
        "turns:
  - - say: hello
    - say: 5.0
    - complain: ''
    - write: {a.txt: one, sub/b.txt: \"\"}
    - append:
        a.txt: |
          two
    - delete: [a.txt, ./sub/b.txt]
    - status: {work: {files_touched: [a.txt]}, decision: stop, reason: done}
    - raw_status: '{'
    - sleep: 500ms
    - wait_for: go
    - run: git commit -m x
    - if_prompt: {contains: failed, then: [{fail: no}], else: [{exit: 3}]}
",
    );
    let text = str::to_owned;
    let status = serde_json::json!({
        "decision": "stop", "reason": "done", "work": {"files_touched": ["a.txt"]},
    });
    let actions = [
        ScriptAction::Say(text("hello")),
        ScriptAction::Say(text("5.0")),
        ScriptAction::Complain(text("")),
        ScriptAction::Write(vec![(text("a.txt"), text("one")), (text("sub/b.txt"), text(""))]),
        ScriptAction::Append(vec![(text("a.txt"), text("two\n"))]),
        ScriptAction::Delete(vec![text("a.txt"), text("./sub/b.txt")]),
        ScriptAction::Status(status.as_object().unwrap().clone()),
        ScriptAction::RawStatus(text("{")),
        ScriptAction::Sleep(Duration::from_millis(500)),
        ScriptAction::WaitFor(text("go")),
        ScriptAction::Run(text("git commit -m x")),
        ScriptAction::IfPrompt {
            contains: text("failed"),
            then: vec![ScriptAction::Fail(text("no"))],
            otherwise: vec![ScriptAction::Exit(3)],
        },
    ];
    assert_eq!(script.part("any", 1), ScriptPart::Actions(&actions));
}

#[test]
fn a_turn_is_chosen_by_its_stage_and_iteration() {
    let script = read(
        "turns:
  - [say: any 1]
  - {stage: work, do: [say: work 1]}
  - [say: any 2]
  - {stage: work, do: [say: work 2]}
  - do: [say: any 3]
",
    );
    for (stage, iteration, text) in [
        ("plan", 1, "any 1"),
        ("plan", 2, "any 2"),
        ("plan", 3, "any 3"),
        ("plan", 4, "any 3"),
        ("work", 1, "work 1"),
        ("work", 2, "work 2"),
        ("work", 1_000_000, "work 2"),
    ] {
        assert_eq!(
            script.part(stage, iteration),
            ScriptPart::Actions(&say(text)),
            "{stage} {iteration}"
        );
    }
}

#[test]
fn after_the_last_turn_the_script_decides_what_happens() {
    for (then, part) in [("stop", ScriptPart::Stop), ("fail", ScriptPart::Fail)] {
        let script = read(&format!("turns: [[say: a]]\nthen: {then}"));
        assert_eq!(script.part("x", 1), ScriptPart::Actions(&say("a")));
        assert_eq!(script.part("x", 2), part);
    }
    let script = read("turns: [{stage: work, do: [say: a]}]");
    assert_eq!(script.part("plan", 1), ScriptPart::Nothing);
    assert_eq!(script.at_end(), ScriptPart::Actions(&[]), "nothing is delivered to it");
    let script = read("turns: [[say: a]]\nat_end: [say: b]");
    assert_eq!(script.at_end(), ScriptPart::Actions(&say("b")));
}

#[test]
fn json_is_read_too() {
    let script = read(r#"{"turns": [[{"say": "a"}]]}"#);
    assert_eq!(script.part("x", 1), ScriptPart::Actions(&say("a")));
}

#[test]
fn every_fault_is_reported_with_its_place_and_what_was_expected() {
    let text = "turns:
  - - sya: hello
    - say: [a]
    - {say: a, exit: 1}
    - write: {../a: x, /b: y, c: null}
    - delete: [a/../../b]
    - status: {decision: maybe, becuase: x}
    - status: {reason: x}
    - exit: 256
    - sleep: soon
    - run: ' '
    - if_prompt: {then: []}
    - wait_for: /tmp/x
    - status: {decision: [stop], reason: {}}
  - stage: work
  - hello
then: again
";
    let expected = [
        "2:7: unknown key `sya`, expected one of: say, complain, write, append, delete, status, \
         raw_status, fail, exit, sleep, wait_for, run, if_prompt",
        "3:12: expected a string but found a list",
        "4:7: expected one action in each item of the list but found a map with 2 keys",
        "5:15: expected a path within the working directory but found `../a`",
        "5:24: expected a path within the working directory but found `/b`",
        "5:34: expected a string but found nothing",
        "6:16: expected a path within the working directory but found `a/../../b`",
        "7:26: expected continue, stop, error but found `maybe`",
        "7:33: unknown key `becuase`, expected one of: decision, reason, summary, work, failure, \
         resets_at, retry_after, usage, agent_session",
        "8:15: missing `decision`: continue, stop or error",
        "9:13: expected an exit code from 0 to 255 but found `256`",
        "10:14: expected a duration of at most 30 days like 30, 0.5, 500ms, 5m or 2h but found `soon`",
        "11:12: expected a command but found ` `",
        "12:25: expected a list of actions but found an empty list",
        "12:18: missing `contains`, a string to look for",
        "13:17: expected a path within the working directory but found `/tmp/x`",
        "14:26: expected continue, stop, error but found `a list`",
        "14:42: expected a string but found an empty map",
        "15:5: missing `do`, a list of actions",
        "16:5: expected a turn: a list of actions, or a map with `stage` and `do` but found a string",
        "17:7: expected repeat, stop, fail but found `again`",
    ];
    let expected: Vec<String> =
        expected.iter().map(|fault| format!("turns.yaml:{fault}")).collect();
    assert_eq!(faults(text), expected);
}

#[test]
fn a_similar_name_is_suggested() {
    let faults = Script::read("turns: [[sya: x]]", Path::new("t")).unwrap_err();
    assert_eq!(faults[0].kind.nearest(), Some("say"));
}

#[test]
fn a_file_that_is_not_a_script_is_reported_as_such() {
    for (text, fault) in [
        ("", "turns.yaml:1:1: expected a map with `turns` but found nothing"),
        ("[]", "turns.yaml:1:1: expected a map with `turns` but found an empty list"),
        ("then: stop", "turns.yaml:1:1: missing `turns`, a list"),
        ("turns: []", "turns.yaml:1:8: expected a list of turns but found an empty list"),
        ("turns: [[exit: 1]]\nturns: 2", "turns.yaml:2:1: the key `turns` appears twice"),
    ] {
        assert_eq!(faults(text), [fault], "{text}");
    }
    let broken = faults("turns:\n  - [say: 'x]");
    assert!(broken.len() == 1 && broken[0].starts_with("turns.yaml:"), "{broken:?}");
    let deep = faults(&format!("turns: {}{}", "[".repeat(100), "]".repeat(100)));
    let fault = "turns.yaml:1:71: expected at most 64 levels of nesting but found more";
    assert_eq!(deep, [fault]);
    let huge = format!("turns: [[say: {}]]", "x".repeat(5 * 1024 * 1024));
    let fault = "turns.yaml: the file has 5242896 bytes, expected at most 4194304";
    assert_eq!(faults(&huge), [fault]);
}
