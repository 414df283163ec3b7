//! [`Newest`]: keeps the newest of many files.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The newest files of many, within a bound.
pub(super) struct Newest {
    files: Vec<(Option<SystemTime>, PathBuf)>,
    max: usize,
    /// How many there were.
    pub(super) total: usize,
}

impl Newest {
    pub(super) fn new(max: usize) -> Self {
        Self { files: Vec::new(), max, total: 0 }
    }

    pub(super) fn add(&mut self, path: &Path, modified: Option<SystemTime>) {
        self.total += 1;
        self.files.push((modified, path.to_owned()));
        // Sorting now and then is cheaper than keeping order.
        if self.files.len() >= self.max.saturating_mul(2).saturating_add(1000) {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.files.sort_unstable_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        self.files.truncate(self.max);
    }

    /// The newest first.
    pub(super) fn into_paths(mut self) -> Vec<PathBuf> {
        self.sort();
        self.files.into_iter().map(|(_, path)| path).collect()
    }
}
