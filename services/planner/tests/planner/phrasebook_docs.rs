//! `docs/phrasebook.md` contains only examples that the grammar accepts.

use std::mem::discriminant;

use motorium_phrasebook::grammar::{Clause, parse};

const PAGE: &str = include_str!("../../../../docs/phrasebook.md");

/// Returns the cells of example rows, without the first one.
fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let rows = PAGE
        .lines()
        .filter(|line| line.starts_with('|') && line.contains('`'));
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
}

/// Returns the example in a cell.
fn example(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`')
}

#[track_caller]
fn understood(sentence: &str) -> Vec<Clause> {
    parse(sentence).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn documented_sentences_parse_alike_in_both_languages() {
    let mut count = 0;
    for row in rows() {
        let &[_, english, chinese] = row.as_slice() else {
            continue;
        };
        let (english, chinese) = (
            example(english).expect("an example"),
            example(chinese).expect("an example"),
        );
        let steps = |sentence| {
            understood(sentence)
                .iter()
                .map(|clause| discriminant(&clause.instruction))
                .collect::<Vec<_>>()
        };
        assert_eq!(steps(english), steps(chinese), "{english} / {chinese}");
        count += 1;
    }
    assert!(count > 40, "only {count} rows were found");
}

#[test]
fn sentences_documented_as_unsupported_are_rejected() {
    let refused: Vec<&str> = rows()
        .filter(|row| row.len() == 2)
        .filter_map(|row| example(row[0]))
        .collect();
    assert!(refused.len() > 4, "only {} were found", refused.len());
    for sentence in refused {
        assert!(parse(sentence).is_err(), "{sentence}");
    }
}
