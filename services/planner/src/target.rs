//! Resolves a target in words (`the button that sends the form`): without a model if the words clearly name one element,
//! or else by a model that ranks the elements.
//!
//! A model only chooses among the elements that it was shown. An unclear choice is an error.

use std::fmt::Write as _;
use std::sync::Arc;

use motorium_imaging::marks;
use motorium_imaging::marks::prompt as lines;
use motorium_proto::domain::decision::RemainingLimits;
use motorium_proto::domain::element::Element;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::{Frame, Image};
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::{ResolvedTarget, TargetCandidate};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::backends::phrasebook;
use crate::backends::question::{Question, QuestionResult};
use crate::error::Error;
use crate::prompt::untrusted::untrusted;
use crate::prompt::{self, Language, Prompts};
use crate::response::json;
use motorium_phrasebook::matcher::{ElementMatch, MatchResult, ScreenIndex};
use motorium_phrasebook::target::{self, TargetError};

/// Maximum number of elements that a model is shown: more than in a step, because nothing else is asked.
const MAX_ELEMENTS: usize = 100;
/// Minimum match score at which a text names an element without a model.
// Below 1, because single letters may be misread.
const MIN_NAME_SCORE: f64 = 0.9;
/// Minimum confidence of a model's choice: below it, the choice is more likely wrong than right.
const MIN_CONFIDENCE: f64 = 0.5;
/// Minimum lead in confidence over the next candidate; below it, the target is ambiguous.
// A smaller lead does not tell two candidates apart.
const MIN_CONFIDENCE_LEAD: f64 = 0.2;

/// A described target, and the screen to search.
#[derive(Debug, Clone, Copy)]
pub struct DescribedTarget<'a> {
    pub description: &'a str,
    pub image: Option<&'a Image>,
    pub frame: &'a Frame,
    pub scene: &'a Scene,
    pub remaining: RemainingLimits,
}

/// Result of matching the words without a model.
#[derive(Debug, Clone, PartialEq)]
pub enum NameMatch {
    /// The only element that they name.
    One(ResolvedTarget),
    /// Several elements that match equally well.
    Several(Vec<TargetCandidate>),
    /// No element, or no certain match.
    Nothing,
}

/// Finds the named element without a model.
#[must_use]
pub fn match_by_name(description: &str, frame: &Frame, scene: &Scene) -> NameMatch {
    let screen = ScreenIndex::new(frame, scene);
    match phrasebook::find_named(&screen, description) {
        Some(MatchResult::Unique(hit)) if hit.score >= MIN_NAME_SCORE => {
            NameMatch::One(by_name(&hit))
        }
        Some(MatchResult::Ambiguous(hits)) => {
            NameMatch::Several(hits.iter().map(target::candidate).collect())
        }
        _ => NameMatch::Nothing,
    }
}

fn by_name(hit: &ElementMatch) -> ResolvedTarget {
    let mut resolved = target::resolved(hit, &[]);
    resolved.candidates = vec![target::candidate(hit)];
    resolved
}

/// Builds the question for a model.
///
/// # Errors
/// Fails if a template cannot be rendered.
pub fn question(sought: DescribedTarget<'_>, prompts: &Prompts) -> Result<Question, prompt::Error> {
    let DescribedTarget {
        description,
        image,
        scene,
        remaining,
        ..
    } = sought;
    let language = Language::of(None, description);
    let shown: Vec<Element> = marks::select(&scene.elements, Some(MAX_ELEMENTS))
        .into_iter()
        .cloned()
        .collect();
    let ids: Vec<ElementId> = shown.iter().map(|element| element.id).collect();
    let elements = untrusted(
        "elements of the screen, as they were read",
        &lines::lines(&shown),
    );
    let values = minijinja::context! {
        description,
        elements,
        has_screenshot => image.is_some(),
    };
    let text = prompts.render("target", language, values)?;
    Ok(Question {
        system: prompts.render("target_system", language, minijinja::context! {})?,
        text: Arc::new(move |_| Ok(text.clone())),
        image: image.cloned(),
        marked: shown,
        check: Arc::new(move |answer, _| checked(answer, &ids)),
        remaining,
    })
}

/// A candidate that a model chose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct CandidateChoice {
    element_id: u32,
    confidence: f64,
}

