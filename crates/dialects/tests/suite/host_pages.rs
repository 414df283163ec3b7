//! The pages of hosts in `docs/`: settings and tables are made from the code.

use std::fs;
use std::path::{Path, PathBuf};

use hookwright_dialects::hosts::{self, Host, capability_table, host_matrix};

use crate::cases::is_update;

/// The events of the matrix: those that most hooks listen to.
const MATRIX: &[(&str, &str)] = &[
    ("tool:pre_execute", "Before a tool runs"),
    ("tool:post_execute", "After a tool has run"),
    ("user:prompt_submit", "When a prompt is submitted"),
    ("session:start", "When a session starts"),
    ("session:stop", "When the agent is about to stop"),
];

fn docs(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page)
}

/// Replaces the part of a page between the marks of this name.
fn fill(page: &str, name: &str, content: &str) -> String {
    let begin = format!(
        "<!-- {name}, from the code: HOOKWRIGHT_UPDATE=1 cargo test -p hookwright-dialects -->\n"
    );
    let end = format!("<!-- end of {name} -->");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no mark: {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no mark: {end}"));
    format!("{before}{begin}\n{content}\n{end}{after}")
}

fn up_to_date(path: &Path, wanted: &str) {
    if is_update() {
        fs::write(path, wanted).unwrap();
    }
    let written = fs::read_to_string(path).unwrap();
    assert_eq!(written, wanted, "{} is stale; HOOKWRIGHT_UPDATE=1 writes it", path.display());
}

/// The files of a host, each with its path.
fn files(host: &Host) -> String {
    let files = host.files("hookwright").into_iter().map(|file| {
        let kind = match file.path.rsplit_once('.') {
            Some((_, "json")) => "json",
            Some((_, "js")) => "js",
            _ => "sh",
        };
        format!("`~/{}`:\n\n```{kind}\n{}```\n", file.path, file.text)
    });
    files.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_page_of_every_host_has_its_settings_and_its_table() {
    for host in hosts::all().iter().filter(|host| host.name != "claude") {
        let path = docs(host.page);
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let page = fill(&page, "settings", &files(host));
        let page = fill(&page, "table", &capability_table(host.capabilities));
        up_to_date(&path, &page);
    }
}

#[test]
fn the_matrix_names_every_host_and_links_its_page() {
    let path = docs("docs/hosts.md");
    let page = fs::read_to_string(&path).unwrap();
    let rows = |native: &str| {
        let hosts = hosts::all().iter();
        host_matrix(hosts.map(|host| (host.display_name, host.capabilities)), native)
    };
    let parts: Vec<String> = MATRIX
        .iter()
        .map(|(native, heading)| format!("### {heading}: `{native}`\n\n{}", rows(native)))
        .collect();
    up_to_date(&path, &fill(&page, "matrix", &parts.join("\n")));
    for host in hosts::all() {
        let link = host.page.trim_start_matches("docs/");
        assert!(page.contains(&format!("]({link})")), "no link to {link}");
        assert!(page.contains(host.command), "no word of {}", host.command);
    }
}
