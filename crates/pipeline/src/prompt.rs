//! Builds an agent's prompt: hook output, then the task, with built-in variables filled in.
//!
//! A prompt is prose, often with code in it, so only built-in names are replaced and everything
//! else stays unchanged; a value is never expanded again.

use std::fmt::Write as _;

use hookwright_engine::template::TextTemplate;
use hookwright_engine::variables::{Variables, is_ours, text_of};
use hookwright_events::{WorkItem, WorkSource};
use serde_json::{Map, Value};

/// Names that only prompts have.
pub(crate) struct Extra<'a> {
    pub(crate) output: &'a str,
    pub(crate) inputs: &'a [(String, Vec<String>)],
    /// The inputs from the hook that started the session.
    pub(crate) given: Option<Given<'a>>,
}

/// A session's inputs, and the file that contains them.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) file: &'a str,
    pub(crate) inputs: &'a Map<String, Value>,
}

impl Given<'_> {
    /// The value at a path, as text; empty if there is none.
    fn at(&self, path: &str) -> String {
        let mut keys = path.split('.');
        let first = keys.next().and_then(|key| self.inputs.get(key));
        let at = keys.try_fold(first, |at, key| match at? {
            Value::Object(map) => Some(map.get(key)),
            Value::Array(list) => Some(key.parse().ok().and_then(|at: usize| list.get(at))),
            _ => None,
        });
        at.flatten().map(text_of).unwrap_or_default()
    }
}

