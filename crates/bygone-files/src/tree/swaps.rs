//! Files that were put in the place of another between the last look at it and its removal.
//!
//! No system removes "the file behind this handle": the name is what is removed. The handle then tells whether the file that
//! was looked at lost a name; where it did not, the name stood for another by then, and whoever put it there should know.

/// How often that happened, and where first.
#[derive(Debug, Default)]
pub(crate) struct Swaps {
    count: u64,
    first: Option<String>,
}

impl Swaps {
    /// Notes one, by its path below the swept directory.
    pub(crate) fn note(&mut self, path: String) {
        self.count += 1;
        self.first.get_or_insert(path);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }

    /// What a person should know of it.
    pub(crate) fn warning(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let others = self.count - 1;
        let and = if others == 0 { String::new() } else { format!(", and {others} more") };
        Some(format!(
            "{first:?}{and}: another file was put in its place just as it was removed, and may have gone instead of it; \
             have writers keep the files that they replace younger than `keep`, or locked"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_swap_counts_and_the_first_is_named() {
        let (mut swaps, mut others) = (Swaps::default(), Swaps::default());
        assert_eq!(swaps.warning(), None);
        others.note("a/b".into());
        swaps.add(others);
        assert!(swaps.warning().unwrap().starts_with("\"a/b\": another file"));
        swaps.note("c".into());
        assert!(swaps.warning().unwrap().starts_with("\"a/b\", and 1 more: another file"));
    }
}
