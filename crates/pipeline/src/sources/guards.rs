//! The hooks of a worker's own user, which stay in force in sessions that others submit.

use std::path::PathBuf;

use hookwright_config::{ConfigFile, Fault, FaultKind, read_text};
use hookwright_engine::hook::Layer;
use hookwright_engine::variables::Environment;

use super::child_sources::started_in;
use super::{Source, SourceRole, Sources, fault_at};

impl Sources {
    /// The same with the hooks of this user, in place of those of another worker's user. The faults
    /// are those of files whose hooks cannot be asked: without them the session must not run.
    #[must_use]
    pub fn with_hooks_of_worker(
        mut self,
        files: &[ConfigFile],
        environment: &Environment,
    ) -> (Self, Vec<Fault>) {
        self.all.retain(|source| source.role != SourceRole::Worker);
        let mut faults = Vec::new();
        for file in files.iter().filter(|file| file.layer == Layer::Global) {
            let text = match read_text(file) {
                Ok(text) => text,
                Err(fault) => {
                    faults.push(fault);
                    continue;
                }
            };
            let mut source = Source::new(SourceRole::Worker, file.clone(), text);
            if self.has_hooks_of(&source) {
                continue;
            }
            let started = started_in(&source, environment).into_iter();
            faults.extend(
                started.map(|(name, place)| {
                    fault_at(&source, &place, FaultKind::SpawnOfWorker { name })
                }),
            );
            source.path = self.unused_path(source.path);
            self.all.push(source);
        }
        (self, faults)
    }

    /// Whether the submitter's own file has the same hooks, which would run twice. They have to be
    /// read in the same way, which depends on the format and on the file's name.
    fn has_hooks_of(&self, own: &Source) -> bool {
        self.all.iter().any(|known| {
            known.role == SourceRole::Global
                && known.text == own.text
                && known.dialect == own.dialect
                && known.path.file_name() == own.path.file_name()
        })
    }

    /// This path, or one like it that no source has: sources are told apart by their paths, and
    /// files of the submitter may have the same ones.
    fn unused_path(&self, mut path: PathBuf) -> PathBuf {
        let of_children = self.children.iter().flat_map(|child| &child.all);
        let known: Vec<&PathBuf> =
            self.all.iter().chain(of_children).map(|source| &source.path).collect();
        while known.contains(&&path) {
            let mut name = path.into_os_string();
            name.push("@worker");
            path = PathBuf::from(name);
        }
        path
    }

    /// The same with the hooks of the user of these sources' worker.
    #[must_use]
    pub(crate) fn with_hooks_of_worker_in(mut self, other: &Self) -> Self {
        self.all.retain(|source| source.role != SourceRole::Worker);
        let of_worker = other.all.iter().filter(|source| source.role == SourceRole::Worker);
        self.all.extend(of_worker.cloned());
        self
    }

