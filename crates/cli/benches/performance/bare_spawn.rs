//! [`BareSpawn`]: the least work to run a command and read its output. Everything that can be
//! prepared is prepared.
//!
//! Why the `unsafe` blocks are sound: every pointer points to a value that lives until the call
//! returns, the lists end with a null pointer, and attributes and file actions are initialised
//! before they are used.
#![expect(unsafe_code, reason = "the floor is the system's own call, with nothing around it")]

use std::ffi::{CString, OsString, c_char};
use std::io::{Read, Write, pipe};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// A command that can be run any number of times.
pub(crate) struct BareSpawn {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    working_dir: CString,
    input: Vec<u8>,
}

impl BareSpawn {
    pub(crate) fn new(
        program: &Path,
        arguments: &[&str],
        environment: &[(OsString, OsString)],
        working_dir: &Path,
        input: &str,
    ) -> Self {
        let c_string = |bytes: &[u8]| CString::new(bytes).unwrap();
        let program = c_string(program.as_os_str().as_bytes());
        let words = arguments.iter().map(|word| c_string(word.as_bytes()));
        let arguments = [program.clone()].into_iter().chain(words).collect();
        let variables = environment
            .iter()
            .map(|(name, value)| c_string(&[name.as_bytes(), b"=", value.as_bytes()].concat()));
        Self {
            program,
            arguments,
            environment: variables.collect(),
            working_dir: c_string(working_dir.as_os_str().as_bytes()),
            input: input.as_bytes().to_vec(),
        }
    }

    /// Runs it, writes its input, reads its output to the end, and reaps it.
    pub(crate) fn run(&self) {
        let (stdin, mut to_child) = pipe().unwrap();
        let (mut of_child, stdout) = pipe().unwrap();
        let (mut errors, stderr) = pipe().unwrap();
        let arguments = pointers(&self.arguments);
        let environment = pointers(&self.environment);
        let mut actions = MaybeUninit::uninit();
        let mut attributes = MaybeUninit::uninit();
        let mut pid = 0;
        // SAFETY: see the head of the file.
        unsafe {
            assert_eq!(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()), 0);
            for (stream, place) in
                [(stdin.as_raw_fd(), 0), (stdout.as_raw_fd(), 1), (stderr.as_raw_fd(), 2)]
            {
                let actions = actions.as_mut_ptr();
                assert_eq!(libc::posix_spawn_file_actions_adddup2(actions, stream, place), 0);
            }
            let folder = self.working_dir.as_ptr();
            let moved = libc::posix_spawn_file_actions_addchdir_np(actions.as_mut_ptr(), folder);
            assert_eq!(moved, 0);
            assert_eq!(libc::posix_spawnattr_init(attributes.as_mut_ptr()), 0);
            let flags = libc::POSIX_SPAWN_SETPGROUP as libc::c_short;
            assert_eq!(libc::posix_spawnattr_setflags(attributes.as_mut_ptr(), flags), 0);
            assert_eq!(libc::posix_spawnattr_setpgroup(attributes.as_mut_ptr(), 0), 0);
            let spawned = libc::posix_spawn(
                &raw mut pid,
                self.program.as_ptr(),
                actions.as_ptr(),
                attributes.as_ptr(),
                arguments.as_ptr(),
                environment.as_ptr(),
            );
            assert_eq!(spawned, 0);
            libc::posix_spawn_file_actions_destroy(actions.as_mut_ptr());
            libc::posix_spawnattr_destroy(attributes.as_mut_ptr());
        }
        drop((stdin, stdout, stderr));
        // A command that has already ended is not an error, as in the engine.
        let _ = to_child.write_all(&self.input);
        drop(to_child);
        let mut output = Vec::new();
        of_child.read_to_end(&mut output).unwrap();
        errors.read_to_end(&mut output).unwrap();
        let mut status = 0;
        // SAFETY: see the head of the file.
        let ended = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        assert_eq!((ended, status), (pid, 0));
    }
}

/// A null-terminated list of strings.
fn pointers(texts: &[CString]) -> Vec<*mut c_char> {
    texts.iter().map(|text| text.as_ptr().cast_mut()).chain([ptr::null_mut()]).collect()
}
