//! [`PermissionRule`]: one entry of `permissions`, such as `bash`, `bash(git push *)`, `edit(src/**)` or
//! `mcp__github__*`.
//!
//! A rule that restricts fits when in doubt ([`PermissionRule::may_match`]); a rule that permits fits only for
//! certain ([`PermissionRule::surely_matches`]).

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use hookwright_events::tool;

use super::{RuleInput, shell};
use crate::tool::Touches;

/// One permission rule.
#[derive(Debug, Clone)]
pub struct PermissionRule {
    text: String,
    tool: ToolPattern,
    content: Content,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It has no tool in front.
    #[error("it names no tool")]
    NoTool,
    /// A parenthesis is not closed, or something follows it.
    #[error("its parenthesis is not closed at its end")]
    Unclosed,
    /// The pattern cannot be read.
    #[error("its pattern is invalid: {0}")]
    BadPattern(String),
    /// The tool has nothing that could be compared.
    #[error("`{0}` takes no pattern in parentheses")]
    NoContent(String),
}

#[derive(Debug, Clone)]
enum ToolPattern {
    Exact(String),
    /// Names that begin with this.
    Prefix(String),
}

#[derive(Debug, Clone)]
enum Content {
    /// Every call in the workspace.
    Any,
    /// A shell command, in words; `*` matches anything.
    Command(shell::CommandPattern),
    /// Paths.
    Path(RulePath),
}

#[derive(Debug, Clone)]
struct RulePath {
    /// The pattern itself and everything below it.
    matchers: [GlobMatcher; 2],
    /// Text before the first wildcard, to tell whether a folder may hold what is meant.
    stem: PathBuf,
    /// It begins at the root of the file system, not at the workspace.
    is_absolute: bool,
}

/// Tools that change files, and tools that read them.
const CHANGING: &[&str] = &["edit", "write"];
const READING: &[&str] = &["read", "grep", "glob"];

impl PermissionRule {
    /// Reads a rule. `home` replaces `~/`.
    pub fn parse(text: &str, home: Option<&Path>) -> Result<Self, RuleError> {
        let text = text.trim();
        let (name, content) = match text.split_once('(') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(')').ok_or(RuleError::Unclosed)?)),
            None => (text, None),
        };
        let name = name.trim();
        let stem = name.strip_suffix('*').unwrap_or(name);
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if stem.is_empty() && name != "*" || !stem.chars().all(is_word) {
            return Err(RuleError::NoTool);
        }
        let pattern = match name.strip_suffix('*') {
            Some(prefix) => ToolPattern::Prefix(prefix.to_ascii_lowercase()),
            None => ToolPattern::Exact(tool::canonical(name).to_ascii_lowercase()),
        };
        let content = match content.map(str::trim) {
            None | Some("" | "*" | "**") => Content::Any,
            Some(content) => Content::parse(tool::canonical(name), content, home)?,
        };
        Ok(Self { text: text.to_owned(), tool: pattern, content })
    }

    /// The rule as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a rule that restricts is about the call: when in doubt, it is.
    pub(super) fn may_match(&self, input: RuleInput<'_>) -> bool {
        let tool = tool::canonical(input.call.tool).to_ascii_lowercase();
        let shares = |group: &[&str]| {
            group.contains(&&*tool)
                && matches!(&self.tool, ToolPattern::Exact(name) if group.contains(&&**name))
        };
        // What may not be written may not be edited either, and what may not be read is not searched.
        let is_about = self.names(&tool) || shares(CHANGING) || shares(READING) && self.is_read();
        is_about
            && match (&self.content, input.call.touches) {
                (Content::Any, _) => true,
                (Content::Command(pattern), Touches::Command(command)) => {
                    pattern.may_match(command)
                }
                (Content::Path(pattern), Touches::Reads(path) | Touches::Changes(path)) => {
                    let searches = tool == "grep" || tool == "glob";
                    pattern.fits(path, input.workspace)
                        || searches && pattern.may_be_below(path, input.workspace)
                }
                // What cannot be compared may be what is meant.
                (Content::Command(_) | Content::Path(_), _) => true,
            }
    }

    /// Whether a rule that permits is about the call for certain.
    pub(super) fn surely_matches(&self, input: RuleInput<'_>) -> bool {
        let tool = tool::canonical(input.call.tool).to_ascii_lowercase();
        let covers_write =
            tool == "write" && matches!(&self.tool, ToolPattern::Exact(name) if name == "edit");
        let covers_search = READING.contains(&&*tool) && self.is_read();
        (self.names(&tool) || covers_write || covers_search)
            && match (&self.content, input.call.touches) {
                (Content::Any, Touches::Reads(path) | Touches::Changes(path)) => {
                    path.starts_with(input.workspace)
                }
                (Content::Any, Touches::Command(_) | Touches::Subagent | Touches::Other) => true,
                (Content::Command(pattern), Touches::Command(command)) => {
                    pattern.surely_matches(command)
                }
                (Content::Path(pattern), Touches::Reads(path) | Touches::Changes(path)) => {
                    pattern.fits(path, input.workspace)
                }
                (Content::Any | Content::Command(_) | Content::Path(_), _) => false,
            }
    }

    /// A folder outside of the workspace that the rule names by its path, and so makes reachable.
    pub fn outside_folder(&self) -> Option<&Path> {
        match &self.content {
            Content::Path(pattern) if pattern.is_absolute => Some(&pattern.stem),
            _ => None,
        }
    }

    fn is_read(&self) -> bool {
        matches!(&self.tool, ToolPattern::Exact(name) if name == "read")
    }

    fn names(&self, tool: &str) -> bool {
        match &self.tool {
            ToolPattern::Exact(name) => {
                // `mcp__github` names every tool of that server.
                name == tool
                    || name.starts_with("mcp__")
                        && tool.strip_prefix(&**name).is_some_and(|rest| rest.starts_with("__"))
            }
            ToolPattern::Prefix(prefix) => tool.starts_with(&**prefix),
        }
    }
}

