//! A worker: takes submitted sessions, and runs each in a process of its own.
//!
//! | file | is |
//! |---|---|
//! | `session_process.rs` | a session's process, as the worker sees it |
//! | `running_session.rs` | what happens in that process |
//! | `ended_holders.rs` | the workers whose sessions may be queued again |
//! | `left_sessions.rs` | sessions that the worker leaves to others |
//! | `obstacle.rs` | why no sessions are taken for a while |
//! | `news.rs` | what the worker prints |
//!
//! A process is started before its session is known, because a claim names the process that holds
//! the lease. While a place is free, one such process waits.
//!
//! The worker's heart sends its beats (`pipeline/heart.rs`), and gives orders to the sessions, which
//! are passed on to their processes. So are the beats that arrive: without them, a session process
//! ends its agents by itself.
//!
//! The store is asked on another thread, so that signals and ends of sessions are seen while it is
//! unreachable. An obstacle that may pass only keeps the worker from taking sessions. Any other error
//! ends it, once its sessions were given back.

mod ended_holders;
mod left_sessions;
mod news;
mod obstacle;
mod running_session;
mod session_process;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hookwright_engine::ports::Clock;
use hookwright_pipeline::heart::{Heart, HeartError};
use hookwright_pipeline::lease::LeaseOwner;
use hookwright_pipeline::leftovers;
use hookwright_pipeline::limits::LOSSES_MAX;
use hookwright_pipeline::orders::Order;
use hookwright_pipeline::process_leases;
use hookwright_pipeline::submission::{
    self, ClaimedSession, Claimer, Return, Returned, WorkerOffer,
};
use hookwright_process::{end_run, faults};
use hookwright_store::{Fence, Kind, RecordKey, Store, StoreError, Workers};
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::ended_holders::ended_holders;
use self::left_sessions::LeftSessions;
use self::news::WorkerNews;
pub(crate) use self::news::short_id;
use self::obstacle::Obstacle;
pub(crate) use self::running_session::run_assigned;
use self::session_process::{BeatTimes, EndOfProcess, SessionAssignment, SessionProcess, millis};
use crate::carried_session::remove_left_trees;
use crate::config_files::process_environment;
use crate::error::Failure;
use crate::exit_code;
use crate::interrupts::Interrupts;
use crate::screen::Screen;
use crate::store_time::StoreTime;

/// Sessions of a worker at once, at most.
pub(crate) const AT_ONCE_MAX: u16 = 256;

/// Pause between two questions whether the store has news.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// Pause between two searches for sessions of workers that have ended.
const RECOVER_PAUSE: Duration = Duration::from_secs(10);

/// How long a session process may take to end after it was asked, before it is killed.
const END_MAX: Duration = Duration::from_secs(40);

/// A project whose sessions a worker takes.
#[derive(Debug, Clone)]
pub(crate) struct WorkedProject {
    /// Its name, else its path.
    pub(crate) key: String,
    /// Its checkout on this machine.
    pub(crate) root: PathBuf,
}

/// How a worker is started.
pub(crate) struct WorkerSetup {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) workers: Arc<dyn Workers>,
    pub(crate) projects: Vec<WorkedProject>,
    pub(crate) offer: WorkerOffer,
    pub(crate) json: bool,
    /// The command that sets a new work tree up.
    pub(crate) command: Option<String>,
}

/// A running worker.
struct Worker {
    setup: Arc<WorkerSetup>,
    heart: Heart,
    offers: Vec<String>,
    news: Rc<WorkerNews>,
    /// The process for the next session.
    spare: Option<SessionProcess>,
    running: BTreeMap<u64, RunningSession>,
    /// Sessions whose processes have ended, and that the store does not know yet to be over here.
    ended: VecDeque<EndedSession>,
    /// Waits for the ends of processes, each with its number.
    ends: JoinSet<(u64, EndOfProcess)>,
    last_number: u64,
    /// The project that is asked first next time, so that none waits for another.
    next_project: usize,
    left_to_others: LeftSessions,
    /// The store's number of changes when nothing was left to claim.
    seen: Option<u64>,
    is_ending: bool,
    /// The worker that was looked at last whether it has ended, for each project.
    looked_at: BTreeMap<String, String>,
    /// Others have declared it dead: it has lost its sessions.
    is_dead: bool,
}

