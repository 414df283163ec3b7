//! The nearest known name, for messages that say "did you mean".

/// The candidate most similar to `name`, if one is close enough.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_ascii_lowercase();
    // A third of the letters may be wrong; with more it is another word.
    let distance_max = lower.chars().count().div_ceil(3).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            (strsim::damerau_levenshtein(&lower, &candidate.to_ascii_lowercase()), candidate)
        })
        .filter(|(distance, _)| *distance <= distance_max)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_keys_finds_the_name_that_was_meant() {
        let names = ["ITERATION", "SESSION", "STAGE"];
        assert_eq!(nearest("ITERATON", names), Some("ITERATION"));
        assert_eq!(nearest("stage", names), Some("STAGE"));
    }

    #[test]
    fn another_word_is_not_near() {
        assert_eq!(nearest("BANANA", ["ITERATION", "SESSION"]), None);
    }
}
