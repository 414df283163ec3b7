//! The dialects: other systems' files, and the agents that call us, by the rules of their own
//! specifications. Foreign names stop here.
//!
//! | part | contains |
//! |---|---|
//! | `formats` | systems whose files we read and whose hooks our engine runs |
//! | [`native`] | their hooks in the native format, for migration |
//! | [`agent_files`] | hook files of agents that run our hooks, for migration |

#![warn(missing_docs)]

pub mod agent_files;
mod formats;
pub mod hosts;
pub mod native;
mod own_call;
mod sender;
mod settings_text;

use std::sync::LazyLock;

use hookwright_config::KnownSystems;

pub use formats::{Foreign, Location, Whereabouts, all, named, of_file};
pub use own_call::can_be_called;
pub use settings_text::SettingsFault;

pub use formats::{agent_pipelines, claude, code_forge, iteratr};

/// Every system that hooks of a native file may name.
pub fn known() -> KnownSystems {
    static KNOWN: LazyLock<KnownSystems> = LazyLock::new(|| KnownSystems {
        dialects: formats::dialects().leak(),
        hosts: hosts::all().iter().map(|host| host.name).collect::<Vec<_>>().leak(),
    });
    *KNOWN
}
