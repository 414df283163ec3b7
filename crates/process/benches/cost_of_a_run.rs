//! The cost of one `run` compared with the simplest equivalent in `std::process`, and with a bare
//! `posix_spawn`.
//!
//! It measures the floor, ours, and the floor again, in turn, so that a change of the machine's
//! load affects all three. The result is the median of the ratios within a round. If the two floors
//! differ, it is void.
//!
//! `cargo bench -p hookwright-process -- [rounds]`

#![expect(clippy::print_stdout, reason = "a measurement is printed")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has to stop")]

#[path = "../../cli/benches/performance/bare_spawn.rs"]
mod bare_spawn;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hookwright_process::{How, Launch, run};
use tokio_util::sync::CancellationToken;

use bare_spawn::BareSpawn;

const INPUT: &str =
    r#"{"event":"tool:pre_execute","tool_name":"bash","tool_input":{"command":"ls"}}"#;
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";
const WARM_UP_ROUNDS: usize = 20;
const ROUNDS: usize = 1000;

fn main() {
    let rounds = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(ROUNDS);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("this machine has what a runtime needs");
    let environment = [("PATH".into(), PATH.into()), ("HOOKWRIGHT_RUN".into(), "run-1".into())];
    let bash = Path::new("/bin/bash");
    let bare = BareSpawn::new(bash, &["-c", "true"], &environment, Path::new("/"), INPUT);
    compare("`std::process`", rounds, &floor, &|| our_run(&runtime));
    compare("a bare `posix_spawn`", rounds, &|| bare.run(), &|| our_run(&runtime));
}

fn compare(what: &str, rounds: usize, floor: &dyn Fn(), thing: &dyn Fn()) {
    let (mut floors, mut ours, mut floors_again) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..WARM_UP_ROUNDS + rounds {
        // Every other round is mirrored, so that both runs of the floor follow the thing equally often.
        let order = if round % 2 == 0 { [0, 1, 2] } else { [2, 1, 0] };
        let mut times = [0.0; 3];
        for which in order {
            times[which] = if which == 1 { time(thing) } else { time(floor) };
        }
        if round >= WARM_UP_ROUNDS {
            floors.push(times[0]);
            ours.push(times[1]);
            floors_again.push(times[2]);
        }
    }
    let same = median(&ratios(&floors_again, &floors));
    let both: Vec<f64> = floors.iter().zip(&floors_again).map(|(a, b)| (a + b) / 2.0).collect();
    let ratio = median(&ratios(&ours, &both));
    println!("beside {what}: {:.0} µs, ours {:.0} µs", median(&floors), median(&ours));
    println!("  ratio {ratio:.3}, A/A' {same:.3}, {rounds} rounds");
    if !(0.97..=1.03).contains(&same) {
        println!("  void: the floors differ");
    }
}

fn floor() {
    let mut child = Command::new("/bin/bash")
        .args(["-c", "true"])
        .env_clear()
        .env("PATH", PATH)
        .env("HOOKWRIGHT_RUN", "run-1")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash is here");
    // Bash may already have ended.
    let _ = child.stdin.take().expect("it is piped").write_all(INPUT.as_bytes());
    let output = child.wait_with_output().expect("it is our child");
    assert!(output.status.success());
}

fn our_run(runtime: &tokio::runtime::Runtime) {
    let launch = Launch {
        program: PathBuf::from("/bin/bash"),
        args: vec!["-c".into(), "true".into()],
        shared_env: std::sync::Arc::default(),
        env: vec![("PATH".into(), PATH.into())],
        working_dir: PathBuf::from("/"),
        stdin: INPUT.as_bytes().to_vec(),
        timeout: Duration::from_secs(60),
        kill_grace: Duration::from_secs(2),
        linger: Duration::from_millis(200),
        output_bytes_max: 1024 * 1024,
        run_id: "run-1".to_owned(),
    };
    let ended = runtime.block_on(run(launch, &mut (), &CancellationToken::new()));
    assert!(matches!(ended.how, How::Exited { code: 0 }));
}

fn time(deed: &dyn Fn()) -> f64 {
    let start = Instant::now();
    deed();
    start.elapsed().as_secs_f64() * 1e6
}

fn ratios(these: &[f64], to_those: &[f64]) -> Vec<f64> {
    these.iter().zip(to_those).map(|(this, that)| this / that).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
