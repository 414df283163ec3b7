//! read, write and edit: what they show and change, and where they do not go.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::process::Command;

use hookwright_agent::tool::{ToolCall, ToolEnd, Touches};
use hookwright_agent::workspace::ProtectedFiles;
use serde_json::{Value, json};

use super::{Bench, object, run};

fn path(name: &str) -> Value {
    json!({ "file_path": name })
}

fn content(name: &str, content: &str) -> Value {
    json!({ "file_path": name, "content": content })
}

fn edit(name: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": name, "old_string": old, "new_string": new })
}

#[test]
fn read_numbers_lines_and_says_what_follows() {
    let bench = Bench::new();
    bench.write("a.txt", "one\r\ntwo\nthree\n");
    assert_eq!(bench.ran("read", path("a.txt")).1, "1\tone\n2\ttwo\n3\tthree");
    let part = json!({ "file_path": "a.txt", "offset": 2, "limit": 1 });
    assert_eq!(bench.ran("read", part).1, "2\ttwo\n(lines 2 to 2 of 4; go on with offset 3)");
    let behind = json!({ "file_path": "a.txt", "offset": 9 });
    assert_eq!(bench.ran("read", behind).1, "(the file has 4 lines, so there is no line 9)");
    bench.write("empty", "");
    assert_eq!(bench.ran("read", path("empty")).1, "(the file is empty)");
}

#[test]
fn read_shows_at_most_2000_lines_unless_more_are_asked_for() {
    let bench = Bench::new();
    bench.write("many", "x\n".repeat(3000));
    let (response, text) = bench.ran("read", path("many"));
    assert!(text.ends_with("2000\tx\n(lines 1 to 2000 of 3001; go on with offset 2001)"), "{text}");
    assert_eq!(response["file"]["numLines"], json!(2000));
    let all = json!({ "file_path": "many", "limit": 5000 });
    assert!(bench.ran("read", all).1.ends_with("3000\tx"));
}

#[test]
fn read_cuts_long_lines_between_characters_and_says_so() {
    let bench = Bench::new();
    bench.write("long", format!("x{}\nshort\n", "é".repeat(3000)));
    let (_, text) = bench.ran("read", path("long"));
    let shown = format!("1\tx{}… [4002 more bytes]\n2\tshort\n", "é".repeat(999));
    let note = "(1 lines are longer than 2000 bytes and are cut)";
    assert_eq!(text, format!("{shown}{note}"));
}

#[test]
fn read_refuses_what_is_not_text_with_what_to_do() {
    let bench = Bench::new();
    bench.write("binary", b"\x7fELF\0\0");
    assert_eq!(
        bench.failed("read", path("binary")),
        "`binary` is a binary file of 6 bytes, which cannot be shown as text: use bash with a program \
         that knows its format"
    );
    fs::create_dir(bench.root().join("folder")).unwrap();
    assert_eq!(
        bench.failed("read", path("folder")),
        "`/workspace/folder` is a folder, not a regular file"
    );
    let pipe = bench.root().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert_eq!(
        bench.failed("read", path("pipe")),
        "`/workspace/pipe` is a pipe, not a regular file"
    );
    assert_eq!(bench.failed("read", path("none")), "`/workspace/none` does not exist");
    assert_eq!(bench.failed("read", path("binary/x")), "`/workspace/binary` is not a folder");
    assert_eq!(bench.failed("read", path("none/../binary")), "`/workspace/none` does not exist");
}

#[test]
fn a_file_that_is_not_utf_8_can_be_read_but_not_damaged() {
    let bench = Bench::new();
    bench.write("latin", b"caf\xe9\n");
    let (_, text) = bench.ran("read", path("latin"));
    assert!(text.starts_with("1\tcaf\u{fffd}\n(the file is not valid UTF-8"), "{text}");
    let expected = "`latin` is not UTF-8 text, and changing it here would damage it: use bash with a \
                    program that keeps its format";
    assert_eq!(bench.failed("edit", edit("latin", "caf", "tea")), expected);
    assert_eq!(bench.failed("write", content("latin", "tea")), expected);
    assert_eq!(fs::read(bench.root().join("latin")).unwrap(), b"caf\xe9\n");
}

