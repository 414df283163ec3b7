//! The hooks of a worker's own user, which stay in force in sessions that others submit.

use std::path::PathBuf;

use hookwright_config::ConfigFile;
use hookwright_engine::hook::Layer;

use super::{Source, SourceRole, Sources};

impl Sources {
    /// The same with the hooks of this user, in place of those of another worker's user. A file that
    /// has the text of one that was submitted is left out: its hooks would run twice.
    #[must_use]
    pub fn with_hooks_of_worker(mut self, files: &[ConfigFile]) -> Self {
        self.all.retain(|source| source.role != SourceRole::Worker);
        let own = files.iter().filter(|file| file.layer == Layer::Global);
        for mut source in own.filter_map(Source::of_hook_file) {
            let same =
                |known: &Source| known.text == source.text && known.role == SourceRole::Global;
            if self.all.iter().any(same) {
                continue;
            }
            source.role = SourceRole::Worker;
            // Sources are told apart by their paths, and the submitter's file may have the same one.
            if self.all.iter().any(|known| known.path == source.path) {
                let mut name = source.path.into_os_string();
                name.push("@worker");
                source.path = PathBuf::from(name);
            }
            self.all.push(source);
        }
        self
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
        std::fs::write(&path, "a: 1").expect("written");
        let same = submitted.clone().with_hooks_of_worker(std::slice::from_ref(&file));
        assert_eq!(same, submitted, "the same file twice");
        std::fs::write(&path, "b: 2").expect("written");
        let first = submitted.clone().with_hooks_of_worker(std::slice::from_ref(&file));
        let both = [(SourceRole::Global, "a: 1".to_owned()), (SourceRole::Worker, "b: 2".into())];
        assert_eq!(texts(&first), both);
        assert_ne!(first.all[0].path, first.all[1].path);
        std::fs::write(&path, "c: 3").expect("written");
        let second = first.with_hooks_of_worker(std::slice::from_ref(&file));
        let both = [(SourceRole::Global, "a: 1".to_owned()), (SourceRole::Worker, "c: 3".into())];
        assert_eq!(texts(&second), both);
        let child = submitted.with_hooks_of_worker_in(&second);
        assert_eq!(texts(&child), both);
    }
}
