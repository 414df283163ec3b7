//! What the hooks do, and what the model says.
//!
//! A call that is to be denied contains `probe-deny-MARK`, and the reason is `probe-refused-MARK`, so
//! that nothing but a delivered reason puts that text into a request to the model.

use std::path::Path;

use hookwright_dialects::hosts::{Host, OfflineCall};
use hookwright_model_server::{ModelTurn, ToldConversation};
use serde_json::{Value, json};

use super::check::{self, CallKind, Check};

/// In the prompt of the agent, and so in all its requests.
const MAIN: &str = "probe-of-hookwright";

/// In the prompt of a subagent.
const SUBAGENT: &str = "probe-of-a-subagent";

/// The file of hooks.
pub(super) const HOOKS: &str = r#"version: 1
hooks:
  '*':
    - id: record
      await: true
      command: event=$(cat); printf '%s\n' "$event" >> ../events
  session:start:
    - {id: at-start, await: true, command: 'echo ''{"additionalContext": "probe-context-start"}'''}
  user:prompt_submit:
    - {id: with-prompt, command: 'echo ''{"additionalContext": "probe-context-prompt"}'''}
    - id: deny-prompt
      command: grep -q probe-deny-prompt || exit 0; echo probe-refused-prompt >&2; exit 2
  tool:pre_execute:
    - {id: before, command: 'echo ''{"additionalContext": "probe-context-before"}'''}
    - id: deny
      command: |
        event=$(cat)
        case $event in *probe-deny-*) ;; *) exit 0 ;; esac
        mark=${event#*probe-deny-}
        echo "probe-refused-${mark%%[!a-z]*}" >&2
        exit 2
    - id: ask
      when: ${TOOL_INPUT.command} matches 'probe-ask'
      command: echo '{"decision":"ask","reason":"probe-refused-ask"}'
    - id: rewrite
      when: ${TOOL_INPUT.command} matches 'probe-rewrite'
      command: echo '{"decision":"allow","updatedInput":{"command":"touch replaced"}}'
    - {id: probe-refused-missing, when: "${TOOL_INPUT.command} matches 'probe-missing'", command: ./no-such-guard}
    - {id: probe-refused-crash, when: "${TOOL_INPUT.command} matches 'probe-crash'", command: kill -KILL $$}
    - {id: probe-refused-hang, when: "${TOOL_INPUT.command} matches 'probe-hang'", command: exec sleep 600}
  tool:post_execute:
    - {id: after, command: 'echo ''{"additionalContext": "probe-context-after"}'''}
  session:stop:
    - {id: stop, command: 'echo probe-refused-stop >&2; exit 2'}
"#;

/// Which program the settings of a run call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CalledProgram {
    /// This one.
    This,
    /// One that does not exist.
    Missing,
    /// One that is killed.
    Crashing,
}

/// One run of the agent.
#[derive(Debug, Clone)]
pub(super) struct RunPlan {
    /// What it shows.
    pub(super) checks: Vec<Check>,
    /// Whether it is in the home with the user's settings.
    pub(super) is_users: bool,
    /// The program that the generated settings call.
    pub(super) program: CalledProgram,
    /// Whether the generated settings have short timeouts.
    pub(super) is_short: bool,
}

/// The runs in empty homes.
pub(super) fn clean_runs(host: &Host) -> Vec<RunPlan> {
    let all = check::all(host);
    let main = |check: &Check| place_of(*check) == ScriptedPlace::Main;
    let mut runs = main_runs(host, all.iter().copied().filter(main).collect(), false);
    for check in all.into_iter().filter(|check| !main(check)) {
        runs.push(RunPlan {
            checks: vec![check],
            is_users: false,
            program: match check {
                Check::ProgramMissing => CalledProgram::Missing,
                Check::ProgramCrash => CalledProgram::Crashing,
                _ => CalledProgram::This,
            },
            is_short: check == Check::GuardHang,
        });
    }
    runs
}

/// The runs in homes with the user's settings.
pub(super) fn user_runs(host: &Host) -> Vec<RunPlan> {
    let main = |check: &Check| place_of(*check) == ScriptedPlace::Main;
    main_runs(host, check::all(host).into_iter().filter(main).collect(), true)
}

#[derive(PartialEq, Eq)]
enum ScriptedPlace {
    /// With all the others in one run.
    Main,
    /// In a run of its own.
    Alone,
}

fn place_of(check: Check) -> ScriptedPlace {
    match check {
        Check::Prompt
        | Check::GuardHang
        | Check::ProgramMissing
        | Check::ProgramCrash
        | Check::Call(CallKind::Direct) => ScriptedPlace::Alone,
        Check::Fires(_)
        | Check::Context(_)
        | Check::Call(_)
        | Check::Ask
        | Check::Rewrite
        | Check::GuardMissing
        | Check::GuardCrash
        | Check::Stop => ScriptedPlace::Main,
    }
}

