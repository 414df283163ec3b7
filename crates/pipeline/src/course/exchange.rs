//! [`Exchange`]: how the course's future suspends for an answer, and continues with it.
//!
//! The future waits for nothing but answers: it puts a step here and is pending until
//! [`Exchange::tell`] brings what happened. The state moves back and forth with it, so that the
//! driver can read it while the future waits.

use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use super::position::Position;
use super::step::{Happening, Measured, Step};
use crate::history::History;

/// The state that the future and the driver share.
#[derive(Default)]
pub(super) struct CourseState {
    pub(super) position: Position,
    pub(super) history: History,
}

/// Connects the future and the driver.
#[derive(Default)]
pub(super) struct Exchange(Mutex<Slot>);

#[derive(Default)]
struct Slot {
    step: Option<(Step, Box<CourseState>)>,
    answer: Option<(Measured, Happening, Box<CourseState>)>,
}

impl Exchange {
    pub(super) fn tell(&self, measured: Measured, happening: Happening, state: Box<CourseState>) {
        self.slot().answer = Some((measured, happening, state));
    }

    pub(super) fn take_step(&self) -> Option<(Step, Box<CourseState>)> {
        self.slot().step.take()
    }

    /// Asks the driver to carry out a step.
    pub(super) async fn ask(
        &self,
        step: Step,
        state: Box<CourseState>,
    ) -> (Measured, Happening, Box<CourseState>) {
        self.slot().step = Some((step, state));
        self.told().await
    }

    pub(super) async fn told(&self) -> (Measured, Happening, Box<CourseState>) {
        poll_fn(|_| self.slot().answer.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
