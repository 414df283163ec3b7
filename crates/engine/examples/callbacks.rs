//! Functions as hooks: a guard with a matcher, a slow one that obeys its token, one that fails and
//! is retried, and a background one.
#![expect(clippy::print_stdout, reason = "an example is a host")]

use std::time::Duration;

use hookwright_engine::serde_json::json;
use hookwright_engine::{
    Answer, Call, CallbackFailure, Engine, Event, Fired, Firing, Hook, OnFailure, Verdict,
};

/// A named function: lists show its name.
async fn no_secrets(call: Call) -> Result<Answer, CallbackFailure> {
    let path = call.event.text_at("/tool_input/file_path").ok_or("a tool without a path")?;
    if path.ends_with(".env") {
        return Ok(Answer::deny(format!("{path} may hold secrets")));
    }
    Ok(Answer::context(format!("{path} was looked at")))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let slow = Hook::on("tool:pre_execute:bash", |call| async move {
        // A real hook would send a request here; whatever it does, it ends when the token is
        // cancelled.
        call.cancelled.cancelled().await;
        Err("no answer came".into())
    });
    let unsteady = Hook::on("tool:pre_execute:glob", |call| async move {
        match call.attempt {
            1 => Err("the first attempt never works".into()),
            _ => Ok(Answer::allow()),
        }
    });
    let audit = Hook::on("*", |call| async move {
        println!("audit: {} ({})", call.event.name, call.event.subject().unwrap_or("-"));
        Ok(Answer::default())
    });
    let engine = Engine::builder("/")
        .hook(Hook::on("tool:pre_execute", no_secrets).id("no-secrets").matcher("read|write|edit"))
        .hook(slow.id("slow").timeout(Duration::from_millis(50)))
        .hook(
            unsteady
                .id("unsteady")
                .on_failure(OnFailure::Retry)
                .retry_delay(Duration::from_millis(10)),
        )
        .hook(audit.id("audit").awaits(false))
        .build()?;

    for (tool, input) in [
        ("read", json!({ "file_path": "src/main.rs" })),
        ("read", json!({ "file_path": "prod/.env" })),
        ("edit", json!({})),
        ("bash", json!({ "command": "ls" })),
        ("glob", json!({ "pattern": "*.rs" })),
    ] {
        let data = json!({ "tool_name": tool, "tool_input": input });
        let event = Event::named("tool:pre_execute", data)?;
        say(&engine.fire(event, Firing::default()).await);
        engine.settle().await;
    }
    Ok(())
}

fn say(fired: &Fired) {
    match &fired.decision.verdict {
        Verdict::Proceed { .. } => println!("continue"),
        Verdict::Allow { .. } => println!("continue, no person has to be asked"),
        Verdict::Ask { reason, .. } => println!("ask: {}", reason.as_deref().unwrap_or("-")),
        Verdict::Block { reason } => println!("block: {reason}"),
        Verdict::Stop { reason } => println!("stop: {reason}"),
        Verdict::Abort { reason } => println!("abort: {reason}"),
    }
    for context in &fired.decision.additional_context {
        println!("for the agent: {context}");
    }
}
