//! Locates the target of a clause: converts a target phrase into queries for the matcher, longest reading first.

use motorium_phrasebook::grammar::TargetPhrase;
use motorium_phrasebook::matcher::{
    ElementMatch, ElementQuery, Interaction, MatchResult, ScreenIndex,
};

/// Minimum score of a reading that takes a noun or ordinal as part of the text: exact, punctuation and look-alike matches
/// (0.92 and up) pass, partial ones do not.
const MIN_EXACT_SCORE: f64 = 0.9;

/// Finds the element that the target phrase names.
pub(super) fn find(
    screen: &ScreenIndex<'_>,
    aim: &TargetPhrase,
    purpose: Interaction,
) -> MatchResult {
    let literal = literal_readings(aim)
        .map(|reading| screen.find(&reading, purpose))
        .find(is_exact);
    literal.unwrap_or_else(|| screen.find(&description(aim), purpose))
}

/// Finds all elements that the target phrase names.
pub(super) fn find_all(
    screen: &ScreenIndex<'_>,
    aim: &TargetPhrase,
    purpose: Interaction,
) -> Vec<ElementMatch> {
    screen.find_all(&description(aim), purpose)
}

/// Finds the element if its name is on the screen verbatim.
pub(super) fn find_exact(
    screen: &ScreenIndex<'_>,
    aim: &TargetPhrase,
    purpose: Interaction,
) -> Option<MatchResult> {
    Some(screen.find(&description(aim), purpose)).filter(is_exact)
}

fn is_exact(found: &MatchResult) -> bool {
    match found {
        MatchResult::Unique(hit) => hit.score >= MIN_EXACT_SCORE,
        MatchResult::Ambiguous(hits) => hits.iter().all(|hit| hit.score >= MIN_EXACT_SCORE),
        MatchResult::NotFound { .. } => false,
    }
}

/// Returns the queries in which qualifying words belong to the element's text.
fn literal_readings(aim: &TargetPhrase) -> impl Iterator<Item = ElementQuery> + '_ {
    aim.literals.iter().map(|literal| ElementQuery {
        text: Some(literal.clone()),
        kind: aim.kind,
        place: None,
        ordinal: None,
        relation: beside(aim),
    })
}

/// Converts the target phrase into a query.
fn description(aim: &TargetPhrase) -> ElementQuery {
    ElementQuery {
        text: aim.text.clone(),
        kind: aim.kind,
        place: aim.place,
        ordinal: aim.ordinal,
        relation: beside(aim),
    }
}

fn beside(
    aim: &TargetPhrase,
) -> Option<(motorium_phrasebook::matcher::Relation, Box<ElementQuery>)> {
    aim.relation
        .as_ref()
        .map(|(relation, other)| (*relation, Box::new(description(other))))
}
