//! [`Sources`]: every file that configures a session, as text.
//!
//! They are read once, when a session starts, and stored with it: even if the files change, the
//! session continues as it started. `plan.rs` works only from these texts.
//!
//! A loop or pipeline is named by a path, or by a name that is searched beside the file that names
//! it, in `loops/` and `pipelines/` there, in the project's `.hookwright/`, and in the user's
//! folder.

mod child_sources;
mod guards;
mod project_runs;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use child_sources::ChildSources;
pub use project_runs::ProjectRuns;

use hookwright_config::{
    AgentSpec, ConfigFile, Dialect, Fault, FaultKind, FilePlace, LoopFile, PromptSpec, Scope,
    SourceFile, StageBody, is_pipeline, load_texts, read_text,
};
use hookwright_engine::hook::Layer;
use hookwright_engine::nearest;
use hookwright_engine::variables::Environment;
use serde::{Deserialize, Serialize};

/// The role of a file in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceRole {
    /// A loop.
    Loop,
    /// The pipeline.
    Pipeline,
    /// The project's hooks.
    Project,
    /// The user's hooks for all projects.
    Global,
    /// The hooks for all projects of the user whose worker runs the session.
    Worker,
    /// A prompt of an agent.
    Prompt,
    /// A file that an agent's settings name, such as a scripted agent's turns.
    Script,
}

impl SourceRole {
    fn layer(self) -> Option<Layer> {
        match self {
            SourceRole::Loop => Some(Layer::Loop),
            SourceRole::Pipeline => Some(Layer::Pipeline),
            SourceRole::Project => Some(Layer::Project),
            SourceRole::Global | SourceRole::Worker => Some(Layer::Global),
            SourceRole::Prompt | SourceRole::Script => None,
        }
    }
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its role in the session.
    pub role: SourceRole,
    /// The path it was read from.
    pub path: PathBuf,
    /// Its name in messages.
    pub shown_as: PathBuf,
    /// The dialect of its format, if it is not the native one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// The whole text.
    pub text: String,
}

impl Source {
    fn new(role: SourceRole, file: ConfigFile, text: String) -> Self {
        let dialect = file.dialect.map(|dialect| dialect.name().to_owned());
        Self { role, path: file.path, shown_as: file.shown_as, dialect, text }
    }

    /// A file of hooks, if it can be read; the reader of its hooks reports why not.
    pub fn of_hook_file(file: &ConfigFile) -> Option<Self> {
        let role = match file.layer {
            Layer::Global => SourceRole::Global,
            Layer::Project => SourceRole::Project,
            Layer::Loop | Layer::Pipeline | Layer::Program => return None,
        };
        Some(Self::new(role, file.clone(), read_text(file).ok()?))
    }

    /// The file for the configuration's reader.
    pub fn config_file(&self) -> Option<ConfigFile> {
        let layer = self.role.layer()?;
        let dialect = self.dialect.as_deref().and_then(hookwright_dialects::named);
        let file = ConfigFile::native(self.path.clone(), self.shown_as.clone(), layer);
        let file = file.with_systems(hookwright_dialects::known());
        Some(file.in_dialect(dialect.map(|foreign| foreign as &dyn Dialect)))
    }
}

/// All files of a session, the requested loop or pipeline first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sources {
    /// All files.
    pub all: Vec<Source>,
    /// Each name by which a stage calls its loop, and the file of that loop.
    pub loops: Vec<(String, PathBuf)>,
    /// The loops and pipelines that hooks start, and those that their hooks start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildSources>,
    /// The request, so that it can be searched again.
    pub asked: RunRequest,
}

impl Sources {
    /// The loops and pipelines among them, including those that hooks start.
    pub fn runs(&self) -> impl Iterator<Item = &Source> {
        let of_children = self.children.iter().flat_map(|child| &child.all);
        let all = self.all.iter().chain(of_children);
        all.filter(|source| matches!(source.role, SourceRole::Loop | SourceRole::Pipeline))
    }

    /// This file alone.
    fn of_file(main: Source) -> Self {
        let (loops, children) = (Vec::new(), Vec::new());
        Self { all: vec![main], loops, children, asked: RunRequest::default() }
    }
}

