//! One line per hook, with details only if something went wrong.

use hookwright_engine::Fired;
use hookwright_events::report::WARNING;
use hookwright_events::{
    Event, EventName, FiringEvent, Report, RunEventKind, Status, Usage, Verdict,
};

use crate::text::{Paint, count, local, one_line, visible};

/// The indentation of a hook's output.
const INDENT: &str = "                 ";

/// Lines of a failed hook's output that are shown.
const OUTPUT_LINES_MAX: usize = 10;

/// Characters of one line of output that are shown.
const LINE_CHARS_MAX: usize = 200;

/// Every hook that matched, then the decision if there is one.
pub(crate) fn fired(fired: &Fired) -> String {
    let mut text = String::new();
    for hook in &fired.reports {
        text.push_str(&report(&fired.event.name, hook));
    }
    text.push_str(&decision(fired));
    text
}

/// One hook: event, id, status, duration, and the reason if it did not succeed.
pub(crate) fn report(event: &EventName, report: &Report) -> String {
    let (event, id) = (event.as_str(), visible(&report.id));
    let status = report.status.as_str().replace('_', " ");
    let took = match report.status {
        Status::Skipped | Status::Started => String::new(),
        _ => duration(report.duration_ms),
    };
    let reason = report.reason.as_deref().unwrap_or_default();
    let beside = match report.status {
        Status::Skipped | Status::Failed | Status::TimedOut => one_line(reason, LINE_CHARS_MAX),
        // A command's reason is part of its answer, which is shown; other actions say what they
        // did.
        Status::Success if report.action != "shell" => one_line(reason, LINE_CHARS_MAX),
        Status::Started => "in the background".to_owned(),
        Status::Success | Status::Blocked => String::new(),
    };
    let status = Paint::of_results().outcome(&format!("{status:<9}"));
    let mut text = format!("{event:<20}  {id:<28}  {status}  {took:>7}  {beside}");
    text.truncate(text.trim_end().len());
    text.push('\n');
    match report.status {
        _ if report.shows_output => text.push_str(&all_output(report)),
        Status::Blocked => text.push_str(&indented(reason)),
        Status::Failed | Status::TimedOut => text.push_str(&output(report)),
        Status::Success if report.warns() => text.push_str(&warnings(report)),
        Status::Success | Status::Skipped | Status::Started => {}
    }
    text
}

/// A failed hook that is retried: event, id, time of the retry, and reason.
pub(crate) fn retrying(
    event: &EventName,
    hook: &str,
    attempt: u32,
    after_ms: u64,
    reason: &str,
) -> String {
    let (event, id, after) = (event.as_str(), visible(hook), duration(after_ms as f64));
    let retrying = Paint::of_results().odd("retrying ");
    let reason = one_line(reason, LINE_CHARS_MAX);
    format!(
        "{event:<20}  {id:<28}  {retrying}  {:>7}  attempt {attempt} in {after}: {reason}\n",
        ""
    )
}

/// The last lines of a successful hook's warnings.
fn warnings(report: &Report) -> String {
    let lines = report.stderr.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>();
    let shown = &lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..];
    shown.iter().map(|line| indented(&format!("{WARNING}{line}"))).collect()
}

/// A hook's question to a person, its time limit, and how to answer; `None` for other events.
pub(crate) fn waiting(kind: &RunEventKind) -> Option<String> {
    let RunEventKind::Firing(FiringEvent::HookWaiting { hook, wait, question, since, until, url }) =
        kind
    else {
        return None;
    };
    let (hook, wait) = (visible(hook), visible(wait));
    let waiting = Paint::of_results().odd("waiting for a person");
    let mut text =
        format!("{waiting} (hook {hook}), since {}, until {}\n", local(since), local(until));
    text.push_str(&indented(question));
    if let Some(url) = url {
        text.push_str(&indented(url));
    }
    text.push_str(&indented(&format!("hookwright approve {wait}, or hookwright reject {wait}")));
    Some(text)
}

