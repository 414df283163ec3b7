//! [`FiringKey`]: the name of a firing in a session's journal. Only this file writes and parses
//! such names.
//!
//! A key says at which point of a session's course an event was fired, so that a resumed session
//! finds the firing again. Keys are stored: every form ever written must stay readable. A key that
//! this version does not know is kept unchanged ([`Point::Unknown`]).
//!
//! | key | the firing of |
//! |---|---|
//! | `session:start/0` | the session's start, after this number of ends |
//! | `session:stop/1` | the question whether the session may stop, counted from 1 |
//! | `closing/session:end/0/completed` | one of the last events, after this number of ends, with this status |
//! | `closing/user:interrupt/0/interrupted-2` | the same after an interrupt, and this number of resumes |
//! | `stage:start/0`, `stage:complete/0` | a stage, counted from 0 |
//! | `iteration:complete/0/3` | an iteration of a stage, counted from 1 |
//! | `iteration:complete/0/3/1` | the same, repeated for the first time |
//! | `turn/0/3/2/7` | the seventh event that an agent's driver fired in the second attempt of that iteration |
//! | `execution:pre_start/0/2` | a work item of a stage, counted from 1 |
//! | `task:complete/TAS-3/2` | a task that a caller completes, at the second request |
//! | `task:complete/TAS-3/0-2/after` | a task that was a work item; of hooks that run after the fact |
//! | `12/commit#1/git:post_commit` | an event that a hook of the firing 12 fired, in its first try |
//!
//! `/again-1` is appended if a hook ended the session at this point and its remaining hooks are
//! fired when the session is resumed.

mod task_firing;

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::{EventName, SessionStatus, TurnName};
pub use task_firing::{Occasion, TaskFiring, TaskHooks};

/// Separates a point from how often the session was ended there.
const AGAIN: &str = "/again-";

/// The name of a firing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FiringKey {
    /// The point in the session's course.
    pub point: Point,
    /// How often hooks have ended the session at this point.
    pub again: u32,
}

/// A point in a session's course at which an event is fired. Stages are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Point {
    /// The session starts.
    SessionStart {
        /// How often it has ended before.
        endings: u32,
    },
    /// Hooks decide whether it may stop.
    SessionStop {
        /// The number of the question, from 1.
        time: u32,
    },
    /// The session ends.
    Closing {
        /// One of the last events.
        event: ClosingEvent,
        /// How often it has ended before.
        endings: u32,
        /// The status with which it ends.
        status: SessionStatus,
        /// After an interrupt: how often it was resumed.
        resumes: Option<u32>,
    },
    /// A stage starts.
    StageStart {
        /// The stage, from 0.
        stage: usize,
    },
    /// A stage has ended.
    StageComplete {
        /// The stage, from 0.
        stage: usize,
    },
    /// An iteration starts, completes or fails.
    Iteration {
        /// The event.
        event: IterationEvent,
        /// The stage, from 0.
        stage: usize,
        /// The iteration, from 1.
        iteration: u32,
        /// How often it was repeated after a failure.
        redone: u32,
    },
    /// An agent's driver fired an event during a turn.
    InTurn {
        /// The stage, from 0.
        stage: usize,
        /// The iteration, from 1; 0 delivers raw output of hooks after the last one.
        iteration: u32,
        /// The attempt of the turn, from 1.
        attempt: u32,
        /// The number of the event in this attempt, from 1.
        number: u32,
    },
    /// A work item is started or ended.
    Execution {
        /// The event.
        event: ExecutionEvent,
        /// The stage, from 0.
        stage: usize,
        /// The execution, from 1.
        execution: u32,
    },
    /// A task is completed.
    Task(TaskFiring),
    /// A hook fired the event.
    Below {
        /// The number of the hook's firing.
        firing: u64,
        /// The hook, after the firings in between, if any.
        hook: String,
        /// The try of the hook, from 1.
        attempt: u32,
        /// The event's name.
        event: String,
    },
    /// A key that this version does not know.
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
        /// A person interrupted it.
        UserInterrupt => USER_INTERRUPT,
        /// It stops, whatever its hooks say.
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
    /// The events of a work item.
    ExecutionEvent {
        /// It was taken, and hooks may refuse it.
        PreStart => EXECUTION_PRE_START,
        /// It begins.
        PostStart => EXECUTION_POST_START,
        /// It is about to end.
        PreEnd => EXECUTION_PRE_END,
        /// It has ended.
        PostEnd => EXECUTION_POST_END,
    }
}

/// The prefix of the last events' keys.
const CLOSING: &str = "closing";

/// The prefix for events fired by an agent's driver.
const TURN: &str = "turn";

impl FiringKey {
    /// The key of an event that a hook fires. `within` is the number of the hook's firing, or its
    /// key if a hook fired that one too. After a crash the same try has the same key.
    pub fn below(within: &str, hook: &str, attempt: u32, event: &str) -> Self {
        Self::parse(&format!("{within}/{hook}#{attempt}/{event}"))
    }

    /// Parses a key. An unknown one becomes [`Point::Unknown`].
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

    /// The event of this point, if known.
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

    /// The stage (from 0) whose hooks are fired; `None` for the session's own events.
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

    /// The turn, if this is the start of an iteration.
    pub fn starting_turn(&self) -> Option<TurnName> {
        match self.point {
            Point::Iteration { event: IterationEvent::Start, stage, iteration, .. } => {
                Some(TurnName { stage: u32::try_from(stage + 1).unwrap_or(u32::MAX), iteration })
            }
            _ => None,
        }
    }

    /// The firing and the hook that fired the event, if a hook did.
    pub fn fired_by(&self) -> Option<(u64, &str)> {
        match &self.point {
            Point::Below { firing, hook, .. } => Some((*firing, hook)),
            _ => None,
        }
    }

    /// The completed task, if it is about one.
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
    /// `None` if this version would write it differently.
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
