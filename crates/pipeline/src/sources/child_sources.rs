//! [`ChildSources`]: the files of a loop or pipeline that a hook starts.
//!
//! They are found and stored with those of the session, so that an unknown name is reported before
//! anything starts, and a hook starts hours later what existed when the session started.

use std::path::{Path, PathBuf};

use hookwright_config::{Fault, FaultKind, FilePlace, Scope, load_texts};
use hookwright_engine::hook::Action;
use hookwright_engine::variables::Environment;
use serde::{Deserialize, Serialize};

use super::{Finder, RunRequest, Source, SourceRole, Sources, fault_at, folder_of};

/// The files of a loop or pipeline that a hook starts. The project's and the user's hooks are those
/// of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSources {
    /// The name that the hook uses.
    pub name: String,
    /// The folder of the hook's file.
    pub from: PathBuf,
    /// Its files, the loop or pipeline itself first.
    pub all: Vec<Source>,
    /// Each name by which a stage calls its loop, and the file of that loop.
    pub loops: Vec<(String, PathBuf)>,
}

impl Sources {
    /// The sources of a session that a hook starts by this name from a file of this folder.
    pub fn of_child(&self, name: &str, from: &Path) -> Option<Self> {
        let found = self.children.iter().find(|child| child.name == name && child.from == from)?;
        let shared = self.all.iter().filter(|source| match source.role {
            // Always: a loop that names such a file as its prompt must not remove its guards.
            SourceRole::Project | SourceRole::Global | SourceRole::Worker => true,
            // They may be those of an agent that a hook file names for all loops.
            SourceRole::Script => !found.all.iter().any(|own| own.path == source.path),
            SourceRole::Loop | SourceRole::Pipeline | SourceRole::Prompt => false,
        });
        let (file, from) = (name.to_owned(), from.to_owned());
        Some(Self {
            all: found.all.iter().chain(shared).cloned().collect(),
            loops: found.loops.clone(),
            children: self.children.clone(),
            asked: RunRequest { file, from, agent: self.asked.agent.clone() },
        })
    }
}

/// A hook of one session starts another session.
struct Start {
    /// The file of the hook's session.
    from: PathBuf,
    /// The file of the session that it starts.
    to: PathBuf,
    name: String,
    named_in: Source,
    place: FilePlace,
}

impl Finder<'_> {
    /// These files with everything that their hooks start, and the faults of that.
    pub fn with_children(&self, hook_files: Vec<Source>) -> (Sources, Vec<Fault>) {
        let (loops, children, asked) = (Vec::new(), Vec::new(), RunRequest::default());
        let mut sources = Sources { all: hook_files, loops, children, asked };
        let mut faults = Vec::new();
        self.add_children(&mut sources, &mut faults);
        (sources, faults)
    }

    /// Adds everything that hooks start.
    pub(super) fn add_children(&self, sources: &mut Sources, faults: &mut Vec<Fault>) {
        let mut starts: Vec<Start> = Vec::new();
        // Each session's file, and a file whose hooks are its own. A project's hooks match in every
        // session, so whether they close a circle is only known at run time.
        let mut open: Vec<(PathBuf, Source)> = Vec::new();
        for source in &sources.all {
            let is_own = matches!(source.role, SourceRole::Loop | SourceRole::Pipeline);
            let owner = if is_own { &sources.all[0].path } else { &source.path };
            open.push((owner.clone(), source.clone()));
        }
        while let Some((owner, file)) = open.pop() {
            for (name, place) in started_in(&file, self.environment) {
                let found = self.found_child(&name, (&file, &place), sources, faults);
                let Some((to, new)) = found else { continue };
                open.extend(new.into_iter().map(|source| (to.clone(), source)));
                starts.push(Start { from: owner.clone(), to, name, named_in: file.clone(), place });
            }
        }
        circles(&starts).into_iter().for_each(|fault| note(faults, fault));
    }

    /// The file for a name that a hook starts, and its files if they are new.
    fn found_child(
        &self,
        name: &str,
        named_at: (&Source, &FilePlace),
        sources: &mut Sources,
        faults: &mut Vec<Fault>,
    ) -> Option<(PathBuf, Vec<Source>)> {
        let from = folder_of(&named_at.0.path);
        let what = "loop or pipeline";
        let path = self.locate(name, from).map_err(|missing| {
            note(faults, self.not_found(what, name, missing, Some(named_at)));
        });
        let path = path.ok()?;
        if sources.children.iter().any(|child| child.name == name && child.from == from) {
            return Some((path, Vec::new()));
        }
        let main = self.read(&path).map_err(|fault| note(faults, fault)).ok()?;
        let (mut found, mut wrong) = (Sources::of_file(main), Vec::new());
        self.add_what_is_named(&mut found, &mut wrong);
        wrong.into_iter().for_each(|fault| note(faults, fault));
        let Sources { all, loops, .. } = found;
        let (name, from) = (name.to_owned(), from.to_owned());
        sources.children.push(ChildSources { name, from, all: all.clone(), loops });
        Some((path, all))
    }
}

/// The names that hooks of a file start, and their places.
pub(super) fn started_in(source: &Source, environment: &Environment) -> Vec<(String, FilePlace)> {
    let Some(file) = source.config_file() else { return Vec::new() };
    let loaded = load_texts([(&file, source.text.as_str())], environment, Scope::All);
    let hooks = loaded.hooks.hooks().iter().filter(|hook| hook.enabled);
    let started = hooks.filter_map(|hook| match &hook.action {
        Action::Spawn(spawn) => Some((spawn.pipeline.clone(), spawn.place.clone())),
        _ => None,
    });
    started.collect()
}

fn note(faults: &mut Vec<Fault>, fault: Fault) {
    if !faults.contains(&fault) {
        faults.push(fault);
    }
}

/// The places where a session would start itself, directly or through others.
fn circles(starts: &[Start]) -> Vec<Fault> {
    let (mut faults, mut done) = (Vec::new(), Vec::new());
    for start in starts {
        follow(&start.from, starts, &mut Vec::new(), &mut done, &mut faults);
    }
    faults
}

/// Follows the starts from this file; `way` is the path to it, `done` the files already followed.
fn follow<'a>(
    at: &'a Path,
    starts: &'a [Start],
    way: &mut Vec<&'a Start>,
    done: &mut Vec<&'a Path>,
    faults: &mut Vec<Fault>,
) {
    if done.contains(&at) {
        return;
    }
    for start in starts.iter().filter(|start| start.from == at) {
        way.push(start);
        match way.iter().position(|earlier| earlier.from == start.to) {
            Some(begins) => {
                let first = crate::plan::name_of(&start.to);
                let names = way[begins..].iter().map(|start| start.name.clone());
                let chain = std::iter::once(first).chain(names).collect::<Vec<_>>().join(" → ");
                let kind = FaultKind::StartsItself { name: start.name.clone(), chain };
                faults.push(fault_at(&start.named_in, &start.place, kind));
            }
            None => follow(&start.to, starts, way, done, faults),
        }
        way.pop();
    }
    done.push(at);
}