/// A session whose process has ended.
struct EndedSession {
    key: RecordKey,
    fence: Fence,
    process: LeaseOwner,
    why: Return,
    end: EndOfProcess,
}

/// A session whose process runs.
struct RunningSession {
    key: RecordKey,
    fence: Fence,
    process: SessionProcess,
    /// The worker has asked it to end, so that another worker continues the session.
    is_given_back: bool,
}

/// What a look for a session has found.
enum Claim {
    Session,
    /// No session of this project waits for this worker.
    Nothing,
    /// An obstacle, which was told.
    Hindered,
}

/// What a call of the store does there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StoreUse {
    Reads,
    Writes,
}

/// Works until it is asked to end.
pub(crate) async fn work(setup: WorkerSetup, screen: &Screen) -> Result<u8, Failure> {
    let mut interrupts = Interrupts::new().map_err(|cause| Failure::NoRuntime { cause })?;
    let setup = Arc::new(setup);
    let asked = tokio::sync::Notify::new();
    let news = Rc::new(WorkerNews::new(setup.json));
    let work = async {
        let mut joined = Worker::join(&setup, &news, screen).await?;
        loop {
            let mut worker = joined;
            let went = worker.go(&asked, screen).await;
            if went.is_err() {
                worker.wind_up(screen).await;
            }
            let is_ending = worker.leave().await;
            went?;
            if is_ending {
                return Ok(exit_code::GO_ON);
            }
            let Some(again) = join_again(&setup, &news, &asked, screen).await? else {
                return Ok(exit_code::GO_ON);
            };
            joined = again;
        }
    };
    interrupts.or_else(&|| asked.notify_one(), work).await
}

/// Joins anew, once the store lets it; `None` if it was asked to end first.
async fn join_again(
    setup: &Arc<WorkerSetup>,
    news: &Rc<WorkerNews>,
    asked: &tokio::sync::Notify,
    screen: &Screen,
) -> Result<Option<Worker>, Failure> {
    loop {
        match Worker::join(setup, news, screen).await {
            Err(Failure::Store(error)) => match Obstacle::of(&error) {
                Some(obstacle) => news.hindered(obstacle, &error.to_string(), screen)?,
                None => return Err(Failure::Store(error)),
            },
            joined => return joined.map(Some),
        }
        tokio::select! {
            () = asked.notified() => return Ok(None),
            () = tokio::time::sleep(LOOK_PAUSE) => {}
        }
    }
}

impl Worker {
    /// Ends what dead workers left on this machine, and joins the workers of the store.
    async fn join(
        setup: &Arc<WorkerSetup>,
        news: &Rc<WorkerNews>,
        screen: &Screen,
    ) -> Result<Self, Failure> {
        let ended = leftovers::end_leftovers(&*setup.workers).await.map_err(Failure::Store)?;
        let environment = process_environment();
        for project in &setup.projects {
            let removed = remove_left_trees(project, &environment).await?;
            news.removed_trees(removed, screen)?;
        }
        let describe = |owner: LeaseOwner| {
            let mut description = serde_json::to_value(&owner).unwrap_or_default();
            description["offer"] = serde_json::to_value(&setup.offer).unwrap_or_default();
            description.to_string()
        };
        faults::point("worker joins");
        let heart = Heart::start(Arc::clone(&setup.workers), describe);
        faults::point("worker joined");
        let heart = heart.map_err(|error| match error {
            HeartError::Store(error) => Failure::Store(error),
            HeartError::System(cause) => Failure::NoRuntime { cause },
        })?;
        for obstacle in [Obstacle::StoreIsAway, Obstacle::StoreTakesNothing, Obstacle::BeatsAreLost]
        {
            news.relieved(obstacle, screen)?;
        }
        news.joined(setup, &heart.id().to_string(), ended, screen)?;
        Ok(Self {
            setup: Arc::clone(setup),
            heart,
            offers: setup.offer.marks(),
            news: Rc::clone(news),
            spare: None,
            running: BTreeMap::new(),
            ended: VecDeque::new(),
            looked_at: BTreeMap::new(),
            ends: JoinSet::new(),
            last_number: 0,
            next_project: 0,
            left_to_others: LeftSessions::default(),
            seen: None,
            is_ending: false,
            is_dead: false,
        })
    }

