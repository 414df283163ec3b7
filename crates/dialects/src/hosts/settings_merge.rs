//! Our entries in a host's settings: adds, updates and removes them, and leaves the rest of the text
//! as it is.
//!
//! An entry is ours if its command is nothing but a call of this program (`own_call.rs`), whatever
//! its path and its deadline are.

use serde_json::{Map, Value};

use super::{FileShare, Host, HostFile};
use crate::own_call;
use crate::settings_text::{
    NewPart, SettingsChange, SettingsFault, SettingsPart, SettingsValue, changed, filled, parse,
};

/// The text of settings that call us, and what to tell the user about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedText {
    /// The new text; the old one if nothing has to change.
    pub text: String,
    /// Entries that restrict what reaches us.
    pub notes: Vec<String>,
}

/// The settings with our entries, each of them as in `file`.
///
/// Entries of an older path or deadline are updated in place. If an event calls us more than once,
/// one call stays.
pub fn connected(host: &Host, file: &HostFile, text: &str) -> Result<ConnectedText, SettingsFault> {
    let FileShare::Settings { hooks_key, is_strict } = file.share else {
        return Ok(ConnectedText { text: file.text.clone(), notes: Vec::new() });
    };
    let wanted: Value = serde_json::from_str(&file.text).expect("we wrote it");
    if is_strict {
        check_strictly(host, text)?;
    }
    let Some(root) = parse(text)? else {
        return Ok(ConnectedText { text: filled(text, &wanted), notes: Vec::new() });
    };
    let mut merge = Merge::new(host, &root, hooks_key)?;
    merge.add(wanted)?;
    let text = changed(text, &root, &merge.changes)?;
    Ok(ConnectedText { text, notes: merge.notes })
}

/// The settings without our entries; `None` if nothing is left that was not ours. Lists and maps that
/// become empty are removed too, unless `original`, the text before the first connection, has them.
pub fn disconnected(
    host: &Host,
    file: &HostFile,
    text: &str,
    original: Option<&str>,
) -> Result<Option<String>, SettingsFault> {
    let FileShare::Settings { hooks_key, .. } = file.share else {
        return Ok(if host.is_own_file(file, text) { None } else { Some(text.to_owned()) });
    };
    let Some(root) = parse(text)? else { return Ok(Some(text.to_owned())) };
    let original_root = original.and_then(|text| parse(text).ok().flatten());
    let mut merge = Merge::new(host, &root, hooks_key)?;
    merge.remove_all(original_root.as_ref());
    let removes = !merge.changes.is_empty() || !merge.removed_at_top.is_empty();
    if let (true, Some(original)) = (removes, &original_root) {
        merge.remove_top_keys(file, original);
    }
    merge.finish();
    if merge.changes.is_empty() {
        return Ok(Some(text.to_owned()));
    }
    let after = changed(text, &root, &merge.changes)?;
    let is_ours = original.is_none() && has_only_our_keys(&after, file);
    Ok((!is_ours).then_some(after))
}

/// Whether nothing is left but what a file of ours begins with, such as a version.
fn has_only_our_keys(text: &str, file: &HostFile) -> bool {
    let Ok(Some(root)) = parse(text) else { return false };
    let ours: Value = serde_json::from_str(&file.text).expect("we wrote it");
    let is_ours = |part: &SettingsPart| {
        part.key().is_some_and(|key| ours.get(key).is_some()) && part.value.parts().is_empty()
    };
    let is_bare =
        text.trim_start().starts_with('{') && !text.contains("//") && !text.contains("/*");
    root.is_map() && is_bare && root.parts().iter().all(is_ours)
}

/// A host that reads plain JSON ignores a file with anything else, without a message.
fn check_strictly(host: &Host, text: &str) -> Result<(), SettingsFault> {
    // First the place of a fault that every reader has.
    parse(text)?;
    let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text) else { return Ok(()) };
    if text.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
        return Ok(());
    }
    let line_start: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (line_start + error.column().saturating_sub(1)).min(text.len());
    let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let message = format!(
        "{} reads plain JSON and ignores a file with comments, trailing commas or a byte order mark",
        host.display_name
    );
    Err(SettingsFault::new(at..(at + 1).min(text.len()), message))
}

