//! Adds or removes one hook in a file's text, and keeps every other byte.
//!
//! The places come from the parsed tree. The result is parsed again and must have exactly the
//! intended meaning; a layout that cannot be edited like that is left unchanged.

use std::sync::Arc;

use hookwright_config::tree::{Field, Node, Raw, parse};
use hookwright_config::{Fault, SourceFile};
use serde_json::{Map, Value, json};

use super::git_hook::{Form, GitHook, field, text_of};
use super::layout::{Change, Layout, NewHook};

/// Result of an edit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edited {
    Changed {
        text: String,
    },
    /// Nothing to do; names the line of the existing hook.
    AlreadySo {
        line: Option<u32>,
        /// Whether that hook runs in the background.
        in_background: bool,
    },
}

/// Why a text cannot be edited.
#[derive(Debug)]
pub(super) enum NotEditable {
    Unreadable(Box<Fault>),
    /// The layout is too unusual to edit safely; contains the hook to add or remove.
    Layout {
        hook: Value,
    },
}

/// Adds the hook, push after commit.
pub(super) fn added(
    source: &Arc<SourceFile>,
    hook: GitHook,
    form: Form,
) -> Result<Edited, NotEditable> {
    let file = File::new(source, form)?;
    if let Some(there) = file.hooks_of(hook).first() {
        let line = there.node.at.place(source).line;
        let in_background = GitHook::is_in_background(there.node, form);
        return Ok(Edited::AlreadySo { line: Some(line), in_background });
    }
    let before = match hook {
        GitHook::Commit => file.hooks_of(GitHook::Push).first().map(|push| push.index),
        GitHook::Push => None,
    };
    let fields = hook.value(form, file.is_list_of_all());
    let layout = || NotEditable::Layout { hook: json!(fields) };
    let mut expected = file.root.to_json();
    if let Some(items) = file.list_in(&mut expected) {
        items.insert(before.unwrap_or(items.len()), json!(fields));
    }
    let change = file.add(&fields, before).ok_or_else(layout)?;
    file.checked(&change, expected).ok_or_else(layout)
}

/// Removes all hooks of this type at the point.
pub(super) fn removed(
    source: &Arc<SourceFile>,
    hook: GitHook,
    form: Form,
) -> Result<Edited, NotEditable> {
    let mut source = Arc::clone(source);
    let mut edited = Edited::AlreadySo { line: None, in_background: false };
    loop {
        let file = File::new(&source, form)?;
        let Some(there) = file.hooks_of(hook).pop() else { return Ok(edited) };
        let layout = || NotEditable::Layout { hook: there.node.to_json() };
        let mut expected = file.root.to_json();
        file.list_in(&mut expected).map(|items| items.remove(there.index));
        let change = file.remove(there.index).ok_or_else(layout)?;
        edited = file.checked(&change, expected).ok_or_else(layout)?;
        if let Edited::Changed { text } = &edited {
            let text = text.as_str().into();
            source = Arc::new(SourceFile { path: source.path.clone(), text });
        }
    }
}

/// A file and its tree.
struct File<'s> {
    source: &'s SourceFile,
    form: Form,
    root: Node,
}

/// A hook at the point.
struct HookEntry<'n> {
    /// Its index in its list.
    index: usize,
    node: &'n Node,
}

impl<'s> File<'s> {
    fn new(source: &'s Arc<SourceFile>, form: Form) -> Result<Self, NotEditable> {
        let root = parse(source).map_err(|fault| NotEditable::Unreadable(Box::new(fault)))?;
        Ok(Self { source, form, root })
    }

    fn hooks(&self) -> Option<&Field> {
        field(&self.root, |key| key == "hooks")
    }

    /// The key that has the point's hooks.
    fn point(&self) -> Option<&Field> {
        field(&self.hooks()?.value, |key| self.form.is_point(key))
    }

