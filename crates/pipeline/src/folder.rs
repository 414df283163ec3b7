//! A session's folder, `.hookwright/sessions/{session}/`, and the files in it.
//!
//! ```text
//! .gitignore                                    beside the sessions: none of this is for git
//! {session}/progress.md                         the agent's notes; ours is only the heading
//! {session}/children/{event}-{iteration}/        a session that a hook started: all of this once more
//!     inputs.json                               what it was given
//!     output.json                               what it left
//! {session}/stage-00-plan/iterations/001/
//!     context.json                              what the agent may want to know
//!     status.json                               the agent's answer
//!     output.md                                 what it printed, or wrote there itself
//!     prompt.md, said.md                        what it was told, and what it said while it worked
//! ```
//!
//! Guaranteed: a file under its own name is complete. It is written under another name and then
//! renamed, so a kill leaves the old file or the new one. The next write of a file cleans up
//! half-written ones. Nothing is synced: the store is the record, and is synced there.
//!
//! The agent can write here too, so nothing below the project root is reached through a symbolic
//! link: each folder is opened by its name in the one above it (`open_folder.rs`). A link on the
//! way is an error; a link in a file's place is replaced, never followed.

mod child_files;
mod contents;
mod context;
mod open_folder;
mod open_iteration;
mod session_name;
mod status;
mod turn_files;

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

pub use child_files::ChildOutput;
pub(crate) use contents::is_below;
pub use context::{Context, ContextInputs, ContextLimits, ContextPaths, ContextStage};
pub(crate) use open_folder::FileStamp;
pub use open_iteration::OpenIteration;
pub use session_name::{SessionName, SessionNameError};
pub use status::{AgentStatus, BrokenStatus, StatusDecision, StatusFile};
pub(crate) use turn_files::kept_prompt;
pub use turn_files::{TurnAt, TurnKind, TurnTexts};

use open_folder::OpenFolder;

/// The folder of all sessions, relative to the project root.
const SESSIONS: [&str; 2] = [".hookwright", "sessions"];
const PROGRESS: &str = "progress.md";
const CHILDREN: &str = "children";
const CONTEXT: &str = "context.json";
const STATUS: &str = "status.json";
const OUTPUT: &str = "output.md";

/// Characters of a stage's name in its folder's name.
const STAGE_NAME_MAX: usize = 64;

/// A session's folder. It is opened for each use, so this is only a name and costs nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionFolder {
    root: PathBuf,
    session: SessionName,
    /// The folders from the root down to it.
    names: Vec<String>,
    path: PathBuf,
}

/// A stage: its index in the pipeline, from 0, and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageAt<'a> {
    /// The index, from 0.
    pub index: usize,
    /// The name in the pipeline.
    pub name: &'a str,
}

/// An iteration of a stage, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationAt<'a> {
    /// The iteration's stage.
    pub stage: StageAt<'a>,
    /// The number, from 1.
    pub iteration: u32,
}

