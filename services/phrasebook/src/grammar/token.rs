//! Tokeniser: splits a goal into words, quoted texts, single ideographs and marks, each with its byte range.
//!
//! Quotes are resolved only here, so that no later stage can split quoted text.
//! A word keeps the punctuation of names and addresses (`report.pdf`, `https://a.org/b;c=1`, `ctrl+s`);
//! only trailing punctuation is removed. Chinese and Japanese have no spaces, so each character is a token.
//!
//! Invariant: tokens do not overlap, are in the order of the goal, and every span lies on character boundaries.

use std::ops::Range;

use motorium_text::characters::{is_ideograph, is_invisible};
use motorium_text::fold::width_and_case;

/// A byte range of the goal.
pub type Span = Range<usize>;

/// Kind of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// A run without spaces, with compatibility forms and case folded.
    Word(String),
    /// One character of a script without spaces between words.
    Ideograph(char),
    /// The text between a pair of quotes.
    Quoted(String),
    /// A punctuation mark.
    Mark(char),
}

/// A token with its byte range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Span,
}

impl Token {
    pub(super) fn is_quoted(&self) -> bool {
        matches!(self.kind, TokenKind::Quoted(_))
    }

    pub(super) fn is_mark(&self, marks: &[char]) -> bool {
        matches!(self.kind, TokenKind::Mark(mark) if marks.contains(&mark))
    }

