//! [`WaitDesk`]: people's answers for the engine. Stores waits, and listens for answers while it
//! lives.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hookwright_config::CallbackAddress;
use hookwright_engine::ports::{NewWait, OpenWait, Promise, WaitEnd, WaitKey, Waits};
use hookwright_events::wait::{Paths, Wait, WaitState};
use hookwright_store::{Opened, WaitError};
use tokio::sync::OnceCell;

use crate::approvals::{Approvals, iso};
use crate::listeners::Listeners;
use crate::reception::Reception;
use crate::waiting::{Waiting, Wakes, watch};
use crate::{limits, signing_key};

/// People's answers for one project.
pub struct WaitDesk {
    about: AskingProcess,
    open: Box<OpenApprovals>,
    wakes: Option<Wakes>,
    at_work: OnceCell<StartedDesk>,
}

/// Opens the store of the questions. Called with the first question.
type OpenApprovals = dyn Fn() -> io::Result<(Approvals, AskingProject)> + Send + Sync;

/// The project of the questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskingProject {
    /// Its name, else its path.
    pub name: String,
    /// Its path, if it has a name.
    pub root: Option<String>,
}

/// The asking process, and where it listens for answers.
#[derive(Debug, Clone)]
pub struct AskingProcess {
    /// The running loop or pipeline, for questions that do not name one.
    pub pipeline: Option<String>,
    /// The configured address.
    pub address: CallbackAddress,
    /// The port if the configuration names none; usually [`PORT`](crate::listeners::PORT).
    pub default_port: u16,
}

/// Created with the first question.
struct StartedDesk {
    approvals: Arc<Approvals>,
    project: AskingProject,
    listeners: Arc<Listeners>,
    waiting: Waiting,
    keeper: String,
    /// The name of this process's bell; empty if it has none.
    bell: String,
    /// Dropped last, since the other fields use it.
    reception: Reception,
}

impl WaitDesk {
    /// A desk that calls `open` when the first question comes.
    pub fn new(
        about: AskingProcess,
        open: impl Fn() -> io::Result<(Approvals, AskingProject)> + Send + Sync + 'static,
    ) -> Self {
        Self { about, open: Box::new(open), wakes: None, at_work: OnceCell::new() }
    }

    /// Checks all its questions with each change of this number.
    #[must_use]
    pub fn woken_by(self, wakes: Wakes) -> Self {
        Self { wakes: Some(wakes), ..self }
    }

    /// Pause between two regular checks of the store.
    fn look_pause(&self, desk: &StartedDesk) -> Duration {
        match (&self.wakes, desk.approvals.waits.is_shared()) {
            (None, true) => limits::LOOK_PAUSE_OF_MACHINES,
            (Some(_), true) | (_, false) => limits::UNASKED_LOOK_PAUSE,
        }
    }

    async fn at_work(&self) -> io::Result<&StartedDesk> {
        self.at_work
            .get_or_try_init(|| async {
                let (approvals, project) = (self.open)()?;
                let approvals = Arc::new(approvals);
                let reception = Reception::start()?;
                let address = self.about.address.clone();
                let (known, port) = (Arc::clone(&approvals), self.about.default_port);
                let listeners = Arc::new(Listeners::new(known, address, port, reception.desk()));
                let waiting = Waiting::default();
                // Without a bell an answer is found a little later.
                let hung = approvals.bells.hang().ok();
                let bell = hung.as_ref().map(|bell| bell.name.clone()).unwrap_or_default();
                reception.desk().run(watch(
                    hung,
                    self.wakes.clone(),
                    waiting.clone(),
                    reception.desk().stop,
                ));
                let keeper = approvals.waits.keeper();
                Ok(StartedDesk { approvals, project, listeners, waiting, keeper, bell, reception })
            })
            .await
    }
}

impl Waits for WaitDesk {
    fn find<'a>(&'a self, key: &'a WaitKey) -> Promise<'a, io::Result<Option<OpenWait>>> {
        Box::pin(async move {
            let desk = self.at_work().await?;
            for attempt in 0..limits::IDS_TRIED_MAX {
                let id = desk.approvals.id_of(&desk.project.name, key, attempt);
                match desk.ask(move |approvals| approvals.get(&id)).await? {
                    Some(wait) if is_of(&wait, &desk.project.name, key) => {
                        return self.adopted(desk, wait).await.map(Some);
                    }
                    Some(_) => {}
                    None => return Ok(None),
                }
            }
            Ok(None)
        })
    }

