//! Resolves a decision's target on a scene: the point to click, and the box that it may be moved within.
//!
//! Not here: targets described in free words, for which the Planner may ask a model.

use motorium_proto::domain::action::{Ordinal, Target, TextAnchor};
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::{ResolvedTarget, TargetCandidate};

use crate::matcher::{ElementMatch, ElementQuery, Interaction, MatchResult, ScreenIndex};

/// Maximum distance in pixels by which a point outside every element may be moved: small enough to stay on the same
/// control.
const MAX_POINT_OFFSET_PX: i32 = 3;

/// A target that cannot be resolved.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TargetError {
    /// The scene has no element with this number.
    #[error(
        "the scene has no element {0}; it may have disappeared since the frame of the decision"
    )]
    ElementNotFound(ElementId),
    #[error(
        "({}, {}) lies outside the frame of {}×{} pixels",
        point.x, point.y, frame.width, frame.height
    )]
    PointOutside {
        point: CapturePoint,
        frame: CaptureSize,
    },
    /// No element of the scene matches the target.
    #[error("{description} is not on the screen{}", nearest_words(nearest))]
    NotFound {
        description: String,
        /// Most similar texts, best first.
        nearest: Vec<String>,
    },
    /// Several elements match the target equally well.
    #[error(
        "{description} matches {} elements; add a kind, a place or an ordinal",
        candidates.len()
    )]
    Ambiguous {
        description: String,
        /// At least two.
        candidates: Vec<TargetCandidate>,
    },
}

fn nearest_words(nearest: &[String]) -> String {
    if nearest.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = nearest.iter().map(|text| format!("\"{text}\"")).collect();
    format!("; the most similar texts are {}", quoted.join(", "))
}

/// Resolves the target on the scene.
///
/// # Errors
/// Fails if the element is gone, the point lies outside the frame, or the text is not found or ambiguous.
pub fn resolve(
    target: &Target,
    frame: &Frame,
    scene: &Scene,
) -> Result<ResolvedTarget, TargetError> {
    let screen = ScreenIndex::new(frame, scene);
    match target {
        Target::Element(id) => element(&screen, *id),
        Target::Point(point) => plain_point(&screen, *point, frame.size),
        Target::Text(anchor) => anchored(&screen, anchor),
    }
}

fn element(screen: &ScreenIndex<'_>, id: ElementId) -> Result<ResolvedTarget, TargetError> {
    let (point, bounds) = screen.element(id).ok_or(TargetError::ElementNotFound(id))?;
    Ok(ResolvedTarget {
        point,
        bounds,
        element: Some(id),
        candidates: Vec::new(),
        usage: Usage::default(),
    })
}

fn plain_point(
    screen: &ScreenIndex<'_>,
    point: CapturePoint,
    size: CaptureSize,
) -> Result<ResolvedTarget, TargetError> {
    let frame = CaptureRect::from_size(size);
    if !frame.contains(point) {
        return Err(TargetError::PointOutside { point, frame: size });
    }
    let around = CaptureRect::new(point, point)
        .inflate(MAX_POINT_OFFSET_PX, MAX_POINT_OFFSET_PX)
        .intersection(&frame);
    let bounds = screen
        .smallest_element_at(point)
        .or(around)
        .unwrap_or(frame);
    Ok(ResolvedTarget {
        point,
        bounds,
        element: None,
        candidates: Vec::new(),
        usage: Usage::default(),
    })
}

fn anchored(screen: &ScreenIndex<'_>, anchor: &TextAnchor) -> Result<ResolvedTarget, TargetError> {
    let description = ElementQuery::from(anchor);
    let purpose = Interaction::of_kind(anchor.kind);
    match screen.find(&description, purpose) {
        MatchResult::Unique(hit) => {
            let others = screen.find_all(
                &ElementQuery {
                    ordinal: None,
                    ..description
                },
                purpose,
            );
            Ok(resolved(&hit, &others))
        }
        MatchResult::Ambiguous(hits) => Err(TargetError::Ambiguous {
            description: words(anchor),
            candidates: hits.iter().map(candidate).collect(),
        }),
        MatchResult::NotFound { nearest } => Err(TargetError::NotFound {
            description: words(anchor),
            nearest,
        }),
    }
}

/// Returns a match as a candidate.
#[must_use]
pub fn candidate(hit: &ElementMatch) -> TargetCandidate {
    TargetCandidate {
        element: hit.element,
        content: hit.content.clone(),
        score: hit.score,
    }
}

/// Returns a match as a resolved target; the others are its candidates.
#[must_use]
pub fn resolved(hit: &ElementMatch, others: &[ElementMatch]) -> ResolvedTarget {
    ResolvedTarget {
        point: hit.point,
        bounds: hit.bounds,
        element: hit.is_whole_element.then_some(hit.element),
        candidates: others
            .iter()
            .filter(|other| other.point != hit.point)
            .map(candidate)
            .collect(),
        usage: Usage::default(),
    }
}

/// Formats the anchor: `number 2 of button "Delete" at the top right`.
fn words(anchor: &TextAnchor) -> String {
    let ordinal = anchor.ordinal.map(|ordinal| match ordinal {
        Ordinal::Nth(number) => format!("number {number} of"),
        Ordinal::Last => "the last of".to_owned(),
    });
    let kind = anchor.kind.map(|kind| kind.as_str().replace('_', " "));
    let text = (!anchor.text.is_empty()).then(|| format!("\"{}\"", anchor.text));
    let place = anchor.place.map(|place| format!("at the {place}"));
    [ordinal, kind, text, place]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}
