//! Files and texts as a program gives them.

use hookwright_config::HookFiles;

#[test]
fn every_fault_of_every_file_is_reported_with_its_place() {
    let Err(error) = HookFiles::in_project("/")
        .text("rules.yaml", "hooks: {tool:pre_exec: [{command: x}]}")
        .file("no-such-file.yaml")
        .load()
    else {
        panic!("they have faults")
    };
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(
        lines[0],
        "rules.yaml:1:9: unknown event `tool:pre_exec` (did you mean `tool:pre_execute`?)"
    );
    assert!(lines[1].starts_with("no-such-file.yaml: the file cannot be read: "), "{text}");
}
