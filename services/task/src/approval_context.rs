//! Surroundings of a risky action's target, as an approver was shown them, and the differences that void an approval.
//!
//! A person who approves a click on `Pay` approves the amount and the recipient that stand beside it, in this window and on this
//! page. The surroundings are therefore compared by what they say: texts, amounts, recipients, window and origin of the page.
//! How they are drawn does not count, so that a caret, a clock, a highlight or a spinner voids nothing. The look of the target
//! itself is compared by its caller.
//!
//! Pure. It neither captures the screen nor decides what follows from a difference.

use motorium_messages::{Language, Message};
use motorium_proto::convert;
use motorium_proto::domain::element::{Element, ElementKind, RelationKind, Scene};
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;
use motorium_text::values::{self, Value, ValueKind};

use super::effect::is_small;
use super::screen::bounds_on_display;
use super::shown_text::folded;

/// Margin around a target that an approver is shown: horizontal and vertical, in pixels.
// Shows the row or dialog around the target, so that a person recognises the place.
const EVIDENCE_MARGIN_PX: (i32, i32) = (240, 120);
/// Reach of a dialog without a visible border to each side of a target, in pixels at scale 1.
// A form of a page is rarely wider or higher; advertisements with prices are beside it.
const DIALOG_REACH_PX: i32 = 480;
/// Maximum distance of a value to the right of its caption, and below it, in pixels.
const CAPTION_REACH_PX: (i32, i32) = (320, 48);
/// Overlap of a caption with its value that is allowed, in pixels: detected boxes are not exact.
const BOX_TOLERANCE_PX: i32 = 8;
/// Maximum difference of the sides of two boxes of one target, in pixels: detected boxes are off by a pixel or two.
const SAME_TARGET_PX: i32 = 4;
/// Maximum number of texts, and of values, that are kept. A dialog has fewer, and each is stored with the approval.
const MAX_TEXTS: usize = 200;
/// Maximum number of characters of a text that is kept.
const MAX_TEXT_CHARS: usize = 400;
/// Minimum number of letters of a word. Text recognition takes a spinner for one or two.
const MIN_WORD_LETTERS: usize = 3;
/// Maximum number of characters of a text in a message.
const MAX_QUOTED_CHARS: usize = 60;

/// The place that an action is judged at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedTarget {
    /// Area of the target or, for keys and text, of the keyboard focus. `None` if it is not known: the whole window counts.
    pub area: Option<CaptureRect>,
    /// Origin of the page; empty if no browser is in front or its page is not known.
    pub page_origin: String,
    /// Further texts that were used to judge the action, such as the question that a button answers.
    pub question: Vec<String>,
}

/// Surroundings of a target by what they say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ApprovalContext {
    pub application: String,
    pub window_title: String,
    /// Origin of the page; empty if no browser is in front or its page is not known.
    pub page_origin: String,
    pub target: Option<CaptureRect>,
    /// Texts on the target.
    pub target_texts: Vec<String>,
    /// Texts around the target in reading order.
    pub texts: Vec<String>,
    /// Texts of the question that the action answers.
    pub question: Vec<String>,
    /// Amounts in the dialog around the target.
    pub amounts: Vec<String>,
    /// Recipients in the dialog around the target: names, addresses and account numbers.
    pub recipients: Vec<String>,
    /// Areas that changed by themselves; texts there do not count.
    pub moving: Vec<CaptureRect>,
    /// True if the pointer was on the target, which may have been highlighted.
    pub pointer_on_target: bool,
}

/// A difference between two looks at the surroundings of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextChange {
    Window { before: String, now: String },
    Page { before: String, now: String },
    Amount { before: String, now: String },
    Recipient { before: String, now: String },
    Target { before: String, now: String },
    Text { before: String, now: String },
}

/// Strictness of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Any text counts.
    Full,
    /// Further texts do not count, such as a tooltip of the pointer. Further values do.
    WithPointer,
    /// Texts count only on the target. For an action that no person has approved.
    TargetAndValues,
}

