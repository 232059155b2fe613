//! Lookup of table phrases in tokens: whole words, ignoring case and width, longest match first.

use super::token::{Token, TokenKind};
use motorium_text::characters::is_ideograph;

/// Returns the number of tokens that the phrase covers, if `tokens` start with it.
pub(super) fn phrase_length(tokens: &[Token], phrase: &str) -> Option<usize> {
    let mut at = 0;
    for piece in phrase.split(' ') {
        if piece.is_ascii() {
            let same = match &tokens.get(at)?.kind {
                TokenKind::Word(word) => word == piece,
                TokenKind::Mark(mark) => piece.chars().eq([*mark]),
                _ => false,
            };
            if !same {
                return None;
            }
            at += 1;
            continue;
        }
        for wanted in piece.chars() {
            match tokens.get(at)?.kind {
                TokenKind::Ideograph(character) if is_ideograph(wanted) && character == wanted => {
                    at += 1
                }
                TokenKind::Mark(mark) if mark == wanted => at += 1,
                _ => return None,
            }
        }
    }
    Some(at)
}

/// Returns the length of the longest of `phrases` that `tokens` start with.
pub(super) fn longest(tokens: &[Token], phrases: &[&str]) -> Option<usize> {
    phrases
        .iter()
        .filter_map(|phrase| phrase_length(tokens, phrase))
        .max()
}

/// Returns the entry of `table` with the longest phrase that `tokens` start with, and that length.
pub(super) fn lookup<T: Copy>(tokens: &[Token], table: &[(T, &[&str])]) -> Option<(T, usize)> {
    table
        .iter()
        .filter_map(|(value, phrases)| longest(tokens, phrases).map(|length| (*value, length)))
        .max_by_key(|(_, length)| *length)
}

/// Returns the length of the longest of `phrases` that `tokens` end with.
pub(super) fn longest_at_end(tokens: &[Token], phrases: &[&str]) -> Option<usize> {
    (0..tokens.len())
        .find(|&start| {
            phrases
                .iter()
                .any(|phrase| phrase_length(&tokens[start..], phrase) == Some(tokens.len() - start))
        })
        .map(|start| tokens.len() - start)
}

/// Returns the entry of `table` with the longest phrase that `tokens` end with, and that length.
pub(super) fn lookup_at_end<T: Copy>(
    tokens: &[Token],
    table: &[(T, &[&str])],
) -> Option<(T, usize)> {
    table
        .iter()
        .filter_map(|(value, phrases)| {
            longest_at_end(tokens, phrases).map(|length| (*value, length))
        })
        .max_by_key(|(_, length)| *length)
}
