use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::agent::{CallResult, CompactTrigger};
use crate::message::Usage;
use crate::model::ModelAnswer;

struct Bench {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Bench {
    fn new() -> (Self, Transcript) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("t.jsonl");
        let transcript = Transcript::create(&path, facts()).expect("created");
        (Self { _folder: folder, path }, transcript)
    }

    fn reopened(&self, marks: &[TranscriptMark]) -> Result<ContinuedTranscript, TranscriptError> {
        Transcript::reopen(&self.path, facts(), marks)
    }
}

fn facts() -> TranscriptFacts {
    TranscriptFacts {
        session_id: "session-1".to_owned(),
        cwd: "/srv/app".to_owned(),
        version: "1.0.0".to_owned(),
        agent_id: None,
    }
}

fn tool_use(id: &str, command: &str) -> Block {
    let input = json!({ "command": command }).as_object().cloned().expect("an object");
    Block::ToolUse { id: id.to_owned(), name: "bash".to_owned(), input }
}

fn tool_result(id: &str, text: &str) -> Block {
    Block::ToolResult { tool_use_id: id.to_owned(), content: text.to_owned(), is_error: false }
}

fn say(transcript: &mut Transcript, text: &str) {
    transcript.user(&Message::user(vec![Block::text(text)]), "T").expect("written");
}

fn answer(transcript: &mut Transcript, content: Vec<Block>) {
    let answer = ModelAnswer {
        id: "msg_1".to_owned(),
        model: "m".to_owned(),
        content: content.clone(),
        broken_inputs: Vec::new(),
        stop_reason: None,
        usage: Usage::default(),
    };
    transcript.assistant(&answer, &Message::assistant(content), "T").expect("written");
}

fn result(transcript: &mut Transcript, id: &str, text: &str) {
    let result = CallResult {
        id: id.to_owned(),
        tool: "bash".to_owned(),
        input: serde_json::Map::new(),
        end: None,
        denied: None,
        is_suppressed: false,
    };
    transcript.result(&tool_result(id, text), &result, "T").expect("written");
}

#[test]
fn the_conversation_is_rebuilt_as_the_model_saw_it() {
    let (bench, mut transcript) = Bench::new();
    say(&mut transcript, "go");
    answer(&mut transcript, vec![tool_use("1", "rm"), tool_use("2", "ls")]);
    let input = json!({ "command": "trash" }).as_object().cloned().expect("an object");
    transcript.rewritten("1", &input, "a hook rewrote it", "T").expect("written");
    transcript.notice("for the user only", "T").expect("written");
    result(&mut transcript, "1", "moved");
    result(&mut transcript, "2", "a.txt");
    say(&mut transcript, "From a hook:\nbe brief");
    answer(&mut transcript, vec![Block::text("done")]);
    let mark = transcript.mark();
    let continued = bench.reopened(std::slice::from_ref(&mark)).expect("it is whole");
    assert_eq!(
        continued.messages,
        [
            Message::user(vec![Block::text("go")]),
            Message::assistant(vec![tool_use("1", "trash"), tool_use("2", "ls")]),
            Message::user(vec![
                tool_result("1", "moved"),
                tool_result("2", "a.txt"),
                Block::text("From a hook:\nbe brief"),
            ]),
            Message::assistant(vec![Block::text("done")]),
        ]
    );
    assert_eq!((continued.cut_off, continued.notices), (Vec::new(), Vec::new()));
    assert_eq!(continued.transcript.mark(), mark);
}

#[test]
fn a_continued_transcript_is_continued_again_as_one_whole() {
    let (bench, mut transcript) = Bench::new();
    say(&mut transcript, "go");
    answer(&mut transcript, vec![Block::text("done")]);
    let first = transcript.mark();
    let mut again = bench.reopened(std::slice::from_ref(&first)).expect("whole").transcript;
    say(&mut again, "more");
    let second = again.mark();
    let continued = bench.reopened(&[first, second]).expect("whole");
    assert_eq!(continued.messages.len(), 3);
}

#[test]
fn a_call_without_a_result_is_reported_as_cut_off() {
    let (bench, mut transcript) = Bench::new();
    say(&mut transcript, "go");
    answer(&mut transcript, vec![tool_use("1", "ls"), tool_use("2", "sleep 9")]);
    result(&mut transcript, "1", "a.txt");
    let continued = bench.reopened(&[]).expect("whole");
    assert_eq!(continued.messages[2], Message::user(vec![tool_result("1", "a.txt")]));
    assert_eq!(continued.cut_off, [cut_off("2")]);
    // Once the next message is there, it is part of the conversation.
    let mut transcript = continued.transcript;
    say(&mut transcript, "go on");
    let continued = bench.reopened(&[]).expect("whole");
    let expected = vec![tool_result("1", "a.txt"), cut_off("2"), Block::text("go on")];
    assert_eq!(continued.messages[2].content, expected);
    assert_eq!(continued.cut_off, []);
}

#[test]
fn only_what_follows_a_compaction_counts() {
    let (bench, mut transcript) = Bench::new();
    say(&mut transcript, "go");
    answer(&mut transcript, vec![Block::text("a long story")]);
    let now = vec![
        Message::user(vec![Block::text("the summary")]),
        Message::assistant(vec![Block::text("so far")]),
        Message::user(vec![Block::text("go on")]),
    ];
    transcript.compacted(CompactTrigger::Auto, 9, &now, "T").expect("written");
    let continued = bench.reopened(&[]).expect("whole");
    assert_eq!(continued.messages, now);
}

