//! A commit message: the configured text with its values filled in.

use hookwright_events::Event;

use super::super::HookAttempt;
use crate::template::{TextTemplate, ValueWriting};
use crate::variables::text_of;

/// The trimmed message, or what is wrong with it.
pub(super) fn for_commit(
    written: Option<&TextTemplate>,
    attempt: &HookAttempt,
) -> Result<String, String> {
    let message = match written {
        Some(written) => filled(written, attempt)?,
        None => by_default(&attempt.event),
    };
    let message = message.trim();
    if message.is_empty() {
        return Err("the commit message is empty".to_owned());
    }
    if message.contains('\0') {
        return Err("the commit message contains a NUL byte, which git does not allow".to_owned());
    }
    Ok(message.to_owned())
}

fn filled(written: &TextTemplate, attempt: &HookAttempt) -> Result<String, String> {
    let filled = written
        .fill(&attempt.filling(), ValueWriting::Plain)
        .map_err(|error| error.within("the commit message"))?;
    // Everyone who can read the repository could read it, forever.
    if let Some(secret) = filled.secrets().next() {
        return Err(format!("the commit message must not contain the secret `{secret}`"));
    }
    Ok(filled.redacted())
}

/// `hookwright: execution:post_end, issue 7: Fix the parser`.
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

#[cfg(test)]
mod tests {
    use hookwright_events::EventName;
    use serde_json::{Value, json};

    use super::*;

    fn event(data: Value) -> Event {
        let Value::Object(data) = data else { panic!("data must be an object") };
        Event::new(EventName::resolve("execution:post_end").expect("known"), data)
    }

    #[test]
    fn without_a_message_the_event_and_the_issue_are_named() {
        for (data, message) in [
            (json!({}), "hookwright: execution:post_end"),
            (json!({ "issue_number": 7 }), "hookwright: execution:post_end, issue 7"),
            (
                json!({ "issueNumber": 7, "issueTitle": "Fix\n the parser " }),
                "hookwright: execution:post_end, issue 7: Fix the parser",
            ),
        ] {
            assert_eq!(by_default(&event(data)), message);
        }
    }
}
