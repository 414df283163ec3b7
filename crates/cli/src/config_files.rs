//! Which configuration files a command reads.
//!
//! Without `--config`: the project's file, searched upwards from the working directory, the user's
//! file for all projects, and other systems' files beside them, found by name. With `--config`:
//! exactly the named files.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use hookwright_config::{
    self as config, ConfigFile, Dialect, Fault, Loaded, ReadFile, Warning, WarningKind,
};
use hookwright_dialects::hosts::{self, Connection};
use hookwright_dialects::{Foreign, Location, Whereabouts, agent_pipelines};
use hookwright_engine::Secrets;
use hookwright_engine::hook::Layer;
use hookwright_engine::template::CommandWarningKind as OfVariable;
use hookwright_engine::variables::Environment;

use crate::error::Failure;
use crate::user_folders::{SECRETS_NAME, UserFolders};

/// The names of a project's file.
pub(crate) const PROJECT_NAMES: [&str; 3] =
    ["hookwright.yaml", "hookwright.yml", "hookwright.json"];

/// The names of the user's file for all projects.
const GLOBAL_NAMES: [&str; 3] = ["hooks.yaml", "hooks.yml", "hooks.json"];

/// Ends of the paths of files that decide what an agent may do, in every format, in any folder. The
/// built-in agent's own tools do not change them.
pub(crate) const PROTECTED_ENDINGS: &[&str] = &[
    "hookwright.yaml",
    "hookwright.yml",
    "hookwright.json",
    "loop.yaml",
    "loop.yml",
    "pipeline.yaml",
    "pipeline.yml",
    ".iteratr.hooks.yml",
    ".iteratr.hooks.yaml",
    ".autoagent/config.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".forge/hooks.json",
    ".src/forge/hooks.json",
    ".mcp.json",
];

/// Where the configuration comes from. Every command that reads hooks takes these.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigOptions {
    /// Read this file instead of searching; may be given more than once
    ///
    /// Only the files named are read, in this order. A file named loop.yaml or pipeline.yaml is
    /// read as a loop or a pipeline.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Vec<PathBuf>,

    /// Format of the --config files, if their names don't tell
    #[arg(long, value_name = "NAME", value_parser = dialect_names())]
    pub(crate) dialect: Option<String>,

    /// Act as if started in this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,

    /// Skip the hooks for all projects (~/.config/hookwright/hooks.yaml)
    #[arg(long)]
    pub(crate) no_global_hooks: bool,
}

/// The native format, which is the default.
const NATIVE: &str = "native";

/// The values of `--dialect`.
pub(crate) fn dialect_names() -> clap::builder::PossibleValuesParser {
    let foreign = hookwright_dialects::all().iter().map(|foreign| foreign.name());
    clap::builder::PossibleValuesParser::new([NATIVE].into_iter().chain(foreign))
}

impl ConfigOptions {
    /// The same options, without named files.
    pub(crate) fn searching(&self) -> Self {
        Self {
            config: Vec::new(),
            dialect: None,
            cwd: self.cwd.clone(),
            no_global_hooks: self.no_global_hooks,
        }
    }

    /// The format of a named file.
    fn dialect_of(&self, path: &Path) -> Option<&'static dyn Foreign> {
        match &self.dialect {
            Some(name) => hookwright_dialects::named(name),
            None => hookwright_dialects::of_file(path),
        }
    }
}

/// The files to read, and where they were searched.
#[derive(Debug, Clone)]
pub(crate) struct ConfigFiles {
    pub(crate) files: Vec<ConfigFile>,
    /// The folder of the project's file, else the working directory.
    pub(crate) project_root: PathBuf,
    /// The working directory of the command.
    pub(crate) working_dir: PathBuf,
    /// The user's folder for all projects, if it was searched.
    pub(crate) global_folder: Option<PathBuf>,
    /// Files that were named, not found.
    named: Vec<PathBuf>,
    /// The existing files of the user's secrets. The first that has a secret counts.
    secrets: Vec<PathBuf>,
    home: Option<PathBuf>,
}

/// The environment of this process.
pub(crate) fn process_environment() -> Environment {
    Environment::new(std::env::vars_os())
}

impl ConfigFiles {
    /// Finds the files for these options.
    pub(crate) fn find(options: &ConfigOptions) -> Result<Self, Failure> {
        let working_dir = working_dir(options.cwd.as_deref())?;
        let mut found = Self {
            files: Vec::new(),
            project_root: working_dir.clone(),
            working_dir,
            global_folder: None,
            named: Vec::new(),
            secrets: Vec::new(),
            home: UserFolders::current().home.clone(),
        };

        if options.config.is_empty() {
            if let Some(dialect) = &options.dialect {
                return Err(Failure::DialectOfNoFile { dialect: dialect.clone() });
            }
            found.search(options.no_global_hooks)?;
        } else {
            for path in &options.config {
                let whole = found.working_dir.join(path);
                found.named.push(whole.clone());
                found.add(whole.clone(), layer_of(path), options.dialect_of(&whole));
            }
        }
        if !options.no_global_hooks {
            found.add_hooks_of_all_pipelines()?;
        }
        let ours = found.user_folder()?.map(|folder| folder.join(SECRETS_NAME));
        let config_home = found.config_home()?;
        let of_pipelines = agent_pipelines::secrets_file(
            &found.whereabouts(&found.project_root, config_home.as_deref()),
        );
        let secrets = ours.into_iter().chain(of_pipelines);
        found.secrets = secrets.filter(|path| may_be_there(path)).collect();
        Ok(found)
    }