/// What a session was asked to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRequest {
    /// A path or a name.
    pub file: String,
    /// The folder that the request comes from.
    pub from: PathBuf,
    /// The command of the agent for loops that name none.
    pub agent: Option<String>,
}

/// The result of searching a session's files.
#[derive(Debug)]
pub struct Gathered {
    /// The files; `None` only if the loop or pipeline itself is missing.
    pub sources: Option<Sources>,
    /// Faults of the others.
    pub faults: Vec<Fault>,
    /// Foreign files that cannot be read, which do not stop the session.
    pub left_out: Vec<Fault>,
}

impl Gathered {
    fn nothing(fault: Fault) -> Self {
        Self { sources: None, faults: vec![fault], left_out: Vec::new() }
    }
}

/// Where files are searched.
pub struct Finder<'a> {
    /// The project root.
    pub root: &'a Path,
    /// The user's folder for all projects.
    pub user_folder: Option<&'a Path>,
    /// The project's and the user's hook files.
    pub hook_files: &'a [ConfigFile],
    /// The name of a path in messages.
    pub shown: &'a dyn Fn(&Path) -> PathBuf,
    /// The host's environment.
    pub environment: &'a Environment,
}

const ENDINGS: [&str; 3] = ["yaml", "yml", "json"];

impl Finder<'_> {
    /// Every file that a session of this loop or pipeline needs, as far as they exist.
    pub fn gather(&self, asked: RunRequest) -> Gathered {
        let path = match self.locate(&asked.file, &asked.from) {
            Ok(path) => path,
            Err(missing) => {
                let what = "loop or pipeline";
                return Gathered::nothing(self.not_found(what, &asked.file, missing, None));
            }
        };
        let main = match self.read(&path) {
            Ok(main) => main,
            Err(fault) => return Gathered::nothing(fault),
        };
        let mut sources = Sources { asked, ..Sources::of_file(main) };
        let (mut faults, mut left_out) = (Vec::new(), Vec::new());
        self.add_what_is_named(&mut sources, &mut faults);
        for file in self.hook_files {
            let role =
                if file.layer == Layer::Global { SourceRole::Global } else { SourceRole::Project };
            match read_text(file) {
                Ok(text) => {
                    let source = Source::new(role, file.clone(), text);
                    self.add_agents_of_hook_file(&source, &mut sources, &mut faults);
                    sources.all.push(source);
                }
                Err(fault) if file.dialect.is_some() => left_out.push(fault),
                Err(fault) => faults.push(fault),
            }
        }
        self.add_children(&mut sources, &mut faults);
        Gathered { sources: Some(sources), faults, left_out }
    }

    /// Adds the loops that the pipeline names, and the prompts and scripts of all loops.
    fn add_what_is_named(&self, sources: &mut Sources, faults: &mut Vec<Fault>) {
        let main = sources.all[0].clone();
        let Some(file) = main.config_file() else { return };
        let loaded = load_texts([(&file, main.text.as_str())], self.environment, Scope::All);
        if !loaded.faults.is_empty() {
            return faults.extend(loaded.faults.iter().map(|fault| Fault::clone(fault)));
        }
        for (_, read) in &loaded.loops {
            self.add_files_of_loop(read, &main, sources, faults);
        }
        for stage in loaded.pipelines.iter().flat_map(|(_, pipeline)| &pipeline.stages) {
            match &stage.body {
                StageBody::Inline(read) => self.add_files_of_loop(read, &main, sources, faults),
                StageBody::Named { name, place } => {
                    self.add_named_loop(name, place, &main, sources, faults);
                }
            }
        }
    }

    fn add_named_loop(
        &self,
        name: &str,
        place: &FilePlace,
        main: &Source,
        sources: &mut Sources,
        faults: &mut Vec<Fault>,
    ) {
        if sources.loops.iter().any(|(known, _)| known == name) {
            return;
        }
        let at = Some((main, place));
        let path = match self.locate(name, folder_of(&main.path)) {
            Ok(path) => path,
            Err(missing) => {
                return faults.push(self.not_found("loop", name, missing, at));
            }
        };
        sources.loops.push((name.to_owned(), path.clone()));
        if sources.all.iter().any(|known| known.path == path) {
            return;
        }
        let source = match self.read(&path) {
            Ok(source) => source,
            Err(fault) => return faults.push(fault),
        };
        if source.role != SourceRole::Loop {
            let kind = FaultKind::NotALoop { name: name.to_owned() };
            return faults.push(fault_at(main, place, kind));
        }
        let Some(file) = source.config_file() else { return };
        let loaded = load_texts([(&file, source.text.as_str())], self.environment, Scope::All);
        faults.extend(loaded.faults.iter().map(|fault| Fault::clone(fault)));
        sources.all.push(source.clone());
        for (_, read) in &loaded.loops {
            self.add_files_of_loop(read, &source, sources, faults);
        }
    }

    /// Adds a loop's prompt and script, relative to its folder.
    fn add_files_of_loop(
        &self,
        read: &LoopFile,
        source: &Source,
        sources: &mut Sources,
        faults: &mut Vec<Fault>,
    ) {
        let folder = folder_of(&source.path);
        match &read.prompt {
            Some(PromptSpec::Text(_)) => {}
            Some(PromptSpec::File(path, place)) => {
                self.add_file(
                    SourceRole::Prompt,
                    &folder.join(path),
                    (source, place),
                    sources,
                    faults,
                );
            }
            None => {
                let path = default_prompt(&source.path);
                if path.is_file() {
                    let place = FilePlace { line: 1, column: 1, range: 0..0 };
                    self.add_file(SourceRole::Prompt, &path, (source, &place), sources, faults);
                }
            }
        }
        self.add_files_of_agents(read.agents.iter().flatten(), source, sources, faults);
    }

    /// Adds the files that settings of agents name, relative to the file that defines the agents.
    fn add_files_of_agents<'a>(
        &self,
        agents: impl Iterator<Item = &'a AgentSpec>,
        source: &Source,
        sources: &mut Sources,
        faults: &mut Vec<Fault>,
    ) {
        for AgentSpec { definition, place, .. } in agents {
            for path in definition.files() {
                let path = folder_of(&source.path).join(path);
                self.add_file(SourceRole::Script, &path, (source, place), sources, faults);
            }
        }
    }

    fn add_agents_of_hook_file(
        &self,
        source: &Source,
        sources: &mut Sources,
        faults: &mut Vec<Fault>,
    ) {
        let Some(file) = source.config_file().filter(|file| file.dialect.is_none()) else { return };
        let loaded = load_texts([(&file, source.text.as_str())], self.environment, Scope::All);
        let agents = loaded.agents.iter().flat_map(|(_, agents)| agents);
        self.add_files_of_agents(agents, source, sources, faults);
    }

    fn add_file(
        &self,
        role: SourceRole,
        path: &Path,
        named_at: (&Source, &FilePlace),
        sources: &mut Sources,
        faults: &mut Vec<Fault>,
    ) {
        if sources.all.iter().any(|known| known.path == path) {
            return;
        }
        let shown_as = (self.shown)(path);
        let file = ConfigFile::native(path.to_owned(), shown_as, Layer::Project);
        match read_text(&file) {
            Ok(text) => {
                sources.all.push(Source::new(role, file, text));
            }
            Err(fault) if path.exists() => faults.push(fault),
            Err(_) => {
                let what = if role == SourceRole::Prompt { "prompt file" } else { "script" };
                let name = file.shown_as.display().to_string();
                faults.push(self.not_found(what, &name, Missing::default(), Some(named_at)));
            }
        }
    }

    fn read(&self, path: &Path) -> Result<Source, Fault> {
        let shown_as = (self.shown)(path);
        let file = ConfigFile::native(path.to_owned(), shown_as, Layer::Loop);
        let text = read_text(&file)?;
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let role = match stem {
            Some("loop") => SourceRole::Loop,
            Some("pipeline") => SourceRole::Pipeline,
            _ if is_pipeline(&text) => SourceRole::Pipeline,
            _ => SourceRole::Loop,
        };
        Ok(Source::new(role, file, text))
    }

    /// The file of a path or a name; else where it was searched.
    fn locate(&self, name: &str, from: &Path) -> Result<PathBuf, Missing> {
        let mut missing = Missing::default();
        let is_path = name.contains('/')
            || name.starts_with('.')
            || Path::new(name).extension().is_some_and(|e| ENDINGS.iter().any(|known| e == *known));
        let mut bases = vec![from.to_owned()];
        if !is_path {
            bases.extend(["loops", "pipelines"].map(|folder| from.join(folder)));
            bases.push(self.root.join(".hookwright"));
            bases.extend(self.user_folder.map(Path::to_owned));
        }
        for base in bases {
            let path = base.join(name);
            // A program called `build` is not a loop of that name.
            if is_path && path.is_file() {
                return Ok(path);
            }
            let inside = ["loop", "pipeline"].into_iter().flat_map(|stem| {
                let path = &path;
                ENDINGS.iter().map(move |ending| path.join(format!("{stem}.{ending}")))
            });
            let beside = ENDINGS.iter().map(|ending| base.join(format!("{name}.{ending}")));
            if let Some(found) = beside.chain(inside).find(|path| path.is_file()) {
                return Ok(found);
            }
            let shown = if is_path { (self.shown)(&path) } else { (self.shown)(&base) };
            if !missing.looked_in.contains(&shown) {
                missing.looked_in.push(shown);
            }
            if !is_path {
                missing.names.extend(names_in(&base));
            }
        }
        Err(missing)
    }

    fn not_found(
        &self,
        what: &'static str,
        name: &str,
        missing: Missing,
        named_at: Option<(&Source, &FilePlace)>,
    ) -> Fault {
        let Missing { looked_in, names } = missing;
        let nearest = nearest(name, names.iter().map(String::as_str)).map(Box::from);
        let looked_in = looked_in.into();
        let kind = FaultKind::NotFound { what, name: name.to_owned(), looked_in, nearest };
        match named_at {
            Some((source, place)) => fault_at(source, place, kind),
            None => {
                let path = PathBuf::from(name);
                let source = Arc::new(SourceFile { path, text: "".into() });
                Fault { source, place: None, kind }
            }
        }
    }
}