/// Why a session's folder can't be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The project root does not exist.
    #[error("the project root `{}` does not exist", path.display())]
    RootMissing {
        /// The root's path.
        path: PathBuf,
    },
    /// Something other than a folder is in a folder's place.
    #[error("expected a folder at `{}` but found something else", path.display())]
    NotAFolder {
        /// Its path.
        path: PathBuf,
    },
    /// A folder or a device is in a file's place.
    #[error("expected a file at `{}` but found something else", path.display())]
    NotAFile {
        /// Its path.
        path: PathBuf,
    },
    /// A symbolic link below the project root; it might lead anywhere.
    #[error("`{}` is a symbolic link, which is not followed for writing", path.display())]
    SymbolicLink {
        /// The link's path.
        path: PathBuf,
    },
    /// Permission denied.
    #[error("`{}` can't be written: {source}", path.display())]
    NotWritable {
        /// The path to create, change or remove.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No space on the disk, or not for this user or this file.
    #[error("no space left to write `{}`: {source}", path.display())]
    NoRoom {
        /// The path to write.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another error.
    #[error("can't {doing} `{}`: {source}", path.display())]
    Other {
        /// The operation: `open`, `write`…
        doing: &'static str,
        /// The operation's path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl SessionFolder {
    /// The folder of a session, existing or not.
    pub fn new(root: impl Into<PathBuf>, session: SessionName) -> Self {
        let names = SESSIONS.iter().copied().chain([session.as_str()]).map(str::to_owned).collect();
        Self::at(root.into(), session, names)
    }

    /// The folder of a session that a hook of this one has started. The folder's name is plain:
    /// letters, digits, `_` and `-`.
    #[must_use]
    pub fn of_child(&self, folder: &str, session: SessionName) -> Self {
        let below = [CHILDREN.to_owned(), folder.to_owned()];
        Self::at(self.root.clone(), session, self.names.iter().cloned().chain(below).collect())
    }

    fn at(root: PathBuf, session: SessionName, names: Vec<String>) -> Self {
        let path = names.iter().fold(root.clone(), |path, name| path.join(name));
        Self { root, session, names, path }
    }

    /// Makes the folder and its contents, if missing. Nothing is overwritten.
    pub fn create(&self) -> Result<(), FolderError> {
        let mut folder = OpenFolder::root(&self.root)?;
        for (number, name) in self.names.iter().enumerate() {
            folder = folder.make(name)?;
            if number + 1 == SESSIONS.len() {
                folder.add(".gitignore", b"*\n")?;
            }
        }
        folder.make(CHILDREN)?;
        let heading = format!("# Progress: {}\n", self.session);
        folder.add(PROGRESS, heading.as_bytes())
    }

    /// Removes the folder with everything in it. A missing folder is no error; links in it are
    /// removed, their targets are not.
    pub fn remove(&self) -> Result<(), FolderError> {
        let mut above = match OpenFolder::root(&self.root) {
            Ok(root) => root,
            Err(FolderError::RootMissing { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        let (own, way) = self.names.split_last().expect("a session's folder has a name");
        for name in way {
            match above.enter(name)? {
                Some(next) => above = next,
                None => return Ok(()),
            }
        }
        above.remove_all(OsStr::new(own))
    }

    /// Whether the session has a folder.
    pub fn exists(&self) -> Result<bool, FolderError> {
        Ok(self.open(&[])?.is_some())
    }

    /// The session's name.
    pub fn session(&self) -> &SessionName {
        &self.session
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same path, relative to the project root.
    pub fn from_root<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// The agent's notes: `PROGRESS`.
    pub fn progress(&self) -> PathBuf {
        self.path.join(PROGRESS)
    }

    /// Where the folders of child sessions are.
    pub fn children(&self) -> PathBuf {
        self.path.join(CHILDREN)
    }

    /// A stage's folder.
    pub fn stage(&self, stage: StageAt<'_>) -> PathBuf {
        self.path.join(stage.folder_name())
    }

    /// The folder of a stage's iterations.
    fn iterations(&self, stage: StageAt<'_>) -> PathBuf {
        let mut path = self.stage(stage);
        path.push("iterations");
        path
    }

    /// Information for the agent: `CTX`.
    pub fn context(&self, at: IterationAt<'_>) -> PathBuf {
        self.in_iteration(at, CONTEXT)
    }

    /// The agent's answer: `STATUS`.
    pub fn status(&self, at: IterationAt<'_>) -> PathBuf {
        self.in_iteration(at, STATUS)
    }

    /// The agent's output, printed or written by itself: `OUTPUT`.
    pub fn output(&self, at: IterationAt<'_>) -> PathBuf {
        self.in_iteration(at, OUTPUT)
    }

    /// The outputs of these iterations, relative to the root.
    pub fn outputs_from_root(&self, stage: StageAt<'_>, iterations: &[u32]) -> Vec<String> {
        let folder = self.iterations(stage);
        output_paths(&self.from_root(&folder).to_string_lossy(), iterations)
    }

    /// The outputs of these iterations.
    pub fn outputs(&self, stage: StageAt<'_>, iterations: &[u32]) -> Vec<String> {
        output_paths(&self.iterations(stage).to_string_lossy(), iterations)
    }

    /// Makes the iteration's folder, so that the agent can write its files, and holds it open. It
    /// is not held while the agent works, since the agent may replace it.
    pub fn make_iteration(&self, at: IterationAt<'_>) -> Result<OpenIteration, FolderError> {
        let below = [&*at.stage.folder_name(), "iterations", &*at.folder_name()];
        Ok(OpenIteration(self.make(&below)?))
    }

    /// The iteration's folder, held open; `None` if it does not exist.
    pub fn open_iteration(
        &self,
        at: IterationAt<'_>,
    ) -> Result<Option<OpenIteration>, FolderError> {
        let folder = self.open(&[&at.stage.folder_name(), "iterations", &at.folder_name()])?;
        Ok(folder.map(OpenIteration))
    }

    /// An iteration's output as text: its first and its last half, if it has more than `bytes_max`
    /// bytes.
    pub fn read_output(
        &self,
        at: IterationAt<'_>,
        bytes_max: usize,
    ) -> Result<String, FolderError> {
        let folder = self.open_iteration(at)?;
        folder.map_or(Ok(String::new()), |folder| folder.read_output(bytes_max))
    }

    /// The existing outputs of a stage, in the order of its iterations.
    pub fn stage_outputs(&self, stage: StageAt<'_>) -> Result<Vec<PathBuf>, FolderError> {
        let mut outputs = Vec::new();
        let Some(iterations) = self.open(&[&stage.folder_name(), "iterations"])? else {
            return Ok(outputs);
        };
        for iteration in numbers(&iterations)? {
            let at = IterationAt { stage, iteration };
            if let Some(folder) = iterations.enter(&at.folder_name())?
                && folder.has_file(OUTPUT)?
            {
                outputs.push(self.output(at));
            }
        }
        Ok(outputs)
    }

    fn in_iteration(&self, at: IterationAt<'_>, name: &str) -> PathBuf {
        let mut path = self.iterations(at.stage);
        path.push(at.folder_name());
        path.push(name);
        path
    }

    /// A folder below the session's, made with those on the way to it if missing.
    fn make(&self, below: &[&str]) -> Result<OpenFolder, FolderError> {
        let names = self.names.iter().map(String::as_str).chain(below.iter().copied());
        let mut folder = OpenFolder::root(&self.root)?;
        for name in names {
            folder = folder.make(name)?;
        }
        Ok(folder)
    }

    /// A folder below the session's; `None` if it, or one on the way to it, does not exist.
    fn open(&self, below: &[&str]) -> Result<Option<OpenFolder>, FolderError> {
        let mut folder = OpenFolder::root(&self.root)?;
        let names = self.names.iter().map(String::as_str);
        for name in names.chain(below.iter().copied()) {
            match folder.enter(name)? {
                Some(next) => folder = next,
                None => return Ok(None),
            }
        }
        Ok(Some(folder))
    }
}

impl StageAt<'_> {
    /// `stage-00-plan`. Checked names are used unchanged; of another name no character can leave
    /// the folder, and the number keeps two of them apart.
    fn folder_name(self) -> String {
        let plain = |letter: char| {
            if letter.is_ascii_alphanumeric() || "_-".contains(letter) { letter } else { '-' }
        };
        let name: String = self.name.chars().take(STAGE_NAME_MAX).map(plain).collect();
        format!("stage-{:02}-{name}", self.index)
    }
}

impl IterationAt<'_> {
    fn folder_name(self) -> String {
        format!("{:03}", self.iteration)
    }
}

/// The outputs of these iterations, whose folders are in this one. Every event of a stage names the
/// latest ones, so each path is one allocation.
fn output_paths(folder: &str, iterations: &[u32]) -> Vec<String> {
    const NUMBER_BYTES: usize = 12;
    let path = |iteration: &u32| {
        let mut path = String::with_capacity(folder.len() + NUMBER_BYTES + OUTPUT.len());
        path.push_str(folder);
        // Writing into a text cannot fail.
        let _ = write!(path, "/{iteration:03}/");
        path.push_str(OUTPUT);
        path
    };
    iterations.iter().map(path).collect()
}

/// The numbers of the iterations that have a folder here, in their order.
fn numbers(iterations: &OpenFolder) -> Result<Vec<u32>, FolderError> {
    let number = |name: &OsString| {
        let number = name.to_str()?.parse().ok()?;
        let stage = StageAt { index: 0, name: "" };
        let ours = IterationAt { stage, iteration: number }.folder_name();
        (number > 0 && *name == *ours).then_some(number)
    };
    let mut numbers: Vec<u32> = iterations.names()?.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}
