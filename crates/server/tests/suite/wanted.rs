//! Settings of a test run.

/// Tests in a browser must not be skipped.
#[expect(clippy::disallowed_methods, reason = "a test is its own host")]
pub(crate) fn browser_is_required() -> bool {
    std::env::var_os("HOOKWRIGHT_BROWSER").is_some_and(|value| value == "required")
}

/// Tests in a browser are skipped, even if there is one.
#[expect(clippy::disallowed_methods, reason = "a test is its own host")]
pub(crate) fn browser_is_left_out() -> bool {
    std::env::var_os("HOOKWRIGHT_BROWSER").is_some_and(|value| value == "none")
}

/// Pictures of the documentation are taken again.
#[expect(clippy::disallowed_methods, reason = "a test is its own host")]
pub(crate) fn pictures() -> bool {
    std::env::var_os("HOOKWRIGHT_UPDATE").is_some_and(|value| value == "1")
}
