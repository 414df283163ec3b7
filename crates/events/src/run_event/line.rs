//! Reading a line of a journal or of `--json`, in one pass.
//!
//! We write version, firing, time, session and `kind` first. When `kind` is reached, the level is
//! known, and the rest is read as that level. A line with its fields in another order is read with
//! `#[serde(flatten)]`, which copies the whole line first and takes about a sixth longer.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{FiringEvent, RunEvent, RunEventKind, SessionEvent, TurnEvent};

/// The field that names what happened.
const KIND: &str = "kind";

/// A line whose `kind` is behind version, firing, time and session.
pub(super) struct OrderedLine(pub(super) RunEvent);

impl<'de> Deserialize<'de> for OrderedLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LineVisitor).map(Self)
    }
}

/// The level that a name is of.
pub(super) enum RunLevel {
    Firing,
    Turn,
    Session,
}

impl RunLevel {
    pub(super) fn of_kind(kind: &str) -> Self {
        match kind {
            _ if kind.starts_with("hook_") => Self::Firing,
            "fired" | "taken_up" | "late_answer" | "decided" | "remembered" | "child_used" => {
                Self::Firing
            }
            _ if kind.starts_with("turn_") || kind.starts_with("agent_") => Self::Turn,
            "final_delivery" | "transcript_written" => Self::Turn,
            _ if kind.starts_with("call_") || kind.starts_with("request_") => Self::Turn,
            _ if kind.starts_with("question_") => Self::Turn,
            _ => Self::Session,
        }
    }
}

struct LineVisitor;

impl<'de> Visitor<'de> for LineVisitor {
    type Value = RunEvent;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a run event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RunEvent, A::Error> {
        let (mut version, mut firing, mut at, mut session) = (None, None, None, None);
        while let Some(KindName(name)) = map.next_key()? {
            match &*name {
                "version" => version = Some(map.next_value()?),
                "firing" => firing = Some(map.next_value()?),
                "at" => at = Some(map.next_value()?),
                "session" => session = Some(map.next_value()?),
                KIND => {
                    let kind = read_kind(map)?;
                    return Ok(RunEvent {
                        version: version.ok_or_else(|| A::Error::missing_field("version"))?,
                        firing: firing.ok_or_else(|| A::Error::missing_field("firing"))?,
                        at: at.ok_or_else(|| A::Error::missing_field("at"))?,
                        session: session.ok_or_else(|| A::Error::missing_field("session"))?,
                        kind,
                    });
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Err(A::Error::missing_field(KIND))
    }
}

/// Reads the value of `kind` and all that follows.
fn read_kind<'de, A: MapAccess<'de>>(mut map: A) -> Result<RunEventKind, A::Error> {
    let kind: &'de str = map.next_value()?;
    let rest = MapAccessDeserializer::new(TaggedRest { kind, given: KindGiven::Nothing, map });
    Ok(match RunLevel::of_kind(kind) {
        RunLevel::Firing => FiringEvent::deserialize(rest)?.into(),
        RunLevel::Turn => TurnEvent::deserialize(rest)?.into(),
        RunLevel::Session => SessionEvent::deserialize(rest)?.into(),
    })
}

/// The fields after `kind`, with `kind` itself in front of them again.
struct TaggedRest<'de, A> {
    kind: &'de str,
    given: KindGiven,
    map: A,
}

/// How much of `kind` the deserializer has received.
enum KindGiven {
    Nothing,
    KindName,
    All,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for TaggedRest<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.given {
            KindGiven::Nothing => {
                self.given = KindGiven::KindName;
                seed.deserialize(BorrowedStrDeserializer::new(KIND)).map(Some)
            }
            KindGiven::KindName | KindGiven::All => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.given {
            KindGiven::KindName => {
                self.given = KindGiven::All;
                seed.deserialize(BorrowedStrDeserializer::new(self.kind))
            }
            KindGiven::Nothing | KindGiven::All => self.map.next_value_seed(seed),
        }
    }
}

/// A field's name, borrowed if possible.
struct KindName<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for KindName<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NameVisitor;

        impl<'de> Visitor<'de> for NameVisitor {
            type Value = KindName<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a field")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<KindName<'de>, E> {
                Ok(KindName(Cow::Borrowed(name)))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<KindName<'de>, E> {
                Ok(KindName(Cow::Owned(name.to_owned())))
            }
        }

        deserializer.deserialize_str(NameVisitor)
    }
}
