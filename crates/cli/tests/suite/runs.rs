//! Shared by the tests of `run` and `resume`: agents that keep their prompts, hooks that log.

use std::fs;

use crate::support::{Ran, Sandbox};

/// An agent that keeps each of its prompts, see [`prompts`].
pub(crate) const KEEPS_PROMPTS: &str =
    "{command: 'mkdir -p ../prompts; cat > ../prompts/$(ls ../prompts | wc -l)'}";

/// The lines of a file that hooks or agents wrote; none if there is no such file.
pub(crate) fn lines(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let text = fs::read_to_string(sandbox.path(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// The prompts of agents of the kind [`KEEPS_PROMPTS`], in order.
pub(crate) fn prompts(sandbox: &Sandbox) -> Vec<String> {
    let mut prompts = Vec::new();
    while let Ok(text) = fs::read_to_string(sandbox.path(&format!("../prompts/{}", prompts.len())))
    {
        prompts.push(text);
    }
    prompts
}

/// The rest of each line `$EVENT …` of one event in `log`.
pub(crate) fn logged<'a>(log: &'a [String], event: &str) -> Vec<&'a str> {
    log.iter().filter_map(|line| line.strip_prefix(event)?.strip_prefix(' ')).collect()
}

/// Runs a session called `s`, which must end with this exit code.
pub(crate) fn run(sandbox: &Sandbox, file: &str, code: i32) -> Ran {
    let ran = sandbox.run(&["run", file, "--session", "s"]);
    assert_eq!(ran.code, code, "{}{}", ran.stdout, ran.stderr);
    ran
}

/// The run events that `--json` prints.
pub(crate) fn events(ran: &Ran) -> Vec<serde_json::Value> {
    ran.stdout.lines().map(|line| serde_json::from_str(line).expect("one value a line")).collect()
}

/// A file of the session called `s`.
pub(crate) fn of_session(sandbox: &Sandbox, file: &str) -> String {
    let path = sandbox.path(&format!(".hookwright/sessions/s/{file}"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
