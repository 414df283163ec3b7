//! [`CommandText`]: a command's text, and its references into JSON values.

use std::borrow::Cow;
use std::ops::Range;

use hookwright_events::Event;

use super::rewrite::Rewritten as Templates;
use super::{Filled, GeneratedReference};
use super::{GENERATED, Quoting, ShellPlace, TemplateError, places, rewrite};
use crate::policy::Wire;
use crate::variables;

/// A command for the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandText {
    source: Box<str>,
    /// The text with its references replaced, if it has any.
    rewritten: Option<Box<RewrittenText>>,
    /// The text with its `{{x}}` placed, in dialects that have them.
    templates: Option<Box<Templates>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct RewrittenText {
    text: Box<str>,
    references: Vec<PathReference>,
}

/// `${TOOL_INPUT.command}`: a path into the JSON value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathReference {
    /// The generated variable that replaces it in the text.
    pub generated: String,
    /// The referenced variable.
    pub variable: String,
    /// Keys and indexes, outermost first.
    pub path: Vec<String>,
}

/// An invalid reference in a command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// `${NO_SUCH.x}`: there is no such variable.
    #[error("unknown variable `{name}`")]
    UnknownVariable {
        /// The variable's name.
        name: String,
        /// The range in the text.
        at: Range<usize>,
        /// The most similar known name.
        nearest: Option<String>,
    },
    /// `(( ${TOOL_INPUT.n} > 3 ))`: the shell evaluates the value again there, as code.
    #[error("the shell evaluates `{reference}` again here, so a value could run commands")]
    EvaluatedAgain {
        /// The reference as written.
        reference: String,
        /// The range in the text.
        at: Range<usize>,
    },
    /// A `{{x}}` in a place where it is not allowed.
    #[error("{0}")]
    Template(TemplateError),
}

impl CommandText {
    /// Reads a command of a dialect: like [`CommandText::new`], and `{{x}}` is placed if the
    /// dialect knows the name.
    pub fn of_dialect(source: &str, wire: &dyn Wire) -> Result<Self, TextError> {
        let plain = Self::new(source)?;
        if !source.contains("{{") {
            return Ok(plain);
        }
        let known = |name: &str| wire.reference(name);
        // Checked as written, so that the place of a fault refers to the author's text.
        let placed = rewrite(source, &known).map_err(TextError::Template)?;
        if placed.references().is_empty() {
            return Ok(plain);
        }
        let placed = match plain.rewritten {
            None => placed,
            Some(_) => rewrite(plain.for_shell(), &known).map_err(TextError::Template)?,
        };
        Ok(Self { templates: Some(Box::new(placed)), ..plain })
    }

    /// Reads a command. Its text stays unchanged, except for `${A.b}`.
    pub fn new(source: &str) -> Result<Self, TextError> {
        let mut text = String::new();
        let mut references: Vec<PathReference> = Vec::new();
        let mut copied = 0;
        let found: Vec<FoundReference> = find_references(source).collect();
        let standing = standing(source, &found);
        for (found, standing) in found.into_iter().zip(standing) {
            // Not a reference, but part of a program in another language.
            if standing == ReferenceUse::Literal {
                continue;
            }
            let name = &source[found.name.clone()];
            if !variables::is_ours(name) {
                return Err(TextError::UnknownVariable {
                    name: name.to_owned(),
                    nearest: variables::nearest_to(name),
                    at: found.name,
                });
            }
            if standing == ReferenceUse::EvaluatedAgain {
                return Err(TextError::EvaluatedAgain {
                    reference: source[found.whole.clone()].to_owned(),
                    at: found.whole,
                });
            }
            let path: Vec<String> = source[found.path].split('.').map(str::to_owned).collect();
            let known =
                references.iter().find(|known| known.variable == name && known.path == path);
            let generated = known.map_or_else(
                || format!("{GENERATED}{}", references.len() + 1),
                |known| known.generated.clone(),
            );
            text.push_str(&source[copied..found.whole.start]);
            text.push_str("${");
            text.push_str(&generated);
            text.push('}');
            copied = found.whole.end;
            if known.is_none() {
                let variable = name.to_owned();
                references.push(PathReference { generated, variable, path });
            }
        }
        text.push_str(&source[copied..]);
        let rewritten = (!references.is_empty())
            .then(|| Box::new(RewrittenText { text: text.into(), references }));
        Ok(Self { source: source.into(), rewritten, templates: None })
    }

