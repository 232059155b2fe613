//! Index of a frame's elements for queries: boxes in pixels, folded texts, and the window of each element.
//!
//! The search itself is not here but in [`super`].

use std::ops::Range;

use motorium_proto::domain::element::{Element, ElementKind, ElementSource, Scene};
use motorium_proto::domain::frame::{Frame, Window, is_browser};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_text::browser_words::{
    BrowserWords, browser_bubble, browser_error, leave_question, status_line,
};

use super::geometry::{centre, on_one_row};
use super::is_same_text;
use super::row_split::{self, LinePart};
use super::text_match::FoldedText;
use super::word_bounds;

/// Tabs, address bar and bookmarks of common browsers take less than this part of their window: a sixth.
const BARS_OF_WINDOW: i32 = 6;

/// Minimum ratio of width to height of a control that may be a field. Table cells and calendar days are narrower.
const MIN_FIELD_ASPECT_RATIO: i32 = 4;

/// Maximum number of graphemes that the tick of a checkbox is read as (`V`, `K`, `✓`).
const MAX_TICK_GRAPHEMES: usize = 1;

/// Stacking layer of an element, bottom first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum StackingLayer {
    /// In an inactive window, or in none.
    Behind,
    Active,
    /// In a modal dialog.
    Dialog,
}

/// An element with the data for queries.
#[derive(Debug, Clone)]
pub(super) struct IndexedElement<'a> {
    pub(super) element: &'a Element,
    /// Bytes of the element's text, if this is only a part of a line.
    part: Option<Range<usize>>,
    pub(super) bounds: CaptureRect,
    /// Box of the whole element.
    pub(super) element_bounds: CaptureRect,
    pub(super) text: FoldedText,
    pub(super) layer: StackingLayer,
    /// Box of its window, or of the frame.
    pub(super) container: CaptureRect,
}

impl<'a> IndexedElement<'a> {
    /// Returns its text.
    pub(super) fn content(&self) -> &'a str {
        let content = self.element.content.as_str();
        let part = self.part.clone();
        part.and_then(|part| content.get(part)).unwrap_or(content)
    }

    /// Returns whether it is a part of a line.
    pub(super) fn is_part(&self) -> bool {
        self.part.is_some()
    }

    pub(super) fn kind(&self) -> ElementKind {
        self.element.kind
    }

    /// Returns whether only its text is known: it was recognised but not detected.
    pub(super) fn is_only_text(&self) -> bool {
        self.element.source == ElementSource::Ocr || self.element.kind == ElementKind::Label
    }

    /// Returns whether it may be several targets that were detected as one: links of one line, whose words fill it. The words
    /// of a wider control are not known well enough to click one of them.
    pub(super) fn may_be_several(&self) -> bool {
        let content = self.content();
        let has_words = content.split_whitespace().nth(1).is_some();
        matches!(self.kind(), ElementKind::Link | ElementKind::Control)
            && has_words
            && word_bounds::fills(content, self.bounds)
    }

    /// Returns whether its text is on the screen. That of an icon is only its meaning.
    pub(super) fn has_visible_text(&self) -> bool {
        !self.text.is_empty() && self.element.source != ElementSource::Detector
    }

    /// Returns whether text can be entered into it.
    pub(super) fn is_field(&self) -> bool {
        matches!(
            self.kind(),
            ElementKind::TextField | ElementKind::SpinBox | ElementKind::DropDown
        )
    }

    /// Returns whether a control of unknown kind is shaped like a field. The detector classifies wide fields less reliably
    /// than narrow ones.
    pub(super) fn may_be_field(&self) -> bool {
        self.kind() == ElementKind::Control
            && self.bounds.width() >= MIN_FIELD_ASPECT_RATIO * self.bounds.height()
    }

    /// Returns whether it is a toggle whose name stands beside it. Its own text can only be its tick, read as a letter.
    pub(super) fn is_unnamed_toggle(&self) -> bool {
        let is_tick = self.bounds.width() <= 2 * self.bounds.height()
            && self.text.graphemes().len() <= MAX_TICK_GRAPHEMES;
        self.is_toggle() && (self.text.is_empty() || is_tick)
    }

    /// Returns whether it can be on or off.
    pub(super) fn is_toggle(&self) -> bool {
        matches!(
            self.kind(),
            ElementKind::Checkbox | ElementKind::Radio | ElementKind::Switch
        )
    }
}

