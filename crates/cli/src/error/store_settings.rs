//! What is wrong with the settings of the store. No message shows an address or a password.

use hookwright_engine::variables::STORE_VARIABLE;
use hookwright_store::{AddressError, LocationError};

use super::{Message, did_you_mean, quoted, without_number};
use crate::store_settings::{KEYS, StoreSettingsFailure, StoreSettingsFault};

impl StoreSettingsFailure {
    pub(super) fn message(&self) -> Message {
        let (heading, help) = self.fault.words();
        let is_of_variable = self.place == STORE_VARIABLE;
        let help = match self.fault {
            StoreSettingsFault::Location(LocationError::Address(AddressError::Password)) => help,
            StoreSettingsFault::Location(_) if is_of_variable => format!(
                "set `{STORE_VARIABLE}=postgres://USER@HOST/DATABASE`, or unset it to use the store \
                 of store.yaml"
            ),
            _ => help,
        };
        Message { heading, place: Some(self.place.clone()), help }
    }
}

impl StoreSettingsFault {
    fn words(&self) -> (String, String) {
        let heading = match self {
            Self::Missing => "expected a file but found nothing".to_owned(),
            Self::Unreadable { cause } => {
                format!("the file cannot be read: {}", without_number(cause))
            }
            Self::NotAFile => "expected a file but found something else".to_owned(),
            Self::TooLarge { bytes_max } => format!("expected at most {bytes_max} bytes"),
            Self::NotYaml => "the file is not valid YAML".to_owned(),
            Self::Expected(what) => format!("expected {what}"),
            Self::UnknownKey { key, .. } => format!("unknown key `{key}`"),
            Self::Location(error) => error.to_string(),
            Self::File { file, fault } => format!("`{file}`: {}", fault.words().0),
            Self::OthersCanRead { file, mode } => {
                format!("`{file}` has mode {mode:04o}, expected 0600: others can read the password")
            }
            Self::NoPassword { file } => {
                format!("`{file}` has no password, expected one line of text")
            }
            Self::Secrets => "secrets.env cannot be read, and may have the password".to_owned(),
        };
        (heading, self.help())
    }

    fn help(&self) -> String {
        match self {
            Self::Location(LocationError::Address(AddressError::Password)) => {
                "remove it from the address; write it into a file of mode 0600 and name that with \
                 `password_file`, or set HOOKWRIGHT_STORE_PASSWORD in secrets.env"
                    .into()
            }
            Self::Location(LocationError::NotAbsolute { .. })
            | Self::Location(LocationError::NotSupported { .. })
            | Self::Location(LocationError::Address(_)) => {
                "write `store: postgres://USER@HOST/DATABASE`, or remove it to use the local store"
                    .into()
            }
            Self::UnknownKey { nearest, .. } => did_you_mean(*nearest)
                .unwrap_or_else(|| format!("use one of {}", quoted(KEYS, ", "))),
            Self::OthersCanRead { file, .. } => format!("run `chmod 600 {file}`"),
            Self::NoPassword { .. } => "write the password into it, and nothing else".into(),
            Self::Secrets => "`hookwright check` shows what is wrong with it".into(),
            Self::File { .. } => "name a file, relative to the folder of store.yaml".into(),
            Self::Missing
            | Self::Unreadable { .. }
            | Self::NotAFile
            | Self::TooLarge { .. }
            | Self::NotYaml
            | Self::Expected(_) => {
                "write one setting a line, like `store: postgres://USER@HOST/DATABASE`".into()
            }
        }
    }
}