    /// The same for a project at another path.
    #[must_use]
    pub fn moved(mut self, from: &std::path::Path, to: &std::path::Path) -> Self {
        let moved = |path: &mut PathBuf| {
            if let Ok(below) = path.strip_prefix(from) {
                *path = if below.as_os_str().is_empty() { to.to_owned() } else { to.join(below) };
            }
        };
        let of_children = self.children.iter_mut();
        let of_children = of_children.flat_map(|child| {
            moved(&mut child.from);
            child.loops.iter_mut().for_each(|(_, path)| moved(path));
            child.all.iter_mut()
        });
        self.all.iter_mut().chain(of_children).for_each(|source| moved(&mut source.path));
        self.loops.iter_mut().for_each(|(_, path)| moved(path));
        moved(&mut self.asked.from);
        self
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::sources::{ChildSources, RunRequest};

    fn source(role: SourceRole, path: &str, text: &str) -> Source {
        let (path, text) = (PathBuf::from(path), text.to_owned());
        Source { role, shown_as: path.clone(), path, dialect: None, text }
    }

    #[test]
    fn a_project_is_moved_with_its_files_and_nothing_else_is() {
        let child = ChildSources {
            name: "fix".to_owned(),
            from: "/home/me/shop".into(),
            all: vec![source(SourceRole::Loop, "/home/me/shop/loops/fix.yaml", "")],
            loops: vec![("fix".to_owned(), "/home/me/shop/loops/fix.yaml".into())],
        };
        let sources = Sources {
            all: vec![
                source(SourceRole::Loop, "/home/me/shop/loop.yaml", ""),
                source(SourceRole::Global, "/home/me/shopping/hooks.yaml", ""),
            ],
            loops: Vec::new(),
            children: vec![child],
            asked: RunRequest { from: "/home/me/shop".into(), ..RunRequest::default() },
        };
        let moved = sources.moved(Path::new("/home/me/shop"), Path::new("/srv/calm-fox"));
        let paths: Vec<_> = moved.all.iter().map(|source| source.path.as_path()).collect();
        assert_eq!(
            paths,
            [Path::new("/srv/calm-fox/loop.yaml"), Path::new("/home/me/shopping/hooks.yaml")]
        );
        assert_eq!(moved.asked.from, Path::new("/srv/calm-fox"));
        assert_eq!(moved.children[0].from, Path::new("/srv/calm-fox"));
        assert_eq!(moved.children[0].all[0].path, Path::new("/srv/calm-fox/loops/fix.yaml"));
        assert_eq!(moved.children[0].loops[0].1, Path::new("/srv/calm-fox/loops/fix.yaml"));
    }

    #[test]
    fn the_hooks_of_one_worker_are_replaced_by_those_of_the_next() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hookwright.yaml");
        let file = ConfigFile::native(path.clone(), "hookwright.yaml", Layer::Global);
        let texts = |sources: &Sources| -> Vec<(SourceRole, String)> {
            sources.all.iter().map(|source| (source.role, source.text.clone())).collect()
        };
        let submitted = Sources {
            all: vec![source(SourceRole::Global, &path.to_string_lossy(), "a: 1")],
            loops: Vec::new(),
            children: Vec::new(),
            asked: RunRequest::default(),
        };
        let with = |sources: &Sources| {
            let (files, environment) = (std::slice::from_ref(&file), Environment::default());
            let (sources, faults) = sources.clone().with_hooks_of_worker(files, &environment);
            assert_eq!(faults, []);
            sources
        };
        std::fs::write(&path, "a: 1").expect("written");
        assert_eq!(with(&submitted), submitted, "the same file twice");
        std::fs::write(&path, "b: 2").expect("written");
        let first = with(&submitted);
        let both = [(SourceRole::Global, "a: 1".to_owned()), (SourceRole::Worker, "b: 2".into())];
        assert_eq!(texts(&first), both);
        assert_ne!(first.all[0].path, first.all[1].path);
        std::fs::write(&path, "c: 3").expect("written");
        let second = with(&first);
        let both = [(SourceRole::Global, "a: 1".to_owned()), (SourceRole::Worker, "c: 3".into())];
        assert_eq!(texts(&second), both);
        let child = submitted.with_hooks_of_worker_in(&second);
        assert_eq!(texts(&child), both);
    }

    #[test]
    fn a_submitted_file_that_is_read_otherwise_does_not_stand_for_the_hooks_of_a_worker() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hooks.yaml");
        std::fs::write(&path, "a: 1").expect("written");
        let file = ConfigFile::native(path, "hooks.yaml", Layer::Global);
        let foreign = Source {
            dialect: Some("claude".to_owned()),
            ..source(SourceRole::Global, "/home/eve/hooks.yaml", "a: 1")
        };
        let other_name = source(SourceRole::Global, "/home/eve/.mcp.json", "a: 1");
        let other_role = source(SourceRole::Project, "/home/eve/shop/hooks.yaml", "a: 1");
        for submitted in [foreign, other_name, other_role] {
            let submitted = Sources::of_file(submitted);
            let files = std::slice::from_ref(&file);
            let (sources, faults) = submitted.with_hooks_of_worker(files, &Environment::default());
            let roles: Vec<_> = sources.all.iter().map(|source| source.role).collect();
            assert_eq!((roles[1..].to_vec(), faults), (vec![SourceRole::Worker], vec![]));
        }
    }

    #[test]
    fn no_file_of_a_submitted_session_has_the_path_of_a_workers_hooks() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hooks.yaml");
        std::fs::write(&path, "a: 1").expect("written");
        let shown = path.to_string_lossy();
        let child = ChildSources {
            name: "fix".to_owned(),
            from: "/home/eve/shop".into(),
            all: vec![
                source(SourceRole::Loop, "/home/eve/shop/fix.yaml", ""),
                source(SourceRole::Prompt, &shown, "a prompt"),
                source(SourceRole::Script, &format!("{shown}@worker"), "turns: []"),
            ],
            loops: Vec::new(),
        };
        let main = source(SourceRole::Loop, "/home/eve/shop/loop.yaml", "");
        let submitted = Sources { children: vec![child], ..Sources::of_file(main) };
        let file = ConfigFile::native(path.clone(), "hooks.yaml", Layer::Global);
        let (sources, _) = submitted.with_hooks_of_worker(&[file], &Environment::default());
        assert_eq!(sources.all[1].path, PathBuf::from(format!("{shown}@worker@worker")));
        let child = sources.of_child("fix", Path::new("/home/eve/shop")).expect("known");
        assert!(child.all.iter().any(|source| source.role == SourceRole::Worker));
    }
}
