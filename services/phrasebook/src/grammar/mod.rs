//! Parser from a goal in natural language to its clauses. Pure: it knows nothing of the screen.
//!
//! A hand-written parser over word tables ([`vocabulary`]): the goal is split into tokens ([`token`]), the tokens into
//! fragments ([`sentence`]), and each fragment is parsed by its verb ([`clause`]). It does not guess: if one clause
//! cannot be parsed, the whole goal is rejected, and the error names the offending words.
//!
//! Invariant: spans lie inside the goal, on character boundaries; no input makes it panic.

mod actions;
mod address;
mod arguments;
mod clause;
mod click;
mod instruction;
mod keys;
mod number;
mod phrase;
mod reader;
mod sentence;
mod target;
mod text_entry;
mod token;
#[rustfmt::skip] // Tables read better in columns than one word to a line.
mod vocabulary;

use std::fmt;

pub use instruction::{
    Clause, Direction, EditCommand, Instruction, JoinedName, ScrollExtent, TargetPhrase,
    format_chord,
};
pub use motorium_messages::Language;
pub use token::Span;

use clause::Context;
use motorium_messages::Message;
use motorium_proto::domain::action::Ordinal;
use reader::Reader;

/// Maximum number of clauses in a goal. Bounds the work on pasted text that is not a goal.
const MAX_CLAUSES: usize = 200;
/// Maximum length of a goal. Bounds parsing time, which grows faster than linearly with long fragments.
const MAX_BYTES: usize = 32 * 1024;

/// Error for a goal that cannot be parsed: the first clause that is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{fragment}` is not understood: {kind}")]
pub struct ParseError {
    /// Byte range of the clause within the goal.
    pub span: Span,
    /// Text of the clause.
    pub fragment: String,
    pub kind: ParseErrorKind,
    /// The language of the goal.
    pub language: Language,
}

/// Reason why a clause cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// The goal has no words.
    Empty,
    TooLong,
    UnclosedQuote,
    /// The clause does not start with a verb that the phrasebook supports.
    UnknownVerb {
        /// The most similar known verb.
        suggestion: Option<&'static str>,
    },
    /// The verb needs a target and none is given.
    MissingTarget,
    /// The words do not identify an element.
    InvalidTarget,
    /// The text to enter is missing.
    MissingText,
    /// The text must be quoted, because the clause is ambiguous otherwise.
    UnquotedText,
    /// Several texts without a field for each.
    MissingField,
    MissingDestination,
    UnknownKey {
        name: String,
    },
    InvalidAddress,
    /// Words follow that belong to no argument.
    TrailingWords {
        words: String,
    },
}

impl ParseErrorKind {
    /// Returns the reason for people.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        match self {
            Self::Empty => Message::ParseEmpty,
            Self::TooLong => Message::ParseTooLong,
            Self::UnclosedQuote => Message::ParseUnclosedQuote,
            Self::UnknownVerb {
                suggestion: Some(verb),
            } => Message::ParseSimilarVerb { verb },
            Self::UnknownVerb { suggestion: None } => Message::ParseUnknownVerb,
            Self::MissingTarget => Message::ParseMissingTarget,
            Self::InvalidTarget => Message::ParseInvalidTarget,
            Self::MissingText => Message::ParseMissingText,
            Self::UnquotedText => Message::ParseUnquotedText,
            Self::MissingField => Message::ParseMissingField,
            Self::MissingDestination => Message::ParseMissingDestination,
            Self::UnknownKey { name } => Message::ParseUnknownKey { name },
            Self::InvalidAddress => Message::ParseInvalidAddress,
            Self::TrailingWords { words } => Message::ParseTrailingWords { words },
        }
        .text(language)
    }
}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::English))
    }
}

/// Parses a goal into clauses.
///
/// # Errors
/// [`ParseError`] for the first clause that cannot be parsed.
pub fn parse(goal: &str) -> Result<Vec<Clause>, ParseError> {
    parse_in(goal, &mut Context::default())
}

/// Parses a goal that follows others: a pronoun in its first clauses stands for the target that they named last. Earlier
/// goals that are not understood name none.
///
/// # Errors
/// [`ParseError`] for the first clause of the goal itself that cannot be parsed.
pub fn parse_following<'a>(
    earlier: impl IntoIterator<Item = &'a str>,
    goal: &str,
) -> Result<Vec<Clause>, ParseError> {
    let mut context = Context::default();
    for text in earlier {
        let mut after = context.clone();
        if parse_in(text, &mut after).is_ok() {
            context = after.with_referent_only();
        }
    }
    parse_in(goal, &mut context)
}

fn parse_in(goal: &str, context: &mut Context) -> Result<Vec<Clause>, ParseError> {
    let goal_language = if goal.contains(motorium_text::characters::is_ideograph) {
        Language::Chinese
    } else {
        Language::English
    };
    let misunderstood = |span: Span, why| ParseError {
        fragment: goal[span.clone()].to_owned(),
        span,
        kind: why,
        language: goal_language,
    };
    if goal.len() > MAX_BYTES {
        return Err(misunderstood(0..0, ParseErrorKind::TooLong));
    }
    let tokens = token::tokenise(goal)
        .map_err(|unclosed| misunderstood(unclosed.span, ParseErrorKind::UnclosedQuote))?;
    let fragments = sentence::fragments(goal, &tokens);
    if fragments.is_empty() {
        return Err(misunderstood(0..goal.len(), ParseErrorKind::Empty));
    }
    let mut clauses = Vec::new();
    for fragment in &fragments {
        let language = clause::language(fragment.words);
        let readings = clause::read(fragment, context)
            .map_err(|error| misunderstood(error.span, error.kind))?;
        clauses.extend(readings.into_iter().map(|reading| Clause {
            span: reading.span,
            instruction: reading.step,
            verb: reading.verb,
            language,
            joined: reading.joined,
        }));
        if clauses.len() > MAX_CLAUSES {
            return Err(misunderstood(0..0, ParseErrorKind::TooLong));
        }
    }
    Ok(merge_holds_into_clicks(clauses))
}

/// Parses the name of an element alone, as in the answer to a disambiguation question. A bare number is an ordinal.
#[must_use]
pub fn parse_target(name: &str) -> Option<TargetPhrase> {
    if let Some(number) = name
        .trim()
        .trim_matches(['(', ')', '（', '）', '.', '#'])
        .parse()
        .ok()
        .filter(|number| *number > 0)
    {
        return Some(TargetPhrase {
            ordinal: Some(Ordinal::Nth(number)),
            ..TargetPhrase::default()
        });
    }
    let tokens = token::tokenise(name).ok()?;
    let words = Reader::new(name, &tokens);
    target::order_or_place(words).or_else(|| target::read(words).map(|named| named.aim))
}

/// Drops the hold clause of `hold Ctrl and click "A"`: the click holds the keys itself.
fn merge_holds_into_clicks(clauses: Vec<Clause>) -> Vec<Clause> {
    let mut merged: Vec<Clause> = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let holds = matches!(&clause.instruction, Instruction::Click { modifiers, .. } if !modifiers.is_empty());
        merged.pop_if(|before| {
            holds && matches!(before.instruction, Instruction::Hold { duration: None, .. })
        });
        merged.push(clause);
    }
    merged
}
