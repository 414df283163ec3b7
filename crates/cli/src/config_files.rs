//! Which configuration files a command reads.
//!
//! Without `--config`: the project's file, found upwards from the working directory, and the user's
//! file for all projects. With `--config`: exactly the files that were named.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use hookwright_engine::config::{self, ConfigFile, Fault, Loaded, Warning};
use hookwright_engine::hook::Layer;
use hookwright_engine::secrets::{self, Secrets};
use hookwright_engine::template::WarningKind;
use hookwright_engine::variables::Environment;

use crate::error::Failure;

/// The names of a project's file.
pub(crate) const PROJECT_NAMES: [&str; 3] =
    ["hookwright.yaml", "hookwright.yml", "hookwright.json"];

/// The names of the user's file for all projects.
const GLOBAL_NAMES: [&str; 3] = ["hooks.yaml", "hooks.yml", "hooks.json"];

/// The name of the user's secrets, beside that file.
const SECRETS_NAME: &str = "secrets.env";

/// Where the configuration comes from. Every command that reads hooks takes these.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigOptions {
    /// Read this file instead of searching; may be given more than once
    ///
    /// Only the files named are read, in this order. A file named loop.yaml or pipeline.yaml is
    /// read as a loop or a pipeline.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,

    /// Act as if started in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Leave out the hooks that are for all projects (~/.config/hookwright/hooks.yaml)
    #[arg(long)]
    pub(crate) no_global_hooks: bool,
}

/// The files to read, and where they were looked for.
#[derive(Debug)]
pub(crate) struct ConfigFiles {
    pub(crate) files: Vec<ConfigFile>,
    /// The folder of the project's file, else the working directory.
    pub(crate) project_root: PathBuf,
    /// Where the command acts.
    pub(crate) working_dir: PathBuf,
    /// The user's folder for files that are for all projects, if it was looked at.
    pub(crate) global_folder: Option<PathBuf>,
    /// The user's secrets, if there are any.
    secrets: Option<PathBuf>,
    home: Option<PathBuf>,
}

/// The environment that this process was given.
pub(crate) fn process_environment() -> Environment {
    Environment::new(std::env::vars_os())
}

impl ConfigFiles {
    /// The files that these options lead to.
    pub(crate) fn find(options: &ConfigOptions) -> Result<Self, Failure> {
        let working_dir = working_dir(options.cwd.as_deref())?;
        let mut found = Self {
            files: Vec::new(),
            project_root: working_dir.clone(),
            working_dir,
            global_folder: None,
            secrets: None,
            // Falls back to the user database: without HOME the user's guards must not vanish.
            home: std::env::home_dir().filter(|home| !home.as_os_str().is_empty()),
        };

        if options.config.is_empty() {
            found.search(options.no_global_hooks)?;
        } else {
            for path in &options.config {
                found.add(found.working_dir.join(path), layer_of(path));
            }
        }
        let secrets = found.user_folder()?.map(|folder| folder.join(SECRETS_NAME));
        found.secrets = secrets.filter(|path| may_be_there(path));
        Ok(found)
    }

    /// Takes files for loops and pipelines whose content says so, whatever they are called.
    pub(crate) fn look_inside(&mut self) {
        for file in self.files.iter_mut().filter(|file| file.layer == Layer::Project) {
            let Ok(text) = config::read_text(file) else { continue };
            if config::is_pipeline(&text) {
                file.layer = Layer::Pipeline;
            } else if config::is_loop(&text) {
                file.layer = Layer::Loop;
            }
        }
    }

    /// Reads and checks all of them.
    pub(crate) fn load(&self, environment: &Environment) -> (Loaded, Secrets) {
        let mut loaded = config::load(&self.files, environment);
        let secrets = self.secrets().unwrap_or_else(|faults| {
            loaded.secrets_are_broken(faults);
            Secrets::default()
        });
        (loaded, secrets)
    }

    /// The same, and what is probably not meant.
    pub(crate) fn check(&self, environment: &Environment) -> (Loaded, Vec<Warning>) {
        let (mut loaded, mut warnings) = config::check(&self.files, environment);
        match self.secrets() {
            // A hook that names a secret gets it.
            Ok(secrets) => warnings.retain(|warning| {
                warning.kind != WarningKind::Unknown || secrets.get(&warning.name).is_none()
            }),
            Err(faults) => loaded.secrets_are_broken(faults),
        }
        (loaded, warnings)
    }

