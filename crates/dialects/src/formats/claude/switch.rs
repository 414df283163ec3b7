//! `disableAllHooks`: which hooks are switched off.
//!
//! Of the files that set it, the nearest counts: the project's local settings, then the project's,
//! then the user's. A project switches off its own hooks and those of the user's hooks that cannot
//! block: a cloned repository must not switch a user's guards off.

use hookwright_config::ConfigFile;
use hookwright_engine::hook::Layer;
use hookwright_events::Power;

/// The value in one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switch {
    rank: Rank,
    says: Option<bool>,
}

/// How near a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Local,
    Project,
    User,
}

/// Who switched hooks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Off {
    /// No file.
    No,
    /// A file of the project.
    ByProject,
    /// The user.
    ByUser,
}

impl Switch {
    /// The value in a file.
    pub(super) fn new(file: &ConfigFile, says: Option<bool>) -> Self {
        let is_local = file.path.file_name().is_some_and(|name| name == "settings.local.json");
        let rank = match file.layer {
            Layer::Global => Rank::User,
            _ if is_local => Rank::Local,
            _ => Rank::Project,
        };
        Self { rank, says }
    }
}

/// The setting that counts.
pub(super) fn effective(switches: &[Switch]) -> Off {
    let nearest = switches.iter().filter(|switch| switch.says.is_some());
    match nearest.min_by_key(|switch| switch.rank) {
        Some(Switch { rank: Rank::User, says: Some(true) }) => Off::ByUser,
        Some(Switch { says: Some(true), .. }) => Off::ByProject,
        Some(_) | None => Off::No,
    }
}

impl Off {
    /// Whether a hook of this layer, at an event of this power, is switched off.
    pub(super) fn drops(self, layer: Layer, power: Power) -> bool {
        match self {
            Off::No => false,
            Off::ByUser => true,
            Off::ByProject => layer != Layer::Global || !power.can_block(),
        }
    }
}
