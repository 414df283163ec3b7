//! The page in a real browser: Debian's chromium, driven by its driver.
//!
//! Where there is none, these tests say so and pass, unless `HOOKWRIGHT_BROWSER=required`, which
//! `cargo xtask test` sets once it has seen to it. With `HOOKWRIGHT_UPDATE=1` the pictures of the
//! documentation are taken anew.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use fantoccini::elements::Element;
use fantoccini::key::Key;
use fantoccini::{Client, ClientBuilder, Locator};
use hookwright_engine::ports::{NewWait, OpenWait, WaitEnd, Waits, Word};
use hookwright_server::WaitDesk;
use serde_json::{Value, json};

use crate::desk::{desk, new_wait};
use crate::situation::Situation;

/// The driver's process, ended with the test.
struct Driver {
    child: Child,
    /// Kept open, so that it can go on talking.
    _talk: BufReader<ChildStdout>,
    address: String,
}

/// How a browser is set up.
#[derive(Debug, Clone, Copy)]
struct Setup {
    scripts: bool,
    dark: bool,
    width: u32,
    height: u32,
}

const DESK: Setup = Setup { scripts: true, dark: false, width: 1000, height: 1300 };
const PHONE: Setup = Setup { width: 390, height: 1480, ..DESK };

impl Driver {
    /// Starts it; `None` where there is none and none is required.
    fn start() -> Option<Self> {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                assert!(!is_required(), "chromedriver is required and cannot be started: {error}");
                // Past the harness, which keeps what a test that passes prints to itself.
                let _ = writeln!(
                    std::io::stderr(),
                    "SKIPPED: no chromedriver here ({error}); `cargo xtask test` installs it"
                );
                return None;
            }
        };
        let mut talk = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        let port = loop {
            line.clear();
            let bytes = talk.read_line(&mut line).expect("text");
            assert!(bytes > 0, "the driver ended before it listened");
            if let Some((_, port)) =
                line.trim_end_matches(['.', '\n']).rsplit_once("successfully on port ")
            {
                break port.to_owned();
            }
        };
        Some(Self { child, _talk: talk, address: format!("http://127.0.0.1:{port}") })
    }

    async fn browser(&self, setup: Setup) -> Client {
        let Setup { scripts, dark, width, height } = setup;
        let scheme = if dark { 0 } else { 1 };
        let mut options = json!({
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--hide-scrollbars",
                format!("--blink-settings=preferredColorScheme={scheme}"),
            ],
            "prefs": { "profile.managed_default_content_settings.javascript": if scripts { 1 } else { 2 } },
        });
        // A window cannot be as narrow as a phone.
        options["mobileEmulation"] = json!({
            "deviceMetrics": { "width": width, "height": height, "pixelRatio": 1, "touch": false },
        });
        let mut capabilities = serde_json::Map::new();
        capabilities.insert("goog:chromeOptions".to_owned(), options);
        let mut builder =
            ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
        builder.capabilities(capabilities);
        builder.connect(&self.address).await.expect("a browser")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test is its own host")]
fn is_required() -> bool {
    std::env::var_os("HOOKWRIGHT_BROWSER").is_some_and(|value| value == "required")
}

#[expect(clippy::disallowed_methods, reason = "a test is its own host")]
fn takes_pictures() -> bool {
    std::env::var_os("HOOKWRIGHT_UPDATE").is_some_and(|value| value == "1")
}

/// A question as a pipeline asks it.
fn question() -> NewWait {
    NewWait {
        pipeline: Some("full-workflow".into()),
        stage: Some("plan".into()),
        subject: Some("plan".into()),
        iteration: Some(3),
        question: "Plan ready. Shall the work begin?".into(),
        offered: vec!["approve".into(), "revise".into(), "reject".into()],
        changed_files: vec![
            "docs/plan.md".into(),
            "docs/decisions/004-payment-provider.md".into(),
            "src/checkout/mod.rs".into(),
        ],
        stage_outputs: vec![
            ".hookwright/sessions/calm-fox/stage-01-plan/iterations/003/output.md".into(),
        ],
        hook: "pipeline/on_stage_complete#0".into(),
        ..new_wait("1")
    }
}