/// A program can be killed anywhere within a long write.
#[test]
fn a_compaction_that_was_cut_off_is_left_out_and_the_conversation_before_it_goes_on() {
    let (bench, mut transcript) = Bench::new();
    say(&mut transcript, "go");
    answer(&mut transcript, vec![tool_use("1", "ls")]);
    result(&mut transcript, "1", "a.txt");
    let mark = transcript.mark();
    let before = bench.reopened(&[]).expect("whole").messages;
    let now = vec![
        Message::user(vec![Block::text("the summary")]),
        Message::assistant(vec![tool_use("1", "ls")]),
        Message::user(vec![tool_result("1", "a.txt")]),
    ];
    transcript.compacted(CompactTrigger::Auto, 9, &now, "T").expect("written");
    let text = fs::read_to_string(&bench.path).expect("readable");
    let whole = usize::try_from(mark.bytes).expect("small");
    for cut in whole..text.len() {
        fs::write(&bench.path, &text[..cut]).expect("written");
        let continued = bench.reopened(std::slice::from_ref(&mark)).expect("usable");
        assert_eq!(continued.messages, before, "{cut} bytes");
        assert_eq!(continued.notices.is_empty(), cut == whole, "{:?}", continued.notices);
        assert_eq!(continued.transcript.mark(), mark);
        let mut transcript = continued.transcript;
        say(&mut transcript, "more");
        assert!(bench.reopened(std::slice::from_ref(&mark)).expect("whole").notices.is_empty());
    }
    fs::write(&bench.path, &text).expect("written");
    assert_eq!(bench.reopened(&[mark]).expect("whole").messages, now);
}

#[test]
fn half_lines_of_subagents_go_when_the_session_is_continued() {
    let (bench, mut transcript) = Bench::new();
    say(&mut transcript, "go");
    let of_subagent = crate::transcript::subagent_path(&bench.path, "a1");
    fs::create_dir_all(of_subagent.parent().expect("a folder")).expect("created");
    fs::write(&of_subagent, "{}\n{\"type\":").expect("written");
    bench.reopened(&[]).expect("whole");
    assert_eq!(fs::read_to_string(&of_subagent).expect("read"), "{}\n");
}

#[test]
fn half_a_line_is_left_out_with_a_notice_and_the_file_goes_on_whole() {
    let (bench, mut transcript) = Bench::new();
    say(&mut transcript, "go");
    let mark = transcript.mark();
    answer(&mut transcript, vec![Block::text("done")]);
    let text = fs::read_to_string(&bench.path).expect("readable");
    for cut in [mark.bytes + 1, text.len() as u64 - 1] {
        let cut = usize::try_from(cut).expect("small");
        fs::write(&bench.path, &text[..cut]).expect("written");
        let continued = bench.reopened(std::slice::from_ref(&mark)).expect("usable");
        assert_eq!(continued.messages.len(), 1);
        assert_eq!(continued.notices.len(), 1, "{:?}", continued.notices);
        assert!(continued.notices[0].contains("cut off in the middle"));
        let mut transcript = continued.transcript;
        say(&mut transcript, "more");
        assert!(bench.reopened(std::slice::from_ref(&mark)).expect("whole").notices.is_empty());
    }
}

#[test]
fn a_missing_end_is_a_notice_and_what_is_left_is_still_checked() {
    let (bench, mut transcript) = Bench::new();
    say(&mut transcript, "go");
    let first = transcript.mark();
    answer(&mut transcript, vec![Block::text("done")]);
    let marks = [first.clone(), transcript.mark()];
    let text = fs::read_to_string(&bench.path).expect("readable");
    let left = usize::try_from(first.bytes).expect("small");
    fs::write(&bench.path, &text[..left]).expect("written");
    let continued = bench.reopened(&marks).expect("usable");
    assert!(continued.notices[0].starts_with("the end of the transcript is missing"));
    fs::write(&bench.path, text[..left].replace("go", "no")).expect("written");
    assert!(matches!(bench.reopened(&marks), Err(TranscriptError::Edited { line: 1 })));
}

#[test]
fn an_edited_transcript_is_refused() {
    let (bench, mut transcript) = Bench::new();
    say(&mut transcript, "go");
    answer(&mut transcript, vec![Block::text("done")]);
    let mark = transcript.mark();
    say(&mut transcript, "behind the last mark");
    let text = fs::read_to_string(&bench.path).expect("readable");
    let lines: Vec<&str> = text.lines().collect();
    for edited in [
        text.replace("done", "fine"),
        text.replace("\"go\"", "\"so\""),
        format!("{}\n{}\n", lines[0], lines[2]),
        format!("{}\n{}\n{}\n", lines[1], lines[0], lines[2]),
        format!("{text}{{}}\n"),
        format!("{text}nothing\n"),
        format!("{}\n{}\n{}\n", lines[0], lines[1], lines[1]),
        text.replace("session-1", "session-2"),
    ] {
        fs::write(&bench.path, &edited).expect("written");
        let refused = bench.reopened(std::slice::from_ref(&mark));
        assert!(
            matches!(
                refused,
                Err(TranscriptError::Edited { .. } | TranscriptError::BadLine { .. })
            ),
            "{edited}"
        );
        assert_eq!(fs::read_to_string(&bench.path).expect("readable"), edited, "it was changed");
    }
}

#[test]
fn a_link_in_place_of_a_transcript_is_refused() {
    let (bench, transcript) = Bench::new();
    drop(transcript);
    let other = bench.path.with_file_name("other");
    fs::rename(&bench.path, &other).expect("moved");
    std::os::unix::fs::symlink(&other, &bench.path).expect("linked");
    assert!(matches!(bench.reopened(&[]), Err(TranscriptError::Unreadable(_))));
}
