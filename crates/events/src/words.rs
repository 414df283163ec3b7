//! Declares enums whose variants have words.

/// Declares an enum with a word for each variant: serde writes and reads it, `as_str` returns it,
/// `parse` finds the variant by it, and `ALL` has the variants in order.
#[macro_export]
macro_rules! words {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $($(#[$one:meta])* $variant:ident = $word:literal),* $(,)? }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$one])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// All variants, in order.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The variant's word.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// The variant with this word.
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|known| known.as_str() == word)
            }
        }
    };
}
