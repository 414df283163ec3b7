#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a host")]
use hookwright_config::HookFiles;
use hookwright_engine::{Answer, Engine, Event, Firing, Hook, serde_json::json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::current_dir()?;
    let rules = "hooks: {tool:pre_execute: [{id: named, command: 'test -n \"$TOOL_NAME\"'}]}";
    let files = HookFiles::in_project(&root).environment(std::env::vars_os()).text("rules", rules);
    let engine = Engine::builder(root)
        .environment(std::env::vars_os())
        .hooks(files.load()?.hooks)
        .hook(Hook::on("tool:pre_execute", |_| async { Ok(Answer::default()) }).id("function"))
        .build()?;
    let call = json!({ "tool_name": "bash", "tool_input": { "command": "ls" } });
    let fired = engine.fire(Event::named("tool:pre_execute", call)?, Firing::default()).await;
    for report in &fired.reports {
        println!("{} {}", report.id, report.status.as_str());
    }
    Ok(())
}
