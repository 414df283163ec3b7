//! [`FiringKey`]: the name of a firing in a session's journal. This is the one place that writes such
//! names and reads them.
//!
//! A key says at which point of a session's course an event was fired, so that a resumed session finds
//! the firing again. Keys are stored: a form that was written once has to be read for ever. A key that
//! this version does not know is kept as it is ([`Point::Unknown`]).
//!
//! | key | the firing of |
//! |---|---|
//! | `session:start/0` | the session's start, after so many ends |
//! | `session:stop/1` | the question whether the session may stop, counted from 1 |
//! | `closing/session:end/0/completed` | one of the last events, after so many ends, with this status |
//! | `closing/user:interrupt/0/interrupted-2` | the same after an interrupt, and so many resumes |
//! | `stage:start/0`, `stage:complete/0` | a stage, counted from 0 |
//! | `iteration:complete/0/3` | an iteration of a stage, counted from 1 |
//! | `iteration:complete/0/3/1` | the same, done again for the first time |
//! | `turn/0/3/2/7` | the seventh event that an agent's driver fired in the second attempt of that iteration |
//! | `execution:pre_start/0/2` | a piece of work of a stage, counted from 1 |
//! | `task:complete/TAS-3/2` | a task that a caller completes, at the second request |
//! | `task:complete/TAS-3/0-2/after` | a task that was a piece of work; of hooks that come after the fact |
//! | `12/commit#1/git:post_commit` | an event that a hook of the firing 12 fired, in its first try |
//!
//! `/again-1` follows where a hook has ended the session at this point and the rest of its hooks is fired
//! when the session is resumed.

mod task_firing;

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::{EventName, SessionStatus, TurnName};
pub use task_firing::{Occasion, TaskFiring, TaskHooks};

/// Between a point and how often the session was ended there.
const AGAIN: &str = "/again-";

/// The name of a firing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FiringKey {
    /// Where in the course of the session.
    pub point: Point,
    /// How often hooks have ended the session at this point before.
    pub again: u32,
}

/// A point in the course of a session at which an event is fired. Stages are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Point {
    /// The session starts.
    SessionStart {
        /// How often it has ended before.
        endings: u32,
    },
    /// Its hooks are asked whether it may stop.
    SessionStop {
        /// For which time, from 1.
        time: u32,
    },
    /// It comes to its end.
    Closing {
        /// Which of the last events.
        event: ClosingEvent,
        /// How often it has ended before.
        endings: u32,
        /// How it ends.
        status: SessionStatus,
        /// After an interrupt: how often it was resumed before.
        resumes: Option<u32>,
    },
    /// A stage starts.
    StageStart {
        /// Which one.
        stage: usize,
    },
    /// A stage has ended.
    StageComplete {
        /// Which one.
        stage: usize,
    },
    /// An iteration.
    Iteration {
        /// Its start or its end.
        event: IterationEvent,
        /// Of which stage.
        stage: usize,
        /// From 1.
        iteration: u32,
        /// How often it is done again after it failed.
        redone: u32,
    },
    /// The driver of an agent has fired an event during a turn.
    InTurn {
        /// Of which stage.
        stage: usize,
        /// From 1; 0 delivers raw output of hooks after the last one.
        iteration: u32,
        /// Which attempt of the turn, from 1.
        attempt: u32,
        /// Which event of this attempt, from 1.
        number: u32,
    },
    /// A piece of work.
    Execution {
        /// Which point of it.
        event: ExecutionEvent,
        /// Of which stage.
        stage: usize,
        /// From 1.
        execution: u32,
    },
    /// A task is completed.
    Task(TaskFiring),
    /// A hook has fired the event.
    Below {
        /// The number of the firing in which the hook runs.
        firing: u64,
        /// The hook, behind the firings between that one and this, if there are any.
        hook: String,
        /// Which try of the hook, from 1.
        attempt: u32,
        /// The event.
        event: String,
    },
    /// This version does not know it.
    Unknown(String),
}

