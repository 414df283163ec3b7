//! [`ShellPlace`]: how the shell reads a place in a command's text; [`LexError`]: why that is
//! unknown.

use std::fmt;
use std::ops::Range;

/// How the shell reads a place in a command's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellPlace {
    /// How the place is quoted.
    pub quoting: Quoting,
    /// Why the shell evaluates the value there again, if it does. Code in `'…'` or in a comment is
    /// never the place's own value.
    pub evaluation: Option<Evaluation>,
    /// Whether an unquoted expansion there is split into words and globbed.
    pub splits: bool,
    /// Whether it is the target of a redirection. Bash splits an unquoted expansion there too, and
    /// then refuses it unless it is one word.
    pub is_target: bool,
    /// Whether it is in the word that names the command.
    pub names_command: bool,
    /// Whether it is in the default of an unquoted expansion: `${x:-…}`.
    pub in_default: bool,
    /// Why it would be evaluated if it were several words, the first of them options or a command.
    pub evaluated_as_words: Option<Evaluation>,
}

impl ShellPlace {
    /// Adds a reason to be evaluated. A reason that refuses a value is kept.
    pub(super) fn evaluate(&mut self, why: Evaluation) {
        let is_kept = self.evaluation.is_some_and(|known| !known.is_meant() || why.is_meant());
        if !is_kept {
            self.evaluation = Some(why);
        }
    }
}

/// How a place is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// In a word, outside quotes.
    Bare,
    /// In `'…'`.
    Single,
    /// In `"…"`, also in `"${x:-…}"`.
    Double,
    /// In the pattern of `"${x#…}"`: within double quotes, yet quotes count there.
    DoublePattern,
    /// In `$'…'`.
    AnsiC,
    /// In a here-document that the shell expands.
    HereDocument,
    /// In a here-document whose delimiter is quoted.
    QuotedHereDocument,
    /// In a comment.
    Comment,
    /// In backticks that contain backslashes, such as backticks within backticks.
    NestedBackticks,
    /// After a backslash.
    Escaped,
    /// After a `$` that would become part of it.
    AfterDollar,
    /// In the name of a parameter expansion: `${…}`.
    ParameterName,
    /// In an expansion within quotes that shells read differently.
    Disputed,
}

/// Why the shell evaluates a value again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// `$(( … ))`, `(( … ))`, `$[ … ]`, `${x:…}`.
    Arithmetic,
    /// Beside `-eq` and the like within `[[ … ]]`.
    NumericTest,
    /// `a[…]`.
    Subscript,
    /// An argument of `let`.
    Let,
    /// A word that names a variable: `read`, `unset`, `printf -v`, `[[ -v`, `${!…}`.
    VariableName,
    /// `declare -i`, a declared name that is computed, or a variable declared so.
    Declaration,
    /// An argument of `eval`, or code kept for later: `alias`, `PS4`.
    Eval,
    /// The action of `trap`.
    Trap,
    /// The program of `sh -c`, `python -c`, `awk`, `ssh`, …
    Program,
}

impl Evaluation {
    /// Whether running the value is the purpose of the command: an author who writes `eval` or `sh
    /// -c` before a value wants that.
    pub(crate) fn is_meant(self) -> bool {
        match self {
            Self::Eval | Self::Trap | Self::Program => true,
            Self::Arithmetic
            | Self::NumericTest
            | Self::Subscript
            | Self::Let
            | Self::VariableName
            | Self::Declaration => false,
        }
    }
}

impl fmt::Display for Evaluation {
    /// Names the place: "in arithmetic".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Evaluation::Arithmetic => "in arithmetic",
            Evaluation::NumericTest => "beside a comparison of numbers in `[[ ]]`",
            Evaluation::Subscript => "in a subscript",
            Evaluation::Let => "in `let`",
            Evaluation::VariableName => "as the name of a variable",
            Evaluation::Declaration => "in this declaration",
            Evaluation::Eval => "as code",
            Evaluation::Trap => "in `trap`",
            Evaluation::Program => "as a program's text",
        })
    }
}

/// Why text can't be read as a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{trouble}")]
pub struct LexError {
    /// What is wrong.
    pub trouble: Trouble,
    /// The range in the text.
    pub at: Range<usize>,
}

/// What keeps text from being read as a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// A construct that is not closed.
    #[error("`{0}` is never closed")]
    Unterminated(&'static str),
    /// The shell would not accept this here, or its behaviour is unknown.
    #[error("the shell does not expect this here")]
    Unexpected,
    /// `((` that is not arithmetic: POSIX requires a space between the two.
    #[error("`((` begins arithmetic, but `))` doesn't end it")]
    TwoParentheses,
    /// Shells disagree where the body of the here-document begins.
    #[error(
        "the body of this here-document has to begin on the next line, inside the same brackets"
    )]
    HereDocument,
    /// Too many nested levels.
    #[error("nested too deep")]
    TooDeep,
}
