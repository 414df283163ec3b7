//! Errors of `import --replace`: why a file is not replaced by a native one.

use std::io;
use std::path::{Path, PathBuf};

use super::{Advice, Failure, Message, without_number};

/// Why `import --replace` changes nothing.
#[derive(Debug)]
pub(crate) enum ImportFailure {
    /// The program never looks for the file, so its hooks do not run twice.
    NotFoundByItself { file: PathBuf },
    /// An agent reads the file itself.
    AgentReadsIt { file: PathBuf },
    /// The file has other settings of its system.
    HoldsMore { file: PathBuf, key: String },
    /// Some entries have no native form.
    SomeLeftOut { file: PathBuf, entries: usize },
    /// A native file with other content exists.
    NativeIsThere { native: PathBuf, old: PathBuf },
    /// The new file would not have the same hooks.
    NotTheSame { file: PathBuf, cause: String },
    /// The native file cannot be written.
    CannotWrite { file: PathBuf, cause: io::Error },
    /// The old file cannot be renamed.
    CannotRename { file: PathBuf, cause: io::Error },
    /// There is no folder for the user's files.
    NoUserFolder,
}

/// Advice about an imported file that the program still finds.
pub(crate) fn still_found(file: &Path, can_be_replaced: bool) -> Advice {
    let file = file.display();
    let heading = format!(
        "hookwright still finds {file}, so these hooks run twice once a native file has \
             them too"
    );
    let help = match can_be_replaced {
        false => format!("then remove them from {file}"),
        true => format!(
            "`hookwright import {file} --replace` writes the native file and renames {file}"
        ),
    };
    Advice::new(heading, help)
}

impl From<ImportFailure> for Failure {
    fn from(failure: ImportFailure) -> Self {
        Failure::Import(failure)
    }
}

impl ImportFailure {
    pub(super) fn message(&self) -> Message {
        let at = |file: &PathBuf| Some(file.display().to_string());
        match self {
            ImportFailure::NotFoundByItself { file } => Message {
                heading: "hookwright does not look for this file, so there is nothing to replace"
                    .into(),
                place: at(file),
                help: format!(
                    "write the native file: `hookwright import {} > hookwright.yaml`",
                    file.display()
                ),
            },
            ImportFailure::AgentReadsIt { file } => Message {
                heading: "the agent reads this file itself and would no longer run its hooks"
                    .into(),
                place: at(file),
                help: format!(
                    "nothing was changed; run `hookwright import {} > hookwright.yaml`, then \
                     remove the imported hooks from this file",
                    file.display()
                ),
            },
            ImportFailure::HoldsMore { file, key } => Message {
                heading: format!("the file holds more than hooks: `{key}`"),
                place: at(file),
                help: format!(
                    "nothing was changed; run `hookwright import {} > hookwright.yaml`, then \
                     remove `hooks` from this file",
                    file.display()
                ),
            },
            ImportFailure::SomeLeftOut { file, entries } => Message {
                heading: format!(
                    "{entries} of its entries cannot be imported, so the file is not replaced"
                ),
                place: at(file),
                help: "nothing was changed; fix or remove these entries first".into(),
            },
            ImportFailure::NativeIsThere { native, old } => Message {
                heading: format!("`{}` already exists, and is never overwritten", native.display()),
                place: at(old),
                help: format!(
                    "nothing was changed; copy the output of `hookwright import {}` into it, then \
                     rename the old file",
                    old.display()
                ),
            },
            ImportFailure::NotTheSame { file, cause } => Message {
                heading: format!("the native file would not be the same: {cause}"),
                place: at(file),
                help: "nothing was changed; import it by hand: `hookwright import FILE` prints it"
                    .into(),
            },
            ImportFailure::CannotWrite { file, cause } => Message {
                heading: format!("the file cannot be written: {}", without_number(cause)),
                place: at(file),
                help: "nothing was changed; make its folder writable".into(),
            },
            ImportFailure::CannotRename { file, cause } => Message {
                heading: format!("the file cannot be renamed: {}", without_number(cause)),
                place: at(file),
                help: "nothing was changed; make its folder writable".into(),
            },
            ImportFailure::NoUserFolder => Message {
                heading: "there is no home folder for hooks of all projects".into(),
                place: None,
                help: "set HOME or XDG_CONFIG_HOME".into(),
            },
        }
    }
}
