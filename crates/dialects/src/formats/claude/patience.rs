//! How long Claude Code waits for a hook, unless its settings say otherwise.

use std::time::Duration;

use hookwright_events::EventName;

/// How long a command may take at this event before Claude Code ends it and goes on without it.
pub fn patience(name: &EventName) -> Duration {
    match &*name.hook_event_name() {
        // All hooks of the end of a session share this.
        "SessionEnd" => Duration::from_millis(1500),
        "MessageDisplay" => Duration::from_secs(10),
        "UserPromptSubmit" | "PreModelSwitch" | "PostModelSwitch" => Duration::from_secs(30),
        _ => Duration::from_secs(600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_and_switches_of_the_model_have_half_a_minute_and_the_end_of_a_session_a_moment() {
        for (name, milliseconds) in [
            ("session:end", 1_500),
            ("claude:message_display", 10_000),
            ("user:prompt_submit", 30_000),
            ("claude:pre_model_switch", 30_000),
            ("claude:post_model_switch", 30_000),
            ("tool:pre_execute", 600_000),
            ("claude:brand_new", 600_000),
        ] {
            let name = EventName::resolve(name).expect("known");
            assert_eq!(patience(&name), Duration::from_millis(milliseconds), "{name}");
        }
    }
}
