//! An agent that tries to answer a hook's question about its own work.

use serde_json::Value;

use crate::hook_claude::{sent, trusted};
use crate::interrupts::{Left, start, until};
use crate::runs::lines;
use crate::serve::Serve;
use crate::support::{Sandbox, this_user};

/// The attack: waits for the question, tries to answer it in several ways, and keeps the responses.
const ATTACK: &str = r#"
said() { "$@" >> said 2>&1; echo $? >> codes; }
until url=$("$program" approvals 2>/dev/null | grep -o 'http://[^ ]*'); do sleep 0.02; done
id=$("$program" approvals | head -n 1 | cut -d ' ' -f 1)
said "$program" approve $id
said env -u HOOKWRIGHT_RUN -u HOOKWRIGHT_SESSION "$program" approve $id
said env -i HOME=$HOME "$program" reject $id
[ -z "$HOOKWRIGHT_SESSION" ] || (env -i HOME=$HOME setsid sh -c "'$program' approve $id >> said 2>&1; echo \$? >> codes; touch left" &)
[ -z "$HOOKWRIGHT_SESSION" ] || until [ -e left ]; do sleep 0.02; done
curl -s -o /dev/null -w '%{http_code}\n' -X POST "$url?action=approve" >> statuses
curl -s -w '\n%{http_code}\n' -H 'Content-Type: application/json' -d '{"action": "approve"}' "$url" >> statuses
exec 3<> /dev/tcp/127.0.0.1/$(echo $url | cut -d : -f 3 | cut -d / -f 1)
printf 'POST /callback/%s?action=approve HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n' ${url##*/} >&3
exec 3<&-
touch attacked
"#;

/// A loop with a question at its end, whose agent does this.
fn asking(does: &str) -> Sandbox {
    let gate = "{id: gate, type: webhook, await: true, body: {text: 'Ready?'}}";
    let hooks = format!("callback: {{port: 0}}\nhooks: {{stage:complete: [{gate}]}}\n");
    let sandbox = Sandbox::new().file("hookwright.yaml", hooks).file("does", does);
    sandbox.file("attack", ATTACK).file(
        "loop.yaml",
        "prompt: work\ntermination: {type: fixed, iterations: 1}\nagent: {command: 'cat > /dev/null; . ./does'}\n",
    )
}

fn only_question(sandbox: &Sandbox) -> Value {
    let (_, waiting) = sandbox.json(&["approvals", "--json"]);
    assert_eq!(waiting.as_array().unwrap().len(), 1, "{waiting}");
    waiting[0].clone()
}

/// The attack has failed; a person answers.
fn was_refused(sandbox: &Sandbox, told: &str) {
    until("the attack is over", || sandbox.path("attacked").exists());
    let said = lines(sandbox, "said");
    assert_eq!(lines(sandbox, "codes"), ["1"; 4], "{said:?}");
    let id = only_question(sandbox)["id"].as_str().unwrap().to_owned();
    let expected = [
        format!("error: `{id}` cannot be answered {told}"),
        "help: a person has to answer, in a terminal or browser outside the session".to_owned(),
    ];
    assert_eq!(said, [expected.clone(), expected.clone(), expected.clone(), expected].concat());
    let statuses = lines(sandbox, "statuses");
    assert_eq!((statuses[0].as_str(), statuses[3].as_str()), ("403", "403"), "{statuses:?}");
    assert!(statuses[1].contains("a person outside has to answer"), "{statuses:?}");
    let ran = sandbox.run(&["approve", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

const IN_BACKGROUND: &str =
    "program=$HOOKWRIGHT_BIN setsid bash ./attack > /dev/null 2>&1 < /dev/null &";

#[test]
fn a_child_of_the_agent_answers_no_question_of_its_session() {
    let sandbox = asking(IN_BACKGROUND);
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    was_refused(&sandbox, "from inside session `s`");
    let ran = started.ran();
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown = sandbox.run(&["sessions", "show", "s"]).stdout;
    let by = format!("approved by {}, without a terminal", this_user());
    assert!(shown.contains(&by), "{shown}");
}

/// An attack with the address of a sessions page: signs in and sends the form. The first page is
/// the person's, the second the agent's own.
const ATTACK_OF_PAGES: &str = r#"
until id=$("$program" approvals 2>/dev/null | grep -o '^[^ ]*'); do sleep 0.02; done
"$program" serve --port 0 > own 2> /dev/null &
own=$!
until grep -q http own; do sleep 0.02; done
for address in "$(cat address)" "$(grep -o 'http://[^ ]*' own)"; do
    page=$(curl -s -L -c jar -b jar "$address")
    form=$(grep -o 'name="form" value="[^"]*' <<< "$page" | cut -d '"' -f 4)
    origin=$(cut -d / -f 1-3 <<< "$address")
    curl -s -b jar -w '%{http_code}\n' -o told -H 'Sec-Fetch-Site: same-origin' \
        -d "form=$form&action=approve&back=overview" "$origin/answers/$id" >> codes
    grep -o '<h1>.*' told >> said
done
kill $own
touch attacked
"#;

#[test]
fn a_child_of_the_agent_answers_no_question_through_a_page_of_sessions() {
    let sandbox = asking(IN_BACKGROUND).file("attack", ATTACK_OF_PAGES);
    let serve = Serve::start(&sandbox, &["--port", "0"]);
    let sandbox = sandbox.file("address", &serve.url);
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the attack is over", || sandbox.path("attacked").exists());
    let said = lines(&sandbox, "said");
    assert_eq!(lines(&sandbox, "codes"), ["403"; 2], "{said:?}");
    let told = "This answer comes from inside the session that asks";
    assert!(said.len() == 2 && said.iter().all(|line| line.contains(told)), "{said:?}");
    let id = only_question(&sandbox)["id"].as_str().unwrap().to_owned();
    let ran = sandbox.run(&["approve", &id]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(started.ran().code, 0);
}

#[test]
fn an_agent_that_outlived_its_session_answers_no_question_of_it() {
    let does = "setsid bash ./late > /dev/null 2>&1 < /dev/null & echo $! > pid";
    let late = "until [ -e dead ]; do sleep 0.01; done
        env -i HOME=$HOME $HOOKWRIGHT_BIN approve $(cat id) > said 2>&1; echo $? > codes";
    let sandbox = asking(does).file("late", late);
    let _agent = Left::by(&sandbox, "pid");
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("a person is asked", || {
        sandbox.json(&["approvals", "--json"]).1.as_array().is_some_and(|all| !all.is_empty())
    });
    let id = only_question(&sandbox)["id"].as_str().unwrap().to_owned();
    std::fs::write(sandbox.path("id"), &id).unwrap();
    started.kill();
    std::fs::write(sandbox.path("dead"), "").unwrap();
    until("it was told", || !lines(&sandbox, "codes").is_empty());
    let said = lines(&sandbox, "said");
    assert_eq!(lines(&sandbox, "codes"), ["1"], "{said:?}");
    assert_eq!(said[0], format!("error: `{id}` cannot be answered from inside session `s`"));
    only_question(&sandbox);
}

#[test]
fn an_agent_answers_no_question_that_another_command_asks_inside_its_session() {
    let does = "$HOOKWRIGHT_BIN fire tool:pre_execute > fired 2>&1 &
        program=$HOOKWRIGHT_BIN bash ./attack
        wait";
    let sandbox = asking(does).file(
        "hookwright.yaml",
        "callback: {port: 0}\nhooks: {tool:pre_execute: [{id: gate, type: webhook, await: true, body: {text: 'May I?'}}]}",
    );
    let started = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    until("the attack is over", || sandbox.path("attacked").exists());
    let said = lines(&sandbox, "said");
    assert_eq!(lines(&sandbox, "codes"), ["1"; 4], "{said:?}");
    let id = only_question(&sandbox)["id"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.run(&["approve", &id]).code, 0);
    let ran = started.ran();
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn an_agent_answers_no_question_that_its_own_tool_call_leads_to() {
    let sandbox = trusted(
        "callback: {port: 0}\nhooks: {tool:pre_execute: [{id: gate, type: webhook, await: true, body: {text: 'May I?'}}]}",
    )
    .file("attack", ATTACK);
    let mut event = sent("PreToolUse");
    event["cwd"] = sandbox.path(".").to_string_lossy().into_owned().into();
    // The system names a process after the script that it runs.
    let claude = "#!/bin/bash\nCLAUDE_PROJECT_DIR=$PWD \"$program\" hook claude < event > replied 2>&1 &\nbash ./attack\nwait\n";
    let sandbox = sandbox.file("event", event.to_string()).program("claude", claude);
    let own = sandbox.command(&[]);
    let mut command = std::process::Command::new(sandbox.path("claude"));
    command.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("program", own.get_program()).current_dir(sandbox.path("."));
    let mut agent = command.spawn().unwrap();
    until("the attack is over", || sandbox.path("attacked").exists());
    let said = lines(&sandbox, "said");
    assert_eq!(lines(&sandbox, "codes"), ["1"; 3], "{said:?}");
    let id = only_question(&sandbox)["id"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.run(&["approve", &id]).code, 0);
    assert!(agent.wait().unwrap().success());
}
