//! Files beyond our limits: what is not read may be a guard, so it blocks. The programs that own
//! these formats have no such limits.

use hookwright_config::limits::{CONFIG_BYTES_MAX, CONFIG_DEPTH_MAX};
use hookwright_config::{ConfigFile, Loaded, load_text};
use hookwright_dialects::named;
use hookwright_engine::hook::Layer;
use hookwright_engine::limits::HOOKS_MAX;
use hookwright_engine::variables::Environment;
use hookwright_engine::{Engine, Event, Firing, Setup};
use hookwright_events::Verdict;
use serde_json::json;

/// A format: its name, its file, an event that its hooks can block with the event's data, and a
/// file with this many hooks at an event that cannot be blocked, followed by one at that event.
struct Format {
    name: &'static str,
    file: &'static str,
    event: &'static str,
    text: fn(usize) -> String,
}

const FORMATS: [Format; 5] = [
    Format {
        name: "native",
        file: "hookwright.yaml",
        event: "tool:pre_execute",
        text: |others| {
            let others = "    - {command: 'true'}\n".repeat(others);
            format!("hooks:\n  session:end:\n{others}  tool:pre_execute: [{{command: exit 2}}]\n")
        },
    },
    Format {
        name: "claude",
        file: ".claude/settings.json",
        event: "tool:pre_execute",
        text: |others| {
            let others = vec![r#"{"type": "command", "command": "true"}"#; others].join(",");
            let guard = r#"[{"hooks": [{"type": "command", "command": "exit 2"}]}]"#;
            format!(r#"{{"hooks": {{"Stop": [{{"hooks": [{others}]}}], "PreToolUse": {guard}}}}}"#)
        },
    },
    Format {
        name: "code-forge",
        file: ".forge/hooks.json",
        event: "tool:pre_execute",
        text: |others| {
            let others = r#"{"event": "session:end", "command": "true"},"#.repeat(others);
            let guard = r#"{"event": "tool:pre_execute", "command": "exit 1"}"#;
            format!(r#"{{"hooks": [{others}{guard}]}}"#)
        },
    },
    Format {
        name: "autoagent",
        file: ".autoagent/config.json",
        event: "git:pre_commit",
        text: |others| {
            let others = vec![r#"{"type": "command", "command": "true"}"#; others].join(",");
            let guard = r#"[{"type": "command", "command": "exit 2", "blocking": true}]"#;
            format!(r#"{{"hooks": {{"PostExecutionEnd": [{others}], "PreGitCommit": {guard}}}}}"#)
        },
    },
    Format {
        name: "iteratr",
        file: ".iteratr.hooks.yml",
        event: "task:complete",
        text: |others| {
            let others = "    - {command: 'true'}\n".repeat(others);
            format!(
                "hooks:\n  post_iteration:\n{others}  on_task_complete: [{{command: 'false'}}]\n"
            )
        },
    },
];

impl Format {
    fn load(&self, text: &str) -> Loaded {
        let file = ConfigFile::native(self.file, self.file, Layer::Project);
        let file = file.in_dialect(named(self.name).map(|foreign| foreign as _));
        load_text(text, &file, &Environment::new([]))
    }

    fn event(&self) -> Event {
        let data = json!({ "tool_name": "bash", "tool_input": { "command": "ls" } });
        Event::named(self.event, data).unwrap()
    }

    /// Whether the event is blocked.
    fn blocks(&self, loaded: Loaded) -> bool {
        let event = self.event();
        if loaded.hooks.broken_for(&event).next().is_none() {
            return false;
        }
        let place = tempfile::tempdir().unwrap();
        let setup = Setup::new(loaded.hooks, place.path().to_owned(), Environment::new([]));
        let engine = Engine::new(setup);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let verdict = runtime.block_on(engine.fire(event, Firing::default())).decision.verdict;
        matches!(verdict, Verdict::Block { .. })
    }
}

#[test]
fn a_hook_over_the_limit_blocks_what_it_may_have_guarded() {
    for format in FORMATS {
        let fits = format.load(&(format.text)(HOOKS_MAX - 1));
        assert_eq!(fits.hooks.hooks().len(), HOOKS_MAX, "{}: {:?}", format.name, fits.left_out);
        assert!(fits.hooks.broken_for(&format.event()).next().is_none(), "{}", format.name);
        let over = format.load(&(format.text)(HOOKS_MAX));
        let said: Vec<String> =
            over.left_out.iter().chain(&over.faults).map(|fault| fault.kind.to_string()).collect();
        assert_eq!(said, ["more than 10000 hooks"], "{}", format.name);
        // Other events are not blocked.
        let other = Event::named("llm:pre_request", json!({})).unwrap();
        assert!(over.hooks.broken_for(&other).next().is_none(), "{}", format.name);
        assert!(format.blocks(over), "{}", format.name);
    }
}

#[test]
fn every_hook_over_the_limit_blocks_not_only_the_first() {
    for format in FORMATS {
        // The last hook is the guard.
        let over = format.load(&(format.text)(HOOKS_MAX + 5));
        assert_eq!(over.left_out.len() + over.faults.len(), 6, "{}", format.name);
        assert!(format.blocks(over), "{}", format.name);
    }
}

#[test]
fn a_file_that_is_too_large_or_too_deep_blocks() {
    let place = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let deep = CONFIG_DEPTH_MAX + 1;
        let deep = format!("{{\"x\": {}{}}}", "[".repeat(deep), "]".repeat(deep));
        assert!(format.blocks(format.load(&deep)), "{}: too deep", format.name);
        let large = (format.text)(1) + &" ".repeat(usize::try_from(CONFIG_BYTES_MAX).unwrap());
        let path = place.path().join(format.name);
        std::fs::write(&path, large).unwrap();
        let file = ConfigFile::native(&path, format.file, Layer::Project);
        let file = file.in_dialect(named(format.name).map(|foreign| foreign as _));
        let loaded = hookwright_config::load(&[file], &Environment::new([]));
        assert!(format.blocks(loaded), "{}: too large", format.name);
    }
}
