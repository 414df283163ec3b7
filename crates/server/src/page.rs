//! The pages that people see. They need no script, load nothing, and escape every text.

pub(crate) mod parts;

use std::sync::LazyLock;

use hmac_sha256::Hash;
use hookwright_events::Wait;
use hookwright_events::visible_text::visible;
use hookwright_events::wait::{AnswerMeaning, PersonsDecision, WaitState};
use maud::{DOCTYPE, Markup, html};

use self::parts::{
    answered_with, capitalised, class_of, facts, head, past_of, paths, question_text, recalled,
    time, with_suggested_first,
};
use crate::approvals::offered_words;
use crate::limits;
use crate::reply::NoReply;
use crate::routes::RequestRefusal;
use crate::span::in_words;

const STYLE: &str = include_str!("assets/page.css");

/// The pages' content security policy: this one style, and a form that posts to us.
pub(crate) fn content_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let style = base64(&Hash::hash(STYLE.as_bytes()));
        format!(
            "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; base-uri 'none'; \
             frame-ancestors 'none'"
        )
    });
    &POLICY
}

/// The question, and a button for every answer.
pub(crate) fn question(wait: &Wait, suggested: Option<&str>, now_ms: i64) -> Markup {
    let left_ms = wait.until_ms.saturating_sub(now_ms);
    let words = with_suggested_first(wait, suggested);
    layout(
        "Approval requested",
        html! {
            p.kicker { "Your decision is needed" }
            (question_text(wait))
            p.left { strong { (in_words(left_ms)) " left" } " · until " (time(wait.until_ms)) }
            (facts(wait))
            (paths("What changed", "file", &wait.changed_files))
            (paths("Outputs of the stage", "file", &wait.stage_outputs))
            form method="post" aria-labelledby="decide" {
                h2 #decide { "Decide" }
                label for="message" { "Comment " span.quiet { "(optional)" } }
                textarea #message name="message" rows="3" maxlength=(limits::MESSAGE_CHARS_SHOWN_MAX)
                    aria-describedby="effect" {}
                div.actions role="group" aria-label="Answers" {
                    @for (word, meaning) in &words {
                        button type="submit" name="action" value=(word) class=(class_of(*meaning)) {
                            (visible(&capitalised(word)))
                        }
                    }
                }
                p #effect .quiet {
                    "The first answer counts and cannot be undone. The comment is sent with it."
                }
            }
        },
        &footer(wait),
    )
}

/// The page after a person's decision.
pub(crate) fn decided(wait: &Wait, is_attended: bool) -> Markup {
    let Some(decision) = wait.state.decision() else {
        return refusal(&RequestRefusal::Unknown);
    };
    layout(
        &past_of(decision),
        html! {
            p class={ "kicker " (class_of(decision.word)) } role="status" { "Your decision is saved" }
            h1 { (past_of(decision)) }
            p.lead { (now(wait, decision, is_attended)) }
            (answered_with(decision))
            (recalled(wait))
        },
        &footer(wait),
    )
}

/// What happens next.
fn now(wait: &Wait, decision: &PersonsDecision, is_attended: bool) -> Markup {
    html! {
        @match (is_attended, wait.resumable_session(), decision.word) {
            (false, Some(session), _) => {
                "The session " b { (visible(session)) } " is not running. Your decision is saved "
                "and takes effect when the session is resumed: " code { "hookwright resume " (visible(session)) }
            }
            (_, Some(session), AnswerMeaning::Yes | AnswerMeaning::Offered) => {
                "The session " b { (visible(session)) } " continues now. You can close this page."
            }
            (_, Some(session), AnswerMeaning::No) => {
                "The session " b { (visible(session)) } " is notified now, and does what its hook sets for a "
                "rejection. You can close this page."
            }
            (_, None, AnswerMeaning::Yes | AnswerMeaning::Offered) => {
                "The process that asked continues now. You can close this page."
            }
            (_, None, AnswerMeaning::No) => {
                "The process that asked is notified now, and does what the hook sets for a \
                 rejection. You can "
                "close this page."
            }
        }
    }
}

