//! Which store this user has: `store.yaml` in the configuration folder, or the variable
//! `HOOKWRIGHT_STORE`, or else the folder of the user's state.
//!
//! A project's files have no say: a cloned repository must not choose where journals go. Nor has a
//! process inside a session, or an agent that calls `hook`: there the variable is ignored.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hookwright_config::tree::{Mark, Node, Raw, parse};
use hookwright_config::{SourceFile, read_secrets};
use hookwright_engine::nearest;
use hookwright_engine::variables::STORE_VARIABLE;
use hookwright_pipeline::caller::Caller;
use hookwright_store::{LocationError, Password, PostgresAccess, StoreLocation};

use crate::user_folders::{SECRETS_NAME, UserFolders};

/// The file's name, in the configuration folder of this program.
const NAME: &str = "store.yaml";

/// Its keys.
pub(crate) const KEYS: &[&str] = &["store", "password_file", "allow_plain", "root_certificate"];

/// Bytes of `store.yaml`, of a password's file and of a file of certificates. The largest bundles
/// of certificates have 300 KB.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

static IGNORES_VARIABLE: AtomicBool = AtomicBool::new(false);

/// Ignores the variable from now on: an agent's settings may have set it.
pub(crate) fn ignore_variable() {
    IGNORES_VARIABLE.store(true, Ordering::Relaxed);
}

/// The store that the user has chosen.
#[derive(Debug)]
pub(crate) struct ChosenStore {
    /// `None` if there is no setting.
    pub(crate) location: Option<StoreLocation>,
    /// Where the setting is: a place in the file, or the variable's name.
    pub(crate) place: Option<String>,
    /// Whether the variable is set and was ignored.
    pub(crate) ignores_variable: bool,
}

/// A fault of `store.yaml` or of the variable.
#[derive(Debug)]
pub(crate) struct StoreSettingsFailure {
    pub(crate) place: String,
    pub(crate) fault: StoreSettingsFault,
}

