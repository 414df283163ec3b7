//! `kill -9` at any moment. The whole campaign, with a kill at every point, is `cargo xtask
//! faults`; here are a few of its sessions, killed from outside.

#[path = "../faults/checker.rs"]
mod checker;
#[path = "../faults/defect.rs"]
mod defect;
#[path = "../faults/essence.rs"]
pub(crate) mod essence;
#[path = "../faults/ground.rs"]
mod ground;
#[expect(dead_code, reason = "the campaign interrupts sessions, too")]
#[path = "../faults/life.rs"]
mod life;
#[path = "../faults/person.rs"]
mod person;
#[path = "../faults/world.rs"]
mod world;

use std::path::Path;

use self::defect::Defect;
use self::life::{Kill, Life};

const BINARY: &str = env!("CARGO_BIN_EXE_hookwright");

/// Sessions that are killed, each twice.
const SESSIONS: u32 = 4;

#[test]
fn sessions_killed_at_any_moment_go_on_until_they_are_done_and_nothing_is_lost_or_done_twice() {
    let calm = Life::lead(Path::new(BINARY), &[]);
    assert_eq!((calm.kills, words(&calm)), (0, Vec::new()));
    let mut kills = 0;
    for number in 1..=SESSIONS {
        // Spread over the session, and the second kill over the rest.
        let first = calm.first * number / (SESSIONS + 1);
        let plan = [Kill::After(first), Kill::After((calm.first - first) / 2)];
        let life = Life::lead(Path::new(BINARY), &plan);
        assert_eq!(words(&life), Vec::<String>::new(), "{plan:?}");
        assert!(life.resumes <= life.kills, "{plan:?}");
        kills += life.kills;
    }
    // If the machine has become faster since the calm session, most kills come too late.
    assert!(kills > 0, "nothing was killed");
}

#[test]
fn a_program_that_people_use_has_no_points_to_die_at() {
    let has_points = cfg!(feature = "faults");
    for kill in [Kill::AtPoint(1), Kill::AtName("wait stored", 1)] {
        let life = Life::lead(Path::new(BINARY), &[kill]);
        assert_eq!(life.kills, u64::from(has_points), "{kill:?}");
        assert_eq!(life.points.is_empty(), !has_points, "{kill:?}");
        assert_eq!(words(&life), Vec::<String>::new(), "{kill:?}");
    }
}

/// What was found, in words.
fn words(life: &Life) -> Vec<String> {
    let word = |defect: &Defect| Defect::ALL.iter().find(|(known, _)| known == defect);
    let found = life.found.iter();
    found.map(|(defect, what)| format!("{}: {what}", word(defect).map_or("?", |it| it.1))).collect()
}
