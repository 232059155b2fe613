//! A window on the tokens of a goal that is eaten from both ends. It knows the goal's text, so that unquoted words
//! can be taken as they were written.

use motorium_proto::domain::action::Text;

use super::phrase::{longest, longest_at_end, lookup, lookup_at_end};
use super::token::{Span, Token, TokenKind};
use super::words;

/// Marks that mean nothing at either end of an argument.
const LOOSE: &[char] = &[',', ':', '，', '：', '、'];

/// Some tokens in a row.
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

    /// Where it stands in the goal; empty at the goal's beginning where there are no tokens.
    pub(super) fn span(self) -> Span {
        match (self.tokens.first(), self.tokens.last()) {
            (Some(first), Some(last)) => first.span.start..last.span.end,
            _ => 0..0,
        }
    }

    /// The goal's own text.
    pub(super) fn raw(self) -> &'a str {
        &self.goal[self.span()]
    }

    /// The first `count` tokens, and the others.
    pub(super) fn split_at(self, count: usize) -> (Self, Self) {
        let (head, tail) = self.tokens.split_at(count.min(self.tokens.len()));
        (Self::new(self.goal, head), Self::new(self.goal, tail))
    }

    pub(super) fn skip(self, count: usize) -> Self {
        self.split_at(count).1
    }

    /// Eats the longest of `phrases` that stands at the beginning.
    pub(super) fn eat(&mut self, phrases: &[&str]) -> bool {
        let length = longest(self.tokens, phrases);
        *self = self.skip(length.unwrap_or(0));
        length.is_some()
    }

    /// Eats `phrases` as long as one of them stands at the beginning.
    pub(super) fn eat_all(&mut self, phrases: &[&str]) {
        while self.eat(phrases) {}
    }

    /// Eats the longest of `phrases` that stands at the end.
    pub(super) fn eat_end(&mut self, phrases: &[&str]) -> bool {
        let length = longest_at_end(self.tokens, phrases);
        *self = self.split_at(self.len() - length.unwrap_or(0)).0;
        length.is_some()
    }

    /// Eats the longest phrase of `table` that stands at the beginning.
    pub(super) fn eat_entry<T: Copy>(&mut self, table: &[(T, &[&str])]) -> Option<T> {
        let (value, length) = lookup(self.tokens, table)?;
        *self = self.skip(length);
        Some(value)
    }

    /// Eats the longest phrase of `table` that stands at the end.
    pub(super) fn eat_entry_at_end<T: Copy>(&mut self, table: &[(T, &[&str])]) -> Option<T> {
        let (value, length) = lookup_at_end(self.tokens, table)?;
        *self = self.split_at(self.len() - length).0;
        Some(value)
    }

    /// Without the marks at both ends that mean nothing.
    pub(super) fn trimmed(self) -> Self {
        let begin = self
            .tokens
            .iter()
            .take_while(|token| token.is_mark(LOOSE))
            .count();
        let rest = &self.tokens[begin..];
        let end = rest
            .iter()
            .rev()
            .take_while(|token| token.is_mark(LOOSE))
            .count();
        Self::new(self.goal, &rest[..rest.len() - end])
    }

    /// What stands before and behind the first of `phrases`, neither of which is empty.
    pub(super) fn around_first(self, phrases: &[&str]) -> Option<(Self, Self)> {
        (1..self.len()).find_map(|at| self.around(at, phrases))
    }

    /// What stands before and behind the last of `phrases`, neither of which is empty.
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

    /// The only token's text, if it is quoted.
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

    /// The quoted text at the beginning, and what follows it.
    pub(super) fn leading_quoted(self) -> Option<(&'a str, Self)> {
        let (head, rest) = self.split_at(1);
        head.sole_quoted().map(|text| (text, rest))
    }

    pub(super) fn has_quoted(self) -> bool {
        self.tokens.iter().any(Token::is_quoted)
    }

    /// What it says: the quoted text alone, or the words as they were written.
    pub(super) fn content(self) -> Option<String> {
        let trimmed = self.trimmed();
        let content = trimmed.sole_quoted().unwrap_or_else(|| trimmed.raw());
        (!trimmed.is_empty()).then(|| content.to_owned())
    }

    /// The same as text to be entered: `secret:NAME` names a secret.
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

    /// Splits at what joins things of a list: commas, `and`, `和`.
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

/// How many tokens join a list here: a comma, a word for `and`, or both.
pub(super) fn joiner_length(tokens: &[Token]) -> Option<usize> {
    let comma = usize::from(
        tokens
            .first()
            .is_some_and(|token| token.is_mark(&[',', '，', '、'])),
    );
    let word = longest(&tokens[comma..], words::JOINERS).unwrap_or(0);
    (comma + word > 0).then_some(comma + word)
}

/// The name in `secret:NAME`, if the text is nothing else.
fn secret_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix("secret:")?;
    let well_formed = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    well_formed.then_some(name)
}
