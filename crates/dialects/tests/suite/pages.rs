//! Each dialect's page, `docs/dialects/NAME.md`, ends with the table of its cases.

use std::fs;
use std::path::Path;

use crate::cases;

/// The heading of the generated table.
const HEADING: &str = "## Conformance\n";

#[test]
fn every_page_has_the_table_of_its_cases() {
    for dialect in cases::dialects() {
        let name = format!("{dialect}.md");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let page = root.join("docs/dialects").join(&name);
        let written = fs::read_to_string(&page).unwrap_or_default();
        let above = written.split(HEADING).next().unwrap_or_default();
        let table = cases::table(dialect);
        let wanted = format!(
            "{above}{HEADING}\nEach row is a folder in `crates/dialects/tests/cases/{}/` that is run \
             by the tests. [The table of all five systems](../conformance.md) has every statement of the \
             system with its tests.\n\n{table}",
            cases::folder_name(dialect)
        );
        if cases::is_update() {
            fs::create_dir_all(page.parent().unwrap()).unwrap();
            fs::write(&page, &wanted).unwrap();
        }
        let written = fs::read_to_string(&page).unwrap_or_default();
        assert_eq!(written, wanted, "docs/dialects/{name} is stale; HOOKWRIGHT_UPDATE=1 writes it");
    }
}
