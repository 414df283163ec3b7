//! `{{x}}` in real shells: the child sees exactly the value, and nothing else runs.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use hookwright_engine::template::{CommandText, Problem, Reference, TextError, Value, rewrite};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// A command with `{{x}}`, and its output: every `@` is the value.
const BOTH_SHELLS: &[(&str, &str)] = &[
    ("printf '<%s>' {{x}}", "<@>"),
    ("printf '<%s>' a{{x}}b{{x}}", "<a@b@>"),
    ("printf '<%s>' \"{{x}}\" \"a {{x}} b\"", "<@><a @ b>"),
    ("printf '<%s>' '{{x}}' 'a $HOME {{x}} \\'", "<@><a $HOME @ \\>"),
    ("printf '<%s>' \"C:\\\\{{x}}\" \"\\${{x}}\" \\${{x}} '\\{{x}}'", "<C:\\@><$@><$@><\\@>"),
    ("printf '<%s>' \"$(printf '%s.' \"{{x}}\")\"", "<@.>"),
    ("printf '<%s>' \"$(printf '%s.' \"a $(printf '%s.' '{{x}}' {{x}})\")\"", "<a @.@..>"),
    ("printf '<%s>' `printf x`\"`printf '%s.' {{x}}`\"", "<x@.>"),
    ("printf '<%s>' \"`printf '%s.' \"{{x}}\" '{{x}}'`\"", "<@.@.>"),
    ("printf '<%s>' \"$(case b in a) echo no;; (b) printf '%s.' {{x}} ;; esac)\"", "<@.>"),
    ("case {{x}} in '{{x}}') printf same;; *) printf other;; esac", "same"),
    ("case {{x}} in {{x}}) printf same;; esac", "same"),
    ("case {{x}} in \"{{x}}\"|b) printf same; esac", "same"),
    ("case a in a) cat <<E ;;\n{{x}}\nE\nesac", "@\n"),
    ("cat <<E\n{{x}} '{{x}}' \"{{x}}\"\nE\nprintf '%s' {{x}}", "@ '@' \"@\"\n@"),
    (
        "cat <<A; cat <<'B'; printf '%s' {{x}}\n1 {{x}}\nA\n2 'it' $HOME\nB\n",
        "1 @\n2 'it' $HOME\n@",
    ),
    ("cat <<-E\n\t\t$(printf '%s.' '{{x}}')\n\tE\nprintf '%s' \"{{x}}\"", "@.\n@"),
    ("printf '<%s>' \"$(cat <<E\n{{x}}.\nE\n)\"", "<@.>"),
    ("(cat <<E)\n{{x}}\nE\n", "@\n"),
    ("cat <<E | (\n{{x}}\nE\ncat; printf '%s' {{x}})", "@\n@"),
    ("printf '%s' {{x}} # it's \"here\n printf '%s' {{x}}", "@@"),
    ("printf '<%s>' \"$(printf '%s.' {{x}} # it's )\n)\"", "<@.>"),
    ("v={{x}}; printf '<%s>' \"$v\"", "<@>"),
    ("v='{{x}}' w=\"$(printf '%s.' {{x}})\"; printf '<%s>' \"$v$w\"", "<@@.>"),
    ("printf '<%s>' ${none:-{{x}}} ${none:-\"{{x}}\"} ${none:-'{{x}}'}", "<@><@><@>"),
    ("printf '<%s>' \"${none:-{{x}}}\" \"${none:-\"{{x}}\"}\" \"${none-'{{x}}'}\"", "<@><@><'@'>"),
    ("v=a{{x}}; printf '<%s>' \"${v#a{{x}}}\" \"${v%\"{{x}}\"}\" \"${v#'a{{x}}'}\"", "<><a><>"),
    ("v=a{{x}}; printf '<%s>' \"${v%{{x}}}\" ${v%{{x}}} ${v%'{{x}}'}", "<a><a><a>"),
    ("for v in {{x}} \"{{x}}\"; do printf '<%s>' \"$v\"; done", "<@><@>"),
    ("for v\nin {{x}}\ndo printf '<%s>' \"$v\"; done", "<@>"),
    ("f() { printf '<%s>' \"$1\" {{x}}; }; f {{x}}", "<@><@>"),
    ("if [ {{x}} = \"{{x}}\" ]; then printf same; fi", "same"),
    ("{ ! (exit 1) && printf '%s' {{x}}; }", "@"),
    ("sh -c 'printf \"<%s>\" \"$1\"' sh {{x}}", "<@>"),
    ("set -- {{x}} '{{x}}'; printf '<%s>' \"$@\"", "<@><@>"),
    ("printf '%s' {{x}} | cat 2>&1 >&1", "@"),
    ("printf '<%s>' {{x}}{{x}}\"{{x}}\"'{{x}}'{{unknown}}", "<@@@@{{unknown}}>"),
    ("printf '<%s>' {{{x}}} $$ > /dev/null; printf '<%s>' {{{x}}}", "<{@}>"),
    ("v=$(( 1 + (2) )); printf '<%s>' {{x}}$v", "<@3>"),
    ("export v={{x}} w=\"{{x}}\" \"u={{x}}\"; printf '<%s>' \"$v\" \"$w\" \"$u\"", "<@><@><@>"),
    ("printf '%s' {{x}};# it's\nprintf '%s' {{x}}", "@@"),
    ("printf '<%s>' \"${none:-\"a}b\"}\" '{{x}}'", "<a}b><@>"),
    ("v=$(( 1 << 2 )); printf '<%s>' {{x}}$v", "<@4>"),
    ("printf '<%s>' if then esac {{x}} do done '}'", "<if><then><esac><@><do><done><}>"),
    ("f () ( printf '<%s>' \"$@\" {{x}} )\nf in '{{x}}'", "<in><@><@>"),
    ("cat <<\"E F\"\nit's $(\nE F\nprintf '%s' {{x}}", "it's $(\n@"),
    ("printf '<%s>' \"$(cat <<'E'\nit's \"\nE\n)\" '{{x}}'", "<it's \"><@>"),
    ("printf '<%s>' \"$( # it's )\n printf '%s.' '{{x}}')\"", "<@.>"),
    ("printf '<%s>' \"a\\\nb{{x}}\" 'a\\\nb'", "<ab@><a\\\nb>"),
    ("if case {{x}} in *) true;; esac then printf '%s' {{x}}; fi", "@"),
    ("printf '<%s>' a#'{{x}}' \\# {{x}}", "<a#@><#><@>"),
    ("while :; do printf '%s' {{x}}; break; done | cat", "@"),
    ("{ cat; printf '%s' {{x}}; } <<E\n{{x}}\nE\n", "@\n@"),
    ("cat <<E | { cat; printf '%s' \"{{x}}\"; }\n`printf '%s.' '{{x}}'`\nE\n", "@.\n@"),
    ("! printf '%s' {{x}} | cat && false || printf '%s' '{{x}}'", "@@"),
    (
        "printf '%s\\n' {{x}} | while IFS= read -r l; do printf '%s.' \"$l\"; done | grep -c . >&2; printf '%s' {{x}}",
        "@",
    ),
    ("printf '<%s>' ~{{x}} \"$(printf %s. \\\n{{x}})\"", "<~@><@.>"),
];

