//! Questions to people: the engine's port for them, and what the commands about them share.

mod answerer;

use std::io;
use std::sync::Arc;

use clap::Args;
use hookwright_agents::presets::presets;
use hookwright_config::CallbackAddress;
use hookwright_engine::nearest;
use hookwright_engine::ports::Waits;
use hookwright_events::Wait;
use hookwright_events::wait::AnswerMeaning;
use hookwright_pipeline::caller::{AskingSession, Caller};
use hookwright_pipeline::lease::{self, LeaseOwner};
use hookwright_process::Client;
use hookwright_server::approvals::{iso, offered_words};
use hookwright_server::listeners::PORT;
use hookwright_server::{
    AnswerResult, Approvals, AskingProcess, AskingProject, Origin, PersonsAnswer, WaitDesk, Wakes,
};
use hookwright_store::{KeptWaits, Store};
use serde_json::{Value, json};

use crate::error::{ApprovalFailure, Failure};
use crate::screen::Screen;
use crate::text::visible;
use crate::{exit_code, state};

/// The asking process, and where it listens for answers.
#[derive(Clone)]
pub(crate) struct Asking {
    /// The running loop or pipeline.
    pub(crate) pipeline: Option<String>,
    pub(crate) address: CallbackAddress,
    /// How other machines wake this process, if they can.
    pub(crate) wakes: Option<Wakes>,
}

/// People's answers for hooks. `store` opens the store of the questions and names their project;
/// it is not called before the first question.
pub(crate) fn port(
    asking: Asking,
    store: impl Fn() -> Result<(Arc<dyn Store>, AskingProject), Failure> + Send + Sync + 'static,
) -> Arc<dyn Waits> {
    let Asking { pipeline, address, wakes } = asking;
    let about = AskingProcess { pipeline, address, default_port: PORT };
    let open = move || {
        let (store, project) = store()?;
        Ok((of_store(store)?, project))
    };
    let in_words = |failure: Failure| io::Error::other(failure.message().heading);
    let desk = WaitDesk::new(about, move || open().map_err(in_words));
    Arc::new(match wakes {
        Some(wakes) => desk.woken_by(wakes),
        None => desk,
    })
}

/// The open questions, if any was ever asked.
pub(crate) fn existing() -> Result<Option<Approvals>, Failure> {
    let Some(store) = state::existing_store()? else { return Ok(None) };
    of_store(store).map(Some)
}

/// The open questions of this store.
pub(crate) fn of_store(store: Arc<dyn Store>) -> Result<Approvals, Failure> {
    let living = lease::living(&*store);
    let approvals = Approvals::of_folder(&state::folder()?, store, living);
    let approvals = approvals.map_err(|error| Failure::Approval(ApprovalFailure::Key(error)))?;
    Ok(approvals.refusing(is_inside))
}

/// The questions of this store, for commands that only read.
pub(crate) fn kept_waits(store: Arc<dyn Store>) -> KeptWaits {
    let living = lease::living(&*store);
    KeptWaits::new(store, living)
}

/// Whether an answer comes from inside the session that asks: an agent must not answer a hook's
/// question about its own work.
fn is_inside(wait: &Wait, origin: Origin) -> bool {
    // Without a parsable keeper, no caller is known to be inside.
    let Ok(holder) = serde_json::from_str::<LeaseOwner>(&wait.keeper) else { return false };
    let agents: Vec<&str> = presets().iter().map(|agent| agent.program).collect();
    let (root, session) = (wait.project_root(), wait.session.as_deref());
    let asker = AskingSession { holder: &holder, root, session, agents: &agents };
    match origin {
        Origin::View | Origin::Elsewhere => false,
        Origin::Process(pid) => Caller::of(pid).is_inside(&asker),
        Origin::Connection { client, server } => match Client::of(client, server) {
            // A client that does not wait for the response cannot be told apart from an agent.
            Client::OneOf(processes) => processes
                .into_iter()
                .map(Caller::of)
                .any(|caller| caller.is_gone() || caller.is_inside(&asker)),
            Client::Gone => true,
            Client::OtherUser | Client::Unknown => false,
        },
    }
}

/// Which wait, and what to say with the decision.
#[derive(Debug, Args)]
pub(crate) struct DecisionArguments {
    /// The question's id, or the beginning of it; optional if only one is open. `hookwright
    /// approvals` lists them
    #[arg(value_name = "ID")]
    id: Option<String>,

    /// A message for the session; later hooks read it in HOOK_RESPONSE
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,

    /// Print one JSON value on standard output
    #[arg(long)]
    json: bool,
}

