//! From a goal in plain words to the clauses it is made of. Pure: it knows nothing of the screen.
//!
//! The recogniser is written by hand over tables of words ([`words`]): a goal is cut into tokens ([`token`]), the
//! tokens into fragments ([`sentence`]), and each fragment is read by its verb ([`clause`]). It does not guess: a
//! goal of which one clause is not understood is not understood, and the error names the words at fault.
//!
//! Invariant: spans lie inside the goal, on character boundaries; no input makes it panic.

mod acts;
mod address;
mod clause;
mod entry;
mod keys;
mod number;
mod phrase;
mod reader;
mod sentence;
mod step;
mod target;
mod token;
#[rustfmt::skip] // Tables read better in columns than one word to a line.
mod words;

use std::fmt;

pub use step::{Aim, Clause, Direction, Edit, Extent, Joined, Language, Step, chord};
pub use token::Span;

use clause::Context;
use motorium_proto::domain::action::Ordinal;
use reader::Reader;

/// More clauses than this are taken for a text that is no goal.
const MAX_CLAUSES: usize = 200;
/// Longer goals are not read.
const MAX_BYTES: usize = 32 * 1024;

/// What of a goal is not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{fragment}` is not understood: {why}")]
pub struct NotUnderstood {
    /// Where the clause stands in the goal, in bytes.
    pub span: Span,
    /// The clause's own words.
    pub fragment: String,
    pub why: Why,
    /// The language of the goal.
    pub language: Language,
}

/// Why a clause is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// There is nothing to read.
    Empty,
    TooLong,
    UnclosedQuote,
    /// It does not begin with anything the phrasebook can do.
    NoVerb {
        /// The verb that was probably meant.
        suggestion: Option<&'static str>,
    },
    /// The verb needs a thing, and none is named.
    NothingNamed,
    /// The words do not name a thing in a way that can be looked for.
    NotAThing,
    /// There is nothing to enter.
    NoText,
    /// The text must be in quotes, because otherwise the clause could mean something else.
    NotQuoted,
    /// Several texts, and it is not said where each of them goes.
    NoField,
    NoDestination,
    UnknownKey {
        name: String,
    },
    NotAnAddress,
    /// Words are left over.
    TooMuch {
        words: String,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Empty => f.write_str("the goal is empty"),
            Why::TooLong => f.write_str("the goal is too long"),
            Why::UnclosedQuote => f.write_str("a quote is opened and not closed"),
            Why::NoVerb {
                suggestion: Some(verb),
            } => write!(f, "it begins with no known verb; was `{verb}` meant"),
            Why::NoVerb { suggestion: None } => f.write_str("it begins with no known verb"),
            Why::NothingNamed => f.write_str("it does not say on what"),
            Why::NotAThing => f.write_str("it does not name a thing; put its text in quotes"),
            Why::NoText => f.write_str("it does not say which text"),
            Why::NotQuoted => f.write_str("its text is not in quotes"),
            Why::NoField => f.write_str("it does not say into which field each text goes"),
            Why::NoDestination => f.write_str("it does not say where to"),
            Why::UnknownKey { name } => write!(f, "no key is called `{name}`"),
            Why::NotAnAddress => f.write_str("it does not give an address"),
            Why::TooMuch { words } => write!(f, "`{words}` is left over"),
        }
    }
}

/// Reads a goal.
///
/// # Errors
/// If any part of it is not understood; the first such part is named.
pub fn parse(goal: &str) -> Result<Vec<Clause>, NotUnderstood> {
    let goal_language = if goal.contains(token::is_ideograph) {
        Language::Chinese
    } else {
        Language::English
    };
    let misunderstood = |span: Span, why| NotUnderstood {
        fragment: goal[span.clone()].to_owned(),
        span,
        why,
        language: goal_language,
    };
    if goal.len() > MAX_BYTES {
        return Err(misunderstood(0..0, Why::TooLong));
    }
    let tokens = token::tokenise(goal)
        .map_err(|unclosed| misunderstood(unclosed.span, Why::UnclosedQuote))?;
    let fragments = sentence::fragments(goal, &tokens);
    if fragments.is_empty() {
        return Err(misunderstood(0..goal.len(), Why::Empty));
    }
    let mut context = Context::default();
    let mut clauses = Vec::new();
    for fragment in &fragments {
        let language = clause::language(fragment.words);
        let readings = clause::read(fragment, &mut context)
            .map_err(|error| misunderstood(error.span, error.why))?;
        clauses.extend(readings.into_iter().map(|reading| Clause {
            span: reading.span,
            step: reading.step,
            verb: reading.verb,
            language,
            joined: reading.joined,
        }));
        if clauses.len() > MAX_CLAUSES {
            return Err(misunderstood(0..0, Why::TooLong));
        }
    }
    Ok(hold_through_clicks(clauses))
}

/// Reads the name of a thing alone, as an answer to the question which one is meant. A bare number counts things.
#[must_use]
pub fn parse_name(name: &str) -> Option<Aim> {
    if let Some(number) = name
        .trim()
        .trim_matches(['(', ')', '（', '）', '.', '#'])
        .parse()
        .ok()
        .filter(|number| *number > 0)
    {
        return Some(Aim {
            ordinal: Some(Ordinal::Nth(number)),
            ..Aim::default()
        });
    }
    let tokens = token::tokenise(name).ok()?;
    let words = Reader::new(name, &tokens);
    target::order_or_place(words).or_else(|| target::read(words).map(|named| named.aim))
}

/// `hold Ctrl and click "A"`: the clicks hold the keys themselves, so the clause before them goes.
fn hold_through_clicks(clauses: Vec<Clause>) -> Vec<Clause> {
    let mut merged: Vec<Clause> = Vec::with_capacity(clauses.len());
    for clause in clauses {
        let holds = matches!(&clause.step, Step::Click { modifiers, .. } if !modifiers.is_empty());
        merged.pop_if(|before| holds && matches!(before.step, Step::Hold { duration: None, .. }));
        merged.push(clause);
    }
    merged
}
