//! [`Replacement`]: replaces another system's file with a native one.
//!
//! It writes the native file first and renames the old one then: after a crash in between, hooks
//! run twice, but no guard is lost. Running the same command again completes the replacement.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hookwright_config::tree::{Raw, parse};
use hookwright_config::{self as config, ConfigFile, SourceFile, load_text, read_text};
use hookwright_engine::hook::Layer;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::config_files::{ConfigFiles, PROJECT_NAMES, process_environment};
use crate::error::{Failure, ImportFailure};

/// The name of the native file for all projects.
const GLOBAL_NAME: &str = "hooks.yaml";

/// Suffix of the old file's name.
const BACKUP_ENDING: &str = "before-import";

/// Maximum number of backups of one file.
const BACKUPS_MAX: u32 = 100;

/// The keys of a file that has only hooks.
const KEYS_OF_HOOK_FILES: &[&str] = &["hooks", "version", "$schema"];

/// The files of a replacement.
pub(super) struct Replacement<'a> {
    old: &'a ConfigFile,
    native: PathBuf,
    /// All files that hookwright finds, including the old one.
    all: &'a ConfigFiles,
}

/// Result of a replacement.
pub(super) struct Replaced {
    pub(super) native: PathBuf,
    pub(super) backup: PathBuf,
    /// Places of hooks that take effect now, because the old file had replaced them.
    pub(super) now_count: Vec<String>,
}

impl<'a> Replacement<'a> {
    /// The replacement of a file, or why it must not be replaced. `all` are the files that are
    /// found.
    pub(super) fn of(file: &Path, all: &'a ConfigFiles) -> Result<Self, Failure> {
        let old = found_by_itself(file, all);
        let Some(old) = old else {
            return Err(ImportFailure::NotFoundByItself { file: all.display_path(file) }.into());
        };
        let shown = old.shown_as.clone();
        let foreign = old.dialect.and_then(|dialect| hookwright_dialects::named(dialect.name()));
        if foreign.is_some_and(|foreign| foreign.runs_by_itself()) {
            return Err(ImportFailure::AgentReadsIt { file: shown }.into());
        }
        if let Some(key) = other_key(old) {
            return Err(ImportFailure::HoldsMore { file: shown, key }.into());
        }
        let native = match old.layer {
            Layer::Global => {
                all.user_folder()?.ok_or(ImportFailure::NoUserFolder)?.join(GLOBAL_NAME)
            }
            _ => all.project_root.join(PROJECT_NAMES[0]),
        };
        // Its extension may differ.
        let is_native = |file: &&ConfigFile| {
            file.dialect.is_none()
                && file.layer == old.layer
                && file.path.parent() == native.parent()
        };
        let there = all.files.iter().find(is_native).map(|file| file.path.clone());
        let native = there.unwrap_or(native);
        Ok(Self { old, native, all })
    }

