//! `docs/conformance.md`: what the five systems promise, and which test proves it here.
//!
//! - `docs/conformance.yaml` has the statements, each with an id (`statements.rs` reads it).
//! - A test names the ids that it proves, in a comment directly above it, or in the text of its
//!   folder (`proofs.rs` finds them in the sources, without building anything).
//! - The page is made from both. `HOOKWRIGHT_UPDATE=1` writes it.
//!
//! So a row cannot outlive its test: a statement with neither a test nor a decision is a fault, and
//! so is a comment above something that is no test.

mod modules;
mod proofs;
mod statements;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use self::proofs::{FoundProofs, Proof};
use self::statements::{Statement, SystemStatements};
use crate::docs::up_to_date;
use crate::support::repository;

/// The folder of the pages that a statement may name as its decision.
const DECISIONS: &str = "docs/decisions";

#[test]
fn every_statement_has_a_test_or_a_decision_and_the_page_shows_which() {
    let systems = statements::read(&repository().join("docs/conformance.yaml"));
    let found = proofs::find(repository());
    let faults = faults(&systems, &found, &|page| repository().join(DECISIONS).join(page).exists());
    assert!(faults.is_empty(), "faults: {}\n{}", faults.len(), faults.join("\n"));
    let (path, wanted) = (repository().join("docs/conformance.md"), page(&systems, &found.proofs));
    if std::env::var_os("HOOKWRIGHT_UPDATE").is_none() {
        let written = fs::read_to_string(&path).unwrap_or_default();
        let changed = changed_lines(&written, &wanted);
        assert!(changed.is_empty(), "the page is stale; HOOKWRIGHT_UPDATE=1 writes it\n{changed}");
    }
    up_to_date(&path, &wanted);
}

/// The lines that only one of two pages has, with a sign in front. A whole page would be too long to
/// read.
fn changed_lines(written: &str, wanted: &str) -> String {
    let missing = |from: &str, line: &str| !from.lines().any(|other| other == line);
    let old =
        written.lines().filter(|line| missing(wanted, line)).map(|line| format!("- {line}\n"));
    let new =
        wanted.lines().filter(|line| missing(written, line)).map(|line| format!("+ {line}\n"));
    old.chain(new).collect()
}

/// Everything that is wrong with statements and proofs, each with what to do about it.
fn faults(
    systems: &[SystemStatements],
    found: &FoundProofs,
    is_decision: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let mut faults = found.faults.clone();
    let mut ids = BTreeSet::new();
    for (system, statement) in all(systems) {
        let id = &statement.id;
        if !ids.insert(id.as_str()) {
            faults.push(format!("{id} occurs twice: give one of the two statements a new id"));
        }
        if !is_id_of(id, &system.system) {
            faults.push(format!(
                "{id} is no id of {0}: write `{0}-` and three digits",
                system.system
            ));
        }
        match &statement.differs {
            Some(differs) if !is_decision(&differs.decision) => faults.push(format!(
                "{id} names {DECISIONS}/{}, which does not exist: write that page",
                differs.decision
            )),
            None if !found.proofs.contains_key(id) => faults.push(format!(
                "{id} has neither a test nor a decision: write `Conformance: {id}` above the test \
                 that proves it, or name the page in {DECISIONS} that says why it does not hold"
            )),
            _ => {}
        }
    }
    for (id, proofs) in &found.proofs {
        if !ids.contains(id.as_str()) {
            let names: Vec<&str> = proofs.iter().map(|proof| proof.name.as_str()).collect();
            faults.push(format!("{} names the unknown statement {id}", names.join(" and ")));
        }
    }
    faults
}

/// Whether this is the system's name, a dash and three digits.
fn is_id_of(id: &str, system: &str) -> bool {
    let number = id.strip_prefix(system).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|it| it.len() == 3 && it.bytes().all(|digit| digit.is_ascii_digit()))
}

fn all(systems: &[SystemStatements]) -> impl Iterator<Item = (&SystemStatements, &Statement)> {
    systems.iter().flat_map(|system| {
        let statements = system.topics.iter().flat_map(|topic| &topic.statements);
        statements.map(move |statement| (system, statement))
    })
}