/// The whole output of a hook whose output is always shown, without repeating its reason.
fn all_output(report: &Report) -> String {
    let besides = match report.status {
        Status::Blocked => report.reason.as_deref().unwrap_or_default(),
        Status::Failed | Status::TimedOut => &report.stderr,
        Status::Success | Status::Skipped | Status::Started => "",
    };
    let lines = report.stdout.trim_end().lines().chain(besides.trim_end().lines());
    lines.map(|line| format!("{INDENT}{}\n", visible(line))).collect()
}

/// The last lines of a failed hook's output.
fn output(report: &Report) -> String {
    let both = format!("{}\n{}", report.stdout.trim_end(), report.stderr.trim_end());
    let lines: Vec<&str> = both.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(OUTPUT_LINES_MAX)..];
    let mut text = String::new();
    if shown.len() < lines.len() {
        let (shown, all) = (shown.len(), lines.len());
        text.push_str(&format!("{INDENT}... last {shown} of {all} lines; all of it with --json\n"));
    }
    text.push_str(&shown.iter().map(|line| indented(line)).collect::<String>());
    text
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("{INDENT}{}\n", one_line(line, LINE_CHARS_MAX))).collect()
}

fn decision(fired: &Fired) -> String {
    let decision = &fired.decision;
    let mut text = String::new();
    let mut say = |word: &str, what: &str| {
        let mut lines = what.trim_end().lines();
        let word = Paint::of_results().outcome(word);
        text.push_str(&format!("{word}: {}\n", visible(lines.next().unwrap_or_default())));
        for line in lines {
            text.push_str(&format!("{INDENT}{}\n", visible(line)));
        }
    };
    match &decision.verdict {
        Verdict::Proceed { .. } => {}
        Verdict::Allow { reason, .. } => say("allow", reason.as_deref().unwrap_or_default()),
        Verdict::Ask { reason, .. } => say("ask", reason.as_deref().unwrap_or_default()),
        Verdict::Block { reason } => say("block", reason),
        Verdict::Stop { reason } => say("stop", reason),
        Verdict::Abort { reason } => say("abort", reason),
    }
    if let Some(input) = decision.verdict.rewritten_input() {
        say("input", &input.to_string());
    }
    if let Some(output) = &decision.updated_output {
        say("output", &output.to_string());
    }
    for context in &decision.additional_context {
        say("context", context);
    }
    for message in &decision.system_messages {
        say("message", message);
    }
    if !decision.piped_output.is_empty() {
        say("piped", &decision.piped_output);
    }
    text
}

/// `3 hooks: 1 blocked, 1 failed, 1 skipped`.
pub(crate) fn summary(fired: &Fired) -> String {
    let all = [
        Status::Success,
        Status::Blocked,
        Status::Failed,
        Status::TimedOut,
        Status::Skipped,
        Status::Started,
    ];
    let counts: Vec<String> = all
        .iter()
        .map(|status| (status, fired.reports.iter().filter(|r| r.status == *status).count()))
        .filter(|(_, number)| *number > 0)
        .map(|(status, number)| format!("{number} {}", status.as_str().replace('_', " ")))
        .collect();
    let hooks = count(fired.reports.len(), "hook");
    if counts.is_empty() {
        return format!("{hooks}\n");
    }
    format!("{hooks}: {}\n", counts.join(", "))
}

/// The text if no hook listens to the event.
pub(crate) fn no_hooks(event: &Event) -> String {
    match event.subject() {
        Some(subject) => {
            format!("no hook listens to {} ({})\n", event.name, one_line(subject, LINE_CHARS_MAX))
        }
        None => format!("no hook listens to {}\n", event.name),
    }
}

/// The hooks that the command waits for.
pub(crate) fn waiting_for(hooks: &[String]) -> String {
    let names: Vec<String> = hooks.iter().map(|hook| visible(hook).into_owned()).collect();
    format!("waiting for {} in the background: {}\n", count(names.len(), "hook"), names.join(", "))
}

