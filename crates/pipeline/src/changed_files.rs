//! What changed in the work tree.
