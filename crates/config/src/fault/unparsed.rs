//! Why a text cannot be parsed into a tree of values.

use crate::limits::{
    CONFIG_DEPTH_MAX, CONFIG_NODES_MAX, CONFIG_REPEATED_MAX, CONFIG_TEXT_BYTES_MAX,
};

/// Why a text is neither valid YAML nor valid JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxKind {
    /// A tab at a place where only spaces indent.
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

/// The limit that a file exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TreeLimit {
    /// The depth of nested lists and maps.
    #[error("expected at most {CONFIG_DEPTH_MAX} levels of nesting but found more")]
    Depth,
    /// The number of values.
    #[error("expected at most {CONFIG_NODES_MAX} values but found more")]
    Values,
    /// The total length of all texts.
    #[error(
        "expected at most {CONFIG_TEXT_BYTES_MAX} bytes of text, aliases expanded, but found more"
    )]
    TextBytes,
    /// How much aliases repeat.
    #[error("expected aliases to repeat at most {CONFIG_REPEATED_MAX} values but found more")]
    Aliases,
}