impl Content {
    fn parse(tool: &str, content: &str, home: Option<&Path>) -> Result<Self, RuleError> {
        match tool {
            "bash" => Ok(Content::Command(shell::CommandPattern::parse(content))),
            tool if CHANGING.contains(&tool) || READING.contains(&tool) => {
                Ok(Content::Path(RulePath::parse(content, home)?))
            }
            tool => Err(RuleError::NoContent(tool.to_owned())),
        }
    }
}

impl RulePath {
    /// `//etc/**` begins at the root, `~/x` in the home folder, `/x` and `x/y` in the workspace; a name
    /// without `/` is one at any depth.
    fn parse(content: &str, home: Option<&Path>) -> Result<Self, RuleError> {
        let (is_absolute, path) = if let Some(rest) = content.strip_prefix("//") {
            (true, format!("/{rest}"))
        } else if let Some(rest) = content.strip_prefix("~/") {
            let home =
                home.ok_or_else(|| RuleError::BadPattern("there is no home folder".into()))?;
            (true, format!("{}/{rest}", home.display()))
        } else if let Some(rest) = content.strip_prefix("./").or(content.strip_prefix('/')) {
            (false, rest.to_owned())
        } else if content.trim_end_matches('/').contains('/') {
            (false, content.to_owned())
        } else {
            (false, format!("**/{content}"))
        };
        let path = path.trim_end_matches('/');
        let glob = |text: &str| {
            let mut glob = GlobBuilder::new(text);
            // File systems exist on which both spellings are one file.
            glob.literal_separator(true).case_insensitive(true).backslash_escape(true);
            let glob = glob.build().map_err(|error| RuleError::BadPattern(error.to_string()))?;
            Ok(glob.compile_matcher())
        };
        let wildcard = path.find(['*', '?', '[', '{']).unwrap_or(path.len());
        let whole_parts = match wildcard < path.len() {
            true => path[..wildcard].rfind('/').map_or("", |end| &path[..end]),
            false => path,
        };
        let stem = PathBuf::from(whole_parts);
        let matchers = [glob(path)?, glob(&format!("{path}/**"))?];
        Ok(Self { matchers, stem, is_absolute })
    }

    /// The path as the pattern sees it; `None` outside of what it is about.
    fn seen<'a>(&self, path: &'a Path, workspace: &Path) -> Option<&'a Path> {
        if self.is_absolute { Some(path) } else { path.strip_prefix(workspace).ok() }
    }

    fn fits(&self, path: &Path, workspace: &Path) -> bool {
        let Some(path) = self.seen(path, workspace) else { return false };
        self.matchers.iter().any(|matcher| matcher.is_match(path))
    }

    /// Whether something that it means may be inside this folder.
    fn may_be_below(&self, folder: &Path, workspace: &Path) -> bool {
        let Some(folder) = self.seen(folder, workspace) else { return false };
        self.stem.starts_with(folder) || folder.starts_with(&self.stem)
    }
}