/// Declares events with their names.
macro_rules! events {
    ($(#[$about:meta])* $type:ident { $($(#[$one:meta])* $variant:ident => $constant:ident),* $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$one])* $variant,)*
        }

        impl $type {
            /// The event's name.
            pub fn name(self) -> EventName {
                match self {
                    $(Self::$variant => EventName::$constant,)*
                }
            }

            fn named(name: &EventName) -> Option<Self> {
                match *name {
                    $(EventName::$constant => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

events! {
    /// The last events of a session.
    ClosingEvent {
        /// A person has interrupted it.
        UserInterrupt => USER_INTERRUPT,
        /// It stops, whatever its hooks say about that.
        SessionStop => SESSION_STOP,
        /// It has ended.
        SessionEnd => SESSION_END,
    }
}

events! {
    /// The events of an iteration.
    IterationEvent {
        /// It starts.
        Start => ITERATION_START,
        /// It has ended.
        Complete => ITERATION_COMPLETE,
        /// It has failed.
        Error => ITERATION_ERROR,
    }
}

events! {
    /// The events of a piece of work.
    ExecutionEvent {
        /// It was taken, and may be refused.
        PreStart => EXECUTION_PRE_START,
        /// It begins.
        PostStart => EXECUTION_POST_START,
        /// It is about to end.
        PreEnd => EXECUTION_PRE_END,
        /// It has ended.
        PostEnd => EXECUTION_POST_END,
    }
}

/// Begins the key of one of the last events.
const CLOSING: &str = "closing";

/// Begins the key of an event that the driver of an agent has fired.
const TURN: &str = "turn";

impl FiringKey {
    /// The key of an event that a hook fires: `within` is the number of the firing that the hook runs in,
    /// or the key of that firing if a hook has fired it. After a crash the same try has the same key.
    pub fn below(within: &str, hook: &str, attempt: u32, event: &str) -> Self {
        Self::parse(&format!("{within}/{hook}#{attempt}/{event}"))
    }

    /// The key that is written so.
    pub fn parse(key: &str) -> Self {
        let (point, again) = match key.rsplit_once(AGAIN) {
            Some((point, again)) => (point, again.parse().ok().filter(|again| *again > 0)),
            None => (key, Some(0)),
        };
        let point = again.and_then(|again| Some((Point::parse(point)?, again)));
        match point {
            Some((point, again)) => Self { point, again },
            None => Point::Unknown(key.to_owned()).into(),
        }
    }

    /// The event that is fired at this point, if that is known.
    pub fn event(&self) -> Option<EventName> {
        Some(match &self.point {
            Point::SessionStart { .. } => EventName::SESSION_START,
            Point::SessionStop { .. } => EventName::SESSION_STOP,
            Point::Closing { event, .. } => event.name(),
            Point::StageStart { .. } => EventName::STAGE_START,
            Point::StageComplete { .. } => EventName::STAGE_COMPLETE,
            Point::Iteration { event, .. } => event.name(),
            Point::Execution { event, .. } => event.name(),
            Point::Task(_) => EventName::TASK_COMPLETE,
            Point::Below { event, .. } => EventName::resolve(event)?,
            Point::InTurn { .. } | Point::Unknown(_) => return None,
        })
    }

    /// The stage (from 0) whose hooks are fired. The session's own events belong to none.
    pub fn stage(&self) -> Option<usize> {
        match self.point {
            Point::StageStart { stage }
            | Point::StageComplete { stage }
            | Point::Iteration { stage, .. }
            | Point::InTurn { stage, .. }
            | Point::Execution { stage, .. } => Some(stage),
            Point::SessionStart { .. }
            | Point::SessionStop { .. }
            | Point::Closing { .. }
            | Point::Task(_)
            | Point::Below { .. }
            | Point::Unknown(_) => None,
        }
    }

    /// The iteration at whose start the event is fired, if it is.
    pub fn starting_turn(&self) -> Option<TurnName> {
        match self.point {
            Point::Iteration { event: IterationEvent::Start, stage, iteration, .. } => {
                Some(TurnName { stage: u32::try_from(stage + 1).unwrap_or(u32::MAX), iteration })
            }
            _ => None,
        }
    }

    /// The firing and the hook by which the event was fired, if a hook fired it.
    pub fn fired_by(&self) -> Option<(u64, &str)> {
        match &self.point {
            Point::Below { firing, hook, .. } => Some((*firing, hook)),
            _ => None,
        }
    }

    /// The task that is completed, if it is about one.
    pub fn task(&self) -> Option<TaskFiring> {
        match self.point {
            Point::Task(firing) => Some(firing),
            _ => None,
        }
    }
}

impl From<Point> for FiringKey {
    fn from(point: Point) -> Self {
        Self { point, again: 0 }
    }
}

impl From<TaskFiring> for FiringKey {
    fn from(firing: TaskFiring) -> Self {
        Point::Task(firing).into()
    }
}

impl FromStr for FiringKey {
    type Err = Infallible;

    fn from_str(key: &str) -> Result<Self, Infallible> {
        Ok(Self::parse(key))
    }
}

impl fmt::Display for FiringKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.point, Point::Closing { .. }) {
            write!(f, "{CLOSING}/")?;
        }
        if let Some(event) = self.event().filter(|_| !matches!(self.point, Point::Below { .. })) {
            write!(f, "{}/", event.as_str())?;
        }
        match &self.point {
            Point::SessionStart { endings: number } | Point::SessionStop { time: number } => {
                write!(f, "{number}")
            }
            Point::Closing { endings, status, resumes, .. } => {
                write!(f, "{endings}/{status}")?;
                resumes.map_or(Ok(()), |resumes| write!(f, "-{resumes}"))
            }
            Point::StageStart { stage } | Point::StageComplete { stage } => write!(f, "{stage}"),
            Point::Iteration { stage, iteration, redone, .. } => {
                write!(f, "{stage}/{iteration}")?;
                if *redone > 0 { write!(f, "/{redone}") } else { Ok(()) }
            }
            Point::InTurn { stage, iteration, attempt, number } => {
                write!(f, "{TURN}/{stage}/{iteration}/{attempt}/{number}")
            }
            Point::Execution { stage, execution, .. } => write!(f, "{stage}/{execution}"),
            Point::Task(firing) => write!(f, "{firing}"),
            Point::Below { firing, hook, attempt, event } => {
                write!(f, "{firing}/{hook}#{attempt}/{event}")
            }
            Point::Unknown(key) => f.write_str(key),
        }?;
        if self.again > 0 { write!(f, "{AGAIN}{}", self.again) } else { Ok(()) }
    }
}

impl Point {
    /// `None` where this version would not write the same again.
    fn parse(key: &str) -> Option<Self> {
        let (first, rest) = key.split_once('/')?;
        let rest: Vec<&str> = rest.split('/').collect();
        let point = match (EventName::resolve(first), &rest[..]) {
            (Some(event), rest) => Self::of_event(&event, rest)?,
            (None, [event, endings, end]) if first == CLOSING => {
                let (status, resumes) = match end.rsplit_once('-') {
                    Some((status, resumes)) => (status, Some(resumes.parse().ok()?)),
                    None => (*end, None),
                };
                let event = ClosingEvent::named(&EventName::resolve(event)?)?;
                let status = SessionStatus::parse(status)?;
                Self::Closing { event, endings: endings.parse().ok()?, status, resumes }
            }
            (None, [stage, iteration, attempt, number]) if first == TURN => Self::InTurn {
                stage: stage.parse().ok()?,
                iteration: iteration.parse().ok()?,
                attempt: attempt.parse().ok()?,
                number: number.parse().ok()?,
            },
            (None, _) => Self::parse_below(key)?,
        };
        (FiringKey::from(point.clone()).to_string() == key).then_some(point)
    }

    fn of_event(event: &EventName, rest: &[&str]) -> Option<Self> {
        match (event, rest) {
            (&EventName::SESSION_START, [endings]) => {
                Some(Self::SessionStart { endings: endings.parse().ok()? })
            }
            (&EventName::SESSION_STOP, [time]) => {
                Some(Self::SessionStop { time: time.parse().ok()? })
            }
            (&EventName::STAGE_START, [stage]) => {
                Some(Self::StageStart { stage: stage.parse().ok()? })
            }
            (&EventName::STAGE_COMPLETE, [stage]) => {
                Some(Self::StageComplete { stage: stage.parse().ok()? })
            }
            (&EventName::TASK_COMPLETE, [task, occasion, part @ ..]) => {
                TaskFiring::parse(task, occasion, part).map(Self::Task)
            }
            (event, [stage, number, redone @ ..]) => {
                let (stage, number) = (stage.parse().ok()?, number.parse().ok()?);
                match (IterationEvent::named(event), redone) {
                    (Some(event), []) => {
                        Some(Self::Iteration { event, stage, iteration: number, redone: 0 })
                    }
                    (Some(event), [redone]) => {
                        let redone = redone.parse().ok()?;
                        Some(Self::Iteration { event, stage, iteration: number, redone })
                    }
                    (None, []) => {
                        let event = ExecutionEvent::named(event)?;
                        Some(Self::Execution { event, stage, execution: number })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn parse_below(key: &str) -> Option<Self> {
        let (firing, rest) = key.split_once('/')?;
        let (by, event) = rest.rsplit_once('/')?;
        let (hook, attempt) = by.rsplit_once('#')?;
        let (firing, attempt) = (firing.parse().ok()?, attempt.parse().ok()?);
        Some(Self::Below { firing, hook: hook.to_owned(), attempt, event: event.to_owned() })
    }
}

#[cfg(test)]
mod tests;
