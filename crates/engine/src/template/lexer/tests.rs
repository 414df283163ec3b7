use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

/// The places of every `@` in a text.
fn at_signs(text: &str) -> Result<Vec<ShellPlace>, LexError> {
    let ranges: Vec<_> = text.match_indices('@').map(|(at, _)| at..at + 1).collect();
    places(text, &ranges)
}

fn quoting(text: &str) -> Quoting {
    let places = at_signs(text).unwrap_or_else(|error| panic!("{text}: {error} at {:?}", error.at));
    assert_eq!(places[0].evaluation, None, "{text}");
    places[0].quoting
}

fn evaluation(text: &str) -> Option<Evaluation> {
    let places = at_signs(text).unwrap_or_else(|error| panic!("{text}: {error} at {:?}", error.at));
    places[0].evaluation
}

#[test]
fn every_context_is_known() {
    use Quoting::*;
    for (text, expected) in [
        ("echo @", Bare),
        ("echo a@b", Bare),
        ("echo 'it' @", Bare),
        ("echo '@'", Single),
        ("echo \"@\"", Double),
        ("echo \"'@'\"", Double),
        ("echo '\"@\"'", Single),
        ("echo $\"@\"", Double),
        ("echo $'a\\'@'", AnsiC),
        ("echo \"$(echo @)\"", Bare),
        ("echo \"$(echo '@')\"", Single),
        ("echo \"$(echo \"@\")\"", Double),
        ("echo \"$(echo \"$(echo '\"' @)\")\"", Bare),
        ("echo \"a $(echo \")\" @ \")\") b\"", Bare),
        ("echo `echo @`", Bare),
        ("echo \"`echo '@'`\"", Single),
        ("echo `echo \\`echo @\\``", NestedBackticks),
        ("echo ${x:-@}", Bare),
        ("echo ${x:-'@'}", Single),
        ("${x:-declare -i @}", Disputed),
        ("sudo ${x:-sh -c ${y:-@}}", Disputed),
        ("v=${x:-a @}", Bare),
        ("echo ${x:-'a b'@}", Bare),
        ("echo \"${x:-@}\"", Double),
        ("echo \"${x:-'@'}\"", Double),
        ("echo \"${x:-\"}@\"}\"", Double),
        ("echo \"${x#@}\"", DoublePattern),
        ("echo \"${x#'@'}\"", Single),
        ("echo \"${x/a/@}\"", Disputed),
        ("echo ${x/a/@}", Disputed),
        ("echo ${@}", ParameterName),
        ("echo $@", AfterDollar),
        ("echo \\@", Escaped),
        ("echo \"\\@\"", Escaped),
        ("echo \\\\@", Bare),
        ("echo # it's @", Comment),
        ("# \"\necho @", Bare),
        ("echo a#@", Bare),
        ("cat <<E\n'@'\nE", HereDocument),
        ("cat <<'E'\n@\nE", QuotedHereDocument),
        ("cat <<\\E\n@\nE", QuotedHereDocument),
        ("cat <<E\"\"\n@\nE", QuotedHereDocument),
        ("cat <<-E\n\ta\n\tE\necho @", Bare),
        ("cat <<A <<'B'\n'\nA\n@\nB\n", QuotedHereDocument),
        ("cat <<'A' <<B\n'\nA\n\"@\nB\n", HereDocument),
        ("cat <<E\na\\\nE\n@\nE", HereDocument),
        ("cat <<E\n$(echo '@')\nE", Single),
        ("cat <<E\n${x:-@}\nE", Disputed),
        ("x=$(cat <<E\n(\nE\n) ; echo '@'", Single),
        ("x=$(case a in a) echo;; b|c) echo '@';; esac)", Single),
        ("x=$(case a in (a) echo '@';& *) esac); echo", Single),
        ("case @ in a) ;; esac", Bare),
        ("case a in @) ;; esac", Bare),
        ("case a in a) ;; esac; echo '@'", Single),
        ("[[ a == @ ]]", Bare),
        ("[[ a =~ (x @|'y') ]]", Bare),
        ("[[ a -eq 1 && @ == b ]]", Bare),
        ("[ @ -eq 3 ]", Bare),
        ("echo <(cat '@')", Single),
        ("cat < <(echo @) 2>&1", Bare),
        ("a=(b '@' # it's\n c)", Single),
        ("for ((i = 0; i < 3; i++)); do echo '@'; done", Single),
        ("f() { echo '@'; }", Single),
        ("function f() { echo '@'; }", Single),
        ("sh -c 'echo \"$1\"' sh @", Bare),
        ("bash script.sh -c @", Bare),
        ("bash \"$script\" @", Bare),
        ("echo eval @", Bare),
        ("cargo test @ &> log", Bare),
        ("cargo test &> log @", Bare),
        ("echo @ | sh script.sh", Bare),
        ("echo @ || sh", Bare),
        ("echo @ | grep node", Bare),
        ("echo @ | tee log; curl -s url | sh", Bare),
        ("{ echo @; }; cat script | sh", Bare),
        ("if true; then echo @; fi; echo a | sh", Bare),
        ("echo @ | while read -r l; do bash script.sh \"$l\"; done", Bare),
        ("cat <<E; sh < script\n@\nE", HereDocument),
        ("f() { sh script.sh; }; echo @ | f", Bare),
        ("echo @ > >(cat); echo a | sh", Bare),
        ("env > log; cat <<E\n@\nE", HereDocument),
        ("echo @ | xargs -n1 bash -c 'echo \"$1\"' _", Bare),
        ("echo @ | xargs -I{} rm -- {}", Bare),
        ("echo @ | ssh host 'cat >> log'", Bare),
        ("flock lock echo @", Bare),
        ("sudo -u me echo @", Bare),
        ("x=@; eval 'echo \"$x\"'; sh -c 'echo \"$1\"' sh \"$x\"; [ \"$x\" -gt 3 ]", Bare),
        ("x=@; (( ${#x} > 3 ))", Bare),
        ("n=$(grep -c a <<< @); (( n > 3 ))", Bare),
        ("n=`printf %s @ | wc -c`; [[ $n -gt 3 ]]", Bare),
        ("npm run watch @", Bare),
        ("python3 script.py @ <<E\nE", Bare),
        ("cat <<E | sh -c 'cat'\n@\nE", HereDocument),
        ("\"$HOME/bin/eval\" @", Bare),
        ("$HOME/bin/notify @", Bare),
        ("awk -v x=@ '{ print x }' @", Bare),
        ("export x=@", Bare),
        ("local -r x=\"@\"", Double),
        ("read -p @ answer", Bare),
        ("(( 1 )); echo @", Bare),
        ("x=$((1 + 2)) y=@", Bare),
        ("x[1]=2; echo @", Bare),
        ("printf %s @ > @", Bare),
    ] {
        assert_eq!(quoting(text), expected, "{text}");
    }
}

