//! Why a text has no tree of values.

use crate::limits::{
    CONFIG_DEPTH_MAX, CONFIG_NODES_MAX, CONFIG_REPEATED_MAX, CONFIG_TEXT_BYTES_MAX,
};

/// Why a text is neither YAML nor JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxKind {
    /// A tab where only spaces indent.
    Tab,
    /// A character that has to be escaped.
    Character,
    /// More than one document.
    SeveralDocuments,
    /// An alias without its anchor.
    UnknownAnchor,
    /// Any other slip of the pen.
    Other,
}

/// The limit that a file is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeLimit {
    /// How deep lists and maps are in each other.
    #[error("expected at most {CONFIG_DEPTH_MAX} levels of nesting but found more")]
    Depth,
    /// How many values there are.
    #[error("expected at most {CONFIG_NODES_MAX} values but found more")]
    Values,
    /// How long all texts are together.
    #[error(
        "expected at most {CONFIG_TEXT_BYTES_MAX} bytes of text, aliases expanded, but found more"
    )]
    TextBytes,
    /// How much aliases repeat.
    #[error("expected aliases to repeat at most {CONFIG_REPEATED_MAX} values but found more")]
    Aliases,
}
