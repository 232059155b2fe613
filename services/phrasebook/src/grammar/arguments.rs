//! Arguments of a verb, and the instructions that a clause is parsed to.
//!
//! It does not know the verbs: each has a parser of its own.

use motorium_proto::domain::key::Key;

use super::ParseErrorKind;
use super::instruction::{Instruction, JoinedName, TargetPhrase};
use super::reader::Reader;
use super::target::{self, NamedTarget};
use super::token::{Span, Token};
use super::vocabulary;
use crate::matcher::Relation;

/// An instruction and the words that it was parsed from.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ParsedInstruction {
    pub(super) step: Instruction,
    pub(super) span: Span,
    /// The verb shared by several targets; see [`Clause::verb`](super::Clause::verb).
    pub(super) verb: Option<Span>,
    pub(super) joined: Option<JoinedName>,
}

/// Error for a fragment that cannot be parsed, with the offending words.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClauseError {
    pub(super) span: Span,
    pub(super) kind: ParseErrorKind,
}

pub(super) type Result<T> = std::result::Result<T, ClauseError>;

/// The arguments of a verb.
#[derive(Debug, Clone)]
pub(super) struct Arguments<'a> {
    /// The whole clause, for error messages.
    pub(super) clause: Reader<'a>,
    /// The words after the verb.
    pub(super) rest: Reader<'a>,
    /// The phrase before the verb.
    pub(super) leading: Option<LeadingPhrase<'a>>,
    /// Modifier keys held during the action.
    pub(super) modifiers: Vec<Key>,
    pub(super) last: Option<TargetPhrase>,
}

/// A phrase before the verb with its role.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeadingPhrase<'a> {
    pub(super) words: Reader<'a>,
    pub(super) role: PhraseRole,
}

/// Role of the phrase before the verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhraseRole {
    /// The object of the action (`把`, `将`, `对`).
    Object,
    /// The location of the action (`in`, `在`).
    Location,
    /// The list to choose from (`from`, `从`).
    Source,
}

impl<'a> Arguments<'a> {
    /// Returns the same clause with other words after its verb.
    pub(super) fn with_rest(&self, rest: Reader<'a>) -> Self {
        Self {
            rest,
            ..self.clone()
        }
    }

    pub(super) fn fail<T>(&self, why: ParseErrorKind) -> Result<T> {
        Err(ClauseError {
            span: self.clause.span(),
            kind: why,
        })
    }

    /// Parses the words as a target.
    pub(super) fn named(&self, words: Reader<'a>) -> Result<NamedTarget> {
        let words = without_locative(words.trimmed());
        if words.is_empty() {
            return self.fail(ParseErrorKind::MissingTarget);
        }
        if let Some(last) = self.last.clone().filter(|_| target::is_pronoun(words)) {
            return Ok(NamedTarget {
                aim: last,
                noun: None,
            });
        }
        target::read(words).ok_or(ClauseError {
            span: words.span(),
            kind: ParseErrorKind::InvalidTarget,
        })
    }

    /// Parses the words as a target, without the noun.
    pub(super) fn aim(&self, words: Reader<'a>) -> Result<TargetPhrase> {
        Ok(self.named(words)?.aim)
    }

    /// Returns the phrase before the verb, if it has that role.
    pub(super) fn before(&self, role: PhraseRole) -> Option<Reader<'a>> {
        self.leading
            .filter(|before| before.role == role)
            .map(|before| before.words)
    }

    /// Parses the words as a list of targets, each with its span.
    pub(super) fn list(&self, words: Reader<'a>) -> Result<Vec<(TargetPhrase, Span)>> {
        let items = words.list_items();
        if items.is_empty() {
            return self.fail(ParseErrorKind::MissingTarget);
        }
        items
            .into_iter()
            .map(|item| Ok((self.aim(item)?, item.span())))
            .collect()
    }

    /// Returns one instruction for the whole clause.
    pub(super) fn one(&self, step: Instruction) -> Result<Vec<ParsedInstruction>> {
        Ok(vec![ParsedInstruction {
            step,
            span: self.clause.span(),
            verb: None,
            joined: None,
        }])
    }

    /// Returns the instruction for one of several targets that share the verb.
    pub(super) fn item(&self, step: Instruction, span: Span) -> ParsedInstruction {
        let verb = self.clause.span().start..self.rest.span().start;
        let stands_apart = !self.rest.is_empty() && verb.start < verb.end && verb.end <= span.start;
        ParsedInstruction {
            step,
            span,
            verb: stands_apart.then_some(verb),
            joined: None,
        }
    }

    /// Returns one instruction for each target of a list.
    pub(super) fn each(
        &self,
        words: Reader<'a>,
        step: impl Fn(TargetPhrase) -> Instruction,
    ) -> Result<Vec<ParsedInstruction>> {
        let mut items = self.list(words)?;
        if items.len() == 1 {
            return self.one(step(self.placed(items.remove(0).0)));
        }
        let mut readings: Vec<ParsedInstruction> = items
            .into_iter()
            .map(|(aim, span)| self.item(step(self.placed(aim)), span))
            .collect();
        if let Some(name) = words.content().filter(|_| !words.has_quoted()) {
            readings[0].joined = Some(JoinedName {
                target: TargetPhrase::text(name),
                clause_count: readings.len(),
                span: self.clause.span(),
            });
        }
        Ok(readings)
    }

    /// Restricts the target to the location named before the verb.
    pub(super) fn placed(&self, mut aim: TargetPhrase) -> TargetPhrase {
        let place = self
            .before(PhraseRole::Location)
            .or(self.before(PhraseRole::Source))
            .and_then(target::read);
        if let (None, Some(place)) = (&aim.relation, place) {
            aim.relation = Some((Relation::Inside, Box::new(place.aim)));
        }
        aim
    }
}

/// Drops a Chinese locative after a quoted name (`"帮助"上`).
fn without_locative(words: Reader<'_>) -> Reader<'_> {
    let mut name = words;
    name.eat_end(vocabulary::LOCATIVES);
    if name.tokens().last().is_some_and(Token::is_quoted) {
        name
    } else {
        words
    }
}
