//! Plans as people and programs read them.

use serde_json::{Value, json};

use super::agent_plan::AgentPlan;
use super::difference::difference;
use super::plan::{FileChange, FilePlan};
use crate::text::{Paint, visible_path};

/// A change of a file, for people.
pub(super) fn shown(plan: &FilePlan) -> String {
    let path = visible_path(&plan.file.named);
    let target = match plan.file.path == plan.file.named {
        true => String::new(),
        false => format!(" -> {}", visible_path(&plan.file.path)),
    };
    let paint = Paint::of_results();
    let what = match (&plan.change, &plan.file.content) {
        (FileChange::Nothing, _) => return String::new(),
        (FileChange::MakeExecutable, _) => return format!("{path}{target}: becomes executable\n"),
        (FileChange::Remove(_), _) => "is removed",
        (FileChange::Write(_), None) => "is created",
        (FileChange::Write(_), Some(_)) => "changes",
    };
    let (before, after) = plan.texts();
    let heading = paint.strong(&format!("{path}{target} {what}:"));
    format!("{heading}\n{}", difference(before, after, paint))
}

/// The plans as one JSON value.
pub(super) fn as_json(plans: &[AgentPlan], is_done: bool) -> Value {
    let agents = plans.iter().map(|plan| {
        let files = plan.files.iter().map(|file| {
            let change = match (&file.change, &file.file.content) {
                (FileChange::Nothing, _) => "none",
                (FileChange::Write(_), None) => "create",
                (FileChange::Write(_) | FileChange::MakeExecutable, _) => "update",
                (FileChange::Remove(_), _) => "remove",
            };
            json!({ "path": file.file.named.to_string_lossy(), "change": change })
        });
        json!({
            "agent": plan.host.name,
            "program": plan.installed.as_ref().map(|it| it.program.to_string_lossy()),
            "program_version": plan.version.map(|version| version.to_string()),
            "files": files.collect::<Vec<_>>(),
            "warnings": plan.warnings,
        })
    });
    let agents: Vec<Value> = agents.collect();
    json!({ "version": 1, "agents": agents, "done": is_done })
}
