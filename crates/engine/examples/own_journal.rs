//! A custom port: a journal that writes run events to a file, one per line, and confirms an event
//! only when it is synced. A hook whose start cannot be journalled does not start.
#![expect(clippy::print_stdout, reason = "an example is a host")]

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use hookwright_engine::ports::{Journal, Ports, Promise};
use hookwright_engine::{Answer, Engine, Event, Firing, Hook, RunEvent, serde_json};

/// Writes to a file, and is full after a number of events.
struct FileJournal {
    file: Mutex<File>,
    events_left: AtomicU32,
}

impl FileJournal {
    fn write(&self, event: &RunEvent) -> io::Result<()> {
        let one_less = |left: u32| left.checked_sub(1);
        self.events_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
            .map_err(|_| io::Error::other("the journal is full"))?;
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&line)?;
        file.sync_data()
    }
}

impl Journal for FileJournal {
    fn record<'a>(&'a self, event: &'a RunEvent) -> Promise<'a, io::Result<()>> {
        // Short enough for a blocking write; use `spawn_blocking` for a slow disk.
        Box::pin(async { self.write(event) })
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut file = tempfile::tempfile()?;
    let journal =
        FileJournal { file: Mutex::new(file.try_clone()?), events_left: AtomicU32::new(5) };
    let guard = Hook::on("tool:pre_execute", |_| async {
        println!("the guard runs");
        Ok(Answer::default())
    });
    let engine = Engine::builder("/")
        .ports(Ports { journal: Arc::new(journal), ..Ports::default() })
        .hook(guard.id("guard"))
        .build()?;
    for _ in 0..2 {
        let event = Event::named("tool:pre_execute", serde_json::Value::Null)?;
        let fired = engine.fire(event, Firing::default()).await;
        println!("{:?}", fired.decision.verdict);
    }
    let mut written = String::new();
    file.rewind()?;
    file.read_to_string(&mut written)?;
    for line in written.lines() {
        let event = RunEvent::from_json(line)?;
        println!("journal: {} {}", event.firing, serde_json::json!(event)["kind"]);
    }
    Ok(())
}
