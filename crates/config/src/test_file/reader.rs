//! Reads a test file. Reading never stops at the first fault.

mod expected;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookwright_engine::hook::Layer;
use hookwright_engine::nearest;
use hookwright_engine::pattern::PatternError;
use hookwright_engine::variables::is_ours;
use hookwright_events::{Event, EventName, table};
use serde_json::{Map, Value};

use super::{CaseStep, TestCase, TestFile, is_within};
use crate::node::{Field, Mark, Node, Raw, parse};
use crate::notes::Notes;
use crate::{ConfigFile, Conflict, ExpectedValue, FaultKind, MissingKey, SourceFile, action, file};

pub(super) const FILE_KEYS: &[&str] = &["version", "cases"];
pub(super) const CASE_KEYS: &[&str] = &[
    "name",
    "event",
    "data",
    "data_file",
    "session",
    "env",
    "files",
    "setup",
    "in_place",
    "expect",
    "steps",
];
pub(super) const STEP_KEYS: &[&str] = &["event", "data", "data_file", "files", "expect"];
pub(super) const EXPECT_KEYS: &[&str] = &[
    "decision",
    "reason",
    "contexts",
    "messages",
    "updated_input",
    "updated_output",
    "piped_output",
    "hooks",
    "files",
];
pub(super) const TEXT_KEYS: &[&str] = &["contains", "matches"];
pub(super) const WANTED_FILE_KEYS: &[&str] = &["is", "content"];

const PATH: &str = "a path within the project, like src/main.rs";

/// Reads and checks a test file. Files that it names are relative to its folder.
pub fn load_test_file(path: &Path, shown_as: &Path) -> TestFile {
    let file = ConfigFile::native(path, shown_as, Layer::Project);
    let read = file::read(&file).and_then(|source| parse(&source).map(|root| (source, root)));
    let (source, root) = match read {
        Ok(read) => read,
        Err(fault) => return TestFile { cases: Vec::new(), faults: vec![fault] },
    };
    let mut reader = TestFileReader {
        folder: path.parent().unwrap_or(Path::new("")),
        shown_folder: shown_as.parent().unwrap_or(Path::new("")),
        notes: Notes::new(&source),
        names: HashMap::new(),
        faults_of_others: Vec::new(),
    };
    let cases = reader.file(&root);
    let mut faults = reader.notes.faults;
    faults.sort_by_key(|fault| fault.place.as_ref().map(|place| (place.line, place.column)));
    faults.extend(reader.faults_of_others);
    TestFile { cases, faults }
}

struct TestFileReader<'a> {
    folder: &'a Path,
    shown_folder: &'a Path,
    notes: Notes<'a>,
    /// Names of cases, and their lines.
    names: HashMap<String, u32>,
    /// Faults of files with data.
    faults_of_others: Vec<crate::Fault>,
}

