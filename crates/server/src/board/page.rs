//! Renders the board. Pages work without a script; with one they stay up to date. They load nothing
//! else and escape every text.

mod chapters;
mod iteration;
mod overview;
mod question;
mod report;
mod session;
mod timeline;
mod timeline_event;
mod turn;
mod words;

use std::sync::LazyLock;

use hmac_sha256::Hash;
use hookwright_events::Report;
use hookwright_store::RecordPosition;
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(crate) use self::overview::regions as overview_regions;
pub(crate) use self::session::regions as session_regions;
use super::gate::Gate;
use super::regions::{Region, state_of};
use super::{Overview, SeenSession, SeenTurn, Story, StorySelection};
use crate::page::base64;
use crate::page::parts::head;

const STYLE: &str = include_str!("../assets/board.css");
const SCRIPT: &str = include_str!("../assets/board.js");

/// What rendering needs to know about the board.
pub(crate) struct PageContext<'b> {
    pub(crate) gate: &'b Gate,
    pub(crate) is_of_all: bool,
}

impl PageContext<'_> {
    /// The page of a session.
    pub(crate) fn session_path(&self, name: &str, project: &str) -> String {
        let name: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
        // The names of other agents' sessions contain it, and a path may.
        let name = name.replace("%3A", ":");
        format!("/sessions/{name}{}", self.query(project, None))
    }

    fn query(&self, project: &str, before: Option<u64>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if self.is_of_all {
            query.append_pair("project", project);
        }
        if let Some(before) = before {
            query.append_pair("before", &before.to_string());
        }
        match query.finish() {
            query if query.is_empty() => query,
            query => format!("?{query}"),
        }
    }
}

/// The pages' content security policy: this one style, this one script, which may connect to our
/// stream, and forms that post to us.
pub(crate) fn content_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let [style, script] = [STYLE, SCRIPT].map(|text| base64(&Hash::hash(text.as_bytes())));
        format!(
            "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; \
             connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
    });
    &POLICY
}

/// The page of all sessions.
pub(crate) fn overview(
    seen: &Overview,
    before: Option<RecordPosition>,
    context: &PageContext<'_>,
) -> Markup {
    let regions = overview_regions(seen, context);
    let content = overview::content(&regions, seen, before);
    // A page of older sessions gets no updates.
    let stream = before.is_none().then(|| "/stream".to_owned());
    let live = Live { stream, state: state_of(&regions), may_reload: seen.questions.is_empty() };
    layout("Sessions", Some(live), &html! {}, &content)
}

/// The page of one session.
pub(crate) fn session(story: &Story, which: &StorySelection, context: &PageContext<'_>) -> Markup {
    let record = &story.session.record;
    let regions = session_regions(story, which, context);
    let path = format!("/sessions/{}/stream", record.name);
    let stream = which.before.is_none().then(|| path + &context.query(record.project(), None));
    let may_reload = story.questions.is_empty() && story.session.process.is_some();
    let live = Live { stream, state: state_of(&regions), may_reload };
    let content = session::content(&regions, story, which, context);
    layout(&record.name, Some(live), &back(None), &content)
}

/// The page of one hook's report.
pub(crate) fn report(session: &SeenSession, report: &Report, context: &PageContext<'_>) -> Markup {
    let content = report::content(report);
    let path = context.session_path(&session.record.name, session.record.project());
    let title = format!("{} in {}", report.id, session.record.name);
    layout(&title, None, &back(Some((&session.record.name, &path))), &content)
}

/// The page of one turn's conversation.
pub(crate) fn turn(turn: &SeenTurn, context: &PageContext<'_>) -> Markup {
    let record = &turn.session.record;
    let path = context.session_path(&record.name, record.project());
    let title = format!("{} in {}", turn::title(turn), record.name);
    layout(&title, None, &back(Some((&record.name, &path))), &turn::content(turn))
}

/// The same page for everything that does not exist or is not visible to the visitor.
pub(crate) fn nothing() -> Markup {
    plain(
        "Nothing here",
        html! {
            "Open the address that " code { "hookwright serve" } " printed at its start; it lets this "
            "browser in for as long as that program runs."
        },
    )
}

/// For requests with another host name.
pub(crate) fn other_host() -> Markup {
    plain("Not here", html! { "This server does not answer to the host name in the address." })
}

/// For requests beyond the limit of streams.
pub(crate) fn too_many() -> Markup {
    plain("Not now", html! { "Too many pages are open. Close some, and reload this one." })
}

fn plain(heading: &str, text: Markup) -> Markup {
    let content = html! { div.sheet { h1 { (heading) } p { (text) } } };
    layout(heading, None, &html! {}, &content)
}

/// How a page stays up to date.
struct Live {
    /// Address of its stream.
    stream: Option<String>,
    /// The state that it shows.
    state: String,
    /// Whether it may reload itself without a script: it has no form that a person may be filling
    /// in.
    may_reload: bool,
}

fn layout(title: &str, live: Option<Live>, way_back: &Markup, content: &Markup) -> Markup {
    let stream = live.as_ref().and_then(|live| live.stream.as_deref());
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head(&words::shortened(title), STYLE))
                @if live.as_ref().is_some_and(|live| live.stream.is_some() && live.may_reload) {
                    noscript { meta http-equiv="refresh" content="15"; }
                }
            }
            body data-stream=[stream] data-state=[live.as_ref().map(|live| live.state.as_str())] {
                header {
                    p.brand { a href="/" { span.mark aria-hidden="true" {} "Hookwright" } }
                    (way_back)
                    p #live role="status" {}
                }
                main { (content) }
                footer { p { "Sessions on this machine." } }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// The link back, on subordinate pages.
fn back(session: Option<(&str, &str)>) -> Markup {
    html! {
        nav aria-label="Connection of this page" {
            a href="/" { "Sessions" }
            @if let Some((name, path)) = session { span aria-hidden="true" { "/" } a href=(path) { (name) } }
        }
    }
}

/// The element of a region.
fn element(regions: &[Region], name: &str) -> Markup {
    let region = regions.iter().find(|region| region.name == name);
    html! { @if let Some(region) = region { (region.content()) } }
}
