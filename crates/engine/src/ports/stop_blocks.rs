//! [`StopBlocks`]: how often in a row each agent of a session was kept from stopping.

use hookwright_events::Event;
use serde::{Deserialize, Serialize};

use crate::limits::STOPPING_AGENTS_MAX;

/// The number of stops blocked in a row with no work between them, for each agent of a session. An
/// agent is identified by its `agent_id`; the session's own has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopBlocks(Vec<(String, u32)>);

impl StopBlocks {
    /// The agent of an event.
    pub fn agent_of(event: &Event) -> &str {
        event.text("agent_id").unwrap_or_default()
    }

    /// How many stops of this agent were blocked in a row.
    pub fn count_for(&self, agent: &str) -> u32 {
        self.0.iter().find(|(known, _)| known == agent).map_or(0, |(_, count)| *count)
    }

    /// Sets the count. If there are too many agents, the one set longest ago is dropped.
    pub fn set(&mut self, agent: &str, count: u32) {
        self.0.retain(|(known, _)| known != agent);
        if count == 0 {
            return;
        }
        if self.0.len() >= STOPPING_AGENTS_MAX {
            self.0.remove(0);
        }
        self.0.push((agent.to_owned(), count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_is_counted_by_itself_and_the_oldest_makes_room() {
        let mut blocks = StopBlocks::default();
        blocks.set("", 3);
        blocks.set("a", 1);
        blocks.set("", 4);
        assert_eq!((blocks.count_for(""), blocks.count_for("a"), blocks.count_for("b")), (4, 1, 0));
        blocks.set("a", 0);
        assert_eq!(blocks, StopBlocks(vec![(String::new(), 4)]));
        for number in 0..STOPPING_AGENTS_MAX {
            blocks.set(&number.to_string(), 1);
        }
        assert_eq!(
            (blocks.count_for(""), blocks.count_for("0"), blocks.0.len()),
            (0, 1, STOPPING_AGENTS_MAX)
        );
    }
}
