//! [`SettingsFile`]: a file of an agent, read once and replaced atomically.
//!
//! A link is followed and its target replaced, so that the link stays. The new file has the mode and
//! the group of the old one. Before the exchange the content is compared with what was read: a file
//! that changed meanwhile stays.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tempfile::TempPath;

use super::limits::SETTINGS_BYTES_MAX;
use crate::error::SettingsFileError;

/// The mode of a new file, before the umask.
const MODE: u32 = 0o666;

/// Bits that make a file a program.
const EXECUTABLE: u32 = 0o111;

/// A file of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SettingsFile {
    /// Its path, after links.
    pub(super) path: PathBuf,
    /// The path by which the agent finds it.
    pub(super) named: PathBuf,
    /// Its content; `None` if it does not exist.
    pub(super) content: Option<FileContent>,
    /// Folders that have to be created for it, outermost first. Several files of an agent may need the
    /// same ones, so they are found before the first file is written.
    pub(super) missing_folders: Vec<PathBuf>,
}

/// What a file has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileContent {
    pub(super) text: String,
    /// Its permissions.
    pub(super) mode: u32,
    group: u32,
}

impl SettingsFile {
    /// Reads the file, and checks that this user may replace it.
    pub(super) fn read(named: &Path) -> Result<Self, SettingsFileError> {
        let file = Self::find(named)?;
        match &file.content {
            Some(_) => check_folder(file.folder(), named)?,
            None => check_folder(existing_folder(named)?, named)?,
        }
        Ok(file)
    }

    /// The text; empty if the file does not exist.
    pub(super) fn text(&self) -> &str {
        self.content.as_ref().map_or("", |content| &content.text)
    }

    /// Whether it can be started as a program.
    pub(super) fn is_executable(&self) -> bool {
        self.content.as_ref().is_some_and(|content| content.mode & EXECUTABLE == EXECUTABLE)
    }

    /// Replaces the content, or creates the file. The caller holds its lock.
    pub(super) fn replace(&self, text: &str, is_program: bool) -> Result<(), SettingsFileError> {
        self.check_unchanged()?;
        self.write(text, is_program).map_err(|cause| self.cannot_write(cause))
    }

    /// Removes the file, and these folders if they are empty. The caller holds its lock.
    pub(super) fn remove(&self, folders: &[PathBuf]) -> Result<(), SettingsFileError> {
        self.check_unchanged()?;
        remove_if_there(&self.draft()).map_err(|cause| self.cannot_write(cause))?;
        remove_if_there(&self.path).map_err(|cause| self.cannot_write(cause))?;
        // A folder that others use by now stays.
        folders.iter().rev().all(|folder| fs::remove_dir(folder).is_ok());
        Ok(())
    }

    fn find(named: &Path) -> Result<Self, SettingsFileError> {
        let unreadable = |cause| SettingsFileError::Unreadable { path: named.to_owned(), cause };
        let path = match fs::symlink_metadata(named) {
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                let path = existing_folder(named)?;
                let below = named.strip_prefix(path).unwrap_or(named);
                let path = fs::canonicalize(path).map_err(unreadable)?.join(below);
                let missing_folders = missing_folders(&path);
                return Ok(Self { path, named: named.to_owned(), content: None, missing_folders });
            }
            Err(cause) => return Err(unreadable(cause)),
            Ok(metadata) if metadata.is_symlink() => real_path(named)?,
            Ok(_) => fs::canonicalize(named).map_err(unreadable)?,
        };
        let content = read_content(&path, named)?;
        let missing_folders = Vec::new();
        Ok(Self { path, named: named.to_owned(), content: Some(content), missing_folders })
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// The new content on its way. The holder of the lock owns it, so a process that was killed leaves
    /// it to the next one. No agent reads a file of this name.
    fn draft(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.folder().join(format!(".{name}.hookwright-new"))
    }

    fn check_unchanged(&self) -> Result<(), SettingsFileError> {
        let now = Self::find(&self.named)?;
        match now.path == self.path && now.content == self.content {
            true => Ok(()),
            false => Err(SettingsFileError::ChangedMeanwhile { path: self.named.clone() }),
        }
    }

