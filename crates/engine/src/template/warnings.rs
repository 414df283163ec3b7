//! The warnings of `check` about `${X}` in a command's own text, which is not rewritten.

use std::collections::HashSet;
use std::ops::Range;

use super::lexer::{self, Evaluation, LookupForm, MarkSubject, Quoting};

/// What is known about names.
#[derive(Clone, Copy)]
pub struct Names<'n> {
    /// A built-in variable.
    pub is_ours: &'n dyn Fn(&str) -> bool,
    /// A variable whose value may be any text: a message, a command, a path.
    pub is_free_text: &'n dyn Fn(&str) -> bool,
    /// A variable whose value is a list, one element per line: split into words on purpose.
    pub is_list: &'n dyn Fn(&str) -> bool,
    /// A variable of the environment.
    pub is_in_environment: &'n dyn Fn(&str) -> bool,
}

/// A place that probably doesn't do what its author expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWarning {
    /// The kind of warning.
    pub kind: CommandWarningKind,
    /// The variable's name.
    pub name: String,
    /// The variable as it would be quoted: `$NAME`, or `${NAME.path}`.
    pub reference: String,
    /// The range in the text: `$NAME`, or `${NAME` of a longer expansion.
    pub at: Range<usize>,
    /// The range of the name.
    pub name_at: Range<usize>,
}

/// Kinds of warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandWarningKind {
    /// A built-in variable in single quotes: it stays literal.
    Literal,
    /// Free text outside quotes: it is split into words, and `*` in it is expanded.
    Unquoted,
    /// Free text that the shell evaluates, so that a value can run commands.
    EvaluatedAgain(Evaluation),
    /// A name that is never set.
    Unknown,
}

/// The suspicious places of a command, in order; none if the text can't be parsed.
pub fn warnings(text: &str, names: &Names<'_>) -> Vec<CommandWarning> {
    let Ok(lexed) = lexer::variables(text) else { return Vec::new() };
    let set: HashSet<&str> = lexed.set.iter().map(|name| &text[name.clone()]).collect();
    let mut found = Vec::new();
    for mark in &lexed.marks {
        let MarkSubject::Variable { name: name_at, form } = &mark.subject else { continue };
        let name = &text[name_at.clone()];
        // A variable that the command sets itself hides a built-in one of the same name.
        let is_own = set.contains(name);
        let is_ours = !is_own && (names.is_ours)(name);
        let is_free_text = is_ours && (names.is_free_text)(name);
        let place = mark.place;
        let evaluation = match form {
            LookupForm::Evaluated => place.evaluation.or(Some(Evaluation::VariableName)),
            LookupForm::Value | LookupForm::Defaulted | LookupForm::Bare => place.evaluation,
            LookupForm::Measured => None,
        };
        let kind = match place.quoting {
            // Another program reads it there, perhaps a shell that expands it.
            Quoting::Single if place.evaluation.is_some() => None,
            Quoting::Single => (is_ours && !mark.is_foreign).then_some(CommandWarningKind::Literal),
            _ if is_free_text && evaluation.is_some() => {
                evaluation.map(CommandWarningKind::EvaluatedAgain)
            }
            Quoting::Bare
                if is_free_text
                    && (place.splits || place.is_target)
                    && *form != LookupForm::Measured
                    && !(names.is_list)(name) =>
            {
                Some(CommandWarningKind::Unquoted)
            }
            _ => {
                let is_known = is_own
                    || is_ours
                    || lexed.sets_others
                    || *form == LookupForm::Defaulted
                    || *form == LookupForm::Measured
                    || *form == LookupForm::Bare
                    || is_the_shells(name)
                    || (names.is_in_environment)(name);
                (!is_known).then_some(CommandWarningKind::Unknown)
            }
        };
        if let Some(kind) = kind {
            let (name, at, name_at) = (name.to_owned(), mark.at.clone(), name_at.clone());
            let reference = reference(text, &name_at);
            found.push(CommandWarning { kind, name, reference, at, name_at });
        }
    }
    found
}

