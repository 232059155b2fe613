//! A cursor over the tokens of a goal, consumed from both ends. It keeps the goal's text, so that unquoted words can be
//! returned as they were written.
//!
//! It does not split the goal into tokens: `token` does.

use motorium_proto::domain::action::Text;

use super::phrase::{longest, longest_at_end, lookup, lookup_at_end};
use super::token::{Span, Token, TokenKind};
use super::vocabulary;

/// Separators without meaning at either end of an argument.
const SEPARATORS: &[char] = &[',', ':', '，', '：', '、'];

/// A range of tokens with the goal that they come from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    goal: &'a str,
    tokens: &'a [Token],
}

impl<'a> Reader<'a> {
    pub(super) fn new(goal: &'a str, tokens: &'a [Token]) -> Self {
        Self { goal, tokens }
    }

    pub(super) fn tokens(self) -> &'a [Token] {
        self.tokens
    }

    pub(super) fn is_empty(self) -> bool {
        self.tokens.is_empty()
    }

    pub(super) fn len(self) -> usize {
        self.tokens.len()
    }

    /// Returns the byte range within the goal; `0..0` without tokens.
    pub(super) fn span(self) -> Span {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            _ => 0..0,
        }
    }

    /// Returns the original text.
    pub(super) fn raw(self) -> &'a str {
        &self.goal[self.span()]
    }

    /// Splits after the first `count` tokens.
    pub(super) fn split_at(self, count: usize) -> (Self, Self) {
        let (head, tail) = self.tokens.split_at(count.min(self.tokens.len()));
        (Self::new(self.goal, head), Self::new(self.goal, tail))
    }

    pub(super) fn skip(self, count: usize) -> Self {
        self.split_at(count).1
    }

    /// Consumes the longest of `phrases` at the start.
    pub(super) fn eat(&mut self, phrases: &[&str]) -> bool {
        let length = longest(self.tokens, phrases);
        *self = self.skip(length.unwrap_or(0));
        length.is_some()
    }

    /// Consumes `phrases` at the start for as long as one matches.
    pub(super) fn eat_all(&mut self, phrases: &[&str]) {
        while self.eat(phrases) {}
    }

    /// Consumes the longest of `phrases` at the end.
    pub(super) fn eat_end(&mut self, phrases: &[&str]) -> bool {
        let length = longest_at_end(self.tokens, phrases);
        *self = self.split_at(self.len() - length.unwrap_or(0)).0;
        length.is_some()
    }

    /// Consumes the longest phrase of `table` at the start; returns its entry.
    pub(super) fn eat_entry<T: Copy>(&mut self, table: &[(T, &[&str])]) -> Option<T> {
        let (value, length) = lookup(self.tokens, table)?;
        *self = self.skip(length);
        Some(value)
    }

    /// Consumes the longest phrase of `table` at the end; returns its entry.
    pub(super) fn eat_entry_at_end<T: Copy>(&mut self, table: &[(T, &[&str])]) -> Option<T> {
        let (value, length) = lookup_at_end(self.tokens, table)?;
        *self = self.split_at(self.len() - length).0;
        Some(value)
    }

    /// Returns the range without separators at both ends.
    pub(super) fn trimmed(self) -> Self {
        let begin = self
            .tokens
            .iter()
            .take_while(|token| token.is_mark(SEPARATORS))
            .count();
        let rest = &self.tokens[begin..];
        let end = rest
            .iter()
            .rev()
            .take_while(|token| token.is_mark(SEPARATORS))
            .count();
        Self::new(self.goal, &rest[..rest.len() - end])
    }

    /// Splits around the first of `phrases`; both sides are non-empty.
    pub(super) fn around_first(self, phrases: &[&str]) -> Option<(Self, Self)> {
        (1..self.len()).find_map(|at| self.around(at, phrases))
    }

    /// Splits around the last of `phrases`; both sides are non-empty.
    pub(super) fn around_last(self, phrases: &[&str]) -> Option<(Self, Self)> {
        (1..self.len())
            .rev()
            .find_map(|at| self.around(at, phrases))
    }

    fn around(self, at: usize, phrases: &[&str]) -> Option<(Self, Self)> {
        let (before, rest) = self.split_at(at);
        let length = longest(rest.tokens, phrases)?;
        let behind = rest.skip(length);
        (!behind.is_empty()).then_some((before, behind))
    }

    /// Returns the text of a single quoted token.
    pub(super) fn sole_quoted(self) -> Option<&'a str> {
        match self.tokens {
            [
                Token {
                    kind: TokenKind::Quoted(text),
                    ..
                },
            ] => Some(text),
            _ => None,
        }
    }

    /// Splits a leading quoted text off.
    pub(super) fn leading_quoted(self) -> Option<(&'a str, Self)> {
        let (head, rest) = self.split_at(1);
        head.sole_quoted().map(|text| (text, rest))
    }

    pub(super) fn has_quoted(self) -> bool {
        self.tokens.iter().any(Token::is_quoted)
    }

    /// Returns the quoted text alone, or the words as they were written.
    pub(super) fn content(self) -> Option<String> {
        let trimmed = self.trimmed();
        let content = trimmed.sole_quoted().unwrap_or_else(|| trimmed.raw());
        (!trimmed.is_empty()).then(|| content.to_owned())
    }

    /// Returns the content as text to enter; `secret:NAME` references a secret.
    pub(super) fn entered_text(self) -> Option<Text> {
        let content = match self.sole_quoted() {
            Some(quoted) => quoted.to_owned(),
            None if self.is_empty() => return None,
            None => self.raw().to_owned(),
        };
        Some(match secret_name(&content) {
            Some(name) => Text::Secret(name.to_owned()),
            None => Text::Literal(content),
        })
    }

    /// Splits a list at its joiners: commas, `and`, `和`.
    pub(super) fn list_items(self) -> Vec<Self> {
        let mut items = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < self.len() {
            let joiner = joiner_length(&self.tokens[at..]);
            if let Some(length) = joiner {
                items.push(Self::new(self.goal, &self.tokens[start..at]));
                start = at + length;
            }
            at += joiner.unwrap_or(1);
        }
        items.push(Self::new(self.goal, &self.tokens[start..]));
        items.retain(|item| !item.trimmed().is_empty());
        items
    }
}

/// Returns the number of tokens of a list joiner: a comma, a word for `and`, or both.
pub(super) fn joiner_length(tokens: &[Token]) -> Option<usize> {
    let comma = usize::from(
        tokens
            .first()
            .is_some_and(|token| token.is_mark(&[',', '，', '、'])),
    );
    let word = longest(&tokens[comma..], vocabulary::JOINERS).unwrap_or(0);
    (comma + word > 0).then_some(comma + word)
}

/// Returns the name in `secret:NAME`, if the text has no other content.
fn secret_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix("secret:")?;
    let well_formed = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    well_formed.then_some(name)
}