/// Returns the area around a target that an approver is shown.
#[must_use]
pub fn evidence_area(target: CaptureRect) -> CaptureRect {
    target.inflate(EVIDENCE_MARGIN_PX.0, EVIDENCE_MARGIN_PX.1)
}

/// Returns the area whose amounts and recipients belong to a target: the dialog that it is in.
#[must_use]
pub fn dialog_area(scene: &Scene, frame: &Frame, target: Option<CaptureRect>) -> CaptureRect {
    let window = frame.active_window();
    let whole = window.map_or(frame.bounds(), |window| window.bounds);
    let Some(target) = target else {
        return whole;
    };
    let dialogs = scene.elements.iter();
    let dialogs = dialogs.filter(|element| element.kind == ElementKind::Dialog);
    let dialogs = dialogs.map(|dialog| bounds_on_display(dialog, frame));
    let around = dialogs.filter(|dialog| dialog.contains(target.center()));
    // A box that was found too small must not cut off what the approver is shown.
    let shown = evidence_area(target);
    if let Some(dialog) = around.min_by_key(CaptureRect::area) {
        return dialog.union(&shown);
    }
    if window.is_some_and(|window| is_dialog(window, frame)) {
        return whole.union(&shown);
    }
    let reach = (f64::from(DIALOG_REACH_PX) * frame.scale).round() as i32;
    let near = target.inflate(reach, reach);
    near.intersection(&whole).unwrap_or(near).union(&shown)
}

/// Returns true if a window is a dialog: it is modal, or covers less than half of the screen.
fn is_dialog(window: &Window, frame: &Frame) -> bool {
    let area = |bounds: CaptureRect| i64::from(bounds.width()) * i64::from(bounds.height());
    window.modal || area(window.bounds) * 2 < area(frame.bounds())
}

/// Returns the areas of motion in which nothing counts: small ones that show neither words nor values and do not touch the target.
#[must_use]
pub fn harmless_motion(
    moving: &[CaptureRect],
    scene: &Scene,
    frame: &Frame,
    target: Option<CaptureRect>,
) -> Vec<CaptureRect> {
    let values = value_elements(scene, frame, frame.bounds());
    let elements = scene.elements.iter();
    let worded = elements.filter(|element| has_words(&element.content));
    let worded: Vec<CaptureRect> = worded
        .map(|element| bounds_on_display(element, frame))
        .chain(values.into_iter().map(|(bounds, _)| bounds))
        .chain(target)
        .collect();
    let is_harmless = |area: &&CaptureRect| {
        is_small(**area) && !worded.iter().any(|bounds| area.intersects(bounds))
    };
    moving.iter().filter(is_harmless).copied().collect()
}

impl ApprovalContext {
    /// Reads the surroundings of a place. `moving`: areas of motion in which nothing counts ([`harmless_motion`]).
    #[must_use]
    pub fn of(scene: &Scene, frame: &Frame, place: &JudgedTarget, moving: &[CaptureRect]) -> Self {
        let window = frame.active_window();
        let shown = match place.area {
            Some(area) => evidence_area(area),
            // Everything in the window would count, so that anything would void the approval.
            None => CaptureRect::zero(),
        };
        let is_moving =
            |bounds: CaptureRect| moving.iter().any(|area| area.contains(bounds.center()));
        let placed = || {
            let elements = scene.elements.iter();
            elements.map(|element| (bounds_on_display(element, frame), element.content.as_str()))
        };
        let texts =
            placed().filter(|(bounds, _)| shown.contains(bounds.center()) && !is_moving(*bounds));
        let on_target = |bounds: &CaptureRect| {
            place
                .area
                .is_some_and(|area| area.contains(bounds.center()))
        };
        let target_texts = placed().filter(|(bounds, _)| on_target(bounds));
        let values = value_elements(scene, frame, dialog_area(scene, frame, place.area));
        let of_kind = |kind| {
            let values = values.iter().flat_map(|(_, values)| values);
            let values = values.filter(|value| value.kind == kind);
            kept(values.map(|value| value.text.as_str()))
        };
        Self {
            application: window.map_or_else(String::new, |window| window.application.clone()),
            window_title: window.map_or_else(String::new, |window| shortened(&window.title)),
            page_origin: place.page_origin.clone(),
            target: place.area,
            target_texts: kept(target_texts.map(|(_, text)| text)),
            texts: kept(texts.map(|(_, text)| text)),
            question: kept(place.question.iter().map(String::as_str)),
            amounts: of_kind(ValueKind::Amount),
            recipients: of_kind(ValueKind::Recipient),
            moving: moving.to_vec(),
            pointer_on_target: place.area.zip(frame.cursor).is_some_and(|(area, cursor)| {
                area.contains(cursor.position + frame.origin.to_vector())
            }),
        }
    }

