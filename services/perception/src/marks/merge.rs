//! Detected boxes and lines of text become elements.
//!
//! Text inside a control is the control's label; one without text has the name that its detector gives it. Text in no
//! control is an element of its own. A line that runs over several controls is cut where they end ([`super::split`]).
//! Nothing is lost on the way: all that was read is in exactly one element. A box inside another stays, unless both are
//! the same thing.
//!
//! What it does not do: it does not guess that text can be clicked. Without a detector every element is static text,
//! and says so; whoever looks for a button by its text still finds it.

use std::cmp::Reverse;

use motorium_proto::domain::element::{ElementKind, ElementSource, ElementState};
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};

use super::order::{canonical, rows};
use super::split;
use crate::areas::{area, overlap, share_inside};
use crate::parse::detect::Detection;
use crate::parse::read::TextLine;

/// An element without a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub kind: ElementKind,
    /// Its text or its name; empty where nothing is known.
    pub content: String,
    /// In capture pixels, inside the frame, not empty.
    pub bounds: CaptureRect,
    pub interactable: bool,
    /// 0 to 1.
    pub confidence: f32,
    pub source: ElementSource,
    pub state: ElementState,
}

/// Two boxes that share more than this of their union are the same thing. The usual value of overlap suppression;
/// nested boxes share less.
const SAME_THING: f64 = 0.7;
/// Text belongs to a box that holds more than this share of it: readers draw their boxes a little too large.
const INSIDE: f64 = 0.7;
/// Text and a box that share more than this of their union are a control that is nothing but text, like a link.
const SAME_TEXT: f64 = 0.5;
/// Rows of text that a control can have as its label. A box with more is a panel that has texts, not a label.
const MAX_LABEL_ROWS: usize = 3;

/// Merges what was detected and read on a frame of `frame` pixels. The result is in no particular order, but the same
/// whatever the order of its inputs.
#[must_use]
pub fn merge(detections: &[Detection], lines: &[TextLine], frame: CaptureSize) -> Vec<Found> {
    let frame = CaptureRect::from_size(frame);
    let controls = controls(detections, frame);
    let sharing: Vec<CaptureRect> = controls
        .iter()
        .filter(|control| has_label(control.kind) && !has_its_text_beside(control.kind))
        .map(|control| control.bounds)
        .collect();
    let parts = lines.iter().flat_map(|line| split::among(line, &sharing));
    let lines = texts(&parts.collect::<Vec<_>>(), frame);
    let mut labels: Vec<Vec<&Found>> = vec![Vec::new(); controls.len()];
    let mut alone = Vec::new();
    for line in &lines {
        match owner(line, &controls) {
            Some(owner) => labels[owner].push(line),
            None => alone.push(line.clone()),
        }
    }
    for (control, labels) in controls.into_iter().zip(labels) {
        let rows = label_rows(&labels);
        if rows.len() > MAX_LABEL_ROWS && control.kind != ElementKind::TextField {
            alone.extend(labels.into_iter().cloned());
            alone.push(control);
        } else {
            alone.push(labelled(control, &rows));
        }
    }
    alone
}

/// The detected boxes, without duplicates and without what is a part of a control.
fn controls(detections: &[Detection], frame: CaptureRect) -> Vec<Found> {
    let boxes = detections.iter().filter_map(|detection| {
        Some(Found {
            kind: detection.kind,
            content: detection.name.as_deref().unwrap_or_default().to_owned(),
            bounds: detection.bounds.intersection(&frame)?.to_non_empty()?,
            interactable: is_interactable(detection.kind),
            confidence: probability(detection.confidence),
            source: ElementSource::Detector,
            state: detection.state,
        })
    });
    let boxes = without_duplicates(boxes.collect());
    let is_part = |part: &Found| boxes.iter().any(|whole| is_picture_of(part, whole));
    let (parts, mut controls): (Vec<_>, Vec<_>) = boxes.iter().cloned().partition(is_part);
    for control in &mut controls {
        if control.content.is_empty() {
            control.content = name_of_its_picture(control, &parts);
        }
    }
    controls
}

/// What the one picture on a control means; of several, or of none, nothing is known.
fn name_of_its_picture(control: &Found, parts: &[Found]) -> String {
    let mut pictures = parts.iter().filter(|part| is_picture_of(part, control));
    match (pictures.next(), pictures.next()) {
        (Some(picture), None) => picture.content.clone(),
        _ => String::new(),
    }
}

