//! A session's timeline as a tree.
//!
//! Of a stage with many iterations the first and the last are drawn, and those with problems
//! between them; the others are counted. The same goes for the work items of a queue, each with its
//! iterations.

mod abridged;
mod page;
mod words;

use hookwright_pipeline::limits::DEEDS_KEPT_AT_EACH_END;
use hookwright_pipeline::timeline::{HookRun, Iteration, Milestone, Part, TimelineEvent};

use super::{at_most, human};
use crate::known_session::KnownSession;
use crate::text::{Paint, count, local, one_line, visible};
use abridged::{Abridged, AbridgedEntry};
use page::{TimelinePage, WORDS_MAX, Words};

/// Hooks and decisions of one iteration that are drawn.
const DEEDS_SHOWN_MAX: usize = 30;

/// Draws the parts of a timeline.
pub(crate) struct TimelineScreen {
    all: bool,
    page: TimelinePage,
    in_stage: bool,
    iterations: Abridged<Iteration>,
    items: Abridged<DrawnItem>,
    item: Option<DrawnItem>,
    /// Number of skipped hooks that were not drawn.
    skipped: usize,
    /// How the session ended, unless it continued.
    ended: Option<String>,
}

/// A work item, drawn as far as it is known.
#[derive(Debug, Default)]
struct DrawnItem {
    text: String,
    is_trouble: bool,
    skipped: usize,
}

/// One iteration with all that happened in it.
pub(crate) fn iteration_alone(iteration: &Iteration, columns: Option<usize>) -> String {
    let mut screen = TimelineScreen::new(true, columns);
    let text = words::of_iteration(screen.page, "", "", iteration);
    let began = format!("  began {}\n", local(&iteration.at));
    text + &began + &screen.deeds_of(iteration, "  ")
}

impl TimelineScreen {
    /// `columns` is the width of the terminal, if it is one.
    pub(crate) fn new(all: bool, columns: Option<usize>) -> Self {
        Self {
            all,
            page: TimelinePage { columns },
            in_stage: false,
            iterations: Abridged::default(),
            items: Abridged::default(),
            item: None,
            skipped: 0,
            ended: None,
        }
    }

    /// The text for a part; empty if it is held back.
    pub(crate) fn part(&mut self, part: Part) -> String {
        match part {
            Part::Milestone(Milestone::Iteration(iteration)) => {
                let text = self.iteration(*iteration);
                self.with_its_item(text)
            }
            Part::Milestone(milestone) => {
                let before = self.flush_iterations();
                self.with_its_item(before) + &self.milestone(milestone)
            }
            Part::TimelineEvent(deed) => {
                let (_, trunk) = self.rails();
                let before = self.flush_iterations() + &self.flush_items_outside();
                let text = before + &self.deeds(&trunk, std::slice::from_ref(&deed), 0);
                self.with_its_item(text)
            }
        }
    }

    /// Holds back what belongs to a work item until it is known whether the item is drawn.
    fn with_its_item(&mut self, text: String) -> String {
        match &mut self.item {
            // All items are drawn, and one may be very long.
            Some(item) if self.all => std::mem::take(&mut item.text) + &text,
            Some(item) => {
                item.text.push_str(&text);
                String::new()
            }
            None => text,
        }
    }