    /// The user's secrets, or what is wrong with them.
    pub(crate) fn secrets(&self) -> Result<Secrets, Vec<Fault>> {
        match &self.secrets {
            Some(path) => secrets::read(path, &self.shown(path)),
            None => Ok(Secrets::default()),
        }
    }

    /// A path as messages name it: from the working directory, from home, or all of it.
    pub(crate) fn shown(&self, path: &Path) -> PathBuf {
        let has_parent = path.components().any(|part| part.as_os_str() == "..");
        let resolved = if has_parent { fs::canonicalize(path).ok() } else { None };
        let path = resolved.as_deref().unwrap_or(path);
        if let Ok(below) = path.strip_prefix(&self.working_dir)
            && !below.as_os_str().is_empty()
        {
            return below.into();
        }
        match self.home.as_deref().map(|home| path.strip_prefix(home)) {
            Some(Ok(below)) => Path::new("~").join(below),
            _ => path.into(),
        }
    }

    fn search(&mut self, no_global_hooks: bool) -> Result<(), Failure> {
        for folder in self.working_dir.clone().ancestors() {
            if let Some(path) = self.only_one_of(folder, &PROJECT_NAMES)? {
                self.project_root = folder.to_owned();
                self.add(path, Layer::Project);
                break;
            }
        }
        if !no_global_hooks && let Some(folder) = self.user_folder()? {
            if let Some(path) = self.only_one_of(&folder, &GLOBAL_NAMES)? {
                self.add(path, Layer::Global);
            }
            self.global_folder = Some(folder);
        }
        Ok(())
    }

    /// The user's folder for files that are for all projects.
    pub(crate) fn user_folder(&self) -> Result<Option<PathBuf>, Failure> {
        let configured = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        if let Some(folder) = configured.filter(|folder| folder.is_absolute()) {
            return Ok(Some(folder.join("hookwright")));
        }
        match &self.home {
            Some(home) if !home.is_absolute() => {
                Err(Failure::HomeNotAbsolute { home: home.clone() })
            }
            Some(home) => Ok(Some(home.join(".config/hookwright"))),
            None => Ok(None),
        }
    }

    fn only_one_of(
        &self,
        folder: &Path,
        names: &[&'static str],
    ) -> Result<Option<PathBuf>, Failure> {
        let there: Vec<&'static str> =
            names.iter().copied().filter(|name| may_be_there(&folder.join(name))).collect();
        match there[..] {
            [] => Ok(None),
            [name] => self.only_a_file(folder.join(name)).map(Some),
            _ => Err(Failure::MoreThanOneFile { folder: self.shown(folder), names: there }),
        }
    }

    /// A pipe or a device that lies where a file is looked for would keep us waiting for ever; one
    /// that was named with `--config` is read.
    fn only_a_file(&self, path: PathBuf) -> Result<PathBuf, Failure> {
        match fs::metadata(&path) {
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                Err(Failure::NotAFile { path: self.shown(&path) })
            }
            _ => Ok(path),
        }
    }

    fn add(&mut self, path: PathBuf, layer: Layer) {
        let shown_as = self.shown(&path);
        self.files.push(ConfigFile::native(path, shown_as, layer));
    }
}

/// Only a clear no is a no: a file behind a locked door or a dangling link is read, fails, and is
/// a fault, since it may hold guards.
fn may_be_there(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

fn layer_of(path: &Path) -> Layer {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("loop.yaml" | "loop.yml" | "loop.json") => Layer::Loop,
        Some("pipeline.yaml" | "pipeline.yml" | "pipeline.json") => Layer::Pipeline,
        _ => Layer::Project,
    }
}

fn working_dir(asked_for: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(folder) = asked_for else {
        return std::env::current_dir().map_err(|cause| Failure::NoWorkingDirectory { cause });
    };
    let unusable = |cause| Failure::NoSuchFolder { folder: folder.into(), cause };
    let whole = fs::canonicalize(folder).map_err(unusable)?;
    if !whole.is_dir() {
        return Err(unusable(ErrorKind::NotADirectory.into()));
    }
    Ok(whole)
}
