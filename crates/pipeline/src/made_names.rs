//! Generates names for sessions whose users gave none: two short words, like `calm-fox`.
//!
//! The store counts the generated names, and each number has its own pair of words. So no name is
//! generated twice in a store, even after a session was deleted, and no existing names need to be
//! read. Each store begins at another pair.

use std::hash::{BuildHasher, Hasher, RandomState};

use hookwright_store::{Commit, Expected, Kind, Put, RecordKey, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::folder::SessionName;

/// The number of pairs.
const PAIRS: u64 = (ADJECTIVES.len() * ANIMALS.len()) as u64;

/// The step from one pair to the next: odd, since the number of pairs is a power of two, so that
/// all are reached.
const STEP: u64 = 6_323;

/// How often another process may be faster before this gives up.
const TRIES_MAX: usize = 1_000;

/// The store's record of generated names.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Made {
    /// The pair to begin with.
    first: u64,
    /// The number of generated names.
    count: u64,
}

impl Made {
    fn next(&self) -> SessionName {
        let pair = (self.first % PAIRS + self.count % PAIRS) * STEP % PAIRS;
        let pair = usize::try_from(pair).expect("less than all pairs");
        let adjective = ADJECTIVES[pair / ANIMALS.len()];
        let animal = ANIMALS[pair % ANIMALS.len()];
        let name = match self.count / PAIRS {
            0 => format!("{adjective}-{animal}"),
            round => format!("{adjective}-{animal}-{}", round + 1),
        };
        name.parse().expect("short words are a name")
    }
}

/// A name that this store has never generated. A user may have given it to a session by hand, so
/// the caller has to check.
pub fn next(store: &dyn Store) -> Result<SessionName, StoreError> {
    let key = RecordKey { project: String::new(), name: "session-names".to_owned() };
    let mut conflict = None;
    for _ in 0..TRIES_MAX {
        let known = store.get(Kind::Counter, &key)?;
        let made = known.as_ref().and_then(|known| serde_json::from_str(&known.value).ok());
        let mut made: Made = made.unwrap_or_else(|| Made { first: random(), count: 0 });
        let name = made.next();
        made.count += 1;
        let put = Put {
            kind: Kind::Counter,
            key: key.clone(),
            expected: known.map_or(Expected::Absent, |known| Expected::Version(known.version)),
            value: serde_json::to_string(&made).unwrap_or_default(),
            created_at_ms: 0,
            status: String::new(),
            queued: None,
            moves: None,
        };
        match store.commit(&Commit { puts: vec![put], ..Commit::unsynced() }) {
            Ok(_) => return Ok(name),
            Err(error @ StoreError::RecordConflict { .. }) => conflict = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(conflict.expect("every try had a conflict"))
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish() % PAIRS
}

#[rustfmt::skip]
const ADJECTIVES: [&str; 128] = [
    "able", "agile", "airy", "alert", "amber", "ample", "apt", "aqua", "ashen", "azure", "balmy",
    "bold", "brave", "brief", "bright", "brisk", "broad", "calm", "candid", "civil", "clean",
    "clear", "clever", "coral", "cosy", "crisp", "curly", "dapper", "daring", "dear", "deep",
    "deft", "dusky", "eager", "early", "easy", "elder", "equal", "even", "exact", "fair", "fancy",
    "fast", "fine", "firm", "fleet", "fond", "frank", "free", "fresh", "frosty", "full", "gentle",
    "giddy", "glad", "golden", "good", "grand", "great", "green", "happy", "hardy", "hazel",
    "hearty", "honest", "humble", "ideal", "jolly", "just", "keen", "kind", "large", "lasting",
    "lean", "level", "light", "lilac", "little", "lively", "loyal", "lucid", "lucky", "lunar",
    "mellow", "merry", "mild", "misty", "modest", "neat", "nimble", "noble", "olive", "opal",
    "open", "patient", "placid", "plain", "plucky", "polite", "prime", "proud", "pure", "quick",
    "quiet", "rapid", "ready", "regal", "rosy", "round", "ruby", "rustic", "sandy", "serene",
    "silent", "silver", "simple", "sleek", "smart", "snowy", "solar", "solid", "spry", "steady",
    "stout", "sturdy", "sunny", "swift", "tall",
];

#[rustfmt::skip]
const ANIMALS: [&str; 128] = [
    "adder", "alpaca", "ant", "ape", "auk", "badger", "bat", "bear", "beaver", "bee", "bison",
    "boar", "bobcat", "buck", "camel", "carp", "cat", "cicada", "civet", "clam", "cobra", "cod",
    "colt", "condor", "coot", "coyote", "crab", "crane", "cricket", "crow", "cub", "curlew", "deer",
    "dingo", "dodo", "dog", "dove", "drake", "duck", "eagle", "eel", "egret", "elk", "emu",
    "ermine", "falcon", "fawn", "ferret", "finch", "fish", "fox", "frog", "gecko", "gibbon", "goat",
    "goose", "grouse", "gull", "hare", "hawk", "hen", "heron", "horse", "hound", "hyena", "ibex",
    "ibis", "impala", "jackal", "jaguar", "jay", "kestrel", "kite", "kiwi", "koala", "lark",
    "lemur", "leopard", "linnet", "lion", "lizard", "llama", "lobster", "loon", "lynx", "magpie",
    "mallard", "marten", "mole", "moose", "moth", "mouse", "mule", "newt", "ocelot", "octopus",
    "orca", "oriole", "osprey", "otter", "owl", "ox", "oyster", "panda", "parrot", "pelican",
    "perch", "pigeon", "pike", "plover", "pony", "puffin", "puma", "quail", "rabbit", "raven",
    "robin", "salmon", "seal", "shark", "shrew", "skunk", "sloth", "snail", "sparrow", "squid",
    "stag", "stork",
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use hookwright_store::SqliteStore;

    use super::*;

    #[test]
    fn every_pair_is_made_once_and_then_numbered() {
        let name = |count| Made { first: 7, count }.next().to_string();
        let once: HashSet<String> = (0..PAIRS).map(name).collect();
        assert_eq!(once.len() as u64, PAIRS);
        assert_eq!(name(PAIRS), format!("{}-2", name(0)));
        assert!(once.iter().all(|name| name.len() <= 16), "short enough to type");
        assert_ne!(name(0).split('-').next(), name(1).split('-').next());
    }

    #[test]
    fn a_store_never_generates_a_name_twice() {
        let store = SqliteStore::in_memory().expect("memory");
        let made: Vec<_> = (0..100).map(|_| next(&store).unwrap()).collect();
        assert_eq!(made.iter().collect::<HashSet<_>>().len(), 100);
        assert_eq!(made[0].as_str().split('-').count(), 2);
    }
}
