//! Links the program statically and at fixed addresses, if the machine can.
//!
//! Then the system maps one file and starts it: no loader, no relocations, and no variable that
//! makes the loader load a foreign library. It is done here because every build runs this, even
//! `cargo install`; `.cargo/config.toml` and compiler flags do not apply there.
//! `docs/decisions/022-static-linking.md` has the alternatives and the disadvantages.
//!
//! `HOOKWRIGHT_LINK=dynamic` changes nothing, `HOOKWRIGHT_LINK=static` fails if the machine cannot
//! link statically. Tests read the result from the variable `HOOKWRIGHT_LINKED`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The libraries that the compiler requests on Linux with the GNU C library.
const LIBRARIES: &[&str] = &["gcc_s", "util", "rt", "pthread", "m", "dl", "c"];

/// Optional functions of the C library that the standard library uses if they exist: without them
/// it would not use `vfork`, and a larger program would take longer to start a child.
const WANTED: &[&str] =
    &["gnu_get_libc_version", "posix_spawn_file_actions_addchdir_np", "__cxa_thread_atexit_impl"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=HOOKWRIGHT_LINK");
    let wish = env::var("HOOKWRIGHT_LINK").unwrap_or_default();
    let is_static = match wish.as_str() {
        "dynamic" => false,
        "" => match link_statically() {
            Ok(()) => true,
            Err(NotPossible::Elsewhere) => false,
            Err(NotPossible::Missing { file }) => {
                println!("cargo:warning=hookwright is linked dynamically: {}", missing(&file));
                false
            }
        },
        "static" => match link_statically() {
            Ok(()) => true,
            Err(NotPossible::Elsewhere) => {
                panic!("HOOKWRIGHT_LINK=static: only Linux with the GNU C library is supported")
            }
            Err(NotPossible::Missing { file }) => {
                panic!("HOOKWRIGHT_LINK=static: {}", missing(&file))
            }
        },
        other => panic!("HOOKWRIGHT_LINK is `{other}`: expected `static`, `dynamic` or nothing"),
    };
    let linked = if is_static { "static" } else { "dynamic" };
    println!("cargo:rustc-env=HOOKWRIGHT_LINKED={linked}");
}

/// Why the program is not linked statically.
enum NotPossible {
    /// Another system, or the user told the compiler how to link.
    Elsewhere,
    /// This machine lacks a part of the static C library.
    Missing { file: String },
}

fn missing(file: &str) -> String {
    format!(
        "this machine has no `{file}`; it starts faster, and no library can be loaded into it, when the \
         static C library is there (Fedora: `dnf install glibc-static`, Debian: `apt-get install libc6-dev`)"
    )
}

fn link_statically() -> Result<(), NotPossible> {
    let target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let has_crt_static = target("FEATURE").split(',').any(|feature| feature == "crt-static");
    if target("OS") != "linux" || target("ENV") != "gnu" || has_crt_static {
        return Err(NotPossible::Elsewhere);
    }
    let linker = Linker::of_target().ok_or(NotPossible::Elsewhere)?;
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it")).join("static");
    fs::create_dir_all(&folder).expect("cargo's folder can be written");
    // These three use each other.
    let core = ["libc.a", "libgcc.a", "libgcc_eh.a"].map(|file| linker.file(file));
    let core = core.into_iter().collect::<Result<Vec<_>, _>>()?;
    for library in LIBRARIES {
        let file = format!("lib{library}.a");
        let found = match *library {
            "c" | "gcc_s" => core.clone(),
            "m" => vec![linker.file(&file)?],
            // Since 2.34 the C library itself has all of these; the files exist but are empty.
            _ => linker.file(&file).into_iter().collect(),
        };
        write_library(&folder.join(file), &found);
    }
    // The linker searches shared libraries first, folder by folder. Ours is the first folder, and
    // has only these.
    println!("cargo:rustc-link-arg-bins=-L{}", folder.display());
    println!("cargo:rustc-link-arg-bins=-static");
    println!("cargo:rustc-link-arg-bins=-no-pie");
    for function in WANTED {
        println!("cargo:rustc-link-arg-bins=-Wl,-u,{function}");
    }
    Ok(())
}

/// Writes a linker script for these files, which may use each other.
fn write_library(path: &Path, files: &[PathBuf]) {
    let files: Vec<String> = files.iter().map(|file| format!("\"{}\"", file.display())).collect();
    let text = match files.as_slice() {
        [] => "!<arch>\n".to_owned(),
        files => format!("GROUP ( {} )\n", files.join(" ")),
    };
    fs::write(path, text).expect("cargo's folder can be written");
}

/// The C compiler that links.
struct Linker {
    program: String,
}

impl Linker {
    /// `None` if it is unknown.
    fn of_target() -> Option<Self> {
        println!("cargo:rerun-if-env-changed=RUSTC_LINKER");
        let is_host = env::var_os("HOST") == env::var_os("TARGET");
        let chosen = env::var("RUSTC_LINKER").ok();
        chosen.or_else(|| is_host.then(|| "cc".to_owned())).map(|program| Self { program })
    }

    /// The path of this library.
    fn file(&self, name: &str) -> Result<PathBuf, NotPossible> {
        let missing = || NotPossible::Missing { file: name.to_owned() };
        let output = Command::new(&self.program).arg(format!("-print-file-name={name}")).output();
        let output = output.ok().filter(|output| output.status.success()).ok_or_else(missing)?;
        let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        // It prints the bare name if it finds nothing.
        if path.is_absolute() && path.exists() { Ok(path) } else { Err(missing()) }
    }
}