    /// Treats files as loops and pipelines if their content says so, whatever their names.
    pub(crate) fn look_inside(&mut self) {
        let native =
            |file: &&mut ConfigFile| file.layer == Layer::Project && file.dialect.is_none();
        for file in self.files.iter_mut().filter(native) {
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
        self.load_read(&self.read(), environment)
    }

    /// Reads all of them, each once.
    pub(crate) fn read(&self) -> Vec<ReadFile> {
        self.files.iter().map(ReadFile::read).collect()
    }

    /// Checks all of them, as read before.
    pub(crate) fn load_read(
        &self,
        files: &[ReadFile],
        environment: &Environment,
    ) -> (Loaded, Secrets) {
        let mut loaded = config::load_read(files, environment);
        let secrets = self.secrets().unwrap_or_else(|faults| {
            loaded.mark_secrets_broken(faults);
            Secrets::default()
        });
        (loaded, secrets)
    }

    /// The files that run in an agent only if they are trusted. Naming a file counts as trusting
    /// it.
    pub(crate) fn in_need_of_trust<'a>(
        &self,
        files: &'a [ReadFile],
    ) -> impl Iterator<Item = &'a ReadFile> {
        files.iter().filter(|read| !self.is_named(&read.file().path))
    }

    /// Whether the user named this file.
    pub(crate) fn is_named(&self, path: &Path) -> bool {
        self.named.iter().any(|named| named == path)
    }

    /// The same, with warnings.
    pub(crate) fn check(&self, environment: &Environment) -> (Loaded, Vec<Warning>) {
        let (mut loaded, mut warnings) =
            config::check(&self.files, &self.project_root, environment);
        match self.secrets() {
            // A hook that names a secret gets it.
            Ok(secrets) => warnings.retain(|warning| {
                let is_unknown = warning.kind == WarningKind::Variable(OfVariable::Unknown);
                !is_unknown || secrets.get(&warning.name).is_none()
            }),
            Err(faults) => loaded.mark_secrets_broken(faults),
        }
        (loaded, warnings)
    }

    /// The events for which settings of this project's agents call this program.
    pub(crate) fn connections(&self, environment: &Environment) -> Vec<Connection> {
        let whereabouts = self.whereabouts(&self.project_root, None);
        hosts::connections(&whereabouts, environment)
    }

    /// The user's secrets, or their faults.
    pub(crate) fn secrets(&self) -> Result<Secrets, Vec<Fault>> {
        let mut all: Vec<(String, String)> = Vec::new();
        for path in &self.secrets {
            let read = config::read_secrets(path, &self.display_path(path))?;
            let new =
                read.entries().filter(|(name, _)| !all.iter().any(|(known, _)| known == name));
            let new: Vec<_> =
                new.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            all.extend(new);
        }
        Ok(Secrets::new(all))
    }

    /// A path for messages: relative to the working directory, relative to home, or absolute.
    pub(crate) fn display_path(&self, path: &Path) -> PathBuf {
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

    /// Without the hooks that the pipeline's agent runs itself.
    pub(crate) fn without_hooks_of_agents(mut self) -> Self {
        let by_itself = |file: &ConfigFile| {
            let foreign =
                file.dialect.and_then(|dialect| hookwright_dialects::named(dialect.name()));
            foreign.is_some_and(|foreign| foreign.runs_by_itself())
        };
        self.files.retain(|file| !by_itself(file));
        self
    }

    fn search(&mut self, no_global_hooks: bool) -> Result<(), Failure> {
        let config_home = self.config_home()?;
        // A native project extends down to the next one; without any, another system's file marks
        // the project.
        let working_dir = self.working_dir.clone();
        let mut native = None;
        for folder in working_dir.ancestors() {
            native = self.only_one_of(folder, &PROJECT_NAMES)?;
            if native.is_some() {
                self.project_root = folder.to_owned();
                break;
            }
        }
        let foreign_in = |folder: &Path| self.foreign_files(folder, config_home.as_deref());
        let mut foreign = foreign_in(&self.project_root)?;
        if native.is_none() {
            for folder in working_dir.ancestors() {
                let found = foreign_in(folder)?;
                if found.iter().any(|(location, _)| location.layer == Layer::Project) {
                    foreign = found;
                    self.project_root = folder.to_owned();
                    break;
                }
            }
        }
        if let Some(path) = native {
            self.add(path, Layer::Project, None);
        }
        if !no_global_hooks && let Some(folder) = self.user_folder()? {
            if let Some(path) = self.only_one_of(&folder, &GLOBAL_NAMES)? {
                self.add(path, Layer::Global, None);
            }
            self.global_folder = Some(folder);
        }
        for (location, foreign) in foreign {
            if !(no_global_hooks && location.layer == Layer::Global) {
                self.add(location.path, location.layer, Some(foreign));
            }
        }
        Ok(())
    }

    /// Adds the user's hooks for all loops and pipelines of agent-pipelines. They apply to found
    /// files, and to every named loop or pipeline.
    fn add_hooks_of_all_pipelines(&mut self) -> Result<(), Failure> {
        let is_run = |file: &ConfigFile| matches!(file.layer, Layer::Loop | Layer::Pipeline);
        if !self.named.is_empty() && !self.files.iter().any(is_run) {
            return Ok(());
        }
        let config_home = self.config_home()?;
        let whereabouts = self.whereabouts(&self.project_root, config_home.as_deref());
        if let Some(path) = agent_pipelines::global_file(&whereabouts).filter(|p| may_be_there(p)) {
            let path = self.only_a_file(path)?;
            self.add(path, Layer::Global, None);
        }
        Ok(())
    }

    fn whereabouts<'a>(
        &'a self,
        project: &'a Path,
        config_home: Option<&'a Path>,
    ) -> Whereabouts<'a> {
        Whereabouts { project, home: self.home.as_deref(), config_home }
    }

    /// The existing files of other systems for a project in this folder.
    fn foreign_files(
        &self,
        project: &Path,
        config_home: Option<&Path>,
    ) -> Result<Vec<(Location, &'static dyn Foreign)>, Failure> {
        let whereabouts = self.whereabouts(project, config_home);
        let mut found = Vec::new();
        for foreign in hookwright_dialects::all() {
            let locations = foreign.locations(&whereabouts);
            let of_user = |path: &Path| {
                locations.iter().any(|other| other.layer == Layer::Global && other.path == path)
            };
            for location in &locations {
                // In the home directory the user's file is not a project's file.
                let is_twice = location.layer == Layer::Project && of_user(&location.path);
                if !is_twice && may_be_there(&location.path) {
                    let path = self.only_a_file(location.path.clone())?;
                    found.push((Location { path, layer: location.layer }, *foreign));
                }
            }
        }
        Ok(found)
    }

    /// The user's folder for all projects.
    pub(crate) fn user_folder(&self) -> Result<Option<PathBuf>, Failure> {
        Ok(self.config_home()?.map(|folder| folder.join("hookwright")))
    }

    /// The user's configuration folder.
    fn config_home(&self) -> Result<Option<PathBuf>, Failure> {
        let folders = UserFolders::current();
        match &self.home {
            Some(home) if !home.is_absolute() && !folders.names_config() => {
                Err(Failure::HomeNotAbsolute { home: home.clone() })
            }
            Some(_) | None => Ok(folders.config()),
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
            _ => Err(Failure::MoreThanOneFile { folder: self.display_path(folder), names: there }),
        }
    }

    /// Rejects a pipe or a device in place of a searched file, which would block; one that was
    /// named with `--config` is read.
    fn only_a_file(&self, path: PathBuf) -> Result<PathBuf, Failure> {
        match fs::metadata(&path) {
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                Err(Failure::NotAFile { path: self.display_path(&path) })
            }
            _ => Ok(path),
        }
    }

    fn add(&mut self, path: PathBuf, layer: Layer, foreign: Option<&'static dyn Foreign>) {
        let file = ConfigFile { layer, ..self.native_file(path) };
        self.files.push(file.in_dialect(foreign.map(|foreign| foreign as &dyn Dialect)));
    }

    /// A native file of the project; a loop or a pipeline if its name says so.
    pub(crate) fn native_file(&self, path: PathBuf) -> ConfigFile {
        let (shown_as, layer) = (self.display_path(&path), layer_of(&path));
        ConfigFile::native(path, shown_as, layer).with_systems(hookwright_dialects::known())
    }

    /// Adds files that are not in the list yet.
    pub(crate) fn add_files(&mut self, files: impl IntoIterator<Item = ConfigFile>) {
        for file in files {
            if !self.files.iter().any(|known| known.path == file.path) {
                self.files.push(file);
            }
        }
    }
}

/// Whether a file may exist. An inaccessible file or a dangling link counts: reading it fails,
/// which is a fault, since it may contain guards.
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

/// The folder that `--cwd` names, else the working directory.
pub(crate) fn working_dir(asked_for: Option<&Path>) -> Result<PathBuf, Failure> {
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
