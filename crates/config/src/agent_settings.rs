//! [`AgentSettings`]: what the files set for the built-in agent: `permissions`, `mcp_servers` and
//! `model`.

use std::sync::Arc;

use hookwright_engine::hook::{FilePlace, Layer};

use super::{McpServerSpec, SourceFile};

/// The built-in agent's settings. Rules and servers of all files are added up.
#[derive(Debug, Clone, Default)]
pub struct AgentSettings {
    /// Calls that need no question.
    pub allow: Vec<WrittenRule>,
    /// Calls that need one.
    pub ask: Vec<WrittenRule>,
    /// Calls that never run.
    pub deny: Vec<WrittenRule>,
    /// Servers with tools, each name once.
    mcp_servers: Vec<(Layer, McpServerSpec)>,
    /// The model, and the layer of the file that names it.
    model: Option<(Layer, String)>,
}

/// A permission rule, and its place in a file.
#[derive(Debug, Clone)]
pub struct WrittenRule {
    /// The rule.
    pub text: String,
    /// The file.
    pub source: Arc<SourceFile>,
    /// The place in it.
    pub place: FilePlace,
}

impl AgentSettings {
    /// The model. The project's file overrides the one for all projects.
    pub fn model(&self) -> Option<&str> {
        self.model.as_ref().map(|(_, name)| name.as_str())
    }

    pub(super) fn set_model(&mut self, layer: Layer, name: &str) {
        // A layer that is nearer to the work is smaller.
        if self.model.as_ref().is_none_or(|(known, _)| layer < *known) {
            self.model = Some((layer, name.to_owned()));
        }
    }

    /// The servers with tools.
    pub fn mcp_servers(&self) -> impl Iterator<Item = &McpServerSpec> {
        self.mcp_servers.iter().map(|(_, server)| server)
    }

    /// Adds a server. If two have the same name, the one in the nearer file wins, otherwise the
    /// first.
    pub fn add_server(&mut self, layer: Layer, server: McpServerSpec) {
        let same = |(_, known): &&mut (Layer, McpServerSpec)| {
            known.name.eq_ignore_ascii_case(&server.name)
        };
        match self.mcp_servers.iter_mut().find(same) {
            Some((known, _)) if *known <= layer => {}
            Some(known) => *known = (layer, server),
            None => self.mcp_servers.push((layer, server)),
        }
    }

    /// Rules, each with its kind: `allow`, `ask` or `deny`.
    pub fn rules(&self) -> impl Iterator<Item = (&'static str, &WrittenRule)> {
        let kinds = [("allow", &self.allow), ("ask", &self.ask), ("deny", &self.deny)];
        kinds.into_iter().flat_map(|(kind, rules)| rules.iter().map(move |rule| (kind, rule)))
    }
}
