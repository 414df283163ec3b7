//! A header of an http handler. `$NAME` and `${NAME}` are replaced only for variables that the
//! handler lists, so that a repository's settings cannot send any variable they like.

use std::sync::LazyLock;

use hookwright_engine::variables::Environment;
use regex::{Captures, Regex};

static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
        .expect("it is constant")
});

/// The text with `${NAME}` for every variable that is allowed and set; other variables become
/// empty.
pub(super) fn text(written: &str, allowed: &[String], environment: &Environment) -> String {
    let reference = |found: &Captures<'_>| {
        let name = found.get(1).or(found.get(2)).map_or("", |name| name.as_str());
        let is_given = allowed.iter().any(|known| known == name) && environment.get(name).is_some();
        if is_given { format!("${{{name}}}") } else { String::new() }
    };
    REFERENCE.replace_all(written, reference).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_that_are_listed_and_set_stay() {
        let environment =
            Environment::new([("TOKEN".into(), "x".into()), ("OTHER".into(), "y".into())]);
        let allowed = ["TOKEN".to_owned(), "UNSET".to_owned()];
        for (written, wanted) in [
            ("Bearer $TOKEN", "Bearer ${TOKEN}"),
            ("Bearer ${TOKEN}!", "Bearer ${TOKEN}!"),
            ("$OTHER ${OTHER} $UNSET.", "  ."),
            ("$TOKENS 5$ $", " 5$ $"),
        ] {
            assert_eq!(text(written, &allowed, &environment), wanted);
        }
    }
}