async fn asked(situation: &Situation, wait: NewWait) -> (WaitDesk, OpenWait) {
    let desk = desk(situation);
    let open = desk.open(wait).await.unwrap();
    (desk, open)
}

async fn text(browser: &Client, css: &str) -> String {
    browser.find(Locator::Css(css)).await.expect(css).text().await.unwrap()
}

/// What the element that has the focus is called.
async fn focused(browser: &Client) -> String {
    let element = browser.active_element().await.unwrap();
    let id = element.attr("id").await.unwrap().unwrap_or_default();
    let value = element.attr("value").await.unwrap().unwrap_or_default();
    format!("{}{id}{value}", element.tag_name().await.unwrap())
}

async fn press(browser: &Client, key: Key) {
    let element: Element = browser.active_element().await.unwrap();
    element.send_keys(&key.to_string()).await.unwrap();
}

/// Takes a picture for the documentation, when pictures are taken.
async fn picture(browser: &Client, name: &str) {
    if takes_pictures() {
        let picture = browser.screenshot().await.unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("approval-{name}.png")), picture).unwrap();
    }
}

#[tokio::test]
async fn a_person_decides_with_a_click_with_and_without_scripts() {
    let Some(driver) = Driver::start() else { return };
    for scripts in [true, false] {
        let situation = Situation::new();
        let (desk, open) = asked(&situation, question()).await;
        let browser = driver.browser(Setup { scripts, ..DESK }).await;
        // A link that suggests a word decides nothing by being opened, reloaded and left.
        browser.goto(&format!("{}?action=reject", open.callback_url)).await.unwrap();
        browser.refresh().await.unwrap();
        assert_eq!(text(&browser, "h1").await, "Plan ready. Shall the work begin?");
        assert_eq!(situation.approvals.waiting().unwrap().len(), 1);
        let comment = browser.find(Locator::Id("message")).await.unwrap();
        comment.send_keys("looks good,\ngo on").await.unwrap();
        let revise = browser.find(Locator::Css("button[value=revise]")).await.unwrap();
        assert_eq!(revise.text().await.unwrap(), "Revise");
        let (clicked, end) = tokio::join!(revise.click(), desk.decided(&open.id));
        clicked.unwrap();
        let WaitEnd::Decided { response, word, by, .. } = end.unwrap() else { panic!("decided") };
        let expected = json!({ "message": "looks good,\r\ngo on", "action": "revise" });
        assert_eq!((response, word), (expected, Word::Offered));
        assert_eq!(by, "somebody at the page, from 127.0.0.1");
        assert_eq!(text(&browser, "h1").await, "Answered: revise");
        if scripts {
            assert_eq!(browser.execute(LOOK, vec![]).await.unwrap(), json!([]));
            picture(&browser, "decided").await;
        }
        let now = "The session calm-fox goes on now. You can close this page.";
        assert_eq!(text(&browser, ".lead").await, now);
        assert_eq!(text(&browser, "blockquote").await, "looks good,\ngo on");
        // Whoever comes later is told.
        browser.goto(&open.callback_url).await.unwrap();
        assert_eq!(text(&browser, "h1").await, "Already answered: revise");
        browser.close().await.unwrap();
    }
}

#[tokio::test]
async fn the_keyboard_reaches_everything_in_reading_order_and_decides() {
    let Some(driver) = Driver::start() else { return };
    let situation = Situation::new();
    let many = (0..30).map(|number| format!("src/file{number}.rs")).collect();
    let wait = NewWait { changed_files: many, ..question() };
    let (desk, open) = asked(&situation, wait).await;
    let browser = driver.browser(DESK).await;
    browser.goto(&open.callback_url).await.unwrap();
    let mut order = Vec::new();
    for _ in 0..5 {
        press(&browser, Key::Tab).await;
        order.push(focused(&browser).await);
    }
    let expected = ["summary", "textareamessage", "buttonapprove", "buttonrevise", "buttonreject"];
    assert_eq!(order, expected);
    let (_, end) = tokio::join!(press(&browser, Key::Enter), desk.decided(&open.id));
    assert!(matches!(end.unwrap(), WaitEnd::Decided { word: Word::No, .. }));
    assert_eq!(text(&browser, "h1").await, "Rejected");
    browser.close().await.unwrap();
}