/// What is wrong.
#[derive(Debug)]
pub(crate) enum StoreSettingsFault {
    /// There is no such file.
    Missing,
    /// The file cannot be read.
    Unreadable { cause: std::io::Error },
    /// A folder, a pipe or a device.
    NotAFile,
    /// A file that is too large for what it should have.
    TooLarge { bytes_max: u64 },
    /// The text is not YAML.
    NotYaml,
    /// Another kind of value was expected.
    Expected(&'static str),
    /// An unknown key.
    UnknownKey { key: String, nearest: Option<&'static str> },
    /// The text is not the location of a store.
    Location(LocationError),
    /// A file that the settings name.
    File { file: String, fault: Box<StoreSettingsFault> },
    /// A password that others can read.
    OthersCanRead { file: String, mode: u32 },
    /// A file without one line of text.
    NoPassword { file: String },
    /// `secrets.env` has faults.
    Secrets,
}

impl StoreSettingsFailure {
    fn at(place: &str, fault: StoreSettingsFault) -> Self {
        Self { place: place.to_owned(), fault }
    }
}

/// Which store the user has chosen.
pub(crate) fn chosen() -> Result<ChosenStore, StoreSettingsFailure> {
    let file = UserFolders::current().config().map(|folder| folder.join("hookwright").join(NAME));
    let settings = match &file {
        Some(path) => StoreSettings::read(path)?,
        None => StoreSettings::default(),
    };
    let of_variable = std::env::var_os(STORE_VARIABLE).filter(|value| !value.is_empty());
    let ignores_variable = of_variable.is_some() && is_ignored();
    let text = match of_variable.filter(|_| !ignores_variable) {
        Some(value) => Some(LocatedText {
            value: value.to_string_lossy().into_owned(),
            place: STORE_VARIABLE.to_owned(),
        }),
        None => settings.store.clone(),
    };
    let Some(LocatedText { value, place }) = text else {
        return Ok(ChosenStore { location: None, place: None, ignores_variable });
    };
    let mut location = value
        .parse()
        .map_err(|error| StoreSettingsFailure::at(&place, StoreSettingsFault::Location(error)))?;
    if let StoreLocation::Postgres(access) = &mut location {
        settings.complete(access)?;
    }
    Ok(ChosenStore { location: Some(location), place: Some(place), ignores_variable })
}

/// Where the user has chosen the store, if they have.
pub(crate) fn place() -> Option<String> {
    chosen().ok().and_then(|chosen| chosen.place)
}

/// Whether the variable comes from an agent or a hook, which inherit it only if they set it
/// themselves.
fn is_ignored() -> bool {
    IGNORES_VARIABLE.load(Ordering::Relaxed) || Caller::this().is_inside_any(|_| true)
}

/// A text and where it was found.
#[derive(Debug, Clone)]
struct LocatedText {
    value: String,
    place: String,
}

/// The settings of `store.yaml`.
#[derive(Debug, Default)]
struct StoreSettings {
    /// The folder of the file.
    folder: PathBuf,
    store: Option<LocatedText>,
    password_file: Option<LocatedText>,
    allow_plain: bool,
    root_certificate: Option<LocatedText>,
    session_away_max: Option<Duration>,
}

impl StoreSettings {
    /// Reads the file; without one, nothing is set.
    fn read(path: &Path) -> Result<Self, StoreSettingsFailure> {
        let shown = path.display().to_string();
        let file_fault = |fault| StoreSettingsFailure::at(&shown, fault);
        let text = match bytes_of(path) {
            Ok((bytes, _)) => {
                String::from_utf8(bytes).map_err(|_| file_fault(StoreSettingsFault::NotYaml))?
            }
            Err(StoreSettingsFault::Missing) => return Ok(Self::default()),
            Err(fault) => return Err(file_fault(fault)),
        };
        let source = Arc::new(SourceFile { path: path.into(), text: text.into() });
        let tree = parse(&source).map_err(|fault| match fault.place {
            Some(at) => StoreSettingsFailure::at(
                &format!("{shown}:{}:{}", at.line, at.column),
                StoreSettingsFault::NotYaml,
            ),
            None => file_fault(StoreSettingsFault::NotYaml),
        })?;
        let reader = StoreSettingsReader { source: &source, shown: &shown };
        let mut settings = Self { folder: path.parent().unwrap_or(path).into(), ..Self::default() };
        match &tree.raw {
            Raw::Null => {}
            Raw::Map(fields) => {
                for field in fields {
                    reader.take(&mut settings, &field.key, field.at, &field.value)?;
                }
            }
            _ => {
                return Err(
                    reader.fault(tree.at, StoreSettingsFault::Expected("a map of settings"))
                );
            }
        }
        Ok(settings)
    }

    /// Adds password and certificates.
    fn complete(&self, access: &mut PostgresAccess) -> Result<(), StoreSettingsFailure> {
        access.allow_plain = self.allow_plain;
        if let Some(most) = self.session_away_max {
            access.session_away_max = most;
        }
        if let Some(file) = &self.root_certificate {
            let (bytes, _) = self.referenced(file)?;
            access.root_certificate = Some(bytes);
        }
        access.password = match &self.password_file {
            Some(file) => Some(self.password(file)?),
            None => password_of_secrets()?,
        };
        Ok(())
    }

    fn password(&self, file: &LocatedText) -> Result<Password, StoreSettingsFailure> {
        let (bytes, mode) = self.referenced(file)?;
        let fault = |fault| StoreSettingsFailure::at(&file.place, fault);
        if mode & 0o077 != 0 {
            return Err(fault(StoreSettingsFault::OthersCanRead {
                file: file.value.clone(),
                mode,
            }));
        }
        let text = String::from_utf8(bytes).unwrap_or_default();
        let password = text.strip_suffix('\n').unwrap_or(&text);
        if password.is_empty() || password.contains(['\n', '\0']) {
            return Err(fault(StoreSettingsFault::NoPassword { file: file.value.clone() }));
        }
        Ok(Password::new(password.to_owned()))
    }

    /// A file that the settings name, relative to their folder, with its mode.
    fn referenced(&self, file: &LocatedText) -> Result<(Vec<u8>, u32), StoreSettingsFailure> {
        bytes_of(&self.folder.join(&file.value)).map_err(|fault| {
            let fault =
                StoreSettingsFault::File { file: file.value.clone(), fault: Box::new(fault) };
            StoreSettingsFailure::at(&file.place, fault)
        })
    }
}

/// Reads the entries of the file.
struct StoreSettingsReader<'a> {
    source: &'a Arc<SourceFile>,
    shown: &'a str,
}

impl StoreSettingsReader<'_> {
    fn take(
        &self,
        settings: &mut StoreSettings,
        key: &str,
        at: Mark,
        value: &Node,
    ) -> Result<(), StoreSettingsFailure> {
        let text = || match &value.raw {
            Raw::Text(text) if !text.trim().is_empty() => {
                Ok(Some(LocatedText { value: text.to_string(), place: self.place(value.at) }))
            }
            _ => Err(self.fault(value.at, StoreSettingsFault::Expected("a text"))),
        };
        match key {
            "store" => settings.store = text()?,
            "password_file" => settings.password_file = text()?,
            "root_certificate" => settings.root_certificate = text()?,
            "allow_plain" => match value.raw {
                Raw::Bool(is_allowed) => settings.allow_plain = is_allowed,
                _ => {
                    return Err(self.fault(value.at, StoreSettingsFault::Expected("true or false")));
                }
            },
            // For tests, and not in the documentation.
            "session_away_max_seconds" => match value.raw {
                Raw::Int(seconds) if seconds > 0 => {
                    settings.session_away_max = Some(Duration::from_secs(seconds.unsigned_abs()));
                }
                _ => {
                    return Err(
                        self.fault(value.at, StoreSettingsFault::Expected("a whole number"))
                    );
                }
            },
            _ => {
                let nearest = nearest(key, KEYS.iter().copied());
                let key = key.to_owned();
                return Err(self.fault(at, StoreSettingsFault::UnknownKey { key, nearest }));
            }
        }
        Ok(())
    }

