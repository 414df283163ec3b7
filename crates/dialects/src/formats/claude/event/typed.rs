//! Macros for the types of events: what all of them have in common is written here once.

/// Defines inputs of events: the fields of every event (`base`), those of the event itself, and those
/// that this program does not know (`more`). A field with a `?` may be absent.
macro_rules! inputs {
    (@field $event:tt [$($done:tt)*] $(#[$about:meta])* $name:ident?: $type:ty, $($rest:tt)*) => {
        inputs!(@field $event [
            $($done)*
            $(#[$about])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $name: Option<$type>,
        ] $($rest)*);
    };
    (@field $event:tt [$($done:tt)*] $(#[$about:meta])* $name:ident: $type:ty, $($rest:tt)*) => {
        inputs!(@field $event [$($done)* $(#[$about])* pub $name: $type,] $($rest)*);
    };
    (@field { $(#[$about:meta])* $event:ident } [$($fields:tt)*]) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $event {
            /// The fields of every event.
            #[serde(flatten)]
            pub base: Base,
            $($fields)*
            /// Fields that this program does not know.
            #[serde(flatten)]
            pub more: Map<String, Value>,
        }
    };
    ($($(#[$about:meta])* $event:ident { $($fields:tt)* })*) => {
        $(inputs!(@field { $(#[$about])* $event } [] $($fields)*);)*
    };
}

/// Defines sets of words that Claude Code extends. A word that this program does not know is kept.
macro_rules! open_words {
    ($case:literal $($(#[$about:meta])* $set:ident { $($(#[$meaning:meta])* $word:ident,)* })*) => {
        $($(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = $case)]
        pub enum $set {
            $($(#[$meaning])* $word,)*
            /// A value that this program does not know.
            #[serde(untagged)]
            Other(String),
        })*
    };
}

/// Defines the enum of all inputs, and what works the same way for each of them.
macro_rules! hook_inputs {
    ($($(#[$about:meta])* $event:ident)*) => {
        /// The input that Claude Code sends to a hook.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum HookInput {
            $($(#[$about])* $event($event),)*
            /// An event of the open namespace.
            Other(OtherEvent),
        }

        impl HookInput {
            /// The fields of every event.
            pub fn base(&self) -> &Base {
                match self {
                    $(Self::$event(input) => &input.base,)*
                    Self::Other(input) => &input.base,
                }
            }

            fn typed(name: &str, fields: Value) -> Result<Self, serde_json::Error> {
                match name {
                    $(stringify!($event) => serde_json::from_value(fields).map(Self::$event),)*
                    _ => serde_json::from_value(fields).map(Self::Other),
                }
            }
        }

        $(impl TypedInput for $event {
            const NAME: &'static str = stringify!($event);

            fn from_input(input: HookInput) -> Option<Self> {
                match input {
                    HookInput::$event(input) => Some(input),
                    _ => None,
                }
            }
        })*

        /// Every event with a type of its own.
        #[cfg(test)]
        pub(super) const TYPED: &[&str] = &[$(stringify!($event)),*];
    };
}
