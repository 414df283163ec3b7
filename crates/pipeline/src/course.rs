//! [`Course`]: what a session does next. It makes every choice and has no IO and no clock.
//!
//! What happened goes in through [`Course::advance`], and the next [`Step`] comes out: fire an
//! event, let an agent work, take a work item, wait, end. It is one step, because a session does
//! one thing at a time. The driver (`session/`) carries the step out and reports the result.
//!
//! ```text
//! session:start → [stage:start → [iteration:start → agent → iteration:complete | iteration:error]…
//!   → stage:complete]… → final delivery → session:stop → session:end
//! ```
//!
//! Resuming is replay: the journal is folded into a [`History`], and a step whose outcome it has is
//! not given to the driver. So the first step that comes out is where the session was interrupted.
//! A new session has an empty history.
//!
//! | file | decides |
//! |---|---|
//! | `course/way.rs` | the order of all steps, and what a decision of hooks means |
//! | `course/stages.rs` | stages and iterations: when to stop, what a failure means |
//! | `course/executions.rs` | work items of queues |
//! | `course/turns.rs` | which agent does a turn, and when the session waits or pauses for agents |
//! | `course/stopping.rs` | the final delivery, and blocks of the stop |
//! | `course/closing.rs` | how the session ends |
//! | `course/replay.rs` | which steps the journal answers |
//!
//! These are written as one async function from the beginning to the end. `course/exchange.rs`
//! suspends it wherever the course needs an answer.

mod closing;
mod exchange;
mod executions;
mod position;
mod replay;
mod stages;
mod step;
mod stopping;
mod turns;
mod way;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::history::History;
use crate::plan::Plan;
use exchange::{CourseState, Exchange};
pub(crate) use position::Position;
pub(crate) use step::{
    Decided, EarlyEnd, EventToFire, GivenUp, Happening, LeftFiring, Measured, Resumed, Step,
    TurnAttempt, TurnTask,
};
use way::{SessionBounds, Way};

pub(crate) struct Course {
    way: Pin<Box<dyn Future<Output = Infallible> + Send + Sync>>,
    exchange: Arc<Exchange>,
    state: Box<CourseState>,
}

impl Course {
    /// The course of a session with this plan and this history.
    pub(crate) fn new(plan: &Plan, history: History) -> Self {
        Self::within(SessionBounds::of_plan(plan), history)
    }

    fn within(bounds: SessionBounds, history: History) -> Self {
        let exchange = Arc::new(Exchange::default());
        let position = Position::new(&history);
        let way = Box::pin(Way::new(bounds, Arc::clone(&exchange)).go());
        Self { way, exchange, state: Box::new(CourseState { position, history }) }
    }

    /// Takes the result of the last step; returns the next one.
    pub(crate) fn advance(&mut self, measured: Measured, happening: Happening) -> Step {
        self.exchange.tell(measured, happening, &mut self.state);
        match self.way.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => {}
            Poll::Ready(never) => match never {},
        }
        self.exchange.take_step(&mut self.state).expect("the way only stops to ask")
    }

    pub(crate) fn position(&self) -> &Position {
        &self.state.position
    }

    /// What is known of the session.
    pub(crate) fn history(&self) -> &History {
        &self.state.history
    }
}

#[cfg(test)]
mod tests;