/// The lines of text, without empty ones and duplicates.
fn texts(lines: &[TextLine], frame: CaptureRect) -> Vec<Found> {
    let texts = lines.iter().filter_map(|line| {
        let content = line.text.trim();
        let bounds = line.bounds.intersection(&frame)?.to_non_empty()?;
        (!content.is_empty()).then(|| Found {
            kind: ElementKind::Label,
            content: content.to_owned(),
            bounds,
            interactable: false,
            confidence: probability(line.confidence),
            source: ElementSource::Ocr,
            state: ElementState::default(),
        })
    });
    without_duplicates(texts.collect())
}

/// Keeps the most confident of boxes that are the same thing.
fn without_duplicates(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by(canonical);
    found.sort_by_key(|found| Reverse(thousandths(found.confidence)));
    let mut kept: Vec<Found> = Vec::with_capacity(found.len());
    for candidate in found {
        if !kept
            .iter()
            .any(|other| overlap(other.bounds, candidate.bounds) > SAME_THING)
        {
            kept.push(candidate);
        }
    }
    kept
}

/// Whether a box is the picture on a control that acts only as a whole. The cross on a tab or in a field is not: it
/// acts by itself.
fn is_picture_of(part: &Found, whole: &Found) -> bool {
    let is_picture = matches!(part.kind, ElementKind::Icon | ElementKind::Image);
    let acts_as_a_whole = matches!(
        whole.kind,
        ElementKind::Button
            | ElementKind::MenuItem
            | ElementKind::Link
            | ElementKind::Checkbox
            | ElementKind::Radio
    );
    is_picture
        && acts_as_a_whole
        && share_inside(part.bounds, whole.bounds) > INSIDE
        && area(part.bounds) < area(whole.bounds)
}

/// The control that a line of text labels: the smallest that holds it.
fn owner(line: &Found, controls: &[Found]) -> Option<usize> {
    let holds = |control: &Found| {
        let is_inside = share_inside(line.bounds, control.bounds) > INSIDE;
        has_label(control.kind) && (is_inside || overlap(line.bounds, control.bounds) > SAME_TEXT)
    };
    let holders = controls
        .iter()
        .enumerate()
        .filter(|(_, control)| holds(control));
    holders
        .min_by_key(|(index, control)| (area(control.bounds), *index))
        .map(|(index, _)| index)
}

/// The rows of a label, in reading order.
fn label_rows<'a>(labels: &[&'a Found]) -> Vec<Vec<&'a Found>> {
    let mut labels = labels.to_vec();
    labels.sort_by(|a, b| canonical(a, b));
    let bounds: Vec<CaptureRect> = labels.iter().map(|label| label.bounds).collect();
    rows(&bounds)
        .into_iter()
        .map(|row| row.into_iter().map(|index| labels[index]).collect())
        .collect()
}