    /// Whether one list has the hooks of all events.
    fn is_list_of_all(&self) -> bool {
        self.form == Form::Native
            && self.hooks().is_some_and(|hooks| matches!(hooks.value.raw, Raw::List(_)))
    }

    fn hooks_of(&self, hook: GitHook) -> Vec<HookEntry<'_>> {
        let list = if self.is_list_of_all() { self.hooks() } else { self.point() };
        let Some(Raw::List(items)) = list.map(|list| &list.value.raw) else { return Vec::new() };
        let is_here = |node: &Node| {
            !self.is_list_of_all()
                || text_of(node, "event").is_some_and(|event| self.form.is_point(event))
        };
        let entries = items.iter().enumerate().map(|(index, node)| HookEntry { index, node });
        entries.filter(|entry| hook.is(entry.node) && is_here(entry.node)).collect()
    }

    fn add(&self, fields: &Map<String, Value>, before: Option<usize>) -> Option<Change> {
        let all = ["hooks", self.form.point()];
        let keys = match (self.hooks(), self.point()) {
            (None, _) => &all[..],
            (Some(_), None) if !self.is_list_of_all() => &all[1..],
            _ => &[],
        };
        let innermost = self.point().or(self.hooks());
        let layout = match innermost {
            Some(field) => Layout::of_field(self.source, field),
            None => Layout::of_root(self.source, &self.root),
        };
        layout.add(&NewHook { keys, fields }, before)
    }

    /// The change that removes an item, and the list and map that were made for it.
    fn remove(&self, index: usize) -> Option<Change> {
        let root = Layout::of_root(self.source, &self.root);
        let hooks = Layout::of_field(self.source, self.hooks()?);
        let (index, hooks_index) = match self.point() {
            None => (index, position(&self.root, self.hooks()?)?),
            Some(point) => {
                let list = Layout::of_field(self.source, point);
                if !list.goes_with_its_part(&hooks) {
                    return list.remove(index);
                }
                (position(&self.hooks()?.value, point)?, position(&self.root, self.hooks()?)?)
            }
        };
        match hooks.goes_with_its_part(&root) {
            true => root.remove(hooks_index),
            false => hooks.remove(index),
        }
    }

    /// The changed text, if it has the expected meaning.
    fn checked(&self, change: &Change, expected: Value) -> Option<Edited> {
        let text = change.applied(&self.source.text);
        let path = self.source.path.clone();
        let after = Arc::new(SourceFile { path, text: text.as_str().into() });
        let says = parse(&after).ok()?.to_json();
        (self.pruned(says) == self.pruned(expected)).then_some(Edited::Changed { text })
    }

    /// The list of hooks in the file's value, created if it is missing.
    fn list_in<'v>(&self, root: &'v mut Value) -> Option<&'v mut Vec<Value>> {
        let hooks = root.as_object_mut()?.entry("hooks").or_insert_with(|| json!({}));
        let list = match hooks {
            Value::Object(points) => points.entry(self.point_key()).or_insert_with(|| json!([])),
            list => list,
        };
        list.as_array_mut()
    }

    /// The file's value without empty lists and maps of hooks, which have no meaning.
    fn pruned(&self, mut root: Value) -> Value {
        let Some(members) = root.as_object_mut() else { return root };
        if let Some(Value::Object(points)) = members.get_mut("hooks")
            && points.get(self.point_key()) == Some(&json!([]))
        {
            points.shift_remove(self.point_key());
        }
        if members.get("hooks").is_some_and(|hooks| [json!({}), json!([])].contains(hooks)) {
            members.shift_remove("hooks");
        }
        root
    }

    fn point_key(&self) -> &str {
        self.point().map_or(self.form.point(), |point| &*point.key)
    }
}

/// The number of a field in its map.
fn position(map: &Node, field: &Field) -> Option<usize> {
    match &map.raw {
        Raw::Map(fields) => fields.iter().position(|other| other.key == field.key),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
