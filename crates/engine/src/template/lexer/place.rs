//! [`ShellPlace`]: how the shell reads a place in a command's text, and why it can't be told.

use std::fmt;
use std::ops::Range;

/// How the shell reads a place in a command's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShellPlace {
    /// What the place is quoted by.
    pub quoting: Quoting,
    /// Why the shell evaluates what stands there again, if it does.
    pub evaluation: Option<Evaluation>,
    /// Whether an unquoted expansion is split into words and globbed there.
    pub splits: bool,
    /// Whether it is what a redirection leads to. Bash splits an unquoted expansion there too, and then
    /// refuses it unless it is one word.
    pub is_target: bool,
    /// Whether it stands in the word that names the command.
    pub names_command: bool,
    /// Whether it stands in the default of an unquoted expansion: `${x:-…}`.
    pub in_default: bool,
    /// Why it would be evaluated if it were several words, the first of them options or a command.
    pub evaluated_as_words: Option<Evaluation>,
}

impl ShellPlace {
    /// Whether the shell takes every character there as it is: single quotes.
    pub fn in_single_quotes(&self) -> bool {
        self.quoting == Quoting::Single
    }

    /// It is evaluated for this reason too. One for which a value is refused is kept.
    pub(super) fn evaluate(&mut self, why: Evaluation) {
        let is_kept = self.evaluation.is_some_and(|known| !known.is_meant() || why.is_meant());
        if !is_kept {
            self.evaluation = Some(why);
        }
    }

    /// Whether a backslash takes the meaning of the first character.
    pub fn is_escaped(&self) -> bool {
        self.quoting == Quoting::Escaped
    }

    /// Why the shell evaluates what stands there again, if it does. What runs in `'…'` or in a
    /// comment is never the place's own value.
    pub fn evaluated_again(&self) -> Option<Evaluation> {
        self.evaluation
    }
}

/// What a place is quoted by.
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
    /// In backticks that hold backslashes, such as backticks within backticks.
    NestedBackticks,
    /// After a backslash.
    Escaped,
    /// After a `$` that would take it for its own.
    AfterDollar,
    /// Where a parameter expansion has its name: `${…}`.
    ParameterName,
    /// In an expansion within quotes that shells read differently.
    Disputed,
}

/// Why the shell evaluates a value again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// `$(( … ))`, `(( … ))`, `$[ … ]`, `${x:…}`.
    Arithmetic,
    /// Beside `-eq` and its kin within `[[ … ]]`.
    NumericTest,
    /// `a[…]`.
    Subscript,
    /// An argument of `let`.
    Let,
    /// A word that names a variable: `read`, `unset`, `printf -v`, `[[ -v`, `${!…}`.
    VariableName,
    /// `declare -i`, a declared name that is computed, or a variable that has been declared so.
    Declaration,
    /// An argument of `eval`, or code kept for later: `alias`, `PS4`.
    Eval,
    /// The action of `trap`.
    Trap,
    /// The program of `sh -c`, `python -c`, `awk`, `ssh`, …
    Program,
}

impl Evaluation {
    /// Whether running the value is what the command is for: an author who writes `eval` or `sh -c`
    /// before a value wants that.
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
    /// Where that is: "in arithmetic".
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

/// Text that can't be read as a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{trouble}")]
pub struct LexError {
    /// What is wrong.
    pub trouble: Trouble,
    /// Where.
    pub at: Range<usize>,
}

/// Why text can't be read as a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Something that begins here never ends.
    #[error("`{0}` is never closed")]
    Unterminated(&'static str),
    /// The shell would not accept this here, or we don't know what it would do with it.
    #[error("the shell does not expect this here")]
    Unexpected,
    /// `((` that is no arithmetic: POSIX wants a space between the two.
    #[error("`((` begins arithmetic, but `))` doesn't end it")]
    TwoParentheses,
    /// The body of a here-document isn't where every shell looks for it.
    #[error(
        "the body of this here-document has to begin on the next line, inside the same brackets"
    )]
    HereDocument,
    /// More levels than anybody writes.
    #[error("nested too deep")]
    TooDeep,
}
