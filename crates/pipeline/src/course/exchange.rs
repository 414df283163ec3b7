//! [`Exchange`]: how the course's future suspends for an answer, and continues with it.
//!
//! The future waits for nothing but answers: it puts a step here and is pending until
//! [`Exchange::tell`] brings what happened. The state moves back and forth with it, so that the
//! driver can read it while the future waits.

use std::future::poll_fn;
use std::mem::swap;
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
///
/// The state changes hands here with every step. Each side leaves what it had and takes the other's, so
/// a step allocates no state.
#[derive(Default)]
pub(super) struct Exchange(Mutex<Slot>);

#[derive(Default)]
struct Slot {
    step: Option<Step>,
    answer: Option<(Measured, Happening)>,
    state: Box<CourseState>,
}

impl Exchange {
    /// Tells what happened, and hands the state to the future.
    pub(super) fn tell(
        &self,
        measured: Measured,
        happening: Happening,
        state: &mut Box<CourseState>,
    ) {
        let mut slot = self.slot();
        slot.answer = Some((measured, happening));
        swap(&mut slot.state, state);
    }

    /// The step that the future asks for. The state comes back with it.
    pub(super) fn take_step(&self, state: &mut Box<CourseState>) -> Option<Step> {
        let mut slot = self.slot();
        let step = slot.step.take()?;
        swap(&mut slot.state, state);
        Some(step)
    }

    /// Asks the driver to carry out a step.
    pub(super) async fn ask(
        &self,
        step: Step,
        position: &mut Position,
        history: &mut History,
    ) -> (Measured, Happening) {
        {
            let mut slot = self.slot();
            slot.step = Some(step);
            swap(&mut slot.state.position, position);
            swap(&mut slot.state.history, history);
        }
        self.answer(position, history).await
    }

    pub(super) async fn answer(
        &self,
        position: &mut Position,
        history: &mut History,
    ) -> (Measured, Happening) {
        poll_fn(|_| {
            let mut slot = self.slot();
            let Some(answer) = slot.answer.take() else { return Poll::Pending };
            swap(&mut slot.state.position, position);
            swap(&mut slot.state.history, history);
            Poll::Ready(answer)
        })
        .await
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
