//! Advice about values: what to write where something else was expected, one line for each place.

use hookwright_config::{Conflict, ExpectedValue, FaultKind, MissingKey, SyntaxKind, TreeLimit};
use hookwright_engine::hook::HookConflict;

pub(super) fn syntax_help(kind: SyntaxKind) -> &'static str {
    match kind {
        SyntaxKind::Tab => "indent with spaces",
        SyntaxKind::Character => "remove it, or write it as an escape in double quotes: `\"\\e\"`",
        SyntaxKind::SeveralDocuments => {
            "keep one document: remove the line `---` and everything below it"
        }
        SyntaxKind::UnknownAnchor => {
            "put a string that begins with `*` in quotes, or define the anchor above it"
        }
        SyntaxKind::Other => {
            "look for a missing quote, bracket or space nearby; a string with `: `, ` #`, `{` or `*` \
             needs quotes"
        }
    }
}

pub(super) fn limit_help(limit: TreeLimit) -> &'static str {
    match limit {
        TreeLimit::Aliases | TreeLimit::TextBytes => {
            "write the values out instead of repeating them with anchors"
        }
        TreeLimit::Depth | TreeLimit::Values => {
            "split the file, or replace many hooks with one that has a pattern"
        }
    }
}

pub(super) fn value_help(expected: ExpectedValue, fault: &FaultKind) -> String {
    let help = match expected {
        ExpectedValue::CaseList => "begin each case with a dash: `- name: sudo is blocked`",
        ExpectedValue::Bool => "write `true` or `false`, without quotes",
        ExpectedValue::HookList => "begin each hook with a dash: `- command: cargo test`",
        ExpectedValue::HooksKey | ExpectedValue::HooksByEvent => {
            "write events with their hooks: `hooks: {session:start: [{command: echo hello}]}`"
        }
        ExpectedValue::Hook(_) => "write what it does: `- command: cargo test`",
        ExpectedValue::NamedStrings => "write names with their values: `{NAME: value}`",
        ExpectedValue::SafeAddress => "use https, or write `allow_http: true` beside it",
        ExpectedValue::FreeVariable => "move it to `data`, in lower case",
        ExpectedValue::String if matches!(fault, FaultKind::WrongKind { .. }) => "put it in quotes",
        ExpectedValue::String | ExpectedValue::Form(_) => return format!("write {expected}"),
    };
    help.to_owned()
}

pub(super) fn missing_help(missing: MissingKey) -> &'static str {
    match missing {
        MissingKey::Action => "set what the hook does: `command: cargo test`",
        MissingKey::HookType => "set the hook's type: `type: command`",
        MissingKey::Command => "set what to run: `command: cargo test`",
        MissingKey::Url => {
            "set where to send it: `url: https://example.com/hook`; a question with `await: true` \
             needs no address"
        }
        MissingKey::Pipeline => "set what to run: `pipeline: review`",
        MissingKey::Event => "name the event: `event: tool:pre_execute`",
        MissingKey::Handlers => "list what to run: `hooks: [{type: command, command: cargo test}]`",
        MissingKey::Stages => {
            "list the stages: `stages: [{name: work, loop: work}]`; a file with a single loop needs \
             another name"
        }
        MissingKey::StageName => "name the stage: `name: work`",
        MissingKey::Loop => {
            "name the loop of the stage: `loop: work`, or write the loop itself: `loop: {prompt: …, \
             agent: …}`"
        }
        MissingKey::From => "name the stage whose outputs you want: `from: plan`",
        MissingKey::TerminationType => {
            "set when the loop ends: `termination: {type: fixed, iterations: 5}`"
        }
        MissingKey::Script => "name the file: `script: turns.yaml`",
        MissingKey::Turns => "list what the agent does in each turn: `turns: [[{say: hello}]]`",
        MissingKey::Actions => "list what the agent does: `do: [{say: hello}]`",
        MissingKey::AgentDecision => "set what the agent decides: `decision: continue`",
        MissingKey::PromptPart => "set what the prompt has to contain: `contains: review`",
        MissingKey::ThenOrElse => "list what the agent does then: `then: [{say: hello}]`",
        MissingKey::Cases => "write a first case: `cases: [{name: …, event: …, expect: {…}}]`",
        MissingKey::CaseName => "name the case: `name: sudo is blocked`",
        MissingKey::EventOrSteps => "name the event to fire: `event: tool:pre_execute`",
        MissingKey::Expect => "set the expected result: `expect: {decision: block}`",
        MissingKey::ContainsOrMatches => "set what the text has to contain: `contains: sudo`",
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
