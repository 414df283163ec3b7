//! Reads Code-Forge's files: `{"hooks": [entry, …]}`. An entry that cannot be used is skipped with
//! a warning and the others stay. An unreadable file has no hooks. A file without `hooks` has none
//! either, which is valid.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use hookwright_config::tree::{Node, Notes, parse};
use hookwright_config::{ExpectedValue, Fault, ForeignFile, Loaded, SourceFile};
use hookwright_engine::hook::{HookSource, Layer};
use hookwright_engine::variables::Environment;

use super::entry::Checked;

/// Reads one file into `loaded`.
pub(super) fn read(file: &ForeignFile<'_>, environment: &Environment, loaded: &mut Loaded) {
    let source = match &file.text {
        Ok(source) => source,
        Err(fault) => return loaded.leave_out([fault.clone()]),
    };
    let (shown_as, path): (Arc<Path>, Arc<Path>) =
        (file.file.shown_as.as_path().into(), file.file.path.as_path().into());
    let layer = file.file.layer;
    let stem = loaded.unused_stem(if layer == Layer::Global { "forge-user" } else { "forge" });
    let mut numbers: HashMap<String, usize> = HashMap::new();
    each_entry(source, |node, read, faults| {
        loaded.leave_out(faults);
        let Some(checked) = read else { return true };
        let number = numbers.entry(checked.heard.clone()).or_default();
        let id = format!("{stem}/{}#{number}", checked.heard);
        *number += 1;
        let (file, path) = (Arc::clone(&shown_as), Arc::clone(&path));
        let line = node.at.place(source).line;
        let hook = checked.into_hook(id, HookSource { file, path, line }, layer);
        loaded.warn_about(&hook, node, source, environment);
        let pattern = hook.pattern.clone();
        if loaded.add(hook).is_err() {
            loaded.block_over_hook_limit(pattern, node, source);
        }
        true
    })
    .unwrap_or_else(|faults| loaded.leave_out(faults));
}

/// Passes each entry of a file, in order, with its faults to `take` until that returns. The error
/// says why the whole file cannot be read.
pub(super) fn each_entry(
    source: &Arc<SourceFile>,
    mut take: impl FnMut(&Node, Option<Checked>, Vec<Fault>) -> bool,
) -> Result<(), Vec<Fault>> {
    let root = parse(source).map_err(|fault| vec![fault])?;
    let mut notes = Notes::new(source);
    let hooks = notes.map(&root, "an object with the key `hooks`").and_then(|fields| {
        let field = fields.iter().find(|field| &*field.key == "hooks")?;
        notes.list(&field.value, ExpectedValue::HookList)
    });
    for node in hooks.unwrap_or_default() {
        let read = Checked::read(node, &mut notes);
        if !take(node, read, std::mem::take(&mut notes.faults)) {
            break;
        }
    }
    match notes.faults {
        faults if faults.is_empty() => Ok(()),
        faults => Err(faults),
    }
}
