//! glob and grep: what they find, and what a hostile repository or pattern cannot do.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, SystemTime};

use hookwright_agent::tool::{ToolEnd, Touches};
use serde_json::json;

use super::{Bench, run};

impl Bench {
    /// A file whose last change was so many seconds ago.
    fn write_aged(&self, name: &str, content: &str, age: u64) {
        self.write(name, content);
        let file = fs::File::options().write(true).open(self.root().join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
    }

    fn globbed(&self, pattern: &str) -> String {
        self.ran("glob", json!({ "pattern": pattern })).1
    }

    fn grepped(&self, pattern: &str) -> String {
        let input = json!({ "pattern": pattern, "output_mode": "content" });
        self.ran("grep", input).1
    }
}

#[test]
fn glob_finds_names_the_newest_first() {
    let bench = Bench::new();
    bench.write_aged("old.rs", "", 100);
    bench.write_aged("src/new.rs", "", 10);
    bench.write_aged("src/deep/mid.rs", "", 50);
    bench.write_aged("src/.hidden.rs", "", 70);
    bench.write_aged("src/new.ts", "", 1);
    let all = "src/new.rs\nsrc/deep/mid.rs\nsrc/.hidden.rs\nold.rs";
    assert_eq!(bench.globbed("**/*.rs"), all);
    assert_eq!(bench.globbed("*.rs"), all, "without a slash, in any folder");
    assert_eq!(bench.globbed("src/*.{rs,ts}"), "src/new.ts\nsrc/new.rs\nsrc/.hidden.rs");
    let root = bench.root();
    assert_eq!(bench.globbed(&format!("{}/src/**/m*.rs", root.display())), "src/deep/mid.rs");
    let (response, text) = bench.ran("glob", json!({ "pattern": "*.rs", "path": "src/deep" }));
    assert_eq!(text, "src/deep/mid.rs");
    assert_eq!(response["filenames"], json!([root.join("src/deep/mid.rs")]));
    assert_eq!(bench.globbed("*.none"), "no files found");
    assert_eq!(bench.globbed("#*"), "no files found", "no comment");
    let touches = bench.touches("glob", &json!({ "pattern": "*", "path": "src" }));
    assert_eq!(touches, Touches::Reads(root.join("src")));
}

#[test]
fn glob_shows_the_newest_hundred_and_says_how_many_there_are() {
    let bench = Bench::new();
    for n in 0..150 {
        bench.write_aged(&format!("f{n:03}"), "", 1000 - n);
    }
    let (response, text) = bench.ran("glob", json!({ "pattern": "f*" }));
    assert!(text.starts_with("f149\nf148\n"), "{text}");
    assert!(text.ends_with("\nf050\n(the newest 100 of 150 files)"), "{text}");
    assert_eq!((&response["numFiles"], &response["truncated"]), (&json!(100), &json!(true)));
}

#[test]
fn ignored_files_links_and_version_control_are_left_out() {
    let bench = Bench::new();
    bench.write(".gitignore", "target/\n*.log\n");
    bench.write("a/.gitignore", "!kept.log\n");
    bench.write("a/.ignore", "secret\n");
    for name in ["target/x", "b.log", "a/c.log", "a/kept.log", "a/secret", ".git/config", "a/d"] {
        bench.write(name, "needle\n");
    }
    fs::write(bench.outside().join("f"), "needle\n").unwrap();
    symlink("../outside", bench.root().join("out")).unwrap();
    symlink("../outside/f", bench.root().join("f")).unwrap();
    assert_eq!(bench.grepped("needle"), "a/d:1:needle\na/kept.log:1:needle");
    let inside = json!({ "pattern": "needle", "path": "a", "output_mode": "content" });
    assert_eq!(bench.ran("grep", inside).1, "a/d:1:needle\na/kept.log:1:needle");
    let named = json!({ "pattern": "needle", "path": "target", "output_mode": "content" });
    assert_eq!(
        bench.ran("grep", named).1,
        "target/x:1:needle",
        "a folder that is named is searched"
    );
}

#[test]
fn a_repository_cannot_stop_a_search_by_its_ignore_files_or_names() {
    let bench = Bench::new();
    bench.write("a/x\ny:1:fake", "needle\n");
    bench.write("b/f", "needle\n");
    let pipe = bench.root().join("b/.gitignore");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    bench.write("c/f", "needle\n");
    bench.write("c/.gitignore", "f*\n".repeat(100_000));
    bench.write("d/f", "needle\n");
    symlink("/dev/zero", bench.root().join("d/.ignore")).unwrap();
    let pipe = bench.root().join("e");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(
        bench.grepped("needle"),
        "a/x\\ny:1:fake:1:needle\nb/f:1:needle\nc/f:1:needle\nd/f:1:needle\n(3 ignore files are too \
         large or no regular files, and were not used)"
    );
}

#[test]
fn grep_has_three_modes_and_context() {
    let bench = Bench::new();
    bench.write_aged("a.txt", "one\nTWO\nthree\nfour\nfive\ntwo\n", 10);
    bench.write_aged("b.rs", "two\n", 1);
    let grep = |input: serde_json::Value| bench.ran("grep", input);
    assert_eq!(grep(json!({ "pattern": "two" })).1, "b.rs\na.txt", "the newest first");
    let counted = grep(json!({ "pattern": "two", "-i": true, "output_mode": "count" }));
    assert_eq!(counted.1, "a.txt:2\nb.rs:1");
    assert_eq!(counted.0["numMatches"], json!(3));
    let content = json!({ "pattern": "TWO|five", "output_mode": "content", "-A": 1, "-n": true });
    assert_eq!(grep(content).1, "a.txt:2:TWO\na.txt-3-three\n--\na.txt:5:five\na.txt-6-two");
    let content = json!({ "pattern": "three", "output_mode": "content", "-C": 1, "-n": false });
    assert_eq!(grep(content).1, "a.txt-TWO\na.txt:three\na.txt-four");
    assert_eq!(grep(json!({ "pattern": "two", "type": "rust" })).1, "b.rs");
    assert_eq!(grep(json!({ "pattern": "two", "glob": "*.{txt,md}" })).1, "a.txt");
    assert_eq!(grep(json!({ "pattern": "two", "glob": "!*.txt" })).1, "b.rs");
    let lines = json!({ "pattern": "TWO.*four", "multiline": true, "output_mode": "content" });
    assert_eq!(grep(lines).1, "a.txt:2:TWO\na.txt:3:three\na.txt:4:four");
    let file = json!({ "pattern": "two", "path": "a.txt", "output_mode": "content" });
    assert_eq!(grep(file).1, "a.txt:6:two");
    assert_eq!(grep(json!({ "pattern": "zzz" })).1, "no matches found");
    let page = json!({ "pattern": "o", "output_mode": "content", "head_limit": 1, "offset": 1 });
    let (response, text) = grep(page);
    assert_eq!(text, "a.txt:4:four\n(there is more: narrow the search, or go on with offset)");
    assert_eq!(response["appliedLimit"], json!(1));
}

#[test]
fn grep_shows_a_bounded_part_of_long_lines_and_many_matches() {
    let bench = Bench::new();
    bench.write("long", format!("needle{}\n", "é".repeat(1000)));
    let text = bench.grepped("needle");
    assert_eq!(text, format!("long:1:needle{}… [1506 more bytes]", "é".repeat(247)));
    bench.write("many", "needle\n".repeat(100_000));
    let text = bench.grepped("^needle$");
    assert_eq!(text.lines().count(), 251, "{text}");
    let all = json!({ "pattern": "^needle$", "output_mode": "content", "head_limit": 90_000 });
    assert!(bench.ran("grep", all).1.len() < 31_000);
    let count = json!({ "pattern": "^needle$", "output_mode": "count" });
    assert_eq!(bench.ran("grep", count).1, "many:100000");
}

#[test]
fn binary_files_are_searched_up_to_their_first_nul() {
    let bench = Bench::new();
    bench.write("binary", b"\0\0needle\n");
    bench.write("latin", b"caf\xe9 needle\n");
    assert_eq!(bench.grepped("needle"), "latin:1:caf\u{fffd} needle");
}

#[test]
fn patterns_that_cannot_be_used_say_why() {
    let bench = Bench::new();
    let grep = |pattern: &str| bench.failed("grep", json!({ "pattern": pattern }));
    let error = grep("(");
    assert!(error.starts_with("the pattern cannot be used as a regular expression"), "{error}");
    assert!(error.contains("unclosed group"), "{error}");
    let error = grep("a\\nb");
    assert!(error.ends_with("(set multiline to match line breaks)"), "{error}");
    let error = grep("(a{1000}){100}");
    assert!(error.contains("exceeds size limit"), "{error}");
    let deep = "(".repeat(150) + &")".repeat(150);
    assert!(grep(&deep).contains("exceed the maximum"), "{}", grep(&deep));
    assert_eq!(grep(&"x".repeat(5000)), "the pattern is longer than 4096 bytes");
    let error = bench.failed("grep", json!({ "pattern": "x", "type": "nonsense" }));
    assert_eq!(error, "there is no file type `nonsense`: use glob instead, such as `*.nonsense`");
    let glob = |pattern: &str| bench.failed("glob", json!({ "pattern": pattern }));
    assert!(glob("a{b").starts_with("the pattern `a{b` is not a valid glob"), "{}", glob("a{b"));
    assert_eq!(glob("../*"), "a pattern cannot contain `..`: set path to the folder to search");
    assert!(glob("/etc/*").starts_with("the pattern is not below `/workspace`"));
    bench.write("f", "");
    let error = bench.failed("glob", json!({ "pattern": "*", "path": "f" }));
    assert_eq!(error, "`f` is not a folder: path is the folder to search");
    let error = bench.failed("grep", json!({ "pattern": "x", "path": "none" }));
    assert_eq!(error, "`/workspace/none` does not exist");
}

#[test]
fn a_search_ends_when_it_is_cancelled() {
    let bench = Bench::new();
    bench.write("f", "x\n");
    bench.cancel.cancel();
    for (tool, input) in [
        ("grep", json!({ "pattern": "x" })),
        ("glob", json!({ "pattern": "*" })),
        ("read", json!({ "file_path": "f" })),
    ] {
        let end = bench.runtime.block_on(run(bench.tool(tool), &input, &bench.cancel));
        assert!(matches!(end, ToolEnd::Failed { is_interrupt: true, .. }), "{tool}: {end:?}");
    }
}
