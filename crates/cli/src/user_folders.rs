//! [`UserFolders`]: where the user's hooks, trust and sessions are stored.
//!
//! These folders decide which guards are found. Usually the environment sets them (`HOME`,
//! `XDG_CONFIG_HOME`, `XDG_STATE_HOME`). Inside an agent it is the environment in which a person
//! started the agent, or, if that cannot be read, the system's list of users
//! ([`UserFolders::of_starter`]).

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::start_environment::CommandStarter;
use crate::system_user::SystemUser;

/// The name of the user's secrets, in the configuration folder of this program.
pub(crate) const SECRETS_NAME: &str = "secrets.env";

static DECIDED: OnceLock<UserFolders> = OnceLock::new();

/// The user's folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UserFolders {
    /// The home directory, if there is one.
    pub(crate) home: Option<PathBuf>,
    /// The configuration folder, if the environment names one.
    config: Option<PathBuf>,
    /// The state folder, if the environment names one.
    state: Option<PathBuf>,
}

impl UserFolders {
    /// The folders of this process: those that [`UserFolders::decide`] set, else those of its
    /// environment.
    pub(crate) fn current() -> &'static Self {
        DECIDED.get_or_init(|| Self::of_starter(&CommandStarter::Person))
    }

    /// Sets the folders of this process. The first call counts.
    pub(crate) fn decide(folders: Self) {
        let _ = DECIDED.set(folders);
    }

    /// The folders of the person who started this command or the calling agent.
    pub(crate) fn of_starter(starter: &CommandStarter) -> Self {
        let absolute = |value: Option<OsString>| {
            value.map(PathBuf::from).filter(|folder| folder.is_absolute())
        };
        let home = match starter {
            // Other systems store their users elsewhere, and load nothing into this process to find
            // them.
            CommandStarter::Person if !cfg!(target_os = "linux") => std::env::home_dir(),
            // Falls back to the list of users: without HOME the user's guards must not disappear.
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

    /// The configuration folder, if there is a home directory or the environment names one.
    pub(crate) fn config(&self) -> Option<PathBuf> {
        self.config.clone().or_else(|| self.home.as_ref().map(|home| home.join(".config")))
    }

    /// The state folder, if there is a home directory or the environment names one.
    fn state(&self) -> Option<PathBuf> {
        let home = self.home.as_ref().filter(|home| home.is_absolute());
        self.state.clone().or_else(|| home.map(|home| home.join(".local/state")))
    }

    /// The folder of this program's state, usually `~/.local/state/hookwright`.
    pub(crate) fn own_state(&self) -> Option<PathBuf> {
        self.state().map(|folder| folder.join("hookwright"))
    }

    /// Whether the configuration folder does not depend on the home directory.
    pub(crate) fn names_config(&self) -> bool {
        self.config.is_some()
    }
}

/// This user's home directory in the system's list of users.
fn listed_home() -> Option<PathBuf> {
    SystemUser::of_this_process()?.home
}
