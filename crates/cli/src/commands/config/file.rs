//! [`EditedFile`]: finds, reads and atomically writes the file to edit.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_config::tree::{Raw, parse};
use hookwright_config::{ConfigFile, SourceFile, read_text};
use hookwright_engine::hook::Layer;

use super::edit::NotEditable;
use super::git_hook::Form;
use crate::config_files::{ConfigFiles, ConfigOptions, PROJECT_NAMES};
use crate::error::{EditFailure, Failure};

/// The dialect of AutoAgent's files.
const AUTOAGENT: &str = "autoagent";

/// The name of a new file for all projects.
const GLOBAL_NAME: &str = "hooks.yaml";

/// The beginning of a new native file, so that it is valid without hooks.
const NEW_FILE: &str = "version: 1\n";

/// The file that is edited.
#[derive(Debug)]
pub(super) struct EditedFile {
    pub(super) path: PathBuf,
    /// Its path in messages.
    pub(super) shown: PathBuf,
    pub(super) form: Form,
    is_there: bool,
    /// The user's file, whose hooks an AutoAgent project's own hooks replace.
    behind: Option<PathBuf>,
    note: Option<String>,
}

impl EditedFile {
    /// AutoAgent's file if it exists, else the native one.
    pub(super) fn find(global: bool, cwd: Option<&Path>) -> Result<Self, Failure> {
        let options = ConfigOptions {
            config: Vec::new(),
            dialect: None,
            cwd: cwd.map(Path::to_owned),
            no_global_hooks: false,
        };
        let files = ConfigFiles::find(&options)?;
        let layer = if global { Layer::Global } else { Layer::Project };
        let of = |layer: Layer, dialect: Option<&str>| {
            let is = |file: &&ConfigFile| file.dialect.map(|dialect| dialect.name()) == dialect;
            files.files.iter().filter(|file| file.layer == layer).find(is)
        };
        let form = match of(layer, Some(AUTOAGENT)) {
            Some(_) => Form::AutoAgent,
            None => Form::Native,
        };
        let there = of(layer, Some(AUTOAGENT)).or_else(|| of(layer, None));
        let path = match there {
            Some(file) => file.path.clone(),
            None if global => {
                let folder = files.user_folder()?.ok_or(Failure::Edit(EditFailure::NoHome))?;
                folder.join(GLOBAL_NAME)
            }
            None => files.project_root.join(PROJECT_NAMES[0]),
        };
        let behind = of(Layer::Global, Some(AUTOAGENT)).map(|file| file.path.clone());
        let behind = behind.filter(|_| form == Form::AutoAgent && !global);
        let (shown, is_there) = (files.display_path(&path), there.is_some());
        Ok(Self { path, shown, form, is_there, behind, note: None })
    }

    /// Its text; a missing native file begins with a version.
    pub(super) fn read(&self) -> Result<Arc<SourceFile>, Failure> {
        let text = match self.is_there {
            false => NEW_FILE.to_owned(),
            true => {
                let file = ConfigFile::native(&self.path, &self.shown, Layer::Project);
                read_text(&file).map_err(|fault| self.unreadable(fault.kind.to_string(), None))?
            }
        };
        Ok(Arc::new(SourceFile { path: self.shown.clone(), text: text.into() }))
    }

    /// Writes it atomically and keeps its mode.
    pub(super) fn write(&mut self, before: &str, after: &str) -> Result<(), Failure> {
        let cannot =
            |cause| Failure::Edit(EditFailure::CannotWrite { path: self.shown.clone(), cause });
        self.replace(after).map_err(cannot)?;
        self.note = self.note_on_hooks(before, after);
        Ok(())
    }

    /// What the change means beyond the file itself.
    pub(super) fn note(&self) -> Option<String> {
        self.note.clone()
    }

    /// A failure for a file that cannot be edited.
    pub(super) fn not_editable(&self, cause: NotEditable) -> Failure {
        match cause {
            NotEditable::Unreadable(fault) => {
                let place = fault.place.as_ref().map(|_| fault.location());
                self.unreadable(fault.kind.to_string(), place)
            }
            NotEditable::Layout { hook } => {
                let (path, point) = (self.shown.clone(), self.form.point());
                Failure::Edit(EditFailure::OddLayout { path, hook, point })
            }
        }
    }

    fn unreadable(&self, cause: String, place: Option<String>) -> Failure {
        let place = place.unwrap_or_else(|| self.shown.display().to_string());
        Failure::Edit(EditFailure::Unreadable { place, cause })
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        // Write the target of a link, so that the link stays.
        let path = match self.is_there {
            true => fs::canonicalize(&self.path)?,
            false => self.path.clone(),
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        let mode = match self.is_there {
            true => Some(writable_mode(&path)?),
            false => {
                fs::create_dir_all(folder)?;
                None
            }
        };
        if mode.is_none() {
            let mut file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            return file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
        }
        let mut draft = tempfile::Builder::new().prefix(".hookwright-").tempfile_in(folder)?;
        draft.write_all(text.as_bytes())?;
        draft.as_file().set_permissions(mode.expect("it is there"))?;
        draft.as_file().sync_all()?;
        draft.persist(&path).map_err(|error| error.error)?;
        Ok(())
    }

    /// AutoAgent overlays the user's file with the project's, key by key.
    fn note_on_hooks(&self, before: &str, after: &str) -> Option<String> {
        let text = fs::read_to_string(self.behind.as_deref()?).ok()?;
        if !has_hooks(&text) || has_hooks(before) == has_hooks(after) {
            return None;
        }
        let now = if has_hooks(after) { "no longer run in this project" } else { "run again" };
        let file = "~/.autoagent/config.json";
        Some(format!("note: the hooks of {file} {now}: a project's own hooks replace them\n"))
    }
}

/// The mode of a writable file. Root may write every file, so the mode is checked first.
fn writable_mode(path: &Path) -> io::Result<fs::Permissions> {
    let permissions = fs::metadata(path)?.permissions();
    if permissions.readonly() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it is read-only"));
    }
    OpenOptions::new().write(true).open(path)?;
    Ok(permissions)
}

fn has_hooks(text: &str) -> bool {
    let source = Arc::new(SourceFile { path: "config.json".into(), text: text.into() });
    parse(&source).is_ok_and(|root| match root.raw {
        Raw::Map(fields) => fields.iter().any(|field| &*field.key == "hooks"),
        _ => false,
    })
}
