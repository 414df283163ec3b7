//! [`Rule`]: a handler's `if`, one permission rule such as `Bash(git *)` or `Edit(*.ts)`.
//!
//! It only saves needless runs of a handler, so in doubt it matches: for a command that cannot be
//! parsed, a tool without comparable input, a relative path without a known folder. A guard that
//! runs needlessly is better than one that does not run.

use std::sync::OnceLock;

use hookwright_engine::shell_commands::{self, words};
use hookwright_events::Event;
use regex::Regex;

use super::tool_name;

/// One permission rule.
#[derive(Debug)]
pub(super) struct Rule {
    tool: Box<str>,
    content: RuleContent,
}

/// The text in the parentheses.
#[derive(Debug)]
enum RuleContent {
    /// Nothing, or everything.
    Any,
    /// A shell command: all of it, its beginning, or a pattern with `*`.
    Command(RulePattern),
    /// A path pattern, as in `.gitignore`.
    Path(PathPattern),
    /// The host of a URL.
    Domain(Box<str>),
    /// The kind of a subagent.
    Agent(Box<str>),
    /// Something that cannot be compared.
    Unknown,
}

/// A regular expression that is compiled on first use: a file may have a thousand, and a call needs
/// a few. One that is too large matches everything.
#[derive(Debug)]
struct RulePattern {
    text: Box<str>,
    compiled: OnceLock<Option<Regex>>,
}

impl RulePattern {
    fn new(text: String) -> Self {
        Self { text: text.into(), compiled: OnceLock::new() }
    }

    fn is_match(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| Regex::new(&self.text).ok());
        compiled.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

#[derive(Debug)]
struct PathPattern {
    regex: RulePattern,
    base: PathBase,
}

/// Where a path pattern begins.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PathBase {
    /// At the root of the file system.
    Root,
    /// In the agent's working directory.
    Cwd,
    /// Anywhere.
    Anywhere,
}

/// The tools that share the rules for editing files, and those for reading them.
const EDITING: &[&str] = &["Edit", "Write", "MultiEdit", "NotebookEdit"];
const READING: &[&str] = &["Read", "Grep", "Glob"];

impl Rule {
    /// Parses a rule; `None` if it is invalid.
    pub(super) fn parse(text: &str, home: Option<&str>) -> Option<Self> {
        let text = text.trim();
        let (tool, content) = match text.split_once('(') {
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')')?)),
            None => (text, None),
        };
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
        let stem = match tool.strip_suffix('*') {
            Some(stem) if tool.starts_with("mcp__") => stem,
            Some(_) => return None,
            None => tool,
        };
        if stem.is_empty() || !stem.chars().all(is_word) {
            return None;
        }
        let content = match content.map(str::trim) {
            None | Some("" | "*" | "**" | ":*") => RuleContent::Any,
            Some(content) => RuleContent::parse(tool_name::current(tool), content, home),
        };
        Some(Self { tool: tool_name::current(tool).into(), content })
    }

    /// Whether it matches this event's call.
    pub(super) fn fits(&self, event: &Event) -> bool {
        let Some(tool) = event.text("tool_name").map(tool_name::claudes) else { return true };
        self.is_about(tool_name::current(tool)) && self.content.fits(event)
    }

    fn is_about(&self, tool: &str) -> bool {
        let rule = &*self.tool;
        let both_in = |group: &[&str]| group.contains(&rule) && group.contains(&tool);
        rule == tool
            || both_in(EDITING) && rule == "Edit"
            || both_in(READING) && rule == "Read"
            || rule.strip_suffix('*').is_some_and(|stem| tool.starts_with(stem))
            || (rule.starts_with("mcp__")
                && tool.strip_prefix(rule).is_some_and(|rest| rest.starts_with("__")))
    }
}

impl RuleContent {
    fn parse(tool: &str, content: &str, home: Option<&str>) -> Self {
        match tool {
            "Bash" => RuleContent::Command(command_pattern(content)),
            "Agent" => RuleContent::Agent(content.into()),
            "WebFetch" => match content.strip_prefix("domain:") {
                Some(domain) => RuleContent::Domain(domain.trim().to_ascii_lowercase().into()),
                None => RuleContent::Unknown,
            },
            tool if EDITING.contains(&tool) || READING.contains(&tool) => {
                RuleContent::Path(PathPattern::new(content, home))
            }
            _ => RuleContent::Unknown,
        }
    }