#[test]
fn a_large_file_is_read_in_parts() {
    let bench = Bench::new();
    bench.write("large", "0123456789abcde\n".repeat(100_000));
    assert_eq!(
        bench.failed("read", path("large")),
        "`large` has 1600000 bytes, more than the 262144 that are shown at once: read a part of it \
         with offset and limit, or search it with grep"
    );
    let (response, text) =
        bench.ran("read", json!({ "file_path": "large", "offset": 99_999, "limit": 2 }));
    assert_eq!(
        text,
        "99999\t0123456789abcde\n100000\t0123456789abcde\n(lines 99999 to 100000 of 100001; go on \
         with offset 100001)"
    );
    assert_eq!(response["file"]["totalLines"], json!(100_001));
    let (_, text) = bench.ran("read", json!({ "file_path": "large", "limit": 100_000 }));
    assert!(text.len() < 400_000 && text.contains("go on with offset 16385"), "{}", text.len());
}

#[test]
fn write_makes_folders_and_keeps_the_mode() {
    let bench = Bench::new();
    assert_eq!(bench.ran("write", content("a/b/new.sh", "x\n")).1, "created `a/b/new.sh` (1 line)");
    let file = bench.root().join("a/b/new.sh");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(
        bench.ran("write", content("a/b/new.sh", "y\nz\n")).1,
        "updated `a/b/new.sh` (2 lines)"
    );
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o750);
    assert_eq!(bench.text("a/b/new.sh"), "y\nz\n");
    let names: Vec<_> = fs::read_dir(bench.root().join("a/b")).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing is left beside it");
}

#[test]
fn a_file_is_changed_only_as_the_model_has_seen_it() {
    let bench = Bench::new();
    bench.write("a", "old\n");
    let unread = "`a` exists and was not read in this session: read it first";
    assert_eq!(bench.failed("write", content("a", "new\n")), unread);
    assert_eq!(bench.failed("edit", edit("a", "old", "new")), unread);
    bench.ran("read", path("a"));
    bench.ran("edit", edit("a", "old", "new"));
    bench.ran("edit", edit("a", "new", "newer"));
    bench.write("a", "of another\n");
    let changed = "`a` was changed since it was read: read it again, then try again";
    assert_eq!(bench.failed("edit", edit("a", "of", "by")), changed);
    assert_eq!(bench.failed("write", content("a", "mine\n")), changed);
    assert_eq!(bench.text("a"), "of another\n");
    bench.ran("read", path("a"));
    bench.ran("write", content("a", "mine\n"));
    assert_eq!(bench.text("a"), "mine\n");
}

#[test]
fn edit_says_what_to_do_when_the_text_is_not_there_exactly_once() {
    let bench = Bench::new();
    bench.write("a", "x\ny\nx\n");
    bench.ran("read", path("a"));
    assert_eq!(
        bench.failed("edit", edit("a", "z", "w")),
        "old_string was not found in `a`: it has to be exactly as in the file, with its spaces and \
         line breaks. Read the file again if you are not sure"
    );
    assert_eq!(
        bench.failed("edit", edit("a", "x", "w")),
        "old_string was found 2 times in `a`: add lines around it so that it is there once, or set \
         replace_all"
    );
    assert_eq!(
        bench.failed("edit", edit("a", "x", "x")),
        "old_string and new_string are the same: there is nothing to change"
    );
    assert_eq!(
        bench.failed("edit", edit("a", "", "x")),
        "old_string is empty, and `a` is not: name the text to replace"
    );
    assert_eq!(
        bench.failed("edit", edit("none", "x", "y")),
        "`none` does not exist: use write, or an empty old_string to make it"
    );
    let all =
        json!({ "file_path": "a", "old_string": "x", "new_string": "w", "replace_all": true });
    assert_eq!(bench.ran("edit", all).1, "updated `a` in 2 places");
    assert_eq!(bench.text("a"), "w\ny\nw\n");
}

#[test]
fn edit_keeps_line_ends_that_the_model_does_not_see() {
    let bench = Bench::new();
    bench.write("dos", "one\r\ntwo\r\nthree\r\n");
    bench.ran("read", path("dos"));
    bench.ran("edit", edit("dos", "one\ntwo", "1\n2"));
    assert_eq!(bench.text("dos"), "1\r\n2\r\nthree\r\n");
}