fn labelled(control: Found, rows: &[Vec<&Found>]) -> Found {
    if rows.is_empty() {
        return control;
    }
    // Rows of a field are lines of its text; rows of a button are one name.
    let between_rows = if control.kind == ElementKind::TextField {
        "\n"
    } else {
        " "
    };
    let row_text = |row: &Vec<&Found>| {
        row.iter()
            .map(|label| label.content.as_str())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let content = rows
        .iter()
        .map(row_text)
        .collect::<Vec<_>>()
        .join(between_rows);
    Found {
        content,
        source: ElementSource::Both,
        ..control
    }
}

/// Whether text on it is its label. Dialogs, pictures and scroll bars have things on them, not a label.
fn has_label(kind: ElementKind) -> bool {
    !matches!(
        kind,
        ElementKind::Dialog | ElementKind::Image | ElementKind::ScrollBar
    )
}

/// Whether its text stands beside it. What a reader takes for a letter on it is its own picture.
fn has_its_text_beside(kind: ElementKind) -> bool {
    use ElementKind::{Checkbox, Icon, Radio, Slider, Switch};
    matches!(kind, Checkbox | Radio | Switch | Slider | Icon)
}

fn is_interactable(kind: ElementKind) -> bool {
    !matches!(
        kind,
        ElementKind::Label | ElementKind::Image | ElementKind::Dialog
    )
}

/// A confidence as a model gave it, brought into 0 to 1; nothing counts as none.
fn probability(confidence: f32) -> f32 {
    if confidence.is_nan() {
        0.0
    } else {
        confidence.clamp(0.0, 1.0)
    }
}

fn thousandths(confidence: f32) -> i32 {
    (confidence * 1000.0).round() as i32
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::CapturePoint;
    use proptest::prelude::*;

    use super::*;

    const FRAME: CaptureSize = CaptureSize::new(1000, 500);

    fn rect(x1: i32, y1: i32, x2: i32, y2: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    fn seen(kind: ElementKind, bounds: CaptureRect) -> Detection {
        Detection::new(bounds, kind, 0.8)
    }

    fn read(text: &str, bounds: CaptureRect) -> TextLine {
        TextLine::new(bounds, text, 0.9)
    }

    /// What becomes of boxes and text: kind, content and source of each, sorted.
    fn check(
        detections: &[Detection],
        lines: &[TextLine],
        expected: &[(ElementKind, &str, ElementSource)],
    ) {
        let mut found = merge(detections, lines, FRAME);
        found.sort_by(canonical);
        let got: Vec<_> = found
            .iter()
            .map(|found| (found.kind, found.content.as_str(), found.source))
            .collect();
        assert_eq!(got, expected);
    }

    use ElementKind::{
        Button, Checkbox, Control, Dialog, Icon, Image, Label, Link, Tab, TextField,
    };
    use ElementSource::{Both, Detector, Ocr};

    #[test]
    fn nothing_gives_nothing() {
        check(&[], &[], &[]);
        check(&[], &[read("  ", rect(0, 0, 10, 10))], &[]);
    }

    #[test]
    fn boxes_without_text_and_text_without_boxes() {
        check(
            &[seen(Icon, rect(0, 0, 20, 20))],
            &[],
            &[(Icon, "", Detector)],
        );
        check(
            &[],
            &[read(" Hello ", rect(0, 0, 60, 20))],
            &[(Label, "Hello", Ocr)],
        );
        assert!(!merge(&[], &[read("Save", rect(0, 0, 60, 20))], FRAME)[0].interactable);
    }

    #[test]
    fn text_in_a_control_is_its_label() {
        let save = seen(Button, rect(100, 100, 200, 130));
        check(
            std::slice::from_ref(&save),
            &[read("Save", rect(130, 107, 170, 123))],
            &[(Button, "Save", Both)],
        );
        // A reader's box that is a little larger than a link's.
        check(
            &[seen(Link, rect(100, 100, 140, 116))],
            &[read("Help", rect(97, 98, 143, 118))],
            &[(Link, "Help", Both)],
        );
        // Beside it, not in it.
        check(
            &[save],
            &[read("Name", rect(40, 107, 90, 123))],
            &[(Button, "", Detector), (Label, "Name", Ocr)],
        );
    }

    #[test]
    fn a_label_of_several_lines_is_in_reading_order() {
        let lines = [
            read("the file", rect(110, 125, 180, 140)),
            read("Save", rect(110, 105, 150, 120)),
            read("now", rect(185, 126, 195, 141)),
        ];
        check(
            &[seen(Button, rect(100, 100, 200, 150))],
            &lines,
            &[(Button, "Save the file now", Both)],
        );
        check(
            &[seen(TextField, rect(100, 100, 200, 150))],
            &lines,
            &[(TextField, "Save\nthe file now", Both)],
        );
    }

    #[test]
    fn text_goes_to_the_smallest_control_that_holds_it_and_to_no_other() {
        let detections = [
            seen(Control, rect(0, 0, 400, 200)),
            seen(Button, rect(100, 100, 200, 130)),
        ];
        check(
            &detections,
            &[read("Save", rect(130, 107, 170, 123))],
            &[(Control, "", Detector), (Button, "Save", Both)],
        );
    }

    #[test]
    fn a_control_without_text_has_the_name_of_its_picture() {
        let named = |kind, bounds, name: &str| Detection {
            name: Some(name.into()),
            ..seen(kind, bounds)
        };
        let button = rect(100, 100, 140, 130);
        let picture = named(Icon, rect(112, 107, 128, 123), "search");
        check(
            &[named(Button, button, "menu")],
            &[],
            &[(Button, "menu", Detector)],
        );
        // What is written says more.
        check(
            &[named(Button, button, "menu")],
            &[read("Find", rect(105, 107, 135, 123))],
            &[(Button, "Find", Both)],
        );
        check(
            &[seen(Button, button), picture.clone()],
            &[],
            &[(Button, "search", Detector)],
        );
        let other = named(Icon, rect(128, 107, 139, 123), "down");
        check(
            &[seen(Button, button), picture, other],
            &[],
            &[(Button, "", Detector)],
        );
    }

    #[test]
    fn what_shows_of_a_state_stays_with_the_control() {
        let state = ElementState {
            checked: Some(true),
            ..ElementState::default()
        };
        let checkbox = Detection {
            state,
            ..seen(Checkbox, rect(10, 10, 26, 26))
        };
        assert_eq!(merge(&[checkbox], &[], FRAME)[0].state, state);
    }

    #[test]
    fn controls_in_a_row_share_the_line_that_runs_over_them() {
        let text = "☐ File Edit";
        let line = TextLine {
            places: (0..11).map(|at| (at as f32 + 0.5) / 11.0).collect(),
            ..read(text, rect(100, 100, 210, 120))
        };
        check(
            &[
                seen(Checkbox, rect(100, 102, 112, 118)),
                seen(Button, rect(115, 98, 165, 122)),
                seen(Button, rect(165, 98, 215, 122)),
            ],
            &[line],
            &[
                (Button, "File", Both),
                (Button, "Edit", Both),
                (Checkbox, "☐", Both),
            ],
        );
    }

    #[test]
    fn a_panel_is_not_named_by_all_its_text() {
        let lines: Vec<TextLine> = (0..4)
            .map(|i| read("line", rect(10, 10 + i * 30, 60, 26 + i * 30)))
            .collect();
        let mut expected = vec![(Control, "", Detector)];
        expected.extend([(Label, "line", Ocr); 4]);
        check(&[seen(Control, rect(0, 0, 300, 200))], &lines, &expected);
        check(
            &[seen(TextField, rect(0, 0, 300, 200))],
            &lines,
            &[(TextField, "line\nline\nline\nline", Both)],
        );
        check(
            &[seen(Dialog, rect(0, 0, 300, 200))],
            &lines[..1],
            &[(Dialog, "", Detector), (Label, "line", Ocr)],
        );
    }

    #[test]
    fn a_duplicate_goes_and_a_nested_box_stays() {
        let sure = Detection {
            confidence: 0.9,
            ..seen(Button, rect(100, 100, 200, 130))
        };
        let unsure = Detection {
            confidence: 0.3,
            ..seen(Link, rect(101, 100, 201, 131))
        };
        check(&[unsure, sure], &[], &[(Button, "", Detector)]);
        check(
            &[
                seen(Tab, rect(0, 0, 100, 30)),
                seen(Icon, rect(80, 8, 94, 22)),
            ],
            &[],
            &[(Tab, "", Detector), (Icon, "", Detector)],
        );
        check(
            &[
                seen(Button, rect(0, 0, 100, 30)),
                seen(Icon, rect(8, 8, 22, 22)),
            ],
            &[],
            &[(Button, "", Detector)],
        );
        let twice = [
            read("Save", rect(10, 10, 60, 26)),
            TextLine {
                confidence: 0.5,
                ..read("Sove", rect(10, 10, 61, 26))
            },
        ];
        check(&[], &twice, &[(Label, "Save", Ocr)]);
    }

    #[test]
    fn a_box_within_a_line_of_text_is_not_lost() {
        let line = read("☐ Remember me", rect(100, 100, 240, 120));
        check(
            &[seen(Checkbox, rect(102, 102, 118, 118))],
            &[line],
            &[(Label, "☐ Remember me", Ocr), (Checkbox, "", Detector)],
        );
    }

    #[test]
    fn text_on_a_picture_stays_text() {
        check(
            &[seen(Image, rect(0, 0, 300, 200))],
            &[read("Exit", rect(10, 10, 60, 26))],
            &[(Image, "", Detector), (Label, "Exit", Ocr)],
        );
    }

    #[test]
    fn what_is_out_of_the_frame_is_cut_off() {
        let found = merge(
            &[
                seen(Button, rect(950, 480, 1050, 520)),
                seen(Icon, rect(2000, 0, 2010, 10)),
                seen(Icon, rect(9, 9, 9, 20)),
            ],
            &[],
            FRAME,
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].bounds, rect(950, 480, 1000, 500));
        assert!(found[0].interactable);
    }

    fn any_rect() -> impl Strategy<Value = CaptureRect> {
        (-50i32..1050, -50i32..550, -5i32..300, -5i32..80)
            .prop_map(|(x, y, w, h)| rect(x, y, x + w, y + h))
    }

    proptest! {
        #[test]
        fn every_text_is_in_exactly_one_element(
            boxes in proptest::collection::vec((any_rect(), 0usize..20, any::<f32>()), 0..20),
            rects in proptest::collection::vec(any_rect(), 0..20),
        ) {
            let detections: Vec<Detection> =
                boxes.into_iter().map(|(bounds, kind, confidence)| Detection::new(bounds, ElementKind::ALL[kind], confidence)).collect();
            let lines: Vec<TextLine> = rects.iter().enumerate().map(|(i, bounds)| read(&format!("<{i}>"), *bounds)).collect();
            let whole = CaptureRect::from_size(FRAME);
            let expected = texts(&lines, whole);
            let found = merge(&detections, &lines, FRAME);
            for text in &expected {
                prop_assert_eq!(found.iter().filter(|found| found.content.contains(&text.content)).count(), 1);
            }
            for found in &found {
                prop_assert!(!found.bounds.is_empty() && whole.contains_box(&found.bounds));
                prop_assert!((0.0..=1.0).contains(&found.confidence));
                prop_assert_eq!(found.content.is_empty(), found.source == Detector);
            }
        }
    }
}