/// The task's text with the values of built-in variables.
pub(crate) fn filled(
    prompt: &TextTemplate,
    variables: &Variables<'_>,
    extra: &Extra<'_>,
) -> String {
    let mut text = String::new();
    let mut rest = prompt.source();
    while let Some((before, behind)) = rest.split_once("${") {
        let Some((reference, after)) = behind.split_once('}') else { break };
        text.push_str(before);
        match value_of(reference, variables, extra) {
            Some(value) => text.push_str(&value),
            None => {
                let _ = write!(text, "${{{reference}}}");
            }
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

fn value_of(reference: &str, variables: &Variables<'_>, extra: &Extra<'_>) -> Option<String> {
    let (name, path) = match reference.split_once('.') {
        None => (reference, None),
        Some((name, path)) => (name, Some(path)),
    };
    match (name, path) {
        ("OUTPUT", None) => Some(extra.output.to_owned()),
        ("INPUTS", path) => Some(inputs(path, extra)),
        (name, Some(path)) if is_ours(name) => {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            Some(variables.at_path(name, &path))
        }
        (name, None) if is_ours(name) => {
            use hookwright_engine::condition::Values;
            Some(variables.value(name).map(|value| text_of(&value)).unwrap_or_default())
        }
        _ => None,
    }
}

/// `${INPUTS}`: the input files of the session and the stage, one per line. `${INPUTS.name}`: the
/// outputs of the stage of that name, if this one reads them; else the session's input of that
/// name.
fn inputs(path: Option<&str>, extra: &Extra<'_>) -> String {
    let Some(name) = path else {
        let given = extra.given.map(|given| given.file.to_owned());
        let of_stages = extra.inputs.iter().flat_map(|(_, paths)| paths.clone());
        return given.into_iter().chain(of_stages).collect::<Vec<_>>().join("\n");
    };
    match extra.inputs.iter().find(|(stage, _)| stage == name) {
        Some((_, paths)) => paths.join("\n"),
        None => extra.given.map(|given| given.at(name)).unwrap_or_default(),
    }
}

/// The task of the iteration that delivers what hooks reported after the last one.
pub(crate) const FINAL_DELIVERY: &str =
    "All iterations of this session are over. Fix what is reported above; start nothing new.";

/// Whether a prompt that uses this name describes its work item by itself.
pub(crate) fn names_item(name: &str) -> bool {
    let name = name.strip_prefix("HOOKWRIGHT_").unwrap_or(name);
    matches!(
        name,
        "ISSUE_NUMBER" | "ISSUE_TITLE" | "ISSUE_FILE" | "PLAN_FILE" | "TASK_ID" | "TASK_CONTENT"
    )
}

/// Describes the work item for a prompt that does not.
pub(crate) fn about_item(item: &WorkItem) -> String {
    let what = match item.source {
        WorkSource::Issues => {
            let file = item.file.as_deref().unwrap_or_default();
            let plan = item.plan_file.as_deref();
            let plan = plan.map(|plan| format!(" The plan for it is in `{plan}`."));
            let plan = plan.unwrap_or_default();
            format!("issue {}, \"{}\". It is in `{file}`.{plan}", item.key, item.title)
        }
        WorkSource::Tasks => {
            let content = item.content.as_deref().unwrap_or(&item.title);
            format!("task {}: {content}\n\n{}", item.key, about_tasks())
        }
        WorkSource::Command => item.title.clone(),
    };
    format!("Do this now, and none of the other open work:\n\n{what}")
}

/// Describes the project's list of tasks.
pub(crate) fn about_tasks() -> &'static str {
    "The tasks of this project are a list: `\"$HOOKWRIGHT_BIN\" task list` shows it, `\"$HOOKWRIGHT_BIN\" \
     task add \"…\"` adds what you find that is to be done later, and `\"$HOOKWRIGHT_BIN\" task done ID` says \
     that a task is done. If that ends with 2, the task is not done: fix what standard error says, then say \
     it again."
}

/// Describes how to report the result, for a prompt that does not.
pub(crate) fn about_status(status: &str) -> String {
    format!(
        "When you have done what you can in this turn, write how it went to the file `{status}`, as \
         JSON: {{\"decision\": \"continue\", \"reason\": \"…\", \"summary\": \"…\"}}. The decision is \
         `continue` if there is more to do, `stop` if all of it is done, `error` if you could not."
    )
}

/// The text above the task after a failed iteration, with or without output of hooks.
pub(crate) fn about_error(error: &str, hooks_say_something: bool) -> String {
    let advice = match hooks_say_something {
        true => "Read what the hooks say above, fix it, and go on with the task.",
        false => "Fix it, and go on with the task.",
    };
    format!("{}\n\n{advice}", last_turn_failed(error))
}

/// The same if no task follows.
pub(crate) fn last_turn_failed(error: &str) -> String {
    format!("Your last turn failed: {error}")
}

#[cfg(test)]
mod tests {
    use hookwright_engine::variables::{Carried, Environment};
    use hookwright_events::{Event, EventName};
    use serde_json::json;

    use super::*;

    #[test]
    fn names_of_ours_are_replaced_once_and_code_stays_code() {
        let data =
            json!({ "status": "/s/status.json", "stage": "${ITERATION} $(x)", "iteration": 3 });
        let serde_json::Value::Object(data) = data else { unreachable!() };
        let event = Event::new(EventName::resolve("iteration:start").expect("known"), data);
        let (carried, environment) = (Carried::default(), Environment::default());
        let variables = Variables { event: &event, carried: &carried, environment: &environment };
        let inputs = [("plan".to_owned(), vec!["a.md".to_owned(), "b.md".to_owned()])];
        let extra = Extra { output: "/s/output.md", inputs: &inputs, given: None };
        let text = "${STATUS} ${STAGE} ${ITERATION} ${OUTPUT} ${INPUTS.plan} ${INPUTS.x} ${HOME} `${a:-b}` ${";
        assert_eq!(
            filled(&TextTemplate::new(text), &variables, &extra),
            "/s/status.json ${ITERATION} $(x) 3 /s/output.md a.md\nb.md  ${HOME} `${a:-b}` ${"
        );
    }

    #[test]
    fn inputs_of_a_child_are_available_beside_outputs_of_its_stages() {
        let event = Event::new(EventName::resolve("iteration:start").expect("known"), Map::new());
        let (carried, environment) = (Carried::default(), Environment::default());
        let variables = Variables { event: &event, carried: &carried, environment: &environment };
        let inputs = [("plan".to_owned(), vec!["a.md".to_owned(), "b.md".to_owned()])];
        let given =
            json!({ "plan": "hidden", "files": "x\n${STAGE}", "deep": [{ "n": 3 }], "no": null });
        let Value::Object(given) = given else { unreachable!() };
        let given = Some(Given { file: "/s/inputs.json", inputs: &given });
        let extra = Extra { output: "", inputs: &inputs, given };
        for (text, filled_in) in [
            ("${INPUTS}", "/s/inputs.json\na.md\nb.md"),
            ("${INPUTS.plan}", "a.md\nb.md"),
            ("${INPUTS.files}", "x\n${STAGE}"),
            ("${INPUTS.deep}", "[{\"n\":3}]"),
            ("${INPUTS.deep.0.n}", "3"),
            ("[${INPUTS.no}${INPUTS.x}${INPUTS.files.y}${INPUTS.deep.9}]", "[]"),
        ] {
            assert_eq!(filled(&TextTemplate::new(text), &variables, &extra), filled_in);
        }
    }

    #[test]
    fn an_error_mentions_hooks_only_if_they_have_output() {
        assert_eq!(
            [true, false].map(|hooks_say_something| about_error("no key", hooks_say_something)),
            [
                "Your last turn failed: no key\n\nRead what the hooks say above, fix it, and go on \
                 with the task.",
                "Your last turn failed: no key\n\nFix it, and go on with the task.",
            ]
        );
    }
}
