//! `hookwright reject`: answers a question with no.

use clap::Args;

use crate::approvals::{self, DecisionArguments};
use crate::error::Failure;
use crate::screen::Screen;

/// Answer a question with no: the session that asked does what its hook sets for that case
///
/// Works from any folder and any terminal, also while no server listens at the question's address.
/// The first answer counts; a later one exits with 1 and says who decided and when.
#[derive(Debug, Args)]
pub(crate) struct RejectArguments {
    #[command(flatten)]
    decision: DecisionArguments,
}

pub(crate) fn reject(arguments: &RejectArguments, screen: &Screen) -> Result<u8, Failure> {
    approvals::decide(&arguments.decision, "reject", screen)
}
