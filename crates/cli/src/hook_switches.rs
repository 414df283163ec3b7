//! [`HookSwitches`]: options that switch hooks off for one call.

use clap::Args;
use hookwright_engine::HookSet;

use crate::screen::Screen;
use crate::text::visible;

/// What switches hooks off for one call.
#[derive(Debug, Args)]
pub(crate) struct HookSwitches {
    /// Skip the hook with this id; may be given more than once
    #[arg(long, value_name = "ID")]
    pub(crate) skip: Vec<String>,

    /// Run no hooks at all
    #[arg(long)]
    pub(crate) no_hooks: bool,
}

impl HookSwitches {
    /// Why no hook runs, if all are off.
    pub(crate) fn all_off(&self) -> Option<&'static str> {
        if self.no_hooks {
            return Some("--no-hooks");
        }
        off_by_environment()
    }

    /// Warns about ids that name no hook.
    pub(crate) fn warn_of_unknown(&self, hooks: &HookSet, screen: &Screen) {
        for id in &self.skip {
            if !hooks.hooks().iter().any(|hook| hook.id == *id) {
                screen.talk(&format!("warning: --skip: no hook has the id `{}`\n", visible(id)));
            }
        }
    }
}

/// The variable that switches all hooks off when it is `0`.
pub(crate) const SWITCH: &str = "HOOKWRIGHT";

/// Why the environment switches all hooks off, if it does.
pub(crate) fn off_by_environment() -> Option<&'static str> {
    std::env::var_os(SWITCH).filter(|value| value == "0").map(|_| "HOOKWRIGHT=0")
}
