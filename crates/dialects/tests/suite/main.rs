//! Every case of every dialect, from folders of plain files, and the pages made from them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod cases;
mod claude_http;
mod host_cases;
mod host_pages;
mod iteratr;
mod listing;
mod over_limits;
mod pages;

#[test]
fn every_case_of_every_dialect_does_what_its_description_promises() {
    std::thread::scope(|scope| {
        for dialect in cases::dialects() {
            scope.spawn(|| cases::run_all(dialect));
        }
    });
}