impl TestFileReader<'_> {
    fn file(&mut self, root: &Node) -> Vec<TestCase> {
        let fields = match &root.raw {
            Raw::Null => &[],
            _ => self.notes.map(root, "a map with the key `cases`").unwrap_or_default(),
        };
        let mut cases = None;
        for field in fields {
            match &*field.key {
                "version" if !matches!(field.value.raw, Raw::Int(1)) => {
                    let found = field.value.to_json().to_string();
                    self.notes.note(field.value.at, FaultKind::UnknownVersion { found });
                }
                "version" => {}
                "cases" => cases = Some(&field.value),
                key => self.notes.unknown_key(field.at, key, FILE_KEYS),
            }
        }
        let is_map = matches!(root.raw, Raw::Null | Raw::Map(_));
        let Some(cases) = cases else {
            if is_map && self.notes.faults.is_empty() {
                self.notes.missing(root.at, MissingKey::Cases);
            }
            return Vec::new();
        };
        let cases = self.notes.list(cases, ExpectedValue::CaseList).unwrap_or_default();
        cases.iter().filter_map(|case| self.case(case)).collect()
    }

    fn case(&mut self, node: &Node) -> Option<TestCase> {
        let faults_before = self.faults();
        let fields = self.notes.map(node, "a case, a map with `name`, `event` and `expect`")?;
        let mut case = TestCase {
            name: String::new(),
            line: node.at.line,
            session: None,
            env: Vec::new(),
            setup: None,
            files: Vec::new(),
            in_place: false,
            steps: Vec::new(),
        };
        for field in fields {
            self.case_field(&mut case, field);
        }
        if get(fields, "name").is_none() {
            self.notes.missing(node.at, MissingKey::CaseName);
        }
        self.steps(&mut case, node, fields);
        if self.faults() == faults_before {
            self.check_together(&case, node, fields);
        }
        (self.faults() == faults_before).then_some(case)
    }

    fn faults(&self) -> usize {
        self.notes.faults.len() + self.faults_of_others.len()
    }

    fn case_field(&mut self, case: &mut TestCase, field: &Field) {
        let value = &field.value;
        match &*field.key {
            "name" => {
                if let Some(name) = self.notes.text(value, "a name in one line") {
                    self.name(case, name, value.at);
                }
            }
            "session" => {
                let expected = "the name of a session";
                case.session = self.notes.text(value, expected).map(str::to_owned);
            }
            "env" => {
                case.env = action::env(value, &mut self.notes);
                self.check_not_ours(value);
            }
            "setup" => {
                case.setup = self.notes.text(value, "a shell command").map(str::to_owned);
            }
            "in_place" => case.in_place = self.notes.bool(value).unwrap_or_default(),
            // Read by `steps`.
            "files" | "event" | "data" | "data_file" | "expect" | "steps" => {}
            key => self.notes.unknown_key(field.at, key, CASE_KEYS),
        }
    }

    fn name(&mut self, case: &mut TestCase, name: &str, at: Mark) {
        let name = name.trim();
        if name.contains('\n') {
            let found = name.lines().next().unwrap_or_default();
            self.notes.bad_value(at, found, "a name in one line");
        }
        if let Some(first_line) = self.names.insert(name.to_owned(), at.line) {
            let name = name.to_owned();
            self.notes.note(at, FaultKind::DuplicateName { name, first_line });
        }
        name.clone_into(&mut case.name);
    }

    /// Refuses our own variables: hooks do not inherit them, since they would describe another
    /// event.
    fn check_not_ours(&mut self, env: &Node) {
        let Raw::Map(fields) = &env.raw else { return };
        for field in fields.iter().filter(|field| is_ours(&field.key)) {
            self.notes.bad_value(field.at, &*field.key, ExpectedValue::FreeVariable);
        }
    }

    fn steps(&mut self, case: &mut TestCase, node: &Node, fields: &[Field]) {
        if let Some(files) = get(fields, "files") {
            case.files = self.given_files(&files.value);
        }
        let Some(steps) = get(fields, "steps") else {
            case.steps.extend(self.step(node.at, fields));
            return;
        };
        for key in ["event", "data", "data_file", "expect"] {
            if let Some(field) = get(fields, key) {
                self.notes.note(field.at, FaultKind::Conflict(Conflict::BesideSteps));
            }
        }
        let list = self.notes.list(&steps.value, "a list of steps").unwrap_or_default();
        if list.is_empty() && matches!(steps.value.raw, Raw::List(_)) {
            self.notes.missing(steps.at, MissingKey::EventOrSteps);
        }
        for step in list {
            let Some(fields) = self.notes.map(step, "a step, a map with `event` and `expect`")
            else {
                continue;
            };
            for field in fields.iter().filter(|field| !STEP_KEYS.contains(&&*field.key)) {
                self.notes.unknown_key(field.at, &field.key, STEP_KEYS);
            }
            let files = get(fields, "files").map(|files| self.given_files(&files.value));
            let step = self.step(step.at, fields);
            let files = files.unwrap_or_default();
            case.steps.extend(step.map(|step| CaseStep { files, ..step }));
        }
    }

    fn step(&mut self, at: Mark, fields: &[Field]) -> Option<CaseStep> {
        let event = match get(fields, "event") {
            Some(field) => self.event_name(&field.value),
            None => {
                self.notes.missing(at, MissingKey::EventOrSteps);
                None
            }
        };
        let data = self.data(fields);
        let expected = get(fields, "expect").map(|expect| self.expected(&expect.value));
        let event = event?;
        if let (Some(data), Some(field)) =
            (&data, get(fields, "data").or_else(|| get(fields, "data_file")))
        {
            self.check_same_event(&event, data, field.value.at);
        }
        Some(CaseStep {
            line: at.line,
            event: Event::new(event, data.unwrap_or_default()),
            files: Vec::new(),
            expected: expected.unwrap_or_default(),
        })
    }

    fn event_name(&mut self, node: &Node) -> Option<EventName> {
        let name = self.notes.text(node, "the name of an event")?;
        let resolved = EventName::resolve(name);
        if resolved.is_none() {
            let nearest = nearest(name, table::all_names());
            let error = PatternError::UnknownEvent { name: name.to_owned(), nearest };
            self.notes.note(node.at, FaultKind::Pattern(error));
        }
        resolved
    }

    /// The data from the case itself, or from the file that it names.
    fn data(&mut self, fields: &[Field]) -> Option<Map<String, Value>> {
        const EXPECTED: &str = "a map with the event's data";
        let (inline, named) = (get(fields, "data"), get(fields, "data_file"));
        match (inline, named) {
            (None, None) => None,
            (Some(inline), None) => {
                self.notes.map(&inline.value, EXPECTED)?;
                object(&inline.value)
            }
            (Some(_), Some(named)) => {
                self.notes.note(named.at, FaultKind::Conflict(Conflict::DataTwice));
                None
            }
            (None, Some(named)) => {
                let name = self.notes.text(&named.value, "the name of a file with the data")?;
                let file = ConfigFile::native(
                    self.folder.join(name),
                    self.shown_folder.join(name),
                    Layer::Project,
                );
                let read = file::read(&file).and_then(|source: Arc<SourceFile>| {
                    let root = parse(&source)?;
                    let mut notes = Notes::new(&source);
                    notes.map(&root, EXPECTED);
                    notes.faults.into_iter().next().map_or_else(|| Ok(object(&root)), Err)
                });
                read.unwrap_or_else(|fault| {
                    self.faults_of_others.push(fault);
                    None
                })
            }
        }
    }

    /// Data that an agent sent contain the event's name; they must not be fired as another event.
    fn check_same_event(&mut self, event: &EventName, data: &Map<String, Value>, at: Mark) {
        for field in ["event", "hook_event_name"] {
            let named = data.get(field).and_then(Value::as_str);
            let other = named.and_then(EventName::resolve).filter(|named| named != event);
            if let (Some(named), Some(_)) = (named, other) {
                self.notes.bad_value(at, named, "data of the event that the case names");
            }
        }
    }

    fn given_files(&mut self, node: &Node) -> Vec<(PathBuf, String)> {
        let fields = self.notes.map(node, "a map from paths to strings").unwrap_or_default();
        let mut files = Vec::new();
        for field in fields {
            let path = self.path(field);
            let text = match &field.value.raw {
                Raw::Text(text) => Some(text.to_string()),
                Raw::Null => Some(String::new()),
                _ => {
                    self.notes.wrong_kind(&field.value, "the content of the file");
                    None
                }
            };
            files.extend(path.zip(text));
        }
        files
    }

    fn path(&mut self, field: &Field) -> Option<PathBuf> {
        let path = PathBuf::from(&*field.key);
        if is_within(&path) && !field.key.contains('\0') {
            return Some(path);
        }
        self.notes.bad_value(field.at, field.key.replace('\0', "\\0"), PATH);
        None
    }

    fn check_together(&mut self, case: &TestCase, node: &Node, fields: &[Field]) {
        let prepares = !case.files.is_empty()
            || case.setup.is_some()
            || case.steps.iter().any(|step| !step.files.is_empty());
        if case.in_place && prepares {
            let at = get(fields, "in_place").map_or(node.at, |field| field.at);
            self.notes.note(at, FaultKind::Conflict(Conflict::PreparesInPlace));
        }
        // A case that checks nothing could not fail.
        if case.steps.iter().all(|step| step.expected.is_empty()) {
            let at = get(fields, "expect").map_or(node.at, |field| field.at);
            self.notes.missing(at, MissingKey::Expect);
        }
    }
}

fn get<'a>(fields: &'a [Field], key: &str) -> Option<&'a Field> {
    fields.iter().find(|field| &*field.key == key)
}

fn object(node: &Node) -> Option<Map<String, Value>> {
    match node.to_json() {
        Value::Object(object) => Some(object),
        _ => None,
    }
}
