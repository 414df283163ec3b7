//! What a case expects: the keys below `expect`.

use hookwright_engine::limits::REGEX_BYTES_MAX;
use hookwright_engine::one_line;
use regex::{Regex, RegexBuilder};

use super::{EXPECT_KEYS, TEXT_KEYS, TestFileReader, WANTED_FILE_KEYS, get};
use crate::node::{Field, Mark, Node, Raw};
use crate::test_file::{DECISIONS, ExpectedResult, FileChange, WantedFile, WantedHook, WantedText};
use crate::{Conflict, ExpectedValue, FaultKind, MissingKey};

impl TestFileReader<'_> {
    pub(super) fn expected(&mut self, node: &Node) -> ExpectedResult {
        let mut expected = ExpectedResult::default();
        let fields = self.notes.map(node, "a map of the expected results").unwrap_or_default();
        for field in fields {
            let value = &field.value;
            match &*field.key {
                "decision" if matches!(value.raw, Raw::Null) => {
                    expected.decision = Some(DECISIONS[0]);
                }
                "decision" => expected.decision = self.notes.word(value, DECISIONS, DECISIONS),
                "reason" => expected.reason = self.text(value),
                "contexts" => expected.contexts = self.texts(value),
                "messages" => expected.messages = self.texts(value),
                "updated_input" => expected.updated_input = Some(value.to_json()),
                "updated_output" => expected.updated_output = Some(value.to_json()),
                "piped_output" => expected.piped_output = self.text(value),
                "hooks" => expected.hooks = self.hooks(value),
                "files" => expected.files = self.wanted_files(value),
                key => self.notes.unknown_key(field.at, key, EXPECT_KEYS),
            }
        }
        expected
    }

    fn texts(&mut self, node: &Node) -> Option<Vec<WantedText>> {
        let items = self.notes.list(node, "a list of strings")?;
        Some(items.iter().filter_map(|item| self.text(item)).collect())
    }

    /// A text, a map with `contains` or `matches`, or null.
    fn text(&mut self, node: &Node) -> Option<WantedText> {
        match &node.raw {
            Raw::Null => return Some(WantedText::Nothing),
            Raw::Text(text) => return Some(WantedText::Exactly(text.to_string())),
            _ => {}
        }
        let fields = self.notes.map(node, "a string, or a map with `contains` or `matches`")?;
        let (mut contains, mut matches) = (Vec::new(), Vec::new());
        for field in fields {
            match &*field.key {
                "contains" => {
                    let parts = self.one_or_more(&field.value).into_iter();
                    contains.extend(parts.map(|(text, _)| text));
                }
                "matches" => {
                    for (text, at) in self.one_or_more(&field.value) {
                        matches.extend(self.regex(&text, at));
                    }
                }
                key => self.notes.unknown_key(field.at, key, TEXT_KEYS),
            }
        }
        if fields.is_empty() {
            self.notes.missing(node.at, MissingKey::ContainsOrMatches);
        }
        Some(WantedText::Like { contains, matches })
    }

    fn one_or_more(&mut self, node: &Node) -> Vec<(String, Mark)> {
        let nodes = match &node.raw {
            Raw::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut texts = Vec::new();
        for node in nodes {
            let text = self.notes.text(node, ExpectedValue::String);
            texts.extend(text.map(|text| (text.to_owned(), node.at)));
        }
        texts
    }

    fn regex(&mut self, text: &str, at: Mark) -> Option<Regex> {
        let built = RegexBuilder::new(text).size_limit(REGEX_BYTES_MAX).build();
        built
            .map_err(|error| {
                let (pattern, cause) = (text.to_owned(), one_line(&error.to_string()));
                self.notes.note(at, FaultKind::BadRegex { pattern, cause });
            })
            .ok()
    }

    /// `- id`, or `- id: status`.
    fn hooks(&mut self, node: &Node) -> Option<Vec<WantedHook>> {
        const EXPECTED: &str = "a hook's id, or its id with its status, like `no-sudo: blocked`";
        let items = self.notes.list(node, "a list of hooks' ids")?;
        let mut hooks = Vec::new();
        for item in items {
            match &item.raw {
                Raw::Map(fields) if fields.len() == 1 => {
                    let (words, all) = (WantedHook::STATUS_WORDS, &WantedHook::STATUSES);
                    let status = self.notes.word(&fields[0].value, words, all);
                    hooks.push(WantedHook { id: fields[0].key.to_string(), status });
                }
                Raw::Map(_) => self.notes.wrong_kind(item, EXPECTED),
                _ => {
                    let id = self.notes.text(item, EXPECTED);
                    hooks.extend(id.map(|id| WantedHook { id: id.to_owned(), status: None }));
                }
            }
        }
        Some(hooks)
    }

    fn wanted_files(&mut self, node: &Node) -> Option<Vec<WantedFile>> {
        let fields = self.notes.map(node, "a map from paths to what happens there")?;
        Some(fields.iter().filter_map(|field| self.wanted_file(field)).collect())
    }

    /// A word, or a map with `is` and `content`.
    fn wanted_file(&mut self, field: &Field) -> Option<WantedFile> {
        let mut file = WantedFile { path: self.path(field)?, touch: None, content: None };
        let Raw::Map(fields) = &field.value.raw else {
            file.touch = self.notes.word(&field.value, FileChange::WORDS, &FileChange::ALL);
            return Some(file);
        };
        for field in fields {
            match &*field.key {
                "is" => {
                    file.touch = self.notes.word(&field.value, FileChange::WORDS, &FileChange::ALL)
                }
                "content" => file.content = self.text(&field.value),
                key => self.notes.unknown_key(field.at, key, WANTED_FILE_KEYS),
            }
        }
        if let (Some(FileChange::Deleted), Some(content)) = (file.touch, get(fields, "content")) {
            self.notes.note(content.at, FaultKind::Conflict(Conflict::ContentOfDeleted));
        }
        Some(file)
    }
}
