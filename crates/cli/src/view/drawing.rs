//! Draws the view as lines, from a model, the dialog and a size. No terminal.
//!
//! Every line fits the width. With too few rows, the least important lines are left out.

use hookwright_config::limits::ITERATIONS_MAX;
use hookwright_events::{EventName, PauseCause};
use hookwright_pipeline::record::{Pause, milliseconds};
use hookwright_pipeline::session_state::{OpenQuestion, RunningHook, SessionState, WorkingAgent};

use super::dialog::{Asks, Dialog};
use super::limits::{HOOKS_SHOWN_MAX, OUTPUT_LINES_SHOWN};
use super::model::ViewModel;
use crate::render::human;
use crate::text::columns::{columns, cut};
use crate::text::{count, one_line};

/// Characters of any text before it is cut to the width.
const TEXT_CHARS_MAX: usize = 500;

/// One line of the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ViewLine {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// The weight of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    /// The session's progress.
    Strong,
    /// Foreign output.
    Faint,
    /// A person must act.
    Asking,
}

/// The size of the terminal, and the time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) now_ms: i64,
    /// Whether keys can be read.
    pub(crate) has_keys: bool,
}

/// Draws the view.
pub(crate) fn lines(model: &ViewModel, dialog: &Dialog, around: Surroundings) -> Vec<ViewLine> {
    let rows = rows_of_view(around.rows, dialog.more_output);
    // The last column stays free, so that no terminal wraps.
    let width = around.columns.saturating_sub(1).max(1);
    let mut drawn = Drawn { width, lines: Vec::new() };
    let now = around.now_ms;
    drawn.rule(model, now);
    drawn.add(Weight::Place, Tone::Strong, &place(model));
    if let Some(agent) = &model.agent() {
        drawn.add(Weight::Runs, Tone::Plain, &working(agent, now));
    }
    drawn.hooks(&model.state.hooks, now);
    let SessionState { record, paused_at, .. } = &model.state;
    if let Some((pause, since)) = record.pause.as_ref().zip(paused_at.as_deref()) {
        drawn.add(Weight::Waits, Tone::Asking, &paused(pause, since, now));
    } else if dialog.paused {
        drawn.add(Weight::Waits, Tone::Asking, "will pause before the next step (p: continue)");
    }
    if model.is_ending {
        drawn.add(Weight::Waits, Tone::Asking, "ending the session (Ctrl-C exits at once)");
    }
    let chosen = dialog.chosen(model).map(|question| &*question.wait);
    for question in &model.state.questions {
        let is_chosen = model.state.questions.len() > 1 && Some(&*question.wait) == chosen;
        drawn.question(question, is_chosen, now);
    }
    drawn.output(model, dialog, rows);
    if dialog.help {
        for text in HELP {
            drawn.add(Weight::Help, Tone::Plain, text);
        }
    }
    drawn.foot(model, dialog, around.has_keys);
    drawn.fit(rows)
}

/// What the keys do.
const HELP: &[&str] = &[
    "  a approve, r reject the question; Tab shows the next question",
    "  p pause before the next step, p again continues",
    "  s stop the session, like Ctrl-C; once more exits at once",
    "  o more or less of the agent's output, i its prompt, ? this help",
];

/// Rows of the view; the log above it must stay visible.
fn rows_of_view(rows: usize, more_output: bool) -> usize {
    let most = if more_output { rows * 3 / 4 } else { rows * 2 / 3 };
    most.min(rows.saturating_sub(2)).max(1)
}

/// The importance of a line; the least important is left out first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Output,
    Prompt,
    Rule,
    Help,
    Address,
    Hook,
    Place,
    Runs,
    Waits,
    Question,
    Foot,
}

struct Drawn {
    width: usize,
    lines: Vec<(Weight, ViewLine)>,
}

impl Drawn {
    fn add(&mut self, weight: Weight, tone: Tone, text: &str) {
        let text = cut(text, self.width);
        self.lines.push((weight, ViewLine { text, tone }));
    }

    /// `── one: full-workflow ───────────── 3m12s ──`
    fn rule(&mut self, model: &ViewModel, now_ms: i64) {
        let name = format!("{}: {}", shown(&model.session), shown(&model.state.record.plan));
        let took = if model.since_ms == 0 { 0 } else { now_ms - model.since_ms };
        let used = model.state.record.usage.map(|used| human::usage(used.into()));
        let cost = used.map(|used| format!("{used}, ")).unwrap_or_default();
        let right = format!(" {cost}{} ──", span(took));
        let left = cut(&format!("── {name} "), self.width.saturating_sub(columns(&right)).max(8));
        let room = self.width.saturating_sub(columns(&left) + columns(&right));
        self.add(Weight::Rule, Tone::Faint, &format!("{left}{}{right}", "─".repeat(room)));
    }

