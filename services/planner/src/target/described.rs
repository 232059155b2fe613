//! A target in words (`the button that sends the form`): found without a model where the words name one thing on the
//! scene with certainty, and otherwise by a model that ranks the elements.
//!
//! A model only chooses among the elements that it was shown. Where its choice is not clear, none is made for it.

use std::fmt::Write as _;
use std::sync::Arc;

use motorium_imaging::marks;
use motorium_imaging::marks::prompt as lines;
use motorium_proto::domain::decision::{RemainingLimits, Usage};
use motorium_proto::domain::element::Element;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::{Frame, Image};
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::{Resolved, TargetCandidate};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::json;
use crate::backends::phrasebook;
use crate::backends::question::{Answered, Question};
use crate::error::Error;
use crate::matcher::{Found, Hit, Screen};
use crate::prompt::untrusted::untrusted;
use crate::prompt::{self, Language, Prompts};

/// Most elements that a model is shown. More than in a step: nothing else is asked.
const MOST_ELEMENTS: usize = 100;
/// A text that matches less is not certain.
const SURE: f64 = 0.9;
/// A model's choice below this confidence is none.
const LEAST: f64 = 0.5;
/// So much surer than of the next one a model must be of its choice.
const MARGIN: f64 = 0.2;

/// A target that is only described, and where it is to be found.
#[derive(Debug, Clone, Copy)]
pub struct Described<'a> {
    pub description: &'a str,
    pub image: Option<&'a Image>,
    pub frame: &'a Frame,
    pub scene: &'a Scene,
    pub remaining: RemainingLimits,
}

/// What the words alone tell.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// The one thing that they name, with certainty.
    One(Resolved),
    /// Things that they name equally well.
    Several(Vec<TargetCandidate>),
    /// They do not name a thing, or it is not certain which one.
    Nothing,
}

/// Finds what the words name without a model.
#[must_use]
pub fn known(description: &str, frame: &Frame, scene: &Scene) -> Known {
    let screen = Screen::new(frame, scene);
    match phrasebook::find_named(&screen, description) {
        Some(Found::One(hit)) if hit.score >= SURE => Known::One(by_name(&hit)),
        Some(Found::Several(hits)) => Known::Several(hits.iter().map(super::candidate).collect()),
        _ => Known::Nothing,
    }
}

fn by_name(hit: &Hit) -> Resolved {
    let mut resolved = super::resolved(hit, &[]);
    resolved.candidates = vec![super::candidate(hit)];
    resolved
}

/// The question to a model for the same.
///
/// # Errors
/// If a template cannot be rendered.
pub fn question(sought: Described<'_>, prompts: &Prompts) -> Result<Question, prompt::Error> {
    let Described {
        description,
        image,
        scene,
        remaining,
        ..
    } = sought;
    let language = Language::of(None, description);
    let shown: Vec<Element> = marks::select(&scene.elements, Some(MOST_ELEMENTS))
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
        picture => image.is_some(),
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

/// An element that a model holds for the target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Choice {
    element_id: u32,
    confidence: f64,
}

/// The choices of an answer, if all of them can be: the surest first, each element once.
fn checked(answer: &str, shown: &[ElementId]) -> Result<Value, String> {
    const WANTED: &str = r#"one JSON object is wanted: {"candidates": [{"element_id": number, "confidence": 0 to 1}]}"#;
    let mut object = json::object(answer).ok_or(WANTED)?;
    let choices = object.remove("candidates").ok_or(WANTED)?;
    let mut choices: Vec<Choice> =
        serde_json::from_value(choices).map_err(|error| format!("{WANTED}; {error}"))?;
    let mut wrong = String::new();
    for choice in &choices {
        if !shown.contains(&ElementId(choice.element_id)) {
            // Writing to a string succeeds.
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

/// What a model's choices come to.
///
/// # Errors
/// If it is sure of none of them, or of several.
pub fn resolved(
    description: &str,
    answered: Answered,
    frame: &Frame,
    scene: &Scene,
) -> Result<Resolved, Error> {
    let choices: Vec<Choice> = serde_json::from_value(answered.value).unwrap_or_default();
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
    let Some(best) = candidates.first().filter(|best| best.score >= LEAST) else {
        return Err(Error::TargetNotFound {
            description: description(),
            nearest: candidates.into_iter().map(|each| each.content).collect(),
            usage: Box::new(answered.usage),
        });
    };
    let equals = candidates
        .iter()
        .filter(|each| best.score - each.score < MARGIN);
    let equals: Vec<TargetCandidate> = equals.cloned().collect();
    if equals.len() > 1 {
        return Err(Error::TargetAmbiguous {
            description: description(),
            candidates: equals,
            usage: Box::new(answered.usage),
        });
    }
    whole(candidates, answered.usage, frame, scene)
}

/// The first of the candidates as a whole.
fn whole(
    candidates: Vec<TargetCandidate>,
    usage: Usage,
    frame: &Frame,
    scene: &Scene,
) -> Result<Resolved, Error> {
    let id = candidates[0].element;
    let screen = Screen::new(frame, scene);
    let (point, bounds) = screen.element(id).ok_or(Error::ElementNotFound(id))?;
    Ok(Resolved {
        point,
        bounds,
        element: Some(id),
        candidates,
        usage,
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
    fn choices_are_ranked_and_held_against_what_was_shown() {
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
