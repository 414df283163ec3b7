//! Settings of a test run.

/// Tests in a browser must not be skipped.
pub(crate) fn browser_is_required() -> bool {
    std::env::var_os("HOOKWRIGHT_BROWSER").is_some_and(|value| value == "required")
}

/// Tests in a browser are skipped, even if there is one.
pub(crate) fn browser_is_left_out() -> bool {
    std::env::var_os("HOOKWRIGHT_BROWSER").is_some_and(|value| value == "none")
}

/// Tests that need Linux namespaces are skipped.
pub(crate) fn namespaces_are_left_out() -> bool {
    std::env::var_os("HOOKWRIGHT_NAMESPACES").is_some_and(|value| value == "none")
}

/// Pictures of the documentation are taken again.
pub(crate) fn pictures() -> bool {
    std::env::var_os("HOOKWRIGHT_UPDATE").is_some_and(|value| value == "1")
}
