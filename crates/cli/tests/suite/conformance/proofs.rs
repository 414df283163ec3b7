//! Finds the tests that prove statements, by reading the sources.
//!
//! | test | where its ids are |
//! |---|---|
//! | a function | a comment line `Conformance: ID, ID` among the comments and attributes above it |
//! | a case of a dialect, a scenario of the agent | a line `Conformance: ID, ID` behind the first line of `about.md` |
//! | an example | a line `# Conformance: ID, ID` in `hookwright.test.yaml` |
//!
//! Only a function with `#[test]` (or `#[tokio::test]`) counts that is not ignored and whose file is part
//! of its crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::modules::is_compiled;

/// Begins a line that names ids.
const MARK: &str = "Conformance:";

/// Folders whose entries are tests: where they are, the file with the ids, what such a test is called.
const FOLDERS: &[(&str, &str, &str)] = &[
    ("crates/dialects/tests/cases/agent_pipelines", "about.md", "case"),
    ("crates/dialects/tests/cases/iteratr", "about.md", "case"),
    ("crates/dialects/tests/cases/autoagent", "about.md", "case"),
    ("crates/dialects/tests/cases/claude", "about.md", "case"),
    ("crates/dialects/tests/cases/code_forge", "about.md", "case"),
    ("crates/cli/tests/agent", "about.md", "scenario"),
    ("examples", "hookwright.test.yaml", "example"),
];

/// A test that proves a statement.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Proof {
    /// Empty for a function, otherwise what its folder is.
    kind: &'static str,
    /// The function or the folder.
    pub(super) name: String,
    /// The file or the folder, from the root of the repository.
    path: PathBuf,
}

impl Proof {
    /// A link from a page in `docs`.
    pub(super) fn as_link(&self) -> String {
        let kind = if self.kind.is_empty() { String::new() } else { format!("{} ", self.kind) };
        format!("{kind}[`{}`](../{})", self.name, self.path.display())
    }
}

/// All tests that name statements.
#[derive(Debug, Default)]
pub(super) struct FoundProofs {
    /// By the id of the statement.
    pub(super) proofs: BTreeMap<String, Vec<Proof>>,
    /// Marks that are not at a test.
    pub(super) faults: Vec<String>,
}

/// Looks through the whole repository.
pub(super) fn find(root: &Path) -> FoundProofs {
    let mut found = FoundProofs::default();
    for path in rust_files(&root.join("crates")) {
        let text = fs::read_to_string(&path).expect("sources can be read");
        let (shown, before) = (path.strip_prefix(root).expect("below the root"), found.count());
        found.read_rust(shown, &text);
        if found.count() > before && !is_compiled(&path) {
            let fault = "no `mod` line leads to this file, so its tests do not run";
            found.faults.push(format!("{}: {fault}", shown.display()));
        }
    }
    for (folder, file, kind) in FOLDERS {
        for entry in sorted_entries(&root.join(folder)).into_iter().filter(|path| path.is_dir()) {
            let text = fs::read_to_string(entry.join(file)).unwrap_or_default();
            found.read_folder(kind, entry.strip_prefix(root).expect("below the root"), &text);
        }
    }
    for proofs in found.proofs.values_mut() {
        proofs.sort();
    }
    found
}

impl FoundProofs {
    /// Reads one source file.
    pub(super) fn read_rust(&mut self, path: &Path, text: &str) {
        let mut head = Head::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if head.takes(line) {
                continue;
            }
            let head = std::mem::take(&mut head);
            if head.ids.is_empty() {
                continue;
            }
            let place = format!("{}:{}", path.display(), number + 1);
            match function_name(line) {
                Some(_) if !head.is_test => self.faults.push(format!(
                    "{place}: this function has ids of statements but is no test: add `#[test]`, or move \
                     the ids to the test that proves them"
                )),
                Some(_) if head.is_ignored => self.faults.push(format!(
                    "{place}: this test has ids of statements but is ignored, so it proves nothing"
                )),
                Some(name) => self.add(&head.ids, "", name, path),
                None => self.faults.push(format!(
                    "{place}: the ids of statements above this line belong directly above a test"
                )),
            }
        }
    }

    /// How many tests prove something, each counted for every statement.
    fn count(&self) -> usize {
        self.proofs.values().map(Vec::len).sum()
    }

    /// Reads the text of one folder.
    fn read_folder(&mut self, kind: &'static str, path: &Path, text: &str) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let lines = text.lines().map(|line| line.trim_start_matches('#').trim());
        let ids: Vec<String> =
            lines.filter_map(|line| line.strip_prefix(MARK)).flat_map(ids).collect();
        if !ids.is_empty() && text.starts_with(MARK) {
            let fault =
                "the first line of about.md is the promise; the ids of statements follow it";
            self.faults.push(format!("{}: {fault}", path.display()));
        }
        self.add(&ids, kind, &name, path);
    }

    fn add(&mut self, ids: &[String], kind: &'static str, name: &str, path: &Path) {
        let proof = Proof { kind, name: name.to_owned(), path: path.to_owned() };
        for id in ids {
            let proofs = self.proofs.entry(id.clone()).or_default();
            if proofs.contains(&proof) {
                self.faults.push(format!("{}: {name} names {id} twice", path.display()));
            } else {
                proofs.push(proof.clone());
            }
        }
    }
}

