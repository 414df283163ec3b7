//! The paths of AutoAgent's files: `.autoagent/config.json` in the project and in the home
//! directory.

use std::path::Path;

use crate::{Location, Whereabouts};

const FILE: &str = ".autoagent/config.json";

pub(super) fn locations(whereabouts: &Whereabouts<'_>) -> Vec<Location> {
    let of_project = Location::of_project(whereabouts.project.join(FILE));
    let of_user = whereabouts.home.map(|home| Location::of_user(home.join(FILE)));
    // If the project is the home directory, both are the same file.
    let of_user = of_user.filter(|location| location.path != of_project.path);
    [of_project].into_iter().chain(of_user).collect()
}

pub(super) fn owns(path: &Path) -> bool {
    path.ends_with(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_comes_first_and_the_home_folders_file_is_listed_once() {
        let (project, home) = (Path::new("/home/me/project"), Path::new("/home/me"));
        let at = |project, home| locations(&Whereabouts { project, home, config_home: None });
        let of_project = Location::of_project("/home/me/project/.autoagent/config.json".into());
        let of_user = Location::of_user("/home/me/.autoagent/config.json".into());
        assert_eq!(at(project, Some(home)), [of_project.clone(), of_user.clone()]);
        assert_eq!(at(project, None), [of_project]);
        assert_eq!(at(home, Some(home)), [Location::of_project(of_user.path)]);
    }

    // Conformance: autoagent-002
    #[test]
    fn a_file_is_known_by_its_folder_and_its_name() {
        for (path, is_owned) in [
            ("/p/.autoagent/config.json", true),
            (".autoagent/config.json", true),
            ("/p/autoagent/config.json", false),
            ("/p/.autoagent/config.json.bak", false),
            ("config.json", false),
        ] {
            assert_eq!(owns(Path::new(path)), is_owned, "{path}");
        }
    }
}
