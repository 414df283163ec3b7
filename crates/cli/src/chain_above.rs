//! The chain of hooks that started this program.

use hookwright_engine::{CHAIN_VARIABLE, Chain};
use hookwright_process::Ancestry;

/// The chain in our own environment. It is proven if an ancestor process was started with this
/// chain by this program; otherwise it is only claimed.
pub(crate) fn chain_above() -> Chain {
    let Ok(text) = std::env::var(CHAIN_VARIABLE) else { return Chain::default() };
    let chain = Chain::from_text(&text);
    let is_ours = || Ancestry::of_this().was_started_by_us_with(CHAIN_VARIABLE, text.as_ref());
    if chain.depth() > 0 && is_ours() { chain.proven() } else { chain }
}
