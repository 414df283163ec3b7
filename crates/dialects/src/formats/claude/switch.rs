//! `disableAllHooks`: which hooks are switched off.
//!
//! Of the files that set it, the nearest counts: the project's local settings, then the project's,
//! then the user's. A project switches off its own hooks and those of the user's hooks that cannot
//! block: a cloned repository must not switch a user's guards off.
//!
//! A session on a worker has files of two users: who submitted it, and the worker's own. The switch
//! of one does not reach the hooks in the file of the other.

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

/// The setting that counts for the file with this switch, which is one of `all`.
pub(super) fn effective(all: &[Switch], own: &Switch) -> Off {
    let is_of_another_user = |switch: &Switch| {
        own.rank == Rank::User && switch.rank == Rank::User && !std::ptr::eq(switch, own)
    };
    let nearest = all.iter().filter(|switch| switch.says.is_some() && !is_of_another_user(switch));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_of_one_user_leaves_the_hooks_of_another_on() {
        let switch = |layer, says| {
            let file = ConfigFile::native("settings.json", "settings.json", layer);
            Switch::new(&file, says)
        };
        let of = |switches: &[Switch]| -> Vec<Off> {
            switches.iter().map(|own| effective(switches, own)).collect()
        };
        let (submitter, worker) = (switch(Layer::Global, Some(true)), switch(Layer::Global, None));
        assert_eq!(of(&[submitter, worker]), [Off::ByUser, Off::No]);
        let project = switch(Layer::Project, Some(false));
        assert_eq!(of(&[project, submitter, worker]), [Off::No; 3]);
        let project = switch(Layer::Project, None);
        assert_eq!(of(&[project, submitter, worker]), [Off::ByUser, Off::ByUser, Off::No]);
    }
}
