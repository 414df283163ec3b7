//! A session that callers reach without a socket.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hookwright_agents::{Agent, Turn, TurnEnd, TurnPorts};
use hookwright_engine::ports::Promise;
use hookwright_events::{Output, ProcessOutcome, SessionStatus, TaskId};
use hookwright_pipeline::desk::{
    DeskAnswer, DeskCaller, DeskError, DeskReply, DeskRequest, Desks, OpenDesk,
};
use hookwright_store::{KeptTasks, NewTask, Store};
use tokio::sync::{mpsc, oneshot};

use super::project::Project;

type Caller = (DeskRequest, oneshot::Sender<DeskAnswer>);

/// Desks of one session in memory.
#[derive(Clone, Default)]
struct DesksInMemory(Arc<Mutex<Option<mpsc::UnboundedSender<Caller>>>>);

struct DeskInMemory(mpsc::UnboundedReceiver<Caller>);

struct CallerInMemory(Option<DeskRequest>, Option<oneshot::Sender<DeskAnswer>>);

impl Desks for DesksInMemory {
    fn open(&self, _: &str, session: &str) -> Result<Box<dyn OpenDesk>, DeskError> {
        assert_eq!(session, "s");
        let (sender, receiver) = mpsc::unbounded_channel();
        *self.0.lock().expect("no test panics with it") = Some(sender);
        Ok(Box::new(DeskInMemory(receiver)))
    }

    fn ask(&self, _: u32, _: &DeskRequest, _: &mut dyn FnMut()) -> Result<DeskReply, DeskError> {
        unreachable!("the agent of this test asks by itself")
    }
}

impl OpenDesk for DeskInMemory {
    fn next(&mut self) -> Promise<'_, Box<dyn DeskCaller>> {
        Box::pin(async {
            let (request, answer) = self.0.recv().await.expect("the desk is open");
            Box::new(CallerInMemory(Some(request), Some(answer))) as _
        })
    }

    fn renew_if_gone(&mut self) -> Vec<Box<dyn DeskCaller>> {
        Vec::new()
    }

    fn close(self: Box<Self>) -> Vec<Box<dyn DeskCaller>> {
        Vec::new()
    }
}

impl DeskCaller for CallerInMemory {
    fn request(&mut self) -> Promise<'_, io::Result<DeskRequest>> {
        let request = self.0.take().ok_or_else(|| io::Error::other("it was read"));
        Box::pin(std::future::ready(request))
    }

    fn answer<'a>(&'a mut self, answer: &'a DeskAnswer) -> Promise<'a, io::Result<()>> {
        let caller = self.1.take().expect("one answer");
        let _ = caller.send(answer.clone());
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Completes a task at the desk in its turn.
#[derive(Clone)]
struct CompletesTask {
    desks: DesksInMemory,
    request: DeskRequest,
    answered: Arc<Mutex<Option<DeskAnswer>>>,
}

impl Agent for CompletesTask {
    fn kind(&self) -> &'static str {
        "test"
    }

    fn run<'a>(&'a self, _: &'a Turn, _: TurnPorts<'a>) -> Promise<'a, TurnEnd> {
        Box::pin(async {
            let desk = self.desks.0.lock().expect("no test panics with it").clone();
            let (sender, receiver) = oneshot::channel();
            let is_sent = desk.expect("it is open").send((self.request.clone(), sender)).is_ok();
            assert!(is_sent, "the session takes callers");
            let answer = receiver.await.expect("it answers");
            *self.answered.lock().expect("no test panics with it") = Some(answer);
            let outcome = ProcessOutcome::Exited { code: 0, output: Output::default() };
            TurnEnd { outcome, took: Duration::ZERO, report: None }
        })
    }
}

#[tokio::test]
async fn a_task_is_completed_at_a_desk_without_a_socket() {
    let files = [("loop.yaml", super::ONE_TURN), ("turns.yaml", "turns: [[]]")];
    let mut project = Project::new(&files);
    let store: Arc<dyn Store> = project.store().shared();
    let tasks = KeptTasks::new(store, &project.workspace());
    let new = NewTask::new("do it");
    let id: TaskId = tasks.add(&new, 1).unwrap().task.id;
    let desks = DesksInMemory::default();
    let request = DeskRequest {
        version: hookwright_events::run_event::VERSION,
        project: project.workspace(),
        session: "s".to_owned(),
        complete_task: id,
        chain: Default::default(),
    };
    let answered = Arc::default();
    let agent = CompletesTask { desks: desks.clone(), request, answered: Arc::clone(&answered) };
    project.set_desks(Arc::new(desks));
    let ended = project.asking(&agent).take_up().await.unwrap();
    assert_eq!(ended.status, SessionStatus::Completed);
    let answer = answered.lock().unwrap().clone();
    assert_eq!(answer, Some(DeskAnswer::Completed { messages: Vec::new() }));
}