/// Validates the choices of an answer: highest confidence first, without duplicates.
fn checked(answer: &str, shown: &[ElementId]) -> Result<Value, String> {
    const WANTED: &str = r#"one JSON object is wanted: {"candidates": [{"element_id": number, "confidence": 0 to 1}]}"#;
    let objects = json::objects(answer).into_iter();
    let choices = objects
        .filter_map(|mut object| object.remove("candidates"))
        .next_back()
        .ok_or(WANTED)?;
    let mut choices: Vec<CandidateChoice> =
        serde_json::from_value(choices).map_err(|error| format!("{WANTED}; {error}"))?;
    let mut wrong = String::new();
    for choice in &choices {
        if !shown.contains(&ElementId(choice.element_id)) {
            // Writing to a string cannot fail.
            let _ = write!(wrong, "there is no element {}; ", choice.element_id);
        }
        if !(0.0..=1.0).contains(&choice.confidence) {
            let _ = write!(
                wrong,
                "the confidence of element {} is not between 0 and 1; ",
                choice.element_id
            );
        }
    }
    if !wrong.is_empty() {
        return Err(format!("{wrong}take numbers from the list of elements"));
    }
    choices.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    let mut seen = Vec::new();
    choices.retain(|choice| {
        let is_new = !seen.contains(&choice.element_id);
        seen.push(choice.element_id);
        is_new
    });
    serde_json::to_value(choices).map_err(|error| error.to_string())
}

/// Converts a model's choices into a resolved target.
///
/// # Errors
/// Fails if no choice is confident enough, or several are.
pub fn resolved(
    description: &str,
    answered: QuestionResult,
    frame: &Frame,
    scene: &Scene,
) -> Result<ResolvedTarget, Error> {
    let QuestionResult {
        value,
        usage,
        exchange,
    } = answered;
    let choices: Vec<CandidateChoice> = serde_json::from_value(value).unwrap_or_default();
    let candidates: Vec<TargetCandidate> = choices
        .iter()
        .filter_map(|choice| {
            let element = scene.element(ElementId(choice.element_id))?;
            Some(TargetCandidate {
                element: element.id,
                content: element.content.clone(),
                score: choice.confidence,
            })
        })
        .collect();
    let description = || format!("`{description}`");
    let Some(best) = candidates
        .first()
        .filter(|best| best.score >= MIN_CONFIDENCE)
    else {
        let error = TargetError::NotFound {
            description: description(),
            nearest: candidates.into_iter().map(|each| each.content).collect(),
        };
        return Err(Error::target(error, usage, exchange));
    };
    let equals = candidates
        .iter()
        .filter(|each| best.score - each.score < MIN_CONFIDENCE_LEAD);
    let equals: Vec<TargetCandidate> = equals.cloned().collect();
    if equals.len() > 1 {
        let error = TargetError::Ambiguous {
            description: description(),
            candidates: equals,
        };
        return Err(Error::target(error, usage, exchange));
    }
    let id = candidates[0].element;
    let screen = ScreenIndex::new(frame, scene);
    let Some((point, bounds)) = screen.element(id) else {
        let error = TargetError::ElementNotFound(id);
        return Err(Error::target(error, usage, exchange));
    };
    Ok(ResolvedTarget {
        point,
        bounds,
        element: Some(id),
        candidates,
        usage,
        requests: exchange.requests,
        responses: exchange.responses,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(answer: &str, expected: Result<Value, &str>) {
        let found = checked(answer, &[ElementId(1), ElementId(2)]);
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, _) => panic!("{answer}: {found:?}"),
        }
    }

    #[test]
    fn candidates_are_ranked_and_validated_against_the_scene() {
        check(
            r#"{"candidates": [{"element_id": 2, "confidence": 0.1}, {"element_id": 1, "confidence": 0.9}, {"element_id": 2, "confidence": 0.3}]}"#,
            Ok(json!([
                {"element_id": 1, "confidence": 0.9},
                {"element_id": 2, "confidence": 0.3},
            ])),
        );
        check(r#"{"candidates": []}"#, Ok(json!([])));
        check(
            r#"{"candidates": [{"element_id": 7, "confidence": 0.9}]}"#,
            Err("there is no element 7"),
        );
        check(
            r#"{"candidates": [{"element_id": 1, "confidence": 90}]}"#,
            Err("is not between 0 and 1"),
        );
        check(r#"{"element_id": 1}"#, Err("one JSON object is wanted"));
        check("none", Err("one JSON object is wanted"));
    }
}