    /// A command without references: its text stays unchanged, whatever it contains.
    pub fn literal(source: &str) -> Self {
        Self { source: source.into(), rewritten: None, templates: None }
    }

    /// The text as written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text for the shell, if it has no `{{x}}`.
    pub fn for_shell(&self) -> &str {
        self.rewritten.as_ref().map_or(&self.source, |rewritten| &rewritten.text)
    }

    /// The text for the shell at an event, and the variables for its `{{x}}`.
    pub fn filled(&self, wire: &dyn Wire, event: &Event) -> Filled<'_> {
        match &self.templates {
            Some(placed) => placed.fill(&|name| wire.value(name, event)),
            None => Filled { text: Cow::Borrowed(self.for_shell()), environment: Vec::new() },
        }
    }

    /// The text with built-in variables in place of its `{{x}}`; `None` if one of them has none.
    pub fn with_variables(
        &self,
        variable: &dyn Fn(&str) -> Option<&'static str>,
    ) -> Option<String> {
        match (&self.templates, &self.rewritten) {
            (None, _) => Some(self.source.to_string()),
            (Some(placed), None) => placed.with_variables(variable),
            (Some(_), Some(_)) => None,
        }
    }

    /// The name in braces that a generated variable replaces.
    pub fn template_of(&self, generated: &str) -> Option<&str> {
        let placed = self.templates.as_ref()?.references().iter();
        let is_generated = |own: &&GeneratedReference| {
            let element = generated.strip_prefix(own.generated.as_str());
            element.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        placed.filter(is_generated).map(|own| own.name.as_str()).next()
    }

    /// Its references, each once.
    pub fn references(&self) -> &[PathReference] {
        self.rewritten.as_ref().map_or(&[], |rewritten| &rewritten.references)
    }

    /// Whether the shell would look this variable up: `$NAME` or `${NAME…`.
    pub fn names(&self, variable: &str) -> bool {
        self.words(variable).any(|before| {
            before.ends_with('$') || before.ends_with("${") || before.ends_with("${#")
        })
    }

    /// Whether the text contains the variable's name at all: `$NAME`, `printenv NAME`, a program in
    /// another language.
    pub fn mentions(&self, variable: &str) -> bool {
        self.words(variable).any(|before| !before.ends_with(is_of_a_name))
    }

    /// The text before each place where a name ends like this one.
    fn words<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let text = self.for_shell();
        text.match_indices(name).filter_map(move |(at, name)| {
            let behind = &text[at + name.len()..];
            (!behind.starts_with(is_of_a_name)).then_some(&text[..at])
        })
    }
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// What the shell does with a reference at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReferenceUse {
    /// Replaces it by its value.
    Replaced,
    /// Leaves it unchanged: single quotes, a backslash before it, a comment.
    Literal,
    /// Evaluates its value again, as code.
    EvaluatedAgain,
}

fn standing(text: &str, found: &[FoundReference]) -> Vec<ReferenceUse> {
    if found.is_empty() {
        return Vec::new();
    }
    let ranges: Vec<Range<usize>> = found.iter().map(|found| found.whole.clone()).collect();
    match places(text, &ranges) {
        Ok(places) if places.len() == ranges.len() => places.iter().map(of_place).collect(),
        // The shell judges a text that the lexer cannot read, but obvious cases are found anyway.
        Ok(_) | Err(_) => ranges
            .iter()
            .map(|range| match is_evaluated_again(text, range) {
                true => ReferenceUse::EvaluatedAgain,
                false => ReferenceUse::Replaced,
            })
            .collect(),
    }
}

