//! Resolves a decision's target on a scene: the point to click, and the box that it may be moved within.
//!
//! - [`described`]: a target in words

pub mod described;

use motorium_proto::domain::action::{Ordinal, Target, TextAnchor};
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::ElementId;
use motorium_proto::error::FieldError;
use motorium_proto::service::{ResolvedTarget, TargetCandidate};

use crate::error::Error;
use motorium_phrasebook::matcher::{
    ElementMatch, ElementQuery, Interaction, MatchResult, ScreenIndex,
};

/// Maximum distance in pixels by which a point outside every element may be moved: small enough to stay on the same
/// control.
const MAX_POINT_OFFSET_PX: i32 = 3;

/// Resolves the target on the scene.
///
/// # Errors
/// Fails if the element is gone, the point lies outside the frame, or the text is not found or ambiguous.
pub fn resolve(target: &Target, frame: &Frame, scene: &Scene) -> Result<ResolvedTarget, Error> {
    let screen = ScreenIndex::new(frame, scene);
    match target {
        Target::Element(id) => element(&screen, *id),
        Target::Point(point) => plain_point(&screen, *point, frame.size),
        Target::Text(anchor) => anchored(&screen, anchor),
    }
}

fn element(screen: &ScreenIndex<'_>, id: ElementId) -> Result<ResolvedTarget, Error> {
    let (point, bounds) = screen.element(id).ok_or(Error::ElementNotFound(id))?;
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
) -> Result<ResolvedTarget, Error> {
    let frame = CaptureRect::from_size(size);
    if !frame.contains(point) {
        let problem = format!(
            "({}, {}) lies outside the frame of {}×{} pixels",
            point.x, point.y, size.width, size.height
        );
        return Err(FieldError::new("target.point", problem).into());
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

fn anchored(screen: &ScreenIndex<'_>, anchor: &TextAnchor) -> Result<ResolvedTarget, Error> {
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
        MatchResult::Ambiguous(hits) => Err(Error::TargetAmbiguous {
            description: words(anchor),
            candidates: hits.iter().map(candidate).collect(),
            usage: Box::default(),
        }),
        MatchResult::NotFound { nearest } => Err(Error::TargetNotFound {
            description: words(anchor),
            nearest,
            usage: Box::default(),
        }),
    }
}

fn candidate(hit: &ElementMatch) -> TargetCandidate {
    TargetCandidate {
        element: hit.element,
        content: hit.content.clone(),
        score: hit.score,
    }
}

fn resolved(hit: &ElementMatch, others: &[ElementMatch]) -> ResolvedTarget {
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
