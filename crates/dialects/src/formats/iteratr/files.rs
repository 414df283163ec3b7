//! The path of iteratr's file, which is only in the project.

use std::path::Path;

use crate::{Location, Whereabouts};

const NAME: &str = ".iteratr.hooks.yml";

pub(super) fn locations(whereabouts: &Whereabouts<'_>) -> Vec<Location> {
    vec![Location::of_project(whereabouts.project.join(NAME))]
}

pub(super) fn owns(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == NAME)
}
