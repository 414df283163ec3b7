//! A commit's message: the author's text with values in the places of their names.
//!
//! No shell reads it, so a value is safe wherever it stands; it is never expanded again.

use hookwright_events::Event;

use super::super::Attempt;
use crate::condition::Values;
use crate::variables::{Variables, is_ours, text_of};

/// The message, without white space around it, or what is wrong with it.
pub(super) fn of(written: Option<&str>, attempt: &Attempt) -> Result<String, String> {
    let variables = Variables {
        event: &attempt.event,
        carried: &attempt.carried,
        environment: &attempt.surroundings.environment,
    };
    let message = match written {
        Some(written) => filled(written, &variables)?,
        None => by_default(&attempt.event),
    };
    let message = message.trim();
    if message.is_empty() {
        return Err("the commit message is empty".to_owned());
    }
    if message.contains('\0') {
        return Err("the commit message holds a NUL byte, which no commit can".to_owned());
    }
    Ok(message.to_owned())
}

/// `hookwright: execution:post_end, issue 7: Mend the parser`.
fn by_default(event: &Event) -> String {
    let mut message = format!("hookwright: {}", event.name);
    let value = |field: &str| event.data.get(field).map(text_of).filter(|text| !text.is_empty());
    if let Some(number) = value("issue_number") {
        message.push_str(&format!(", issue {number}"));
    }
    if let Some(title) = value("issue_title") {
        let title: Vec<&str> = title.split_whitespace().collect();
        message.push_str(&format!(": {}", title.join(" ")));
    }
    message
}

/// The text with every `${NAME}` and `${NAME.path}` replaced, each once.
fn filled(written: &str, variables: &Variables<'_>) -> Result<String, String> {
    let mut message = String::with_capacity(written.len());
    let mut rest = written;
    while let Some((before, behind)) = rest.split_once("${") {
        // What is never closed is text.
        let Some((reference, after)) = behind.split_once('}') else { break };
        message.push_str(before);
        message.push_str(&value_of(reference, variables)?);
        rest = after;
    }
    message.push_str(rest);
    Ok(message)
}

fn value_of(reference: &str, variables: &Variables<'_>) -> Result<String, String> {
    let (name, path) = match reference.split_once('.') {
        None => (reference, None),
        Some((name, path)) => (name, Some(path)),
    };
    let unknown = || format!("unknown variable `{name}` in the commit message");
    if let Some(path) = path {
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        return is_ours(name).then(|| variables.at_path(name, &path)).ok_or_else(unknown);
    }
    match variables.value(name) {
        Some(value) => Ok(text_of(&value)),
        None if is_ours(name) => Ok(String::new()),
        None => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use hookwright_events::EventName;
    use serde_json::{Value, json};

    use super::*;
    use crate::variables::{Carried, Environment};

    fn event(data: Value) -> Event {
        let Value::Object(data) = data else { panic!("data must be an object") };
        Event::new(EventName::resolve("execution:post_end").expect("known"), data)
    }

    fn fill(written: &str, data: Value) -> Result<String, String> {
        let (event, carried) = (event(data), Carried::default());
        let environment = Environment::new([("USER_TEAM".into(), "blue".into())]);
        let (event, carried, environment) = (&event, &carried, &environment);
        filled(written, &Variables { event, carried, environment })
    }

    #[test]
    fn names_and_paths_are_replaced_by_their_values_and_no_value_is_expanded_again() {
        let data = json!({
            "issue_number": 7,
            "issue_title": "${ERROR} $(touch x)",
            "tool_input": { "edits": [{ "file": "a b" }] },
            "files_modified": ["a", "b"],
            "error": "secret",
        });
        let filled = |written| fill(written, data.clone());
        assert_eq!(filled("#${ISSUE_NUMBER}"), Ok("#7".into()));
        assert_eq!(filled("${ISSUE_TITLE}!"), Ok("${ERROR} $(touch x)!".into()));
        assert_eq!(filled("${HOOKWRIGHT_TOOL_INPUT.edits.0.file}"), Ok("a b".into()));
        assert_eq!(filled("${FILES_MODIFIED}"), Ok("a\nb".into()));
        assert_eq!(filled("by ${USER_TEAM}"), Ok("by blue".into()));
        assert_eq!(filled("[${STAGE}][${TOOL_INPUT.x}]"), Ok("[][]".into()));
        assert_eq!(
            filled("$5 ${ERROR and }$"),
            Err("unknown variable `ERROR and ` in the commit message".into())
        );
        assert_eq!(filled("$5 }${ERROR"), Ok("$5 }${ERROR".into()));
    }

    #[test]
    fn a_name_that_nobody_knows_is_named() {
        for (written, name) in
            [("${NOBODY}", "NOBODY"), ("${USER_TEAM.x}", "USER_TEAM"), ("${X:-y}", "X:-y")]
        {
            let fault = format!("unknown variable `{name}` in the commit message");
            assert_eq!(fill(written, json!({})), Err(fault));
        }
    }

    #[test]
    fn without_a_message_the_event_and_the_issue_are_named() {
        for (data, message) in [
            (json!({}), "hookwright: execution:post_end"),
            (json!({ "issue_number": 7 }), "hookwright: execution:post_end, issue 7"),
            (
                json!({ "issueNumber": 7, "issueTitle": "Mend\n the parser " }),
                "hookwright: execution:post_end, issue 7: Mend the parser",
            ),
        ] {
            assert_eq!(by_default(&event(data)), message);
        }
    }
}
