//! Whether a source file is part of its crate: a test in a file that no `mod` names never runs.

use std::fs;
use std::path::Path;

/// Files with which a crate or a test binary begins.
const ROOTS: &[&str] = &["lib.rs", "main.rs"];

/// Whether `mod` lines lead from the crate's root to this file.
pub(super) fn is_compiled(file: &Path) -> bool {
    let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return false };
    if ROOTS.iter().any(|root| name == *root) {
        return true;
    }
    let Some(module) = file.file_stem().and_then(|stem| stem.to_str()) else { return false };
    let beside = folder.with_extension("rs");
    let parents = ROOTS.iter().map(|root| folder.join(root)).chain([beside]);
    parents.into_iter().any(|parent| declares(&parent, module) && is_compiled(&parent))
}

/// Whether the file has a line `mod NAME;`.
fn declares(file: &Path, module: &str) -> bool {
    let declaration = format!("mod {module};");
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().any(|line| {
        let before = line.trim().strip_suffix(&declaration);
        before.is_some_and(|before| before.is_empty() || before.starts_with("pub"))
    })
}

#[cfg(test)]
mod rules {
    use super::*;

    #[test]
    fn a_file_that_no_module_names_is_not_compiled() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("lib.rs", "mod a;\npub(crate) mod b;\n// mod c;\n");
        for file in ["b.rs", "c.rs", "d.rs", "a/tests.rs", "a/old.rs", "c/tests.rs"] {
            write(file, "");
        }
        write("a.rs", "#[cfg(test)]\nmod tests;\n");
        write("c.rs", "mod tests;\n");
        let is_compiled = |path: &str| is_compiled(&folder.path().join(path));
        for file in ["lib.rs", "a.rs", "b.rs", "a/tests.rs"] {
            assert!(is_compiled(file), "{file}");
        }
        for file in ["c.rs", "d.rs", "a/old.rs", "c/tests.rs"] {
            assert!(!is_compiled(file), "{file}");
        }
    }
}
