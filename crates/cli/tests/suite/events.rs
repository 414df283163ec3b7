//! `hookwright events`.

use hookwright_events::table::EVENTS;

use crate::support::{Ran, Sandbox};

// Conformance: code-forge-006
#[test]
fn every_event_has_a_line() {
    let ran = Sandbox::new().run(&["events"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let names: Vec<&str> =
        ran.stdout.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    let expected: Vec<&str> = EVENTS.iter().map(|event| event.name).collect();
    assert_eq!(names, expected);
    // The heading, one that cannot block, one that can, one whose block only adds its reason.
    let starts = ["event ", "session:message", "session:stop", "tool:post_execute"];
    let shown: Vec<String> = ran
        .stdout
        .lines()
        .filter(|line| starts.iter().any(|start| line.starts_with(start)))
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()))
        .map(|cells| cells.collect::<Vec<_>>().join(" | "))
        .collect();
    assert_eq!(
        shown,
        [
            "event | aliases | a block | subject | when",
            "session:message | no | role | a message is added to the session",
            "session:stop | Stop | the session goes on | reason | \
             the session is about to end, usually because all work is done",
            "tool:post_execute | PostToolUse | its reason is added beside the result | tool_name | \
             a tool has run",
        ]
    );
}

#[test]
fn one_event_is_told_in_full_under_any_of_its_names() {
    let sandbox = Sandbox::new();
    let told = sandbox.run(&["events", "session:end"]);
    assert_eq!(sandbox.run(&["events", "SessionEnd"]), told);
    let expected = "event     session:end
when      the session has ended
aliases   on_session_complete (only if the reason is completed or max_iterations), session_end, SessionEnd
a block   no
subject   reason
fired by  hookwright run, hookwright agent, hookwright hook claude, hookwright hook cline, hookwright hook codex, hookwright hook copilot, hookwright hook droid, hookwright hook gemini, hookwright hook opencode

field            variable          kind    meaning                                         aliases
reason           REASON            text    why the session or agent ends
error            ERROR             text    what went wrong

in every event
session          SESSION           text    name of the session                             session_name
session_id       SESSION_ID        text    unique id of the session
session_dir      SESSION_DIR       path    the session's own folder
transcript_path  TRANSCRIPT_PATH   path    the agent's transcript, as JSON lines
cwd              CWD               path    where the agent works                           workspace, working_dir
permission_mode  PERMISSION_MODE   text    the agent's permission mode
timestamp        TIMESTAMP         text    when it happened, ISO 8601 in UTC
prompt_id        PROMPT_ID         text    id of the prompt being worked on
agent_id         AGENT_ID          text    id of the subagent
agent_type       AGENT_TYPE        text    kind of the subagent
stage            STAGE             text    name of the current stage
next_stage       NEXT_STAGE        text    name of the next stage, empty after the last
iteration        ITERATION         number  iteration within its stage, from 1
max_iterations   MAX_ITERATIONS    number  the maximum number of iterations
progress         PROGRESS          path    the session's progress file
status           STATUS            path    the iteration's status.json
ctx              CTX               path    the iteration's context.json
last_decision    LAST_DECISION     text    decision of the last finished iteration
                 EVENT                     canonical name of the event
                 SUBJECT                   the subject, which matchers compare
                 LAST_HOOK_STATUS          how the previous hook ended: success or failed
                 HOOK_RESPONSE             a person's answer to an earlier hook, as JSON
                 SPAWN_OUTPUT              output of an earlier child pipeline, as JSON
                 CALLBACK_URL              address at which a person can answer this hook

Every variable exists also with the prefix HOOKWRIGHT_.
";
    assert_eq!(told, Ran::new(0, expected, ""));
}

#[test]
fn an_unknown_event_is_1_with_the_nearest_name() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.run(&["events", "tool:pre_exec"]),
        Ran::new(
            1,
            "",
            "error: unknown event `tool:pre_exec`\nhelp: did you mean `tool:pre_execute`?\n"
        )
    );
    assert_eq!(
        sandbox.run(&["events", "\x1b[2J"]),
        Ran::new(
            1,
            "",
            "error: unknown event `␛[2J`\nhelp: `hookwright events` lists every event\n"
        )
    );
}

#[test]
fn an_event_that_only_its_agent_knows_is_said_to_be_so() {
    let ran = Sandbox::new().run(&["events", "claude:config_change"]);
    assert_eq!(
        ran,
        Ran::new(
            1,
            "",
            "error: hookwright has no description of `claude:config_change`\n\
             help: hooks can listen to it; its data is whatever the agent sends\n"
        )
    );
}

#[test]
fn programs_read_the_whole_table_or_one_event_of_it() {
    let sandbox = Sandbox::new();
    let (code, all) = sandbox.json(&["events", "--json"]);
    assert_eq!((code, &all["version"]), (0, &1.into()));
    assert_eq!(all["events"].as_array().map(Vec::len), Some(EVENTS.len()));
    let (_, one) = sandbox.json(&["events", "Stop", "--json"]);
    assert_eq!(one["events"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["events"][0]["name"], "session:stop");
    assert_eq!(one["variables"], all["variables"]);
    assert_eq!(one["everywhere"], all["everywhere"]);
    let fields = |value: &serde_json::Value| -> Vec<String> {
        let fields = value["fields"].as_array().expect("fields");
        fields.iter().filter_map(|field| field["variable"].as_str()).map(str::to_owned).collect()
    };
    assert!(fields(&all).contains(&"TOOL_NAME".to_owned()));
    assert!(!fields(&one).contains(&"TOOL_NAME".to_owned()));
    assert!(fields(&one).contains(&"STOP_HOOK_ACTIVE".to_owned()));
}

/// `script` gives the binary a terminal; `stty` sets its width.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_no_line_is_wider_than_it_and_nothing_is_left_out() {
    let sandbox = Sandbox::new().set("NO_COLOR", "1");
    let in_terminal = |arguments: &str, columns: usize| {
        let binary = sandbox.command(&[]);
        let script = format!("stty cols {columns}; {} {arguments}", binary.get_program().display());
        let mut command = std::process::Command::new("script");
        command
            .args(["-qec", &script, "/dev/null"])
            .current_dir(sandbox.path("."))
            .env_clear()
            .envs(binary.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.output().ok().map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let words = |text: &str| {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words.dedup();
        words
    };
    for arguments in ["events", "events session:end", "events tool:pre_execute"] {
        let whole = sandbox.run(&arguments.split(' ').collect::<Vec<_>>()).stdout;
        for columns in [60, 80, 100, 120, 300] {
            let Some(shown) = in_terminal(arguments, columns) else { return };
            for line in shown.lines() {
                let line = line.trim_end_matches('\r');
                // A sentence after a table is one line, which terminals break.
                let is_sentence = line.starts_with("Every variable");
                assert!(is_sentence || line.chars().count() <= columns, "{columns}: {line}");
            }
            let (shown, whole) = (words(&shown), words(&whole));
            let lost: Vec<&String> = whole.iter().filter(|word| !shown.contains(word)).collect();
            // In stacked rows the first column needs no heading.
            assert!(
                lost.iter().all(|word| ["event", "field"].contains(&word.as_str())),
                "{lost:?}"
            );
        }
    }
}
