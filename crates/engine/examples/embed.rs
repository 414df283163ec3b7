#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a host")]
use hookwright_engine::{Answer, Engine, Event, Firing, Hook, Interest, serde_json::json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::builder(std::env::current_dir()?)
        .hook(Hook::on("tool:pre_execute:bash", |call| async move {
            let command = call.event.text_at("/tool_input/command").ok_or("no command")?;
            Ok(if command.contains("sudo") { Answer::deny("no sudo") } else { Answer::default() })
        }))
        .observe(Interest::NoOutput, |seen| println!("{}", json!(seen)["kind"]))
        .build()?;
    let call = json!({ "tool_name": "bash", "tool_input": { "command": "sudo reboot" } });
    let fired = engine.fire(Event::named("tool:pre_execute", call)?, Firing::default()).await;
    println!("{:?}", fired.decision.verdict);
    Ok(())
}