/// Decides a wait in the store. The session that asked gets the answer at once, or when it is
/// resumed.
pub(crate) fn decide(
    arguments: &DecisionArguments,
    action: &str,
    screen: &Screen,
) -> Result<u8, Failure> {
    let DecisionArguments { id, message, json } = arguments;
    let origin = Origin::Process(std::process::id());
    let id = chosen(id.as_deref())?;
    let (wait, is_attended) = say(&id, action, message.clone(), origin)?;
    if *json {
        screen.json(&decided_json(&wait, is_attended))?;
    } else {
        screen.result(&visible(&decided(&wait, is_attended)))?;
    }
    Ok(exit_code::GO_ON)
}

/// The id of the question that the user means.
fn chosen(text: Option<&str>) -> Result<String, Failure> {
    let failed = |error| Failure::Approval(ApprovalFailure::Wait(error));
    let waiting = match existing()? {
        Some(approvals) => approvals.waiting().map_err(failed)?,
        None => Vec::new(),
    };
    let ids = waiting.iter().map(|wait| wait.id.as_str());
    let prefix = text.unwrap_or_default();
    let mut found: Vec<&str> = ids.filter(|id| id.starts_with(prefix)).collect();
    match (text, found.len()) {
        (_, 1) => Ok(found.swap_remove(0).to_owned()),
        // A question that is already answered is found by its whole id, to say who answered.
        (Some(text), 0) => Ok(text.to_owned()),
        (Some(text), _) if found.contains(&text) => Ok(text.to_owned()),
        (None, 0) => Err(Failure::Approval(ApprovalFailure::NothingWaits)),
        _ => {
            let ids = found.into_iter().map(str::to_owned).collect();
            let text = text.map(str::to_owned);
            Err(Failure::Approval(ApprovalFailure::Ambiguous { text, ids }))
        }
    }
}

/// The same from the live view; returns the result as one line.
pub(crate) fn decide_in_view(id: &str, action: &str, message: Option<String>) -> String {
    match say(id, action, message, Origin::View) {
        Ok((wait, is_attended)) => visible(&decided(&wait, is_attended)).into_owned(),
        Err(failure) => format!("error: {}\n", visible(&failure.message().heading)),
    }
}

/// The decided wait, and whether a process is waiting for it.
fn say(
    id: &str,
    action: &str,
    message: Option<String>,
    origin: Origin,
) -> Result<(Box<Wait>, bool), Failure> {
    let failed = |error| Failure::Approval(ApprovalFailure::Wait(error));
    let unknown = |waiting: &[Wait]| {
        let nearest = nearest(id, waiting.iter().map(|wait| wait.id.as_str())).map(str::to_owned);
        let (id, waiting) = (id.to_owned(), waiting.len());
        Failure::Approval(ApprovalFailure::NoSuchWait { id, nearest, waiting })
    };
    let approvals = existing()?.ok_or_else(|| unknown(&[]))?;
    let action = action.to_owned();
    let by = answerer::in_words(origin);
    let said = PersonsAnswer { action: action.clone(), message, by, origin, whole: None };
    match approvals.answer(id, said).map_err(failed)? {
        AnswerResult::Counts(wait) => {
            let is_attended = approvals.is_attended(&wait);
            Ok((wait, is_attended))
        }
        AnswerResult::FromInside(wait) => Err(Failure::Approval(ApprovalFailure::FromInside {
            id: wait.id,
            session: wait.session,
        })),
        AnswerResult::TooLate(wait) => Err(Failure::Approval(ApprovalFailure::Ended { wait })),
        AnswerResult::UnknownWord(wait) => {
            let expected = offered_words(&wait).into_iter().map(|(word, _)| word).collect();
            Err(Failure::Approval(ApprovalFailure::NoSuchWord { action, expected }))
        }
        AnswerResult::Unknown => Err(unknown(&approvals.waiting().map_err(failed)?)),
    }
}

fn decided(wait: &Wait, is_attended: bool) -> String {
    let decision = wait.state.decision().expect("it was decided just now");
    let id = &wait.id;
    let what = match decision.word {
        AnswerMeaning::Yes => format!("approved {id}"),
        AnswerMeaning::No => format!("rejected {id}"),
        AnswerMeaning::Offered => format!("answered {id} with {}", decision.action),
    };
    match (wait.resumable_session(), is_attended) {
        (Some(session), true) if decision.word == AnswerMeaning::No => {
            format!("{what}: session {session} is notified\n")
        }
        (Some(session), true) => format!("{what}: session {session} continues\n"),
        (Some(session), false) => format!(
            "{what}: it takes effect when you resume session {session}: hookwright resume \
             {session}\n"
        ),
        (None, _) => format!("{what}: the process that asked is notified\n"),
    }
}

fn decided_json(wait: &Wait, is_attended: bool) -> Value {
    let decision = wait.state.decision().expect("it was decided just now");
    json!({
        "version": 1,
        "id": wait.id,
        "session": wait.session,
        "action": decision.action,
        "message": decision.message,
        "by": decision.by,
        "at": iso(decision.at_ms),
        "running": is_attended,
    })
}
