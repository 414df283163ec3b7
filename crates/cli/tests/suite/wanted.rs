//! What whoever runs the tests wants of them.

/// Tests in a browser must not be skipped.
pub(crate) fn browser_is_required() -> bool {
    std::env::var_os("HOOKWRIGHT_BROWSER").is_some_and(|value| value == "required")
}

/// Tests in a browser are skipped, also where there is one.
pub(crate) fn browser_is_left_out() -> bool {
    std::env::var_os("HOOKWRIGHT_BROWSER").is_some_and(|value| value == "none")
}

/// Tests that need namespaces of Linux are skipped.
pub(crate) fn namespaces_are_left_out() -> bool {
    std::env::var_os("HOOKWRIGHT_NAMESPACES").is_some_and(|value| value == "none")
}

/// Pictures of the documentation are taken anew.
pub(crate) fn pictures() -> bool {
    std::env::var_os("HOOKWRIGHT_UPDATE").is_some_and(|value| value == "1")
}
