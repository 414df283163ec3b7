use super::*;
use crate::hosts::{all, named};
use crate::settings_text::tests::generator::{Dice, settings};

/// The path of an older installation.
const OLDER: &str = "/old/bin/hookwright";

const PROGRAM: &str = "/opt/my tools/hookwright";

fn settings_file(host: &Host) -> Option<HostFile> {
    let file = host.files(PROGRAM).remove(0);
    matches!(file.share, FileShare::Settings { .. }).then_some(file)
}

/// An entry of ours with an older path, as this host has it.
fn older_entry(host: &Host) -> String {
    let file = host.files(OLDER).remove(0);
    let all: Value = serde_json::from_str(&file.text).unwrap();
    let events = all.get("hooks").unwrap_or(&all);
    let entries = events.as_object().unwrap().values().next().unwrap();
    let inner = entries[0].get("hooks").map_or(&entries[0], |inner| &inner[0]);
    inner.to_string()
}

fn events(file: &HostFile) -> Vec<String> {
    let all: Value = serde_json::from_str(&file.text).unwrap();
    let events = all.get("hooks").unwrap_or(&all);
    events.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn whatever_the_settings_are_a_second_run_changes_nothing_and_ours_can_be_removed_again() {
    let (mut merged, mut refused) = (0, 0);
    for host in all() {
        let Some(file) = settings_file(host) else { continue };
        let (events, older) = (events(&file), older_entry(host));
        let names: Vec<&str> = events.iter().map(String::as_str).collect();
        let mut dice = Dice::new(host.name.len() as u64);
        for number in 0..400 {
            let before = settings(&mut dice, &names, &older);
            let Ok(first) = connected(host, &file, &before) else {
                refused += 1;
                continue;
            };
            merged += 1;
            let what = format!("{} {number}:\n{before}\n---\n{}", host.name, first.text);
            let second = connected(host, &file, &first.text).expect("it is ours now");
            assert_eq!(second.text, first.text, "{what}");
            // Every event calls us once, in the form that the host reads.
            let calls = |program: &str| first.text.matches(program).count();
            assert_eq!(calls(PROGRAM), events.len(), "{what}");
            assert_eq!(calls(OLDER), 0, "{what}");
            assert_eq!(
                first.text.matches("/opt/other").count(),
                before.matches("/opt/other").count()
            );
            let after = disconnected(host, &file, &first.text, Some(&before)).expect("ours");
            let after = after.expect("the user's file");
            assert_eq!(after.matches("hookwright hook").count(), 0, "{what}\n---\n{after}");
            let others = |text: &str| text.matches("/opt/other").count();
            assert_eq!(others(&after), others(&before), "{what}\n---\n{after}");
            if !before.contains("hookwright") {
                let meaning = |text: &str| {
                    format!("{:?}", parse(text).unwrap().map(|root| meaning_of(&root)))
                };
                if !before.trim_matches(['\u{feff}', '\n', ' ']).is_empty()
                    && parse(&before).unwrap().is_some()
                {
                    assert_eq!(meaning(&after), meaning(&before), "{what}\n---\n{after}");
                }
            }
        }
    }
    assert!(merged > 1_500 && refused > 100, "{merged} merged, {refused} refused");
}

fn meaning_of(value: &SettingsValue) -> String {
    let parts = value.parts().iter();
    let parts: Vec<String> =
        parts.map(|part| format!("{:?}:{}", part.key(), meaning_of(&part.value))).collect();
    format!("{:?}{:?}{parts:?}", value.found(), value.text())
}

fn codex(text: &str) -> Result<ConnectedText, SettingsFault> {
    let host = named("codex").unwrap();
    connected(host, &settings_file(host).unwrap(), text)
}

#[test]
fn an_entry_of_an_older_path_and_deadline_is_updated_where_it_is() {
    let before = r#"{
  "hooks": {
    "PreToolUse": [
      {"matcher": "", "hooks": [
        {"type": "command", "command": "/opt/other.sh"},
        {"type": "command", "command": "/old/hookwright hook codex --deadline 5", "timeout": 5, "name": "mine"}
      ]}
    ]
  }
}
"#;
    let after = codex(before).unwrap().text;
    let expected = before.replace(
        "\"/old/hookwright hook codex --deadline 5\", \"timeout\": 5",
        "\"'/opt/my tools/hookwright' hook codex --deadline 60 || exit 2\", \"timeout\": 60",
    );
    let upto = expected.find("      ]}\n    ]").unwrap();
    assert_eq!(after[..upto], expected[..upto]);
    assert_eq!(after.matches("PreToolUse").count(), 1);
}

