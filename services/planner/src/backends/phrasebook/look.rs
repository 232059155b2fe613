//! Looks for what a clause names: turns an aim into descriptions and asks the matcher, the fullest reading first.

use super::grammar::Aim;
use crate::matcher::{Description, Found, Hit, Purpose, Screen};

/// A reading that takes a noun or an ordinal for a part of the text must be on the screen nearly letter by letter.
const SURE: f64 = 0.9;

/// Finds the one thing that the aim names.
pub(super) fn find(screen: &Screen<'_>, aim: &Aim, purpose: Purpose) -> Found {
    let literal = literal_readings(aim)
        .map(|reading| screen.find(&reading, purpose))
        .find(is_sure);
    literal.unwrap_or_else(|| screen.find(&description(aim), purpose))
}

/// Finds everything that the aim names.
pub(super) fn find_all(screen: &Screen<'_>, aim: &Aim, purpose: Purpose) -> Vec<Hit> {
    screen.find_all(&description(aim), purpose)
}

/// Whether a name stands on the screen as it is.
pub(super) fn find_sure(screen: &Screen<'_>, aim: &Aim, purpose: Purpose) -> Option<Found> {
    Some(screen.find(&description(aim), purpose)).filter(is_sure)
}

fn is_sure(found: &Found) -> bool {
    match found {
        Found::One(hit) => hit.score >= SURE,
        Found::Several(hits) => hits.iter().all(|hit| hit.score >= SURE),
        Found::Nothing { .. } => false,
    }
}

/// The readings in which words that seem to tell something of the thing belong to its text.
fn literal_readings(aim: &Aim) -> impl Iterator<Item = Description> + '_ {
    aim.literals.iter().map(|literal| Description {
        text: Some(literal.clone()),
        kind: aim.kind,
        place: None,
        ordinal: None,
        beside: beside(aim),
    })
}

/// The aim as the matcher wants it.
fn description(aim: &Aim) -> Description {
    Description {
        text: aim.text.clone(),
        kind: aim.kind,
        place: aim.place,
        ordinal: aim.ordinal,
        beside: beside(aim),
    }
}

fn beside(aim: &Aim) -> Option<(crate::matcher::Relation, Box<Description>)> {
    aim.beside
        .as_ref()
        .map(|(relation, other)| (*relation, Box::new(description(other))))
}
