use super::*;
use crate::field;

// Conformance: claude-code-001, code-forge-001, code-forge-002, code-forge-003, code-forge-004
// Conformance: code-forge-005, code-forge-075
#[test]
fn every_name_of_the_five_specifications_is_known_as_its_systems() {
    let agent_pipelines = "on_session_start on_iteration_start on_iteration_complete \
        on_stage_complete on_session_complete on_error";
    let iteratr =
        "session_start pre_iteration post_iteration session_end on_task_complete on_error";
    let autoagent = "PreExecutionStart PostExecutionStart PreExecutionEnd PostExecutionEnd Stop \
        PreGitCommit PostGitCommit";
    let claude = "PreToolUse PostToolUse PostToolUseFailure Notification UserPromptSubmit \
        SessionStart SessionEnd Stop SubagentStart SubagentStop PreCompact PermissionRequest Setup \
        TeammateIdle TaskCompleted";
    let code_forge = "tool:pre_execute tool:post_execute tool:error llm:pre_request \
        llm:post_response llm:stream_start llm:stream_end session:start session:end \
        session:message permission:check permission:prompt permission:granted permission:denied \
        user:prompt_submit user:interrupt";
    for (system, names) in [
        (AGENT_PIPELINES, agent_pipelines),
        (ITERATR, iteratr),
        (AUTOAGENT, autoagent),
        (CLAUDE, claude),
    ] {
        for name in names.split_whitespace() {
            let spec = resolve(name).unwrap_or_else(|| panic!("`{name}` is not in the table"));
            assert_eq!(spec.name_in(system), Some(name), "{system}");
        }
        let known = EVENTS.iter().filter(|spec| spec.name_in(system).is_some()).count();
        assert_eq!(known, names.split_whitespace().count(), "{system}");
    }
    for name in code_forge.split_whitespace() {
        assert!(named(name).is_some(), "`{name}` is not in the table");
    }
}

#[test]
fn exactly_these_events_can_be_blocked() {
    let blocking: Vec<&str> =
        EVENTS.iter().filter(|spec| spec.power.can_block()).map(|spec| spec.name).collect();
    assert_eq!(
        blocking,
        [
            "session:pre_compact",
            "session:stop",
            "execution:pre_start",
            "execution:pre_end",
            "git:pre_commit",
            "task:complete",
            "agent:stop",
            "agent:idle",
            "tool:pre_execute",
            "llm:pre_request",
            "permission:check",
            "permission:prompt",
            "user:prompt_submit",
        ]
    );
}

#[test]
fn a_broken_hook_traps_no_agent_at_exactly_four_events() {
    let four: Vec<&str> = EVENTS
        .iter()
        .filter(|spec| spec.power == Power::BlocksOnPurpose)
        .map(|spec| spec.name)
        .collect();
    assert_eq!(four, ["session:stop", "task:complete", "agent:stop", "agent:idle"]);
}

#[test]
fn the_constant_of_an_event_is_its_name_in_capitals() {
    let constants = TableRow::CONSTANTS.iter().chain(OpenRow::CONSTANTS);
    for (constant, event) in constants.clone() {
        assert_eq!(*constant, event.as_str().replace(':', "_").to_uppercase());
        assert_eq!(Some(event), EventName::resolve(event.as_str()).as_ref());
    }
    assert_eq!(constants.count(), EVENTS.len() + OPEN_EVENTS.len());
}

#[test]
fn no_name_occurs_twice() {
    let mut names: Vec<&str> = all_names().collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn an_open_event_has_the_name_of_its_system_in_a_domain_of_that_system() {
    for open in OPEN_EVENTS {
        let (domain, _) = open.name.split_once(':').expect("`domain:action`");
        assert!(OPEN_DOMAINS.contains(&domain), "{}", open.name);
        let is_letter = |letter: &char| *letter != '_';
        let name: String = open.name[domain.len() + 1..].chars().filter(is_letter).collect();
        assert_eq!(open.foreign_name.to_lowercase(), name);
    }
}

#[test]
fn every_subject_and_field_is_in_the_field_table() {
    for spec in EVENTS {
        for name in spec.fields.iter().chain(&spec.subject) {
            assert!(field::named(name).is_some(), "{}: {name}", spec.name);
        }
    }
}

#[test]
fn whatever_a_block_stops_is_said_where_one_is_possible() {
    for spec in EVENTS {
        assert_eq!(spec.block_does.is_some(), spec.power != Power::Observes, "{}", spec.name);
    }
}

#[test]
fn on_session_complete_wakes_for_success_and_for_the_iteration_limit_only() {
    let (spec, alias) = resolve_with_alias("on_session_complete").expect("known");
    assert_eq!(spec.name, "session:end");
    assert_eq!(alias.expect("an alias").only_reasons, ["completed", "max_iterations"]);
    assert_eq!(resolve_with_alias("session:end").expect("known").1, None);
}