fn of_place(place: &ShellPlace) -> ReferenceUse {
    match place.evaluation {
        Some(evaluation) if !evaluation.is_meant() => return ReferenceUse::EvaluatedAgain,
        Some(_) | None => {}
    }
    match place.quoting {
        Quoting::Single | Quoting::Escaped | Quoting::Comment | Quoting::QuotedHereDocument => {
            ReferenceUse::Literal
        }
        _ => ReferenceUse::Replaced,
    }
}

/// Whether the shell evaluates the value of a reference again: in arithmetic, or beside a
/// comparison of numbers within `[[ ]]`. Judged by the surrounding text alone.
fn is_evaluated_again(text: &str, whole: &Range<usize>) -> bool {
    let before = &text[..whole.start];
    if is_in_arithmetic(before) {
        return true;
    }
    let words_of_let = before.rsplit([';', '\n', '|', '&', '(']).next().unwrap_or(before);
    if words_of_let.split_whitespace().take(2).any(|word| word == "let") {
        return true;
    }
    // `[[` and `]]` are words; `[[:space:]]` is neither.
    let opens = before
        .match_indices("[[")
        .filter(|(at, _)| before[at + 2..].starts_with(char::is_whitespace));
    let Some(open) = opens.map(|(at, _)| at).last() else { return false };
    let is_closed =
        |text: &str| text.split_whitespace().any(|word| word.trim_end_matches(';') == "]]");
    if is_closed(&before[open..]) {
        return false;
    }
    let after = &text[whole.end..];
    let close = after.find(" ]]").unwrap_or(after.len());
    let within = &text[open..whole.end + close];
    within.split_whitespace().any(|word| NUMBER_TESTS.contains(&word))
}

const NUMBER_TESTS: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

/// Whether a `((` is still open at the end of this text. `))` also closes two parentheses that are
/// not arithmetic.
fn is_in_arithmetic(before: &str) -> bool {
    let mut open: Vec<bool> = Vec::new();
    let mut letters = before.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '(' if letters.next_if_eq(&'(').is_some() => open.extend([true, true]),
            '(' => open.push(false),
            ')' => {
                open.pop();
            }
            _ => {}
        }
    }
    open.contains(&true)
}

struct FoundReference {
    whole: Range<usize>,
    name: Range<usize>,
    path: Range<usize>,
}