fn reference(text: &str, name: &Range<usize>) -> String {
    let braced = text[..name.start].ends_with("${") && text[name.end..].starts_with('.');
    match text[name.end..].find('}') {
        Some(close) if braced => text[name.start - 2..=name.end + close].to_owned(),
        _ => format!("${}", &text[name.clone()]),
    }
}

/// A variable that shells set themselves.
fn is_the_shells(name: &str) -> bool {
    name.starts_with("BASH")
        || matches!(
            name,
            "_" | "COMP_WORDS"
                | "COPROC"
                | "DIRSTACK"
                | "EPOCHREALTIME"
                | "EPOCHSECONDS"
                | "EUID"
                | "FUNCNAME"
                | "GROUPS"
                | "HOSTNAME"
                | "HOSTTYPE"
                | "IFS"
                | "LINENO"
                | "MACHTYPE"
                | "MAPFILE"
                | "OLDPWD"
                | "OPTARG"
                | "OPTERR"
                | "OPTIND"
                | "OSTYPE"
                | "PIPESTATUS"
                | "PPID"
                | "PS1"
                | "PS2"
                | "PS3"
                | "PS4"
                | "PWD"
                | "RANDOM"
                | "REPLY"
                | "SECONDS"
                | "SHELLOPTS"
                | "SHLVL"
                | "SRANDOM"
                | "UID"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(CommandWarningKind, &str)> {
        let names = Names {
            is_ours: &|name| matches!(name, "ERROR" | "ITERATION" | "CHANGED_FILES"),
            is_free_text: &|name| matches!(name, "ERROR" | "CHANGED_FILES"),
            is_list: &|name| name == "CHANGED_FILES",
            is_in_environment: &|name| name == "HOME",
        };
        let warnings = warnings(text, &names);
        for warning in &warnings {
            assert_eq!(&text[warning.name_at.clone()], warning.name);
            let is_path = text[warning.name_at.end..].starts_with('.');
            assert_eq!(warning.reference.starts_with("${"), is_path, "{}", warning.reference);
        }
        warnings.into_iter().map(|warning| (warning.kind, &text[warning.at])).collect()
    }

    #[test]
    fn odd_places_are_named() {
        use CommandWarningKind::{EvaluatedAgain, Literal, Unknown, Unquoted};
        use Evaluation::*;
        for (text, expected) in [
            ("echo '$ERROR' 'a ${ERROR}'", vec![(Literal, "$ERROR"), (Literal, "${ERROR")]),
            ("echo $ERROR", vec![(Unquoted, "$ERROR")]),
            ("echo ${ERROR:-none}", vec![(Unquoted, "${ERROR")]),
            ("echo \"$(cat $ERROR)\"", vec![(Unquoted, "$ERROR")]),
            ("echo a >> $ERROR", vec![(Unquoted, "$ERROR")]),
            ("cat < ${ERROR}.txt", vec![(Unquoted, "${ERROR")]),
            ("(( ERROR > 3 ))", vec![(EvaluatedAgain(Arithmetic), "ERROR")]),
            ("echo $(( $ERROR ))", vec![(EvaluatedAgain(Arithmetic), "$ERROR")]),
            ("[[ \"$ERROR\" -eq 3 ]]", vec![(EvaluatedAgain(NumericTest), "$ERROR")]),
            ("eval \"$ERROR\"", vec![(EvaluatedAgain(Eval), "$ERROR")]),
            ("trap \"echo $ERROR\" EXIT", vec![(EvaluatedAgain(Trap), "$ERROR")]),
            ("sh -c \"echo $ERROR\"", vec![(EvaluatedAgain(Program), "$ERROR")]),
            ("echo \"${!ERROR}\"", vec![(EvaluatedAgain(VariableName), "${!ERROR")]),
            ("echo \"$EROR\" $NOBODY", vec![(Unknown, "$EROR"), (Unknown, "$NOBODY")]),
            ("cat <<E\n$NOBODY\nE", vec![(Unknown, "$NOBODY")]),
            (
                "echo '${ERROR.code}' ${ERROR.a-b.0}",
                vec![(Literal, "${ERROR"), (Unquoted, "${ERROR")],
            ),
            ("sh -c \"echo ${ERROR.x}\"", vec![(EvaluatedAgain(Program), "${ERROR")]),
            ("x=$ERROR; y=$x; eval \"$y\"", vec![(EvaluatedAgain(Eval), "$ERROR")]),
            ("eval \"ls $CHANGED_FILES\"", vec![(EvaluatedAgain(Eval), "$CHANGED_FILES")]),
            ("echo x | jq '.a' | grep '$ERROR'", vec![(Literal, "$ERROR")]),
            ("[[ ERROR -eq 1 ]]", vec![(EvaluatedAgain(NumericTest), "ERROR")]),
            ("let 'x=ERROR'", vec![(EvaluatedAgain(Let), "ERROR")]),
            ("declare -i x=ERROR", vec![(EvaluatedAgain(Declaration), "ERROR")]),
            ("a[ERROR]=1", vec![(EvaluatedAgain(Subscript), "ERROR")]),
            ("unset 'a[ERROR]'", vec![(EvaluatedAgain(Subscript), "ERROR")]),
            ("x=$ERROR; [[ x -eq 1 ]]", vec![(EvaluatedAgain(NumericTest), "$ERROR")]),
            ("x=ERROR; (( x ))", vec![(EvaluatedAgain(Arithmetic), "ERROR")]),
            ("v='a[ERROR]'; echo ${!v}", vec![(EvaluatedAgain(Subscript), "ERROR")]),
            (
                "a=(1); [[ ${a[ERROR]} -eq ERROR ]]",
                vec![(EvaluatedAgain(Subscript), "ERROR"), (EvaluatedAgain(NumericTest), "ERROR")],
            ),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn a_correct_command_has_no_warning() {
        for text in [
            "echo \"$ERROR\" \"${ERROR}\" ${#ERROR} ${ERROR:+x} $ITERATION $HOME $PWD $1 $# $$ $?",
            "(( ITERATION % 5 == 0 )) && echo \"$(( ITERATION + 1 ))\"",
            "x=$ERROR; echo \"$x\"; [[ $ERROR == a ]]; case $ERROR in a) ;; esac",
            "cat <<< $ERROR > \"$ERROR\" 2>> /tmp/$ITERATION",
            "bash -c 'echo \"$ERROR\"'; eval 'echo \"$ERROR\"'; trap 'echo $ERROR' EXIT",
            "read -r a b < f; for c in 1; do echo \"$a$b$c\"; done; local d; echo \"$d\"",
            "printf -v out %s x; getopts ab opt; mapfile -t lines; echo \"$out$opt${lines[0]}\"",
            "(( i = 3 )); let j=4; : \"${k:=5}\"; exec {fd}>f; echo $i $j $k $fd ${maybe-}",
            ". ./settings; echo \"$SETTING\"",
            "cat <<'E'\n$ERROR\nE\n# $ERROR\necho \\$ERROR",
            "echo 'never closed $ERROR",
            "echo \"${ERROR.code}\" \"$(cat \"${ERROR.file}\")\"",
            "for file in $CHANGED_FILES; do rustfmt -- \"$file\"; done; git add $CHANGED_FILES",
            "n=$(grep -c a <<< \"$ERROR\"); (( n > 3 )) && n=$ITERATION && (( n < 4 ))",
            "level=ERROR; printf -v line '[ERROR] %s' x; [[ $level == ERROR ]]; unset ERROR",
            "a[key]=1; [[ ITERATION -gt 3 ]]; let ITERATION; declare -i n=$(grep -c ERROR log)",
            "jq -n --arg ERROR \"$ERROR\" '{text: $ERROR}' | envsubst '$ERROR' | yq '.a = $ERROR'",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
