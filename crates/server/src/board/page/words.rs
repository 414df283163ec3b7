//! Small parts of pages: times, spans, costs, marks and bars.

use hookwright_events::visible_text::visible;
use hookwright_events::{SessionStatus, Usage};
use hookwright_pipeline::record::milliseconds;
use maud::{Markup, html};

use crate::limits;

/// A status as a mark that is recognisable without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateMark {
    Good,
    Bad,
    Warn,
    Runs,
    Waits,
    Quiet,
}

impl StateMark {
    /// The mark of a session's status.
    pub(super) fn of_session(status: SessionStatus) -> Self {
        match status {
            SessionStatus::Active => StateMark::Runs,
            SessionStatus::Completed => StateMark::Good,
            SessionStatus::Failed | SessionStatus::Aborted => StateMark::Bad,
            SessionStatus::Paused | SessionStatus::Queued => StateMark::Waits,
            SessionStatus::CutOff | SessionStatus::Interrupted | SessionStatus::Deleting => {
                StateMark::Warn
            }
        }
    }

    /// The mark of a hook's status.
    pub(super) fn of_hook(status: &str) -> Self {
        match status {
            "success" => StateMark::Good,
            "failed" | "timed_out" => StateMark::Bad,
            "blocked" | "cut_off" => StateMark::Warn,
            "running" | "started" => StateMark::Runs,
            _ => StateMark::Quiet,
        }
    }

    pub(super) fn of_call(status: &str) -> Self {
        match status {
            "ran" => StateMark::Good,
            "failed" => StateMark::Bad,
            "running" => StateMark::Runs,
            _ => StateMark::Warn,
        }
    }

    pub(super) fn class(self) -> &'static str {
        match self {
            StateMark::Good => "good",
            StateMark::Bad => "bad",
            StateMark::Warn => "warn",
            StateMark::Runs => "runs",
            StateMark::Waits => "waits",
            StateMark::Quiet => "skip",
        }
    }

    /// The sign; text beside it says what it means.
    pub(super) fn sign(self) -> Markup {
        let sign = match self {
            StateMark::Good => "✓",
            StateMark::Bad => "✕",
            StateMark::Warn => "!",
            StateMark::Runs => "▸",
            StateMark::Waits => "‖",
            StateMark::Quiet => "–",
        };
        html! { span class={ "sign " (self.class()) } aria-hidden="true" { (sign) } }
    }
}

/// A session's status in words.
pub(super) fn status_text(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Active => "running",
        status => status.in_words(),
    }
}

/// An identifier in words.
pub(super) fn spaced(word: &str) -> String {
    word.replace('_', " ")
}

/// A time in UTC; the script converts it to the reader's time zone.
pub(super) fn moment(at: &str) -> Markup {
    match milliseconds(at) {
        Some(ms) => moment_of(ms),
        None => html! { (visible(at)) },
    }
}

/// The same from milliseconds since 1970.
pub(super) fn moment_of(ms: i64) -> Markup {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::MAX);
    html! {
        time datetime=(crate::approvals::iso(ms)) { (time.strftime("%-d %b %Y, %H:%M UTC").to_string()) }
    }
}

/// When something began; the script adds how long it has been running.
pub(super) fn since(at: &str) -> Markup {
    html! { span.since data-since=[milliseconds(at)] { "since " (moment(at)) } }
}

/// How long something took.
pub(super) fn duration(ms: f64) -> String {
    let seconds = ms / 1000.0;
    let whole = seconds.round() as u64;
    match () {
        () if ms < 999.5 => format!("{ms:.0} ms"),
        () if seconds < 9.995 => format!("{seconds:.2} s"),
        () if seconds < 59.95 => format!("{seconds:.1} s"),
        () if whole < 3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        () => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

/// The usage in words; `None` if the agent reported none.
pub(super) fn used(usage: Option<Usage>) -> Option<String> {
    let usage = usage?;
    let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    match usage.cost_usd {
        Some(cost) => Some(money(cost)),
        None => (tokens > 0).then(|| format!("{} tokens", thousands(tokens))),
    }
}

/// The usage in words, with tokens.
pub(super) fn used_in_full(usage: Option<Usage>) -> Option<String> {
    let Usage { input_tokens, output_tokens, cost_usd } = usage?;
    let (read, wrote) = (thousands(input_tokens), thousands(output_tokens));
    let tokens = format!("{read} tokens read, {wrote} written");
    Some(match cost_usd {
        Some(cost) => format!("{}: {tokens}", money(cost)),
        None => tokens,
    })
}

fn money(cost: f64) -> String {
    if cost > 0.0 && cost < 0.01 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Foreign text with invisible characters shown, shortened to what a page can carry.
pub(super) fn shortened(text: &str) -> String {
    let text = text.trim();
    let mut shown: String = text.chars().take(limits::WORDS_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    visible(&shown).into_owned()
}

/// A bar of this share of a whole.
pub(super) fn bar(part: f64, whole: f64, mark: StateMark) -> Markup {
    let share = if whole > 0.0 { (part / whole * 100.0).clamp(0.0, 100.0) } else { 0.0 };
    html! {
        svg class={ "bar " (mark.class()) } viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" {
            rect.track width="100" height="6" {}
            rect width=(format!("{:.1}", share.max(0.8))) height="6" {}
        }
    }
}

/// Length of a full bar. It grows in large steps, so that one longer iteration does not change all
/// other bars.
pub(super) fn whole_of(longest: f64) -> f64 {
    let mut whole = 100.0;
    while whole < longest {
        whole *= 2.0;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_costs_are_given_in_suitable_units() {
        for (ms, words) in [
            (0.0, "0 ms"),
            (999.4, "999 ms"),
            (4_310.0, "4.31 s"),
            (42_000.0, "42.0 s"),
            (59_960.0, "1 min 00 s"),
            (200_000.0, "3 min 20 s"),
            (7_260_000.0, "2 h 01 min"),
        ] {
            assert_eq!(duration(ms), words);
        }
        let usage = |cost_usd| Some(Usage { input_tokens: 12_345, output_tokens: 67, cost_usd });
        assert_eq!(used(usage(Some(1.5))).as_deref(), Some("$1.50"));
        assert_eq!(used(usage(Some(0.0012))).as_deref(), Some("$0.0012"));
        assert_eq!(used(usage(None)).as_deref(), Some("12,412 tokens"));
        assert_eq!(used(Some(Usage::default())), None);
        let full = "$1.50: 12,345 tokens read, 67 written";
        assert_eq!(used_in_full(usage(Some(1.5))).as_deref(), Some(full));
    }

    #[test]
    fn long_and_hidden_text_is_cut_and_shown() {
        assert_eq!(shortened(" a\u{1b}[2J\u{202e} "), "a␛[2J\\u{202e}");
        let long = "ä".repeat(limits::WORDS_CHARS_MAX + 1);
        assert_eq!(shortened(&long).chars().count(), limits::WORDS_CHARS_MAX + 1);
        assert!(shortened(&long).ends_with('…'));
    }
}