    fn write(&self, text: &str, is_program: bool) -> io::Result<()> {
        fs::create_dir_all(self.folder())?;
        let draft = self.draft();
        remove_if_there(&draft)?;
        let mode = match (&self.content, is_program) {
            // Others may not read it before it has its final mode.
            (Some(_), _) => 0o600,
            (None, true) => MODE | EXECUTABLE,
            (None, false) => MODE,
        };
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
        // From here on the draft is removed if anything fails.
        let draft = TempPath::try_from_path(draft)?;
        file.write_all(text.as_bytes())?;
        if let Some(old) = &self.content {
            if file.metadata()?.gid() != old.group {
                fchown(&file, None, Some(old.group))?;
            }
            let mode = if is_program { old.mode | EXECUTABLE } else { old.mode };
            file.set_permissions(fs::Permissions::from_mode(mode))?;
        }
        file.sync_all()?;
        drop(file);
        match &self.content {
            Some(_) => draft.persist(&self.path).map_err(|error| error.error)?,
            None => draft.persist_noclobber(&self.path).map_err(|error| error.error)?,
        }
        File::open(self.folder())?.sync_all()
    }

    fn cannot_write(&self, cause: io::Error) -> SettingsFileError {
        SettingsFileError::CannotWrite { path: self.named.clone(), cause }
    }
}

/// The content of a file that this user may replace.
fn read_content(path: &Path, named: &Path) -> Result<FileContent, SettingsFileError> {
    let named = || named.to_owned();
    let unreadable = |cause| SettingsFileError::Unreadable { path: named(), cause };
    // Without this flag, opening a named pipe would block.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(SettingsFileError::NotAFile { path: named() });
    }
    let owner = metadata.uid();
    if owner != rustix::process::geteuid().as_raw() {
        return Err(SettingsFileError::OfOthers { path: named(), owner });
    }
    let mode = metadata.mode() & 0o7777;
    // Root may write every file, so the mode counts.
    if mode & 0o200 == 0 {
        return Err(SettingsFileError::ReadOnly { path: named() });
    }
    if metadata.nlink() > 1 {
        return Err(SettingsFileError::SeveralNames { path: named(), names: metadata.nlink() });
    }
    let opened = OpenOptions::new().read(true).custom_flags(nonblocking).open(path);
    let file = opened.map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(SETTINGS_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > SETTINGS_BYTES_MAX {
        return Err(SettingsFileError::TooLarge { path: named(), bytes_max: SETTINGS_BYTES_MAX });
    }
    let text = String::from_utf8(bytes).map_err(|error| SettingsFileError::NotText {
        path: named(),
        at: error.utf8_error().valid_up_to(),
    })?;
    Ok(FileContent { text, mode, group: metadata.gid() })
}

fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1);
    let mut missing: Vec<PathBuf> =
        folders.take_while(|folder| !folder.exists()).map(Path::to_owned).collect();
    missing.reverse();
    missing
}

/// The target of a link.
fn real_path(link: &Path) -> Result<PathBuf, SettingsFileError> {
    fs::canonicalize(link).map_err(|cause| match fs::read_link(link) {
        Ok(target) if cause.kind() == ErrorKind::NotFound => {
            SettingsFileError::DanglingLink { path: link.to_owned(), target }
        }
        _ => SettingsFileError::Unreadable { path: link.to_owned(), cause },
    })
}

/// The nearest folder above a file that exists.
fn existing_folder(file: &Path) -> Result<&Path, SettingsFileError> {
    for folder in file.ancestors().skip(1) {
        if let Ok(metadata) = fs::symlink_metadata(folder) {
            if metadata.is_symlink() {
                real_path(folder)?;
            }
            return Ok(folder);
        }
    }
    Ok(Path::new("/"))
}

/// Checks that files in a folder can be created and replaced.
fn check_folder(folder: &Path, file: &Path) -> Result<(), SettingsFileError> {
    if !folder.is_dir() {
        let path = folder.to_owned();
        return Err(SettingsFileError::NotAFolder { path, file: file.to_owned() });
    }
    let read_only =
        || SettingsFileError::FolderReadOnly { path: folder.to_owned(), file: file.to_owned() };
    access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|_| read_only())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