    /// Returns true if the area is the target of this context, as far as detected boxes are exact.
    #[must_use]
    pub fn is_at(&self, area: Option<CaptureRect>) -> bool {
        let near = |one: i32, other: i32| (one - other).abs() <= SAME_TARGET_PX;
        match (self.target, area) {
            (Some(target), Some(area)) => {
                near(target.min.x, area.min.x)
                    && near(target.min.y, area.min.y)
                    && near(target.max.x, area.max.x)
                    && near(target.max.y, area.max.y)
            }
            (target, area) => target == area,
        }
    }

    /// Returns true if the target has words and they are the same.
    #[must_use]
    pub fn has_same_target_text(&self, now: &Self) -> bool {
        let text = joined(&self.target_texts);
        !text.is_empty() && text == joined(&now.target_texts)
    }

    /// Returns the first difference that matters, the most telling first.
    #[must_use]
    pub fn difference(&self, now: &Self, comparison: Comparison) -> Option<ContextChange> {
        let named = |application: &str, title: &str| match (application, title) {
            ("", title) => title.to_owned(),
            (application, "") => application.to_owned(),
            (application, title) => format!("{title} ({application})"),
        };
        if self.application != now.application
            || plain_title(&self.window_title) != plain_title(&now.window_title)
        {
            return Some(ContextChange::Window {
                before: named(&self.application, &self.window_title),
                now: named(&now.application, &now.window_title),
            });
        }
        if self.page_origin != now.page_origin {
            return Some(ContextChange::Page {
                before: self.page_origin.clone(),
                now: now.page_origin.clone(),
            });
        }
        if sorted(&self.recipients) != sorted(&now.recipients) {
            let (before, now) = changed_items(&self.recipients, &now.recipients);
            return Some(ContextChange::Recipient { before, now });
        }
        if sorted(&self.amounts) != sorted(&now.amounts) {
            let (before, now) = changed_items(&self.amounts, &now.amounts);
            return Some(ContextChange::Amount { before, now });
        }
        if joined(&self.target_texts) != joined(&now.target_texts) {
            let (before, now) = changed_items(&self.target_texts, &now.target_texts);
            return Some(ContextChange::Target { before, now });
        }
        let texts = [(&self.question, &now.question), (&self.texts, &now.texts)];
        let changed = texts
            .into_iter()
            .find(|(before, now)| !reads_alike(before, now, comparison));
        changed.map(|(before, now)| {
            let (before, now) = changed_items(before, now);
            ContextChange::Text { before, now }
        })
    }
}

