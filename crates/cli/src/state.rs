//! The user's state: the store of sessions, and the trust file (`trust.rs`).

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use hookwright_pipeline::desk::SocketDesks;
use hookwright_pipeline::trace::{StoreWithTraces, TraceFolder};
use hookwright_store::{Kind, Loss, Record, RecordKey, Store, StoreLocation};

use crate::error::Failure;
use crate::project;
use crate::screen::Screen;
use crate::store_settings;
use crate::store_time;
use crate::text::visible;
use crate::user_folders::UserFolders;

/// The notice that the variable is ignored is shown once.
static IS_IGNORED: Once = Once::new();

/// Opens the user's store.
pub(crate) fn store() -> Result<Arc<dyn Store>, Failure> {
    let location = location()?;
    make_folder(&location)?;
    let store = location.open().map_err(Failure::Store)?;
    tell_losses(&*store, &location);
    store_time::follow(&store);
    Ok(store)
}

/// Opens the user's store if there is one.
pub(crate) fn existing_store() -> Result<Option<Arc<dyn Store>>, Failure> {
    let location = location()?;
    make_folder(&location)?;
    let store = location.find().map_err(Failure::Store)?;
    if let Some(store) = &store {
        tell_losses(&**store, &location);
        store_time::follow(store);
    }
    Ok(store)
}

/// A store that also shows what hooks did inside other agents: in the project with this path under
/// this name.
pub(crate) fn with_traces(
    store: Option<Arc<dyn Store>>,
    root: &Path,
    project: &str,
) -> Result<Arc<dyn Store>, Failure> {
    let store = StoreWithTraces::new(store, traces()?);
    Ok(Arc::new(match project::root_beside(project, root) {
        Some(path) => store.naming(path, project.to_owned()),
        None => store,
    }))
}

/// What hooks did inside other agents.
pub(crate) fn traces() -> Result<TraceFolder, Failure> {
    Ok(TraceFolder::new(&folder()?))
}

/// Creates the state folder if the store is elsewhere: keys and sockets are in it all the same. A
/// store in the folder creates it itself.
pub(crate) fn make_folder(location: &StoreLocation) -> Result<(), Failure> {
    if let StoreLocation::Folder(_) = location {
        return Ok(());
    }
    let folder = folder()?;
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|cause| Failure::CannotCreate { path: folder, cause })
}

/// The sockets of the user's running sessions.
pub(crate) fn desks() -> Result<SocketDesks, Failure> {
    Ok(SocketDesks::new(folder()?))
}

/// The location of the user's store.
pub(crate) fn location() -> Result<StoreLocation, Failure> {
    let chosen = store_settings::chosen().map_err(Failure::StoreSettings)?;
    if chosen.ignores_variable {
        IS_IGNORED.call_once(|| {
            Screen.talk("note: HOOKWRIGHT_STORE is ignored inside a session or a hook\n");
        });
    }
    match chosen.location {
        Some(location) => Ok(location),
        None => Ok(StoreLocation::Folder(folder()?)),
    }
}

/// Reports what the store has lost, if this is the first command that notices.
fn tell_losses(store: &dyn Store, location: &StoreLocation) {
    let losses = store.take_losses();
    if !losses.is_empty() {
        Screen.talk(&losses_text(&losses, location));
    }
}

fn losses_text(losses: &[Loss], location: &StoreLocation) -> String {
    let log = format!("{location}-wal");
    let log = visible(&log);
    let mut text = format!(
        "warning: the store has lost its last commits: its log was removed or damaged, or the machine \
         went down\n  --> {log}\n"
    );
    for loss in losses {
        text += &match loss {
            Loss::Entries { project, session, had, has: 0 } => format!(
                "  session `{}` of {}: all {had} entries of its journal\n",
                visible(session),
                visible(project)
            ),
            Loss::Entries { project, session, had, has } => format!(
                "  session `{}` of {}: the last {} of {had} entries of its journal\n",
                visible(session),
                visible(project),
                had - has
            ),
            Loss::Records => "  changes of sessions, tasks, questions or issues\n".to_owned(),
        };
    }
    text + "help: if you have a copy of the log, restore it first; otherwise `hookwright resume` \
         continues from what is left\n"
}

/// `$XDG_STATE_HOME/hookwright`, usually `~/.local/state/hookwright`.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    UserFolders::current().own_state().ok_or(Failure::NoStateFolder)
}

/// The transcript of the agent's session with this id.
pub(crate) fn transcript(session_id: &str) -> Result<PathBuf, Failure> {
    Ok(folder()?.join("transcripts").join(format!("{session_id}.jsonl")))
}

/// The same for a process with these variables.
pub(crate) fn folder_in(state_home: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    if let Some(folder) = state_home.filter(|folder| folder.is_absolute()) {
        return Some(folder.join("hookwright"));
    }
    home.filter(|home| home.is_absolute()).map(|home| home.join(".local/state/hookwright"))
}

/// The session of this name in this project.
pub(crate) fn session(
    store: &dyn Store,
    project: &str,
    name: &str,
) -> Result<Option<Record>, Failure> {
    let key = RecordKey { project: project.to_owned(), name: name.to_owned() };
    store.get(Kind::Session, &key).map_err(Failure::Store)
}
