//! [`CStrings`]: lists of texts in the system's format, for arguments and environments.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_char;
use std::io;
use std::ptr;

/// Up to this number of variables, a small table on the stack finds names that occur twice.
const SMALL_ENVIRONMENT: usize = 256;
const SMALL_TABLE: usize = 2 * SMALL_ENVIRONMENT;

/// A variable's name, an equals sign, its value.
pub(crate) type EnvironmentEntry<'a> = [&'a [u8]; 3];

/// Each name once, where it was first, with its last value.
pub(crate) fn last_of_each_name(variables: Vec<EnvironmentEntry<'_>>) -> Vec<EnvironmentEntry<'_>> {
    let mut kept: Vec<EnvironmentEntry<'_>> = Vec::with_capacity(variables.len());
    if variables.len() <= SMALL_ENVIRONMENT {
        // Most hooks have fewer variables than that, and a `HashMap` takes five times as long. The table is
        // twice as large as its content, so each search ends at a free place.
        let mut table = [None; SMALL_TABLE];
        for variable in variables {
            let mut at = table_place(variable[0]);
            loop {
                match table[at] {
                    None => {
                        table[at] = u16::try_from(kept.len()).ok();
                        kept.push(variable);
                        break;
                    }
                    Some(place) if kept[usize::from(place)][0] == variable[0] => {
                        kept[usize::from(place)] = variable;
                        break;
                    }
                    Some(_) => at = (at + 1) % SMALL_TABLE,
                }
            }
        }
        return kept;
    }
    let mut places: HashMap<&[u8], usize> = HashMap::with_capacity(variables.len());
    for variable in variables {
        match places.entry(variable[0]) {
            Entry::Occupied(place) => kept[*place.get()] = variable,
            Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push(variable);
            }
        }
    }
    kept
}

/// The first place in the table for a name: its FNV-1a hash.
fn table_place(name: &[u8]) -> usize {
    let hash = name
        .iter()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 16)) as usize % SMALL_TABLE
}

/// Texts in one piece of memory, each with a NUL byte at its end: a hook has about a hundred
/// variables, and an allocation for each costs more than copying them all.
pub(crate) struct CStrings {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl CStrings {
    /// Texts that consist of these parts. A NUL byte in one of them is an error.
    pub(crate) fn new<const PARTS: usize>(texts: &[[&[u8]; PARTS]]) -> io::Result<Self> {
        let length = texts.iter().flatten().map(|part| part.len()).sum::<usize>() + texts.len();
        let (mut bytes, mut starts) = (Vec::with_capacity(length), Vec::with_capacity(texts.len()));
        for text in texts {
            starts.push(bytes.len());
            text.iter().for_each(|part| bytes.extend_from_slice(part));
            bytes.push(0);
        }
        // Counting all NUL bytes at once is faster than a search in each text.
        if bytes.iter().filter(|byte| **byte == 0).count() != texts.len() {
            let problem = "a program's arguments and environment cannot hold a NUL byte";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(Self { bytes, starts })
    }

    /// A pointer to each text, and a null pointer at the end. Valid as long as `self`.
    pub(crate) fn pointers(&self) -> Vec<*mut c_char> {
        let mut pointers = Vec::with_capacity(self.starts.len() + 1);
        let texts = self.starts.iter().map(|start| self.bytes[*start..].as_ptr().cast_mut().cast());
        pointers.extend(texts);
        pointers.push(ptr::null_mut());
        pointers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_name_the_last_value_is_kept_in_the_place_of_the_first() {
        // With a few variables, and with more than fit into the small table.
        for others in [0, 3, SMALL_ENVIRONMENT - 5, SMALL_ENVIRONMENT, 4 * SMALL_ENVIRONMENT] {
            let names: Vec<String> = (0..others).map(|number| format!("OTHER_{number}")).collect();
            let named = |name: &'static str, value: &'static str| -> EnvironmentEntry<'static> {
                [name.as_bytes(), b"=", value.as_bytes()]
            };
            let mut all = vec![named("A", "1"), named("B", "1"), named("", "x"), named("A", "2")];
            all.extend(names.iter().map(|name| [name.as_bytes(), b"=", b"1".as_slice()]));
            all.push(named("B", "3"));
            let kept = last_of_each_name(all);
            assert_eq!(kept[..3], [named("A", "2"), named("B", "3"), named("", "x")], "{others}");
            assert_eq!(kept.len(), 3 + others);
            assert!(kept[3..].iter().zip(&names).all(|(kept, name)| kept[0] == name.as_bytes()));
        }
    }

    #[test]
    fn a_text_with_a_nul_byte_is_refused_and_others_follow_each_other() {
        let strings = CStrings::new(&[[b"A".as_slice(), b"=", b""], [b"BC", b"=", b"1"]]).unwrap();
        assert_eq!(
            (strings.bytes.as_slice(), &strings.starts[..]),
            (&b"A=\0BC=1\0"[..], &[0, 3][..])
        );
        assert_eq!(strings.pointers().len(), 3);
        for broken in [b"\0".as_slice(), b"a\0", b"\0a"] {
            assert!(CStrings::new(&[[b"x".as_slice()], [broken]]).is_err());
        }
        assert!(CStrings::new::<1>(&[]).unwrap().bytes.is_empty());
    }
}
