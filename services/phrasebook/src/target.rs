//! Resolves a decision's target on a scene: the point to click, and the box that it may be moved within.
//!
//! Not here: targets described in free words, for which the Planner may ask a model.

use motorium_messages::{Language, Message, choice_key, join_list};
use motorium_proto::domain::action::{FramePart, Ordinal, Target, TextAnchor};
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::element::{ElementKind, Scene};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::{ResolvedTarget, TargetCandidate};

use crate::matcher::{ElementMatch, ElementQuery, Interaction, MatchResult, ScreenIndex};

/// Maximum distance in pixels by which a point outside every element may be moved: small enough to stay on the same
/// control.
const MAX_POINT_OFFSET_PX: i32 = 3;

/// A target that cannot be resolved. Displayed in English; [`TargetError::text`] has the other languages.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", self.text(Language::English))]
pub enum TargetError {
    /// The scene has no element with this number.
    ElementNotFound(ElementId),
    PointOutside {
        point: CapturePoint,
        frame: CaptureSize,
    },
    /// No element of the scene matches the target.
    NotFound {
        description: String,
        /// Most similar texts, best first.
        nearest: Vec<String>,
    },
    /// Several elements match the target equally well.
    Ambiguous {
        description: String,
        /// At least two.
        candidates: Vec<TargetCandidate>,
    },
}

impl TargetError {
    /// Returns the error for people. The description stays in the language that it was made in.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        match self {
            Self::ElementNotFound(id) => Message::TargetElementMissing { element: id.0 },
            Self::PointOutside { point, frame } => Message::TargetOutside {
                x: point.x,
                y: point.y,
                width: frame.width,
                height: frame.height,
            },
            Self::NotFound {
                description,
                nearest,
            } => return not_found(description, &quoted_list(nearest, language)).text(language),
            Self::Ambiguous {
                description,
                candidates,
            } => Message::TargetAmbiguous {
                target: description,
                count: candidates.len(),
            },
        }
        .text(language)
    }
}

fn quoted_list(texts: &[String], language: Language) -> String {
    let quoted = |text: &String| Message::QuotedLabel { text }.text(language);
    join_list(&texts.iter().map(quoted).collect::<Vec<_>>(), language)
}

/// Returns that a target is not on the screen. `nearest` lists the most similar texts; it may be empty.
#[must_use]
pub fn not_found<'a>(description: &'a str, nearest: &'a str) -> Message<'a> {
    match nearest {
        "" => Message::TargetNotFound {
            target: description,
        },
        nearest => Message::TargetNotFoundNearest {
            target: description,
            nearest,
        },
    }
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
        requests: Vec::new(),
        responses: Vec::new(),
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
        requests: Vec::new(),
        responses: Vec::new(),
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
            description: describe(anchor, Language::English),
            candidates: hits.iter().map(candidate).collect(),
        }),
        MatchResult::NotFound { nearest } => Err(TargetError::NotFound {
            description: describe(anchor, Language::English),
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
        requests: Vec::new(),
        responses: Vec::new(),
    }
}

/// Describes the anchor: `number 2 of button "Delete" at the top right`, `右上的第 2 个“删除”按钮`.
#[must_use]
pub fn describe(anchor: &TextAnchor, language: Language) -> String {
    let ordinal = anchor.ordinal.map(|ordinal| match ordinal {
        Ordinal::Nth(number) => Message::TargetNth { number }.text(language),
        Ordinal::Last => Message::TargetLast.text(language),
    });
    let kind = anchor.kind.map(|kind| kind_name(kind, language));
    let text = (!anchor.text.is_empty()).then(|| Message::QuotedLabel { text: &anchor.text });
    let text = text.map(|text| text.text(language));
    let part = anchor.place.map(|part| {
        let part = &part_name(part, language);
        Message::TargetAtPart { part }.text(language)
    });
    match language {
        Language::English => joined([ordinal, kind, text, part], " "),
        // In Chinese, what describes a thing comes before it.
        Language::Chinese => joined([part, ordinal, text, kind], ""),
    }
}

fn joined(words: [Option<String>; 4], separator: &str) -> String {
    let words: Vec<String> = words.into_iter().flatten().collect();
    words.join(separator)
}

/// Returns the name of a kind of element.
#[must_use]
pub fn kind_name(kind: ElementKind, language: Language) -> String {
    let kind = &choice_key(kind.as_str());
    Message::ElementKind { kind }.text(language)
}

/// Returns the name of a part of a frame.
#[must_use]
pub fn part_name(part: FramePart, language: Language) -> String {
    let part = &choice_key(part.as_str());
    Message::FramePart { part }.text(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(anchor: &TextAnchor, english: &str, chinese: &str) {
        assert_eq!(describe(anchor, Language::English), english);
        assert_eq!(describe(anchor, Language::Chinese), chinese);
    }

    #[test]
    fn an_anchor_is_described_in_the_order_of_the_language() {
        let named = TextAnchor {
            text: "Delete".into(),
            ..TextAnchor::default()
        };
        check(&named, "\"Delete\"", "“Delete”");
        let second = TextAnchor {
            kind: Some(ElementKind::Button),
            place: Some(FramePart::TopRight),
            ordinal: Some(Ordinal::Nth(2)),
            ..named
        };
        check(
            &second,
            "number 2 of button \"Delete\" at the top right",
            "右上的第 2 个“Delete”按钮",
        );
    }

    #[test]
    fn target_errors_are_translated() {
        let missing = TargetError::ElementNotFound(ElementId(7));
        assert_eq!(
            missing.to_string(),
            "the scene has no element 7; it may have disappeared since the frame of the decision"
        );
        assert_eq!(
            missing.text(Language::Chinese),
            "画面中没有元素 7；它可能在作出决定之后消失了"
        );
        let not_found = TargetError::NotFound {
            description: "“删除”".into(),
            nearest: vec!["删掉".into(), "清除".into()],
        };
        assert_eq!(
            not_found.text(Language::Chinese),
            "屏幕上找不到“删除”；最接近的文字是“删掉”、“清除”"
        );
    }
}
