//! The external programs that tests run, the C library for static linking, and how to install them.
//!
//! For root on Debian and its derivatives, missing ones are installed. Everyone else gets one
//! message with what is missing and what to type.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

/// A program that tests run, and its package.
pub(crate) struct Needed {
    program: &'static str,
    apt: &'static str,
    dnf: &'static str,
    /// Empty if Homebrew has none.
    brew: &'static str,
    /// The value of `--without` that skips the tests which need it.
    part: Option<&'static str>,
}

/// Parts of the tests that can be skipped, each with what is then untested.
pub(crate) const PARTS: &[(&str, &str)] =
    &[("browser", "the pages in a browser"), ("tmux", "the live view in a terminal")];

const fn needed(program: &'static str, apt: &'static str, dnf: &'static str) -> Needed {
    Needed { program, apt, dnf, brew: apt, part: None }
}

/// Debian keeps it in a folder of its version, which is not in `PATH`.
const POSTGRES: &str = "postgres";

/// Where Debian's package looks for settings of the cluster that it creates.
const NO_CLUSTER_FILE: &str = "/etc/postgresql-common/createcluster.d/no-main-cluster.conf";

/// Linked into the program on Linux. It is not a program; the C compiler knows its path.
const STATIC_LIBRARY: &str = "libc.a";

pub(crate) const ALL: &[Needed] = &[
    needed("bash", "bash", "bash"),
    needed("dash", "dash", "dash"),
    Needed { brew: "libfaketime", ..needed("faketime", "faketime", "libfaketime") },
    needed("git", "git", "git"),
    needed("jq", "jq", "jq"),
    Needed { brew: "proctools", ..needed("kill", "procps", "util-linux") },
    Needed { brew: "", ..needed(STATIC_LIBRARY, "libc6-dev", "glibc-static") },
    needed("mkfifo", "coreutils", "coreutils"),
    Needed { brew: "node", ..needed("node", "nodejs", "nodejs") },
    needed("openssl", "openssl", "openssl"),
    needed("pgbouncer", "pgbouncer", "pgbouncer"),
    needed(POSTGRES, "postgresql", "postgresql-server"),
    needed("python3", "python3", "python3"),
    Needed { brew: "util-linux", ..needed("script", "bsdutils", "util-linux") },
    needed("setsid", "util-linux", "util-linux"),
    Needed { brew: "", ..needed("strace", "strace", "strace") },
    Needed { part: Some("tmux"), ..needed("tmux", "tmux", "tmux") },
    Needed { brew: "", ..needed("unshare", "util-linux", "util-linux") },
    Needed { part: Some("browser"), ..needed("chromium", "chromium", "chromium") },
    Needed {
        brew: "chromedriver",
        part: Some("browser"),
        ..needed("chromedriver", "chromium-driver", "chromedriver")
    },
];

