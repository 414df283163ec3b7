//! [`HostProgram`]: a host's own program: its name, how to get it, and which version was measured.

use std::fmt;

/// A host's own program. Nothing here touches the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostProgram {
    /// Its name in `PATH`.
    pub name: &'static str,
    /// The npm package that has it.
    pub package: &'static str,
    /// The oldest version whose hooks were measured.
    pub measured: ProgramVersion,
    /// What older versions lack, if that is known.
    pub missing_before: Option<&'static str>,
}

/// A version of a program: `2.1.325`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProgramVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl HostProgram {
    /// The command that installs it.
    pub fn install_command(&self) -> String {
        format!("npm install -g {}", self.package)
    }
}

impl ProgramVersion {
    /// The version with these numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// The first version in what a program prints for `--version`, such as `codex-cli 0.166.0` or
    /// `2.1.325 (Claude Code)`.
    pub fn find(printed: &str) -> Option<Self> {
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        printed.split(|letter| !is_part(letter)).find_map(|word| {
            let mut numbers = word.split('.').map(str::parse);
            let mut next = || numbers.next()?.ok();
            Some(Self::new(next()?, next()?, next()?))
        })
    }
}

impl fmt::Display for ProgramVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_whatever_a_program_prints_around_it() {
        for (printed, expected) in [
            ("2.1.325 (Claude Code)\n", Some(ProgramVersion::new(2, 1, 325))),
            ("codex-cli 0.166.0\n", Some(ProgramVersion::new(0, 166, 0))),
            (
                "GitHub Copilot CLI 1.0.102.\nCommit: 1f2e3d4\n",
                Some(ProgramVersion::new(1, 0, 102)),
            ),
            ("v1.18.33-beta.2", Some(ProgramVersion::new(1, 18, 33))),
            ("warning: 1 thing\n0.24.4", Some(ProgramVersion::new(0, 24, 4))),
            ("version 2.1", None),
            ("99999999999.1.1", None),
            ("", None),
        ] {
            assert_eq!(ProgramVersion::find(printed), expected, "{printed:?}");
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(ProgramVersion::new(2, 1, 197) < ProgramVersion::new(2, 1, 295));
        assert!(ProgramVersion::new(0, 9, 9) < ProgramVersion::new(0, 24, 4));
        assert_eq!(ProgramVersion::new(2, 1, 295).to_string(), "2.1.295");
    }
}