#[test]
fn edits_of_one_file_at_once_are_all_kept() {
    let bench = Bench::new();
    let lines: String = (0..20).map(|n| format!("<{n}>\n")).collect();
    bench.write("a", lines);
    bench.ran("read", path("a"));
    bench.runtime.block_on(async {
        let mut edits = tokio::task::JoinSet::new();
        for n in 0..20 {
            let (tool, cancel) = (bench.tool("edit").clone(), bench.cancel.clone());
            edits.spawn(async move {
                let input = edit("a", &format!("<{n}>"), &format!("[{n}]"));
                run(&tool, &input, &cancel).await
            });
        }
        while let Some(end) = edits.join_next().await {
            assert!(matches!(end.unwrap(), ToolEnd::Ran { .. }));
        }
    });
    let expected: String = (0..20).map(|n| format!("[{n}]\n")).collect();
    assert_eq!(bench.text("a"), expected);
}

#[test]
fn an_edit_that_would_explode_is_refused() {
    let bench = Bench::new();
    bench.write("a", "x".repeat(100_000));
    bench.ran("read", path("a"));
    let all = json!({
        "file_path": "a", "old_string": "x", "new_string": "y".repeat(100_000), "replace_all": true,
    });
    let error = bench.failed("edit", all);
    assert!(error.starts_with("the new content has 10000000000 bytes"), "{error}");
}

#[test]
fn a_path_outside_is_refused_by_whatever_way_it_leads_there() {
    let bench = Bench::new();
    let outside = bench.outside();
    fs::write(outside.join("secret"), "s").unwrap();
    symlink(outside.join("secret"), bench.root().join("link")).unwrap();
    symlink("../outside", bench.root().join("folder")).unwrap();
    symlink(outside.join("not-yet"), bench.root().join("dangling")).unwrap();
    let absolute = outside.join("secret").to_string_lossy().into_owned();
    let ways = [
        (absolute.as_str(), "/outside/secret"),
        ("../outside/secret", "/outside/secret"),
        ("a/../../outside/secret", "/workspace/a"),
        ("folder/../outside/secret", "/outside/secret"),
        ("link", "/outside/secret"),
        ("folder/secret", "/outside/secret"),
        ("folder/none/new", "/outside/none/new"),
        ("dangling", "/outside/not-yet"),
        ("/proc/self/cwd/Cargo.toml", ""),
    ];
    for (asked, leads_to) in ways {
        for (tool, input) in [
            ("read", path(asked)),
            ("write", content(asked, "x")),
            ("edit", edit(asked, "s", "x")),
            ("edit", edit(asked, "", "x")),
            ("glob", json!({ "pattern": "*", "path": asked })),
            ("grep", json!({ "pattern": "s", "path": asked })),
        ] {
            let Touches::Refused(error) = bench.touches(tool, &input) else {
                panic!("{tool} {asked} is judged");
            };
            let error = bench.plain(&error);
            let (leads, expected) = match asked {
                "a/../../outside/secret" => (leads_to, "does not exist"),
                _ => (leads_to, "is outside the workspace `/workspace`: use a path inside it"),
            };
            assert!(error.contains(leads) && error.ends_with(expected), "{tool} {asked}: {error}");
            // A host that does not ask first gets the same.
            let judged = Touches::Reads(outside.join("secret"));
            let input = object(&input);
            let call = ToolCall {
                id: "1",
                input: &input,
                judged: &judged,
                run_id: "tool-1",
                cancel: &bench.cancel,
            };
            let end = bench.runtime.block_on(bench.tool(tool).run(call));
            let ToolEnd::Failed { error, .. } = end else { panic!("{tool} {asked}: {end:?}") };
            assert!(bench.plain(&error).ends_with(expected), "{tool} {asked}: {error}");
        }
    }
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "s");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing was made there");
}

