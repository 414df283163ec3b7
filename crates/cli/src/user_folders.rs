//! [`UserFolders`]: where the user's hooks, trust and sessions are kept.
//!
//! Guards are found by these folders, so who decides them decides which guards there are. As a rule
//! the environment does (`HOME`, `XDG_CONFIG_HOME`, `XDG_STATE_HOME`). Inside an agent it is the
//! environment in which a person started the agent, and where that cannot be read the system's list
//! of users ([`UserFolders::of_starter`]).

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::start_environment::CommandStarter;
use crate::system_user::SystemUser;

static DECIDED: OnceLock<UserFolders> = OnceLock::new();

/// Where the user's files are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserFolders {
    /// The home folder, if there is one.
    pub(crate) home: Option<PathBuf>,
    /// The folder for configuration, if the environment names one.
    config: Option<PathBuf>,
    /// The folder for state, if the environment names one.
    state: Option<PathBuf>,
}

impl UserFolders {
    /// The folders of this process: as they were decided, else as its environment says.
    pub(crate) fn current() -> &'static Self {
        DECIDED.get_or_init(|| Self::of_starter(&CommandStarter::Person))
    }

    /// The folders from here on, for all of this process. The first decision counts.
    pub(crate) fn decide(folders: Self) {
        let _ = DECIDED.set(folders);
    }

    /// The folders of the person who started this command, or the agent that did.
    pub(crate) fn of_starter(starter: &CommandStarter) -> Self {
        let absolute = |value: Option<OsString>| {
            value.map(PathBuf::from).filter(|folder| folder.is_absolute())
        };
        let home = match starter {
            // Other systems keep their users elsewhere, and load nothing into us to find them.
            CommandStarter::Person if !cfg!(target_os = "linux") => std::env::home_dir(),
            // Falls back to the list of users: without HOME the user's guards must not vanish.
            CommandStarter::Person | CommandStarter::Agent(_) => {
                starter.variable("HOME").map(PathBuf::from).or_else(listed_home)
            }
            CommandStarter::UnknownAgent => listed_home(),
        };
        Self {
            home: home.filter(|home| !home.as_os_str().is_empty()),
            config: absolute(starter.variable("XDG_CONFIG_HOME")),
            state: absolute(starter.variable("XDG_STATE_HOME")),
        }
    }

    /// The folder for configuration, if there is a home folder or the environment names one.
    pub(crate) fn config(&self) -> Option<PathBuf> {
        self.config.clone().or_else(|| self.home.as_ref().map(|home| home.join(".config")))
    }

    /// The folder for state, if there is a home folder or the environment names one.
    fn state(&self) -> Option<PathBuf> {
        let home = self.home.as_ref().filter(|home| home.is_absolute());
        self.state.clone().or_else(|| home.map(|home| home.join(".local/state")))
    }

    /// The folder of this program's state, as a rule `~/.local/state/hookwright`.
    pub(crate) fn own_state(&self) -> Option<PathBuf> {
        self.state().map(|folder| folder.join("hookwright"))
    }

    /// Whether the folder for configuration does not depend on the home folder.
    pub(crate) fn names_config(&self) -> bool {
        self.config.is_some()
    }
}

/// The home folder of this user in the system's list of users.
fn listed_home() -> Option<PathBuf> {
    SystemUser::of_this_process()?.home
}
