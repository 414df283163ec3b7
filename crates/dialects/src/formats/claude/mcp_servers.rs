//! Reads the MCP servers of a project: `.mcp.json`, a map `mcpServers` from names to servers.
//!
//! Only servers over standard streams are started. What cannot be used is left out, and said; it
//! blocks nothing, because no guard is written in this file.

use std::path::Path;
use std::sync::Arc;

use hookwright_config::tree::{Field, Notes, Raw, parse};
use hookwright_config::{
    Fault, FaultKind, ForeignFile, Loaded, McpServerSpec, MissingKey, args_of_server,
    command_of_server, env_of_server, is_server_name,
};

/// The name of the file.
pub(super) const FILE_NAME: &str = ".mcp.json";

/// Whether this is such a file.
pub(super) fn owns(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == FILE_NAME)
}

/// Reads one file.
pub(super) fn read(file: &ForeignFile<'_>, loaded: &mut Loaded) {
    let tree = file.text.as_ref().map_err(Fault::clone);
    let (source, root) = match tree.and_then(|source| Ok((source, parse(source)?))) {
        Ok(tree) => tree,
        Err(fault) => return loaded.left_out.push(Arc::new(fault)),
    };
    let mut notes = Notes::new(source);
    let fields = notes.map(&root, "a map with the key `mcpServers`").unwrap_or_default();
    let servers = fields.iter().find(|field| &*field.key == "mcpServers");
    let servers = servers.and_then(|field| notes.map(&field.value, "a map from names to servers"));
    for field in servers.unwrap_or_default() {
        let before = notes.faults.len();
        let server = server(field, &file.file.path, &mut notes);
        if let Some(server) = server.filter(|_| notes.faults.len() == before) {
            loaded.agent_settings.add_server(file.file.layer, server);
        }
    }
    loaded.left_out.extend(notes.faults.into_iter().map(Arc::new));
}

fn server(field: &Field, path: &Path, notes: &mut Notes<'_>) -> Option<McpServerSpec> {
    let fields = notes.map(&field.value, "a server, a map with `command`")?;
    let get = |key: &str| fields.iter().find(|field| *field.key == *key).map(|field| &field.value);
    let kind = match get("type").map(|node| &node.raw) {
        Some(Raw::Text(kind)) => kind,
        Some(_) => "of another kind",
        None if get("url").is_some() && get("command").is_none() => "http",
        None => "stdio",
    };
    if kind != "stdio" {
        let what = format!("type: {}", kind.chars().take(40).collect::<String>());
        notes.note(field.at, FaultKind::NotYet { what });
        return None;
    }
    let name = name(&field.key);
    if !is_server_name(&name) {
        notes.bad_value(field.at, &*field.key, "a name of at most 32 letters and digits");
        return None;
    }
    let Some(command) = get("command") else {
        notes.missing(field.at, MissingKey::Command);
        return None;
    };
    Some(McpServerSpec {
        name,
        command: command_of_server(command, notes)?,
        args: get("args").map(|node| args_of_server(node, notes)).unwrap_or_default(),
        env: get("env").map(|node| env_of_server(node, notes)).unwrap_or_default(),
        timeout: None,
        start_timeout: None,
        enabled: true,
        source: Arc::clone(notes.source),
        place: field.at.place(notes.source),
        foreign_file: Some(path.to_owned()),
    })
}

/// The name in the names of its tools: characters that no model accepts become `_`, one at a time.
fn name(written: &str) -> String {
    let is_accepted = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let letters = written.chars().map(|letter| if is_accepted(letter) { letter } else { '_' });
    let replaced: String = letters.collect();
    let parts = replaced.split('_').filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use hookwright_config::ConfigFile;
    use hookwright_engine::hook::Layer;

    use super::*;

    fn loaded(text: &str) -> Loaded {
        let file = ConfigFile::native(Path::new(FILE_NAME), Path::new(FILE_NAME), Layer::Project);
        let source = hookwright_config::SourceFile { path: FILE_NAME.into(), text: text.into() };
        let mut loaded = Loaded::default();
        read(&ForeignFile { file: &file, text: Ok(Arc::new(source)) }, &mut loaded);
        loaded
    }

    fn left_out(text: &str) -> Vec<String> {
        loaded(text).left_out.iter().map(|fault| fault.to_string()).collect()
    }

    #[test]
    fn servers_over_standard_streams_are_read() {
        let loaded = loaded(
            r#"{"mcpServers": {
                "my server": {"command": "npx", "args": ["-y", "x"], "env": {"A": "${B:-c}"}},
                "b": {"type": "stdio", "command": "b", "other": 1}}, "other": 1}"#,
        );
        assert!(loaded.left_out.is_empty(), "{:?}", loaded.left_out);
        let servers: Vec<(&str, String)> =
            loaded.agent_settings.mcp_servers().map(|s| (&*s.name, s.summary())).collect();
        assert_eq!(servers, [("my_server", "npx -y x".to_owned()), ("b", "b".to_owned())]);
        let first = loaded.agent_settings.mcp_servers().next().expect("a server");
        assert_eq!(first.env, [("A".to_owned(), "${B:-c}".to_owned())]);
    }

    #[test]
    fn unusable_entries_are_reported_and_the_rest_is_read() {
        let text = r#"{"mcpServers": {
            "web": {"type": "http", "url": "https://x"},
            "old": {"url": "https://x"},
            "none": {"args": []},
            "text": "x",
            "???": {"command": "x"},
            "ours": {"command": "x", "env": {"HOOKWRIGHT_RUN": "x"}},
            "good": {"command": "x"}}}"#;
        let loaded = loaded(text);
        let said: Vec<String> = loaded.left_out.iter().map(|fault| fault.to_string()).collect();
        assert_eq!(
            said,
            [
                ".mcp.json:2:13: `type: http` is not available in this version",
                ".mcp.json:3:13: `type: http` is not available in this version",
                ".mcp.json:4:13: missing `command`",
                ".mcp.json:5:21: expected a server, a map with `command` but found the string `x`",
                ".mcp.json:6:13: expected a name of at most 32 letters and digits but found `???`",
                ".mcp.json:7:45: the name `HOOKWRIGHT_RUN` is already used by a variable of \
                 hookwright",
            ]
        );
        let names: Vec<&str> =
            loaded.agent_settings.mcp_servers().map(|server| &*server.name).collect();
        assert_eq!(names, ["good"]);
        assert!(loaded.faults.is_empty());
    }

    #[test]
    fn an_invalid_file_is_reported() {
        assert_eq!(left_out("[]").len(), 1);
        assert_eq!(left_out("{").len(), 1);
        assert_eq!(left_out("{}"), Vec::<String>::new());
    }
}
