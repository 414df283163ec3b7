//! Sends run events through a channel to a task, which may be slow.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example is a host")]

use hookwright_config::HookFiles;
use hookwright_engine::{
    Engine, Event, Firing, FiringEvent, Interest, RunEvent, RunEventKind, serde_json,
};
use tokio::sync::mpsc;

/// Run events that may be queued.
const WAITING_MAX: usize = 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (sender, receiver) = mpsc::channel::<RunEvent>(WAITING_MAX);
    let root = std::env::current_dir()?;
    let rules = "hooks: {session:stop: [{id: tests, command: 'echo 12 passed; exit 1'}]}";
    let engine = Engine::builder(&root)
        .environment(std::env::vars_os())
        .hooks(HookFiles::in_project(root).text("rules", rules).load()?.hooks)
        // An observer is called between the steps of a firing and must not wait. Events that do not
        // fit into the queue are lost; implement a journal if you need every event.
        .observe(Interest::Everything, move |event| drop(sender.try_send(event.clone())))
        .build()?;
    let shown = tokio::spawn(show(receiver));
    let stop = Event::named("Stop", serde_json::json!({ "reason": "completed" }))?;
    engine.fire(stop, Firing { session: Some("demo".into()), ..Firing::default() }).await;
    engine.settle().await;
    // The engine holds the sender; the channel closes without it.
    drop(engine);
    shown.await?;
    Ok(())
}

async fn show(mut events: mpsc::Receiver<RunEvent>) {
    while let Some(event) = events.recv().await {
        let session = event.session.as_deref().unwrap_or("-");
        match event.kind {
            RunEventKind::Firing(FiringEvent::Fired { event, .. }) => {
                println!("{session}: {event}")
            }
            RunEventKind::Firing(FiringEvent::HookStarting { hook, attempt, .. }) => {
                println!("{session}:   {hook} starts, attempt {attempt}");
            }
            RunEventKind::Firing(FiringEvent::HookOutput { hook, text, .. }) => {
                println!("{session}:   {hook} prints {text:?}");
            }
            RunEventKind::Firing(FiringEvent::HookReported { report }) => {
                let reason = report.reason.unwrap_or_default();
                println!("{session}:   {} {} {reason}", report.id, report.status.as_str());
            }
            RunEventKind::Firing(FiringEvent::Decided { decision }) => {
                println!("{session}: decision {}", decision["decision"]);
            }
            // The others are about attempts, memory and sessions.
            _ => {}
        }
    }
}
