//! The cost of parsing a command of 200 bytes, placing its `{{x}}`, and filling it for one run.
//!
//! The median of batches; figures and targets are in `docs/performance.md`.
//!
//! `cargo bench -p hookwright-engine`
#![expect(clippy::print_stdout, reason = "a measurement is printed")]

use std::borrow::Cow;
use std::hint::black_box;
use std::time::Instant;

use hookwright_engine::template::{Reference, Value, rewrite};

const BATCHES: usize = 200;
const CALLS: u32 = 500;

/// The length of the commands in the target.
const COMMAND_BYTES: usize = 200;

fn main() {
    // `cargo test --benches` only checks that it runs.
    let batches = if std::env::args().any(|arg| arg == "--test") { 3 } else { BATCHES };
    println!(
        "placing {{{{x}}}} in a command of {COMMAND_BYTES} bytes (target: under 5 µs), filling it"
    );
    for (what, command) in commands() {
        let rewritten = rewrite(&command, &known).expect("it can be placed");
        let places = per_call(batches, || {
            black_box(rewrite(black_box(&command), &known)).expect("it can be placed");
        });
        let fills = per_call(batches, || {
            black_box(rewritten.fill(&|name| match known(name) {
                Reference::List => Value::List(vec![Cow::Borrowed("src/main.rs"); 3]),
                Reference::Scalar | Reference::Unknown => {
                    Value::Scalar(Cow::Borrowed("a title of some words"))
                }
            }));
        });
        println!("  {places:.2} µs, {fills:.2} µs: {what}");
    }
}

fn known(name: &str) -> Reference {
    match name {
        "title" | "number" | "session" => Reference::Scalar,
        "files" => Reference::List,
        _ => Reference::Unknown,
    }
}

/// Realistic commands, each padded with a plain one to the requested length.
fn commands() -> Vec<(&'static str, String)> {
    let all = [
        ("words and quotes", "notify-send \"{{session}}: {{title}}\" '{{title}}' {{files}}"),
        (
            "substitutions, a case and a here-document",
            "case {{title}} in *wip*) exit 0 ;; esac\nid=$(printf '%s' \"$(echo {{number}})\")\n\
             cat <<E >> \"$HOME/log\"\n{{session}} {{title}}\nE\n",
        ),
        (
            "assignments",
            "title={{title}}; n=\"{{number}}\"; if [ \"$n\" -gt 3 ]; then echo \"$title\"; fi | sort",
        ),
        (
            "assignments beside arithmetic, so that variables are followed",
            "title={{title}}; n=\"{{number}}\"; if (( ITERATION % 3 )); then echo \"$title\"; fi | sort",
        ),
    ];
    let filled = |command: &str| {
        let filling = "\ngit log --oneline --max-count 5 -- src docs > recent.txt";
        let mut text = command.to_owned();
        while text.len() < COMMAND_BYTES {
            text.push_str(filling);
        }
        // Cutting a plain word leaves a plain word.
        text.truncate(COMMAND_BYTES.max(command.len()));
        text
    };
    all.map(|(what, command)| (what, filled(command))).to_vec()
}

/// The median time of a call, in microseconds.
fn per_call(batches: usize, deed: impl Fn()) -> f64 {
    let mut times: Vec<f64> = (0..batches)
        .map(|_| {
            let start = Instant::now();
            (0..CALLS).for_each(|_| deed());
            start.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