/// Where a loop or pipeline was searched in vain, and which ones exist.
#[derive(Debug, Default)]
struct Missing {
    looked_in: Vec<PathBuf>,
    names: Vec<String>,
}

/// The loops and pipelines of a folder, by the names that lead to them from there.
fn names_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let is_config = |path: &Path| {
        path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known))
    };
    let holds_one = |path: &Path| {
        let mut stems = ["loop", "pipeline"].into_iter();
        stems.any(|stem| ENDINGS.iter().any(|end| path.join(format!("{stem}.{end}")).is_file()))
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let known = paths.filter(|path| is_config(path) || holds_one(path));
    let mut names: Vec<String> =
        known.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    // The system lists them in any order.
    names.sort_unstable();
    names
}

/// `prompt.md` beside a `loop.yaml`; beside any other loop `x.yaml` it is `x.md`.
pub(crate) fn default_prompt(loop_file: &Path) -> PathBuf {
    let stem = loop_file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = if matches!(stem, "loop" | "pipeline") { "prompt" } else { stem };
    folder_of(loop_file).join(format!("{name}.md"))
}

/// A fault at a place in one of the texts.
pub(crate) fn fault_at(source: &Source, place: &FilePlace, kind: FaultKind) -> Fault {
    let file = SourceFile { path: source.shown_as.clone(), text: source.text.as_str().into() };
    Fault { source: Arc::new(file), place: Some(place.clone()), kind }
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_beside_their_loops() {
        for (file, prompt) in [
            ("/p/loop.yaml", "/p/prompt.md"),
            ("/p/pipeline.yaml", "/p/prompt.md"),
            ("/p/loops/work.yml", "/p/loops/work.md"),
        ] {
            assert_eq!(default_prompt(Path::new(file)), Path::new(prompt));
        }
    }

    #[test]
    fn stored_sources_are_read_back_unchanged() {
        let sources = Sources {
            all: vec![Source {
                role: SourceRole::Script,
                path: "/p/turns.yaml".into(),
                shown_as: "turns.yaml".into(),
                dialect: None,
                text: "turns: []".to_owned(),
            }],
            loops: vec![("work".to_owned(), "/p/work.yaml".into())],
            children: Vec::new(),
            asked: RunRequest { file: "work".into(), from: "/p".into(), agent: Some("x".into()) },
        };
        let kept = serde_json::to_value(&sources).expect("plain data");
        assert_eq!(serde_json::from_value::<Sources>(kept).expect("as written"), sources);
    }
}