    fn hooks(&mut self, hooks: &[RunningHook], now_ms: i64) {
        for hook in hooks.iter().take(HOOKS_SHOWN_MAX) {
            self.add(Weight::Hook, Tone::Plain, &running(hook, now_ms));
        }
        if hooks.len() > HOOKS_SHOWN_MAX {
            let more = count(hooks.len() - HOOKS_SHOWN_MAX, "hook");
            self.add(Weight::Hook, Tone::Plain, &format!("  and {more} more"));
        }
    }

    fn question(&mut self, question: &OpenQuestion, is_chosen: bool, now_ms: i64) {
        let left =
            milliseconds(&question.until).map(|until| format!("{} left", span(until - now_ms)));
        let left = left.unwrap_or_default();
        let mark = if is_chosen { ">" } else { "?" };
        let text = format!("{mark} {} asks ({left}): ", shown(&question.hook));
        let what = shown(&question.question);
        let room = self.width.saturating_sub(columns(&text));
        if columns(&what) <= room || room >= 40 {
            self.add(Weight::Question, Tone::Asking, &format!("{text}{what}"));
        } else {
            self.add(Weight::Address, Tone::Asking, text.trim_end());
            self.add(Weight::Question, Tone::Asking, &format!("  {what}"));
        }
        let wait = shown(&question.wait);
        let place = match &question.url {
            // A cut address is useless, so it wraps.
            Some(url) => format!("  {}", shown(url)),
            None => format!("  hookwright approve {wait}"),
        };
        for piece in wrapped(&place, self.width) {
            self.add(Weight::Address, Tone::Plain, &piece);
        }
    }

    fn output(&mut self, model: &ViewModel, dialog: &Dialog, rows: usize) {
        if dialog.shows_prompt {
            return self.prompt(model, dialog, rows);
        }
        let most = if dialog.more_output { rows } else { OUTPUT_LINES_SHOWN };
        for line in model.output.last(most) {
            self.add(Weight::Output, Tone::Faint, &format!("  │ {}", shown(line)));
        }
    }

    /// The beginning of the prompt, and the number of further lines.
    fn prompt(&mut self, model: &ViewModel, dialog: &Dialog, rows: usize) {
        if model.prompt.is_empty() {
            return self.add(Weight::Output, Tone::Faint, "  the agent has no prompt yet");
        }
        // The heading, the line with the number, and the keys.
        let room = rows.saturating_sub(self.lines.len() + 3);
        let room = if dialog.more_output { room } else { room.min(2 * OUTPUT_LINES_SHOWN) };
        let (lines, more) = model.prompt.first(room);
        self.add(Weight::Prompt, Tone::Faint, "  the agent's prompt:");
        for line in lines {
            self.add(Weight::Prompt, Tone::Faint, &format!("  > {}", shown(line)));
        }
        if more > 0 {
            let (more, session) = (count(more, "line"), shown(&model.session));
            let whole =
                format!("hookwright sessions show {session} --iteration {}", model.state.iteration);
            self.add(Weight::Prompt, Tone::Faint, &format!("  … {more} more: {whole}"));
        }
    }

    fn foot(&mut self, model: &ViewModel, dialog: &Dialog, has_keys: bool) {
        if !has_keys {
            return;
        }
        let (text, tone) = match &dialog.asks {
            Asks::Nothing => (keys(model, dialog, self.width), Tone::Faint),
            Asks::Message { text, .. } => (self.message(text), Tone::Asking),
            Asks::Answer { wait, action, message } => {
                let said =
                    message.as_deref().map(|said| format!(" with the message `{}`", shown(said)));
                let sure = format!("{action} {}{}", shown(wait), said.unwrap_or_default());
                let sure = cut(&sure, self.width.saturating_sub(12).max(8));
                (format!("{sure}: sure? y/n"), Tone::Asking)
            }
            Asks::Stop if model.is_ending => ("exit at once: sure? y/n".to_owned(), Tone::Asking),
            Asks::Stop => ("stop the session: sure? y/n".to_owned(), Tone::Asking),
        };
        self.add(Weight::Foot, tone, &text);
    }

    /// The text being typed; its end stays visible.
    fn message(&self, typed: &str) -> String {
        let long = "why not? (Enter continues, Esc goes back) ";
        let short = "why not? ";
        let head = if self.width >= 2 * long.len() { long } else { short };
        let typed = shown_as_typed(typed);
        let room = self.width.saturating_sub(columns(head) + 1);
        let mut end: String = typed.clone();
        while columns(&end) > room {
            end.remove(0);
        }
        format!("{head}{end}▏")
    }

    /// The most important lines, in their order.
    fn fit(self, rows: usize) -> Vec<ViewLine> {
        let mut lines = self.lines;
        while lines.len() > rows {
            let least = lines.iter().map(|(weight, _)| *weight).min();
            // Of the agent's lines the oldest is left out first; of all others the last.
            let at = match least {
                Some(Weight::Output) => lines.iter().position(|(weight, _)| Some(*weight) == least),
                _ => lines.iter().rposition(|(weight, _)| Some(*weight) == least),
            };
            match at {
                Some(at) => lines.remove(at),
                None => break,
            };
        }
        lines.into_iter().map(|(_, line)| line).collect()
    }
}