    fn fits(&self, event: &Event) -> bool {
        let input = |name: &str| event.text_at(&format!("/tool_input/{name}"));
        match self {
            RuleContent::Any | RuleContent::Unknown => true,
            RuleContent::Command(pattern) => {
                let parts = input("command").and_then(shell_commands::split);
                parts.is_none_or(|parts| parts.iter().any(|part| pattern.is_match(part)))
            }
            RuleContent::Path(pattern) => ["file_path", "notebook_path", "path"]
                .into_iter()
                .find_map(input)
                .is_none_or(|path| pattern.fits(path, event.text("cwd"))),
            RuleContent::Domain(domain) => input("url").and_then(host_of).is_none_or(|host| {
                host == **domain || host.strip_suffix(&**domain).is_some_and(|s| s.ends_with('.'))
            }),
            RuleContent::Agent(kind) => input("subagent_type").is_none_or(|given| given == &**kind),
        }
    }
}

/// Parses `git *`, `npm run test:*` or a whole command.
fn command_pattern(content: &str) -> RulePattern {
    let content = words(content);
    let (stem, any_more) = match content.strip_suffix(":*").or(content.strip_suffix(" *")) {
        Some(stem) => (stem, r"(?:\s.*)?"),
        None => (&*content, ""),
    };
    let stem: Vec<String> = stem.split('*').map(regex::escape).collect();
    RulePattern::new(format!("(?s)^{}{any_more}$", stem.join(".*")))
}

impl PathPattern {
    fn new(content: &str, home: Option<&str>) -> Self {
        let (base, path) = if let Some(rest) = content.strip_prefix("//") {
            (PathBase::Root, format!("/{rest}"))
        } else if let Some(rest) = content.strip_prefix("~/") {
            match home {
                Some(home) => (PathBase::Root, format!("{}/{rest}", home.trim_end_matches('/'))),
                None => (PathBase::Anywhere, rest.to_owned()),
            }
        } else if let Some(rest) = content.strip_prefix("./").or(content.strip_prefix('/')) {
            (PathBase::Cwd, rest.to_owned())
        } else if content.trim_end_matches('/').contains('/') {
            (PathBase::Cwd, content.to_owned())
        } else {
            (PathBase::Anywhere, content.to_owned())
        };
        let path = path.trim_end_matches('/');
        let start = if base == PathBase::Anywhere { "(?:^|/)" } else { "^" };
        // A folder includes everything in it.
        let regex = RulePattern::new(format!("(?s){start}{}(?:/.*)?$", path_regex(path)));
        Self { regex, base }
    }

    fn fits(&self, path: &str, cwd: Option<&str>) -> bool {
        let below = |folder: &str| {
            let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
            rest.strip_prefix('/').map(str::to_owned)
        };
        // A path with `..` may lead anywhere.
        if path.split('/').any(|part| part == "..") {
            return true;
        }
        let path = path.strip_prefix("./").unwrap_or(path);
        match (&self.base, path.starts_with('/'), cwd) {
            (PathBase::Anywhere, ..) | (PathBase::Root, true, _) | (PathBase::Cwd, false, _) => {
                self.regex.is_match(path)
            }
            (PathBase::Root, false, Some(cwd)) => {
                self.regex.is_match(&format!("{}/{path}", cwd.trim_end_matches('/')))
            }
            (PathBase::Cwd, true, Some(cwd)) => {
                below(cwd).is_some_and(|path| self.regex.is_match(&path))
            }
            (PathBase::Root, false, None) | (PathBase::Cwd, true, None) => true,
        }
    }
}

/// `*` stays within a folder, `**` does not.
fn path_regex(pattern: &str) -> String {
    let mut regex = String::new();
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let (part, length) = match first {
            '*' if rest.starts_with("**/") => ("(?:.*/)?".to_owned(), 3),
            '*' if rest.starts_with("**") => (".*".to_owned(), 2),
            '*' => ("[^/]*".to_owned(), 1),
            '?' => ("[^/]".to_owned(), 1),
            letter => (regex::escape(letter.encode_utf8(&mut [0; 4])), letter.len_utf8()),
        };
        regex.push_str(&part);
        rest = &rest[length..];
    }
    regex
}

/// `example.com` of `https://user@example.com:8080/x`.
fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?.split(':').next()?;
    Some(host.trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