/// `12ms`, `4.31s`, `2m05s`.
pub(crate) fn duration(milliseconds: f64) -> String {
    let seconds = milliseconds / 1000.0;
    if milliseconds < 999.5 {
        format!("{milliseconds:.0}ms")
    } else if seconds < 59.995 {
        format!("{seconds:.2}s")
    } else {
        let whole = seconds.round() as u64;
        format!("{}m{:02}s", whole / 60, whole % 60)
    }
}

/// `12.3k tokens, $0.04`; both directions together.
pub(crate) fn usage(usage: Usage) -> String {
    let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    let tokens = match tokens {
        0..1_000 => count(tokens as usize, "token"),
        1_000..999_950 => format!("{:.1}k tokens", tokens as f64 / 1e3),
        _ => format!("{:.1}M tokens", tokens as f64 / 1e6),
    };
    match usage.cost_usd {
        Some(cost) => format!("{tokens}, {}", dollars(cost)),
        None => tokens,
    }
}

/// `$0.04`; a smaller cost with more digits.
pub(crate) fn dollars(cost: f64) -> String {
    if cost != 0.0 && cost < 0.01 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(status: Status, stdout: &str, stderr: &str, reason: Option<&str>) -> String {
        let report = Report {
            id: "a".into(),
            action: "shell".into(),
            source: "f:1".into(),
            status,
            exit_code: None,
            stdout: stdout.into(),
            stderr: stderr.into(),
            attempts: 1,
            duration_ms: 12.0,
            reason: reason.map(str::to_owned),
            interrupted: false,
            shows_output: true,
            hides_output: false,
        };
        let text = super::report(&EventName::resolve("Stop").expect("known"), &report);
        text.lines().skip(1).map(|line| format!("{}\n", &line[INDENT.len()..])).collect()
    }

    #[test]
    fn output_that_is_always_shown_appears_completely_and_once() {
        let many: String = (1..=30).map(|number| format!("{number}\n")).collect();
        let long = format!("{}\n", "x".repeat(500));
        for (status, stdout, stderr, reason, expected) in [
            (Status::Success, "one\n\n  two\n", "quiet", None, "one\n\n  two\n"),
            (Status::Success, "", "", None, ""),
            (Status::Success, &many, "", None, &*many),
            (Status::Success, &long, "", None, &*long),
            (Status::Failed, "out\n", "err\n", Some("exit code 1"), "out\nerr\n"),
            (Status::TimedOut, "out", "err", Some("timed out"), "out\nerr\n"),
            (Status::Blocked, "out\n", "no\n", Some("no"), "out\nno\n"),
            (Status::Skipped, "", "", Some("a blocked"), ""),
        ] {
            let padded = shown(status, stdout, stderr, reason);
            assert_eq!(padded, expected, "{status:?} {stdout}");
        }
    }

    #[test]
    fn control_characters_in_it_are_made_visible() {
        let clears = "\u{1b}[2J\u{7}a\u{202e}b\n";
        assert_eq!(shown(Status::Success, clears, "", None), "␛[2J␇a\\u{202e}b\n");
    }

    #[test]
    fn a_duration_is_as_short_as_it_can_be() {
        for (milliseconds, text) in [
            (0.4, "0ms"),
            (12.3, "12ms"),
            (999.4, "999ms"),
            (999.6, "1.00s"),
            (4310.0, "4.31s"),
            (59_999.0, "1m00s"),
            (125_000.0, "2m05s"),
        ] {
            assert_eq!(duration(milliseconds), text);
        }
    }

    #[test]
    fn usage_is_shown_with_a_few_digits() {
        for (input_tokens, output_tokens, cost_usd, text) in [
            (1, 0, None, "1 token"),
            (900, 99, Some(0.0), "999 tokens, $0.00"),
            (12_000, 345, Some(0.0042), "12.3k tokens, $0.0042"),
            (999_949, 0, Some(0.996), "999.9k tokens, $1.00"),
            (999_950, 0, Some(12.0), "1.0M tokens, $12.00"),
        ] {
            assert_eq!(usage(Usage { input_tokens, output_tokens, cost_usd }), text);
        }
    }
}
