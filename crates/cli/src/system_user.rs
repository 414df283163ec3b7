//! [`SystemUser`]: the user that runs this process, in the system's list of users.

use std::path::PathBuf;

/// The system's list of users.
const USERS: &str = "/etc/passwd";

/// A user as the system lists them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SystemUser {
    pub(crate) name: String,
    /// None where the list names no absolute path.
    pub(crate) home: Option<PathBuf>,
}

impl SystemUser {
    /// The user that runs this process, if the list has them.
    pub(crate) fn of_this_process() -> Option<Self> {
        let id = rustix::process::getuid().as_raw();
        Self::find(&std::fs::read_to_string(USERS).ok()?, id)
    }

    fn find(users: &str, id: u32) -> Option<Self> {
        let id = id.to_string();
        let mut lines = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        // A line without a name says nothing about anyone.
        let is_theirs = |it: &Vec<&str>| it.get(2) == Some(&id.as_str()) && !it[0].is_empty();
        let fields = lines.find(is_theirs)?;
        let home = fields.get(5).map(PathBuf::from).filter(|home| home.is_absolute());
        Some(Self { name: (*fields.first()?).to_owned(), home })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_number_with_the_home_folder_if_that_is_a_whole_path() {
        let users = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:Ann,,,:/home/ann:/bin/bash\n\
                     odd:x:7:7::relative:/bin/sh\n\n:x:8:8:::\nbroken\n";
        let user = |name: &str, home: Option<&str>| {
            Some(SystemUser { name: name.into(), home: home.map(PathBuf::from) })
        };
        assert_eq!(SystemUser::find(users, 1000), user("ann", Some("/home/ann")));
        assert_eq!(SystemUser::find(users, 0), user("root", Some("/root")));
        assert_eq!(SystemUser::find(users, 7), user("odd", None));
        for unknown in [8, 1001] {
            assert_eq!(SystemUser::find(users, unknown), None, "{unknown}");
        }
    }
}
