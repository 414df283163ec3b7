//! Whatever waits or grows has a limit. All of this crate's are here, each with its reason.

/// Values inside one another in a tool's input. Checking recurses this deep, and no tool needs more.
pub const INPUT_DEPTH_MAX: usize = 64;