    /// Leaves the workers of the store; `false` if others had declared it dead, so that it has to join
    /// anew.
    async fn leave(self) -> bool {
        let Self { setup, heart, is_ending, .. } = self;
        let id = heart.id();
        drop(heart);
        faults::point("worker leaves");
        // If the store is unreachable, others declare it dead.
        let _ = tokio::task::spawn_blocking(move || setup.workers.leave(id)).await;
        faults::point("worker left");
        is_ending
    }

    async fn go(&mut self, asked: &tokio::sync::Notify, screen: &Screen) -> Result<(), Failure> {
        let mut look = tokio::time::interval(LOOK_PAUSE);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut recover_at = Instant::now();
        let mut kill_at = None;
        loop {
            tokio::select! {
                // While the store is away, each look takes long.
                biased;
                () = asked.notified(), if !self.is_ending => {
                    self.give_all_back(screen)?;
                    kill_at = Some(Instant::now() + END_MAX);
                }
                Some(ended) = self.ends.join_next() => {
                    let (number, end) = ended.expect("waiting for a process does not panic");
                    self.session_ended(number, end).await;
                    self.seen = None;
                }
                () = until(kill_at) => {
                    kill_at = None;
                    self.running.values().for_each(|session| session.process.kill());
                }
                _ = look.tick(), if !self.is_ending => {}
            }
            if self.heart.is_dead() {
                self.declared_dead(screen)?;
            }
            self.give_back_ended(screen).await?;
            if self.is_ending || self.is_dead {
                if self.running.is_empty() {
                    return Ok(());
                }
                continue;
            }
            if !self.ended.is_empty() {
                // The store is away.
                continue;
            }
            if recover_at <= Instant::now() {
                self.recover(screen).await?;
                recover_at = Instant::now() + RECOVER_PAUSE;
            }
            self.claim_all(screen).await?;
        }
    }

    /// Ends all sessions because of an error, and gives back those that the store still takes.
    async fn wind_up(&mut self, screen: &Screen) {
        // The error is told; this only prints more.
        let _ = self.give_all_back(screen);
        let mut kill_at = Some(Instant::now() + END_MAX);
        while !self.running.is_empty() {
            tokio::select! {
                Some(ended) = self.ends.join_next() => {
                    let (number, end) = ended.expect("waiting for a process does not panic");
                    self.session_ended(number, end).await;
                }
                () = until(kill_at) => {
                    kill_at = None;
                    self.running.values().for_each(|session| session.process.kill());
                }
            }
        }
        while !self.ended.is_empty() {
            if self.give_back_ended(screen).await.is_err() {
                // Other workers find this one. The next may be accepted.
                self.ended.pop_front();
            }
        }
    }

    /// Calls the store on another thread. `None` if there is an obstacle, which is told once, or if
    /// this worker was declared dead.
    async fn ask<T: Send + 'static>(
        &mut self,
        store_use: StoreUse,
        screen: &Screen,
        call: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Option<T>, Failure> {
        let store = Arc::clone(&self.setup.store);
        let called = tokio::task::spawn_blocking(move || call(&*store)).await;
        match called.expect("calls of a store do not panic") {
            Ok(answer) => {
                self.news.relieved(Obstacle::StoreIsAway, screen)?;
                // A server that cannot be written still answers.
                if store_use == StoreUse::Writes {
                    self.news.relieved(Obstacle::StoreTakesNothing, screen)?;
                }
                Ok(Some(answer))
            }
            Err(StoreError::DeclaredDead { .. }) => {
                self.declared_dead(screen)?;
                Ok(None)
            }
            Err(error) => match Obstacle::of(&error) {
                Some(obstacle) => {
                    self.news.hindered(obstacle, &error.to_string(), screen)?;
                    Ok(None)
                }
                None => Err(Failure::Store(error)),
            },
        }
    }

    /// Others have taken its sessions, or may do so now.
    fn declared_dead(&mut self, screen: &Screen) -> Result<(), Failure> {
        if std::mem::replace(&mut self.is_dead, true) {
            return Ok(());
        }
        for session in self.running.values() {
            // A process that ends without an order seems to have been stopped by a person.
            let why = "other machines have declared this worker dead";
            session.process.orders().give(Order::Kill, why);
            session.process.kill();
        }
        match self.is_ending {
            true => Ok(()),
            false => self.news.declared_dead(screen),
        }
    }