#[test]
fn what_is_no_path_is_refused() {
    let bench = Bench::new();
    assert_eq!(bench.failed("read", path("")), "field `file_path` of `read` must not be empty");
    let nul = bench.failed("read", path("a\0b"));
    assert_eq!(nul, "the path contains a NUL character, which no file name has");
    let home = bench.failed("write", content("~/.bashrc", "x"));
    assert_eq!(
        home,
        "`~/.bashrc`: `~` is not expanded here; write the whole path (or `./~/.bashrc`)"
    );
    bench.ran("write", content("./~/x", "x"));
    let long = bench.failed("read", path(&"a/".repeat(3000)));
    assert_eq!(long, "the path is longer than 4096 bytes");
    symlink("loop", bench.root().join("loop")).unwrap();
    assert_eq!(
        bench.failed("read", path("loop")),
        "`/workspace/loop` leads through too many links"
    );
    let name = bench.failed("write", content(&"n".repeat(300), "x"));
    assert!(name.contains("cannot open"), "{name}");
}

#[test]
fn links_inside_and_allowed_folders_are_followed() {
    let bench = Bench::with(|root| {
        let outside = root.parent().unwrap().join("outside");
        (vec![outside], ProtectedFiles::new(Vec::new(), &[]).unwrap())
    });
    bench.write("real/a", "old\n");
    symlink("real/a", bench.root().join("link")).unwrap();
    bench.ran("read", path("link"));
    bench.ran("edit", edit("link", "old", "new"));
    assert_eq!(bench.text("real/a"), "new\n");
    assert!(bench.root().join("link").is_symlink(), "the link stays");
    let there = bench.outside().join("x").to_string_lossy().into_owned();
    bench.ran("write", content(&there, "allowed"));
    assert_eq!(bench.touches("read", &path("../outside/x")), Touches::Reads(there.into()));
}

#[test]
fn protected_files_can_be_read_and_never_changed() {
    let bench = Bench::new();
    bench.write("hookwright.yaml", "hooks: {}\n");
    bench.write("sub/.claude/settings.json", "{}");
    bench.write("transcripts/session.jsonl", "{}\n");
    bench.write("cfg/keep", "");
    let at = |name: &str| bench.root().join(name);
    symlink("hookwright.yaml", at("link")).unwrap();
    symlink(".claude/settings.local.json", at("dangling")).unwrap();
    symlink("transcripts", at("t")).unwrap();
    fs::create_dir(at("lnk")).unwrap();
    symlink("../cfg", at("lnk/.claude")).unwrap();
    fs::hard_link(at("transcripts/session.jsonl"), at("hard")).unwrap();
    bench.ran("read", path("hookwright.yaml"));
    bench.ran("read", path("hard"));
    let protected = [
        "hookwright.yaml",
        "./sub/../hookwright.yaml",
        "HookWright.YAML",
        "hoo\u{212a}wright.yaml",
        "hook\u{200b}wright.yaml",
        "new/hookwright.yaml",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/\u{17f}ettings.json",
        "lnk/.claude/settings.json",
        "sub/.claude/settings.json",
        "sub/.CLAUDE/settings.json",
        ".forge/hooks.json",
        "link",
        "dangling",
        "t/session.jsonl",
        "transcripts/SESSION.jsonl",
        "hard",
    ];
    for name in protected {
        for (tool, input) in [
            ("write", content(name, "x")),
            ("edit", edit(name, "hooks", "x")),
            ("edit", edit(name, "", "x")),
        ] {
            let error = bench.failed(tool, input);
            assert!(
                error.ends_with(
                    "is protected: it decides what this agent may do. Ask the user to change it"
                ),
                "{tool} {name}: {error}"
            );
        }
    }
    assert_eq!(bench.text("hookwright.yaml"), "hooks: {}\n");
    assert_eq!(bench.text("hard"), "{}\n");
    bench.ran("write", content("my-hookwright.yaml.txt", "x"));
}

#[test]
fn a_protected_file_is_recognised_behind_links_that_lead_to_it() {
    // The user's settings are a link into the workspace, as with a repository of dotfiles.
    let bench = Bench::with(|root| {
        let home = root.parent().unwrap().join("home");
        fs::create_dir(&home).unwrap();
        symlink(root.join("dotfiles"), home.join(".forge")).unwrap();
        (Vec::new(), ProtectedFiles::new(vec![home.join(".forge/hooks.json")], &[]).unwrap())
    });
    let error = bench.failed("write", content("dotfiles/hooks.json", "x"));
    assert!(error.starts_with("`/workspace/dotfiles/hooks.json` is protected"), "{error}");
    // Where a folder of it would be, a file cannot be put either.
    let error = bench.failed("write", content("dotfiles", "x"));
    assert!(error.starts_with("`/workspace/dotfiles` is protected"), "{error}");
    bench.ran("write", content("dotfiles/other.json", "x"));
    let error = bench.failed("write", content("dotfiles/HOOKS.json", "x"));
    assert!(error.contains("is protected"), "{error}");
}

