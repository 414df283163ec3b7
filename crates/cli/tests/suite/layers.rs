//! The modules of each crate form layers: only few depend on each other in a cycle.
//!
//! A module is a top-level module of a crate with everything below it, or the crate's root file
//! with its own items. Paths that begin at the crate (`crate::x`, or as many `super::` as lead
//! there) are dependencies; those of tests don't count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::repository;

/// Maximum size of a cycle. Its modules can only be understood together.
const MODULES_IN_A_CIRCLE_MAX: usize = 6;

/// The root file of a crate, among its modules.
const ROOT: &str = "(root)";

type Arrows = BTreeMap<String, BTreeSet<String>>;

#[test]
fn few_modules_of_a_crate_depend_on_each_other_in_a_circle() {
    let mut faults = Vec::new();
    let mut crates = 0;
    for entry in fs::read_dir(repository().join("crates")).expect("a folder") {
        let folder = entry.expect("an entry").path();
        crates += 1;
        let arrows = arrows(&folder.join("src"));
        let circle = largest_circle(&arrows);
        if circle.len() > MODULES_IN_A_CIRCLE_MAX {
            faults.push(described(&folder, &circle, &arrows));
        }
    }
    assert!(crates >= 9, "{crates} crates");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn arrows_are_found_in_all_ways_to_write_a_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    };
    write("lib.rs", "mod a;\npub mod b;\nmod c;\nmod d;\npub use b::Thing;\nstruct Own;\n");
    write("a.rs", "use crate::{Thing, c::x::{y, z}};\n// use crate::d;\nfn f() { super::Own; }\n");
    write(
        "a/deep.rs",
        "use super::b;\nuse super::super::d::X;\n#[cfg(test)]\nmod tests { use crate::b; }",
    );
    write("b.rs", "fn f() { crate::c::g() }\n");
    write("c/tests.rs", "use crate::a;\n");
    write("c.rs", "");
    write("d.rs", "use super::a;\n");
    let found = arrows(folder.path());
    let to = |name: &str| found[name].iter().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(to("a"), [ROOT, "b", "c", "d"]);
    assert_eq!(to("b"), ["c"]);
    assert!(to("c").is_empty());
    assert_eq!(to("d"), ["a"]);
    assert_eq!(largest_circle(&found), ["a", "d"].map(String::from).into());
}

/// Which module uses which.
fn arrows(src: &Path) -> Arrows {
    let root = ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().find(|it| it.exists());
    let root = root.expect("a crate has a root");
    let root_code = code(&root);
    let modules: BTreeSet<String> = root_code.lines().filter_map(declared_module).collect();
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    let mut of_root = BTreeSet::new();
    for statement in root_code.split_inclusive(';') {
        let (before, path) = statement.rsplit_once("use ").unwrap_or((statement, ""));
        let (module, names) = path.split_once("::").unwrap_or_default();
        if modules.contains(module) {
            owners.extend(words(names).map(|name| (name.to_owned(), module.to_owned())));
        }
        // The root does not depend on what it only re-exports.
        let uses = if before.contains("pub") { before } else { statement };
        let heads = uses.match_indices("::").filter_map(|(at, _)| words(&uses[..at]).last());
        of_root.extend(heads.filter(|head| modules.contains(*head)).map(str::to_owned));
    }
    for kind in ["struct ", "enum ", "fn ", "const ", "static ", "trait ", "type "] {
        for (at, _) in root_code.match_indices(kind) {
            let name = words(&root_code[at + kind.len()..]).next().unwrap_or_default();
            owners.entry(name.to_owned()).or_insert_with(|| ROOT.to_owned());
        }
    }
    let mut arrows: Arrows = modules.iter().map(|name| (name.clone(), BTreeSet::new())).collect();
    arrows.insert(ROOT.to_owned(), of_root);
    for path in sources(src) {
        let place = path.strip_prefix(src).expect("below").with_extension("");
        let parts: Vec<String> =
            place.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let from = &parts[0];
        if path == root || !modules.contains(from) || parts.iter().any(|part| part == "tests") {
            continue;
        }
        for name in heads(&code(&path), parts.len()) {
            let to = if modules.contains(&name) { Some(&name) } else { owners.get(&name) };
            if let Some(to) = to.filter(|to| *to != from) {
                arrows.get_mut(from).expect("a module").insert(to.clone());
            }
        }
    }
    arrows
}

/// A file's text without comments and without the tests at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("readable");
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn declared_module(line: &str) -> Option<String> {
    let (before, name) = line.strip_suffix(';')?.split_once("mod ")?;
    let is_declaration = before.is_empty() || before.starts_with("pub");
    is_declaration.then(|| name.to_owned())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
}

/// The first names of all paths that begin at the crate, in a module at this depth.
fn heads(code: &str, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    for start in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (at, _) in code.match_indices(&start) {
            let before = code[..at].chars().next_back();
            let within = |letter: char| letter.is_alphanumeric() || "_:$".contains(letter);
            let rest = &code[at + start.len()..];
            if before.is_some_and(within) || rest.starts_with("super::") {
                continue;
            }
            match rest.strip_prefix('{') {
                Some(group) => found.extend(heads_of_group(group)),
                None => found.extend(words(rest).next().map(str::to_owned)),
            }
        }
    }
    found
}

/// The first names of the paths in braces.
fn heads_of_group(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut parts = vec![String::new()];
    for letter in group.chars() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {}
        }
        parts.last_mut().expect("one").push(letter);
    }
    parts.iter().filter_map(|part| words(part).next()).map(str::to_owned).collect()
}

/// The largest set of modules that all reach each other.
fn largest_circle(arrows: &Arrows) -> BTreeSet<String> {
    let reached: BTreeMap<&String, BTreeSet<String>> =
        arrows.keys().map(|name| (name, reached_from(name, arrows))).collect();
    let circle = |name: &String| -> BTreeSet<String> {
        let all = reached[name].iter().filter(|other| reached[*other].contains(name));
        all.cloned().collect()
    };
    arrows.keys().map(circle).max_by_key(BTreeSet::len).unwrap_or_default()
}

fn reached_from(name: &str, arrows: &Arrows) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&String> = arrows[name].iter().collect();
    while let Some(next) = left.pop() {
        if reached.insert(next.clone()) {
            left.extend(&arrows[next]);
        }
    }
    reached
}

fn described(folder: &Path, circle: &BTreeSet<String>, arrows: &Arrows) -> String {
    let name = folder.file_name().expect("a name").display();
    let mut text = format!("{name}: {} modules depend on each other in a circle:\n", circle.len());
    for from in circle {
        let within: Vec<&str> = arrows[from].intersection(circle).map(String::as_str).collect();
        text.push_str(&format!("  {from} -> {}\n", within.join(", ")));
    }
    text
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}
