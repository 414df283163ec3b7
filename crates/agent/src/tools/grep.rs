//! grep: finds text in files, with the parts that ripgrep is made of.
//!
//! What it reads: `tools/walk.rs`. What it keeps of each file: `tools/grep/matches.rs`. Time, memory and
//! output are bounded; what was left out is told.

mod matches;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::types::{Types, TypesBuilder};
use serde_json::{Value, json};

use super::file_session::FileSession;
use super::file_tool::{FileAccess, FileCall, FileTool};
use super::search_time::SearchTime;
use super::walk::{FileFilter, Unsearched, WalkNext, compile_globs, walk};
use super::{Input, ToolFailure, ToolOutput, input, spec};
use crate::limits::{
    GREP_CONTEXT_MAX, GREP_RESULTS, GREP_RESULTS_MAX, PATTERN_BYTES_MAX, SEARCH_BUFFER_BYTES_MAX,
    SEARCH_REGEX_BYTES_MAX, SEARCH_REGEX_DEPTH_MAX,
};
use crate::workspace::{Found, open_file_in};
use matches::{FileMatches, Mode, Results};

pub(super) fn tool(session: Arc<FileSession>) -> FileTool {
    let count = |what: &str| json!({ "type": "integer", "minimum": 0, "description": what });
    let flag = |what: &str| json!({ "type": "boolean", "description": what });
    let spec = spec(
        "grep",
        "Finds text in files by a regular expression (Rust syntax). Files that git ignores and \
         binary files are left out.",
        &["pattern"],
        json!({
            "pattern": { "type": "string", "minLength": 1, "description": "The regular expression." },
            "path": {
                "type": "string", "minLength": 1,
                "description": "The file or folder to search; the workspace if not given.",
            },
            "glob": {
                "type": "string", "minLength": 1,
                "description": "Only files that match this glob, such as `*.{ts,tsx}`.",
            },
            "type": {
                "type": "string", "minLength": 1,
                "description": "Only files of this type: rust, py, js, go, java, …",
            },
            "output_mode": {
                "type": "string", "enum": ["content", "files_with_matches", "count"],
                "description": "The matching lines, the files (the default), or how many lines \
                                match in each file.",
            },
            "-i": flag("Upper and lower case are the same."),
            "-n": flag("Show line numbers with content; true if not given."),
            "-A": count("Lines to show after each match, with content."),
            "-B": count("Lines to show before each match, with content."),
            "-C": count("Lines to show before and after each match, with content."),
            "head_limit": count("Show this many lines or files; 250 if not given."),
            "offset": count("Leave out this many lines or files first."),
            "multiline": flag("Let a match span lines, and `.` match line breaks."),
        }),
    );
    FileTool { spec, session, access: FileAccess::Read, path_field: "path", work: grep }
}

fn grep(call: &FileCall<'_>) -> Result<ToolOutput, ToolFailure> {
    let (FileCall { session, input, judged, .. }, time) = (call, &SearchTime::new(call.cancel));
    let start = session.to_read(input::text(input, "path").unwrap_or("."), judged)?;
    let mut search = RunningSearch::new(session, input, time)?;
    let left_out = match start.found() {
        Found::Folder => {
            let globs: Vec<&str> = input::text(input, "glob").into_iter().collect();
            let types = input::text(input, "type").map(file_types).transpose()?;
            let filter = FileFilter { globs: compile_globs(start.path(), &globs)?, types };
            walk(&session.workspace, &start, &filter, time, &mut |file| match open_file_in(
                file.folder,
                file.name,
            ) {
                Ok(Ok(opened)) => search.file(opened, file.path),
                Ok(Err(_)) | Err(_) => Ok(search.skip()),
            })?
        }
        Found::Missing | Found::File | Found::Other(_) => {
            search.file(start.open_file()?, start.path())?;
            Unsearched::default()
        }
    };
    Ok(search.report(&left_out))
}

/// A search while it runs.
struct RunningSearch<'a> {
    session: &'a FileSession,
    time: &'a SearchTime,
    matcher: RegexMatcher,
    searcher: Searcher,
    results: Results,
    /// Files that could not be searched.
    skipped: usize,
    timed_out: bool,
}