/// Installs what is missing, or says how to get it. Programs that only parts in `without` use are
/// not needed.
pub(crate) fn provide(without: &[&str]) -> Result<(), String> {
    let is_wanted = |needed: &&Needed| needed.part.is_none_or(|part| !without.contains(&part));
    let missing: Vec<&Needed> = ALL.iter().filter(is_wanted).filter(|it| !it.is_there()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_root() || !is_installed("apt-get") {
        return Err(advice(&missing));
    }
    let packages = packages(&missing, |needed| needed.apt);
    eprintln!("installing what tests need: {}", packages.join(" "));
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(&packages);
    crate::run("apt-get", &["update"])
        .and_then(|()| if packages.contains(&"postgresql") { without_cluster() } else { Ok(()) })
        .and_then(|()| crate::run("apt-get", &install))
        .map_err(|error| format!("{error}\n{}", advice(&missing)))
}

/// Keeps Debian's package from creating and starting a database of its own.
fn without_cluster() -> Result<(), String> {
    let install = ["install", "--yes", "--no-install-recommends", "postgresql-common"];
    crate::run("apt-get", &install)?;
    let written = std::fs::write(NO_CLUSTER_FILE, "create_main_cluster = false\n");
    written.map_err(|error| format!("error: {NO_CLUSTER_FILE} cannot be written: {error}\n"))
}

/// What is missing, and what to type.
fn advice(missing: &[&Needed]) -> String {
    let programs: Vec<&str> = missing.iter().map(|needed| needed.program).collect();
    let mut text =
        format!("error: tests need programs that are missing here: {}\n", programs.join(", "));
    for (system, install, package) in [
        ("Debian, Ubuntu", "sudo apt-get install", (|it| it.apt) as fn(&Needed) -> &'static str),
        ("Fedora", "sudo dnf install", |it| it.dnf),
        ("macOS", "brew install", |it| it.brew),
    ] {
        let packages = packages(missing, package);
        text.push_str(&format!("  {system:<16}{install} {}\n", packages.join(" ")));
    }
    let mut parts: Vec<&str> = missing.iter().filter_map(|needed| needed.part).collect();
    parts.dedup();
    if !parts.is_empty() {
        let what = if missing.iter().all(|needed| needed.part.is_some()) {
            "or skip the tests that need them"
        } else {
            "some tests can be skipped"
        };
        text.push_str(&format!("  {what}: cargo xtask test --without {}\n", parts.join(",")));
    }
    text
}

fn packages(missing: &[&Needed], package: impl Fn(&Needed) -> &'static str) -> Vec<&'static str> {
    let mut packages: Vec<&'static str> = Vec::new();
    for package in missing.iter().map(|needed| package(needed)) {
        if !package.is_empty() && !packages.contains(&package) {
            packages.push(package);
        }
    }
    packages
}

impl Needed {
    fn is_there(&self) -> bool {
        match self.program {
            POSTGRES => is_installed(POSTGRES) || has_postgres(),
            STATIC_LIBRARY => !cfg!(target_os = "linux") || has_static_library(),
            program => is_installed(program),
        }
    }
}

fn has_postgres() -> bool {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin").join(POSTGRES)).any(|it| it.is_file())
}

fn has_static_library() -> bool {
    let asked = Command::new("cc").arg(format!("-print-file-name={STATIC_LIBRARY}")).output();
    // It prints the bare name if it finds no such file.
    asked.is_ok_and(|output| output.stdout.starts_with(b"/"))
}

/// Whether tests may create their own networks and mounts.
pub(crate) fn has_namespaces() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "--net"]);
    // A container may allow the namespace but no mount in it.
    command.args(["mount", "--bind", "/etc/hosts", "/etc/hosts"]);
    command.output().is_ok_and(|output| output.status.success())
}

pub(crate) fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Whether this process creates files as root.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_once_with_the_command_for_each_system() {
        let missing: Vec<&Needed> =
            ALL.iter().filter(|it| ["setsid", "unshare", "tmux"].contains(&it.program)).collect();
        assert_eq!(
            advice(&missing),
            "error: tests need programs that are missing \
             here: setsid, tmux, unshare\n\x20 Debian, Ubuntu  sudo apt-get install util-linux tmux\n\
             \x20 Fedora          sudo dnf install util-linux tmux\n\
             \x20 macOS           brew install util-linux tmux\n\
             \x20 some tests can be skipped: cargo xtask test --without tmux\n"
        );
        let browser: Vec<&Needed> = ALL.iter().filter(|it| it.part == Some("browser")).collect();
        let text = advice(&browser);
        let last = "  or skip the tests that need them: cargo xtask test --without browser\n";
        assert!(text.ends_with(last), "{text}");
    }

    #[test]
    fn every_part_of_a_program_can_be_left_out() {
        for part in ALL.iter().filter_map(|needed| needed.part) {
            assert!(PARTS.iter().any(|(name, _)| *name == part), "{part}");
        }
    }
}
