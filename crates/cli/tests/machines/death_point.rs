//! [`DeathPoint`]: where the process of a worker or of its sessions dies, or its whole machine with
//! it. [`PointCounts`]: how many such points there are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Task;
use super::fleet::Fleet;
use super::running_worker::{RunningWorker, SUBMITTER};
use super::takeover::points_in;

/// Who dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Death {
    /// The process of a session.
    SessionProcess,
    /// The worker's own process.
    Worker,
    /// The whole machine, at a point of the process of a session.
    MachineOfSession,
    /// The whole machine, at a point of the worker's own process.
    MachineOfWorker,
}

impl Death {
    pub(crate) const ALL: [Self; 4] =
        [Self::SessionProcess, Self::Worker, Self::MachineOfSession, Self::MachineOfWorker];

    /// The fault, in the words of the summary.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Self::SessionProcess => "session processes killed at a numbered point",
            Self::Worker => "workers killed at a numbered point",
            Self::MachineOfSession => "machines killed at a numbered point of a session process",
            Self::MachineOfWorker => "machines killed at a numbered point of a worker",
        }
    }

    pub(crate) fn is_of_machine(self) -> bool {
        match self {
            Self::MachineOfSession | Self::MachineOfWorker => true,
            Self::SessionProcess | Self::Worker => false,
        }
    }

    fn is_of_session(self) -> bool {
        match self {
            Self::SessionProcess | Self::MachineOfSession => true,
            Self::Worker | Self::MachineOfWorker => false,
        }
    }
}

/// A death at a point. Of several processes with the same variables, one dies.
#[derive(Debug)]
pub(crate) struct DeathPoint {
    pub(crate) death: Death,
    number: u64,
    /// Exists once the point was reached.
    mark: PathBuf,
}

impl DeathPoint {
    /// The death with this number. Those of one kind are spread over all points.
    pub(crate) fn new(fleet: &Fleet, number: u64, all: u64, points: PointCounts) -> Self {
        let kinds = Death::ALL.len() as u64;
        let death = Death::ALL[usize::try_from(number % kinds).unwrap_or(0)];
        let points = if death.is_of_session() { points.session_process } else { points.worker };
        let of_kind = all.div_ceil(kinds);
        let mark = fleet.lab.shared_folder().join(format!("died-{number}"));
        Self { death, number: 1 + (number / kinds) * points / of_kind, mark }
    }

    /// Tells a worker of it.
    pub(crate) fn prepare(&self, command: &mut Command) {
        let variable = match self.death.is_of_session() {
            true => "HOOKWRIGHT_SESSION_DIE_AT",
            false => "HOOKWRIGHT_DIE_AT",
        };
        command.env(variable, self.number.to_string()).env("HOOKWRIGHT_DIE_MARK", &self.mark);
        if self.death.is_of_machine() {
            command.env("HOOKWRIGHT_DIE_WITH_MACHINE", "1");
        }
    }

    pub(crate) fn is_reached(&self) -> bool {
        self.mark.exists()
    }
}

/// The points that are passed while a worker runs one session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PointCounts {
    pub(crate) session_process: u64,
    pub(crate) worker: u64,
}

impl PointCounts {
    /// Counts them in a session without faults.
    pub(crate) fn count(task: &Task<'_>, beat: Duration) -> Self {
        let fleet = Fleet::with_beat(task.program, &["a", "b", "c"], beat);
        let file = |name: &str| fleet.lab.shared_folder().join(name);
        let [of_worker, of_session] = ["points-of-worker", "points-of-session"].map(file);
        let mut worker = RunningWorker::start_with(&fleet, 0, |command| {
            command.env("HOOKWRIGHT_POINTS_FILE", &of_worker);
            command.env("HOOKWRIGHT_SESSION_POINTS_FILE", &of_session);
        });
        let submit = ["run", "carried.yaml", "--on", "workers", "--session", "s", "--follow"];
        let ran = fleet.machines[SUBMITTER].hookwright(&submit);
        assert!(ran.status.success(), "{ran:?}");
        worker.end();
        let count = |file: &Path| points_in(file);
        Self { session_process: count(&of_session), worker: count(&of_worker) }
    }
}
