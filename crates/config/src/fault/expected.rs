//! What a fault expected. A value with advice of its own is a variant here, so that texts can
//! change without losing the advice.

/// The value that was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExpectedValue {
    /// Any text.
    #[error("a string")]
    String,
    /// A boolean.
    #[error("true or false")]
    Bool,
    /// The hooks of one event.
    #[error("a list of hooks")]
    HookList,
    /// The cases of a test file.
    #[error("a list of cases")]
    CaseList,
    /// A whole file of hooks.
    #[error("a map with the key `hooks`")]
    HooksKey,
    /// The hooks of a file.
    #[error("a map from events to lists of hooks")]
    HooksByEvent,
    /// A hook, with the keys that decide its type.
    #[error("a hook, a map with {0}")]
    Hook(&'static str),
    /// Variables or headers.
    #[error("a map from names to strings")]
    NamedStrings,
    /// The address of a webhook.
    #[error("an https address, http to this machine, or `allow_http: true` beside it")]
    SafeAddress,
    /// The name of a variable that a test case sets.
    #[error("a variable that no event sets; an event's values belong in `data`")]
    FreeVariable,
    /// Anything else; the text describes it.
    #[error("{0}")]
    Form(&'static str),
}

impl From<&'static str> for ExpectedValue {
    fn from(form: &'static str) -> Self {
        Self::Form(form)
    }
}

/// A required key that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the words say which key it is")]
pub enum MissingKey {
    #[error("`command`, `url` or `pipeline`, or a `type` that needs none of them")]
    Action,
    #[error("`type`")]
    HookType,
    #[error("`command`")]
    Command,
    #[error("`url`")]
    Url,
    #[error("`pipeline`")]
    Pipeline,
    #[error("`event`")]
    Event,
    #[error("`hooks`, a list of handlers")]
    Handlers,
    #[error("`stages`")]
    Stages,
    #[error("`name` of the stage")]
    StageName,
    #[error("`loop`")]
    Loop,
    #[error("`from`, an earlier stage")]
    From,
    #[error("`type`: fixed, judgment or queue")]
    TerminationType,
    #[error("`script`, a file of turns")]
    Script,
    #[error("`turns`, a list")]
    Turns,
    #[error("`do`, a list of actions")]
    Actions,
    #[error("`decision`: continue, stop or error")]
    AgentDecision,
    #[error("`contains`, a string to look for")]
    PromptPart,
    #[error("`then` or `else`, a list of actions")]
    ThenOrElse,
    #[error("`cases`")]
    Cases,
    #[error("`name`")]
    CaseName,
    #[error("`event` or `steps`")]
    EventOrSteps,
    #[error("`expect`")]
    Expect,
    #[error("`contains` or `matches`")]
    ContainsOrMatches,
}