/// Returns the values of the elements in an area, each with the box of its element, in reading order.
fn value_elements(
    scene: &Scene,
    frame: &Frame,
    area: CaptureRect,
) -> Vec<(CaptureRect, Vec<Value>)> {
    let elements = scene.elements.iter();
    let elements: Vec<(CaptureRect, &Element)> = elements
        .map(|element| (bounds_on_display(element, frame), element))
        .filter(|(bounds, _)| area.contains(bounds.center()))
        .collect();
    let mut found: Vec<(CaptureRect, Vec<Value>)> = elements
        .iter()
        .map(|(bounds, element)| (*bounds, values::values(&element.content)))
        .collect();
    for (index, (bounds, element)) in elements.iter().enumerate() {
        let Some(caption) = values::caption(&element.content).filter(|caption| caption.is_alone)
        else {
            continue;
        };
        let of_caption = captioned(index, *bounds, element, &elements, scene);
        for at in of_caption {
            let more = values::captioned_values(caption.kind, &elements[at].1.content);
            let known = &mut found[at].1;
            known.extend(
                more.into_iter()
                    .filter(|value| !known.contains(value))
                    .collect::<Vec<_>>(),
            );
        }
    }
    found.retain(|(_, values)| !values.is_empty());
    found
}

/// Returns the indices of the elements that hold the value of a caption: those related to it, else the next one on its line, else
/// the next one below.
fn captioned(
    caption: usize,
    own: CaptureRect,
    element: &Element,
    elements: &[(CaptureRect, &Element)],
    scene: &Scene,
) -> Vec<usize> {
    let with_text = || {
        let others = elements.iter().enumerate();
        others.filter(move |(at, (_, other))| *at != caption && !other.content.trim().is_empty())
    };
    let mut fields = scene.relations.iter().filter_map(|relation| {
        let is_label = relation.kind == RelationKind::LabelOf && relation.from == element.id;
        is_label.then_some(relation.to)
    });
    if let Some(field) = fields.next() {
        let field_bounds = elements.iter().find(|(_, other)| other.id == field);
        let inside = |bounds: &CaptureRect| {
            field_bounds.is_some_and(|(field, _)| field.contains(bounds.center()))
        };
        return with_text()
            .filter(|(_, (bounds, other))| other.id == field || inside(bounds))
            .map(|(at, _)| at)
            .collect();
    }
    let (aside, below) = CAPTION_REACH_PX;
    let beside = with_text().filter(|(_, (bounds, _))| {
        let distance = bounds.min.x - own.max.x;
        let centre = bounds.center().y;
        centre >= own.min.y - BOX_TOLERANCE_PX
            && centre <= own.max.y + BOX_TOLERANCE_PX
            && (-BOX_TOLERANCE_PX..=aside).contains(&distance)
    });
    let next = beside.min_by_key(|(_, (bounds, _))| bounds.min.x);
    let under = || {
        let under = with_text().filter(|(_, (bounds, _))| {
            let distance = bounds.min.y - own.max.y;
            (-BOX_TOLERANCE_PX..=below).contains(&distance)
                && bounds.min.x < own.max.x
                && bounds.max.x > own.min.x
        });
        under.min_by_key(|(_, (bounds, _))| bounds.min.y)
    };
    let found = next.or_else(under);
    found.map(|(at, _)| at).into_iter().collect()
}

/// Returns the texts that are kept of some, without empty ones.
fn kept<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let texts = texts.filter(|text| !text.trim().is_empty());
    texts.take(MAX_TEXTS).map(shortened).collect()
}

fn shortened(text: &str) -> String {
    text.trim().chars().take(MAX_TEXT_CHARS).collect()
}

/// Returns a window's title without times and the number of unread messages in brackets, which change by themselves.
fn plain_title(title: &str) -> String {
    let title = title.trim_start();
    let counted = title
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'));
    let without_count =
        counted.filter(|(count, _)| count.chars().all(|digit| digit.is_ascii_digit()));
    plain(without_count.map_or(title, |(_, rest)| rest))
}

/// Returns the letters and digits of a text, without times. Text recognition confuses some letters and adds signs for carets and
/// icons.
fn plain(text: &str) -> String {
    let text = folded(&values::without_times(text));
    let letters = text.chars().filter(|character| character.is_alphanumeric());
    let alike = letters.map(|character| match character {
        'i' | '1' => 'l',
        'o' => '0',
        other => other,
    });
    alike.collect()
}

