//! Errors of `--data`, with advice.

use std::io;

use super::{Advice, Failure, Message, did_you_mean, without_number};

/// Why `--data` is not valid data of an event.
#[derive(Debug)]
pub(crate) enum DataFailure {
    /// `--data` cannot be read.
    Unreadable { source: String, cause: io::Error },
    /// `--data` is larger than any event.
    TooLarge { source: String, bytes_max: u64 },
    /// `--data` is not JSON.
    NotJson { source: String, cause: serde_json::Error },
    /// `--data` is JSON, but not an object.
    NotAnObject { source: String, found: &'static str },
    /// `--data` names another event.
    OfOtherEvent { source: String, field: &'static str, named: String, fired: String },
}

impl From<DataFailure> for Failure {
    fn from(failure: DataFailure) -> Self {
        Failure::Data(failure)
    }
}

impl DataFailure {
    /// The message for the user.
    pub(super) fn message(&self) -> Message {
        match self {
            DataFailure::Unreadable { source, cause } => Message {
                heading: format!("cannot read the event's data: {}", without_number(cause)),
                place: Some(source.clone()),
                help: "`--data` takes a JSON object, `@FILE`, or `-` for standard input".into(),
            },
            DataFailure::TooLarge { source, bytes_max } => Message {
                heading: format!("the event's data has more than {bytes_max} bytes"),
                place: Some(source.clone()),
                help: "leave out the large values, or pass the path of a file in the data".into(),
            },
            DataFailure::NotJson { source, cause } => Message {
                heading: format!("the event's data is not JSON: {cause}"),
                place: Some(source.clone()),
                help: "`--data` takes a JSON object like '{\"tool_name\": \"bash\"}', `@FILE`, or \
                       `-` for standard input"
                    .into(),
            },
            DataFailure::NotAnObject { source, found } => Message {
                heading: format!("expected a JSON object as the event's data but found {found}"),
                place: Some(source.clone()),
                help: "write the fields in braces, like '{\"tool_name\": \"bash\"}'".into(),
            },
            DataFailure::OfOtherEvent { source, field, named, fired } => Message {
                heading: format!("the data's `{field}` is `{named}`, but `{fired}` was fired"),
                place: Some(source.clone()),
                help: format!("fire `{named}`, or remove `{field}` from the data"),
            },
        }
    }
}

/// Advice about a field that no event has.
pub(crate) fn unknown_field(name: &str, nearest: Option<&str>) -> Advice {
    let help = did_you_mean(nearest).unwrap_or_else(|| {
        "hooks find it in the JSON on standard input; it is not a variable, and `when` cannot use \
         it"
        .to_owned()
    });
    Advice::new(format!("no event has the field `{name}`"), help)
}
