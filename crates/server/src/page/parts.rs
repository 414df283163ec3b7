//! Parts of the pages. Foreign text goes through [`visible`]: characters that hide or reorder text
//! could make a question look like another.

use hookwright_events::Wait;
use hookwright_events::visible_text::visible;
use hookwright_events::wait::{AnswerMeaning, Paths, PersonsDecision};
use maud::{Markup, PreEscaped, html};

use crate::approvals::{iso, offered_words};
use crate::limits;

/// Files that are listed before the rest is folded.
const PATHS_IN_SIGHT: usize = 8;

/// A one-line question up to this length is the heading; a longer one is text below it.
const HEADING_CHARS_MAX: usize = 160;

/// The head of every page.
pub(crate) fn head(title: &str, style: &'static str) -> Markup {
    html! {
        meta charset="utf-8";
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        meta name="robots" content="noindex, nofollow";
        title { (title) " · Hookwright" }
        style { (PreEscaped(style)) }
    }
}

/// The question: as the heading if it is short, else below one.
pub(super) fn question_text(wait: &Wait) -> Markup {
    let question = visible(wait.question.trim());
    let is_short = question.chars().count() <= HEADING_CHARS_MAX && !question.contains('\n');
    html! {
        @if question.is_empty() {
            h1 { "Continue?" }
        } @else if is_short {
            h1 { (question) }
        } @else {
            h1 { "Continue?" }
            p.asked { (question) }
        }
    }
}

/// The question, on pages after it was answered.
pub(super) fn recalled(wait: &Wait) -> Markup {
    html! {
        section aria-labelledby="recalled" {
            h2 #recalled { "What was asked" }
            p.asked { (visible(wait.question.trim())) }
            (facts(wait))
        }
    }
}

/// Who asks, and where.
pub(super) fn facts(wait: &Wait) -> Markup {
    let iteration = wait.iteration.map(|iteration| iteration.to_string());
    let rows = [
        ("Pipeline", wait.pipeline.as_deref()),
        ("Stage", wait.stage.as_deref()),
        ("Iteration", iteration.as_deref()),
        (
            "About",
            wait.subject.as_deref().filter(|subject| Some(*subject) != wait.stage.as_deref()),
        ),
        ("Event", Some(wait.event.as_str())),
        ("Session", wait.session.as_deref()),
        ("Project", Some(wait.project.as_str()).filter(|project| !project.is_empty())),
    ];
    html! {
        dl.facts {
            @for (name, value) in rows {
                @if let Some(value) = value { div { dt { (name) } dd { (visible(value)) } } }
            }
            div { dt { "Asked" } dd { (time(wait.since_ms)) } }
        }
    }
}

/// The first of many files, the rest folded.
pub(super) fn paths(heading: &str, noun: &str, paths: &Paths) -> Markup {
    let Paths { first, more } = paths;
    let in_sight = if first.len() > PATHS_IN_SIGHT + 1 { PATHS_IN_SIGHT } else { first.len() };
    let (seen, folded) = first.split_at(in_sight);
    let list =
        |paths: &[String]| html! { ul.paths { @for path in paths { li { (visible(path)) } } } };
    html! {
        @if !first.is_empty() {
            section {
                h2 { (heading) " " span.count { (count(first.len() + more, noun)) } }
                (list(seen))
                @if !folded.is_empty() {
                    details {
                        summary { (count(folded.len() + more, &format!("more {noun}"))) }
                        (list(folded))
                        @if *more > 0 { p.quiet { "and " (count(*more, &format!("more {noun}"))) } }
                    }
                }
            }
        }
    }
}

/// The comment that came with a decision.
pub(crate) fn answered_with(decision: &PersonsDecision) -> Markup {
    html! {
        @if let Some(message) = &decision.message {
            @let shown: String = message.chars().take(limits::MESSAGE_CHARS_SHOWN_MAX).collect();
            // Browsers send the lines of a form with CRLF.
            @let shown = shown.replace("\r\n", "\n");
            figure.comment {
                blockquote { (visible(&shown)) }
                figcaption.quiet { "The comment" }
            }
        }
    }
}

/// The offered words, with the one that the link suggests first.
pub(super) fn with_suggested_first(
    wait: &Wait,
    suggested: Option<&str>,
) -> Vec<(String, AnswerMeaning)> {
    let mut words = offered_words(wait);
    let suggested = suggested.map(|word| word.trim().to_lowercase());
    let at = suggested.and_then(|suggested| words.iter().position(|(word, _)| *word == suggested));
    if let Some(at) = at {
        words[..=at].rotate_right(1);
    }
    words
}

/// The CSS class of a word.
pub(crate) fn class_of(meaning: AnswerMeaning) -> &'static str {
    match meaning {
        AnswerMeaning::Yes => "yes",
        AnswerMeaning::No => "no",
        AnswerMeaning::Offered => "offered",
    }
}

/// The decision in the past tense.
pub(crate) fn past_of(decision: &PersonsDecision) -> String {
    match decision.word {
        AnswerMeaning::Yes => "Approved".to_owned(),
        AnswerMeaning::No => "Rejected".to_owned(),
        AnswerMeaning::Offered => format!("Answered: {}", visible(&decision.action)),
    }
}

/// A word on a button.
pub(crate) fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A time, for people and for machines.
pub(crate) fn time(ms: i64) -> Markup {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
    html! { time datetime=(iso(ms)) { (time.strftime("%-d %B %Y, %H:%M UTC").to_string()) } }
}
