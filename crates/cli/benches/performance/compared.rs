//! [`Compared`]: a measurement and its lower bound, in one run.

use std::time::{Duration, Instant};

/// How often a void run is repeated.
const TRIES_MAX: usize = 5;

/// The medians of paired ratios and differences.
pub(crate) struct Compared {
    ratio: f64,
    difference: Duration,
    floor: Duration,
    floors: f64,
    is_void: bool,
}

impl Compared {
    pub(crate) fn print(&self, what: &str, target: &str) {
        let void = if self.is_void { "VOID: " } else { "" };
        println!("{what}");
        println!(
            "  {void}ratio {:.3}, {:+.3} ms over {:.3} ms (target: {target}); A/A' {:.3}",
            self.ratio,
            self.difference.as_secs_f64() * 1e3,
            self.floor.as_secs_f64() * 1e3,
            self.floors
        );
    }
}

/// Interleaves the two, and repeats a run that other load on the machine disturbed.
pub(crate) fn compare(rounds: usize, floor: impl Fn(), thing: impl Fn()) -> Compared {
    let time = |deed: &dyn Fn()| {
        let start = Instant::now();
        deed();
        start.elapsed().as_secs_f64()
    };
    compare_times(rounds, &mut || time(&floor), &mut || time(&thing))
}

/// The same for functions that say how many seconds they took: what they prepare does not count.
pub(crate) fn compare_times(
    rounds: usize,
    floor: &mut dyn FnMut() -> f64,
    thing: &mut dyn FnMut() -> f64,
) -> Compared {
    let mut last = None;
    for _ in 0..TRIES_MAX {
        let compared = compare_once(rounds, floor, thing);
        if !compared.is_void {
            return compared;
        }
        last = Some(compared);
    }
    last.unwrap()
}

fn compare_once(
    rounds: usize,
    floor: &mut dyn FnMut() -> f64,
    thing: &mut dyn FnMut() -> f64,
) -> Compared {
    for _ in 0..rounds / 10 {
        floor();
        thing();
    }
    let (mut ratios, mut differences, mut floors, mut firsts) = (vec![], vec![], vec![], vec![]);
    for round in 0..rounds {
        // Every other round is mirrored, so that both runs of the floor follow the thing equally
        // often: what ran before leaves caches warm or cold.
        let order = if round % 2 == 0 { [0, 1, 2] } else { [2, 1, 0] };
        let mut times = [0.0; 3];
        for which in order {
            times[which] = if which == 1 { thing() } else { floor() };
        }
        let [a, b, second] = times;
        let pair = f64::midpoint(a, second);
        ratios.push(b / pair);
        differences.push(b - pair);
        floors.push(a / second);
        firsts.push(a);
    }
    let floors = median(&mut floors);
    Compared {
        ratio: median(&mut ratios),
        difference: Duration::from_secs_f64(median(&mut differences).max(0.0)),
        floor: Duration::from_secs_f64(median(&mut firsts)),
        floors,
        is_void: !(0.97..=1.03).contains(&floors),
    }
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
