//! Taking a work item from a queue, however long it is: the difference between sessions that take
//! many and few, so that their start and end do not count.

use std::sync::Arc;
use std::time::Duration;

use hookwright_events::TaskId;
use hookwright_store::{Commit, Expected, KeptTasks, NewTask, Put, SqliteStore, Store};

use crate::print;
use crate::project::Project;

const ROUNDS: usize = 3;
const TARGET: &str = "at most 1.5 x";

/// Work items that the short and the long session take.
const TAKEN: [u32; 2] = [10, 210];

/// Puts in one commit.
const AT_ONCE: usize = 5_000;

pub(crate) fn issues(is_test: bool) {
    measure("an issue taken from a folder of", "{issues: ../issues}", is_test, |project, size| {
        for number in 1..=size {
            let text = format!("# Issue {number}\n");
            project.write(&format!("../issues/{number}-some-title.md"), &text);
        }
        // A folder that has just changed would be listed again.
        std::thread::sleep(Duration::from_millis(200));
    });
}

pub(crate) fn tasks(is_test: bool) {
    measure("a task taken from a list of", "{tasks: true}", is_test, fill);
    measure(
        "a task taken, nine of ten waiting, from",
        "{tasks: true}",
        is_test,
        |project, size| {
            fill(project, size);
            // The tasks with the highest priority wait for the last one.
            change(project, |task| {
                let is_waiting = task.id.0 > 300 && task.id.0 < size as u64;
                if is_waiting {
                    (task.priority, task.depends_on) = (0, vec![TaskId(size as u64)]);
                }
            });
        },
    );
}

fn measure(what: &str, source: &str, is_test: bool, fill: impl Fn(&Project, usize)) {
    let (sizes, rounds): (&[usize], usize) =
        if is_test { (&[250, 300], 1) } else { (&[300, 1_000, 10_000, 100_000], ROUNDS) };
    let cost = |size: usize| {
        let [short, long] = TAKEN.map(|taken| {
            let project = Project::new();
            fill(&project, size);
            project.write("say.yaml", "turns: [[{say: something}]]\nthen: repeat\n");
            let text = format!(
                "prompt: p
agent: {{type: scripted, script: say.yaml}}
max_iterations: {taken}
termination: {{type: queue, source: {source}}}
"
            );
            project.write("loop.yaml", &text);
            project.processor_time(&["run", "loop.yaml", "--session", "s"])
        });
        (long - short) / f64::from(TAKEN[1] - TAKEN[0])
    };
    // Round by round, so that other load on the machine affects all sizes.
    let mut costs: Vec<Vec<f64>> = vec![Vec::new(); sizes.len()];
    for _ in 0..rounds {
        for (size, costs) in sizes.iter().zip(&mut costs) {
            costs.push(cost(*size));
        }
    }
    let median = |costs: &mut Vec<f64>| {
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    };
    let costs: Vec<(usize, f64)> =
        sizes.iter().zip(&mut costs).map(|(size, costs)| (*size, median(costs))).collect();
    print(what, "ms", &costs, TARGET);
}

fn kept_tasks(project: &Project) -> (Arc<SqliteStore>, KeptTasks) {
    let store = Arc::new(SqliteStore::open(&project.state()).unwrap());
    let root = project.path("");
    let root = root.to_str().unwrap().trim_end_matches('/');
    let tasks = KeptTasks::new(Arc::clone(&store) as _, root);
    (store, tasks)
}

/// Creates this many open tasks.
fn fill(project: &Project, size: usize) {
    let (store, tasks) = kept_tasks(project);
    // The first one creates the list; the others are written as the list would write them.
    let first = tasks.add(&NewTask::new("write the parser of expressions"), 0).unwrap();
    let numbers: Vec<u64> = (2..=size as u64).collect();
    for some in numbers.chunks(AT_ONCE) {
        let puts = some.iter().map(|number| {
            let mut kept = first.clone();
            kept.task.id = TaskId(*number);
            kept.task.content = format!("write the parser of expressions, part {number}");
            Put { expected: Expected::Absent, ..tasks.put_for(&kept) }
        });
        store.commit(&Commit { puts: puts.collect(), ..Commit::unsynced() }).unwrap();
    }
}

fn change(project: &Project, change: impl Fn(&mut hookwright_events::task::Task)) {
    let (store, tasks) = kept_tasks(project);
    let list = tasks.list(&[]).unwrap();
    for some in list.tasks.chunks(AT_ONCE) {
        let puts = some.iter().map(|kept| {
            let mut kept = kept.clone();
            change(&mut kept.task);
            tasks.put_for(&kept)
        });
        store.commit(&Commit { puts: puts.collect(), ..Commit::unsynced() }).unwrap();
    }
}
