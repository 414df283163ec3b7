//! Limits of everything that grows with a file, each with its reason.

/// Bytes of a configuration file, which is read whole. People do not write 4 MiB of hooks by hand.
pub const CONFIG_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Bytes of `secrets.env`: room for a hundred tokens and a few private keys.
pub const SECRETS_BYTES_MAX: u64 = 64 * 1024;

/// Values in one file: enough for [`HOOKS_MAX`](hookwright_engine::limits::HOOKS_MAX) hooks with
/// every field.
pub const CONFIG_NODES_MAX: usize = 1_000_000;

/// Values that the aliases of one YAML file may repeat: enough for a thousand hooks with the same
/// ten fields. A few lines of anchors can expand to any number, so this limits the cost of such a
/// file.
pub const CONFIG_REPEATED_MAX: usize = 20_000;

/// Bytes of all texts in one YAML file, aliases expanded: twice the largest file.
pub const CONFIG_TEXT_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Depth of nested lists and maps in a file. People cannot follow more, and the reader is
/// recursive.
pub const CONFIG_DEPTH_MAX: usize = 64;

/// Iterations that a loop may set: years of work, and each of them keeps a folder.
pub const ITERATIONS_MAX: u32 = 1_000_000;

/// Stages of one pipeline: their folders are numbered with two digits.
pub const STAGES_MAX: usize = 99;

/// Bytes of a project's name: it is part of keys, tables and file names.
pub const PROJECT_NAME_BYTES_MAX: usize = 64;

/// Characters of an MCP server's name: half of what the names of its tools may have.
pub const MCP_SERVER_NAME_CHARS_MAX: usize = 32;

/// Warnings that `check` reports about one command. After reading this many, its author rewrites
/// it.
pub const WARNINGS_OF_A_COMMAND_MAX: usize = 100;