    /// Returns the folded word of a [`TokenKind::Word`].
    pub(super) fn word(&self) -> Option<&str> {
        match &self.kind {
            TokenKind::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// Error for a quote without a closing quote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnclosedQuote {
    pub(super) span: Span,
}

/// Opening and closing quotes. The first closing quote is the correct one; the others are common substitutes.
const QUOTES: &[(char, &[char])] = &[
    ('"', &['"']),
    ('“', &['”', '"']),
    ('”', &['”']),
    ('„', &['“', '”', '"']),
    ('＂', &['＂']),
    ('`', &['`']),
    ('「', &['」']),
    ('『', &['』']),
    ('《', &['》']),
    ('«', &['»']),
    ('‹', &['›']),
];

/// Quotes that are apostrophes as well: they open only at the start of a word and close only at the end of one.
const APOSTROPHES: &[(char, char)] = &[('\'', '\''), ('‘', '’')];

/// Punctuation that is removed from the end of a word.
const TRAILING: &[char] = &[',', ';', ':', '.', '!', '?'];

/// Splits `goal` into tokens.
///
/// # Errors
/// [`UnclosedQuote`] if a quote is never closed.
pub(super) fn tokenise(goal: &str) -> Result<Vec<Token>, UnclosedQuote> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(character) = goal[at..].chars().next() {
        let next = at + character.len_utf8();
        if character == '\n' {
            tokens.push(Token {
                kind: TokenKind::Mark('\n'),
                span: at..next,
            });
            at = next;
        } else if character.is_whitespace() || is_invisible(character) {
            at = next;
        } else if let Some(token) = quoted(goal, at, character)? {
            at = token.span.end;
            tokens.push(token);
        } else if is_ideograph(character) {
            tokens.push(Token {
                kind: TokenKind::Ideograph(character),
                span: at..next,
            });
            at = next;
        } else if is_wide_mark(character) {
            tokens.push(Token {
                kind: TokenKind::Mark(character),
                span: at..next,
            });
            at = next;
        } else {
            at = words(goal, at, &mut tokens);
        }
    }
    Ok(tokens)
}

/// Returns the quoted text at `at`, if a quote opens there.
fn quoted(goal: &str, at: usize, opening: char) -> Result<Option<Token>, UnclosedQuote> {
    let inside = at + opening.len_utf8();
    if let Some((_, closing)) = APOSTROPHES.iter().find(|(open, _)| *open == opening) {
        let closed = closing_apostrophe(goal, inside, *closing);
        return Ok(closed.map(|end| quoted_token(goal, at, inside, end, *closing)));
    }
    let Some((_, closing)) = QUOTES.iter().find(|(open, _)| *open == opening) else {
        return Ok(None);
    };
    let end = closing
        .iter()
        .find_map(|closing| {
            closing_quote(goal, inside, opening, *closing).map(|end| (end, *closing))
        })
        .ok_or(UnclosedQuote {
            span: at..goal.len(),
        })?;
    Ok(Some(quoted_token(goal, at, inside, end.0, end.1)))
}

fn quoted_token(goal: &str, at: usize, inside: usize, end: usize, closing: char) -> Token {
    let content =
        goal[inside..end].replace(&format!("\\{closing}"), closing.encode_utf8(&mut [0; 4]));
    Token {
        kind: TokenKind::Quoted(content),
        span: at..end + closing.len_utf8(),
    }
}

/// Returns the position of the closing quote. Pairs with different opening and closing marks can be nested. A closing
/// quote after a backslash belongs to the text, unless it is the only one (`"C:\"`).
fn closing_quote(goal: &str, inside: usize, opening: char, closing: char) -> Option<usize> {
    let mut depth = 0_usize;
    let mut escaped = false;
    let mut last_escaped = None;
    for (offset, character) in goal[inside..].char_indices() {
        if character == closing && escaped {
            last_escaped = Some(inside + offset);
        } else if character == closing && depth == 0 {
            return Some(inside + offset);
        } else if character == closing {
            depth -= 1;
        } else if character == opening {
            depth += 1;
        }
        escaped = character == '\\' && !escaped;
    }
    last_escaped
}

/// Returns the position of a closing apostrophe: the first one not followed by a letter or digit (`'don't'`).
fn closing_apostrophe(goal: &str, inside: usize, closing: char) -> Option<usize> {
    let mut escaped = false;
    for (offset, character) in goal[inside..].char_indices() {
        let after = goal[inside + offset + character.len_utf8()..]
            .chars()
            .next();
        let word_goes_on = after.is_some_and(|c| c.is_alphanumeric() && !is_ideograph(c));
        if character == closing && !escaped && !word_goes_on && offset > 0 {
            return Some(inside + offset);
        }
        escaped = character == '\\' && !escaped;
    }
    None
}

/// Splits the run at `start` into words and punctuation; returns the end of the run.
fn words(goal: &str, start: usize, tokens: &mut Vec<Token>) -> usize {
    let end = run_end(goal, start);
    let mut at = start;
    while at < end {
        let piece = &goal[at..end];
        let word = &piece[..word_length(piece)];
        let trimmed = trim_end(word);
        if !trimmed.is_empty() {
            tokens.push(Token {
                kind: TokenKind::Word(fold_word(trimmed)),
                span: at..at + trimmed.len(),
            });
        }
        let mut mark_at = at + trimmed.len();
        for mark in goal[mark_at..at + word.len()].chars() {
            tokens.push(Token {
                kind: TokenKind::Mark(mark),
                span: mark_at..mark_at + mark.len_utf8(),
            });
            mark_at += mark.len_utf8();
        }
        at += word.len();
    }
    end
}

/// Returns the end of the run of characters without a space, a quote or an ideograph.
fn run_end(goal: &str, start: usize) -> usize {
    goal[start..]
        .char_indices()
        .skip(1)
        .find(|(_, c)| {
            c.is_whitespace()
                || is_ideograph(*c)
                || is_wide_mark(*c)
                || QUOTES.iter().any(|(open, _)| open == c)
        })
        .map_or(goal.len(), |(offset, _)| start + offset)
}

/// Returns the length of the first word of `piece` with trailing punctuation. Commas and semicolons end a word
/// (`Save;press`), except in an address or a number.
fn word_length(piece: &str) -> usize {
    if piece.contains("://") || piece.contains('?') && piece.contains('=') {
        return piece.len();
    }
    let bytes = piece.as_bytes();
    let is_digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let cut = (0..bytes.len()).find(|&index| match bytes[index] {
        b';' => true,
        b',' => !(index > 0 && is_digit(index - 1) && is_digit(index + 1)),
        _ => false,
    });
    cut.map_or(piece.len(), |index| index + 1)
}

/// Returns the word without trailing punctuation. The dots of an ellipsis belong to the word (`Save As...`).
fn trim_end(word: &str) -> &str {
    let trimmed = word.trim_end_matches(TRAILING);
    let dots = word[trimmed.len()..]
        .bytes()
        .take_while(|byte| *byte == b'.')
        .count();
    if dots >= 2 {
        &word[..trimmed.len() + dots]
    } else {
        trimmed
    }
}

/// Folds width, compatibility forms and case.
pub(super) fn fold_word(word: &str) -> String {
    width_and_case(word).collect()
}

/// Returns whether the character is Chinese punctuation, which is not followed by a space.
fn is_wide_mark(character: char) -> bool {
    matches!(
        character,
        '，' | '。' | '；' | '：' | '！' | '？' | '、' | '（' | '）' | '【' | '】' | '…' | '—'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(goal: &str) -> String {
        let tokens = tokenise(goal).unwrap();
        let texts = tokens.iter().map(|token| match &token.kind {
            TokenKind::Word(word) => word.clone(),
            TokenKind::Ideograph(character) => character.to_string(),
            TokenKind::Quoted(text) => format!("<{text}>"),
            TokenKind::Mark('\n') => "[\\n]".to_owned(),
            TokenKind::Mark(mark) => format!("[{mark}]"),
        });
        texts.collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn check(goal: &str, expected: &str) {
        assert_eq!(shown(goal), expected, "{goal}");
    }

    #[test]
    fn tokens_keep_punctuation_inside_names() {
        check(
            "click Save; press Ctrl+S.",
            "click save [;] press ctrl+s [.]",
        );
        check("click Save;press Enter", "click save [;] press enter");
        check(
            "open https://a.org/b;c=1,2?x=y.z.",
            "open https://a.org/b;c=1,2?x=y.z [.]",
        );
        check("open report.pdf, v1.2", "open report.pdf [,] v1.2");
        check("type 1,000.50 then", "type 1,000.50 then");
        check("click Save As...", "click save as...");
        check("wait 1.5 s", "wait 1.5 s");
        check("Ｃｌｉｃｋ ＯＫ", "click ok");
        check("点击OK按钮，然后", "点 击 ok 按 钮 [，] 然 后");
        check("a\nb", "a [\\n] b");
    }

    #[test]
    fn quotes_hold_together() {
        check(r#"click "Save; then. go""#, "click <Save; then. go>");
        check(r#"type "say \"hi\"" now"#, r#"type <say "hi"> now"#);
        check(r#"type "C:\""#, r"type <C:\>");
        check("type 'don't' into 'A'", "type <don't> into <A>");
        check("don't click Alice's", "don't click alice's");
        check("点击“保存”", "点 击 <保存>");
        check("点击「a「b」c」", "点 击 <a「b」c>");
        check("点击”保存”", "点 击 <保存>");
        check("“a ‘b’ c\"", "<a ‘b’ c>");
        check("`a` «b» ‹c› 『d』《e》", "<a> <b> <c> <d> <e>");
        check("\"\"", "<>");
    }

    #[test]
    fn an_open_quote_is_an_error() {
        for goal in ["click \"Save", "点击“保存", "a «b"] {
            assert!(tokenise(goal).is_err(), "{goal}");
        }
        assert!(tokenise("it's fine").is_ok());
    }
}
