//! Invariants of the store as pure functions, for tests and `debug_assert!`.

use std::collections::BTreeMap;

use motorium_proto::domain::id::{EventSeq, TaskEpoch};

/// Returns true if the events after `after` have consecutive numbers, in order and without gaps.
#[must_use]
pub fn is_gapless(after: EventSeq, events: impl IntoIterator<Item = EventSeq>) -> bool {
    events
        .into_iter()
        .zip(after.0 + 1..)
        .all(|(seq, expected)| seq.0 == expected)
}

/// Returns true if no two claims of a task have the same epoch.
#[must_use]
pub fn is_fenced(claims: impl IntoIterator<Item = TaskEpoch>) -> bool {
    let mut counts = BTreeMap::new();
    claims.into_iter().all(|epoch| {
        let count = counts.entry(epoch).or_insert(0);
        *count += 1;
        *count == 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_gaps_and_disorder_are_detected() {
        for (after, seqs, expected) in [
            (0, vec![], true),
            (0, vec![1, 2, 3], true),
            (4, vec![5, 6], true),
            (0, vec![2], false),
            (0, vec![1, 3], false),
            (0, vec![2, 1], false),
            (0, vec![1, 1], false),
        ] {
            assert_eq!(
                is_gapless(EventSeq(after), seqs.iter().copied().map(EventSeq)),
                expected,
                "{after}: {seqs:?}"
            );
        }
    }

    #[test]
    fn an_epoch_given_twice_is_seen() {
        assert!(is_fenced([1, 3, 2].map(TaskEpoch)));
        assert!(!is_fenced([1, 2, 1].map(TaskEpoch)));
    }
}
