//! The documentation is true: transcripts are replayed, reference pages are generated from the
//! code. `HOOKWRIGHT_UPDATE=1` rewrites stale pages and transcripts.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use hookwright_dialects::hosts::claude::capabilities;
use hookwright_dialects::hosts::{self, capability_table};
use hookwright_engine::limits;
use hookwright_engine::variables::{MADE_BY_THE_ENGINE, is_free_text};
use hookwright_events::field::{self, FIELDS};
use hookwright_events::table::EVENTS;
use hookwright_events::{EventSpec, Power};

use crate::sessions::without_times;
use crate::support::{Sandbox, examples, repository};

#[test]
fn every_example_does_what_its_transcript_shows() {
    let examples = examples();
    assert!(examples.len() >= 5, "{examples:?}");
    for example in examples {
        let sandbox = Sandbox::new();
        copy(&example, &sandbox.path("."));
        let page = example.join("transcript.console");
        let written = fs::read_to_string(&page).unwrap_or_default();
        let commands: Vec<&str> =
            written.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
        assert!(!commands.is_empty(), "{} has no transcript", example.display());
        let replayed: Vec<String> =
            commands.iter().map(|command| replay(&sandbox, command)).collect();
        up_to_date(&page, &replayed.join("\n"));
    }
}

#[test]
fn the_readme_shows_what_happens() {
    let sandbox = Sandbox::new();
    copy(&repository().join("examples"), &sandbox.path("examples"));
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let shown = blocks(&readme, "console");
    assert_eq!(shown.len(), 1);
    for block in shown {
        assert_eq!(replay_all(&sandbox, block), timeless(block));
    }
    let config =
        fs::read_to_string(repository().join("examples/block-sudo/hookwright.yaml")).unwrap();
    let shown = blocks(&readme, "yaml")[0].replace("# hookwright.yaml\n", "");
    assert!(config.trim_end().ends_with(&shown), "the README shows another file than the example");
    // The command that a newcomer types works, and prints the tour's transcript.
    let typed = blocks(&readme, "sh")[0].lines().next().unwrap().to_owned();
    let typed = typed.replace("cargo run --release -- ", "hookwright ");
    let replayed = replay(&sandbox, &format!("{typed} --session tour"));
    let transcript = repository().join("examples/tour/transcript.console");
    let transcript = fs::read_to_string(transcript).unwrap();
    let lines = |text: &str| -> Vec<String> {
        let kept = |line: &&str| !line.starts_with("$ ") && !line.contains("files: ");
        text.lines().filter(kept).map(str::to_owned).collect()
    };
    let tour = transcript.split("\n\n").nth(1).unwrap();
    assert_eq!(lines(&replayed), lines(tour));
}

#[test]
fn the_tutorial_shows_what_happens() {
    let tutorial = fs::read_to_string(repository().join("docs/tutorial.md")).unwrap();
    let sandbox = Sandbox::with_hooks(blocks(&tutorial, "yaml")[0]);
    let shown = blocks(&tutorial, "console");
    assert_eq!(shown.len(), 3);
    for block in shown {
        assert_eq!(replay_all(&sandbox, block), timeless(block));
    }
}