    /// Writes the native file and renames the old one. `hooks` is the number of hooks in the text.
    pub(super) fn carry_out(&self, text: &str, hooks: usize) -> Result<Replaced, Failure> {
        self.prove(text, hooks)?;
        let counted = self.places_of_hooks(false);
        let mut now_count = self.places_of_hooks(true);
        now_count.retain(|place| !counted.contains(place));
        let is_new = match fs::read_to_string(&self.native) {
            // An earlier, interrupted run wrote it.
            Ok(there) if there == text => false,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let cannot =
                    |cause| ImportFailure::CannotWrite { file: self.shown_native(), cause };
                write_new(&self.native, text).map_err(cannot)?;
                true
            }
            Ok(_) | Err(_) => {
                let (native, old) = (self.shown_native(), self.old.shown_as.clone());
                return Err(ImportFailure::NativeIsThere { native, old }.into());
            }
        };
        let backup = match rename_to_backup(&self.old.path) {
            Ok(backup) => backup,
            Err(cause) => {
                if is_new {
                    // Otherwise its hooks would run twice.
                    let _ = fs::remove_file(&self.native);
                }
                let file = self.old.shown_as.clone();
                return Err(ImportFailure::CannotRename { file, cause }.into());
            }
        };
        let native = self.shown_native();
        Ok(Replaced { native, backup: self.all.display_path(&backup), now_count })
    }

    fn shown_native(&self) -> PathBuf {
        self.all.display_path(&self.native)
    }

    /// Before any change, checks that the text is a native file without faults that has every hook.
    fn prove(&self, text: &str, hooks: usize) -> Result<(), Failure> {
        let file = ConfigFile::native(&self.native, self.shown_native(), self.old.layer);
        let file = file.with_systems(hookwright_dialects::known());
        let read = load_text(text, &file, &process_environment());
        let found = read.hooks.hooks().len();
        match read.faults.first() {
            None if found == hooks => Ok(()),
            fault => {
                let cause = fault.map_or_else(
                    || format!("it would have {found} of {hooks} hooks"),
                    |fault| fault.kind.to_string(),
                );
                Err(ImportFailure::NotTheSame { file: self.old.shown_as.clone(), cause }.into())
            }
        }
    }

    /// The places of the hooks of the old file's system; without the old file if `is_gone`.
    fn places_of_hooks(&self, is_gone: bool) -> Vec<String> {
        let dialect = |file: &ConfigFile| file.dialect.map(|dialect| dialect.name());
        let is_read = |file: &&ConfigFile| {
            dialect(file) == dialect(self.old) && !(is_gone && file.path == self.old.path)
        };
        let files: Vec<ConfigFile> = self.all.files.iter().filter(is_read).cloned().collect();
        let loaded = config::load(&files, &process_environment());
        loaded.hooks.hooks().iter().map(|hook| hook.source.to_string()).collect()
    }
}

/// The file among those that are found, by whatever path it was named.
pub(super) fn found_by_itself<'a>(file: &Path, all: &'a ConfigFiles) -> Option<&'a ConfigFile> {
    let whole = fs::canonicalize(file).ok()?;
    let is_it = |found: &&ConfigFile| {
        found.dialect.is_some() && fs::canonicalize(&found.path).is_ok_and(|path| path == whole)
    };
    all.files.iter().find(is_it)
}

/// A key that shows that the file has more than hooks.
fn other_key(file: &ConfigFile) -> Option<String> {
    let text = read_text(file).ok()?;
    let source = SourceFile { path: file.shown_as.clone(), text: text.into() };
    match parse(&source.into()).ok()?.raw {
        Raw::Map(fields) => fields
            .iter()
            .map(|field| field.key.to_string())
            .find(|key| !KEYS_OF_HOOK_FILES.contains(&key.as_str())),
        _ => None,
    }
}

/// Creates a file atomically.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // The umask decides who may read it, as for any new file.
    let mode = fs::Permissions::from_mode(0o666);
    let mut draft = tempfile::Builder::new();
    let mut draft = draft.prefix(".hookwright-").permissions(mode).tempfile_in(folder)?;
    draft.write_all(text.as_bytes())?;
    draft.as_file().sync_all()?;
    draft.persist_noclobber(path).map_err(|error| error.error)?;
    sync_folder(folder);
    Ok(())
}

/// Renames a file to a free name that no system reads.
fn rename_to_backup(old: &Path) -> io::Result<PathBuf> {
    let name = old.file_name().unwrap_or_default();
    for number in 1..=BACKUPS_MAX {
        let mut backup_name = name.to_owned();
        backup_name.push(match number {
            1 => format!(".{BACKUP_ENDING}"),
            more => format!(".{BACKUP_ENDING}-{more}"),
        });
        let backup = old.with_file_name(backup_name);
        if hookwright_dialects::of_file(&backup).is_some() {
            return Err(io::Error::other(
                "every possible backup name is a name that hookwright looks for",
            ));
        }
        match rename_if_free(old, &backup) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            renamed => {
                renamed?;
                sync_folder(old.parent().unwrap_or(Path::new(".")));
                return Ok(backup);
            }
        }
    }
    Err(io::Error::other(format!("there are {BACKUPS_MAX} backups already")))
}

/// Renames, but never replaces another file.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can do that in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match fs::symlink_metadata(to) {
            Ok(_) => Err(ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => fs::rename(from, to),
            Err(error) => Err(error),
        },
        renamed => renamed.map_err(Into::into),
    }
}

/// Makes a name survive a crash of the machine. Some file systems refuse, and need it less.
fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}