/// Collects the changes of one text.
struct Merge<'a> {
    host: &'a Host,
    root: &'a SettingsValue,
    hooks_key: Option<&'static str>,
    /// The path of the map from events to entries, and the map; `None` if it is missing.
    events: Option<(Vec<usize>, &'a SettingsValue)>,
    changes: Vec<SettingsChange>,
    /// Entries of the root that go.
    removed_at_top: Vec<usize>,
    notes: Vec<String>,
}

/// A call of ours: the entry with the command, and where it is.
struct MergedEntry<'a> {
    /// The number of the entry in its event's list.
    group: usize,
    /// Its number in the entry's own list of commands, if it is there.
    inner: Option<usize>,
    command: &'a SettingsValue,
    /// The subjects that the entry is restricted to.
    matcher: Option<&'a str>,
}

impl<'a> Merge<'a> {
    fn new(
        host: &'a Host,
        root: &'a SettingsValue,
        hooks_key: Option<&'static str>,
    ) -> Result<Self, SettingsFault> {
        if !root.is_map() {
            return Err(expected_map(root, "the settings"));
        }
        let events = match hooks_key {
            None => {
                if let Some(number) = position(root, "hooks")? {
                    let at = root.parts()[number].start();
                    let message = format!(
                        "{} ignores what is under `hooks` in this file: it expects the events at the \
                         top",
                        host.display_name
                    );
                    return Err(SettingsFault::new(at..at + "\"hooks\"".len(), message));
                }
                Some((Vec::new(), root))
            }
            Some(key) => match position(root, key)? {
                None => None,
                Some(number) => {
                    let map = &root.parts()[number].value;
                    if !map.is_map() {
                        return Err(expected_map(map, &format!("`{key}`")));
                    }
                    Some((vec![number], map))
                }
            },
        };
        Ok(Self {
            host,
            root,
            hooks_key,
            events,
            changes: Vec::new(),
            removed_at_top: Vec::new(),
            notes: Vec::new(),
        })
    }

    fn add(&mut self, wanted: Value) -> Result<(), SettingsFault> {
        let Value::Object(mut wanted) = wanted else { return Ok(()) };
        let events = match self.hooks_key {
            None => std::mem::take(&mut wanted),
            Some(key) => match wanted.get(key) {
                Some(Value::Object(events)) => events.clone(),
                _ => Map::new(),
            },
        };
        // Everything that the file lacks at the top.
        let mut missing = Vec::new();
        for (key, value) in wanted {
            let is_there = match self.hooks_key == Some(key.as_str()) {
                true => self.events.is_some(),
                false => position(self.root, &key)?.is_some(),
            };
            if !is_there {
                missing.push(NewPart { key: Some(key), value });
            }
        }
        if !missing.is_empty() {
            self.changes.push(SettingsChange::append(&[], missing));
        }
        let Some((path, map)) = self.events.clone() else { return Ok(()) };
        let mut new_events = Vec::new();
        for (event, entries) in events {
            let Some(number) = position(map, &event)? else {
                new_events.push(NewPart { key: Some(event), value: entries });
                continue;
            };
            let list = &map.parts()[number].value;
            if !list.is_list() {
                let message =
                    format!("expected a list of hooks of `{event}` but found {}", list.found());
                return Err(SettingsFault::new(list.at.start..list.at.start + 1, message));
            }
            let path: Vec<usize> = path.iter().copied().chain([number]).collect();
            self.add_to_event(&path, &event, list, &entries);
        }
        if !new_events.is_empty() {
            self.changes.push(SettingsChange::append(&path, new_events));
        }
        Ok(())
    }

