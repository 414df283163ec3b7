//! Hooks to start with. Each is a few lines of YAML that work unchanged; `init` writes them into a
//! first file, `template show` prints one to copy.

/// One hook to start with.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) name: &'static str,
    /// What it does, in one line.
    pub(crate) about: &'static str,
    /// The key under `hooks:`.
    event: &'static str,
    /// The entry below it, without indentation.
    entry: &'static str,
}

pub(crate) const TEMPLATES: &[Template] = &[
    Template {
        name: "block-sudo",
        about: "the agent must not use sudo",
        event: "tool:pre_execute:bash",
        entry: include_str!("templates/block-sudo.yaml"),
    },
    Template {
        name: "audit-log",
        about: "a line of JSON for every event, in .hookwright/audit.jsonl",
        event: "\"*\"",
        entry: include_str!("templates/audit-log.yaml"),
    },
    Template {
        name: "notify",
        about: "a message on the desktop when a session ends",
        event: "session:end",
        entry: include_str!("templates/notify.yaml"),
    },
    Template {
        name: "git-auto-commit",
        about: "a commit after every file that the agent writes",
        event: "tool:post_execute:write|edit",
        entry: include_str!("templates/git-auto-commit.yaml"),
    },
];

/// The template of this name.
pub(crate) fn named(name: &str) -> Option<&'static Template> {
    TEMPLATES.iter().find(|template| template.name == name)
}

/// A whole file with these templates.
pub(crate) fn file(templates: &[&Template]) -> String {
    let mut text = String::from(
        "# Hooks of this project. `hookwright check` checks this file, `hookwright fire` tries \
         it,\n# `hookwright events` lists the events.\n# yaml-language-server: \
         $schema=.hookwright/hookwright.schema.json\nversion: 1\nhooks:\n",
    );
    for template in templates {
        text.push_str(&template.below_its_event());
    }
    text
}

impl Template {
    /// The hook as written below `hooks:`.
    pub(crate) fn below_its_event(&self) -> String {
        let mut text = format!("  # {}\n  {}:\n", self.about, self.event);
        for line in self.entry.lines() {
            text.push_str(&format!("    {line}\n"));
        }
        text
    }
}
