//! `hookwright approve`: answers a question with yes, or with a word that its hook offers.

use clap::Args;

use crate::approvals::{self, DecisionArguments};
use crate::error::Failure;
use crate::screen::Screen;

/// Answer a question with yes: the session that asked continues
///
/// Works from any folder and any terminal, also while no server listens at the question's address.
/// The first answer counts; a later one exits with 1 and says who decided and when.
#[derive(Debug, Args)]
pub(crate) struct ApproveArguments {
    #[command(flatten)]
    decision: DecisionArguments,

    /// Another answer that the hook accepts, if it offers more than yes and no
    #[arg(long, value_name = "WORD", default_value = "approve")]
    action: String,
}

pub(crate) fn approve(arguments: &ApproveArguments, screen: &Screen) -> Result<u8, Failure> {
    approvals::decide(&arguments.decision, &arguments.action, screen)
}