    /// One call of ours in this event's list: an existing one is updated, others are removed.
    fn add_to_event(&mut self, path: &[usize], event: &str, list: &'a SettingsValue, new: &Value) {
        let wanted_is_inner = new[0].get("hooks").is_some();
        let wanted = if wanted_is_inner { &new[0]["hooks"][0] } else { &new[0] };
        let own = self.own_entries(list);
        let has_shape = |entry: &&MergedEntry<'_>| entry.inner.is_some() == wanted_is_inner;
        let is_open = |entry: &&MergedEntry<'_>| has_shape(entry) && entry.matcher.is_none();
        let kept = own.iter().find(is_open).or_else(|| own.iter().find(has_shape));
        let kept_at = kept.map(|entry| (entry.group, entry.inner));
        if let Some(kept) = kept {
            let mut path = path.to_owned();
            path.push(kept.group);
            if let Some(inner) = kept.inner {
                let group = &list.parts()[kept.group].value;
                let hooks = position(group, "hooks").ok().flatten().unwrap_or_default();
                path.extend([hooks, inner]);
            }
            self.update(&path, kept.command, wanted);
            if let Some(matcher) = kept.matcher {
                self.notes.push(format!(
                    "at {event}, only `{}` reaches your hooks: the entry has this matcher",
                    matcher
                ));
            }
        } else if let Value::Array(entries) = new {
            let new = entries.iter().map(|value| NewPart { key: None, value: value.clone() });
            self.changes.push(SettingsChange::append(path, new.collect()));
        }
        let others = own.iter().filter(|entry| Some((entry.group, entry.inner)) != kept_at);
        self.remove_entries(path, list, others);
    }

    /// Makes an entry's fields the wanted ones, and leaves its other fields.
    fn update(&mut self, path: &[usize], command: &SettingsValue, wanted: &Value) {
        let Value::Object(wanted) = wanted else { return };
        let mut missing = Vec::new();
        for (key, value) in wanted {
            match position(command, key).ok().flatten() {
                None => missing.push(NewPart { key: Some(key.clone()), value: value.clone() }),
                Some(number) => {
                    let written = &command.parts()[number].value;
                    if !written.means(value) {
                        let path: Vec<usize> = path.iter().copied().chain([number]).collect();
                        self.changes.push(SettingsChange::replace(&path, value.clone()));
                    }
                }
            }
        }
        if !missing.is_empty() {
            self.changes.push(SettingsChange::append(path, missing));
        }
    }

