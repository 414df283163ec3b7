//! Whether every key of an object occurs once.
//!
//! Of two decisions JSON keeps the last, and that may have been injected by an unescaped value:
//! `{"decision":"deny","reason":"x","decision":"allow"}`.

use std::collections::HashSet;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The fault, if a key occurs twice anywhere in this JSON.
pub(super) fn fault(text: &str) -> Option<String> {
    serde_json::from_str::<EachOnce>(text).err().map(|error| error.to_string())
}

/// Any value whose objects have every key once.
struct EachOnce;

impl<'de> Deserialize<'de> for EachOnce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EachOnceVisitor)
    }
}

struct EachOnceVisitor;

impl<'de> Visitor<'de> for EachOnceVisitor {
    type Value = EachOnce;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<EachOnce, E> {
        Ok(EachOnce)
    }

    fn visit_i64<E>(self, _: i64) -> Result<EachOnce, E> {
        Ok(EachOnce)
    }

    fn visit_u64<E>(self, _: u64) -> Result<EachOnce, E> {
        Ok(EachOnce)
    }

    fn visit_f64<E>(self, _: f64) -> Result<EachOnce, E> {
        Ok(EachOnce)
    }

    fn visit_str<E>(self, _: &str) -> Result<EachOnce, E> {
        Ok(EachOnce)
    }

    fn visit_unit<E>(self) -> Result<EachOnce, E> {
        Ok(EachOnce)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<EachOnce, A::Error> {
        while access.next_element::<EachOnce>()?.is_some() {}
        Ok(EachOnce)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<EachOnce, A::Error> {
        let mut keys = HashSet::new();
        while let Some((key, EachOnce)) = access.next_entry::<String, EachOnce>()? {
            if let Some(key) = keys.replace(key) {
                return Err(A::Error::custom(format_args!("it contains `{key}` twice")));
            }
        }
        Ok(EachOnce)
    }
}
