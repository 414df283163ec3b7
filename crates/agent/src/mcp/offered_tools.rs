//! [`OfferedTools`]: which of a server's tools a model is told about, and why not of the others.
//!
//! Pure. A tool that a model's server would refuse, or that could be taken for another one, is left out:
//! one of them would make every request of the session fail.

use serde_json::Value;

use crate::limits::{
    MCP_DESCRIPTION_BYTES_MAX, MCP_SCHEMA_BYTES_MAX, MCP_TOOLS_MAX, TOOL_NAME_CHARS_MAX,
};
use crate::tool::ToolSpec;

/// The tools of one server.
#[derive(Debug, Default, PartialEq)]
pub(super) struct OfferedTools {
    pub(super) tools: Vec<OfferedTool>,
    /// Why others are left out, one sentence each.
    pub(super) left_out: Vec<String>,
}

/// One tool.
#[derive(Debug, PartialEq)]
pub(super) struct OfferedTool {
    /// The server's own name for it.
    pub(super) own_name: String,
    pub(super) spec: ToolSpec,
}

/// Characters of a name that a message repeats.
const SHOWN_CHARS_MAX: usize = 80;

/// Reasons that are given one by one; the others are counted.
const LEFT_OUT_SHOWN_MAX: usize = 5;

impl OfferedTools {
    /// Reads the entries of a server's list.
    pub(super) fn read(server: &str, entries: &[Value]) -> Self {
        let mut offered = Self::default();
        for entry in entries {
            if offered.tools.len() >= MCP_TOOLS_MAX {
                let more = entries.len() - MCP_TOOLS_MAX;
                offered.left_out.push(format!(
                    "it has more than {MCP_TOOLS_MAX} tools, and the last {more} are left out"
                ));
                break;
            }
            match offered.tool(server, entry) {
                Ok(tool) => offered.tools.push(tool),
                Err(why) => offered.left_out.push(why),
            }
        }
        let more = offered.left_out.len().saturating_sub(LEFT_OUT_SHOWN_MAX);
        if more > 0 {
            offered.left_out.truncate(LEFT_OUT_SHOWN_MAX);
            offered.left_out.push(format!("{more} more of its tools are left out"));
        }
        offered
    }

    fn tool(&self, server: &str, entry: &Value) -> Result<OfferedTool, String> {
        let Some(own_name) = entry.get("name").and_then(Value::as_str) else {
            return Err("a tool without a name is left out".to_owned());
        };
        let shown = shown(own_name);
        let left_out = |why: &str| format!("the tool `{shown}` is left out: {why}");
        let name = tool_name(server, own_name);
        if own_name.is_empty() {
            return Err("a tool with an empty name is left out".to_owned());
        }
        if name.len() > TOOL_NAME_CHARS_MAX {
            return Err(left_out(&format!(
                "its name `{}` is longer than {TOOL_NAME_CHARS_MAX} characters",
                self::shown(&name)
            )));
        }
        // Permission rules ignore case, so names that differ in nothing else are one name.
        let same = self.tools.iter().find(|known| known.spec.name.eq_ignore_ascii_case(&name));
        if let Some(same) = same {
            let same = self::shown(&same.own_name);
            return Err(left_out(&format!(
                "it would have the same name, `{name}`, as the tool `{same}` before it"
            )));
        }
        let input_schema = input_schema(entry).map_err(|why| left_out(&why))?;
        let description = entry.get("description").and_then(Value::as_str).unwrap_or_default();
        let spec = ToolSpec { name, description: shortened(description), input_schema };
        Ok(OfferedTool { own_name: own_name.to_owned(), spec })
    }
}

/// The name under which models, hooks and permissions know a server's tool. Characters that no model's
/// server accepts become `_`.
fn tool_name(server: &str, own_name: &str) -> String {
    let is_accepted = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    let letters = own_name.chars().map(|letter| if is_accepted(letter) { letter } else { '_' });
    format!("mcp__{server}__{}", letters.collect::<String>())
}

fn input_schema(entry: &Value) -> Result<Value, String> {
    let schema = match entry.get("inputSchema") {
        Some(schema @ Value::Object(_)) => schema,
        Some(Value::Null) | None => return Err("it has no input schema".to_owned()),
        Some(_) => return Err("its input schema is not a JSON object".to_owned()),
    };
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        Some(found) => {
            let found = shown(&found.to_string());
            return Err(format!("its input schema has the type {found}, expected \"object\""));
        }
        None => return Err("its input schema has no type, expected \"object\"".to_owned()),
    }
    if let Some(key) = ["oneOf", "anyOf", "allOf"].into_iter().find(|key| schema.get(key).is_some())
    {
        return Err(format!("its input schema has `{key}` at the top, which models refuse"));
    }
    match schema.get("properties") {
        None => {}
        Some(Value::Object(properties)) => {
            if let Some(name) = properties.keys().find(|name| !is_property_name(name)) {
                let name = shown(name);
                return Err(format!("models refuse the name of its input field `{name}`"));
            }
            let mut all = properties.iter();
            if let Some((name, _)) =
                all.find(|(_, value)| !value.is_object() && !value.is_boolean())
            {
                let name = shown(name);
                return Err(format!("the schema of its input field `{name}` is not a schema"));
            }
        }
        Some(_) => return Err("the `properties` of its input schema are not a map".to_owned()),
    }
    let bytes = schema.to_string().len();
    if bytes > MCP_SCHEMA_BYTES_MAX {
        return Err(format!(
            "its input schema has {bytes} bytes, expected at most {MCP_SCHEMA_BYTES_MAX}"
        ));
    }
    Ok(schema.clone())
}

