//! Whatever waits or grows in the runner has a limit. All of them stand here, each with its reason.
