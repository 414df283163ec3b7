//! Adds or removes one hook in a file's text, and keeps every other byte.
//!
//! The places come from the parsed tree. The result is parsed again and must have exactly the
//! intended meaning; a layout that cannot be edited like that is left unchanged.

use std::ops::Range;
use std::sync::Arc;

use hookwright_config::tree::{Field, Node, Raw, parse};
use hookwright_config::{Fault, SourceFile};
use serde_json::{Map, Value, json};

use super::brackets::{Brackets, Change, Part, end_of};
use super::git_hook::{Form, GitHook, text_of};
use super::lines;

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
    let value = hook.value(form, file.is_list_of_all());
    let expected = file.value_with(&value, before);
    let change = file.add(hook, &value, before);
    checked(source, change, &expected).ok_or(NotEditable::Layout { hook: value })
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
        let (change, expected) = file.remove(there.index).ok_or_else(layout)?;
        edited = checked(&source, Some(change), &expected).ok_or_else(layout)?;
        if let Edited::Changed { text } = &edited {
            let text = text.as_str().into();
            source = Arc::new(SourceFile { path: source.path.clone(), text });
        }
    }
}

/// The changed text, if it has the expected meaning.
fn checked(source: &SourceFile, change: Option<Change>, expected: &Value) -> Option<Edited> {
    let text = change?.applied(&source.text);
    let after = Arc::new(SourceFile { path: source.path.clone(), text: text.as_str().into() });
    let says = parse(&after).ok()?.to_json();
    (says == *expected).then_some(Edited::Changed { text })
}

/// A file and its tree.
struct File<'s> {
    text: &'s str,
    source: &'s SourceFile,
    form: Form,
    root: Node,
}

/// A hook at the point.
struct Entry<'n> {
    /// Its index in its list.
    index: usize,
    node: &'n Node,
}

impl<'s> File<'s> {
    fn new(source: &'s Arc<SourceFile>, form: Form) -> Result<Self, NotEditable> {
        let root = parse(source).map_err(|fault| NotEditable::Unreadable(Box::new(fault)))?;
        Ok(Self { text: &source.text, source, form, root })
    }

    fn hooks(&self) -> Option<&Field> {
        fields(&self.root)?.iter().find(|field| &*field.key == "hooks")
    }

    /// The key that has the point's hooks.
    fn point(&self) -> Option<&Field> {
        let points = fields(&self.hooks()?.value)?;
        points.iter().find(|field| self.form.is_point(&field.key))
    }

    /// Whether one list has the hooks of all events.
    fn is_list_of_all(&self) -> bool {
        self.form == Form::Native
            && self.hooks().is_some_and(|hooks| matches!(hooks.value.raw, Raw::List(_)))
    }

    /// The list that has, or would have, the hook.
    fn list(&self) -> Option<&Field> {
        if self.is_list_of_all() { self.hooks() } else { self.point() }
    }

