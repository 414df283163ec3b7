//! [`SystemUser`]: the user that runs this process, in the system's lists of users.
//!
//! For lists other than `/etc/passwd` (LDAP, systemd), the C library would load further libraries
//! into this process, from folders that the environment names. So this module runs the program
//! `getent` for those.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The system's own list of users.
const USERS: &str = "/etc/passwd";

/// Paths of the program that knows all lists.
const GETENT: [&str; 2] = ["/usr/bin/getent", "/run/current-system/sw/bin/getent"];

/// Its time limit. A directory service that does not answer in that time is down.
const GETENT_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes of its output: one line.
const GETENT_BYTES_MAX: u64 = 64 * 1024;

/// A user in the system's list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SystemUser {
    pub(crate) name: String,
    /// `None` if the list has no absolute path.
    pub(crate) home: Option<PathBuf>,
}

impl SystemUser {
    /// The user of this process, if a list has them.
    pub(crate) fn of_this_process() -> Option<Self> {
        let id = rustix::process::getuid().as_raw();
        let own = std::fs::read_to_string(USERS).ok().and_then(|users| Self::find(&users, id));
        own.or_else(|| {
            let program = GETENT.into_iter().map(Path::new).find(|path| path.exists())?;
            Self::find(&line_of(program, id, GETENT_TIMEOUT)?, id)
        })
    }

    fn find(users: &str, id: u32) -> Option<Self> {
        let id = id.to_string();
        let mut lines = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        // A line without a name is invalid.
        let is_theirs = |it: &Vec<&str>| it.get(2) == Some(&id.as_str()) && !it[0].is_empty();
        let fields = lines.find(is_theirs)?;
        let home = fields.get(5).map(PathBuf::from).filter(|home| home.is_absolute());
        Some(Self { name: (*fields.first()?).to_owned(), home })
    }
}

/// The line about a user that this program prints in time.
fn line_of(getent: &Path, id: u32, timeout: Duration) -> Option<String> {
    let mut command = Command::new(getent);
    command.args(["passwd", &id.to_string()]).env_clear();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let output = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let is_read = output.take(GETENT_BYTES_MAX).read_to_string(&mut text).is_ok();
        // After the timeout the receiver is gone.
        let _ = sender.send(is_read.then_some(text));
    });
    let line = receiver.recv_timeout(timeout);
    let _ = child.kill();
    let _ = child.wait();
    line.ok()?
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

    /// A program with this text. Another process writes it: a file that this process has open for
    /// writing could be inherited by another test's child, and then cannot be executed.
    fn program(folder: &Path, text: &str) -> PathBuf {
        let path = folder.join("getent");
        let mut install = Command::new("install");
        install.args(["-m", "755", "/dev/stdin"]).arg(&path).stdin(Stdio::piped());
        let mut child = install.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
        path
    }

    #[test]
    fn a_user_of_another_list_is_asked_for_without_our_environment_and_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let getent = program(folder.path(), "#!/bin/sh\necho \"$@ ${HOME-homeless}\"\n");
        let line = line_of(&getent, 7, Duration::from_secs(60));
        assert_eq!(line.as_deref(), Some("passwd 7 homeless\n"));
        let getent = program(folder.path(), "#!/bin/sh\nexec /bin/sleep 1000\n");
        assert_eq!(line_of(&getent, 7, Duration::from_millis(10)), None);
        assert_eq!(line_of(Path::new("/nowhere/getent"), 7, GETENT_TIMEOUT), None);
    }
}