/// Index of the elements of a frame.
#[derive(Debug, Clone)]
pub struct ScreenIndex<'a> {
    pub(super) frame: &'a Frame,
    pub(super) items: Vec<IndexedElement<'a>>,
    /// Elements at these points are excluded.
    pub(super) excluded: Vec<CapturePoint>,
    /// Words that are no text of a page.
    pub(super) browser: BrowserWords,
}

impl<'a> ScreenIndex<'a> {
    /// Builds the index of a frame and its elements, which are in reading order.
    #[must_use]
    pub fn new(frame: &'a Frame, scene: &'a Scene) -> Self {
        let items = scene
            .elements
            .iter()
            .flat_map(|element| with_parts(item(frame, scene, element), frame, scene))
            .collect();
        Self {
            frame,
            items,
            excluded: Vec::new(),
            browser: BrowserWords::default(),
        }
    }

    /// Returns the index without the elements at these points.
    #[must_use]
    pub fn excluding(&self, points: Vec<CapturePoint>) -> Self {
        Self {
            excluded: points,
            ..self.clone()
        }
    }

    /// Returns the index in which these words are no text of the screen.
    #[must_use]
    pub fn without_words(self, browser: BrowserWords) -> Self {
        Self { browser, ..self }
    }

    /// Returns the line that tells that the browser in front shows an error page in place of the page.
    #[must_use]
    pub fn browser_error(&self) -> Option<&'a str> {
        browser_error(self.items.iter().map(IndexedElement::content))
    }

    /// Returns the line in which a browser asks whether a page with unsaved changes may be left.
    #[must_use]
    pub fn leave_question(&self) -> Option<&'a str> {
        leave_question(self.items.iter().map(IndexedElement::content))
    }

    /// Returns the heading of a bubble that the browser in front shows over its page.
    #[must_use]
    pub fn browser_bubble(&self) -> Option<&'a str> {
        let is_browser = self.frame.is_browser_in_front();
        let items = self.items.iter().filter(|_| is_browser);
        browser_bubble(items.map(IndexedElement::content))
    }

    /// Returns the line in which the page of the browser in front says that its server did not have it.
    #[must_use]
    pub fn status_line(&self) -> Option<&'a str> {
        let window = self.frame.active_window()?;
        let of_page = self
            .items
            .iter()
            .filter(|item| item.has_visible_text() && window.bounds.contains(centre(item.bounds)));
        status_line(of_page.map(IndexedElement::content))
    }

    /// Returns true if the active window, a browser, shows nothing below its address bar: the page has not come.
    #[must_use]
    pub fn is_page_blank(&self) -> bool {
        self.frame.active_window().is_some_and(|window| {
            let top = window.bounds.min.y + window.bounds.height() / BARS_OF_WINDOW;
            let is_of_page = |item: &&IndexedElement<'_>| {
                let at = centre(item.bounds);
                window.bounds.contains(at) && at.y > top
            };
            !self.items.iter().any(|item| is_of_page(&item))
        })
    }

    /// Returns whether a box lies in the bars at the top of a browser's window: its tabs, its buttons and its address bar.
    pub(super) fn is_in_browser_bar(&self, bounds: CaptureRect) -> bool {
        let at = centre(bounds);
        let windows = self.frame.windows.iter();
        let mut on_top = windows.filter(|window| !window.minimised && window.bounds.contains(at));
        let window = on_top
            .next()
            .filter(|window| is_browser(&window.application));
        window.is_some_and(|window| {
            let top = window.bounds.min.y + window.bounds.height() / BARS_OF_WINDOW;
            // The address bar is the first field, and the last of the bars that every browser has.
            let fields = self.items.iter().filter(|item| {
                item.kind() == ElementKind::TextField
                    && window.bounds.contains(centre(item.bounds))
                    && item.bounds.max.y <= top
            });
            let address = fields.map(|item| item.bounds.max.y).min();
            address.is_some_and(|end| at.y <= end)
        })
    }

    /// Returns points of the fields that show this text, and of the text in them.
    #[must_use]
    pub fn fields_showing(&self, text: &str) -> Vec<CapturePoint> {
        let fields = self.items.iter().filter(|item| {
            (item.is_field() || item.may_be_field()) && is_same_text(item.content(), text)
        });
        let in_field = |field: &IndexedElement<'_>| {
            let field = field.bounds;
            let inside = self
                .items
                .iter()
                .map(|item| centre(item.bounds))
                .filter(move |at| field.contains(*at));
            inside.chain([centre(field)]).collect::<Vec<_>>()
        };
        fields.flat_map(in_field).collect()
    }

    /// Returns the box of the frame.
    pub(super) fn bounds(&self) -> CaptureRect {
        CaptureRect::from_size(self.frame.size)
    }
}