    fn hooks_of(&self, hook: GitHook) -> Vec<Entry<'_>> {
        let Some(Raw::List(items)) = self.list().map(|list| &list.value.raw) else {
            return Vec::new();
        };
        let stands_here = |node: &Node| {
            !self.is_list_of_all()
                || text_of(node, "event").is_some_and(|event| self.form.is_point(event))
        };
        let entries = items.iter().enumerate().map(|(index, node)| Entry { index, node });
        entries.filter(|entry| hook.is(entry.node) && stands_here(entry.node)).collect()
    }

    /// The file's value with the hook.
    fn value_with(&self, hook: &Value, before: Option<usize>) -> Value {
        let mut root = self.root.to_json();
        let Some(members) = root.as_object_mut() else { return root };
        let hooks = members.entry("hooks").or_insert(Value::Null);
        if hooks.is_null() {
            *hooks = json!({});
        }
        let point = self.point().map_or(self.form.point(), |point| &*point.key);
        let list = match hooks {
            Value::Object(points) => points.entry(point).or_insert(Value::Null),
            list => list,
        };
        if list.is_null() {
            *list = json!([]);
        }
        if let Value::Array(items) = list {
            items.insert(before.unwrap_or(items.len()).min(items.len()), hook.clone());
        }
        root
    }

    fn add(&self, hook: GitHook, value: &Value, before: Option<usize>) -> Option<Change> {
        let point = self.form.point();
        if let Some(list) = self.list().filter(|list| !is_null(&list.value)) {
            return match self.is_in_brackets(&list.value) {
                true => Some(self.brackets(&list.value)?.add(&Part::Element(value), before)),
                false => self.add_item(list, hook, before),
            };
        }
        let new_list = json!([value]);
        match self.hooks().filter(|hooks| !is_null(&hooks.value)) {
            Some(hooks) if self.point().is_some() || !matches!(hooks.value.raw, Raw::Map(_)) => {
                None
            }
            Some(hooks) if self.is_in_brackets(&hooks.value) => {
                Some(self.brackets(&hooks.value)?.add(&Part::Member(point, &new_list), None))
            }
            Some(hooks) => self.add_point(hooks, hook),
            None if self.hooks().is_some() => None,
            None if self.is_in_brackets(&self.root) => {
                let members = Map::from_iter([(point.to_owned(), new_list)]);
                let part = Part::Member("hooks", &Value::Object(members));
                Some(self.brackets(&self.root)?.add(&part, None))
            }
            None => {
                fields(&self.root)?;
                let mut new = vec!["hooks:".to_owned(), format!("  {point}:")];
                new.extend(lines::item(&hook.fields(self.form), 4));
                Some(lines::insert_behind(self.text, lines::end_of_document(self.text), &new))
            }
        }
    }

    /// Adds an item to a block list.
    fn add_item(&self, list: &Field, hook: GitHook, before: Option<usize>) -> Option<Change> {
        let Raw::List(items) = &list.value.raw else { return None };
        let first = self.item_line(items.first()?)?;
        let indent = lines::indent_of(&self.text[first]);
        let event = self.is_list_of_all().then_some(("event", self.form.point()));
        let written: Vec<(&str, &str)> = event.into_iter().chain(hook.fields(self.form)).collect();
        let new = lines::item(&written, indent);
        match before.and_then(|index| items.get(index)) {
            Some(next) => Some(lines::insert_before(self.text, &self.item_line(next)?, &new)),
            None => {
                let end = lines::end_of_block(self.text, &self.key_line(list), true);
                Some(lines::insert_behind(self.text, end, &new))
            }
        }
    }

    /// Adds a key below `hooks:`.
    fn add_point(&self, hooks: &Field, hook: GitHook) -> Option<Change> {
        let points = fields(&hooks.value)?;
        let indent = lines::indent_of(&self.text[self.key_line(points.first()?)]);
        let step = points.iter().find_map(|point| self.step_to_items(point)).unwrap_or(2);
        let mut new = vec![format!("{}{}:", " ".repeat(indent), self.form.point())];
        new.extend(lines::item(&hook.fields(self.form), indent + step));
        let end = lines::end_of_block(self.text, &self.key_line(hooks), false);
        Some(lines::insert_behind(self.text, end, &new))
    }

    /// How much deeper than its key the items of a list are indented.
    fn step_to_items(&self, list: &Field) -> Option<usize> {
        let Raw::List(items) = &list.value.raw else { return None };
        let item = self.item_line(items.first()?)?;
        let key = self.key_line(list);
        lines::indent_of(&self.text[item]).checked_sub(lines::indent_of(&self.text[key]))
    }

    /// The change that removes an item, and the file's value afterwards.
    fn remove(&self, index: usize) -> Option<(Change, Value)> {
        let mut expected = self.root.to_json();
        let hooks = self.hooks()?;
        let list = self.list()?;
        let Raw::List(items) = &list.value.raw else { return None };
        let key = (!self.is_list_of_all()).then_some(&*list.key);
        let members = expected.as_object_mut()?;
        {
            let hooks = members.get_mut("hooks")?;
            let list = match key {
                Some(key) => hooks.get_mut(key)?,
                None => hooks,
            };
            list.as_array_mut()?.remove(index);
        }
        let is_last = items.len() == 1;
        if self.is_in_brackets(&list.value) {
            let brackets = self.brackets(&list.value)?;
            let parent_in_brackets = self.is_in_brackets(&hooks.value) && key.is_some();
            if !brackets.go_with_their_part() || !parent_in_brackets {
                return Some((brackets.remove(index)?, expected));
            }
            let points = self.brackets(&hooks.value)?;
            let number = fields(&hooks.value)?.iter().position(|field| field.key == list.key)?;
            members.get_mut("hooks")?.as_object_mut()?.shift_remove(key?);
            if !points.go_with_their_part() || !self.is_in_brackets(&self.root) {
                return Some((points.remove(number)?, expected));
            }
            members.shift_remove("hooks");
            let number = fields(&self.root)?.iter().position(|field| &*field.key == "hooks")?;
            return Some((self.brackets(&self.root)?.remove(number)?, expected));
        }
        if !is_last {
            let line = self.item_line(&items[index])?;
            let end = lines::end_of_block(self.text, &line, false);
            return Some((lines::delete(self.text, &line, end), expected));
        }
        let Some(key) = key else {
            // This list was not created for the hook, so it stays.
            let line = self.key_line(hooks);
            let end = lines::end_of_block(self.text, &line, true);
            let with = " []".to_owned();
            return Some((Change { at: self.behind_key(hooks)?..end, with }, expected));
        };
        members.get_mut("hooks")?.as_object_mut()?.shift_remove(key);
        let is_only_point = fields(&hooks.value)?.len() == 1;
        let line = if is_only_point { self.key_line(hooks) } else { self.key_line(list) };
        let end = lines::end_of_block(self.text, &line, true);
        if !is_only_point {
            return Some((lines::delete(self.text, &line, end), expected));
        }
        if fields(&self.root)?.len() == 1 {
            // A file without any key would not be a configuration.
            let with = " {}".to_owned();
            return Some((Change { at: self.behind_key(hooks)?..end, with }, expected));
        }
        members.shift_remove("hooks");
        Some((lines::delete(self.text, &line, end), expected))
    }

    /// The offset after the colon of a key whose value is below it.
    fn behind_key(&self, field: &Field) -> Option<usize> {
        let line = self.key_line(field);
        let key = field.at.place(self.source).range;
        let colon = self.text[key.end..line.end].find(':')?;
        Some(key.end + colon + 1)
    }

    fn is_in_brackets(&self, node: &Node) -> bool {
        // A block list may be reported to begin with its first item, which may be a map in
        // brackets.
        let open = if matches!(node.raw, Raw::List(_)) { '[' } else { '{' };
        self.text[node.at.place(self.source).range.start..].starts_with(open)
    }

    fn brackets(&self, node: &Node) -> Option<Brackets<'_>> {
        let end = |node: &Node| {
            let range = node.at.place(self.source).range;
            match node.raw {
                Raw::Map(_) | Raw::List(_) => end_of(self.text, range.start),
                _ => Some(range.end),
            }
        };
        let start = |mark: hookwright_config::tree::Mark| mark.place(self.source).range.start;
        let parts: Option<Vec<Range<usize>>> = match &node.raw {
            Raw::Map(fields) => {
                fields.iter().map(|field| Some(start(field.at)..end(&field.value)?)).collect()
            }
            Raw::List(items) => items.iter().map(|item| Some(start(item.at)..end(item)?)).collect(),
            _ => None,
        };
        Some(Brackets::new(self.text, start(node.at), parts?))
    }

    fn key_line(&self, field: &Field) -> Range<usize> {
        lines::line_at(self.text, field.at.place(self.source).range.start)
    }

    /// The line in which an item begins, with its dash.
    fn item_line(&self, item: &Node) -> Option<Range<usize>> {
        let line = lines::line_at(self.text, item.at.place(self.source).range.start);
        lines::is_item(self.text[line.clone()].trim()).then_some(line)
    }
}

fn fields(node: &Node) -> Option<&[Field]> {
    match &node.raw {
        Raw::Map(fields) => Some(fields),
        _ => None,
    }
}

fn is_null(node: &Node) -> bool {
    matches!(node.raw, Raw::Null)
}

#[cfg(test)]
mod tests;