/// The page for a request that decided nothing.
pub(crate) fn refusal(refusal: &RequestRefusal) -> Markup {
    let plain = |heading: &str, text: Markup| {
        layout(heading, html! { h1 { (heading) } p.lead { (text) } }, &html! {})
    };
    match refusal {
        RequestRefusal::OtherHost => plain(
            "Not here",
            html! {
                "This server does not answer to the host name in the address. Set "
                code { "callback: {public_url: …}" } " if the name is right."
            },
        ),
        RequestRefusal::Unknown => plain(
            "No question here",
            html! {
                "This address does not lead to a question. It may have been copied incompletely. "
                code { "hookwright approvals" } " lists the open questions."
            },
        ),
        RequestRefusal::Ended(wait) => ended(wait),
        RequestRefusal::CrossSite => plain(
            "Not allowed from there",
            html! {
                "A page of another site tried to decide in your name. Nothing was decided."
            },
        ),
        RequestRefusal::FromInside => plain(
            "Not allowed from there",
            html! {
                "This answer comes from inside the session that asks, or its sender hung up. A person "
                "outside has to answer. Nothing was decided."
            },
        ),
        RequestRefusal::Method => plain(
            "Nothing was decided",
            html! {
                "Read the page with GET and answer with POST."
            },
        ),
        RequestRefusal::TooLarge => plain(
            "Nothing was decided",
            html! {
                "The answer is larger than " (limits::BODY_BYTES_MAX / 1024) " KiB."
            },
        ),
        RequestRefusal::TooSlow | RequestRefusal::BrokenOff => plain(
            "Nothing was decided",
            html! {
                "The answer arrived incomplete. Please try again."
            },
        ),
        RequestRefusal::NoReply(NoReply::NoAction) => plain(
            "Nothing was decided",
            html! {
                "The answer contains no decision. Go back and press one of the buttons."
            },
        ),
        RequestRefusal::NoReply(NoReply::NotJson | NoReply::UnknownFormat) => {
            plain("Nothing was decided", html! { "Expected a form or a JSON object." })
        }
        RequestRefusal::UnknownWord(wait) => plain(
            "Nothing was decided",
            html! {
                "This question does not accept that answer. It accepts: "
                @for (at, (word, _)) in offered_words(wait).iter().enumerate() {
                    @if at > 0 { ", " }
                    b { (visible(word)) }
                }
                "."
            },
        ),
        RequestRefusal::Broken => plain(
            "Not now",
            html! {
                "The question cannot be read or stored right now. Nothing was decided; please try "
                "again, or look at the terminal."
            },
        ),
    }
}

/// A wait that can no longer be answered.
fn ended(wait: &Wait) -> Markup {
    let (heading, text) = match &wait.state {
        WaitState::Decided(decision) | WaitState::Used(decision) => {
            let what = past_of(decision);
            let heading = format!("Already {}{}", what[..1].to_lowercase(), &what[1..]);
            (
                heading,
                html! {
                    "Decided by " b { (visible(&decision.by)) } " on " (time(decision.at_ms))
                    ". The first answer counts; nothing has changed now."
                },
            )
        }
        WaitState::Expired => (
            "Too late".to_owned(),
            html! {
                "The time to decide ran out on " (time(wait.until_ms))
                ". The hook sets what happens after a timeout."
            },
        ),
        WaitState::Waiting | WaitState::Abandoned => (
            "No longer needed".to_owned(),
            html! {
                "The process that asked has ended without an answer, so there is nothing left to \
                 decide."
            },
        ),
    };
    layout(
        &heading,
        html! {
            h1 { (heading) }
            p.lead { (text) }
            @if let Some(decision) = wait.state.decision() { (answered_with(decision)) }
            (recalled(wait))
        },
        &footer(wait),
    )
}

/// The frame of every page.
fn layout(title: &str, content: Markup, footer: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (head(title, STYLE))
            }
            body {
                header { p.brand { span.mark aria-hidden="true" {} "Hookwright" } }
                main { (content) }
                footer { (footer) }
            }
        }
    }
}

fn footer(wait: &Wait) -> Markup {
    html! {
        p { "Wait " code { (wait.id) } " of the hook " code { (visible(&wait.hook)) } }
        @if wait.state == WaitState::Waiting {
            p {
                "In a terminal: " code.typed { "hookwright approve " (wait.id) } " or "
                code.typed { "hookwright reject " (wait.id) }
            }
        }
    }
}

/// Base64, for hashes in content security policies.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - three.len()));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
