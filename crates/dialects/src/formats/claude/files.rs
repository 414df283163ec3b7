//! The paths of Claude Code's settings.

use std::path::Path;

use super::mcp_servers;
use crate::{Location, Whereabouts};

/// The project's settings, its local ones, its servers, and the user's settings.
pub(super) fn locations(whereabouts: &Whereabouts<'_>) -> Vec<Location> {
    let of_project =
        |name: &str| Location::of_project(whereabouts.project.join(".claude").join(name));
    let servers = Location::of_project(whereabouts.project.join(mcp_servers::FILE_NAME));
    let mut all = vec![of_project("settings.json"), of_project("settings.local.json"), servers];
    // In the home directory the project's settings are the user's.
    if let Some(home) = whereabouts.home {
        if home == whereabouts.project {
            all.remove(0);
        }
        all.push(Location::of_user(home.join(".claude").join("settings.json")));
    }
    all
}

/// Settings in a folder `.claude`, a plugin's `hooks/hooks.json`, or the servers of a project.
pub(super) fn owns(path: &Path) -> bool {
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let file = path.file_name().and_then(|name| name.to_str());
    mcp_servers::owns(path)
        || matches!(
            (folder, file),
            (Some(".claude"), Some("settings.json" | "settings.local.json"))
                | (Some("hooks"), Some("hooks.json"))
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_known_by_their_path() {
        for (path, ours) in [
            ("/p/.claude/settings.json", true),
            (".claude/settings.local.json", true),
            ("/p/.claude/other.json", false),
            ("/p/settings.json", false),
            ("/plugin/hooks/hooks.json", true),
            ("/p/.forge/hooks.json", false),
            ("settings.json", false),
            ("/p/.mcp.json", true),
            ("/p/mcp.json", false),
        ] {
            assert_eq!(owns(Path::new(path)), ours, "{path}");
        }
    }

    #[test]
    fn the_users_settings_are_read_once_in_the_users_home() {
        let home = Path::new("/home/me");
        let at = |project| Whereabouts { project, home: Some(home), config_home: None };
        let paths = |whereabouts| {
            let all = locations(&whereabouts).into_iter();
            all.map(|location| location.path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            paths(at(Path::new("/p"))),
            [
                "/p/.claude/settings.json",
                "/p/.claude/settings.local.json",
                "/p/.mcp.json",
                "/home/me/.claude/settings.json"
            ]
        );
        assert_eq!(
            paths(at(home)),
            [
                "/home/me/.claude/settings.local.json",
                "/home/me/.mcp.json",
                "/home/me/.claude/settings.json"
            ]
        );
    }
}
