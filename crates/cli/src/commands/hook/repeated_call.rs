//! [`DeliveredCall`]: one tool call that a host delivers twice.
//!
//! A host may call us twice for one tool call, because two of its settings files name us (the user's
//! and the project's), or because it also reads another agent's settings. The hooks must not run
//! twice: the second delivery waits for the first one's reply and repeats it. Two deliveries are the
//! same if the host, the event and all its data are, but for the time, and if the host names the call
//! (`tool_use_id`). Without such an id, or if the first reply is unknown, the hooks run again.
//!
//! The first delivery creates a file and holds a lock on it until it has written its reply there. A
//! file is used for [`REPEATED_WITHIN`] and then removed by the next call. Like the other files of the
//! user's state folder it is as safe as the user's account: a program that can write
//! there can also write the trust file.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Instant, SystemTime};

use hookwright_dialects::hosts::{Host, HostCall, HostReply};
use hookwright_events::EventName;
use serde::{Deserialize, Serialize};

use super::limits::{REPEATED_CALLS_MAX, REPEATED_REPLY_BYTES_MAX, REPEATED_WITHIN, TO_LOOK_AGAIN};
use crate::trust::Sha256;

/// The folder in the user's state.
const FOLDER: &str = "agents/calls";

/// A delivery of a tool call.
pub(super) enum DeliveredCall {
    /// The first one, or one that cannot be compared with others.
    First(FirstDelivery),
    /// The second one, with the reply to the first.
    Repeated(HostReply),
}

/// The first delivery. Its file is locked until it has a reply or is dropped.
#[derive(Default)]
pub(super) struct FirstDelivery {
    file: Option<File>,
}

/// Content of a file.
#[derive(Debug, Serialize, Deserialize)]
struct KeptReply {
    stdout: String,
    stderr: String,
    exit_code: u8,
}

impl DeliveredCall {
    /// Begins a delivery, and waits until `due` for the reply to an earlier one of the same call.
    pub(super) fn begin(host: &Host, call: &HostCall, state: Option<&Path>, due: Instant) -> Self {
        let first = || Self::First(FirstDelivery::default());
        let Some(state) = state else { return first() };
        let Some(path) = file_of(host, call, &state.join(FOLDER)) else { return first() };
        match create(&path) {
            Ok(file) => Self::First(FirstDelivery { file: Some(file) }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                reply_in(&path, due).map_or_else(first, Self::Repeated)
            }
            Err(_) => first(),
        }
    }
}

impl FirstDelivery {
    /// Keeps the reply for the second delivery.
    pub(super) fn answered(self, reply: &HostReply) {
        let Some(mut file) = self.file else { return };
        let HostReply { stdout, stderr, exit_code, later: _ } = reply.clone();
        let kept = KeptReply { stdout, stderr, exit_code };
        // Without it, the second delivery runs the hooks again.
        if let Ok(bytes) = serde_json::to_vec(&kept)
            && bytes.len() as u64 <= REPEATED_REPLY_BYTES_MAX
        {
            let _ = file.write_all(&bytes);
        }
    }
}

/// The file of a call; `None` if the host does not name the call.
fn file_of(host: &Host, call: &HostCall, folder: &Path) -> Option<PathBuf> {
    let event = &call.event;
    let is_of_tool = [
        EventName::TOOL_PRE_EXECUTE,
        EventName::TOOL_POST_EXECUTE,
        EventName::TOOL_ERROR,
        EventName::PERMISSION_PROMPT,
    ]
    .contains(&event.name);
    let named = |field: &str| event.text(field).is_some_and(|id| !id.is_empty());
    let is_named = named("tool_use_id") && named("session_id");
    if !host.differences.may_deliver_twice || !is_of_tool || !is_named {
        return None;
    }
    let mut text = format!("{}\0{}\0", host.name, event.name.as_str());
    for event in call.events() {
        let mut data = event.data.clone();
        data.shift_remove("timestamp");
        text.push_str(&serde_json::to_string(&data).ok()?);
        text.push('\0');
    }
    let digest = Sha256::digest(text.as_bytes()).to_hex();
    Some(folder.join(&digest[..32]))
}