#[test]
fn a_link_that_is_exchanged_after_the_check_is_noticed() {
    let bench = Bench::new();
    bench.write("harmless", "x\n");
    bench.write("precious", "y\n");
    bench.ran("read", path("precious"));
    let link = bench.root().join("link");
    symlink("harmless", &link).unwrap();
    let input = object(&content("link", "z"));
    let tool = bench.tool("write");
    let judged = tool.touches(&input);
    assert_eq!(judged, Touches::Changes(bench.root().join("harmless")));
    fs::remove_file(&link).unwrap();
    symlink("precious", &link).unwrap();
    let call = ToolCall {
        id: "1",
        input: &input,
        judged: &judged,
        run_id: "tool-1",
        cancel: &bench.cancel,
    };
    let end = bench.runtime.block_on(tool.run(call));
    let ToolEnd::Failed { error, .. } = end else { panic!("{end:?}") };
    assert_eq!(
        bench.plain(&error),
        "the path now leads to `/workspace/precious`, not to what was checked: try again"
    );
    assert_eq!(bench.text("precious"), "y\n");
}

/// A command exchanges a folder for a link out while files in it are written and read.
#[test]
fn a_folder_that_keeps_becoming_a_link_never_leads_out() {
    let bench = Bench::new();
    fs::write(bench.outside().join("f"), "outside\n").unwrap();
    bench.write("real/f", "inside\n");
    let script =
        "i=0; while [ $i -lt 400 ]; do ln -sfn ../outside d; ln -sfn real d; i=$((i+1)); done";
    let mut swapping =
        Command::new("sh").args(["-c", script]).current_dir(bench.root()).spawn().unwrap();
    let mut tries = 0;
    while swapping.try_wait().unwrap().is_none() {
        tries += 1;
        if let ToolEnd::Ran { text, .. } = bench.end("read", &path("d/f")) {
            assert!(!text.contains("outside"), "{text}");
        }
        bench.end("write", &content("d/new", "x"));
        if let ToolEnd::Ran { text, .. } = bench
            .end("grep", &json!({ "pattern": "outside", "path": "d", "output_mode": "content" }))
        {
            assert_eq!(text, "no matches found");
        }
    }
    assert!(tries > 0);
    let names: Vec<_> =
        fs::read_dir(bench.outside()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["f"]);
}

#[test]
fn a_file_without_the_right_to_write_stays() {
    if rustix_is_root() {
        // The system lets root write anything.
        return;
    }
    let bench = Bench::new();
    bench.write("a", "x\n");
    bench.ran("read", path("a"));
    fs::set_permissions(bench.root().join("a"), fs::Permissions::from_mode(0o444)).unwrap();
    let error = bench.failed("write", content("a", "y\n"));
    assert!(
        error.contains("cannot be written") && error.ends_with("Nothing was changed"),
        "{error}"
    );
}

fn rustix_is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

#[test]
fn a_full_disk_leaves_the_old_file_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    // The system refuses to let a file grow past the limit, as it does on a full disk.
    let output = Command::new("sh")
        .args(["-c", r#"trap '' XFSZ; ulimit -f 16; exec "$@""#, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "tools::files::writes_without_room", "--ignored", "--test-threads=1"])
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && shown.contains("1 passed"), "{shown}");
}

#[test]
#[ignore = "runs in a process of its own"]
fn writes_without_room() {
    let bench = Bench::new();
    bench.write("a", "old\n");
    bench.ran("read", path("a"));
    for name in ["a", "b", "new/folder/c"] {
        let error = bench.failed("write", content(name, &"x".repeat(1 << 20)));
        assert!(error.starts_with(&format!("no space is left for `/workspace/{name}`")), "{error}");
        let advice = "Nothing was changed; free some space and try again";
        assert!(error.ends_with(advice), "{error}");
    }
    assert_eq!(bench.text("a"), "old\n");
    let names: Vec<_> =
        fs::read_dir(bench.root()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["a"], "no half file and no new folder");
}