    fn place(&self, at: Mark) -> String {
        let place = at.place(self.source);
        format!("{}:{}:{}", self.shown, place.line, place.column)
    }

    fn fault(&self, at: Mark, fault: StoreSettingsFault) -> StoreSettingsFailure {
        StoreSettingsFailure::at(&self.place(at), fault)
    }
}

/// The password in `secrets.env`, if there is one.
fn password_of_secrets() -> Result<Option<Password>, StoreSettingsFailure> {
    let Some(folder) = UserFolders::current().config() else { return Ok(None) };
    let path = folder.join("hookwright").join(SECRETS_NAME);
    if !path.exists() {
        return Ok(None);
    }
    let secrets = read_secrets(&path, &path).map_err(|_| {
        StoreSettingsFailure::at(&path.display().to_string(), StoreSettingsFault::Secrets)
    })?;
    Ok(secrets.store_password().map(|password| Password::new(password.to_owned())))
}

/// The content of a file and its mode.
fn bytes_of(path: &Path) -> Result<(Vec<u8>, u32), StoreSettingsFault> {
    let unreadable = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => StoreSettingsFault::Missing,
        _ => StoreSettingsFault::Unreadable { cause: error },
    };
    // Before it is opened: a pipe would wait for ever.
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(StoreSettingsFault::NotAFile);
    }
    let file = File::open(path).map_err(unreadable)?;
    let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o777;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(StoreSettingsFault::TooLarge { bytes_max: FILE_BYTES_MAX }),
        false => Ok((bytes, mode)),
    }
}