/// Looks at the page as tools for accessibility do, with a script that runs beside it.
const LOOK: &str = r#"
    const problems = [];
    const must = (good, what) => { if (!good) problems.push(what); };
    must(document.documentElement.lang === 'en', 'no language');
    must(document.title.length > 0, 'no title');
    for (const name of ['header', 'main', 'footer', 'h1'])
        must(document.querySelectorAll(name).length === 1, 'not one ' + name);
    const levels = [...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1]);
    levels.forEach((l, at) => must(at === 0 ? l === 1 : l <= levels[at - 1] + 1, 'heading leap'));
    const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
    must(new Set(ids).size === ids.length, 'an id twice');
    for (const e of document.querySelectorAll('[aria-labelledby],[aria-describedby]'))
        for (const a of ['aria-labelledby', 'aria-describedby'])
            if (e.hasAttribute(a)) must(document.getElementById(e.getAttribute(a)), 'dangling ' + a);
    for (const e of document.querySelectorAll('input,textarea,select'))
        must(e.labels.length > 0, 'no label: ' + e.id);
    for (const e of document.querySelectorAll('button')) {
        must(e.innerText.trim().length > 0, 'nameless button');
        const box = e.getBoundingClientRect();
        must(box.height >= 44 && box.width >= 44, 'small button: ' + e.value);
    }
    must(document.documentElement.scrollWidth <= innerWidth, 'it scrolls sideways');
    const light = c => { const [r, g, b] = c.match(/[\d.]+/g).slice(0, 3).map(v => {
        v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const ground = e => { for (; e; e = e.parentElement) {
        const c = getComputedStyle(e).backgroundColor;
        if (!/, 0\)$/.test(c) && c !== 'transparent') return c; } return 'rgb(255,255,255)'; };
    for (const e of document.querySelectorAll('body *')) {
        const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
        if (!own || e.tagName === 'STYLE') continue;
        const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        must(ratio >= 4.5, 'contrast ' + ratio.toFixed(2) + ': ' + e.tagName + ' ' + e.innerText);
    }
    return problems;
"#;

#[tokio::test]
async fn every_page_can_be_read_used_and_heard_on_a_desk_and_on_a_phone_by_day_and_by_night() {
    let Some(driver) = Driver::start() else { return };
    let situation = Situation::new();
    let (desk, open) = asked(&situation, question()).await;
    let unknown = format!("{}x", open.callback_url);
    let late = NewWait { timeout: Duration::ZERO, ..new_wait("late") };
    let late = desk.open(late).await.unwrap().callback_url;
    let left = desk.open(new_wait("left")).await.unwrap();
    desk.abandon(&left.id).await.unwrap();
    for (name, setup) in [
        ("light", DESK),
        ("dark", Setup { dark: true, ..DESK }),
        ("phone", PHONE),
        ("phone-dark", Setup { dark: true, ..PHONE }),
    ] {
        let browser = driver.browser(setup).await;
        for url in [&open.callback_url, &unknown, &late, &left.callback_url] {
            browser.goto(url).await.unwrap();
            let is_dark = browser
                .execute("return matchMedia('(prefers-color-scheme: dark)').matches", vec![])
                .await;
            assert_eq!(is_dark.unwrap(), Value::from(setup.dark));
            let problems = browser.execute(LOOK, vec![]).await.unwrap();
            assert_eq!(problems, json!([]), "{name} {url}");
        }
        if ["light", "phone-dark"].contains(&name) {
            browser.goto(&open.callback_url).await.unwrap();
            picture(&browser, name).await;
        }
        browser.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_form_on_another_site_is_refused_by_a_real_browser_too() {
    let Some(driver) = Driver::start() else { return };
    let situation = Situation::new();
    let (_desk, open) = asked(&situation, question()).await;
    let browser = driver.browser(DESK).await;
    let page = format!(
        "data:text/html,<form method=post action='{}'><button name=action value=approve>x</button>",
        open.callback_url
    );
    browser.goto(&page).await.unwrap();
    let button = browser.find(Locator::Css("button")).await.unwrap();
    button.click().await.unwrap();
    assert_eq!(text(&browser, "h1").await, "Not from there");
    assert_eq!(situation.approvals.waiting().unwrap().len(), 1);
    browser.close().await.unwrap();
}
