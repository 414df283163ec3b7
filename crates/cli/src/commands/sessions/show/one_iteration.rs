//! `hookwright sessions show --iteration N`: one iteration, with the agent's prompt and output.

use std::collections::BTreeMap;
use std::str::FromStr;

use hookwright_pipeline::folder::{
    FolderError, IterationAt, SessionFolder, StageAt, TurnAt, TurnKind, TurnTexts,
};
use hookwright_pipeline::timeline::{Iteration, Milestone, Part};
use hookwright_store::Store;
use serde_json::json;

use super::for_each_part;
use crate::error::{Failure, SessionFailure};
use crate::known_session::KnownSession;
use crate::render::timeline;
use crate::screen::Screen;
use crate::text::{escaped, visible};

/// Before each line of a prompt and of an agent's output.
const INDENT: &str = "    ";

/// Selects an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhichIteration {
    /// Its number within its stage.
    Number(u32),
    /// The final delivery.
    Final,
}

impl FromStr for WhichIteration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(number) if number > 0 => Ok(Self::Number(number)),
            _ if text == "final" => Ok(Self::Final),
            _ => Err("expected the number of an iteration, from 1, or `final`".to_owned()),
        }
    }
}

impl WhichIteration {
    fn is(self, iteration: &Iteration) -> bool {
        match self {
            Self::Number(number) => iteration.iteration == number,
            Self::Final => iteration.is_final,
        }
    }

    /// `iteration 2`, `final delivery`.
    fn in_words(self) -> String {
        match self {
            Self::Number(number) => format!("iteration {number}"),
            Self::Final => "final delivery".to_owned(),
        }
    }
}

pub(super) fn show(
    store: &dyn Store,
    session: &KnownSession,
    which: WhichIteration,
    stage: Option<&str>,
    json: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    let stages = &session.record.stages;
    let stage = stage.map(|stage| stage_number(session, stage)).transpose()?;
    let mut found: BTreeMap<u32, Box<Iteration>> = BTreeMap::new();
    let last_stage = stages.len();
    for_each_part(store, session, |part| {
        let Part::Milestone(Milestone::Iteration(iteration)) = part else { return Ok(true) };
        let is_in_stage = stage.is_none_or(|stage| stage == stage_of(&iteration, last_stage));
        if which.is(&iteration) && is_in_stage {
            // A repeated iteration is found twice; its files are those of the last attempt.
            found.insert(stage_of(&iteration, last_stage), iteration);
        }
        Ok(true)
    })?;
    let name_of = |stage: u32| stages.get(stage as usize - 1).cloned().unwrap_or_default();
    let (number, iteration) = match (found.pop_first(), found.len()) {
        (Some(found), 0) => found,
        (None, _) => {
            let (name, what) = (session.name().to_owned(), which.in_words());
            return Err(SessionFailure::NoIteration { name, what }.into());
        }
        (Some((first, _)), _) => {
            let numbers = std::iter::once(first).chain(found.into_keys());
            let (what, stages) = (which.in_words(), numbers.map(name_of).collect());
            return Err(SessionFailure::SeveralStages { what, stages }.into());
        }
    };
    let name = name_of(number);
    let stage = StageAt { index: number as usize - 1, name: &name };
    let texts =
        texts_of(session, stage, iteration.iteration).map_err(SessionFailure::Unreadable)?;
    match json {
        true => screen.result(&as_json(session, number, &name, &iteration, &texts)),
        false => screen.result(&as_text(session, number, &name, &iteration, &texts, screen)),
    }
}

fn texts_of(
    session: &KnownSession,
    stage: StageAt<'_>,
    iteration: u32,
) -> Result<TurnTexts, FolderError> {
    let Some(folder) = SessionFolder::of_record(&session.record) else {
        return Ok(TurnTexts::default());
    };
    // The files of a raw delivery are beside those of the last iteration.
    let (iteration, kind) = match iteration {
        0 => (folder.last_iteration(stage)?, TurnKind::RawDelivery),
        number => (number, TurnKind::Iteration),
    };
    folder.read_turn(TurnAt { iteration: IterationAt { stage, iteration }, kind })
}

/// The stage of an iteration, from 1; a raw delivery belongs to the last one.
fn stage_of(iteration: &Iteration, last: usize) -> u32 {
    iteration.stage.min(u32::try_from(last).unwrap_or(u32::MAX)).max(1)
}

/// A stage by its name, or by its number from 1.
fn stage_number(session: &KnownSession, text: &str) -> Result<u32, Failure> {
    let stages = &session.record.stages;
    let by_name = stages.iter().position(|name| name == text).map(|index| index + 1);
    let by_number = text.parse().ok().filter(|number| (1..=stages.len()).contains(number));
    let number = by_name.or(by_number).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| {
        let (name, stage, stages) = (session.name().to_owned(), text.to_owned(), stages.to_vec());
        SessionFailure::UnknownStage { name, stage, stages }.into()
    })
}

fn as_json(
    session: &KnownSession,
    number: u32,
    stage: &str,
    iteration: &Iteration,
    texts: &TurnTexts,
) -> String {
    let value = json!({
        "version": 1,
        "session": session.name(),
        "stage": { "index": number, "name": stage },
        "iteration": iteration,
        "prompt": texts.prompt,
        "said": texts.said,
    });
    format!("{}\n", escaped(&value.to_string()))
}

fn as_text(
    session: &KnownSession,
    number: u32,
    stage: &str,
    iteration: &Iteration,
    texts: &TurnTexts,
    screen: &Screen,
) -> String {
    let head = format!("{}, stage {number} {}\n", visible(session.name()), visible(stage));
    let drawn = timeline::iteration_alone(iteration, screen.columns());
    let prompt = section("prompt", texts.prompt.as_deref());
    format!("{head}{drawn}\n{prompt}\n{}", section("the agent's output", texts.said.as_deref()))
}

fn section(heading: &str, text: Option<&str>) -> String {
    match text {
        None => format!("{heading}: not kept\n"),
        Some(text) if text.trim().is_empty() => format!("{heading}: nothing\n"),
        Some(text) => {
            let lines = text.trim_end().lines().map(|line| match visible(line) {
                line if line.is_empty() => "\n".to_owned(),
                line => format!("{INDENT}{line}\n"),
            });
            format!("{heading}:\n{}", lines.collect::<String>())
        }
    }
}