const BASH: &[(&str, &str)] = &[
    ("[[ {{x}} == {{x}} && \"{{x}}\" = '{{x}}' ]] && printf same", "same"),
    ("[[ a{{x}} =~ ^(a b|a){{x}}$ ]] && printf same", "same"),
    ("printf '%s' \"$(cat <<< {{x}}; printf .)\"", "@\n."),
    ("a=( {{x}} \"{{x}}\" # it's\n '{{x}}' ); printf '<%s>' \"${a[@]}\"", "<@><@><@>"),
    ("cat <(printf '%s' {{x}})", "@"),
    ("printf '<%s>' $\"{{x}}\" $'a\\'b'{{x}}", "<@><a'b@>"),
    ("v=b; printf '<%s>' ${v/b/$'\\''}\"${v//b/c}\"{{x}}", "<'c@>"),
    ("function f { local v={{x}}; printf '<%s>' \"$v\"; }; f", "<@>"),
    ("for ((i = 0; i < 2; i++)); do printf '%s' {{x}}; done", "@@"),
    ("((1)) && time -p printf '%s' {{x}} 2>/dev/null", "@"),
    ("declare -A m=([k]=v); m[k]=w; printf '<%s>' \"${m[k]}\" {{x}}", "<w><@>"),
    ("a=(1 [3]=2); printf '<%s>' ${a[@]:1} \"${#a[@]}\" {{x}}", "<2><2><@>"),
    ("[[ ( a < b ) && ! -f '{{x}}x' || {{x}} ]]; printf '%s' '{{x}}'", "@"),
    ("case b in a) ;;& b) printf '%s' {{x}} ;& c) printf '%s' '{{x}}' ;; esac", "@@"),
    ("printf '<%s>' {a,b}{{x}} $'\\'{{unknown}}'", "<a@><b@><'{{unknown}}>"),
    ("select v in a; do printf '%s' {{x}}; break; done <<< 1 2>/dev/null", "@"),
    ("printf '%s' {{x}} |& cat", "@"),
];