/// `stage 1/2 plan, iteration 3 of at most 25, issue 3: Parser`
fn place(model: &ViewModel) -> String {
    if model.is_at_its_end() {
        return match model.state.hooks.len() {
            0 => "at the end".to_owned(),
            hooks => format!("at the end, waiting for {}", count(hooks, "hook")),
        };
    }
    let mut text = match model.state.record.stage {
        0 => "before the first stage".to_owned(),
        stage => {
            let name = model.state.record.stages.get(stage as usize - 1);
            let name = name.map(|name| format!(" {}", shown(name))).unwrap_or_default();
            format!("stage {stage}/{}{name}", model.state.record.stages.len())
        }
    };
    if model.state.iteration > 0 {
        text.push_str(&format!(", iteration {}", model.state.iteration));
        // A queue without its own limit has an internal one, which is not shown.
        if let Some(most) = model.state.iterations_max.filter(|most| *most < ITERATIONS_MAX) {
            text.push_str(&format!(" of at most {most}"));
        }
    }
    if let Some(item) = &model.item() {
        text.push_str(&format!(", {}", shown(item)));
    }
    text
}

fn working(agent: &WorkingAgent, now_ms: i64) -> String {
    let pid = agent.pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
    let attempt = match agent.attempt {
        0 | 1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    let what = if agent.is_final { "works on the final delivery" } else { "works" };
    format!(
        "▸ agent {} {what}, {}{attempt}{pid}",
        shown(agent.name.as_deref().unwrap_or_default()),
        span(now_ms - agent.since_ms())
    )
}

fn running(hook: &RunningHook, now_ms: i64) -> String {
    let background = if hook.awaited { "" } else { ", in the background" };
    let attempt = match (hook.attempt, &hook.retry) {
        (attempt, Some(retry)) => {
            format!(", attempt {attempt} in {}", span(retry.at_ms() - now_ms))
        }
        (0 | 1, None) => String::new(),
        (attempt, None) => format!(", attempt {attempt}"),
    };
    let why = hook.retry.as_ref().map(|retry| format!(": {}", shown(&retry.reason)));
    let child = hook.child.as_deref().map(|child| format!(", as session {}", shown(child)));
    format!(
        "▸ hook {} at {}, {}{background}{attempt}{}{}",
        shown(&hook.id),
        hook.event.as_ref().map_or("", EventName::as_str),
        span(now_ms - hook.since_ms()),
        child.unwrap_or_default(),
        why.unwrap_or_default()
    )
}

fn paused(pause: &Pause, since: &str, now_ms: i64) -> String {
    let goes_on = match (pause.cause, pause.until.as_deref().and_then(milliseconds)) {
        (_, Some(until)) => format!(", continues in {}", span(until - now_ms)),
        (Some(PauseCause::Person), None) => " (p: continue)".to_owned(),
        (_, None) => String::new(),
    };
    let since_ms = milliseconds(since).unwrap_or(0);
    let (long, why) = (span(now_ms - since_ms), shown(&pause.reason));
    format!("‖ paused for {long}{goes_on}: {why}")
}

/// The available keys, as many as fit.
fn keys(model: &ViewModel, dialog: &Dialog, width: usize) -> String {
    let pause = if dialog.paused { "continue" } else { "pause" };
    let output = if dialog.more_output { "less output" } else { "more output" };
    let prompt = if dialog.shows_prompt { "output" } else { "prompt" };
    let mut names = Vec::new();
    if !model.state.questions.is_empty() {
        names.extend([("a", "approve"), ("r", "reject")]);
    }
    if model.state.questions.len() > 1 {
        names.push(("Tab", "next question"));
    }
    names.extend([("p", pause), ("s", "stop"), ("o", output), ("i", prompt), ("?", "help")]);
    let long: Vec<String> = names.iter().map(|(key, name)| format!("{key} {name}")).collect();
    let long = long.join("  ");
    if columns(&long) <= width {
        return long;
    }
    names.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(" ")
}

/// Foreign text in one line, with control characters escaped.
fn shown(text: &str) -> String {
    one_line(text, TEXT_CHARS_MAX)
}

/// The same, with the spaces at its ends.
fn shown_as_typed(text: &str) -> String {
    crate::text::visible(text).replace(['\n', '\t'], " ")
}

/// Text in lines that fit.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut room = width;
    for letter in text.chars() {
        let takes = crate::text::width(letter);
        if takes > room {
            pieces.push(String::new());
            room = width;
        }
        room = room.saturating_sub(takes);
        if let Some(piece) = pieces.last_mut() {
            piece.push(letter);
        }
    }
    pieces
}

/// `12s`, `1m02s`, `2h05m`, `3d04h`: whole units, like a clock.
pub(crate) fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (minutes, hours, days) {
        (0, ..) => format!("{seconds}s"),
        (_, 0, _) => format!("{minutes}m{:02}s", seconds % 60),
        (_, _, 0) => format!("{hours}h{:02}m", minutes % 60),
        _ => format!("{days}d{:02}h", hours % 24),
    }
}

#[cfg(test)]
mod tests;