    /// Whether the beats arrive, so that a new session would not have to end soon.
    fn beats_arrive(&self, screen: &Screen) -> Result<bool, Failure> {
        let given = self.heart.order();
        if given.order == Order::Continue {
            self.news.relieved(Obstacle::BeatsAreLost, screen)?;
            return Ok(true);
        }
        if !self.news.lacks_store() {
            self.news.hindered(Obstacle::BeatsAreLost, &given.why, screen)?;
        }
        Ok(false)
    }

    /// Claims sessions until every place is taken or no session is left.
    async fn claim_all(&mut self, screen: &Screen) -> Result<(), Failure> {
        if self.left_to_others.has_expired(Instant::now()) {
            self.seen = None;
        }
        if !self.beats_arrive(screen)? || self.running.len() >= self.setup.offer.at_once {
            return Ok(());
        }
        let changes = self.ask(StoreUse::Reads, screen, |store| store.changes()).await?;
        let Some(changes) = changes else { return Ok(()) };
        if self.seen == Some(changes) {
            return Ok(());
        }
        let mut without = 0;
        while without < self.setup.projects.len() && self.running.len() < self.setup.offer.at_once {
            let project = self.setup.projects[self.next_project].clone();
            self.next_project = (self.next_project + 1) % self.setup.projects.len();
            match self.claim(&project, screen).await? {
                Claim::Session => without = 0,
                Claim::Nothing => without += 1,
                Claim::Hindered => return Ok(()),
            }
        }
        if without == self.setup.projects.len() {
            self.seen = Some(changes);
        }
        Ok(())
    }

    /// Claims one session of a project.
    async fn claim(&mut self, project: &WorkedProject, screen: &Screen) -> Result<Claim, Failure> {
        let spare = self.spare.take().filter(SessionProcess::runs);
        let spare = match spare.map_or_else(SessionProcess::start, Ok) {
            Ok(spare) => spare,
            Err(cause) => {
                self.news.no_process(&cause, screen)?;
                return Ok(Claim::Hindered);
            }
        };
        self.news.relieved(Obstacle::NoProcess, screen)?;
        let holder = spare.holder(self.heart.id());
        let skip = self.left_to_others.names(&project.key);
        let (key, worker, offers) =
            (project.key.clone(), self.heart.id().to_string(), self.offers.clone());
        faults::point("session is claimed");
        let claimed = self
            .ask(StoreUse::Writes, screen, move |store| {
                let (holder, offers) = (&*holder, &*offers);
                let claimer = Claimer { worker: &worker, holder, offers, skip: &skip };
                submission::claim(store, &key, claimer)
            })
            .await?;
        if let Some(Some(claimed)) = claimed {
            faults::point("session claimed");
            self.start(project, claimed, spare, screen)?;
            return Ok(Claim::Session);
        }
        self.spare = Some(spare);
        Ok(claimed.map_or(Claim::Hindered, |_| Claim::Nothing))
    }

    fn start(
        &mut self,
        project: &WorkedProject,
        claimed: ClaimedSession,
        mut process: SessionProcess,
        screen: &Screen,
    ) -> Result<(), Failure> {
        let ClaimedSession { name, fence, .. } = claimed;
        let assignment = SessionAssignment {
            project: project.key.clone(),
            session: name.clone(),
            root: project.root.clone(),
            lease: fence.lease.clone(),
            token: fence.token,
            worker: self.heart.id(),
            setup: self.setup.command.clone(),
            beats: Some(BeatTimes {
                interval_ms: millis(self.heart.interval()),
                last_ms: millis(self.heart.last_beat()),
            }),
        };
        let key = RecordKey { project: project.key.clone(), name };
        faults::point("session is assigned");
        // A process that has ended at this moment is seen below.
        process.assign(&assignment);
        faults::point("session assigned");
        self.heart.hold(fence.clone(), process.orders());
        self.last_number += 1;
        let number = self.last_number;
        let end = process.end();
        self.ends.spawn_blocking(move || (number, end()));
        let pid = process.pid();
        let session = RunningSession { key: key.clone(), fence, process, is_given_back: false };
        self.running.insert(number, session);
        self.news.started(&key, pid, screen)
    }

