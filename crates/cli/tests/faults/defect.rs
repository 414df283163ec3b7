//! [`Defect`]: a violated rule.

/// A violated rule, in the words of the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Defect {
    CompletionLost,
    SameAttemptTwice,
    RunAfterCompletion,
    RunWithoutRecord,
    HalfWrittenFile,
    Unaccounted,
    SecondAgent,
    PipedLost,
    PipedTwice,
    DeliveredTwice,
    AskedTwice,
    AnswerUsedTwice,
    AnswerLost,
    WorkLost,
    WorkTwice,
    ChildLost,
    CostWrong,
    CommitUntold,
    CommitFailed,
    GuardPassed,
    EndTwice,
    NotFinished,
}

impl Defect {
    pub(crate) const ALL: &[(Defect, &str)] = &[
        (Defect::CompletionLost, "a recorded completion lost"),
        (Defect::SameAttemptTwice, "two runs with the same attempt number"),
        (Defect::RunAfterCompletion, "a run after its recorded completion"),
        (Defect::RunWithoutRecord, "a run that was not recorded before it began"),
        (Defect::HalfWrittenFile, "a half-written file, or one left behind"),
        (Defect::Unaccounted, "a hook unaccounted for"),
        (Defect::SecondAgent, "a second agent, or a survivor of a dead process"),
        (Defect::PipedLost, "piped output that reached no turn"),
        (Defect::PipedTwice, "piped output that reached two turns"),
        (Defect::DeliveredTwice, "a final delivery that was lost, or made twice"),
        (Defect::AskedTwice, "a person asked twice for the same thing"),
        (Defect::AnswerUsedTwice, "a person's answer used twice"),
        (Defect::AnswerLost, "a question or its answer lost"),
        (
            Defect::WorkLost,
            "a piece of work lost, or something else became of it than was recorded",
        ),
        (Defect::WorkTwice, "a piece of work taken twice"),
        (Defect::ChildLost, "a child of a hook lost, or one too many"),
        (Defect::CostWrong, "what a child used not counted for its parent, or twice"),
        (Defect::CommitUntold, "a commit of which hooks were not told, or twice"),
        (Defect::CommitFailed, "a commit that failed"),
        (Defect::GuardPassed, "a guard that was passed"),
        (Defect::EndTwice, "an end of a session that came twice, or with another exit code"),
        (Defect::NotFinished, "a session that did not come to its end"),
    ];
}

/// The defects, each with its details.
pub(crate) type Found = Vec<(Defect, String)>;
