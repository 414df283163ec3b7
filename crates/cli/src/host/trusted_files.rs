//! Which of the found files may run inside an agent: those that a person has trusted.

use std::path::PathBuf;

use hookwright_config::ReadFile;

use crate::config_files::ConfigFiles;
use crate::error::Failure;
use crate::text::visible_path;
use crate::trust::{self, Standing, Trust, Untrusted};

/// Removes the untrusted files. Returns the places of the trusted ones, and the reason to block
/// what the others may have guarded.
pub(super) fn retain(
    found: &ConfigFiles,
    files: &mut Vec<ReadFile>,
) -> (Vec<PathBuf>, Option<String>) {
    let (refusal, untrusted) = judge(found, files);
    files.retain(|file| !untrusted.contains(&file.file().path));
    let trusted = found.in_need_of_trust(files).map(|file| trust::place(&file.file().path));
    (trusted.collect(), refusal)
}

/// The reason to block, and the untrusted files.
fn judge(found: &ConfigFiles, read: &[ReadFile]) -> (Option<String>, Vec<PathBuf>) {
    let mut in_need = found.in_need_of_trust(read).peekable();
    if in_need.peek().is_none() {
        return (None, Vec::new());
    }
    match Trust::of_user().or_problem() {
        Ok(trust) => {
            let untrusted = trust.untrusted(in_need);
            let paths = untrusted.iter().map(|file| file.read.file().path.clone());
            (refusal(&untrusted), paths.collect())
        }
        Err(problem) => {
            let paths = in_need.map(|file| file.file().path.clone());
            (Some(Failure::Trust(problem).message().in_one_line()), paths.collect())
        }
    }
}

fn refusal(untrusted: &[Untrusted<'_>]) -> Option<String> {
    let first = untrusted.first()?;
    let how = match first.standing {
        Standing::Changed => "has changed since it was trusted",
        Standing::Unknown | Standing::Trusted => "is not trusted",
    };
    let more = match untrusted.len() {
        1 => String::new(),
        many => format!(" (and {} more)", many - 1),
    };
    let command = trust::command_to_type(untrusted.iter().map(|file| &*file.place), false);
    Some(format!(
        "the hook file {} {how}{more}, so its hooks do not run; to review and trust it, run in a \
         terminal: {command}",
        visible_path(&first.place)
    ))
}