/// The whole page.
fn page(systems: &[SystemStatements], proofs: &BTreeMap<String, Vec<Proof>>) -> String {
    let mut page = String::from(
        "# Conformance\n\n\
         Generated from `docs/conformance.yaml` and from the tests; do not edit it. Five systems have \
         described their hooks. Each row is one testable statement of such a description, in our own \
         words, with the tests that prove it: a function, a case (a folder in \
         `crates/dialects/tests/cases`), a scenario of the built-in agent (a folder in \
         `crates/cli/tests/agent`) or an example. Where Hookwright differs on purpose, the row says \
         what holds instead and names the decision; the tests then prove what holds here. \
         `CONTRIBUTING.md` says how to add a row.\n\n\
         | system | statements | different on purpose |\n|---|---|---|\n",
    );
    for system in systems {
        let statements = || system.topics.iter().flat_map(|topic| &topic.statements);
        let differing = statements().filter(|statement| statement.differs.is_some()).count();
        let anchor = system.title.to_lowercase().replace(' ', "-");
        let title = &system.title;
        writeln!(page, "| [{title}](#{anchor}) | {} | {differing} |", statements().count())
            .unwrap();
    }
    for system in systems {
        write!(page, "\n## {}\n\n{}\n", system.title, system.about.trim()).unwrap();
        for topic in &system.topics {
            write!(page, "\n### {}: {}\n\n", system.title, topic.topic).unwrap();
            page.push_str("| id | statement | proven by |\n|---|---|---|\n");
            for statement in &topic.statements {
                let none = Vec::new();
                let proofs = proofs.get(&statement.id).unwrap_or(&none);
                writeln!(page, "{}", row(statement, proofs)).unwrap();
            }
        }
    }
    page
}

/// One statement with what proves it.
fn row(statement: &Statement, proofs: &[Proof]) -> String {
    let mut says = cell(&statement.says);
    if let Some(differs) = &statement.differs {
        let (decision, number) = (&differs.decision, &differs.decision[..3]);
        let instead = cell(&differs.instead);
        write!(says, " **Different here:** {instead} ([decision {number}](decisions/{decision}))")
            .unwrap();
    }
    let proofs: Vec<String> = proofs.iter().map(Proof::as_link).collect();
    format!("| {} | {says} | {} |", statement.id, proofs.join(", "))
}

/// A text as a cell of a table: one line, and no bar that ends it.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod rules {
    use super::*;
    use crate::conformance::statements::parse;

    const TWO: &str = "
- system: sys
  title: Sys
  about: A system.
  topics:
    - topic: Hooks
      statements:
        - {id: sys-001, says: It works.}
        - id: sys-002
          says: It flies.
          differs: {instead: It walks., decision: 001-x.md}
";

    fn proven(ids: &[&str]) -> FoundProofs {
        let text: String =
            ids.iter().map(|id| format!("// Conformance: {id}\n#[test]\nfn a() {{}}\n")).collect();
        let mut found = FoundProofs::default();
        found.read_rust(Path::new("x.rs"), &text);
        found
    }

    fn faults_of(text: &str, found: &FoundProofs) -> Vec<String> {
        faults(&parse(text).unwrap(), found, &|page| page == "001-x.md")
    }

    #[test]
    fn a_statement_needs_a_test_or_a_decision_that_exists() {
        assert_eq!(faults_of(TWO, &proven(&["sys-001"])), Vec::<String>::new());
        let faults = faults_of(TWO, &proven(&[]));
        assert_eq!(faults.len(), 1);
        assert!(faults[0].starts_with("sys-001 has neither a test nor a decision: "), "{faults:?}");
        let elsewhere = TWO.replace("001-x.md", "002-y.md");
        assert_eq!(
            faults_of(&elsewhere, &proven(&["sys-001"])),
            ["sys-002 names docs/decisions/002-y.md, which does not exist: write that page"]
        );
    }

    #[test]
    fn an_id_occurs_once_belongs_to_its_system_and_is_known() {
        let twice = TWO.replace("sys-002", "sys-001");
        assert_eq!(
            faults_of(&twice, &proven(&["sys-001"])),
            ["sys-001 occurs twice: give one of the two statements a new id"]
        );
        let foreign = TWO.replace("sys-002", "other-2");
        assert_eq!(
            faults_of(&foreign, &proven(&["sys-001"])),
            ["other-2 is no id of sys: write `sys-` and three digits"]
        );
        assert_eq!(
            faults_of(TWO, &proven(&["sys-001", "sys-003"])),
            ["a names the unknown statement sys-003"]
        );
    }

    #[test]
    fn a_row_has_its_statement_its_difference_and_its_tests() {
        let systems = parse(TWO).unwrap();
        let found = proven(&["sys-001", "sys-002"]);
        let rows: Vec<String> =
            all(&systems).map(|(_, one)| row(one, &found.proofs[&one.id])).collect();
        assert_eq!(
            rows,
            [
                "| sys-001 | It works. | [`a`](../x.rs) |",
                "| sys-002 | It flies. **Different here:** It walks. ([decision 001](decisions/001-x.md)) | [`a`](../x.rs) |",
            ]
        );
    }

    #[test]
    fn of_a_stale_page_the_changed_lines_are_shown() {
        assert_eq!(changed_lines("a\nb\nc\n", "a\nd\nc\n"), "- b\n+ d\n");
        assert_eq!(changed_lines("a\n", "a\n"), "");
    }

    #[test]
    fn what_is_no_list_of_statements_is_refused() {
        assert!(parse("- system: x\n  titel: X\n").is_err());
        assert!(parse("just a text").is_err());
    }
}