/// Creates and locks the file of a first delivery.
fn create(path: &Path) -> io::Result<File> {
    let folder = path.parent().unwrap_or(path);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    remove_old(folder);
    let file = match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            options.open(path)?
        }
        opened => opened?,
    };
    file.try_lock().map_err(io::Error::from)?;
    Ok(file)
}

/// The reply that the first delivery writes into its file.
fn reply_in(path: &Path, due: Instant) -> Option<HostReply> {
    let mut file = File::open(path).ok()?;
    while file.try_lock_shared().is_err() {
        if Instant::now() >= due {
            return None;
        }
        thread::sleep(TO_LOOK_AGAIN);
    }
    let mut bytes = Vec::new();
    (&mut file).take(REPEATED_REPLY_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let KeptReply { stdout, stderr, exit_code } = serde_json::from_slice(&bytes).ok()?;
    Some(HostReply { stdout, stderr, exit_code, later: None })
}

/// Removes the files of earlier calls. A file that is still locked belongs to a call under way.
fn remove_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten().take(REPEATED_CALLS_MAX) {
        let age = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = age.and_then(|modified| now.duration_since(modified).ok());
        let is_over = age.is_some_and(|age| age > REPEATED_WITHIN);
        let is_free = || File::open(entry.path()).is_ok_and(|file| file.try_lock_shared().is_ok());
        if is_over && is_free() {
            // Another call may have removed it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use hookwright_dialects::hosts;
    use hookwright_events::Event;
    use serde_json::json;

    use super::*;

    fn call(id: &str, command: &str) -> HostCall {
        let data = json!({ "session_id": "s", "tool_use_id": id, "tool_name": "bash",
            "tool_input": { "command": command }, "timestamp": "now" });
        Event::named("tool:pre_execute", data).expect("known").into()
    }

    fn begin(call: &HostCall, state: &Path) -> DeliveredCall {
        let host = hosts::named("codex").expect("a host");
        let due = Instant::now() + Duration::from_secs(20);
        DeliveredCall::begin(host, call, Some(state), due)
    }

    fn first(delivered: DeliveredCall) -> FirstDelivery {
        match delivered {
            DeliveredCall::First(first) => first,
            DeliveredCall::Repeated(reply) => panic!("{reply:?}"),
        }
    }

    #[test]
    fn the_second_delivery_waits_for_the_first_reply_and_repeats_it() {
        let state = tempfile::tempdir().expect("a folder");
        let call = call("1", "ls");
        let one = first(begin(&call, state.path()));
        let reply = HostReply::deny_to_any_host("no");
        thread::scope(|scope| {
            let second = scope.spawn(|| begin(&call, state.path()));
            one.answered(&reply);
            match second.join().expect("no panic") {
                DeliveredCall::Repeated(repeated) => assert_eq!(repeated, reply),
                DeliveredCall::First(_) => panic!("the hooks would run again"),
            }
        });
    }

    #[test]
    fn another_call_a_call_without_an_id_and_an_unknown_reply_run_the_hooks() {
        let state = tempfile::tempdir().expect("a folder");
        first(begin(&call("1", "ls"), state.path())).answered(&HostReply::default());
        for other in [call("2", "ls"), call("1", "rm"), call("", "ls")] {
            first(begin(&other, state.path()));
        }
        // This one ended without a reply.
        drop(first(begin(&call("3", "ls"), state.path())));
        first(begin(&call("3", "ls"), state.path()));
    }

    #[test]
    fn an_old_reply_is_not_repeated_and_its_file_is_removed() {
        let state = tempfile::tempdir().expect("a folder");
        let (old, new) = (call("1", "ls"), call("2", "ls"));
        first(begin(&old, state.path())).answered(&HostReply::default());
        let folder = state.path().join(FOLDER);
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let file = File::options().write(true).open(entry.path()).expect("a file");
            let past = SystemTime::now() - REPEATED_WITHIN - Duration::from_secs(1);
            file.set_modified(past).expect("its time");
        }
        first(begin(&old, state.path()));
        first(begin(&new, state.path()));
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 2);
    }
}
