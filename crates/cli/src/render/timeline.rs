//! A session's timeline as a tree.
//!
//! Of a stage with many iterations the first and the last are drawn, and between them those with
//! trouble; the others are counted. Only the last ones are held back, so memory stays flat.

use std::collections::VecDeque;

use hookwright_pipeline::timeline::{Deed, Iteration, IterationState, Milestone, Part};

use super::{count, human, one_line, visible};
use crate::known_session::KnownSession;

/// Iterations at a stage's beginning that are drawn.
const FIRST_SHOWN: usize = 3;

/// Iterations at its end that are drawn.
const LAST_SHOWN: usize = 5;

/// Iterations with trouble between them that are drawn.
const TROUBLE_SHOWN_MAX: usize = 10;

/// Hooks and decisions of one iteration that are drawn.
const DEEDS_SHOWN_MAX: usize = 30;

/// Characters of words and reasons.
const WORDS_MAX: usize = 120;

/// Draws the parts of a timeline.
pub(crate) struct TimelineScreen {
    all: bool,
    in_stage: bool,
    /// Iterations of this stage that were drawn at its beginning.
    first: usize,
    troubles: usize,
    held_back: VecDeque<Iteration>,
    /// What was left out since the last line.
    left_out: usize,
    /// Iterations and skipped hooks that were left out altogether.
    iterations_left_out: usize,
    skipped: usize,
    /// How the session ended, unless it went on.
    ended: Option<String>,
}

impl TimelineScreen {
    pub(crate) fn new(all: bool) -> Self {
        Self {
            all,
            in_stage: false,
            first: 0,
            troubles: 0,
            held_back: VecDeque::new(),
            left_out: 0,
            iterations_left_out: 0,
            skipped: 0,
            ended: None,
        }
    }

    /// What is drawn for a part, if anything is yet.
    pub(crate) fn part(&mut self, part: Part) -> String {
        match part {
            Part::Milestone(Milestone::Iteration(iteration)) => self.iteration(*iteration),
            Part::Milestone(milestone) => self.flush() + &self.milestone(&milestone),
            Part::Deed(deed) => {
                let trunk = if self.in_stage { "│  │  " } else { "│  " };
                self.flush() + &self.deeds(trunk, std::slice::from_ref(&deed))
            }
        }
    }

    /// The end of the tree, and what is not in it.
    pub(crate) fn finish(mut self, session: &KnownSession) -> String {
        let ended = self.ended.take();
        let mut text = self.flush();
        let name = visible(session.name());
        let end = match (ended, &session.holder) {
            (Some(ended), _) => ended,
            (None, Some(holder)) => format!("runs, process {}", holder.pid),
            (None, None) => session.status_in_words(),
        };
        text.push_str(&format!("└─ {end}\n"));
        if session.can_be_resumed() {
            text.push_str(&format!("go on with: hookwright resume {name}\n"));
        }
        let mut left_out = Vec::new();
        if self.iterations_left_out > 0 {
            left_out.push(count(self.iterations_left_out, "iteration"));
        }
        if self.skipped > 0 {
            left_out.push(count(self.skipped, "skipped hook"));
        }
        if !left_out.is_empty() {
            text.push_str(&format!("not shown: {} (`--all`)\n", left_out.join(", ")));
        }
        text
    }

    fn milestone(&mut self, milestone: &Milestone) -> String {
        match milestone {
            // The heading has said so, and the iterations are drawn elsewhere.
            Milestone::SessionBegan { .. } | Milestone::Iteration(_) => String::new(),
            Milestone::SessionResumed { at, time } => {
                let times = if *time == 1 { "".to_owned() } else { format!(" ({time} times now)") };
                format!("├─ taken up again at {}{times}\n", clock(at))
            }
            Milestone::StageBegan { stage, index, iterations_max, .. } => {
                (self.in_stage, self.first, self.troubles) = (true, 0, 0);
                let most = match iterations_max {
                    Some(most) => format!("at most {}", count(*most as usize, "iteration")),
                    None => "goes on".to_owned(),
                };
                format!("├─ stage {index} {}: {most}\n", one_line(stage, WORDS_MAX))
            }
            Milestone::StageEnded { reason, iterations, duration_ms, .. } => {
                self.in_stage = false;
                let took = duration_ms.map(|took| format!(", {}", human::duration(took)));
                let end = match (reason, iterations) {
                    (Some(reason), Some(iterations)) => format!(
                        "{} after {}{}",
                        one_line(reason, WORDS_MAX),
                        count(*iterations as usize, "iteration"),
                        took.unwrap_or_default()
                    ),
                    _ => "left before its end".to_owned(),
                };
                format!("│  └─ {end}\n")
            }
            Milestone::SessionEnded { at, status, reason } => {
                let why = if reason == status || reason.is_empty() {
                    String::new()
                } else {
                    format!(": {}", one_line(reason, WORDS_MAX))
                };
                // The last one closes the tree.
                self.ended = Some(format!("{} at {}{why}", visible(status), clock(at)));
                String::new()
            }
        }
    }

