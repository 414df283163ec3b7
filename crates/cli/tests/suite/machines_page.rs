//! `docs/machines.md`: a test types every command of the page, on machines of a lab.
//! `HOOKWRIGHT_UPDATE=1` rewrites what the commands print. A block that shows no output stays so.

use std::fmt::Write as _;

use hookwright_machine_lab::{Lab, Machine, MachineProcess};
use hookwright_postgres_server::Cluster;

use crate::docs::{blocks, timeless, up_to_date};
use crate::interrupts::until;
use crate::support::repository;

/// The address in the guide.
const ADDRESS: &str = "postgres://hookwright@db.example.org/hookwright";

const NAMES: [&str; 3] = ["laptop", "east", "west"];

/// A session and a task that are in the laptop's file before it knows of the database.
const EARLIER: &str = "mkdir ~/earlier && cd ~/earlier && hookwright task add 'read the page' && \
    echo '{prompt: p, agent: {command: echo}, termination: {type: fixed, iterations: 1}}' > loop.yaml \
    && hookwright run loop.yaml";

#[test]
fn the_page_about_machines_does_what_it_shows() {
    let page = repository().join("docs/machines.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let lab = Lab::new(env!("CARGO_BIN_EXE_hookwright"), &[(".gitignore", ".hookwright/\n")]);
    let cluster = Cluster::start();
    for statement in blocks(&text, "sql")[0].split_inclusive(';') {
        cluster.sql("postgres", statement);
    }
    let mut desk = Machines {
        all: NAMES.map(|name| (name, lab.machine(name))),
        address: format!("postgres://hookwright@127.0.0.1:{}/hookwright", cluster.port()),
        folder: lab.shared_folder().join("trees").display().to_string(),
        workers: Vec::new(),
    };
    for file in blocks(&text, "yaml") {
        let (name, content) = file.split_once('\n').unwrap();
        let content = content.replace("/var/tmp/hookwright", &desk.folder);
        std::fs::write(desk.all[0].1.path(name.trim_start_matches("# ")), content).unwrap();
    }
    let ran = desk.all[0].1.shell(EARLIER);
    assert!(ran.status.success(), "{ran:?}");
    let mut replayed = text.clone();
    for block in blocks(&text, "console") {
        let shows_output = block.lines().any(|line| prompt(line).is_none());
        let typed = block.lines().filter(|line| prompt(line).is_some());
        let shown: String = typed.map(|line| desk.type_in(line)).collect();
        if shows_output {
            replayed = replayed.replacen(block, &timeless(shown.trim_end()), 1);
        }
    }
    assert_eq!(desk.workers.len(), 3, "workers were started");
    up_to_date(&page, &replayed);
    let done = || {
        let listed =
            desk.all[0].1.hookwright(&["sessions", "list", "--status", "completed", "--json"]);
        let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
        listed["sessions"].as_array().unwrap().len()
    };
    until("the sessions that were submitted last are complete", || done() == 4);
}

/// The machine and the command of a line like `laptop$ hookwright workers`.
fn prompt(line: &str) -> Option<(&str, &str)> {
    let (name, command) = line.split_once("$ ")?;
    (name == "each" || NAMES.contains(&name)).then_some((name, command))
}

struct Machines {
    all: [(&'static str, Machine); 3],
    address: String,
    folder: String,
    workers: Vec<MachineProcess>,
}

impl Machines {
    /// Types a line, and returns it with what it prints.
    fn type_in(&mut self, line: &str) -> String {
        let (name, command) = prompt(line).unwrap();
        let mut shown = format!("{line}\n");
        let command = command.replace(ADDRESS, &self.address);
        for (_, machine) in self.all.iter().filter(|(own, _)| name == "each" || *own == name) {
            if let Some(arguments) = command.strip_prefix("hookwright worker") {
                let arguments: Vec<&str> =
                    ["worker"].into_iter().chain(arguments.split_whitespace()).collect();
                let mut worker = machine.start_hookwright(&arguments);
                worker.wait_for_words("takes sessions of shop");
                self.workers.push(worker);
                continue;
            }
            let ran = machine.shell(&format!("exec 2>&1; {command}"));
            let printed = String::from_utf8(ran.stdout).unwrap();
            assert!(ran.status.success(), "{line}\n{printed}");
            shown.write_str(&printed).unwrap();
        }
        shown
    }
}
