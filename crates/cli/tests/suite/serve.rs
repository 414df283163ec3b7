//! `hookwright serve`: the sessions page, served by the real binary and opened in a real browser
//! while real sessions run.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};

use fantoccini::key::Key;
use serde_json::Value;

use crate::agent_scenarios::in_terminal;
use crate::driver::{DESK, Driver, focused, follow, press, until, until_live};
use crate::interrupts::start;
use crate::receiver::Receiver;
use crate::runs::lines;
use crate::support::{Ran, Sandbox};

/// A running `serve`, and the address it has printed.
pub(crate) struct Serve {
    child: Child,
    stdout: BufReader<ChildStdout>,
    pub(crate) url: String,
}

impl Serve {
    pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(&[&["serve"], arguments].concat());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("http://") {
            assert!(stdout.read_line(&mut line).unwrap() > 0, "no address: {line}");
        }
        let url = line[line.find("http://").unwrap()..].trim_end().trim_end_matches('"');
        Self { child, stdout, url: url.to_owned() }
    }

    /// A page, as a signed-in visitor sees it.
    pub(crate) fn page(&self, path: &str) -> String {
        let port = self.port();
        let get = |path: &str, cookie: &str| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n")
                .unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        };
        let opened = get(self.url.split_once(&format!(":{port}")).unwrap().1, "");
        let cookie = opened.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap();
        get(path, cookie)
    }

    fn port(&self) -> u16 {
        self.url.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap()
    }

    /// Interrupts it, as Ctrl-C does, and waits for its end.
    fn end(mut self) -> Ran {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = self.child.wait().unwrap().code().expect("it was not killed");
        Ran { code, stdout, stderr }
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_prints_one_address_and_ends_at_once_and_well_when_it_is_interrupted() {
    let sandbox = Sandbox::new();
    let serve = Serve::start(&sandbox, &["--port", "0"]);
    let port = serve.port();
    let project = sandbox.path("").to_string_lossy().trim_end_matches('/').to_owned();
    // A page is open, and would stay open for long.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let path = serve.url.split_once(&format!(":{port}")).unwrap().1;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut opened = String::new();
    stream.read_to_string(&mut opened).unwrap();
    let cookie = opened.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET /stream HTTP/1.0\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n").unwrap();
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    while !line.starts_with("event: sessions") {
        line.clear();
        assert!(stream.read_line(&mut line).unwrap() > 0);
    }
    let talk = format!("open it to see the sessions of {project}; press Ctrl-C to stop\n");
    assert_eq!(serve.end(), Ran::new(0, "", &talk));
    stream.read_to_string(&mut line).unwrap();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn the_page_of_an_agents_session_shows_its_calls_and_questions() {
    let sandbox = Sandbox::with_hooks("permissions: {allow: ['bash(echo *)']}\n").file(
        "../model.yaml",
        "turns:
  - content: [{type: tool_use, name: bash, input: {command: echo unasked}}]
  - content: [{type: tool_use, name: bash, input: {command: touch asked}}]
  - content: [{type: text, text: All is done.}]
",
    );
    assert_eq!(sandbox.run(&["trust", "--yes"]).code, 0);
    let model = format!("scripted:{}", sandbox.path("../model.yaml").display());
    let mut agent = in_terminal(&sandbox.command(&["agent", "-p", "go", "--model", &model]));
    let mut agent = agent.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    agent.stdin.take().unwrap().write_all(b"y\n").unwrap();
    assert!(agent.wait().unwrap().success());
    let (_, listed) = sandbox.json(&["sessions", "list", "--json"]);
    let name = listed["sessions"][0]["name"].as_str().unwrap();
    let page = Serve::start(&sandbox, &["--port", "0"]).page(&format!("/sessions/{name}"));
    for shown in ["echo unasked", "the user was asked: touch asked", "completed"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert_eq!(page.matches("the user was asked").count(), 1, "{page}");
}

#[test]
fn programs_read_the_address_as_json_and_what_others_can_reach_is_warned_of() {
    let sandbox = Sandbox::new();
    let mut serve =
        Serve::start(&sandbox, &["--port", "0", "--bind", "0.0.0.0", "--all", "--json"]);
    let mut rest = String::new();
    serve.stdout.read_line(&mut rest).unwrap();
    assert_eq!(rest, "}\n");
    assert!(serve.url.starts_with("http://127.0.0.1:"), "{}", serve.url);
    let note = "note: others can reach this address, and its traffic is not encrypted; \
                put a proxy or a tunnel with TLS in front of it\n";
    assert_eq!(serve.end(), Ran::new(0, "", note));
}

#[test]
fn a_port_that_is_taken_is_an_error_where_it_was_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let ran = Sandbox::new().run(&["serve", "--port", &port.to_string()]);
    let expected = format!(
        "error: another program is using the port for the page, 127.0.0.1:{port}\n\
         help: name another port, or let the system choose a free one: `--port 0`\n"
    );
    assert_eq!(ran, Ran::new(1, "", &expected));
    let ran = Sandbox::new().run(&["serve", "--bind", "192.0.2.1", "--port", "0"]);
    let expected = "error: the page cannot be served at 192.0.2.1:0: Cannot assign requested address\n\
                    help: set `--bind` to an address of this machine, \
                    and `--port` to a port above 1023\n";
    assert_eq!(ran, Ran::new(1, "", expected));
}

/// A session of two iterations, each of which waits until something is written into `go`, and then
/// asks.
fn gated(receiver: &Receiver) -> Sandbox {
    let url = receiver.url();
    let sandbox = Sandbox::with_hooks(&format!(
        "callback: {{port: 0}}
hooks:
  iteration:complete:
    - id: tests
      await: true
      command: echo '<b>1 test failed</b>' >&2; exit 1
  on_stage_complete:
    - id: gate
      url: '{url}'
      await: true
      body: {{ text: 'Shall this be merged? ${{CALLBACK_URL}}' }}
    - id: after
      await: true
      command: echo \"${{HOOK_RESPONSE.action}} ${{HOOK_RESPONSE.message}}\" >> after
"
    ))
    .file(
        "loop.yaml",
        "prompt: p\ntermination: {type: fixed, iterations: 2}\nagent: {command: 'read word < go'}\n",
    );
    let made = Command::new("mkfifo").arg(sandbox.path("go")).status().unwrap();
    assert!(made.success());
    sandbox
}

/// Lets the agent continue; returns when it has read the line.
fn go_on(sandbox: &Sandbox) {
    fs::write(sandbox.path("go"), "on\n").unwrap();
}

#[tokio::test]
async fn a_session_is_seen_to_advance_asks_on_the_page_and_goes_on_when_it_was_approved_there() {
    let Some(driver) = Driver::start() else { return };
    let receiver = Receiver::new();
    let sandbox = gated(&receiver);
    let serve = Serve::start(&sandbox, &["--port", "0"]);
    let browser = driver.browser(DESK).await;
    browser.goto(&serve.url).await.unwrap();
    until_live(&browser).await;
    until(&browser, "//*[@id='none']").await;
    // It begins after the page was opened.
    let session = start(&sandbox, &["run", "loop.yaml", "--session", "s"]);
    follow(&browser, "//*[@id='sessions']//a[text()='s']", "s").await;
    until_live(&browser).await;
    until(&browser, "//*[@id='now'][contains(., 'the agent works on iteration 1')]").await;
    browser.execute("window.isTheSamePage = true", vec![]).await.unwrap();
    go_on(&sandbox);
    until(&browser, "//*[@id='iteration-1-1-1'][contains(., 'exit code 1: <b>1 test failed</b>')]")
        .await;
    until(&browser, "//*[@id='now'][contains(., 'the agent works on iteration 2')]").await;
    go_on(&sandbox);
    until(&browser, "//*[@id='questions']//h2[contains(., 'Shall this be merged?')]").await;
    until(&browser, "//*[@id='now'][contains(., 'waits for a person')]").await;
    let same = browser.execute("return window.isTheSamePage", vec![]).await.unwrap();
    assert_eq!(same, Value::from(true), "nothing was loaded anew");
    assert_eq!(browser.title().await.unwrap(), "(1) s · Hookwright");
    // Only with keys: to the comment, then to the button.
    for _ in 0..10 {
        if focused(&browser).await.starts_with("textarea") {
            break;
        }
        press(&browser, Key::Tab).await;
    }
    let comment = browser.active_element().await.unwrap();
    comment.send_keys("well done").await.unwrap();
    press(&browser, Key::Tab).await;
    assert_eq!(focused(&browser).await, "buttonapprove");
    press(&browser, Key::Enter).await;
    let ran = session.ran();
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert_eq!(lines(&sandbox, "after"), ["approve well done"]);
    until(&browser, "//*[@id='facts']/p[contains(., 'completed')]").await;
    let answered = "approved with approve by a person at the page, from 127.0.0.1";
    until(&browser, &format!("//*[@id='timeline'][contains(., '{answered}')]")).await;
    assert_eq!(serve.end().code, 0);
    until(&browser, "//*[@id='live'][text()='not connected']").await;
    browser.close().await.unwrap();
}