/// One run for all checks; if a deny ends the run, one for each check that denies.
fn main_runs(host: &Host, checks: Vec<Check>, is_users: bool) -> Vec<RunPlan> {
    let plan = |checks| RunPlan { checks, is_users, program: CalledProgram::This, is_short: false };
    if !host.offline.ends_at_deny {
        return vec![plan(checks)];
    }
    let denies = |check: &Check| {
        matches!(check, Check::Call(_) | Check::Ask | Check::GuardMissing | Check::GuardCrash)
    };
    let (denying, others): (Vec<_>, Vec<_>) = checks.into_iter().partition(denies);
    let mut runs = vec![plan(others)];
    runs.extend(denying.into_iter().map(|check| plan(vec![check])));
    runs
}

impl RunPlan {
    /// The prompt.
    pub(super) fn prompt(&self) -> String {
        let deny = if self.checks.contains(&Check::Prompt) { " probe-deny-prompt" } else { "" };
        format!("{MAIN}: do what the script says{deny}")
    }

    /// The arguments before the others.
    pub(super) fn arguments(&self, host: &Host) -> Vec<&'static str> {
        let run = host.offline;
        let direct = run
            .calls
            .direct
            .as_ref()
            .filter(|_| self.checks.contains(&Check::Call(CallKind::Direct)));
        direct.map(|direct| direct.arguments.to_vec()).unwrap_or_default()
    }

    /// What the model says to the agent and to its subagent.
    pub(super) fn conversations(&self, host: &Host, project: &Path) -> Vec<ToldConversation> {
        let mut main: Vec<ModelTurn> = Vec::new();
        // There is always a call, so that every event fires.
        if !self.checks.contains(&Check::Call(CallKind::Shell)) {
            main.push(turn((host.offline.calls.shell)("touch allowed-first")));
        }
        for check in &self.checks {
            main.extend(turns(host, *check, project));
        }
        main.push(ModelTurn::Text("all done"));
        let shell = host.offline.calls.shell;
        let subagent = vec![
            turn(shell("touch allowed-subagent")),
            turn(shell("touch denied-subagent # probe-deny-subagent")),
            ModelTurn::Text("the subagent is done"),
        ];
        vec![
            ToldConversation { told: MAIN.to_owned(), turns: main },
            ToldConversation { told: SUBAGENT.to_owned(), turns: subagent },
        ]
    }
}

/// The turns of one check.
fn turns(host: &Host, check: Check, project: &Path) -> Vec<ModelTurn> {
    let calls = &host.offline.calls;
    let path = |name: &str| project.join(name).to_string_lossy().into_owned();
    let shell = |command: &str| vec![turn((calls.shell)(command))];
    let mark = check.mark();
    match check {
        Check::Fires(_) | Check::Context(_) | Check::Prompt | Check::Stop => Vec::new(),
        Check::Call(CallKind::Shell) => {
            [shell("touch allowed-shell"), shell("touch denied-shell # probe-deny-shell")].concat()
        }
        Check::Call(CallKind::Direct) => {
            let Some(direct) = &calls.direct else { return Vec::new() };
            let commands = ["touch allowed-direct", "touch denied-direct # probe-deny-direct"];
            commands.map(|command| turn((direct.shell)(command))).into()
        }
        Check::Call(CallKind::File) => vec![
            turn((calls.file)(&path("allowed-file"), "a text")),
            turn((calls.file)(&path("denied-file"), "probe-deny-file")),
        ],
        Check::Call(CallKind::Server) => {
            let call = |name: &str, note: &str| {
                turn((calls.server)(json!({ "path": path(name), "note": note })))
            };
            vec![call("allowed-server", "a note"), call("denied-server", "probe-deny-server")]
        }
        Check::Call(CallKind::Subagent) => {
            let start = calls.subagent.into_iter();
            start.flat_map(|start| start(&format!("{SUBAGENT}: do it"))).map(turn).collect()
        }
        Check::Call(CallKind::Typed) => {
            let lines = ["touch allowed-typed", "touch denied-typed # probe-deny-typed"];
            let typed = calls.typed.into_iter();
            typed.flat_map(|typed| lines.map(|line| turn(typed(line)))).collect()
        }
        Check::Ask
        | Check::Rewrite
        | Check::GuardMissing
        | Check::GuardCrash
        | Check::GuardHang => shell(&format!("touch denied-{mark} # probe-{mark}")),
        Check::ProgramMissing | Check::ProgramCrash => {
            shell(&format!("touch denied-{mark} # probe-deny-{mark}"))
        }
    }
}

fn turn(call: OfflineCall) -> ModelTurn {
    let tool = call.tool.to_owned();
    match call.input {
        Value::String(input) => ModelTurn::TextCall { tool, input },
        input => ModelTurn::Call { tool, input },
    }
}