    fn iteration(&mut self, iteration: Iteration) -> String {
        if self.all || iteration.iteration == 0 {
            return self.draw(&iteration);
        }
        if self.first < FIRST_SHOWN {
            self.first += 1;
            return self.draw(&iteration);
        }
        self.held_back.push_back(iteration);
        if self.held_back.len() <= LAST_SHOWN {
            return String::new();
        }
        match self.held_back.pop_front() {
            Some(trouble) if trouble.is_trouble() && self.troubles < TROUBLE_SHOWN_MAX => {
                self.troubles += 1;
                self.gap() + &self.draw(&trouble)
            }
            Some(_) => {
                self.left_out += 1;
                self.iterations_left_out += 1;
                String::new()
            }
            None => String::new(),
        }
    }

    /// What was held back, now that it is known to be the last of its stage.
    fn flush(&mut self) -> String {
        let mut text = self.gap();
        if let Some(ended) = self.ended.take() {
            text.push_str(&format!("├─ {ended}\n"));
        }
        for iteration in std::mem::take(&mut self.held_back) {
            text.push_str(&self.draw(&iteration));
        }
        text
    }

    fn gap(&mut self) -> String {
        match std::mem::take(&mut self.left_out) {
            0 => String::new(),
            number => format!("│  │  … {} not shown …\n", count(number, "iteration")),
        }
    }

    fn draw(&mut self, iteration: &Iteration) -> String {
        let (branch, trunk) =
            if self.in_stage { ("│  ├─ ", "│  │     ") } else { ("├─ ", "│     ") };
        let mut text = format!("{branch}{}\n", of_iteration(iteration));
        text.push_str(&self.deeds(trunk, &iteration.deeds));
        text
    }

    fn deeds(&mut self, trunk: &str, deeds: &[Deed]) -> String {
        let mut text = String::new();
        let mut shown = 0;
        let mut more = 0;
        for deed in deeds {
            if !self.all && matches!(deed, Deed::Hook { status: "skipped", .. }) {
                self.skipped += 1;
            } else if !self.all && shown == DEEDS_SHOWN_MAX {
                more += 1;
            } else {
                shown += 1;
                text.push_str(&format!("{trunk}{}\n", of_deed(deed)));
            }
        }
        if more > 0 {
            text.push_str(&format!("{trunk}… {more} more (`--all`)\n"));
        }
        text
    }
}

fn of_iteration(iteration: &Iteration) -> String {
    let name = match iteration.iteration {
        0 => "last words of the hooks".to_owned(),
        number => format!("iteration {number}"),
    };
    let attempt = match iteration.attempt {
        0 | 1 => String::new(),
        attempt => format!(" (attempt {attempt})"),
    };
    let state = match iteration.state {
        IterationState::NotStarted => "the agent was not started".to_owned(),
        IterationState::Running => "the agent works".to_owned(),
        IterationState::CutOff => "cut off".to_owned(),
        IterationState::Ended => ended(iteration),
    };
    format!("{name}{attempt}: {state}")
}

fn ended(iteration: &Iteration) -> String {
    let Some(result) = &iteration.result else { return "ended".to_owned() };
    let took = iteration.duration_ms.map(human::duration).unwrap_or_default();
    let changed = match result.changed_files.len() {
        0 => String::new(),
        number => format!(", {} changed", count(number, "file")),
    };
    let words = match &result.error {
        Some(error) => error,
        None if result.summary.is_empty() => &result.reason,
        None => &result.summary,
    };
    let words = match one_line(words, WORDS_MAX) {
        words if words.is_empty() => words,
        words => format!(": {words}"),
    };
    format!("{}, {took}{changed}{words}", visible(&result.decision))
}

fn of_deed(deed: &Deed) -> String {
    let text = match deed {
        Deed::Hook { event, of_iteration, hook, status, reason, attempts, duration_ms } => {
            let (id, status) = (one_line(hook, WORDS_MAX), status.replace('_', " "));
            let took = duration_ms.map(human::duration).unwrap_or_default();
            let reason = one_line(reason.as_deref().unwrap_or_default(), WORDS_MAX);
            let attempts =
                if *attempts > 1 { format!("  ({attempts} attempts)") } else { String::new() };
            let of = of_iteration.map(|number| format!("  (of iteration {number})"));
            let of = of.unwrap_or_default();
            format!("{event:<20}  {id:<28}  {status:<9}  {took:>7}  {reason}{attempts}{of}")
        }
        Deed::Decision { event, verdict, reason } => {
            format!("{event:<20}  decision: {verdict}: {}", one_line(reason, WORDS_MAX))
        }
        Deed::Note { note } => format!("note: {}", one_line(note, WORDS_MAX)),
    };
    visible(text.trim_end()).into_owned()
}

/// `03:04:05` of `2026-01-02T03:04:05.678Z`, with its day.
fn clock(time: &str) -> String {
    time.chars().take("2026-01-02T03:04:05".len()).collect::<String>().replace('T', " ")
}