impl<'a> RunningSearch<'a> {
    fn new(
        session: &'a FileSession,
        input: &Input,
        time: &'a SearchTime,
    ) -> Result<Self, ToolFailure> {
        let mode = match input::text(input, "output_mode") {
            Some("content") => Mode::Content { numbers: input::flag(input, "-n").unwrap_or(true) },
            Some("count") => Mode::Count,
            _ => Mode::Files,
        };
        let lines = |name: &str| {
            let asked = input::number(input, name).or_else(|| input::number(input, "-C"));
            let with_content = matches!(mode, Mode::Content { .. });
            let lines = if with_content { asked.unwrap_or(0).min(GREP_CONTEXT_MAX) } else { 0 };
            usize::try_from(lines).unwrap_or(0)
        };
        let multiline = input::flag(input, "multiline").unwrap_or(false);
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .multi_line(multiline)
            .before_context(lines("-B"))
            .after_context(lines("-A"))
            .heap_limit(Some(SEARCH_BUFFER_BYTES_MAX))
            .binary_detection(BinaryDetection::quit(0))
            .build();
        let matcher = matcher(
            input::needed(input, "pattern")?,
            input::flag(input, "-i").unwrap_or(false),
            multiline,
        )?;
        let count = |name: &str| {
            let count = input::number(input, name)?;
            Some(usize::try_from(count).unwrap_or(usize::MAX).min(GREP_RESULTS_MAX))
        };
        // 0 is how models ask for all.
        let asked_limit = count("head_limit").filter(|limit| *limit > 0);
        let results =
            Results::new(mode, count("offset").unwrap_or(0), asked_limit.unwrap_or(GREP_RESULTS));
        Ok(Self { session, time, matcher, searcher, results, skipped: 0, timed_out: false })
    }

    fn skip(&mut self) -> WalkNext {
        self.skipped += 1;
        WalkNext::GoOn
    }

    fn file(&mut self, file: File, path: &Path) -> Result<WalkNext, ToolFailure> {
        let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
        let shown = self.session.shown(path);
        let mut matches = FileMatches::new(&mut self.results, &shown);
        let source = Timed { file, time: self.time };
        let searched = self.searcher.search_reader(&self.matcher, source, &mut matches);
        let found = matches.count();
        match searched {
            Ok(()) => {}
            Err(_) if self.time.is_cancelled() => return Err(ToolFailure::Interrupted),
            Err(_) if self.time.is_over() => {
                self.timed_out = true;
                return Ok(WalkNext::Enough);
            }
            // A line or a file that is larger than the buffer, or a file that cannot be read.
            Err(_) => self.skipped += 1,
        }
        self.results.end_of_file(path, &shown, found, modified);
        Ok(if self.results.is_full() { WalkNext::Enough } else { WalkNext::GoOn })
    }

    fn report(self, left_out: &Unsearched) -> ToolOutput {
        let mut notes = left_out.notes();
        if self.timed_out {
            notes.push(
                "the search took too long and ended early. Search a smaller folder".to_owned(),
            );
        }
        if self.skipped > 0 {
            notes.push(format!(
                "{} files could not be searched or only in part: not readable, or a line is too long",
                self.skipped
            ));
        }
        let (response, text) = self.results.into_response(self.session, &notes);
        ToolOutput { response, text }
    }
}

fn matcher(pattern: &str, any_case: bool, multiline: bool) -> Result<RegexMatcher, ToolFailure> {
    if pattern.len() > PATTERN_BYTES_MAX {
        return Err(format!("the pattern is longer than {PATTERN_BYTES_MAX} bytes").into());
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(any_case)
        .multi_line(true)
        .dot_matches_new_line(multiline)
        .size_limit(SEARCH_REGEX_BYTES_MAX)
        .dfa_size_limit(SEARCH_REGEX_BYTES_MAX)
        .nest_limit(SEARCH_REGEX_DEPTH_MAX);
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(pattern).map_err(|error| {
        let advice = if !multiline && pattern.contains("\\n") {
            " (set multiline to match line breaks)"
        } else {
            " (write `\\` before a character that is meant as it is)"
        };
        format!("the pattern cannot be used as a regular expression: {error}{advice}").into()
    })
}

fn file_types(name: &str) -> Result<Types, ToolFailure> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    builder.select(name);
    let unknown =
        |_| format!("there is no file type `{name}`: use glob instead, such as `*.{name}`");
    builder.build().map_err(|error| unknown(error).into())
}

/// A file that is no longer read once the search has given up.
struct Timed<'a> {
    file: File,
    time: &'a SearchTime,
}

impl io::Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.time.is_cancelled() || self.time.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}

/// A response says which limit cut it off.
fn with_limit(mut response: Value, limit: Option<usize>) -> Value {
    if let (Some(limit), Some(fields)) = (limit, response.as_object_mut()) {
        fields.insert("appliedLimit".to_owned(), json!(limit));
    }
    response
}