    /// Removes these entries of a list, and groups whose only commands they are. Returns whether the
    /// list loses everything.
    fn remove_entries<'e>(
        &mut self,
        path: &[usize],
        list: &SettingsValue,
        entries: impl Iterator<Item = &'e MergedEntry<'e>>,
    ) -> bool {
        let entries: Vec<&MergedEntry<'_>> = entries.collect();
        let mut groups = Vec::new();
        for (number, group) in list.parts().iter().enumerate() {
            let here = || entries.iter().filter(|entry| entry.group == number);
            let inner: Vec<usize> = here().filter_map(|entry| entry.inner).collect();
            if here().any(|entry| entry.inner.is_none()) {
                groups.push(number);
            } else if !inner.is_empty() {
                let hooks = position(&group.value, "hooks").ok().flatten().unwrap_or_default();
                if inner.len() == group.value.parts()[hooks].value.parts().len() {
                    groups.push(number);
                } else {
                    let path: Vec<usize> = path.iter().copied().chain([number, hooks]).collect();
                    self.changes.push(SettingsChange::remove(&path, inner));
                }
            }
        }
        let is_all = !groups.is_empty() && groups.len() == list.parts().len();
        if !groups.is_empty() {
            self.changes.push(SettingsChange::remove(path, groups));
        }
        is_all
    }

    /// Removes every entry of ours.
    fn remove_all(&mut self, original: Option<&SettingsValue>) {
        let Some((path, map)) = self.events.clone() else { return };
        let original_events = match self.hooks_key {
            None => original,
            Some(key) => original.and_then(|root| root.get(key)),
        };
        let mut emptied = Vec::new();
        for (number, part) in map.parts().iter().enumerate() {
            if !part.value.is_list() {
                continue;
            }
            let own = self.own_entries(&part.value);
            let path: Vec<usize> = path.iter().copied().chain([number]).collect();
            let changes = self.changes.len();
            let is_all = self.remove_entries(&path, &part.value, own.iter());
            let was_there = part
                .key()
                .is_some_and(|event| original_events.is_some_and(|map| map.get(event).is_some()));
            if is_all && !was_there {
                self.changes.truncate(changes);
                emptied.push(number);
            }
        }
        if emptied.is_empty() {
            return;
        }
        let loses_all = emptied.len() == map.parts().len();
        match (path.last(), original_events) {
            // The map itself was ours.
            (Some(number), None) if loses_all => {
                self.removed_at_top.push(*number);
            }
            _ if path.is_empty() => self.removed_at_top.extend(emptied),
            _ => self.changes.push(SettingsChange::remove(&path, emptied)),
        }
    }

    /// Removes the keys beside the map of entries that a connection has added, such as a version.
    fn remove_top_keys(&mut self, file: &HostFile, original: &SettingsValue) {
        let Some(hooks_key) = self.hooks_key else { return };
        let ours: Value = serde_json::from_str(&file.text).expect("we wrote it");
        for (number, part) in self.root.parts().iter().enumerate() {
            let Some(key) = part.key().filter(|key| *key != hooks_key) else { continue };
            let is_ours = ours.get(key).is_some_and(|value| part.value.means(value));
            if is_ours && original.get(key).is_none() {
                self.removed_at_top.push(number);
            }
        }
    }

    fn finish(&mut self) {
        let removed = std::mem::take(&mut self.removed_at_top);
        if !removed.is_empty() {
            self.changes.push(SettingsChange::remove(&[], removed));
        }
    }

    /// Our entries in an event's list. The commands of an entry may be in a list of their own.
    fn own_entries(&self, list: &'a SettingsValue) -> Vec<MergedEntry<'a>> {
        let mut own = Vec::new();
        for (group, part) in list.parts().iter().enumerate() {
            let value = &part.value;
            let matcher = value.get("matcher").and_then(SettingsValue::text);
            let matcher = matcher.filter(|matcher| !matches!(*matcher, "" | "*" | ".*"));
            if self.is_own(value) {
                own.push(MergedEntry { group, inner: None, command: value, matcher });
            }
            let hooks = value.get("hooks").map(SettingsValue::parts).unwrap_or_default();
            for (inner, hook) in hooks.iter().enumerate() {
                if self.is_own(&hook.value) {
                    let (command, inner) = (&hook.value, Some(inner));
                    own.push(MergedEntry { group, inner, command, matcher });
                }
            }
        }
        own
    }

    fn is_own(&self, entry: &SettingsValue) -> bool {
        let name = self.host.name;
        let command = ["command", "bash"].iter().find_map(|key| entry.get(key)?.text());
        let Some(command) = command else { return false };
        match entry.get("args") {
            None => own_call::is_command(name, command),
            Some(args) => {
                let args = args.parts().iter().map(|part| part.value.text());
                let args: Option<Vec<&str>> = args.collect();
                args.is_some_and(|args| own_call::is_program_with(name, command, &args))
            }
        }
    }
}

/// The number of a key in a map. A key that appears twice is a fault: programs read one of the two,
/// and which one is not certain.
fn position(map: &SettingsValue, key: &str) -> Result<Option<usize>, SettingsFault> {
    let mut found = None;
    for (number, part) in map.parts().iter().enumerate() {
        let Some((its, at)) = &part.key else { continue };
        if its != key {
            continue;
        }
        if found.is_some() {
            let message = format!("`{key}` is here twice: merge both into one");
            return Err(SettingsFault::new(at.clone(), message));
        }
        found = Some(number);
    }
    Ok(found)
}

fn expected_map(value: &SettingsValue, what: &str) -> SettingsFault {
    let message = format!("expected {what} to be a map but found {}", value.found());
    SettingsFault::new(value.at.start..value.at.start + 1, message)
}

#[cfg(test)]
mod tests;