/// Every `${NAME.path}` of the text.
fn find_references(text: &str) -> impl Iterator<Item = FoundReference> + '_ {
    text.match_indices("${").filter_map(|(start, _)| {
        let inside = start + 2;
        let close = inside + text[inside..].find('}')?;
        let dot = inside + text[inside..close].find('.')?;
        let name = &text[inside..dot];
        let is_name = !name.is_empty()
            && !name.starts_with(|first: char| first.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_path = text[dot + 1..close].split('.').all(|key| {
            !key.is_empty()
                && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        });
        (is_name && is_path).then_some(FoundReference {
            whole: start..close + 1,
            name: inside..dot,
            path: dot + 1..close,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_references_stays_untouched() {
        for text in ["echo ${ERROR} \"$ERROR\" '$ERROR'", "echo ${X:-a.b} ${Y%.txt}", "a.b ${}"] {
            let command = CommandText::new(text).expect("valid");
            assert_eq!((command.for_shell(), command.references()), (text, &[][..]));
        }
    }

    #[test]
    fn a_path_into_a_value_becomes_a_generated_variable() {
        let command = CommandText::new(
            "test \"${TOOL_INPUT.command}\" != \"${TOOL_INPUT.edits.0.file-path}${TOOL_INPUT.command}\"",
        )
        .expect("valid");
        assert_eq!(
            command.for_shell(),
            "test \"${HOOKWRIGHT_REF_1}\" != \"${HOOKWRIGHT_REF_2}${HOOKWRIGHT_REF_1}\""
        );
        let paths: Vec<String> = command.references().iter().map(|r| r.path.join("/")).collect();
        assert_eq!(paths, ["command", "edits/0/file-path"]);
    }

    #[test]
    fn in_single_quotes_a_path_stays_as_literal_as_any_variable() {
        for text in [
            "echo '${TOOL_INPUT.command}'",
            "echo \\${TOOL_INPUT.command} # ${TOOL_INPUT.x}",
            "node -e 'console.log(`${process.version}`)'",
            "node <<'EOF'\nconsole.log(`${process.version}`)\nEOF",
        ] {
            assert_eq!(CommandText::new(text).expect("valid").for_shell(), text);
        }
    }

    #[test]
    fn a_path_into_an_unknown_variable_is_named_with_its_place() {
        let error = CommandText::new("echo ${TOOL_INPT.command}").expect_err("unknown");
        assert_eq!(
            error,
            TextError::UnknownVariable {
                name: "TOOL_INPT".into(),
                at: 7..16,
                nearest: Some("TOOL_INPUT".into())
            }
        );
    }

    #[test]
    fn a_path_whose_value_the_shell_would_evaluate_is_refused() {
        for text in [
            "if (( ${TOOL_INPUT.n} > 3 )); then exit 2; fi",
            "x=$(( ${TOOL_INPUT.n} + 1 ))",
            "[[ ${TOOL_INPUT.n} -gt 3 ]]",
            "[[ 3 -lt \"${TOOL_INPUT.n}\" ]]",
            "true; let x=${TOOL_INPUT.n}",
            "x=$(echo $(date)); (( ${TOOL_INPUT.n} > 3 ))",
            "[[ \"$x\" =~ [[:space:]] || ${TOOL_INPUT.n} -gt 3 ]]",
            "if let \"x=${TOOL_INPUT.n}\"; then :; fi",
            "declare -i x=${TOOL_INPUT.n}",
            "a[${TOOL_INPUT.n}]=1",
            "y=${TOOL_INPUT.n}; [[ y -eq 1 ]]",
            "y=${TOOL_INPUT.n}; let y",
            "y=${TOOL_INPUT.n}; declare -i z=y",
            "y=${TOOL_INPUT.n}; a[y]=1",
            "y=${TOOL_INPUT.n}; eval \"$y\"; unset 'a[y]'",
            "unset \"${TOOL_INPUT.n}\"",
            "v=${TOOL_INPUT.n}; echo \"${!v}\"",
        ] {
            let error = CommandText::new(text).expect_err("it would run");
            assert!(matches!(error, TextError::EvaluatedAgain { .. }), "{text}");
        }
        for text in [
            "(( 1 )); echo ${TOOL_INPUT.n}",
            "[[ ${TOOL_INPUT.n} == x ]] && [ 1 -eq 1 ]",
            "[ \"${TOOL_INPUT.n}\" -gt 3 ]",
            "[[ \"${TOOL_INPUT.command}\" == *apt-get* ]]",
            "bash guard.sh \"${TOOL_INPUT.command}\"",
            "grep -q sudo <<< \"${TOOL_INPUT.command}\" && exit 2",
            "# (( ${TOOL_INPUT.n} ))\necho \"((\" ${TOOL_INPUT.n}",
            "cat <<EOF\n(( ${TOOL_INPUT.n}\nEOF",
            "[[ \"${TOOL_INPUT.command}\" == *--force-with-lease* ]]",
        ] {
            assert!(CommandText::new(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn the_variables_that_a_shell_would_look_up_are_found() {
        let command =
            CommandText::new("echo $ERROR ${OUTPUT:-x} ${#PROMPT} $ERRORS CWD").expect("ok");
        for (name, named) in [
            ("ERROR", true),
            ("OUTPUT", true),
            ("PROMPT", true),
            ("ERRORS", true),
            ("CWD", false),
            ("ERR", false),
        ] {
            assert_eq!(command.names(name), named, "{name}");
        }
        for (name, mentioned) in [("CWD", true), ("ERROR", true), ("ERR", false), ("WD", false)] {
            assert_eq!(command.mentions(name), mentioned, "{name}");
        }
    }
}