#[test]
fn a_restricted_entry_stays_restricted_and_is_told() {
    let before = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
        {"type": "command", "command": "hookwright hook codex", "timeout": 5}]}]}}"#;
    let after = codex(before).unwrap();
    assert!(after.text.contains("\"matcher\": \"Bash\""), "{}", after.text);
    assert_eq!(
        after.notes,
        ["at PreToolUse, only `Bash` reaches your hooks: the entry has this matcher"]
    );
}

#[test]
fn settings_that_the_host_would_ignore_are_refused_with_the_place() {
    let fault = |text: &str| codex(text).expect_err("refused");
    assert_eq!(
        fault("{} // mine").message,
        "Codex reads plain JSON and ignores a file with comments, trailing commas or a byte order mark"
    );
    assert_eq!(fault("{} // mine").at, 3..4);
    assert_eq!(fault("[]").message, "expected the settings to be a map but found a list");
    assert_eq!(fault("{\"hooks\": []}").message, "expected `hooks` to be a map but found a list");
    assert_eq!(
        fault("{\"hooks\": {\"Stop\": {}}}").message,
        "expected a list of hooks of `Stop` but found a map"
    );
    assert_eq!(
        fault("{\"hooks\": {}, \"hooks\": {}}").message,
        "`hooks` is here twice: merge both into one"
    );
    let droid = named("droid").unwrap();
    let wrapped = connected(droid, &settings_file(droid).unwrap(), "{\"hooks\": {}}");
    assert_eq!(
        wrapped.expect_err("refused").message,
        "Droid ignores what is under `hooks` in this file: it expects the events at the top"
    );
}

#[test]
fn only_what_we_added_is_removed_from_an_edited_file() {
    let host = named("codex").unwrap();
    let file = settings_file(host).unwrap();
    for before in [
        "{\n  \"a\": 1\n}\n",
        "{\n  \"hooks\": {}\n}\n",
        "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n",
        "{\"a\": 1}",
    ] {
        let connected = codex(before).unwrap().text;
        let edited = connected.replacen('{', "{\n  \"new\": true,", 1);
        let after = disconnected(host, &file, &edited, Some(before)).unwrap().expect("a file");
        assert_eq!(after, before.replacen('{', "{\n  \"new\": true,", 1));
    }
    let created = codex("").unwrap().text;
    assert_eq!(created, file.text);
    assert_eq!(disconnected(host, &file, &created, None), Ok(None), "nothing is left");
    let edited = created.replacen('{', "{\n  \"new\": true,", 1);
    let after = disconnected(host, &file, &edited, None).unwrap().expect("a file");
    assert_eq!(after, "{\n  \"new\": true\n}\n");
}

#[test]
fn files_that_are_ours_alone_are_known_for_any_path_and_deadline() {
    for name in ["cline", "opencode"] {
        let host = named(name).unwrap();
        for (older, newer) in host.files(OLDER).iter().zip(host.files(PROGRAM)) {
            assert!(host.is_own_file(&newer, &older.text), "{}", older.text);
            assert!(!host.is_own_file(&newer, "#!/bin/sh\nexec ./mine.sh\n"));
            assert!(!host.is_own_file(&newer, ""));
        }
    }
    let cline = named("cline").unwrap();
    let file = cline.files(PROGRAM).remove(1);
    assert!(!cline.is_own_file(&file, &format!("{}./mine.sh\n", file.text)));
}
