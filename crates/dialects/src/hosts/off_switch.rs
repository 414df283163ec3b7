//! [`OffSwitch`]: a setting with which a host runs no hooks, and says nothing.

use std::path::{Path, PathBuf};

use crate::settings_text::parse;

/// A setting with which a host runs no hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffSwitch {
    /// The file, beside the settings that call us. An absolute path is the system's file.
    pub file: &'static str,
    /// The keys that lead to it, outermost first.
    pub keys: &'static [&'static str],
    /// The value that switches hooks off.
    pub off: bool,
}

impl OffSwitch {
    /// Its file, beside this one.
    pub fn path(&self, settings: &Path) -> PathBuf {
        settings.with_file_name("").join(self.file)
    }

    /// Whether a file with this text switches hooks off.
    pub fn is_off_in(&self, text: &str) -> bool {
        let Ok(Some(root)) = parse(text) else { return false };
        let value = self.keys.iter().try_fold(&root, |value, key| value.get(key));
        value.is_some_and(|value| value.means(&self.off.into()))
    }

    /// The setting as people write it.
    pub fn written(&self) -> String {
        format!("{}: {}", self.keys.join("."), self.off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_is_found_in_its_own_file_under_its_own_keys() {
        let switch = OffSwitch { file: "settings.json", keys: &["hooks", "enabled"], off: false };
        assert!(switch.is_off_in("{\"hooks\": {\"enabled\": false}} // off"));
        for text in ["{\"hooks\": {\"enabled\": true}}", "{\"enabled\": false}", "", "{"] {
            assert!(!switch.is_off_in(text), "{text}");
        }
        let path = switch.path(Path::new("/home/me/.agent/hooks.json"));
        assert_eq!(path, Path::new("/home/me/.agent/settings.json"));
        assert_eq!(switch.written(), "hooks.enabled: false");
    }
}