/// Returns true if a text has a word, which a spinner or a progress in per cent has not.
fn has_words(text: &str) -> bool {
    let text = values::without_times(text);
    text.chars().filter(|letter| letter.is_alphabetic()).count() >= MIN_WORD_LETTERS
}

fn joined(texts: &[String]) -> String {
    texts.iter().map(|text| plain(text)).collect()
}

fn sorted(texts: &[String]) -> Vec<&String> {
    let mut texts: Vec<&String> = texts.iter().collect();
    texts.sort();
    texts
}

/// Returns true if texts read alike one after the other: text recognition may divide lines otherwise.
fn reads_alike(before: &[String], now: &[String], comparison: Comparison) -> bool {
    if joined(before) == joined(now) || comparison == Comparison::TargetAndValues {
        return true;
    }
    if comparison == Comparison::Full {
        return false;
    }
    let mut left = now.iter().map(|text| plain(text));
    let mut wanted = before
        .iter()
        .map(|text| plain(text))
        .filter(|text| !text.is_empty());
    wanted.all(|text| left.any(|other| other == text))
}

/// Returns what only the first list has and what only the second one has, each as one text.
fn changed_items(before: &[String], now: &[String]) -> (String, String) {
    let only = |these: &[String], those: &[String]| {
        let mut left: Vec<String> = those.iter().map(|text| folded(text)).collect();
        let rest = these.iter().filter(|text| {
            let known = left.iter().position(|other| *other == folded(text));
            known.map(|at| left.swap_remove(at)).is_none()
        });
        rest.map(String::as_str).collect::<Vec<_>>().join(" · ")
    };
    (only(before, now), only(now, before))
}

impl ContextChange {
    /// Returns the difference in words for the approver and the planner.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let quoted = |text: &str| match text {
            "" => Message::ListEmpty.text(language),
            text => {
                let text = &quotable(text);
                Message::QuotedLabel { text }.text(language)
            }
        };
        let (Self::Window { before, now }
        | Self::Page { before, now }
        | Self::Amount { before, now }
        | Self::Recipient { before, now }
        | Self::Target { before, now }
        | Self::Text { before, now }) = self;
        let (before, now) = (&quoted(before), &quoted(now));
        let message = match self {
            Self::Window { .. } => Message::ApprovalWindowChanged { before, now },
            Self::Page { .. } => Message::ApprovalPageChanged { before, now },
            Self::Amount { .. } => Message::ApprovalAmountChanged { before, now },
            Self::Recipient { .. } => Message::ApprovalRecipientChanged { before, now },
            Self::Target { .. } => Message::ApprovalTargetChanged { before, now },
            Self::Text { .. } => Message::ApprovalTextChanged { before, now },
        };
        message.text(language)
    }
}

/// Returns the beginning of a text in one line.
fn quotable(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl From<ApprovalContext> for wire::ApprovalContext {
    fn from(context: ApprovalContext) -> Self {
        Self {
            application: context.application,
            window_title: context.window_title,
            page_origin: context.page_origin,
            target: context.target.map(Into::into),
            target_texts: context.target_texts,
            texts: context.texts,
            question: context.question,
            amounts: context.amounts,
            recipients: context.recipients,
            moving: convert::into_messages(context.moving),
            pointer_on_target: context.pointer_on_target,
        }
    }
}

impl TryFrom<wire::ApprovalContext> for ApprovalContext {
    type Error = FieldError;

    fn try_from(context: wire::ApprovalContext) -> Result<Self, FieldError> {
        Ok(Self {
            application: context.application,
            window_title: context.window_title,
            page_origin: context.page_origin,
            target: convert::optional("target", context.target)?,
            target_texts: context.target_texts,
            texts: context.texts,
            question: context.question,
            amounts: context.amounts,
            recipients: context.recipients,
            moving: convert::try_from_messages("moving", context.moving)?,
            pointer_on_target: context.pointer_on_target,
        })
    }
}

#[cfg(test)]
mod tests;
