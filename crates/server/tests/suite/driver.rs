//! [`Driver`]: Debian's chromium and its driver.
//!
//! Without a browser, tests say so and pass, unless `HOOKWRIGHT_BROWSER=required`, which `cargo
//! xtask test` sets once it has checked for one. With `--without browser` it sets `none`, and no
//! browser is started. `HOOKWRIGHT_UPDATE=1` takes the pictures of the documentation again.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::elements::Element;
use fantoccini::key::Key;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::json;

/// How long a page may take to reach the expected state on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Attempts to start the driver.
const STARTS_MAX: usize = 10;

/// The driver's process, which ends with the test.
pub(crate) struct Driver {
    child: Child,
    /// Kept open, so that the driver can go on printing.
    _talk: BufReader<ChildStdout>,
    address: String,
}

/// How a browser is set up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) scripts: bool,
    pub(crate) dark: bool,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

pub(crate) const DESK: Setup = Setup { scripts: true, dark: false, width: 1000, height: 1300 };
pub(crate) const PHONE: Setup = Setup { width: 390, height: 1480, ..DESK };

impl Driver {
    /// Starts it; `None` if there is none and none is required.
    pub(crate) fn start() -> Option<Self> {
        if crate::wanted::browser_is_left_out() {
            return None;
        }
        // The driver asks for a free port and binds it for IPv4 and IPv6, one after the other. If
        // another process takes the port in between, the driver exits and is started again.
        let started = (0..STARTS_MAX).find_map(|_| Self::listening().transpose());
        match started.expect("the driver ended before it listened, every time") {
            Ok(driver) => Some(driver),
            Err(error) => {
                assert!(
                    !crate::wanted::browser_is_required(),
                    "chromedriver is required and cannot be started: {error}"
                );
                // Past the harness, which hides the output of passing tests.
                let _ = writeln!(
                    std::io::stderr(),
                    "SKIPPED: no chromedriver here ({error}); `cargo xtask test` installs it"
                );
                None
            }
        }
    }

    /// Starts it once; `None` if it exited before it listened.
    fn listening() -> std::io::Result<Option<Self>> {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let mut talk = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        loop {
            line.clear();
            if talk.read_line(&mut line)? == 0 {
                child.wait()?;
                return Ok(None);
            }
            if let Some((_, port)) =
                line.trim_end_matches(['.', '\n']).rsplit_once("successfully on port ")
            {
                let address = format!("http://127.0.0.1:{port}");
                return Ok(Some(Self { child, _talk: talk, address }));
            }
        }
    }

    pub(crate) async fn browser(&self, setup: Setup) -> Client {
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

pub(crate) async fn text(browser: &Client, css: &str) -> String {
    browser.find(Locator::Css(css)).await.expect(css).text().await.unwrap()
}

/// Waits until the page has such an element. During navigation the old page or no page may be
/// there, so every failure in between is ignored.
pub(crate) async fn until(browser: &Client, xpath: &str) {
    let end = Instant::now() + PATIENCE;
    while let Err(error) = browser.find(Locator::XPath(xpath)).await {
        if Instant::now() >= end {
            let page = browser.execute("return document.body.innerText", vec![]).await;
            panic!("{xpath}: {error}\n{page:?}");
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

/// Waits until the page with this heading is completely loaded.
pub(crate) async fn until_heading(browser: &Client, heading: &str) {
    until(browser, &heading_of(heading)).await;
    let end = Instant::now() + PATIENCE;
    loop {
        let state = browser.execute("return document.readyState", vec![]).await;
        if matches!(&state, Ok(state) if state == "complete") {
            return;
        }
        assert!(Instant::now() < end, "{heading} is not loaded: {state:?}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

fn heading_of(heading: &str) -> String {
    format!("//h1[normalize-space()='{heading}']")
}

/// Follows a link to the page with this heading. An update may replace the link during the click;
/// then nothing happens, and it is clicked again.
pub(crate) async fn follow(browser: &Client, link: &str, heading: &str) {
    let end = Instant::now() + PATIENCE;
    while browser.find(Locator::XPath(&heading_of(heading))).await.is_err() {
        assert!(Instant::now() < end, "{link} never led to {heading}");
        if let Ok(link) = browser.find(Locator::XPath(link)).await {
            let _ = link.click().await;
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    until_heading(browser, heading).await;
}

/// Waits until the page is kept up to date.
pub(crate) async fn until_live(browser: &Client) {
    until(browser, "//*[@id='live'][text()='live']").await;
}

/// The name of the focused element.
pub(crate) async fn focused(browser: &Client) -> String {
    let element = browser.active_element().await.unwrap();
    let id = element.attr("id").await.unwrap().unwrap_or_default();
    let value = element.attr("value").await.unwrap().unwrap_or_default();
    format!("{}{id}{value}", element.tag_name().await.unwrap())
}

pub(crate) async fn press(browser: &Client, key: Key) {
    let element: Element = browser.active_element().await.unwrap();
    element.send_keys(&key.to_string()).await.unwrap();
}

/// Takes a picture for the documentation, if pictures are requested.
pub(crate) async fn picture(browser: &Client, name: &str) {
    if crate::wanted::pictures() {
        // Without the empty space below the content.
        let body = browser.find(Locator::Css("body")).await.unwrap();
        let picture = body.screenshot().await.unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), picture).unwrap();
    }
}

/// Checks the page as accessibility tools do, with a script that runs beside it.
pub(crate) const LOOK: &str = r#"
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
    for (const e of document.querySelectorAll('input:not([type=hidden]),textarea,select'))
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
