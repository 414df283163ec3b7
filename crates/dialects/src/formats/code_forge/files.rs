//! The paths of Code-Forge's files. Its documentation says `src/forge`, its program `forge`; both
//! are read, the user's before the project's.

use std::path::{Path, PathBuf};

use crate::{Location, Whereabouts};

/// In the user's configuration folder, in reading order.
const OF_USER: [&str; 2] = ["src/forge/hooks.json", "forge/hooks.json"];

/// In a project, in reading order.
const OF_PROJECT: [&str; 2] = [".src/forge/hooks.json", ".forge/hooks.json"];

/// Every file, in reading order.
pub(super) fn locations(whereabouts: &Whereabouts<'_>) -> Vec<Location> {
    let of_user = of_user(whereabouts).into_iter().map(Location::of_user);
    of_user.chain(of_project(whereabouts).map(Location::of_project)).collect()
}

/// The user's files.
pub(super) fn of_user(whereabouts: &Whereabouts<'_>) -> Vec<PathBuf> {
    let Some(folder) = whereabouts.config_home else { return Vec::new() };
    OF_USER.map(|name| folder.join(name)).into()
}

/// The project's files.
pub(super) fn of_project(whereabouts: &Whereabouts<'_>) -> [PathBuf; 2] {
    OF_PROJECT.map(|name| whereabouts.project.join(name))
}

/// Whether a file belongs to Code-Forge, by its path alone.
pub(super) fn owns(path: &Path) -> bool {
    path.ends_with("forge/hooks.json") || path.ends_with(".forge/hooks.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_its_name_and_its_folder() {
        for (path, owned) in [
            (".forge/hooks.json", true),
            (".src/forge/hooks.json", true),
            ("/home/me/.config/src/forge/hooks.json", true),
            ("/home/me/.config/forge/hooks.json", true),
            ("hooks.json", false),
            ("my-forge/hooks.json", false),
            (".forge/hooks.yaml", false),
        ] {
            assert_eq!(owns(Path::new(path)), owned, "{path}");
        }
    }

    // Conformance: code-forge-039
    #[test]
    fn the_users_files_come_first_and_are_absent_without_a_home_folder() {
        let (project, config_home) = (Path::new("/p"), Path::new("/c"));
        let there = Whereabouts { project, home: None, config_home: Some(config_home) };
        let paths = |whereabouts| {
            let all: Vec<Location> = locations(whereabouts);
            all.into_iter().map(|location| location.path).collect::<Vec<_>>()
        };
        let of_project = ["/p/.src/forge/hooks.json", "/p/.forge/hooks.json"].map(PathBuf::from);
        let of_user = ["/c/src/forge/hooks.json", "/c/forge/hooks.json"].map(PathBuf::from);
        assert_eq!(paths(&there), [&of_user[..], &of_project[..]].concat());
        assert_eq!(paths(&Whereabouts { config_home: None, ..there }), of_project);
    }
}