const LIST: &[(&str, &str)] = &[
    ("printf '<%s>' begin {{l}} end", "<begin>* <end>"),
    ("printf '<%s>' \"{{l}}\" '{{l}}'", "<+><+>"),
    ("v={{l}}; printf '<%s>' \"$v\"", "<+>"),
    ("export v={{l}}; printf '<%s>' \"$v\"", "<+>"),
    ("printf begin; for v in {{l}}; do printf '<%s>' \"$v\"; done", "begin*"),
    ("cat <<E\n{{l}}\nE\n", "+\n"),
    ("case {{l}} in '{{l}}') printf same;; esac", "same"),
];

struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("decoy"), "").expect("a file for globs to find");
        Self(folder)
    }

    fn run(&self, shell: &str, text: &str, environment: &[(String, String)]) -> (String, String) {
        let output = Command::new(shell)
            .args(["-c", text])
            .current_dir(self.0.path())
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .expect("the shell starts");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (text(output.stdout), text(output.stderr))
    }

    fn is_untouched(&self) -> bool {
        names(self.0.path()) == ["decoy"]
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("it is there");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into()).collect()
}

fn known(name: &str) -> Reference {
    match name {
        "x" => Reference::Scalar,
        "l" => Reference::List,
        _ => Reference::Unknown,
    }
}

const SEPARATOR: &str = "\n--8<--\n";

/// Runs every command of a table, in one process, with one value.
fn check(shell: &str, table: &[(&str, &str)], value: &str) {
    let sandbox = Sandbox::new();
    let mut script = String::new();
    let mut environment = Vec::new();
    for (text, _) in table {
        let rewritten = rewrite(text, &known).unwrap_or_else(|error| panic!("{text}: {error}"));
        let filled = rewritten.fill(&|_| Value::Scalar(Cow::Borrowed(value)));
        script.push_str("(\n");
        script.push_str(&filled.text);
        script.push_str("\n)\nprintf '\\n--8<--\\n'\n");
        environment = filled.environment;
    }
    let (stdout, stderr) = sandbox.run(shell, &script, &environment);
    let parts: Vec<&str> = stdout.split(SEPARATOR).collect();
    for (index, (text, expected)) in table.iter().enumerate() {
        let seen = parts.get(index).copied().unwrap_or("nothing");
        assert_eq!(seen, expected.replace('@', value), "{shell}: {text}\n{stderr}");
    }
    assert!(sandbox.is_untouched(), "{shell}: {value:?} ran something");
}

fn check_list(shell: &str, elements: &[String]) {
    let sandbox = Sandbox::new();
    for (text, expected) in LIST {
        let rewritten = rewrite(text, &known).expect("it can be placed");
        let filled = rewritten.fill(&|_| {
            Value::List(elements.iter().map(|element| Cow::Borrowed(element.as_str())).collect())
        });
        let words: String = elements.iter().map(|element| format!("<{element}>")).collect();
        let expected: String = expected
            .replace("* ", "*")
            .split('*')
            .map(|part| part.replace('+', &elements.join(" ")))
            .collect::<Vec<_>>()
            .join(&words);
        let (stdout, stderr) = sandbox.run(shell, &filled.text, &filled.environment);
        assert_eq!(stdout, expected, "{shell}: {}\n{stderr}", filled.text);
    }
    assert!(sandbox.is_untouched(), "{shell}: {elements:?} ran something");
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("$(touch pwned)".to_owned()),
        Just("`touch pwned`".to_owned()),
        Just("'; touch pwned; '".to_owned()),
        Just("\"; touch pwned; \"".to_owned()),
        Just("\n touch pwned \n".to_owned()),
        Just("a[$(touch pwned)]".to_owned()),
        Just("$((a[$(touch pwned)]))".to_owned()),
        Just("{{error}}{{x}}".to_owned()),
        Just("${HOOKWRIGHT_REF_T1}$HOOKWRIGHT_REF_1".to_owned()),
        Just("-n -e --".to_owned()),
        Just("\nE\n".to_owned()),
        Just("* ? [a-z]* ~ d*y".to_owned()),
        Just("&& | ; > pwned < #".to_owned()),
        Just("\\".to_owned()),
        Just("{a,b}{1..3}!(x)".to_owned()),
        "[ \\t\\n'\"$`\\\\(){}*?!#&|;<>=~%a-c-]{0,6}",
        "\\PC{0,4}",
    ];
    proptest::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat().replace('\u{0}', ""))
}

