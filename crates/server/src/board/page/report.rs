//! One hook's report with its output.

use hookwright_events::Report;
use hookwright_events::visible_text::visible;
use maud::{Markup, html};

use super::words::{StateMark, duration, shortened, spaced};
use crate::limits;
use crate::page::parts::count;

pub(super) fn content(report: &Report) -> Markup {
    let status = report.status.as_str();
    let mark = StateMark::of_hook(status);
    html! {
        div.sheet.report {
            h1 { (shortened(&report.id)) }
            p class={ "status " (mark.class()) } { (mark.sign()) (spaced(status)) }
            @if let Some(reason) = &report.reason { p.why { (shortened(reason)) } }
            dl.facts {
                div { dt { "Took" } dd { (duration(report.duration_ms)) } }
                div { dt { "Started" } dd { (count(report.attempts as usize, "time")) } }
                @if let Some(code) = report.exit_code { div { dt { "Exit code" } dd { (code) } } }
                div { dt { "Action" } dd { (shortened(&report.action)) } }
                div { dt { "From" } dd { code { (shortened(&report.source)) } } }
            }
            (printed("Standard output", &report.stdout))
            (printed("Standard error", &report.stderr))
        }
    }
}

/// A text under its heading, shortened if it is too long for a page.
pub(super) fn printed(heading: &str, text: &str) -> Markup {
    html! {
        section {
            h2 { (heading) }
            @if text.is_empty() {
                p.quiet { "Nothing." }
            } @else if let Some((first, left_out, last)) = halves(text) {
                pre tabindex="0" { (visible(first)) }
                p.quiet { "… " (left_out) " bytes between them are not shown …" }
                pre tabindex="0" { (visible(last)) }
            } @else {
                pre tabindex="0" { (visible(text)) }
            }
        }
    }
}

/// The beginning and the end of a text that is too long for a page, and the bytes between.
fn halves(text: &str) -> Option<(&str, usize, &str)> {
    let most = limits::OUTPUT_BYTES_SHOWN_MAX;
    if text.len() <= most {
        return None;
    }
    let first = text.floor_char_boundary(most / 2);
    let last = text.ceil_char_boundary(text.len() - most / 2);
    Some((&text[..first], last - first, &text[last..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_output_the_beginning_and_the_end_are_shown() {
        let most = limits::OUTPUT_BYTES_SHOWN_MAX;
        assert_eq!(halves(&"x".repeat(most)), None);
        let text = format!("{}{}{}", "a".repeat(most / 2), "ä", "b".repeat(most / 2 - 1));
        let (first, left_out, last) = halves(&text).unwrap();
        assert_eq!((first.len(), left_out, last.len()), (most / 2, 2, most / 2 - 1));
    }
}