/// The comments and attributes above a function.
#[derive(Debug, Default)]
struct Head {
    ids: Vec<String>,
    is_test: bool,
    is_ignored: bool,
    /// Inside an attribute of several lines.
    in_attribute: bool,
}

impl Head {
    /// Whether this line belongs to the head; its meaning is noted.
    fn takes(&mut self, line: &str) -> bool {
        if self.in_attribute {
            self.in_attribute = !line.ends_with(']');
            return true;
        }
        if let Some(attribute) = line.strip_prefix("#[") {
            let name = attribute.split(|c: char| !c.is_alphanumeric() && c != ':').next();
            self.is_test |= matches!(name, Some("test" | "tokio::test"));
            self.is_ignored |= name == Some("ignore");
            self.in_attribute = !line.ends_with(']');
            return true;
        }
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//"));
        if let Some(listed) = comment.and_then(|said| said.trim_start().strip_prefix(MARK)) {
            self.ids.extend(ids(listed));
        }
        comment.is_some_and(|said| !said.starts_with(['!', '/']))
    }
}

/// The ids of a list.
fn ids(listed: &str) -> impl Iterator<Item = String> {
    listed.split(',').map(|id| id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The name of the function that begins here.
fn function_name(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_visibility = |word: &str| matches!(word, "async" | "pub") || word.starts_with("pub(");
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    before.split_whitespace().all(is_visibility).then_some(name)
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in sorted_entries(folder) {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod rules {
    use super::*;

    fn read(text: &str) -> FoundProofs {
        let mut found = FoundProofs::default();
        found.read_rust(Path::new("a.rs"), text);
        found
    }

    fn proven(found: &FoundProofs) -> Vec<String> {
        let each = |(id, proofs): (&String, &Vec<Proof>)| {
            let names: Vec<&str> = proofs.iter().map(|proof| proof.name.as_str()).collect();
            format!("{id} {}", names.join(" "))
        };
        found.proofs.iter().map(each).collect()
    }

    #[test]
    fn ids_are_found_above_functions_that_are_tests() {
        let text = "/// Some words.\n/// Conformance: s-001, s-002\n#[test]\nfn one() {}\n\n    \
                    #[tokio::test(start_paused = true)]\n    // Conformance: s-001\n    #[expect(\n        \
                    dead_code\n    )]\n    async fn two() {}\n#[test]\nfn three() {}\n";
        let found = read(text);
        assert_eq!(found.faults, Vec::<String>::new());
        assert_eq!(proven(&found), ["s-001 one two", "s-002 one"]);
    }

    #[test]
    fn ids_elsewhere_are_faults() {
        for (text, fault) in [
            ("// Conformance: s-001\nfn helper() {}\n", "a.rs:2: this function has ids"),
            ("// Conformance: s-001\n#[test]\n#[ignore]\nfn a() {}\n", "a.rs:4: this test has ids"),
            ("// Conformance: s-001\n\n#[test]\nfn a() {}\n", "a.rs:2: the ids of statements"),
            ("// Conformance: s-001\nlet x = 1;\n", "a.rs:2: the ids of statements"),
            ("// Conformance: s-001, s-001\n#[test]\nfn a() {}\n", "a.rs: a names s-001 twice"),
        ] {
            let found = read(text);
            assert_eq!(found.faults.len(), 1, "{text}");
            assert!(found.faults[0].starts_with(fault), "{:?}", found.faults);
        }
    }

    #[test]
    fn ids_of_a_folder_are_behind_its_promise() {
        let mut found = FoundProofs::default();
        found.read_folder("case", Path::new("cases/x"), "The promise.\n\nConformance: s-001\n");
        found.read_folder(
            "example",
            Path::new("examples/y"),
            "# Conformance: s-001, s-002\ncases:\n",
        );
        assert_eq!(
            (proven(&found), found.faults.len()),
            (vec!["s-001 x y".into(), "s-002 y".into()], 0)
        );
        let proof = &found.proofs["s-002"][0];
        assert_eq!(proof.as_link(), "example [`y`](../examples/y)");
        found.read_folder("case", Path::new("cases/z"), "Conformance: s-003\n");
        assert_eq!(found.faults.len(), 1);
    }
}
