//! Where a target of a decision is on a scene: the point to click, and the box that it may be moved within.
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
use motorium_proto::service::{Resolved, TargetCandidate};

use crate::error::Error;
use crate::matcher::{Description, Found, Hit, Purpose, Screen};

/// A point without an element may be moved by so many pixels.
const REACH: i32 = 3;

/// Finds the target on the scene.
///
/// # Errors
/// If the element has gone, the point lies outside the frame, or the text is nowhere or in several places.
pub fn resolve(target: &Target, frame: &Frame, scene: &Scene) -> Result<Resolved, Error> {
    let screen = Screen::new(frame, scene);
    match target {
        Target::Element(id) => element(&screen, *id),
        Target::Point(point) => plain_point(&screen, *point, frame.size),
        Target::Text(anchor) => anchored(&screen, anchor),
    }
}

fn element(screen: &Screen<'_>, id: ElementId) -> Result<Resolved, Error> {
    let (point, bounds) = screen.element(id).ok_or(Error::ElementNotFound(id))?;
    Ok(Resolved {
        point,
        bounds,
        element: Some(id),
        candidates: Vec::new(),
        usage: Usage::default(),
    })
}

fn plain_point(
    screen: &Screen<'_>,
    point: CapturePoint,
    size: CaptureSize,
) -> Result<Resolved, Error> {
    let frame = CaptureRect::from_size(size);
    if !frame.contains(point) {
        let problem = format!(
            "({}, {}) lies outside the frame of {}×{} pixels",
            point.x, point.y, size.width, size.height
        );
        return Err(FieldError::new("target.point", problem).into());
    }
    let around = CaptureRect::new(point, point)
        .inflate(REACH, REACH)
        .intersection(&frame);
    let bounds = screen.smallest_around(point).or(around).unwrap_or(frame);
    Ok(Resolved {
        point,
        bounds,
        element: None,
        candidates: Vec::new(),
        usage: Usage::default(),
    })
}

fn anchored(screen: &Screen<'_>, anchor: &TextAnchor) -> Result<Resolved, Error> {
    let description = Description::from(anchor);
    let purpose = Purpose::of_kind(anchor.kind);
    match screen.find(&description, purpose) {
        Found::One(hit) => {
            let others = screen.find_all(
                &Description {
                    ordinal: None,
                    ..description
                },
                purpose,
            );
            Ok(resolved(&hit, &others))
        }
        Found::Several(hits) => Err(Error::TargetAmbiguous {
            description: words(anchor),
            candidates: hits.iter().map(candidate).collect(),
            usage: Box::default(),
        }),
        Found::Nothing { nearest } => Err(Error::TargetNotFound {
            description: words(anchor),
            nearest,
            usage: Box::default(),
        }),
    }
}

fn candidate(hit: &Hit) -> TargetCandidate {
    TargetCandidate {
        element: hit.element,
        content: hit.content.clone(),
        score: hit.score,
    }
}

fn resolved(hit: &Hit, others: &[Hit]) -> Resolved {
    Resolved {
        point: hit.point,
        bounds: hit.bounds,
        element: hit.whole.then_some(hit.element),
        candidates: others
            .iter()
            .filter(|other| other.point != hit.point)
            .map(candidate)
            .collect(),
        usage: Usage::default(),
    }
}

/// The anchor in words: `the 2nd button "Delete" at the top right`.
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