fn is_property_name(name: &str) -> bool {
    let is_accepted = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
    (1..=TOOL_NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_accepted)
}

fn shortened(description: &str) -> String {
    if description.len() <= MCP_DESCRIPTION_BYTES_MAX {
        return description.to_owned();
    }
    let end = description.floor_char_boundary(MCP_DESCRIPTION_BYTES_MAX);
    format!("{} [cut off]", &description[..end])
}

fn shown(text: &str) -> String {
    let letters = text.chars().take(SHOWN_CHARS_MAX);
    letters.map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "properties": { "text": { "type": "string" } } })
    }

    fn left_out(entry: Value) -> String {
        let offered = OfferedTools::read("srv", &[entry]);
        assert_eq!(offered.tools, []);
        offered.left_out.join("\n")
    }

    #[test]
    fn a_tool_has_the_name_of_its_server_and_its_own_description_and_schema() {
        let entry = json!({ "name": "say", "description": "Says it.", "inputSchema": schema() });
        let offered = OfferedTools::read("srv", &[entry]);
        let spec = ToolSpec {
            name: "mcp__srv__say".to_owned(),
            description: "Says it.".to_owned(),
            input_schema: schema(),
        };
        assert_eq!(offered.tools, [OfferedTool { own_name: "say".to_owned(), spec }]);
        assert_eq!(offered.left_out, Vec::<String>::new());
    }

    #[test]
    fn characters_that_models_refuse_become_underlines() {
        for (own_name, name) in [
            ("a.b", "mcp__srv__a_b"),
            ("a b/ü", "mcp__srv__a_b__"),
            ("x\u{1b}[2J", "mcp__srv__x__2J"),
            ("A-1_b", "mcp__srv__A-1_b"),
        ] {
            assert_eq!(tool_name("srv", own_name), name);
        }
    }

    #[test]
    fn the_second_tool_of_one_name_is_left_out() {
        let entry = |name: &str| json!({ "name": name, "inputSchema": schema() });
        let entries = [entry("a.b"), entry("a_b"), entry("A.B"), entry("c")];
        let offered = OfferedTools::read("srv", &entries);
        let names: Vec<&str> = offered.tools.iter().map(|tool| &*tool.spec.name).collect();
        assert_eq!(names, ["mcp__srv__a_b", "mcp__srv__c"]);
        assert_eq!(
            offered.left_out,
            [
                "the tool `a_b` is left out: it would have the same name, `mcp__srv__a_b`, as the \
                 tool `a.b` before it",
                "the tool `A.B` is left out: it would have the same name, `mcp__srv__A_B`, as the \
                 tool `a.b` before it",
            ]
        );
    }

    #[test]
    fn a_tool_that_would_make_requests_fail_is_left_out() {
        let with = |schema: Value| json!({ "name": "x", "inputSchema": schema });
        let cases = [
            (json!({}), "a tool without a name is left out"),
            (json!(7), "a tool without a name is left out"),
            (json!({ "name": "" }), "a tool with an empty name is left out"),
            (json!({ "name": "x" }), "it has no input schema"),
            (with(json!("string")), "its input schema is not a JSON object"),
            (with(json!({})), "its input schema has no type, expected \"object\""),
            (
                with(json!({ "type": "string" })),
                "its input schema has the type \"string\", expected \"object\"",
            ),
            (
                with(json!({ "type": "object", "anyOf": [] })),
                "its input schema has `anyOf` at the top, which models refuse",
            ),
            (
                with(json!({ "type": "object", "properties": [] })),
                "the `properties` of its input schema are not a map",
            ),
            (
                with(json!({ "type": "object", "properties": { "a b": {} } })),
                "models refuse the name of its input field `a b`",
            ),
            (
                with(json!({ "type": "object", "properties": { "a": "text" } })),
                "the schema of its input field `a` is not a schema",
            ),
            (
                with(json!({ "type": "object", "description": "x".repeat(70_000) })),
                "expected at most 65536",
            ),
            (
                json!({ "name": "x".repeat(60), "inputSchema": schema() }),
                "is longer than 64 characters",
            ),
        ];
        for (entry, expected) in cases {
            let said = left_out(entry.clone());
            assert!(said.contains(expected), "{entry}: {said}");
        }
    }

    #[test]
    fn neither_the_tools_nor_the_complaints_grow_without_a_limit() {
        let many: Vec<Value> = (0..1000)
            .map(|number| json!({ "name": format!("t{number}"), "inputSchema": schema() }))
            .collect();
        let offered = OfferedTools::read("srv", &many);
        assert_eq!(offered.tools.len(), MCP_TOOLS_MAX);
        assert_eq!(offered.left_out, ["it has more than 200 tools, and the last 800 are left out"]);
        let offered = OfferedTools::read("srv", &vec![json!({ "name": "x" }); 1000]);
        assert_eq!(offered.left_out.len(), LEFT_OUT_SHOWN_MAX + 1);
        assert_eq!(offered.left_out[5], "995 more of its tools are left out");
        let long = json!({
            "name": "x", "description": "ü".repeat(5000), "inputSchema": schema(),
        });
        let offered = OfferedTools::read("srv", &[long]);
        assert!(offered.tools[0].spec.description.ends_with("ü [cut off]"));
        assert!(offered.tools[0].spec.description.len() < MCP_DESCRIPTION_BYTES_MAX + 20);
    }
}