#[test]
fn the_page_on_testing_shows_what_happens() {
    let page = fs::read_to_string(repository().join("docs/testing.md")).unwrap();
    let [hooks, cases, steps] = blocks(&page, "yaml")[..] else { panic!("three files") };
    let sandbox = Sandbox::with_hooks(hooks).file("hookwright.test.yaml", cases);
    let ran = sandbox.run(&["test"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let shown = blocks(&page, "console");
    assert_eq!(shown.len(), 2);
    for block in shown {
        assert_eq!(replay_all(&sandbox, block), timeless(block));
    }
    let sandbox = Sandbox::with_hooks(hooks).file("hookwright.test.yaml", steps);
    let ran = sandbox.run(&["test"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn the_page_on_sessions_shows_what_happens() {
    let page = fs::read_to_string(repository().join("docs/sessions.md")).unwrap();
    let [agents_loop, turns] = blocks(&page, "yaml")[..] else { panic!("two files") };
    let sandbox = Sandbox::new().file("loop.yaml", agents_loop).file("turns.yaml", turns);
    let ran = sandbox.run(&["run", "loop.yaml", "--session", "first"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    let shown = blocks(&page, "console");
    assert_eq!(shown.len(), 3);
    for block in shown {
        let replayed = replay_all(&sandbox, block);
        assert_eq!(without_times(&replayed), without_times(&timeless(block)));
    }
}

#[test]
fn the_page_on_running_shows_what_happens() {
    let page = fs::read_to_string(repository().join("docs/running.md")).unwrap();
    let [turns, work, pipeline, spawning] = blocks(&page, "yaml")[..] else { panic!("four files") };
    let sandbox = Sandbox::new()
        .file("turns.yaml", turns)
        .file("loops/work.yaml", work)
        .file("pipeline.yaml", pipeline);
    let shown = blocks(&page, "console");
    assert_eq!(shown.len(), 1);
    assert_eq!(replay_all(&sandbox, shown[0]), timeless(shown[0]));
    let ran = sandbox.run(&["check", "pipeline.yaml", "loops/work.yaml"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = sandbox.run(&["run", "pipeline.yaml"]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("stage 2 work: completed after 2 iterations"), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(sandbox.path("hello.txt")).unwrap(), "hello\n");
    let sandbox = Sandbox::with_hooks(spawning)
        .file("loops/comprehensive-review.yaml", "prompt: '${INPUTS.all_outputs}'\n");
    let ran = sandbox.run(&["check", "--strict"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn the_page_on_claude_code_shows_what_happens() {
    let path = repository().join("docs/claude-code.md");
    let page = fs::read_to_string(&path).unwrap();
    let [hooks] = blocks(&page, "yaml")[..] else { panic!("one file") };
    let [shown] = blocks(&page, "console")[..] else { panic!("one example") };
    assert_eq!(replay_all(&Sandbox::with_hooks(hooks), shown), shown);
    let (before, rest) = page.split_once("docs -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- the end of").unwrap();
    let table = capability_table(capabilities::ALL);
    up_to_date(&path, &format!("{before}docs -->\n\n{table}\n<!-- the end of{after}"));
}

#[test]
fn every_configuration_in_the_documentation_is_valid() {
    let page = fs::read_to_string(repository().join("docs/configuration.md")).unwrap();
    let whole: Vec<&str> =
        blocks(&page, "yaml").into_iter().filter(|block| block.contains("hooks:")).collect();
    assert!(!whole.is_empty());
    for block in whole {
        let sandbox = Sandbox::with_hooks(block).program("guards/no-sudo.sh", "#!/bin/sh\n");
        let ran = sandbox.run(&["check", "--strict"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let conditions = blocks(&page, "yaml").into_iter().filter(|block| block.starts_with("when:"));
    for line in conditions.flat_map(str::lines) {
        let hooks = format!("hooks:\n  Stop:\n    - command: x\n      {line}\n");
        let ran = Sandbox::with_hooks(&hooks).run(&["check"]);
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
    }
}

/// A heading as an anchor.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = |c: char| c.is_alphanumeric() || c == ' ' || c == '-' || c == '_';
    Some(heading.to_lowercase().chars().filter(|c| kept(*c)).collect::<String>().replace(' ', "-"))
}

#[test]
fn every_file_that_a_page_names_is_there() {
    let mut pages = vec![repository().join("README.md"), repository().join("CONTRIBUTING.md")];
    pages.push(repository().join("ARCHITECTURE.md"));
    for folder in ["docs", "docs/decisions", "docs/reference"] {
        let entries = fs::read_dir(repository().join(folder)).unwrap();
        pages.extend(entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()));
    }
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let beside = page.parent().unwrap().join(file);
            let target = if file.is_empty() { &page } else { &beside };
            assert!(target.exists(), "{} links to {link}", page.display());
            if !heading.is_empty() {
                let text = fs::read_to_string(target).unwrap();
                let is_there = text.lines().any(|line| anchor(line).as_deref() == Some(heading));
                assert!(is_there, "{} links to {link}", page.display());
            }
        }
        // Paths in backquotes, relative to the repository.
        for word in
            text.split('`').filter(|word| word.starts_with("docs/") || word.starts_with("crates/"))
        {
            let path = word.split_whitespace().next().unwrap();
            assert!(repository().join(path).exists(), "{} names {path}", page.display());
        }
    }
}

// Conformance: code-forge-006
#[test]
fn the_reference_pages_are_made_from_the_code() {
    let reference = repository().join("docs/reference");
    up_to_date(&reference.join("events.md"), &events_page());
    up_to_date(&reference.join("variables.md"), &variables_page());
    up_to_date(&reference.join("commands.md"), &commands_page());
    let schema = Sandbox::new().run(&["schema"]).stdout;
    up_to_date(&repository().join("schema/hookwright.schema.json"), &schema);
    let schema = Sandbox::new().run(&["schema", "--tests"]).stdout;
    up_to_date(&repository().join("schema/hookwright.test.schema.json"), &schema);
}

fn events_page() -> String {
    let mut page = String::from(
        "# Events\n\nGenerated from `crates/events/src/table.rs`. A configuration may use the name or \
         any alias, exactly as written.\n\n| event | aliases | when | a block | subject |\n|---|---|---|---|---|\n",
    );
    for event in EVENTS {
        let aliases: Vec<String> =
            event.aliases.iter().map(|alias| format!("`{}`", alias.name)).collect();
        let block = match event.power {
            Power::Observes => "no",
            _ => event.block_does.unwrap_or("yes"),
        };
        let subject = event.subject.map(|subject| format!("`{subject}`")).unwrap_or_default();
        writeln!(
            page,
            "| `{}` | {} | {} | {block} | {subject} |",
            event.name,
            aliases.join(", "),
            event.when
        )
        .unwrap();
    }
    page.push_str(
        "\nAt `session:stop`, `agent:stop`, `agent:idle` and `task:complete` a hook can block on purpose, \
         but a broken hook does not. `on_session_complete` runs only for the reasons `completed` and \
         `max_iterations`.\n\n## What fires them\n\n`hookwright fire` can fire every event. `hookwright hook \
         AGENT` fires those that its agent tells of, for hooks in that agent. In a loop or pipeline, \
         `agent: builtin` fires the events of `hookwright agent`, but `agent:start` and `agent:stop` in \
         place of those of a session.\n\n| event | fired by |\n|---|---|\n",
    );
    for event in EVENTS {
        let in_hosts =
            hosts::all().iter().filter(|host| host.sends(event)).map(|host| host.command);
        let fired_by: Vec<&str> = event.fired_by.iter().copied().chain(in_hosts).collect();
        let shown = fired_by.iter().map(|source| match source.starts_with("hookwright ") {
            true => format!("`{source}`"),
            false => (*source).to_owned(),
        });
        let shown: Vec<String> = shown.collect();
        writeln!(page, "| `{}` | {} |", event.name, shown.join(", ")).unwrap();
    }
    page.push_str("\n## Data\n\nFields that every event may carry: ");
    let everywhere: Vec<String> =
        field::COMMON_FIELDS.iter().map(|name| format!("`{name}`")).collect();
    writeln!(
        page,
        "{}. The field `host` also says what fired the event: `run` for a session of `hookwright run`, \
         `claude` inside Claude Code. A hook selects with its own field `host`; there is no variable of that \
         name, because shells have one.\n\n| event | its own fields |\n|---|---|",
        everywhere.join(", ")
    )
    .unwrap();
    for EventSpec { name, fields, .. } in EVENTS.iter().filter(|event| !event.fields.is_empty()) {
        let fields: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
        writeln!(page, "| `{name}` | {} |", fields.join(", ")).unwrap();
    }
    page
}

fn variables_page() -> String {
    let yes = |is: bool| if is { "yes" } else { "" };
    let mut page = String::from(
        "# Variables\n\nGenerated from `crates/events/src/field.rs`. Every variable also exists with the prefix \
         `HOOKWRIGHT_`. A field of this table is a variable if the event has it; other fields are only in \
         the JSON. Case and underscores of a field's name never matter: \
         `toolName` is `tool_name`. Free text may be anything: put the variable in double quotes, and never \
         where a shell evaluates it again; `hookwright check` warns about both.\n\n| variable | field | also accepted as | meaning | free text |\n|---|---|---|---|---|\n",
    );
    for field in FIELDS {
        let aliases: Vec<String> = field.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        writeln!(
            page,
            "| `{}` | `{}` | {} | {} | {} |",
            field.variable(),
            field.name,
            aliases.join(", "),
            field.meaning,
            yes(field.is_free_text)
        )
        .unwrap();
    }
    for (name, meaning) in MADE_BY_THE_ENGINE {
        writeln!(page, "| `{name}` | | | {meaning} | {} |", yes(is_free_text(name))).unwrap();
    }
    writeln!(
        page,
        "\nA command also has `HOOKWRIGHT_HOOK` (its id), `HOOKWRIGHT_ATTEMPT` (1, 2, …), `HOOKWRIGHT_CHAIN` \
         (the hooks above it) and `HOOKWRIGHT_RUN` (the marker of its run), and in a session \
         `HOOKWRIGHT_BIN` (this program) and `HOOKWRIGHT_PROJECT` (the project's folder). A value over {} KiB, one with a \
         NUL byte, or the largest values if all together exceed {} KiB, are in a file that `<NAME>_FILE` names.",
        limits::ENV_VALUE_BYTES_MAX / 1024,
        limits::ENV_TOTAL_BYTES_MAX / 1024
    )
    .unwrap();
    page
}

fn commands_page() -> String {
    let sandbox = Sandbox::new();
    let mut page = String::from("# Commands\n\nThe output of `--help`, and the exit codes.\n");
    let commands = [
        "run",
        "agent",
        "resume",
        "status",
        "stop",
        "sessions list",
        "sessions show",
        "sessions log",
        "sessions current",
        "sessions prune",
        "task add",
        "task list",
        "task done",
        "task update",
        "serve",
        "approvals",
        "approve",
        "reject",
        "reopen",
        "project confirm",
        "fire",
        "hook",
        "doctor",
        "explain",
        "test",
        "check",
        "list",
        "connect",
        "doctor",
        "trust",
        "events",
        "import",
        "init",
        "template",
        "config set-auto-commit",
        "config set-auto-push",
        "worker",
        "workers",
        "store init",
        "store check",
        "store upgrade",
        "store move",
        "schema",
        "completions",
    ];
    let listed = sandbox.run(&["help"]).stdout;
    let listed = listed.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    for (name, _) in listed.filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase())) {
        let is_here = |command: &str| command.split(' ').next() == Some(name);
        assert!(name.is_empty() || name == "help" || commands.into_iter().any(is_here), "{name}");
    }
    for command in commands {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = sandbox.run(&words).stdout;
        let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
        write!(page, "\n## {command}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()).unwrap();
    }
    page.push_str("\n## Exit codes\n\n| code | meaning |\n|---|---|\n");
    let codes = fs::read_to_string(repository().join("crates/cli/src/exit_code.rs")).unwrap();
    let mut sentence = String::new();
    for line in codes.lines() {
        if let Some(said) = line.strip_prefix("/// ") {
            sentence = format!("{sentence} {said}").trim().to_owned();
        } else if let Some((_, code)) = line.split_once(": u8 = ") {
            writeln!(
                page,
                "| {} | {} |",
                code.trim_end_matches(';'),
                std::mem::take(&mut sentence)
            )
            .unwrap();
        }
    }
    page
}

/// Compares a page with its expected text, or writes it.
pub(crate) fn up_to_date(page: &Path, wanted: &str) {
    if std::env::var_os("HOOKWRIGHT_UPDATE").is_some() {
        fs::create_dir_all(page.parent().unwrap()).unwrap();
        return fs::write(page, wanted).unwrap();
    }
    let written = fs::read_to_string(page).unwrap_or_default();
    assert_eq!(written, wanted, "{} is stale; HOOKWRIGHT_UPDATE=1 writes it anew", page.display());
}

/// The fenced blocks of one language.
pub(crate) fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    page.split("\n```").filter_map(|part| part.strip_prefix(language)?.strip_prefix('\n')).collect()
}

fn replay_all(sandbox: &Sandbox, block: &str) -> String {
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    let replayed: Vec<String> = commands.map(|command| replay(sandbox, command)).collect();
    let whole = replayed.join("\n");
    whole.trim_end_matches('\n').to_owned()
}

/// A command and its output, with its exit code if it is not 0.
fn replay(sandbox: &Sandbox, command: &str) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_hookwright")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1; {command}")])
        .current_dir(sandbox.path("."))
        .env_clear()
        .env("HOME", sandbox.path(".."))
        .env("PATH", format!("{}:{path}", binary.display()))
        .output()
        .unwrap();
    let mut text = format!("$ {command}\n{}", timeless(&String::from_utf8(output.stdout).unwrap()));
    match output.status.code() {
        Some(0) => {}
        code => text.push_str(&format!("exit {}\n", code.unwrap_or(-1))),
    }
    text
}

/// The text with every duration as `Nms`, at the same width: `  12ms` is `   Nms`.
pub(crate) fn timeless(text: &str) -> String {
    let mut timeless = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let line = &without_question(&without_seconds(line));
        let Some((start, end)) = duration_in(line) else {
            timeless.push_str(line);
            continue;
        };
        let padding = (end - start).saturating_sub("Nms".len());
        timeless.push_str(&line[..start]);
        timeless.extend(std::iter::repeat_n(' ', padding));
        timeless.push_str("Nms");
        timeless.push_str(&line[end..]);
    }
    timeless
}

/// A session's durations, `after 0.1 s` and `, 0.1 s`, as `N s`; those of work items, `after 12ms`,
/// as `Nms`.
fn without_seconds(line: &str) -> String {
    let mut words: Vec<Cow<'_, str>> = line.split(' ').map(Cow::Borrowed).collect();
    for at in 1..words.len() {
        let word = words[at].trim_end_matches([',', ':', '\n']).to_owned();
        let is_number = words[at - 1].parse::<f64>().is_ok() && words[at - 1].contains('.');
        if is_number && word == "s" {
            words[at - 1] = "N".into();
        }
        let number = word.strip_suffix("ms").or(word.strip_suffix('s'));
        if words[at - 1] == "after" && number.is_some_and(|it| it.parse::<f64>().is_ok()) {
            words[at] = format!("Nms{}", &words[at][word.len()..]).into();
        }
    }
    words.join(" ")
}

/// `2026-01-02 03:04:05` as `TIME`.
fn one_word_moments(line: &str) -> String {
    let is_like = |word: &str, pattern: &str| {
        word.len() == pattern.len()
            && word.chars().zip(pattern.chars()).all(|(letter, like)| match like {
                '0' => letter.is_ascii_digit(),
                other => letter == other,
            })
    };
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        let plain = word.trim_end_matches([',', '\n']);
        match words.last_mut() {
            Some(date) if is_like(date, "0000-00-00") && is_like(plain, "00:00:00") => {
                *date = format!("TIME{}", &word[plain.len()..]);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words.join(" ")
}

/// A question without what differs every time: times, address and id.
fn without_question(line: &str) -> String {
    let line = &one_word_moments(line);
    let mut after = "";
    let shown = |word: &'static str, rest: &str| format!("{word}{rest}");
    let words = line.split(' ').map(|word| {
        let (before, plain) = (after, word.trim_end_matches([',', '\n']));
        let rest = &word[plain.len()..];
        after = plain;
        match before {
            "since" | "until" if plain == "TIME" => shown("TIME", rest),
            "approve" | "reject" if plain.len() == 8 => shown("ID", rest),
            _ if plain.contains("/callback/") => shown("ADDRESS", rest),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The place of a hook's duration: two spaces, then `12ms` or `4.31s`.
fn duration_in(line: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(found) = line[from..].find(|letter: char| letter.is_ascii_digit()) {
        let start = from + found;
        let rest = &line[start..];
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let unit = ["ms", "s"].into_iter().find(|unit| rest[digits..].starts_with(unit));
        if let Some(unit) = unit
            && line[..start].ends_with("  ")
        {
            return Some((start, start + digits + unit.len()));
        }
        from = start + digits.max(1);
    }
    None
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