    fn open(&self, wait: NewWait) -> Promise<'_, io::Result<OpenWait>> {
        Box::pin(async move {
            if let Some(key) = &wait.key
                && let Some(there) = self.find(key).await?
            {
                return Ok(there);
            }
            let desk = self.at_work().await?;
            let (listeners, port) = (Arc::clone(&desk.listeners), wait.port);
            let reached = desk.reception.desk().run(async move { listeners.reach(port).await });
            let reached = reached.await.map_err(io::Error::other)?.map_err(io::Error::other)?;
            let mut kept = self.new_wait(wait, desk);
            (kept.base_url, kept.port) = (reached.base_url, reached.port);
            for attempt in 0..limits::IDS_TRIED_MAX {
                kept.id = match &kept.key {
                    Some(key) => desk.approvals.id_of(&desk.project.name, key, attempt),
                    None => signing_key::random_id()?,
                };
                let asked = kept.clone();
                match desk.ask(move |approvals| approvals.waits.open(&asked)).await? {
                    Opened::New => return Ok(desk.opened(kept, reached.notes)),
                    Opened::AlreadyOpen(there) => {
                        let key = kept.key.as_ref();
                        if key.is_some_and(|key| is_of(&there, &desk.project.name, key)) {
                            return self.adopted(desk, *there).await;
                        }
                    }
                }
            }
            Err(io::Error::other("no id is free for this wait"))
        })
    }

    fn sent<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>> {
        Box::pin(async move {
            let (desk, named) = (self.at_work().await?, id.to_owned());
            let wait =
                desk.ask(move |approvals| approvals.waits.sent(&named, approvals.now_ms())).await?;
            wait.map(drop).ok_or_else(|| no_such(id))
        })
    }

    fn decided<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<WaitEnd>> {
        Box::pin(async move {
            let desk = self.at_work().await?;
            // From here on no decision is missed.
            let ticket = desk.waiting.enter(id);
            loop {
                let named = id.to_owned();
                let settled =
                    desk.ask(move |approvals| approvals.waits.settle(&named, approvals.now_ms()));
                let wait = settled.await?.ok_or_else(|| no_such(id))?;
                match wait.state {
                    WaitState::Decided(decision) | WaitState::Used(decision) => {
                        let (response, word) = (decision.response, decision.word);
                        let (by, at) = (decision.by, iso(decision.at_ms));
                        return Ok(WaitEnd::Decided { response, word, by, at });
                    }
                    WaitState::Expired => return Ok(WaitEnd::TimedOut),
                    WaitState::Abandoned => return Ok(WaitEnd::Abandoned),
                    WaitState::Waiting => {}
                }
                let left_ms = wait.until_ms.saturating_sub(desk.approvals.now_ms());
                let left = Duration::from_millis(u64::try_from(left_ms).unwrap_or_default());
                let pause = left.min(self.look_pause(desk));
                let _ = tokio::time::timeout(pause, ticket.look.notified()).await;
            }
        })
    }

    fn abandon<'a>(&'a self, id: &'a str) -> Promise<'a, io::Result<()>> {
        Box::pin(async move {
            let (desk, named) = (self.at_work().await?, id.to_owned());
            let wait =
                desk.ask(move |approvals| approvals.waits.abandon(&named, approvals.now_ms()));
            let wait = wait.await?.ok_or_else(|| no_such(id))?;
            desk.approvals.wake(&wait);
            Ok(())
        })
    }
}

impl WaitDesk {
    /// Listens again for an earlier wait that is still open, and makes this process its keeper.
    async fn adopted(&self, desk: &StartedDesk, wait: Wait) -> io::Result<OpenWait> {
        if wait.state != WaitState::Waiting {
            return Ok(desk.opened(wait, Vec::new()));
        }
        let (listeners, port) = (Arc::clone(&desk.listeners), wait.port);
        let reached = desk.reception.desk().run(async move { listeners.reach_again(port).await });
        let notes = reached.await.map_err(io::Error::other)?.map_err(io::Error::other)?;
        let (id, keeper, bell) = (wait.id.clone(), desk.keeper.clone(), desk.bell.clone());
        let root = desk.project.root.clone();
        let adopt = move |approvals: &Approvals| {
            approvals.waits.adopt(&id, &keeper, &bell, root.as_deref(), approvals.now_ms())
        };
        let ours = desk.ask(adopt).await?;
        Ok(desk.opened(ours.unwrap_or(wait), notes))
    }

    /// The wait without its id and address.
    fn new_wait(&self, wait: NewWait, desk: &StartedDesk) -> Wait {
        let since_ms = desk.approvals.now_ms();
        let timeout_ms = i64::try_from(wait.timeout.as_millis()).unwrap_or(i64::MAX);
        Wait {
            id: String::new(),
            project: desk.project.name.clone(),
            root: desk.project.root.clone(),
            session: wait.session,
            key: wait.key,
            keeper: desk.keeper.clone(),
            bell: desk.bell.clone(),
            hook: wait.hook,
            event: wait.event,
            subject: wait.subject,
            pipeline: wait.pipeline.or_else(|| self.about.pipeline.clone()),
            stage: wait.stage,
            iteration: wait.iteration,
            question: wait.question,
            offered: wait.offered,
            changed_files: Paths::at_most(wait.changed_files, limits::PATHS_MAX),
            stage_outputs: Paths::at_most(wait.stage_outputs, limits::PATHS_MAX),
            since_ms,
            until_ms: since_ms.saturating_add(timeout_ms),
            base_url: String::new(),
            port: 0,
            request: wait.request,
            sent: false,
            state: WaitState::Waiting,
        }
    }
}

impl StartedDesk {
    /// Runs a call of the store, which blocks, on another thread.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Approvals) -> Result<T, WaitError> + Send + 'static,
    ) -> io::Result<T> {
        let approvals = Arc::clone(&self.approvals);
        let answered = tokio::task::spawn_blocking(move || ask(&approvals)).await;
        answered.map_err(io::Error::other)?.map_err(io::Error::other)
    }

    fn opened(&self, wait: Wait, notes: Vec<String>) -> OpenWait {
        OpenWait {
            callback_url: self.approvals.url_of(&wait),
            id: wait.id,
            since: iso(wait.since_ms),
            until: iso(wait.until_ms),
            request: wait.request,
            was_sent: wait.sent,
            notes,
        }
    }
}

fn is_of(wait: &Wait, project: &str, key: &WaitKey) -> bool {
    wait.project == project && wait.key.as_ref() == Some(key)
}

fn no_such(id: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("there is no wait `{id}`"))
}
