use super::*;

fn known(name: &str) -> Reference {
    match name {
        "x" | "y" | "a.b" => Reference::Scalar,
        "files" => Reference::List,
        _ => Reference::Unknown,
    }
}

#[test]
fn a_reference_is_written_according_to_its_place() {
    for (text, expected) in [
        ("echo {{x}}", "echo \"${HOOKWRIGHT_REF_T1}\""),
        ("echo \"a {{x}}\"", "echo \"a ${HOOKWRIGHT_REF_T1}\""),
        ("echo 'a {{x}}'", "echo 'a '\"${HOOKWRIGHT_REF_T1}\"''"),
        ("cat <<E\n{{x}}\nE", "cat <<E\n${HOOKWRIGHT_REF_T1}\nE"),
        (
            "echo {{x}} {{y}} \"{{x}}\"",
            "echo \"${HOOKWRIGHT_REF_T1}\" \"${HOOKWRIGHT_REF_T2}\" \"${HOOKWRIGHT_REF_T1}\"",
        ),
        ("echo \"{{files}}\"", "echo \"${HOOKWRIGHT_REF_T1}\""),
        ("echo {{a.b}}", "echo \"${HOOKWRIGHT_REF_T1}\""),
        ("echo {{nobody}} {{ x }} {{}} '{{", "echo {{nobody}} {{ x }} {{}} '{{"),
    ] {
        let rewritten = rewrite(text, &known).expect(text);
        assert_eq!(rewritten.text(), Some(expected));
    }
}

#[test]
fn a_list_becomes_one_reference_per_element() {
    let rewritten = rewrite("rm -- {{files}} a{{files}} '{{files}}'", &known).expect("it fits");
    assert_eq!(rewritten.text(), None);
    let none = rewritten.fill(&|_| Value::List(vec![]));
    assert_eq!(none.text, "rm --  a\"\" ''\"${HOOKWRIGHT_REF_T1}\"''");
    assert_eq!(none.environment, [("HOOKWRIGHT_REF_T1".to_owned(), String::new())]);
    let two = rewritten.fill(&|_| Value::List(vec!["a b".into(), "c".into()]));
    let words = "\"${HOOKWRIGHT_REF_T1_1}\" \"${HOOKWRIGHT_REF_T1_2}\"";
    assert_eq!(two.text, format!("rm -- {words} a{words} ''\"${{HOOKWRIGHT_REF_T1}}\"''"));
    let expected = [
        ("HOOKWRIGHT_REF_T1", "a b c"),
        ("HOOKWRIGHT_REF_T1_1", "a b"),
        ("HOOKWRIGHT_REF_T1_2", "c"),
    ];
    assert_eq!(two.environment, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[test]
fn a_list_is_refused_if_its_first_elements_could_be_options_that_run_the_others() {
    for text in [
        "sh {{files}}",
        "sudo bash -e {{files}}",
        "python3 -W ignore {{files}}",
        "env A=b {{files}}",
        "sudo -u me {{files}}",
        "timeout 5 {{files}}",
        "find . -name x {{files}}",
        "somehow sh {{files}}",
        "docker run image {{files}}",
        "\"${SHELL:-sh}\" {{files}}",
    ] {
        let error = rewrite(text, &known).expect_err(text);
        assert_eq!(error.problem.fix(), Some(Fix::Argument), "{text}");
    }
    for text in [
        "sh lint.sh {{files}}",
        "sudo -u me rm -- {{files}}",
        "python3 -m black {{files}}",
        "timeout 5 rustfmt {{files}}",
        "docker run image lint {{files}}",
        "git add {{files}}",
        "$HOME/bin/lint {{files}}",
        "$HOME/bin/notify {{x}} {{y}}",
        "sh \"{{files}}\"",
        "env {{x}}",
    ] {
        assert!(rewrite(text, &known).is_ok(), "{text}");
    }
}

#[test]
fn a_place_that_cannot_be_right_is_refused_with_the_fix() {
    for (text, fix) in [
        ("cat <<'E'\n{{x}}\nE", Fix::UnquotedDelimiter),
        ("echo $'{{x}}'", Fix::DoubleQuotes),
        ("echo `echo \\`echo {{x}}\\``", Fix::DollarBrackets),
        ("echo # {{x}}", Fix::NoComment),
        ("echo \"\\{{x}}\"", Fix::DoubledBackslash),
        ("echo ${{x}}", Fix::EscapedDollar),
        ("echo \"${v/a/{{x}}}\"", Fix::AssignFirst),
        ("echo $(( {{x}} + 1 ))", Fix::TestOrExpr),
        ("let y={{x}}", Fix::TestOrExpr),
        ("[[ {{x}} -gt 3 ]]", Fix::SingleBrackets),
        ("a[{{x}}]=1", Fix::FixedNames),
        ("echo ${{{x}}}", Fix::EscapedDollar),
        ("declare -i n={{x}}", Fix::AssignFirst),
        ("eval \"echo {{x}}\"", Fix::AssignFirst),
        ("trap 'echo {{x}}' EXIT", Fix::AssignFirst),
        ("bash -c 'echo {{x}}'", Fix::Argument),
        ("{{files}} eval {{x}}", Fix::NamedCommand),
        ("echo ${v:-{{files}}}", Fix::AssignFirst),
        ("x={{x}}; eval \"$x\"", Fix::AssignFirst),
        ("echo ${v:={{x}}}${v@P}", Fix::FixedNames),
        ("sh <<E\necho {{x}}\nE", Fix::Argument),
        ("while true; do echo {{x}}; done | sh", Fix::Argument),
    ] {
        let error = rewrite(text, &known).expect_err(text);
        let expected = if text.contains("${{{") { Some(Fix::FixedNames) } else { Some(fix) };
        assert_eq!(error.problem.fix(), expected, "{text}");
        assert!(text[error.at].starts_with("{{"), "{text}");
    }
}

#[test]
fn an_unparsable_command_is_refused_with_the_place_of_the_error() {
    let error = rewrite("echo {{x}} 'it", &known).expect_err("no closing quote");
    assert_eq!(error.at, 11..12);
    assert_eq!(error.to_string(), "this command can't be read: `'` is never closed");
}

#[test]
fn generated_names_never_collide_with_those_of_paths_in_the_same_text() {
    // Paths are replaced first: before that, no shell and no lexer could read the text.
    let text = "echo {{x}} \"${TOOL_INPUT.command}\" {{files}} '{{y}}'";
    let command = crate::template::CommandText::new(text).expect("it fits");
    let rewritten = rewrite(command.for_shell(), &known).expect("it fits");
    let paths = command.references().iter().map(|path| &path.generated);
    let templates = rewritten.references().iter().map(|template| &template.generated);
    let all: Vec<&String> = paths.chain(templates).collect();
    assert_eq!(
        all,
        ["HOOKWRIGHT_REF_1", "HOOKWRIGHT_REF_T1", "HOOKWRIGHT_REF_T2", "HOOKWRIGHT_REF_T3"]
    );
    assert_eq!(
        rewritten.fill(&|_| Value::List(vec!["a".into()])).text,
        "echo \"${HOOKWRIGHT_REF_T1}\" \"${HOOKWRIGHT_REF_1}\" \"${HOOKWRIGHT_REF_T2_1}\" \
         ''\"${HOOKWRIGHT_REF_T3}\"''"
    );
}
