//! Costs that must not grow with the amount of existing data: each is measured for several sizes in
//! one run, and the ratio between sizes counts. Figures: `docs/performance.md`.
//!
//! `cargo bench -p hookwright --bench growth` measures everything; a name after it (`-- issues`)
//! selects one part.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

#[path = "growth/approvals.rs"]
mod approvals;
#[path = "growth/background.rs"]
mod background;
#[path = "growth/pages.rs"]
mod pages;
#[path = "growth/project.rs"]
mod project;
#[path = "growth/pruning.rs"]
mod pruning;
#[path = "growth/queues.rs"]
mod queues;

/// One part of the benchmark. In a test it only has to run.
type Part = fn(is_test: bool);

const PARTS: &[(&str, Part)] = &[
    ("issues", queues::issues),
    ("tasks", queues::tasks),
    ("webhooks", background::webhooks),
    ("shell-hooks", background::shell_hooks),
    ("prune", pruning::sessions),
    ("events-that-wait", approvals::of_events),
    ("sessions-that-wait", approvals::of_sessions),
    ("pages", pages::following),
    ("older-pages", pages::older),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` only checks that the benchmark runs.
    let is_test = arguments.iter().any(|argument| argument == "--test");
    let named: Vec<&String> =
        arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    for (name, part) in PARTS {
        if named.is_empty() || named.iter().any(|wanted| wanted == name) {
            part(is_test);
        }
    }
}

/// Prints the cost of each size, and its ratio to the first one.
fn print(what: &str, unit: &str, costs: &[(usize, f64)], target: &str) {
    let first = costs[0].1;
    let columns: Vec<String> = costs
        .iter()
        .map(|(size, cost)| format!("{size}: {cost:.2} {unit} ({:.2} x)", cost / first))
        .collect();
    println!("{what}: {} (target: {target})", columns.join(", "));
}
