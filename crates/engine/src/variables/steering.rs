//! Variables that make an interpreter or the loader run code that a hook does not name.
//!
//! A guard is only as good as the program that runs it: with `BASH_ENV` pointing to a file that
//! says `exit 0`, every guard says yes. So no hook inherits these; a hook that needs one sets it in
//! `env:`.
//!
//! Search paths (`PATH`, `LD_LIBRARY_PATH`, `PYTHONPATH`, `PERL5LIB`, `NODE_PATH`…) are inherited.
//! They name places, many setups need them to find their programs at all, and inside an agent the
//! host takes them from the environment in which a person started the agent. `docs/security.md` has
//! the reasons.

use std::ffi::OsStr;

/// Names that are not inherited.
const NAMES: &[&str] = &[
    // Shells: a start-up file, options, the prefix of traced lines.
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_COMPAT",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS4",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "ZDOTDIR",
    // The C library: modules that it loads itself, and its switches.
    "GCONV_PATH",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "NLSPATH",
    // Interpreters: options, start-up files, programs that run first.
    "PERL5OPT",
    "PERL5DB",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONBREAKPOINT",
    "PYTHONWARNINGS",
    "PYTHONUSERBASE",
    "NODE_OPTIONS",
    "BUN_OPTIONS",
    "RUBYOPT",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "R_PROFILE_USER",
    "R_ENVIRON_USER",
    "DOTNET_STARTUP_HOOKS",
    "GREP_OPTIONS",
];

/// Prefixes of names that are not inherited: functions that bash imports, the loader's switches,
/// Lua's start-up code (`LUA_INIT_5_4`).
const PREFIXES: &[&str] = &["BASH_FUNC_", "LD_", "DYLD_", "LUA_INIT"];

/// Exceptions from these prefixes: search paths.
const SEARCH_PATHS: &[&str] = &[
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FRAMEWORK_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "DYLD_FALLBACK_FRAMEWORK_PATH",
];

/// Whether a variable of this name makes an interpreter or the loader run code that a hook does not
/// name.
pub(super) fn steers_interpreters(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let is = |known: &&str| known.as_bytes() == bytes;
    let begins = |prefix: &&str| bytes.starts_with(prefix.as_bytes());
    NAMES.iter().any(is) || (PREFIXES.iter().any(begins) && !SEARCH_PATHS.iter().any(is))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_runs_by_itself_is_kept_out_and_search_paths_are_not() {
        let out = [
            "BASH_ENV",
            "ENV",
            "SHELLOPTS",
            "BASHOPTS",
            "BASH_FUNC_grep%%",
            "LD_PRELOAD",
            "LD_AUDIT",
            "LD_DEBUG",
            "PERL5OPT",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "RUBYOPT",
            "LUA_INIT",
            "LUA_INIT_5_4",
            "DYLD_INSERT_LIBRARIES",
        ];
        let inherited = [
            "PATH",
            "HOME",
            "LD_LIBRARY_PATH",
            "DYLD_LIBRARY_PATH",
            "PYTHONPATH",
            "ENVIRONMENT",
            "MY_BASH_ENV",
            "LDFLAGS",
            "BASH",
        ];
        for name in out {
            assert!(steers_interpreters(OsStr::new(name)), "{name}");
        }
        for name in inherited {
            assert!(!steers_interpreters(OsStr::new(name)), "{name}");
        }
    }
}
