//! Changes of the rules that a hook asks for when it answers in place of the user
//! (`updatedPermissions`). They hold for the session; other destinations are refused.

use serde_json::Value;

use super::{PermissionMode, PermissionRule, Permissions};

/// A change that was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefusedUpdate {
    /// It would last longer than the session.
    #[error("a hook's change of permissions has the destination `{0}`; only `session` is possible")]
    Destination(String),
    /// It is none of the changes that are known, or lacks something.
    #[error("a hook's change of permissions is refused: {0}")]
    NotUnderstood(String),
}

impl Permissions {
    /// Makes these changes, each on its own; returns those that were refused.
    pub fn update(&mut self, updates: &Value) -> Vec<RefusedUpdate> {
        let one = std::slice::from_ref(updates);
        let updates = updates.as_array().map_or(one, Vec::as_slice);
        updates.iter().filter_map(|update| self.update_one(update).err()).collect()
    }

    fn update_one(&mut self, update: &Value) -> Result<(), RefusedUpdate> {
        let not_understood = |why: &str| RefusedUpdate::NotUnderstood(why.to_owned());
        let text = |key: &str| update[key].as_str();
        let destination = text("destination").unwrap_or("session");
        if destination != "session" {
            return Err(RefusedUpdate::Destination(destination.to_owned()));
        }
        match text("type") {
            Some("setMode") => {
                let mode = text("mode").and_then(PermissionMode::named);
                self.mode = mode.ok_or_else(|| not_understood("`mode` is no permission mode"))?;
                Ok(())
            }
            Some(change @ ("addRules" | "replaceRules" | "removeRules")) => {
                let given = update["rules"]
                    .as_array()
                    .ok_or_else(|| not_understood("`rules` is no list"))?;
                let rules = given.iter().map(rule).collect::<Result<Vec<_>, _>>()?;
                let list = match text("behavior") {
                    Some("allow") => &mut self.allow,
                    Some("ask") => &mut self.ask,
                    Some("deny") => &mut self.deny,
                    _ => return Err(not_understood("`behavior` is none of allow, ask, deny")),
                };
                match change {
                    // A hook's answer to one question takes no guard away.
                    "replaceRules" | "removeRules" if text("behavior") != Some("allow") => {
                        return Err(not_understood("only allow rules can be removed or replaced"));
                    }
                    "removeRules" => {
                        list.retain(|known| rules.iter().all(|gone| gone.text() != known.text()));
                    }
                    "replaceRules" => *list = rules,
                    _ => list.extend(rules),
                }
                Ok(())
            }
            Some(other) => Err(not_understood(&format!("`{other}` is not supported"))),
            None => Err(not_understood("it has no `type`")),
        }
    }
}

/// `{"toolName": "Bash", "ruleContent": "git *"}`.
fn rule(given: &Value) -> Result<PermissionRule, RefusedUpdate> {
    let not_understood = |why: String| RefusedUpdate::NotUnderstood(why);
    let tool = given["toolName"]
        .as_str()
        .ok_or_else(|| not_understood("a rule has no `toolName`".into()))?;
    let text = match given["ruleContent"].as_str() {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    };
    PermissionRule::parse(&text, None)
        .map_err(|error| not_understood(format!("the rule `{text}`: {error}")))
}