    /// The end of the tree, and what was left out.
    pub(crate) fn finish(mut self, session: &KnownSession) -> String {
        let ended = self.ended.take();
        let mut text = self.flush_iterations();
        if let Some(item) = self.item.take() {
            text = item.text + &text;
            self.skipped += item.skipped;
        }
        text = self.flush_items() + &text;
        let end = match (ended, &session.holder) {
            (Some(ended), _) => ended,
            (None, Some(holder)) => format!("runs, process {}", holder.pid),
            (None, None) => session.status.in_words().to_owned(),
        };
        text.push_str(&self.page.line("└─ ", "   ", &end, Words::NONE));
        if let Some(command) = session.resume_command() {
            text.push_str(&format!("resume with: {}\n", visible(&command)));
        }
        let left_out: Vec<String> = [
            (self.items.left_out, "piece of work"),
            (self.iterations.left_out, "iteration"),
            (self.skipped, "skipped hook"),
        ]
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| of_number(number, noun))
        .collect();
        if !left_out.is_empty() {
            text.push_str(&format!("not shown: {} (`--all`)\n", left_out.join(", ")));
        }
        text
    }

    fn milestone(&mut self, milestone: Milestone) -> String {
        match milestone {
            // The heading has it, and iterations are drawn elsewhere.
            Milestone::SessionBegan { .. } | Milestone::Iteration(_) => String::new(),
            Milestone::SessionResumed { at, time } => {
                let times = if time == 1 { "".to_owned() } else { format!(" ({time} times now)") };
                format!("├─ resumed at {}{times}\n", local(&at))
            }
            Milestone::StageBegan { stage, index, iterations_max, .. } => {
                self.in_stage = true;
                self.iterations.begin();
                self.items.begin();
                let most = match iterations_max {
                    Some(most) => at_most(most),
                    None => "continues".to_owned(),
                };
                let what = format!("stage {index} {}: {most}", one_line(&stage, WORDS_MAX));
                self.page.line("├─ ", "│  ", &what, Words::NONE)
            }
            Milestone::ItemBegan { item, goes_on, .. } => {
                let goes_on = if goes_on { " (continued)" } else { "" };
                let what = format!("{}{goes_on}", words::of_item(&item));
                let text = self.page.line("│  ├─ ", "│  │  ", &what, Words::NONE);
                self.iterations.begin();
                self.item = Some(DrawnItem { text, ..DrawnItem::default() });
                String::new()
            }
            Milestone::ItemEnded { state, reason, iterations, duration_ms, usage, .. } => {
                let end = match (state, iterations) {
                    (Some(state), Some(iterations)) => {
                        let took = duration_ms.map(|took| format!(", {}", human::duration(took)));
                        let iterations = count(iterations as usize, "iteration");
                        let (state, took) = (state.as_str(), took.unwrap_or_default());
                        format!("{state} after {iterations}{took}{}", words::used(usage))
                    }
                    _ => "left unfinished".to_owned(),
                };
                let reason = reason.unwrap_or_default();
                let words = Words::after_colon(&reason);
                let end = self.page.line("│  │  └─ ", "│  │     ", &end, words);
                let is_done = state == Some(hookwright_events::ItemState::Done);
                self.end_item(end, !is_done)
            }
            Milestone::StageEnded { reason, iterations, duration_ms, usage, .. } => {
                let before = self.flush_items();
                self.in_stage = false;
                let took = duration_ms.map(|took| format!(", {}", human::duration(took)));
                let end = match (reason, iterations) {
                    (Some(reason), Some(iterations)) => format!(
                        "{} after {}{}{}",
                        one_line(&reason, WORDS_MAX),
                        count(iterations as usize, "iteration"),
                        took.unwrap_or_default(),
                        words::used(usage)
                    ),
                    _ => "left unfinished".to_owned(),
                };
                before + &self.page.line("│  └─ ", "│     ", &end, Words::NONE)
            }
            Milestone::SessionEnded { at, status, reason, usage } => {
                let used = words::used(usage);
                let why = if reason == status.as_str() || reason.is_empty() {
                    String::new()
                } else {
                    format!(": {}", one_line(&reason, WORDS_MAX))
                };
                // The last one closes the tree.
                let status = Paint::of_results().outcome(status.in_words());
                self.ended = Some(format!("{status} at {}{used}{why}", local(&at)));
                String::new()
            }
        }
    }

    fn iteration(&mut self, iteration: Iteration) -> String {
        if iteration.is_trouble()
            && let Some(item) = &mut self.item
        {
            item.is_trouble = true;
        }
        if self.all || iteration.iteration == 0 {
            return self.draw(&iteration);
        }
        let is_trouble = iteration.is_trouble();
        let shown = self.iterations.push(iteration, is_trouble);
        self.draw_all(shown)
    }

    /// The iterations that were held back, now that they are the last of their stage.
    fn flush_iterations(&mut self) -> String {
        let ended = self.ended.take().map(|ended| format!("├─ {ended}\n"));
        let shown = self.iterations.flush();
        ended.unwrap_or_default() + &self.draw_all(shown)
    }

    fn draw_all(&mut self, shown: Vec<AbridgedEntry<Iteration>>) -> String {
        let draw = |shown| match shown {
            AbridgedEntry::One(iteration) => self.draw(&iteration),
            AbridgedEntry::Gap(number) => {
                let (_, trunk) = self.rails();
                format!("{trunk}… {} not shown …\n", count(number, "iteration"))
            }
        };
        shown.into_iter().map(draw).collect()
    }

    fn draw(&mut self, iteration: &Iteration) -> String {
        let (branch, trunk) = self.rails();
        let trunk = format!("{trunk}   ");
        let text = words::of_iteration(self.page, &branch, &trunk, iteration);
        text + &self.deeds_of(iteration, &trunk)
    }

    fn deeds_of(&mut self, iteration: &Iteration, trunk: &str) -> String {
        let left_out = iteration.deeds_left_out;
        if left_out == 0 {
            return self.deeds(trunk, &iteration.deeds, 0);
        }
        let middle = iteration.deeds.len().min(DEEDS_KEPT_AT_EACH_END);
        let (first, last) = iteration.deeds.split_at(middle);
        if !self.all {
            return self.deeds(trunk, first, left_out + last.len() as u64);
        }
        let gap = format!("{trunk}… {left_out} in the middle (`hookwright sessions log`) …\n");
        self.deeds(trunk, first, 0) + &gap + &self.deeds(trunk, last, 0)
    }

    /// The lines before an iteration, and before events outside iterations.
    fn rails(&self) -> (String, String) {
        let depth = usize::from(self.in_stage) + usize::from(self.item.is_some());
        let rails = "│  ".repeat(depth);
        (format!("{rails}├─ "), format!("{rails}│  "))
    }

    /// Draws the whole work item; earlier ones may have to be drawn first.
    fn end_item(&mut self, end: String, is_trouble: bool) -> String {
        let mut item = self.item.take().unwrap_or_default();
        item.text.push_str(&end);
        item.is_trouble |= is_trouble;
        let shown = if self.all {
            vec![AbridgedEntry::One(item)]
        } else {
            let is_trouble = item.is_trouble;
            self.items.push(item, is_trouble)
        };
        self.show_items(shown)
    }

    /// Called for an event between two work items.
    fn flush_items_outside(&mut self) -> String {
        if self.item.is_some() { String::new() } else { self.flush_items() }
    }

    fn flush_items(&mut self) -> String {
        let shown = self.items.flush();
        self.show_items(shown)
    }

    fn show_items(&mut self, shown: Vec<AbridgedEntry<DrawnItem>>) -> String {
        let show = |shown| match shown {
            AbridgedEntry::One(item) => {
                let DrawnItem { text, skipped, .. } = item;
                self.skipped += skipped;
                text
            }
            AbridgedEntry::Gap(number) => {
                format!("│  │  … {} not shown …\n", of_number(number, "piece of work"))
            }
        };
        shown.into_iter().map(show).collect()
    }

    /// The lines of these events, with the number of those left out.
    fn deeds(&mut self, trunk: &str, deeds: &[TimelineEvent], more: u64) -> String {
        let mut text = String::new();
        let (mut shown, mut more, mut skipped) = (0, more, 0);
        for deed in deeds {
            if !self.all && matches!(deed, TimelineEvent::Hook(HookRun { status: "skipped", .. })) {
                skipped += 1;
            } else if !self.all && shown == DEEDS_SHOWN_MAX {
                more += 1;
            } else {
                shown += 1;
                text.push_str(&words::of_deed(self.page, trunk, deed));
            }
        }
        if more > 0 {
            text.push_str(&format!("{trunk}… {more} more (`--all`)\n"));
        }
        match &mut self.item {
            Some(item) => item.skipped += skipped,
            None => self.skipped += skipped,
        }
        text
    }
}

/// `1 work item`, `2 work items`: a number with its noun.
fn of_number(number: usize, noun: &str) -> String {
    match (number, noun) {
        (1, "piece of work") => "1 piece of work".to_owned(),
        (_, "piece of work") => format!("{number} pieces of work"),
        _ => count(number, noun),
    }
}

#[cfg(test)]
mod tests;