fn item<'a>(frame: &'a Frame, scene: &Scene, element: &'a Element) -> IndexedElement<'a> {
    let bounds = pixels(element, frame.size);
    let centre = centre(bounds);
    let window = frame
        .windows
        .iter()
        .find(|window| !window.minimised && window.bounds.contains(centre));
    IndexedElement {
        element,
        part: None,
        bounds,
        element_bounds: bounds,
        text: FoldedText::new(&element.content),
        layer: layer(frame, scene, element, window),
        container: window.map_or(CaptureRect::from_size(frame.size), |window| window.bounds),
    }
}

/// Returns the labels of a line that runs across toggles, or the element itself.
fn with_parts<'a>(
    item: IndexedElement<'a>,
    frame: &Frame,
    scene: &Scene,
) -> Vec<IndexedElement<'a>> {
    if !item.is_only_text() {
        return vec![item];
    }
    let toggles = scene.elements.iter().filter(|element| {
        matches!(
            element.kind,
            ElementKind::Checkbox | ElementKind::Radio | ElementKind::Switch
        )
    });
    let on_row = toggles
        .map(|toggle| pixels(toggle, frame.size))
        .filter(|toggle| on_one_row(*toggle, item.bounds))
        .map(|toggle| toggle.min.x..toggle.max.x);
    let bounds = item.bounds;
    let parts = row_split::split(
        &item.element.content,
        bounds.min.x..bounds.max.x,
        bounds.height(),
        on_row.collect(),
    );
    if parts.is_empty() {
        return vec![item];
    }
    let label = |LinePart { bytes, x }| IndexedElement {
        text: FoldedText::new(&item.element.content[bytes.clone()]),
        part: Some(bytes),
        bounds: CaptureRect::new(
            CapturePoint::new(x.start, bounds.min.y),
            CapturePoint::new(x.end, bounds.max.y),
        ),
        ..item.clone()
    };
    parts.into_iter().map(label).collect()
}

fn layer(
    frame: &Frame,
    scene: &Scene,
    element: &Element,
    window: Option<&Window>,
) -> StackingLayer {
    let in_dialog = scene.elements.iter().any(|dialog| {
        dialog.kind == ElementKind::Dialog
            && dialog.id != element.id
            && dialog.bounds.contains(element.bounds.center())
    });
    match window {
        Some(window) if window.modal && !is_behind_another(frame, window) => StackingLayer::Dialog,
        Some(window) if window.active && in_dialog => StackingLayer::Dialog,
        Some(window) if window.active => StackingLayer::Active,
        None if frame.windows.is_empty() => {
            if in_dialog {
                StackingLayer::Dialog
            } else {
                StackingLayer::Active
            }
        }
        _ => StackingLayer::Behind,
    }
}

/// Returns whether another modal window is active above this one.
fn is_behind_another(frame: &Frame, window: &Window) -> bool {
    frame
        .active_window()
        .is_some_and(|active| active.id != window.id && active.modal)
}

/// Returns the element's box in pixels of the frame.
#[expect(
    clippy::cast_possible_truncation,
    reason = "fractions of a frame's extent fit its pixels"
)]
fn pixels(element: &Element, size: CaptureSize) -> CaptureRect {
    let scale = |fraction: f64, extent: i32| (fraction * f64::from(extent)).round() as i32;
    let point = |x: f64, y: f64| CapturePoint::new(scale(x, size.width), scale(y, size.height));
    CaptureRect::new(
        point(element.bounds.min.x, element.bounds.min.y),
        point(element.bounds.max.x, element.bounds.max.y),
    )
}
