//! [`SessionName`]: a session's name, given by its user or generated. It names a folder, so it is
//! short and plain.

use std::fmt;
use std::str::FromStr;

/// The most characters of a name.
const LENGTH_MAX: usize = 64;

/// 1 to 64 of `A-Z a-z 0-9 _ -`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionName(String);

/// Why a text is not a valid session name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionNameError {
    /// The name is empty.
    #[error("the session's name is empty")]
    Empty,
    /// Too long for a name.
    #[error("the session's name has {length} characters, expected at most {length_max}")]
    TooLong {
        /// The length in characters.
        length: usize,
        /// The limit.
        length_max: usize,
    },
    /// A character that is not allowed.
    #[error(
        "`{}` is not allowed in a session's name (character {at} of `{}`), expected letters from \
         a to z, digits, `_` and `-`",
        character.escape_debug(), name.escape_debug()
    )]
    BadCharacter {
        /// The invalid name.
        name: String,
        /// The first such character.
        character: char,
        /// The position, from 1.
        at: usize,
    },
}

impl SessionName {
    /// The name of the child session in this folder: always the same, and different for every other
    /// folder. A long name ends with a digest.
    #[must_use]
    pub fn of_child(&self, folder: &str) -> Self {
        const DIGEST_LENGTH: usize = 16;
        let whole = format!("{}--{folder}", self.0);
        if whole.len() <= LENGTH_MAX {
            return Self(whole);
        }
        // FNV-1a: the same in every version. It needs no protection against deliberate collisions.
        let hash = whole.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let kept = &whole[..LENGTH_MAX - DIGEST_LENGTH - 1];
        Self(format!("{kept}-{hash:016x}"))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionName {
    type Err = SessionNameError;

    fn from_str(name: &str) -> Result<Self, SessionNameError> {
        let is_bad = |letter: char| !letter.is_ascii_alphanumeric() && !"_-".contains(letter);
        if name.is_empty() {
            return Err(SessionNameError::Empty);
        }
        let length = name.chars().count();
        if length > LENGTH_MAX {
            return Err(SessionNameError::TooLong { length, length_max: LENGTH_MAX });
        }
        match name.chars().enumerate().find(|(_, letter)| is_bad(*letter)) {
            Some((before, character)) => Err(SessionNameError::BadCharacter {
                name: name.to_owned(),
                character,
                at: before + 1,
            }),
            None => Ok(Self(name.to_owned())),
        }
    }
}

impl fmt::Display for SessionName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_digits_underscores_and_dashes_up_to_64_are_a_name() {
        for name in ["a", "A-b_9", "-", "__", "con", &"x".repeat(64)] {
            assert_eq!(name.parse::<SessionName>().map(|name| name.to_string()), Ok(name.into()));
        }
    }

    #[test]
    fn other_names_are_refused_with_the_character_and_its_place() {
        let said = |name: &str| name.parse::<SessionName>().expect_err("refused").to_string();
        let expected = "expected letters from a to z, digits, `_` and `-`";
        assert_eq!(said(""), "the session's name is empty");
        assert_eq!(
            said(&"é".repeat(65)),
            "the session's name has 65 characters, expected at most 64"
        );
        for (name, what, at, shown) in [
            ("..", ".", 1, ".."),
            ("a/b", "/", 2, "a/b"),
            ("é", "é", 1, "é"),
            ("ab\n", "\\n", 3, "ab\\n"),
            ("a b", " ", 2, "a b"),
            ("a\0", "\\0", 2, "a\\0"),
        ] {
            assert_eq!(
                said(name),
                format!(
                    "`{what}` is not allowed in a session's name (character {at} of `{shown}`), \
                     {expected}"
                )
            );
        }
    }

    #[test]
    fn a_childs_name_follows_from_its_parents_and_its_folder() {
        let parent: SessionName = "s".parse().expect("a name");
        assert_eq!(parent.of_child("stage_complete-1").as_str(), "s--stage_complete-1");
        let long: SessionName = "x".repeat(60).parse().expect("a name");
        let [one, two] = ["stage_complete-1", "stage_complete-2"].map(|at| long.of_child(at));
        assert_ne!(one, two);
        assert_eq!(one, long.of_child("stage_complete-1"));
        assert_eq!(one.as_str().parse(), Ok(one.clone()));
        assert_eq!(one.as_str().len(), 64);
    }
}
