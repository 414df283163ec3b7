//! What keeps connected hooks from running, as far as the settings show it.

use std::fs;
use std::path::Path;

use hookwright_dialects::hosts::{self, FileShare, Host, HostFile, disconnected};

use super::plan::AgentFolders;
use crate::text::visible_path;

/// What to tell the user about an agent's settings. `here` is the working directory.
pub(super) fn warnings(host: &Host, folders: &AgentFolders, here: &Path) -> Vec<String> {
    let files = host.files("hookwright");
    let Some(file) = files.first() else { return Vec::new() };
    let (agent, mut warnings) = (host.display_name, Vec::new());
    let of_user = AgentFolders { project: None, ..folders.clone() }.path(host, file).ok();
    let of_project = file.of_project(here);
    for switch in host.differences.off_switches {
        let mut paths: Vec<_> =
            of_user.iter().chain([&of_project]).map(|path| switch.path(path)).collect();
        paths.sort();
        paths.dedup();
        for path in paths.iter().filter(|path| switch.is_off_in(&read(path))) {
            let (setting, path) = (switch.written(), visible_path(path));
            warnings.push(format!("{agent} runs no hooks of yours: `{setting}` in {path}"));
        }
    }
    let is_project = folders.project.is_some();
    let other_level = if is_project { of_user.as_deref() } else { Some(&*of_project) };
    let connected_path = folders.path(host, file).ok();
    if let Some(path) = other_level
        && connected_path.as_deref() != Some(path)
        && calls_us(host, file, path)
    {
        let path = visible_path(path);
        warnings.push(match host.differences.may_deliver_twice {
            true => format!("{agent} calls hookwright twice for each event: also from {path}"),
            false => format!("of equal entries {agent} runs one, and {path} has some too"),
        });
    }
    if let Some(other) = host.differences.also_reads.and_then(hosts::named) {
        let files = other.files("hookwright");
        let theirs = files.first().map(|file| (file, file.of_project(here)));
        if let Some((_, path)) = theirs.filter(|(file, path)| calls_us(other, file, path)) {
            let path = visible_path(&path);
            warnings.push(format!(
                "{agent} also reads {path}, made for {}: hookwright refuses its calls from there; \
                 connect {} for the user instead: `hookwright connect {} --project --undo`",
                other.display_name, other.display_name, other.name
            ));
        }
    }
    warnings.extend(host.cautions(is_project).map(str::to_owned));
    warnings
}

/// Whether a file calls this program as the host.
fn calls_us(host: &Host, file: &HostFile, path: &Path) -> bool {
    let text = read(path);
    match file.share {
        FileShare::Settings { .. } => {
            let without_us = disconnected(host, file, &text, Some(""));
            without_us.is_ok_and(|left| left.as_deref() != Some(&*text))
        }
        FileShare::Own => host.is_own_file(file, &text),
    }
}

/// The text of a file that is there and readable.
fn read(path: &Path) -> String {
    match path.is_file() {
        true => fs::read_to_string(path).unwrap_or_default(),
        false => String::new(),
    }
}
