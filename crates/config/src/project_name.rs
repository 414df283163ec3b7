//! [`ProjectName`]: the name of a project, the key `project` of `hookwright.yaml`.

use std::fmt;

use super::node::{Node, Raw, parse};
use super::notes::Notes;
use super::{ConfigFile, ExpectedValue, Fault, file, limits};

/// The name under which a project's sessions, tasks and issues are stored, instead of its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectName(String);

/// The form of a name, for messages.
const FORM: &str =
    "a name of at most 64 letters, digits, `.`, `_` and `-` that begins with a letter or a digit";

impl ProjectName {
    /// The name, if it has the form of one. It never looks like a path.
    pub fn parse(text: &str) -> Option<Self> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let is_name =
            begins && text.len() <= limits::PROJECT_NAME_BYTES_MAX && text.bytes().all(is_part);
        is_name.then(|| Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name that a project's file gives it. Nothing else of the file is checked, and a file that
/// cannot name the project is not parsed.
pub fn project_name(file: &ConfigFile) -> Result<Option<ProjectName>, Vec<Fault>> {
    single_key(file, "project", read)
}

/// The value of one key of a file, of which nothing else is checked. A file without the key is not
/// parsed.
pub(super) fn single_key<T>(
    file: &ConfigFile,
    key: &str,
    read: impl FnOnce(&Node, &mut Notes<'_>) -> Option<T>,
) -> Result<Option<T>, Vec<Fault>> {
    let source = file::read(file).map_err(|fault| vec![fault])?;
    // A key can also be written with escapes.
    if !source.text.contains(key) && !source.text.contains('\\') {
        return Ok(None);
    }
    let root = parse(&source).map_err(|fault| vec![fault])?;
    let mut notes = Notes::new(&source);
    let fields = match root.raw {
        Raw::Null => return Ok(None),
        _ => notes.map(&root, ExpectedValue::HooksKey),
    };
    let field = fields.unwrap_or_default().iter().find(|field| &*field.key == key);
    let value = field.and_then(|field| read(&field.value, &mut notes));
    match notes.faults.is_empty() {
        true => Ok(value),
        false => Err(std::mem::take(&mut notes.faults)),
    }
}

/// Reads the value of `project:`.
pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> Option<ProjectName> {
    let text = notes.text(node, FORM)?;
    let name = ProjectName::parse(text);
    if name.is_none() {
        notes.bad_value(node.at, text, FORM);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_looks_like_a_path() {
        let longest = "x".repeat(64);
        for name in ["shop", "Shop-2", "7", "a.b_c", &longest] {
            assert_eq!(ProjectName::parse(name).map(|name| name.to_string()), Some(name.into()));
        }
        let long = "x".repeat(65);
        for other in ["", ".", "..", "-x", "_x", "/shop", "a/b", "a b", "a\nb", "ä", "a:b", &long]
        {
            assert_eq!(ProjectName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn the_name_is_found_however_the_key_is_written_and_a_wrong_one_is_a_fault() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hookwright.yaml");
        let file =
            ConfigFile::native(&path, "hookwright.yaml", hookwright_engine::hook::Layer::Project);
        let name = |text: &str| {
            std::fs::write(&path, text).expect("written");
            project_name(&file).map(|name| name.map(|name| name.to_string())).map_err(|faults| {
                faults.iter().map(|fault| fault.kind.to_string()).collect::<Vec<_>>()
            })
        };
        assert_eq!(name("project: shop\nhooks: {}\n"), Ok(Some("shop".to_owned())));
        assert_eq!(name("\"\\x70roject\": shop\n"), Ok(Some("shop".to_owned())));
        assert_eq!(name("# project\nhooks: {}\n"), Ok(None));
        assert_eq!(name("hooks: {project: x}\n"), Ok(None), "only at the top");
        assert_eq!(name("hooks: ["), Ok(None), "it cannot name the project");
        assert!(name("project: [").is_err());
        let words = format!("expected {FORM} but found ");
        assert_eq!(name("project: a/b"), Err(vec![format!("{words}`a/b`")]));
        assert_eq!(name("project: 7"), Err(vec![format!("{words}the number `7`")]));
    }
}
