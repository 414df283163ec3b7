//! A session of the built-in agent of a thousand turns, with hooks, two MCP servers and subagents: how its memory and its
//! files grow, and that it leaves nothing behind. Method, targets and figures: `docs/performance.md`.
#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

#[path = "../tests/suite/agent_soak.rs"]
mod agent_soak;

use agent_soak::{Held, Soak};

/// The memory at the end, as a ratio to that at the first look.
const MEMORY_RATIO_MAX: f64 = 1.2;

fn main() {
    // `cargo test --benches` only checks that the benchmark runs.
    let is_test = std::env::args().any(|argument| argument == "--test");
    let (turns, before) = if is_test { (40, 20) } else { (1000, 100) };
    let soak = Soak::run(turns, before);
    let (first, last) = (&soak.early, &soak.late);
    let ratio = last.memory_kib as f64 / first.memory_kib as f64;
    println!(
        "a session of {turns} turns with hooks, two MCP servers and subagents, since turn {before}"
    );
    let mib = |held: &Held| held.memory_kib as f64 / 1024.0;
    println!(
        "  memory: {:.1} MiB, then {:.1} MiB: {ratio:.2} x (target: at most {MEMORY_RATIO_MAX})",
        mib(first),
        mib(last)
    );
    println!("  descriptors: {}, then {}", first.descriptors.len(), last.descriptors.len());
    println!("  processes: {}, then {}", first.processes, last.processes);
    let grown = |early: u64, late: u64| late.saturating_sub(early) / (turns - before) as u64;
    let first_bytes = first.store_bytes / before as u64;
    let (transcripts, store) = (
        grown(first.transcript_bytes, last.transcript_bytes),
        grown(first.store_bytes, last.store_bytes),
    );
    println!("  a turn adds {transcripts} bytes to the transcripts");
    println!("  a turn adds {store} bytes to the store, {first_bytes} before (target: no more)");
    soak.assert_nothing_is_left();
    println!("  nothing is left: no process, no file, no descriptor");
    assert!(store <= first_bytes, "the journal grows faster: {store} bytes a turn");
    assert!(is_test || ratio <= MEMORY_RATIO_MAX, "the memory grew to {ratio:.2} x");
}