#[test]
fn places_that_the_shell_evaluates_again_are_found() {
    use Evaluation::*;
    for (text, expected) in [
        ("echo $(( @ + 1 ))", Arithmetic),
        ("(( '@' > 1 ))", Arithmetic),
        ("echo $[ @ ]", Arithmetic),
        ("echo $(( $(echo @) + 1 ))", Arithmetic),
        ("echo ${x:@}", Arithmetic),
        ("echo ${x:1:\"@\"}", Arithmetic),
        ("for ((i = @; ;)); do :; done", Arithmetic),
        ("[[ @ -eq 3 ]]", NumericTest),
        ("[[ ( 3 -lt \"@\" ) ]]", NumericTest),
        ("[[ -v @ ]]", VariableName),
        ("[ -v '@' ]", VariableName),
        ("echo ${a[@]}", Subscript),
        ("a[@]=1", Subscript),
        ("a[1 + @]=1", Subscript),
        ("a=([@]=1)", Subscript),
        ("exec {a[@]}>f", Subscript),
        ("{a[v]}>f v=@", Subscript),
        ("let @", Let),
        ("let \"x = @\"", Let),
        ("command let x=@", Let),
        ("eval echo \"@\"", Eval),
        ("x=1 'ev'al '@'", Eval),
        ("true &> f eval @", Eval),
        ("a &> f b &> f x=1 eval @", Eval),
        ("eval &> f @", Eval),
        ("true &> f v=@; eval \"$v\"", Eval),
        ("if \\eval @; then :; fi", Eval),
        ("{ eval @; }", Eval),
        ("x=$(eval \"$(echo @)\")", Eval),
        ("$nothing eval @", Eval),
        ("${prefix}eval @", Eval),
        ("${how:-eval} @", Eval),
        ("${v#eval }declare -i n; n=@", Declaration),
        ("alias x=@", Eval),
        ("PS4=@", Eval),
        ("trap 'rm @' EXIT", Trap),
        ("declare -i x=@", Declaration),
        ("declare @", Declaration),
        ("export \"@=x\"", Declaration),
        ("local -a x=@", Declaration),
        ("declare -i n; n=@", Declaration),
        ("f() { n=@; }; declare -i n; f", Declaration),
        ("declare -i n; for n in 1 @; do :; done", Declaration),
        ("eval declare -i n; n=@", Declaration),
        ("trap 'declare -i n' USR1; n=@", Declaration),
        ("printf -v @ x", VariableName),
        ("printf -v $v @", VariableName),
        ("sh -c $v @", Program),
        ("read @", VariableName),
        ("unset -v @", VariableName),
        ("getopts ab @", VariableName),
        ("sh -c @", Program),
        ("bash -o pipefail -ec \"echo @\"", Program),
        ("sudo -u me /bin/bash -lc 'echo @'", Program),
        ("find . -exec sh -c 'echo @' {} +", Program),
        ("\"$SHELL\" -c @", Program),
        ("sh @ @", Program),
        ("python3.11 -c 'print(\"@\")'", Program),
        ("perl -ne@", Program),
        ("awk '/@/'", Program),
        ("sed -n \"s/a/@/\"", Program),
        ("ssh host echo @", Program),
        ("bash <<< @", Program),
        ("sudo bash -s a <<E\necho @\nE", Program),
        ("python3 - <<E\nprint('@')\nE", Program),
        ("echo '@' | tr a b | sh", Program),
        ("sh <(echo @)", Program),
        (". <(echo @)", Program),
        ("source /dev/stdin <<< @", Program),
        ("{ echo @; } | bash", Program),
        ("{ cat <<E\n@\nE\n} | bash", Program),
        ("if true; then echo @; fi | sh", Program),
        ("while read -r l; do echo @; done < f | sh", Program),
        ("for v in @; do echo \"$v\"; done | tr a b | sh", Program),
        ("until false; do { echo @; }; break; done | sh -s", Program),
        ("case a in a) echo @;; esac | sh", Program),
        ("case @ in a) echo a;; esac | sh", Program),
        ("(echo @) | sh", Program),
        ("(if true; then echo @; fi) | sh", Program),
        ("cat <<E | sh\n@\nE", Program),
        ("cat <<A <<B | tee log | python3\n1\nA\n@\nB", Program),
        ("{ cat; } <<E | sh\n@\nE", Program),
        ("echo @ | { sh; }", Program),
        ("echo @ | (cd /tmp && bash)", Program),
        ("echo @ | while true; do sh; done", Program),
        ("{ sh; } <<E\n@\nE", Program),
        ("(bash) <<< @", Program),
        ("if true; then sh; fi < <(echo @)", Program),
        ("x=$(sh) <<< @; echo @ | echo $(bash)", Program),
        ("exec 3<<E\n@\nE\nsh <&3", Program),
        ("exec 3<<E\n@\nE\n. /dev/fd/3", Program),
        ("exec <<< @; bash", Program),
        ("echo @ > >(sh)", Program),
        ("echo @ | tee >(bash)", Program),
        ("f() { echo @; }; f | sh", Program),
        ("function f { sh; }; echo @ | f", Program),
        ("alias e=eval\ne @", Eval),
        ("x=@; eval \"$x\"", Eval),
        ("x=@; echo \"$x\" | sh", Program),
        ("x=@; { sh; } <<< \"$x\"", Program),
        ("x='@'; y=\"a $x\"; z=$y; sh -c \"$z\"", Program),
        ("export n=@; (( n > 3 ))", Arithmetic),
        ("for n in 1 @; do [[ $n -gt 3 ]]; done", NumericTest),
        ("v=@; echo \"${!v}\"", VariableName),
        ("eval \"$x\"; f() { x=@; }", Eval),
        ("x=$(y=@; eval \"$y\")", Eval),
        ("echo @ | \"$SHELL\"", Program),
        ("echo @ | ${SHELL:-sh}", Program),
        ("echo @ | $(command -v bash)", Program),
        ("ssh host 'bash -s' <<E\n@\nE", Program),
        ("ssh -T host bash <<E\n@\nE", Program),
        ("su somebody <<E\n@\nE", Program),
        ("flock /tmp/lock sh <<E\n@\nE", Program),
        ("docker exec -i box sh <<E\n@\nE", Program),
        ("echo @ | xargs -I{} sh -c 'echo {}'", Program),
        ("echo @ | xargs -n1 sh -c", Program),
        ("echo @ | sudo xargs bash", Program),
        ("echo @ | xargs ssh host", Program),
        ("echo \"* * * * * echo @\" | crontab -", Program),
        ("at now <<< @", Program),
        ("m4 <<< @", Program),
        ("psql db <<E\nselect '@'\nE", Program),
        ("psql -c \"select '@'\" db", Program),
        ("make release VERSION=@", Program),
        ("tmux display-message @", Program),
        ("deno eval \"console.log('@')\"", Program),
    ] {
        let places = at_signs(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(places.last().and_then(|place| place.evaluation), Some(expected), "{text}");
    }
    assert_eq!(evaluation("declare -i m; n=@"), None);
}

/// `n=@`, and then `n` by its name alone.
#[test]
fn a_name_without_a_dollar_is_followed_in_arithmetic() {
    use Evaluation::*;
    for (text, expected) in [
        ("[[ n -eq 1 ]]", NumericTest),
        ("[[ 1 -lt 'n' ]]", NumericTest),
        ("[[ ( \"n+1\" -ge 2 ) ]]", NumericTest),
        ("let n", Let),
        ("let 'm = n + 1'", Let),
        ("let m=1 \\n", Let),
        ("(( \"n\" > 1 ))", Arithmetic),
        ("echo $(( n ))", Arithmetic),
        ("echo ${v:n}", Arithmetic),
        ("echo ${v:1:\"n\"}", Arithmetic),
        ("echo \"${*:n}\"", Arithmetic),
        ("declare -i m=n", Declaration),
        ("typeset -xi m='n'", Declaration),
        ("f() { local -i m=\"n\"; }; f", Declaration),
        ("declare -i m; m+=n", Declaration),
        ("declare -i m; for m in 1 n; do :; done", Declaration),
        ("declare -i m; printf -v m %s n", Declaration),
        ("declare -i m; : ${m:=n}", Declaration),
        ("declare -ia m=(n)", Declaration),
        ("eval declare -i m; m=n", Declaration),
        ("declare -a m='([n]=1)'", Declaration),
        ("declare 'a[n]=1'", Declaration),
        ("declare -n r='a[n]'", Declaration),
        ("declare -n r; r='a[n]'; echo $r", Subscript),
        ("RANDOM=n", Declaration),
        ("OPTIND=n", Declaration),
        ("a[n]=1", Subscript),
        ("a[\"n\"]=1", Subscript),
        ("a=([n]=1)", Subscript),
        ("a+=([1+n]=1)", Subscript),
        ("echo ${a[n]}", Subscript),
        ("test -v 'a[n]'", Subscript),
        ("[ -v a[n] ]", Subscript),
        ("[[ -v 'a[n]' ]]", Subscript),
        ("printf -v 'a[n]' x", Subscript),
        ("printf -va[n] x", Subscript),
        ("unset 'a[n]' b", Subscript),
        ("read -r \"a[n]\"", Subscript),
        ("wait -n -p 'a[n]'", Subscript),
        ("exec {a[n]}>f", Subscript),
        ("{a[n]}>f n=1", Subscript),
        ("v='a[n]'; echo ${!v}", Subscript),
        // The content of a variable is calculated too.
        ("m=n; (( m ))", Arithmetic),
        ("m='n * 2'; [[ $m -gt 1 ]]", NumericTest),
        ("l=m; m=n; let l", Let),
        ("m=(n); (( m ))", Arithmetic),
        ("m=${1:-n}; (( m ))", Arithmetic),
        // Another reason to run it makes it no better.
        ("eval \"$n\"; [[ n -eq 1 ]]", NumericTest),
        ("[[ n -eq 1 ]]; eval \"$n\"", NumericTest),
        ("f() { sh; }; [[ n -eq 1 ]]", NumericTest),
    ] {
        for text in [format!("n=@; {text}"), format!("printf -v n %s '@'; {text}")] {
            let places = at_signs(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(places[0].evaluation, Some(expected), "{text}");
        }
    }
}

#[test]
fn a_word_that_is_not_a_name_is_not_mistaken_for_one() {
    for text in [
        "[[ ${#n} -gt 3 && n == m ]]",
        "[ n -eq 1 ]; test 1 -lt n",
        "declare -a m=(n); declare -A k; m='[n]'",
        "declare -i m=1; k=n",
        "[[ -v n ]]; unset n; read n; printf -v m '[n] %s' 1",
        "m=$(grep -c n <<< \"$n\"); (( m > 3 )); declare -i k=$(wc -l n)",
        "m=`tr n m`; (( m ))",
        "m=n; echo \"$m\"; v=n; echo ${!v}",
        "(( 16#n + 0n )); echo ${v/n/m} ${v%n} ${v:-n}",
        "let m=1; echo '[[ n -eq 1 ]]' # let n",
        "m=n; sh -c 'echo $1' sh \"$m\"",
    ] {
        let text = format!("n=@; {text}");
        assert_eq!(evaluation(&text), None, "{text}");
    }
}

#[test]
fn places_at_which_words_are_split_are_found() {
    for (text, expected) in [
        ("echo @", true),
        ("x=@", false),
        ("x=$(echo @)", true),
        ("export x=@", false),
        ("echo x=@", true),
        ("for v in @; do :; done", true),
        ("case @ in a) ;; esac", false),
        ("[[ @ = b ]]", false),
        ("echo > @", false),
        ("echo > $(echo @)", true),
        ("cat <<< @", false),
        ("a=(@)", true),
    ] {
        assert_eq!(at_signs(text).expect(text)[0].splits, expected, "{text}");
    }
}

#[test]
fn text_that_cannot_be_parsed_is_an_error_with_its_range() {
    for (text, trouble, at) in [
        ("echo 'a", Trouble::Unterminated("'"), 5..6),
        ("echo \"a", Trouble::Unterminated("\""), 5..6),
        ("echo `a", Trouble::Unterminated("`"), 5..6),
        ("echo $(a", Trouble::Unterminated("("), 6..7),
        ("echo ${a", Trouble::Unterminated("${"), 5..6),
        ("echo $((a", Trouble::Unterminated("(("), 5..6),
        ("echo $((a); b)", Trouble::TwoParentheses, 5..6),
        ("((a); b)", Trouble::TwoParentheses, 0..1),
        ("echo a)", Trouble::Unexpected, 6..7),
        ("a;;", Trouble::Unexpected, 2..3),
        ("cat <<E", Trouble::HereDocument, 4..7),
        ("cat <<E\na", Trouble::Unterminated("<<"), 4..7),
        ("x=$(cat <<E)\na\nE", Trouble::HereDocument, 8..11),
        ("case a in b) c", Trouble::Unterminated("case"), 11..12),
        ("[[ a", Trouble::Unterminated("[["), 0..1),
        ("coproc x", Trouble::Unexpected, 0..1),
        ("for $x in a; do :; done", Trouble::Unexpected, 4..5),
        ("echo ${ a; }", Trouble::Unexpected, 5..6),
    ] {
        assert_eq!(places(text, &[]), Err(LexError { trouble, at }), "{text}");
    }
    let deep = "$(".repeat(100);
    assert_eq!(places(&deep, &[]).expect_err("too deep").trouble, Trouble::TooDeep);
}

#[test]
fn a_long_repetitive_text_is_read_to_its_end() {
    let repeated = [
        "((",
        "$(a ",
        "x=$y ",
        "unset $a ",
        "sh $a ",
        "<<E ",
        "a[1]=$b;",
        "\"`'",
        "env -S $x ",
        "x=$x;((x));",
        "x=y;[[ x -eq y ]];",
        "a[x]=x;let x;",
        "a &>f $x ",
        "[[ $(x) -eq $(x) ]];",
        "declare -i x=$(x) y;",
    ];
    for piece in repeated {
        let text = piece.repeat(200_000 / piece.len());
        // With quadratic time these would not finish.
        assert_eq!(variables(&text).is_ok(), places(&text, &[]).is_ok(), "{piece}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}", noise in "[ \n'\"$`\\\\(){}<>|&;#@=a\\[\\]!-]{0,80}") {
        for text in [text, noise] {
            let asked = text.match_indices('@').count();
            if let Ok(places) = at_signs(&text) {
                prop_assert_eq!(places.len(), asked);
            }
            let _ = variables(&text);
        }
    }

    #[test]
    fn no_command_of_shell_words_makes_it_panic(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "case", "in", "esac", ";;", "for", "do", "(", ")", "((", "))", "[[", "]]", "=~", "<<E", "\n", "E",
            "$(", "`", "\"", "'", "${x:-", "}", "@", "a[", "]=", "declare", "-i", "read", "sh", "-c", "sed", "printf",
            "-v", "-eq", "let", "RANDOM=", "a[x]", "unset", "function", "time", "!", "é", "\\", "-", "eval", "a=(", "|", "<<E bash ", "case b in b) ", ";; esac", "{fd}>", "&>", "x", " ", " ",
        ]), 0..20)
    ) {
        let text = words.concat();
        let asked = text.match_indices('@').count();
        if let Ok(places) = at_signs(&text) {
            prop_assert_eq!(places.len(), asked);
        }
        let _ = variables(&text);
    }
}
