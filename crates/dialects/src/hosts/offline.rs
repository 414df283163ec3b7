//! [`OfflineRun`]: how a host's program works without its vendor, in a home of its own and with a
//! model server on this machine.
//!
//! `hookwright doctor --probe` and `cargo xtask peers` start the real programs in this way. Each
//! host's facts are in its `offline.rs`, measured with the version that its `program` names.

use serde_json::{Map, Value};

/// In an argument: the prompt.
const PROMPT: &str = "PROMPT";

/// In a variable or a file: the address of the model server.
const MODEL_URL: &str = "MODEL_URL";

/// In a file, as the quoted text `"SERVER_PROGRAM"`: the program of the MCP server.
const SERVER_PROGRAM: &str = "\"SERVER_PROGRAM\"";

/// The arguments with which our program is an MCP server, in the files of [`OfflineRun::server`].
pub const SERVER_ARGUMENTS: [&str; 2] = ["doctor", "--mcp-server"];

/// The only tool of that server: it makes the file `path`.
pub const SERVER_TOOL: &str = "make_file";

/// How a host's program works without its vendor.
#[derive(Debug)]
pub struct OfflineRun {
    /// The arguments of one run without a person, in which every tool is allowed.
    pub arguments: &'static [&'static str],
    /// Arguments before those, in a home whose settings were never trusted.
    pub untrusted_home: &'static [&'static str],
    /// Its variables.
    pub environment: &'static [(&'static str, &'static str)],
    /// Its settings.
    pub files: &'static [OfflineFile],
    /// The settings that name the MCP server.
    pub server: OfflineFile,
    /// The calls of its tools.
    pub calls: OfflineCalls,
    /// Whether a denied call ends the run, so that the model never hears the reason.
    pub ends_at_deny: bool,
}

/// A file of settings below the home folder.
#[derive(Debug)]
pub struct OfflineFile {
    /// Its path.
    pub path: &'static str,
    /// Its text, with placeholders.
    pub text: &'static str,
}

/// What a model has to say for a tool to run.
#[derive(Debug)]
pub struct OfflineCalls {
    /// Runs a shell command.
    pub shell: fn(command: &str) -> OfflineCall,
    /// Writes a new file: its path and its text.
    pub file: fn(path: &str, text: &str) -> OfflineCall,
    /// Calls the tool of the MCP server.
    pub server: fn(input: Value) -> OfflineCall,
    /// Starts a subagent and waits for it; `None` if there is none without the vendor.
    pub subagent: Option<fn(prompt: &str) -> Vec<OfflineCall>>,
    /// Types a line into a running command, if a tool of its own does that.
    pub typed: Option<fn(line: &str) -> OfflineCall>,
    /// Runs a shell command by a tool of its own, if `shell` is a call from within another tool.
    pub direct: Option<DirectCalls>,
}

/// How the same host runs a command without the tool that nests calls.
#[derive(Debug)]
pub struct DirectCalls {
    /// Arguments before the others, which choose a model without that tool.
    pub arguments: &'static [&'static str],
    /// Runs a shell command.
    pub shell: fn(command: &str) -> OfflineCall,
}

/// A call of a tool, under the host's name.
#[derive(Debug, Clone, PartialEq)]
pub struct OfflineCall {
    /// The tool.
    pub tool: &'static str,
    /// Its input: an object, or a text for a tool that takes one text.
    pub input: Value,
}

impl OfflineCall {
    pub(super) fn new(tool: &'static str, input: Value) -> Self {
        Self { tool, input }
    }
}

impl OfflineRun {
    /// The arguments for this prompt.
    pub fn arguments(&self, prompt: &str) -> Vec<String> {
        self.arguments.iter().map(|argument| argument.replace(PROMPT, prompt)).collect()
    }

    /// The variables for a model at this address.
    pub fn environment(&self, url: &str) -> Vec<(String, String)> {
        let variables = self.environment.iter();
        variables.map(|(name, value)| ((*name).to_owned(), value.replace(MODEL_URL, url))).collect()
    }

    /// The settings for a model at this address, as paths below the home folder and texts.
    pub fn files(&self, url: &str) -> Vec<(&'static str, String)> {
        self.files.iter().map(|file| (file.path, file.text.replace(MODEL_URL, url))).collect()
    }

    /// The settings that name the MCP server, whose program this is.
    pub fn server_file(&self, program: &str) -> (&'static str, String) {
        let quoted = Value::from(program).to_string();
        (self.server.path, self.server.text.replace(SERVER_PROGRAM, &quoted))
    }
}

/// Two texts of one settings file as one: objects are merged, other texts are put together.
pub fn merged(first: &str, second: &str) -> String {
    let parsed = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    let (Some(mut first), Some(second)) = (parsed(first), parsed(second)) else {
        return format!("{first}\n{second}");
    };
    merge(&mut first, second);
    Value::Object(first).to_string()
}

fn merge(into: &mut Map<String, Value>, other: Map<String, Value>) {
    for (key, value) in other {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(into)), Value::Object(value)) => merge(into, value),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hosts;

    #[test]
    fn settings_of_one_file_are_merged_and_other_files_put_together() {
        let merged_text =
            merged(r#"{"a": {"b": 1, "c": 2}, "d": 3}"#, r#"{"a": {"c": 4}, "e": 5}"#);
        let expected = json!({ "a": { "b": 1, "c": 4 }, "d": 3, "e": 5 });
        assert_eq!(serde_json::from_str::<Value>(&merged_text).expect("JSON"), expected);
        assert_eq!(merged("a = 1", "[b]"), "a = 1\n[b]");
    }

    #[test]
    fn every_host_gets_its_model_its_prompt_and_its_server() {
        for host in hosts::all() {
            let run = host.offline;
            let files = run.files("http://127.0.0.1:1");
            let environment = run.environment("http://127.0.0.1:1");
            let values =
                files.iter().map(|(_, text)| text).chain(environment.iter().map(|it| &it.1));
            let with_url = values.filter(|text| text.contains("http://127.0.0.1:1")).count();
            assert!(with_url > 0, "{}: no address", host.name);
            let arguments = run.arguments("a prompt").join(" ");
            assert!(arguments.contains("a prompt"), "{}: {arguments}", host.name);
            let (_, text) = run.server_file("/a \"b\"/program");
            assert!(text.contains(r#""/a \"b\"/program""#), "{}: {text}", host.name);
            for argument in SERVER_ARGUMENTS {
                assert!(text.contains(&format!("\"{argument}\"")), "{}: {text}", host.name);
            }
            let every = [&files[..], &[run.server_file("p")]].concat();
            for (path, text) in every.iter().filter(|(path, _)| path.ends_with(".json")) {
                let read = serde_json::from_str::<Value>(text);
                assert!(read.is_ok_and(|it| it.is_object()), "{}: {path}", host.name);
            }
        }
    }
}