#[test]
fn a_plain_value_arrives_in_every_context() {
    for value in ["value", "", "two  words", "*", "-n", "ends with a line\n", "\\", "it's \"$x\""] {
        for shell in ["bash", "dash"] {
            check(shell, BOTH_SHELLS, value);
        }
        check("bash", BASH, value);
    }
}

#[test]
fn a_list_gives_one_word_per_element_and_is_joined_in_quotes() {
    for elements in [&[][..], &["a b"], &["a", "", "*", "-n", "it's"]] {
        let elements: Vec<String> = elements.iter().map(|&element| element.to_owned()).collect();
        for shell in ["bash", "dash"] {
            check_list(shell, &elements);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn a_hostile_value_arrives_unchanged_and_runs_nothing(value in hostile()) {
        prop_assume!(!value.contains(SEPARATOR));
        for shell in ["bash", "dash"] {
            check(shell, BOTH_SHELLS, &value);
        }
        check("bash", BASH, &value);
    }

    #[test]
    fn hostile_elements_arrive_unchanged(elements in proptest::collection::vec(hostile(), 0..4)) {
        for shell in ["bash", "dash"] {
            check_list(shell, &elements);
        }
    }
}

/// Most random combinations are refused quickly.
const CASES: u32 = 3000;

/// Pieces of commands that have no effects themselves.
const PIECES: &[&str] = &[
    "{{x}}",
    "{{x}}",
    "{{x}}",
    "{{l}}",
    " ",
    " ",
    " ",
    ";",
    "\n",
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "(",
    "((",
    "))",
    "$((",
    "${v:-",
    "${v#",
    "${v/a/",
    "${v:",
    "${a[",
    "}",
    "]",
    "[[ ",
    " ]]",
    " -eq ",
    " -v ",
    " = ",
    "=~ ",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<-E ",
    "# ",
    "\\",
    "$",
    "$'",
    "$\"",
    "v=",
    "a[",
    "]=1",
    "a=( ",
    "case b in b) ",
    ";; esac",
    " in ",
    "for v ",
    "; do ",
    "; done",
    "if ",
    "then ",
    "fi",
    "{ ",
    "}",
    "! ",
    "eval ",
    "let ",
    "declare ",
    "declare -i ",
    "local ",
    "export ",
    "printf ",
    "printf -v ",
    "read ",
    "unset ",
    "trap ",
    "test ",
    "[ ",
    " ]",
    "command ",
    "builtin ",
    "bash ",
    "sh ",
    "-c ",
    "-n ",
    "--",
    "true ",
    "echo ",
    "x",
    "a",
    "v",
    "1",
    "n",
    "declare -i n; n=",
    "f() ",
    "function f ",
    "&& ",
    "| ",
    "<(",
    "<<< ",
    "$v ",
    "${!",
    "time ",
    "select ",
    "=",
    "+=",
    "@(",
    "*",
    "getopts ",
    "mapfile ",
    "alias ",
    "PS4=",
    "set -x; ",
    "$[",
    "-",
    "| sh",
    "| bash ",
    "| { sh; }",
    "| (bash)",
    "; } ",
    "while ",
    "until ",
    "break; done ",
    "esac ",
    "fi ",
    "sh <<E\n",
    "| xargs ",
    "-I{} ",
    "sh -c '",
    ">(sh) ",
    "> >(",
    "exec ",
    "3<<E\n",
    "<&3 ",
    "< <(",
    ". /dev/stdin ",
    "f ",
    "f() { sh; }; ",
    "cat ",
    "tee ",
    "{ cat; } ",
    "env ",
    "&> f ",
    "${v@P}",
    "${v:=",
    "<<\\E\n",
    "<<-\"E\"\n\t",
    "case ",
    "esac|sh",
    "|& ",
    "!(",
    "\\\n",
    "elif ",
    "else ",
    "until true; do ",
    "coproc ",
    "wait ",
    "shift;",
    "set -- ",
    "[ -v ",
    "$(<",
    "v={{x}}; ",
    "w=v; ",
    "let v",
    "[[ v -eq 1 ]]",
    "'a[v]'",
    "a[v]",
    "{a[v]}>f ",
    "RANDOM=",
    "w",
    "~",
    "#",
    "é",
];

/// Checks a random command: if it is accepted, no value runs.
fn no_value_runs(pieces: &[usize]) {
    let text: String = pieces.iter().map(|at| PIECES[*at % PIECES.len()]).collect();
    if !text.contains("{{x}}") && !text.contains("{{l}}") {
        return;
    }
    let Ok(rewritten) = rewrite(&text, &known) else { return };
    for value in [
        "a[$(touch pwned)]",
        "$(touch pwned)",
        "'\";touch pwned;`touch pwned`",
        "x=a[$(touch pwned)]",
    ] {
        let filled = rewritten.fill(&|name| match name {
            "x" => Value::Scalar(Cow::Borrowed(value)),
            _ => Value::List(vec![Cow::Borrowed(value); value.len() % 3]),
        });
        for shell in ["bash", "dash"] {
            let sandbox = Sandbox::new();
            let limited = format!("ulimit -t 2; {}", filled.text);
            sandbox.run(shell, &limited, &filled.environment);
            let found = names(sandbox.0.path());
            assert!(!found.iter().any(|name| name == "pwned"), "{shell} ran {value:?} in {text:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn no_value_runs_in_any_command_that_is_accepted(pieces in proptest::collection::vec(0..1000_usize, 1..12)) {
        no_value_runs(&pieces);
    }
}

/// Commands by which bash runs the content of `v`, though they contain no `$v`.
const CALCULATED: &[&str] = &[
    "[[ v -eq 1 ]]",
    "[[ 1 -gt 'v' ]]",
    "(( v ))",
    "(( \"v\" ))",
    "echo $((v)) $[v]",
    "let v",
    "let 'w = v'",
    "let \\v",
    "declare -i w=v",
    "typeset -i w='v'",
    "f() { local -i w=v; }; f",
    "declare -i w; w+=v",
    "declare -i w; printf -v w %s v",
    "declare -i w; for w in v; do :; done",
    "declare -i w; : ${w:=v}",
    "declare -ia w=(v)",
    "declare -a w='([v]=1)'",
    "declare 'w[v]=1'",
    "declare -n r='w[v]'; echo $r",
    "RANDOM=v",
    "SRANDOM=v",
    "HISTCMD=v",
    "OPTIND=v",
    "w[v]=1",
    "w[\"v\"]=1",
    "w=([v]=1)",
    "echo ${w[v]}",
    "echo \"${w[\"v\"]}\"",
    "w=abc; echo ${w:v}",
    "w=abc; echo ${w:1:\"v\"}",
    "test -v 'w[v]'",
    "[ -v w[v] ]",
    "[[ -v 'w[v]' ]]",
    "printf -v 'w[v]' 1",
    "printf -vw[v] 1",
    "w=(1); unset 'w[v]'",
    "read 'w[v]' <<< 1",
    "true & wait -n -p 'w[v]'",
    "exec {w[v]}>/dev/null",
    "w='u[v]'; echo ${!w}",
    "w=v; (( w ))",
    "u=v; w=u; [[ $w -eq 1 ]]",
    "printf -v w %s v; (( w ))",
];

#[test]
fn a_value_is_refused_if_bash_would_evaluate_its_variables_name_in_arithmetic() {
    for command in CALCULATED {
        let sandbox = Sandbox::new();
        let value = ("v".to_owned(), "a[$(touch pwned)]".to_owned());
        sandbox.run("bash", command, &[value]);
        assert!(!sandbox.is_untouched(), "bash does not run the value in {command}");
        let template = format!("v={{{{x}}}}; {command}");
        let refused = rewrite(&template, &known).expect_err(command);
        assert!(matches!(refused.problem, Problem::EvaluatedAgain { .. }), "{command}: {refused}");
        let path = format!("v=${{TOOL_INPUT.x}}; {command}");
        let refused = CommandText::new(&path).expect_err(command);
        assert!(matches!(refused, TextError::EvaluatedAgain { .. }), "{command}: {refused}");
    }
}
