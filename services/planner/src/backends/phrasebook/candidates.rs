//! Tells elements that match equally well apart: by the texts of their rows, in questions and in answers. Pure.

use motorium_phrasebook::matcher::{ElementMatch, ScreenIndex, is_same_text};

/// Maximum number of characters of a text that names a row. Longer ones are paragraphs.
const MAX_NAME_CHARS: usize = 60;

/// Beginnings of an answer that names a row (`the one of Bob`). Longer ones first, where one begins another.
const BEFORE_NAME: [&str; 16] = [
    "the one in the row of ",
    "the one next to ",
    "the one beside ",
    "the one with ",
    "the one for ",
    "the one from ",
    "the one of ",
    "that of ",
    "in the row of ",
    "the row of ",
    "next to ",
    "beside ",
    "for ",
    "of ",
    "with ",
    "在",
];

/// Ends of an answer that names a row (`Bob 的那个`).
const AFTER_NAME: [&str; 11] = [
    "旁边的那个",
    "旁边那个",
    "旁边的",
    "旁边",
    "那一行",
    "所在行",
    "的那个",
    "那个",
    "的",
    "'s",
    "’s",
];

/// Returns for each match the texts of its row that no other one has, from left to right.
pub(super) fn own_row_texts<'a>(
    hits: &[ElementMatch],
    screen: &'a ScreenIndex<'_>,
) -> Vec<Vec<&'a str>> {
    let rows: Vec<Vec<&str>> = hits
        .iter()
        .map(|hit| screen.row_texts(hit.bounds))
        .collect();
    let is_elsewhere = |index: usize, text: &str| {
        let mut others = rows.iter().enumerate().filter(|(other, _)| *other != index);
        others.any(|(_, row)| row.iter().any(|known| is_same_text(known, text)))
    };
    let own = |(index, row): (usize, &Vec<&'a str>)| {
        let texts = row.iter().copied();
        texts
            .filter(|text| text.chars().count() <= MAX_NAME_CHARS)
            .filter(|text| !is_elsewhere(index, text))
            .collect()
    };
    rows.iter().enumerate().map(own).collect()
}

/// Returns the match whose row an answer names; `None` if it names none, or more than one.
pub(super) fn in_named_row(
    hits: &[ElementMatch],
    answer: &str,
    screen: &ScreenIndex<'_>,
) -> Option<ElementMatch> {
    let rows = own_row_texts(hits, screen);
    names(answer).into_iter().find_map(|name| {
        let is_named = |row: &Vec<&str>| row.iter().any(|text| is_same_text(&name, text));
        let mut named = hits.iter().zip(&rows).filter(|pair| is_named(pair.1));
        let (hit, _) = named.next()?;
        named.next().is_none().then(|| hit.clone())
    })
}

/// Returns the names that an answer may mean: as it is, and without the words around a name.
fn names(answer: &str) -> Vec<String> {
    let plain = |text: &str| {
        let quotes = ['"', '“', '”', '「', '」', '\'', '.', '。'];
        text.trim().trim_matches(quotes).trim().to_owned()
    };
    let answer = plain(answer);
    let lower = answer.to_lowercase();
    let mut names = vec![answer.clone()];
    let beginning = BEFORE_NAME.iter().find(|words| lower.starts_with(**words));
    // Lower case may have another length in bytes, but not of these words.
    let rest = beginning.and_then(|words| answer.get(words.len()..));
    names.extend(rest.map(plain));
    for name in names.clone() {
        let end = AFTER_NAME.iter().find(|words| name.ends_with(**words));
        let rest = end.map(|words| plain(&name[..name.len() - words.len()]));
        names.extend(rest);
    }
    names.retain(|name| !name.is_empty());
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_a_row_in_several_ways() {
        for answer in [
            "Bob",
            "\"Bob\"",
            "the one of Bob",
            "The one of Bob.",
            "the one next to \"Bob\"",
            "beside Bob",
            "Bob's",
            "Bob的那个",
            "在“Bob”旁边的",
        ] {
            assert!(
                names(answer).contains(&"Bob".to_owned()),
                "{answer}: {:?}",
                names(answer)
            );
        }
        for answer in ["not Bob", "anyone but Bob", "Bob or Carol"] {
            assert!(!names(answer).contains(&"Bob".to_owned()), "{answer}");
        }
    }
}
