//! Questions that wait for a person, with a form for each, and those answered just now.

use hookwright_events::Wait;
use hookwright_events::visible_text::visible;
use hookwright_events::wait::PersonsDecision;
use maud::{Markup, html};

use super::super::Question;
use super::super::regions::{Fragment, Region};
use super::PageContext;
use super::words::{StateMark, moment_of, shortened};
use crate::approvals::offered_words;
use crate::limits;
use crate::page::parts::{answered_with, capitalised, class_of, past_of};

/// The page that a question is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuestionPage<'s> {
    Overview,
    /// The page of the session with this name.
    Session(&'s str),
}

/// The questions of a page.
pub(super) fn region(
    questions: &[Question],
    context: &PageContext<'_>,
    on: QuestionPage<'_>,
) -> Region {
    let fragments = questions
        .iter()
        .map(|question| {
            let id = format!("question-{}", question.wait.id);
            let html = match question.wait.state.decision() {
                Some(decision) => answered(&id, question, decision),
                None => open(&id, question, context, on),
            };
            Fragment::new(id, html)
        })
        .collect();
    Region { name: "questions", fragments }
}

fn open(id: &str, question: &Question, context: &PageContext<'_>, on: QuestionPage<'_>) -> Markup {
    let wait = &question.wait;
    let (heading, message) = (format!("{id}-asks"), format!("{id}-message"));
    html! {
        article.question id=(id) aria-labelledby=(heading) {
            p.kicker { (StateMark::Waits.sign()) "Your decision is needed" }
            h2 id=(heading) { (asks(wait)) }
            p.quiet {
                (by(wait, context, on))
                " · until " (moment_of(wait.until_ms)) span.left data-until=(wait.until_ms) {}
            }
            @if !question.is_attended {
                p.quiet { "This session is not running. Your answer is kept until it is resumed." }
            }
            form method="post" action={ "/answers/" (wait.id) } {
                input type="hidden" name="form" value=(context.gate.form_token(&wait.id));
                @if on == QuestionPage::Overview { input type="hidden" name="back" value="overview"; }
                label for=(message) { "Comment " span.quiet { "(optional)" } }
                textarea id=(message) name="message" rows="2"
                    maxlength=(limits::MESSAGE_CHARS_SHOWN_MAX) {}
                div.actions role="group" aria-label="Answers" {
                    @for (word, meaning) in offered_words(wait) {
                        button type="submit" name="action" value=(word) class=(class_of(meaning)) {
                            (visible(&capitalised(&word)))
                        }
                    }
                }
            }
        }
    }
}

fn answered(id: &str, question: &Question, decision: &PersonsDecision) -> Markup {
    let wait = &question.wait;
    html! {
        article.question.answered id=(id) {
            p class={ "kicker " (class_of(decision.word)) } {
                (past_of(decision)) " by " (shortened(&decision.by)) ", " (moment_of(decision.at_ms))
            }
            h2 { (asks(wait)) }
            (answered_with(decision))
            @if !question.is_attended {
                p.quiet {
                    "It takes effect when the session is resumed: "
                    @if let Some(session) = wait.resumable_session() {
                        code { "hookwright resume " (visible(session)) }
                    }
                }
            }
        }
    }
}

fn asks(wait: &Wait) -> String {
    match shortened(&wait.question) {
        nothing if nothing.is_empty() => "Continue?".to_owned(),
        question => question,
    }
}

/// Who asks.
fn by(wait: &Wait, context: &PageContext<'_>, on: QuestionPage<'_>) -> Markup {
    html! {
        @match (&wait.session, on) {
            (Some(session), on) if on != QuestionPage::Session(session) => {
                a href=(context.session_path(session, &wait.project)) { (shortened(session)) } " · "
            }
            _ => {}
        }
        (shortened(&wait.event))
        @if let Some(stage) = &wait.stage { " · stage " (shortened(stage)) }
        @if let Some(iteration) = wait.iteration { " · iteration " (iteration) }
        " · hook " (shortened(&wait.hook))
    }
}
