//! The nearest name, for what was probably misspelt.

/// The candidate that `name` was most likely meant to be, if any is near.
///
/// Near means at most one slip in three letters: more would send people to
/// keys that have nothing to do with what they wrote.
pub(crate) fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let name = name.to_lowercase();
    let slips_max = (name.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .map(|candidate| {
            let candidate_lower = candidate.to_lowercase();
            // What was only begun, such as `epoch` for `epoch_s`, is near too.
            let begun = name.len() >= 3 && candidate_lower.starts_with(&name);
            let slips = strsim::damerau_levenshtein(&name, &candidate_lower);
            (if begun { slips.min(1) } else { slips }, candidate)
        })
        .filter(|(slips, _)| *slips <= slips_max)
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips_and_leaves_strangers() {
        let keys = ["name", "source", "table", "deadline", "keep", "where", "key"];
        for (written, wanted) in [
            ("kep", Some("keep")),
            ("KEEP", Some("keep")),
            ("deadlien", Some("deadline")),
            ("dead_line", Some("deadline")),
            ("sauce", None),
            ("sorce", Some("source")),
            ("newest", None),
            ("with", None),
            ("dead", Some("deadline")),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(written, keys), wanted, "{written}");
        }
    }
}