    /// Asks all sessions to end, so that other workers continue them.
    fn give_all_back(&mut self, screen: &Screen) -> Result<(), Failure> {
        self.is_ending = true;
        self.spare = None;
        for session in self.running.values_mut() {
            session.is_given_back = true;
            session.process.orders().give(Order::End, "the worker gives the session back");
        }
        self.news.ending(self.running.len(), screen)
    }

    /// Ends what is left of a session's process.
    async fn session_ended(&mut self, number: u64, end: EndOfProcess) {
        let Some(session) = self.running.remove(&number) else { return };
        let RunningSession { key, fence, process, is_given_back } = session;
        self.heart.let_go(&fence);
        faults::point("session process ended");
        // A process that was killed leaves its agents.
        end_run(&running_session::marker(self.heart.id(), fence.token), Duration::ZERO).await;
        let was_ordered = process.orders().current().order >= Order::End;
        let why = match end.refusal() {
            _ if is_given_back => Return::GivenBack,
            // Whatever it says: it was cut off.
            _ if was_ordered => Return::Lost,
            Some(reason) => Return::Refused { reason },
            None if end.was_interrupted() => Return::Stopped,
            None => Return::Lost,
        };
        let process = process.owner(self.heart.id());
        self.ended.push_back(EndedSession { key, fence, process, why, end });
    }

    /// Gives sessions back that have not ended with their processes. While the store is unreachable
    /// they wait; if this worker ends meanwhile, others find them.
    async fn give_back_ended(&mut self, screen: &Screen) -> Result<(), Failure> {
        while let Some(EndedSession { key, fence, process, why, .. }) = self.ended.front() {
            let (key, fence, why) = (key.clone(), fence.clone(), why.clone());
            let process = process.clone();
            faults::point("session is given back");
            let returned = self
                .ask(StoreUse::Writes, screen, move |store| {
                    process_leases::release(store, &process, &fence)?;
                    let returned =
                        submission::give_back(store, &key, &fence, StoreTime.now(), why)?;
                    let record = store.get(Kind::Session, &key)?;
                    Ok((returned, record.map(|record| record.status)))
                })
                .await?;
            let Some((returned, status)) = returned else {
                if self.is_ending || self.is_dead {
                    self.ended.clear();
                }
                return Ok(());
            };
            faults::point("session given back");
            let Some(EndedSession { key, why, end, .. }) = self.ended.pop_front() else { break };
            if why != Return::GivenBack && returned == Returned::Queued {
                self.left_to_others.leave(&key, Instant::now());
            }
            self.news.ended(&key, &returned, &why, status.as_deref(), &end, screen)?;
        }
        Ok(())
    }

    /// Queues the sessions of workers that have ended, and those that this worker was given without
    /// hearing of it.
    async fn recover(&mut self, screen: &Screen) -> Result<(), Failure> {
        let (setup, own) = (Arc::clone(&self.setup), self.heart.id().to_string());
        let running = self.running.values().map(|session| &session.key);
        let running = running.chain(self.ended.iter().map(|ended| &ended.key));
        let running: Vec<RecordKey> = running.cloned().collect();
        let mut looked_at = self.looked_at.clone();
        faults::point("sessions are recovered");
        let recovered = self
            .ask(StoreUse::Reads, screen, move |store| {
                let mut all = Vec::new();
                for project in &setup.projects {
                    let key = &project.key;
                    let last = looked_at.entry(key.clone()).or_insert_with(|| own.clone());
                    let runs = |key: &RecordKey| running.contains(key);
                    for worker in ended_holders(store, &*setup.workers, key, &own, last)? {
                        let now = || StoreTime.now();
                        let some = submission::recover(store, key, &worker, &runs, &now)?;
                        let key = |name| RecordKey { project: project.key.clone(), name };
                        all.extend(some.into_iter().map(|(name, returned)| (key(name), returned)));
                    }
                }
                Ok((all, looked_at))
            })
            .await?;
        faults::point("sessions recovered");
        let Some((recovered, looked_at)) = recovered else { return Ok(()) };
        self.looked_at = looked_at;
        for (key, returned) in recovered {
            self.news.recovered(&key, &returned, screen)?;
            self.seen = None;
        }
        Ok(())
    }
}

/// Waits until then; for ever if there is no such time.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
