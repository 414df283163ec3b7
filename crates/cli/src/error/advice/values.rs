//! What to write where something else is expected: one line for each place of a configuration.

use hookwright_config::Conflict;
use hookwright_engine::hook::HookConflict;

pub(super) fn syntax_help(message: &str) -> &'static str {
    if message.contains("aliases") {
        "write the values out instead of repeating them with anchors"
    } else if message.contains("tab") {
        "indent with spaces"
    } else if message.starts_with("unexpected character") {
        "remove it, or write it as an escape in double quotes: `\"\\e\"`"
    } else if message.contains("multiple") {
        "keep one document: remove the line `---` and everything below it"
    } else {
        "look for a missing quote, bracket or space nearby; a string with `: `, ` #`, `{` or `*` \
         needs quotes"
    }
}

pub(super) fn kind_help(expected: &str) -> String {
    match expected {
        "a list of cases" => "begin each case with a dash: `- name: sudo is blocked`".into(),
        "true or false" => "write `true` or `false`, without quotes".into(),
        "a list of hooks" => "begin each hook with a dash: `- command: cargo test`".into(),
        "a map with the key `hooks`" | "a map from events to lists of hooks" => {
            "write events with their hooks: `hooks: {session:start: [{command: echo hello}]}`"
                .into()
        }
        "a map from names to strings" => "write names with their values: `{NAME: value}`".into(),
        "a string" => "put it in quotes".into(),
        _ if expected.starts_with("a hook, a map with") => {
            "write what it does: `- command: cargo test`".into()
        }
        other => format!("write {other}"),
    }
}

pub(super) fn value_help(expected: &str) -> String {
    if expected.starts_with("an https address") {
        return "use https, or write `allow_http: true` beside it".into();
    }
    if expected.starts_with("a variable that no event sets") {
        return "move it to `data`, in lower case".into();
    }
    format!("write {expected}")
}

pub(super) fn missing_help(missing: &str) -> String {
    match missing {
        "`event`" => "name the event: `event: tool:pre_execute`".into(),
        "`command`" => "set what to run: `command: cargo test`".into(),
        "`url`" => "set where to send it: `url: https://example.com/hook`; a question with \
             `await: true` needs no address".into(),
        "`pipeline`" => "set what to run: `pipeline: review`".into(),
        "`cases`" => "write a first case: `cases: [{name: …, event: …, expect: {…}}]`".into(),
        "`name`" => "name the case: `name: sudo is blocked`".into(),
        "`event` or `steps`" => "name the event to fire: `event: tool:pre_execute`".into(),
        "`expect`" => "set the expected result: `expect: {decision: block}`".into(),
        "`contains` or `matches`" => "set what the text has to contain: `contains: sudo`".into(),
        "`stages`" => "list the stages: `stages: [{name: work, loop: work}]`; a file with a single loop needs another name".into(),
        "`loop`" => "name the loop of the stage: `loop: work`, or write the loop itself: `loop: \
             {prompt: …, agent: …}`".into(),
        "`name` of the stage" => "name the stage: `name: work`".into(),
        "`from`, an earlier stage" => "name the stage whose outputs you want: `from: plan`".into(),
        "`script`, a file of turns" => "name the file: `script: turns.yaml`".into(),
        "`type`: fixed, judgment or queue" => {
            "set when the loop ends: `termination: {type: fixed, iterations: 5}`".into()
        }
        _ => "set what the hook does: `command: cargo test`".into(),
    }
}

pub(super) fn hook_conflict_help(conflict: HookConflict) -> &'static str {
    match conflict {
        HookConflict::NotAwaited => "remove `await: false`, or write `on_failure: continue`",
        HookConflict::NothingToBlock => {
            "use `abort` or `continue`; `hookwright events` shows which events can be blocked"
        }
        HookConflict::NothingToExhaust => "add `on_failure: retry`, or use `on_failure` alone",
        HookConflict::NothingToMatch => {
            "remove `matcher`, or use `when`, which can test all of an event's data"
        }
        HookConflict::NoReader => "remove `pipe_output`, or listen to `session:stop`",
    }
}

pub(super) fn conflict_help(conflict: Conflict) -> &'static str {
    match conflict {
        Conflict::EventTwice => "remove `event`, or move the hook under that event",
        Conflict::TwoPrompts => "keep one of them",
        Conflict::ModelOfSeveral => "set it for one agent: `{type: NAME, model: …}`",
        Conflict::BesideSteps => "move it under a dash of `steps`, or remove `steps`",
        Conflict::DataTwice => "keep one of the two",
        Conflict::PreparesInPlace => "remove `in_place`: the case then runs in a copy",
        Conflict::ContentOfDeleted => "remove `content`, or write `is: changed`",
    }
}
