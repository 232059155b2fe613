//! Merges detected boxes and lines of text into elements.
//!
//! Text inside a control is the control's label; a control without text gets the name that the icon classifier gives
//! it. Text outside every control is an element of its own. A line that spans several controls is split at their
//! borders ([`super::line_split`]). Every recognised text is in exactly one element. Nested boxes are kept, unless both
//! are the same control.
//!
//! It does not guess whether text is clickable. Without a detector every element is static text; a button can still be
//! found by its text.

use std::cmp::Reverse;

use motorium_proto::domain::element::{ElementKind, ElementSource, ElementState};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};

use super::captioned_panels::is_captioned_panel;
use super::line_split;
use super::merged_element::MergedElement;
use super::reading_order::{canonical_order, rows};
use crate::areas::{area, fraction_inside, iou};
use crate::parse::detect::{Detection, MIN_CERTAIN_FIELD};
use crate::parse::read::TextLine;

/// IoU above which two boxes are the same control. The usual value of non-maximum suppression; nested boxes have a
/// lower IoU.
const DUPLICATE_IOU: f64 = 0.7;
/// Fraction of a text box that must be inside a control. Below 1, because text detection draws its boxes slightly too
/// large.
const MIN_TEXT_INSIDE: f64 = 0.7;
/// IoU above which text and a box are a control that consists of text only, such as a link.
const TEXT_CONTROL_IOU: f64 = 0.5;
/// Minimum distance of the entries of a list, in heights of their boxes of text, which are half as high again as the font. Lines of an
/// editor stand 0.8 to 1 such heights apart.
const MIN_ENTRY_DISTANCE: f64 = 1.2;
/// Maximum distance of entries, in the same unit: entries of small letters with 8 px around them stand 1.7 apart, most lines of an
/// editor with an empty one between them farther.
const MAX_ENTRY_DISTANCE: f64 = 1.8;
/// Minimum distance of texts in a box that are cells of a row, and of the last one from the right edge, in heights of their boxes.
/// Words of a field stand less than one apart.
const MIN_CELL_DISTANCE: i32 = 4;
const MIN_ROOM_AFTER_CELL: i32 = 2;
/// Ratio of heights above which a supposed field is a pane around a field in it. The part of a field, such as a list before a number, is
/// nearly as high as it; the lowest pane, a caption above a field, more than twice as high.
const MIN_PANE_HEIGHT_RATIO: i32 = 2;
/// Maximum number of rows in a label. A box with more rows is a panel that contains texts.
const MAX_LABEL_ROWS: usize = 3;

/// Merges detections and text lines of a frame of `frame` pixels. The order of the result is unspecified but
/// independent of the order of the inputs.
#[must_use]
pub fn merge(
    detections: &[Detection],
    lines: &[TextLine],
    frame: CaptureSize,
) -> Vec<MergedElement> {
    let frame = CaptureRect::from_size(frame);
    let boxes: Vec<CaptureRect> = lines.iter().map(|line| line.bounds).collect();
    let controls = without_captioned_panels(controls(detections, frame), &boxes);
    let sharing: Vec<CaptureRect> = controls
        .iter()
        .filter(|control| has_label(control.kind) && !has_external_label(control.kind))
        .map(|control| control.bounds)
        .collect();
    let parts = lines
        .iter()
        .flat_map(|line| line_split::split_at_controls(line, &sharing));
    let lines = texts(&parts.collect::<Vec<_>>(), frame);
    let mut labels: Vec<Vec<&MergedElement>> = vec![Vec::new(); controls.len()];
    let mut alone = Vec::new();
    let panes: Vec<bool> = controls
        .iter()
        .map(|control| is_pane(control, &controls))
        .collect();
    for line in &lines {
        let owner = owner(line, &controls).filter(|owner| !panes[*owner]);
        match owner {
            Some(owner) => labels[owner].push(line),
            None => alone.push(line.clone()),
        }
    }
    for ((mut control, labels), is_pane) in controls.into_iter().zip(labels).zip(panes) {
        if is_pane {
            control.kind = ElementKind::Control;
        }
        let rows = label_rows(&labels);
        if control.kind == ElementKind::TextField && are_entries(&rows, control.bounds) {
            control.kind = ElementKind::Control;
            alone.extend(labels.into_iter().cloned());
            alone.push(control);
        } else if may_be_table_row(&control) && are_cells(&rows, control.bounds) {
            control.kind = ElementKind::TableRow;
            alone.extend(labels.into_iter().cloned());
            alone.push(control);
        } else if rows.len() > MAX_LABEL_ROWS && control.kind != ElementKind::TextField {
            alone.extend(labels.into_iter().cloned());
            alone.push(control);
        } else {
            alone.push(labelled(control, &rows));
        }
    }
    alone
}

/// Returns the detected boxes, without duplicates and without parts of a control.
fn controls(detections: &[Detection], frame: CaptureRect) -> Vec<MergedElement> {
    let boxes = detections.iter().filter_map(|detection| {
        Some(MergedElement {
            kind: detection.kind,
            content: detection.name.as_deref().unwrap_or_default().to_owned(),
            bounds: detection.bounds.intersection(&frame)?.to_non_empty()?,
            click_point: None,
            interactable: is_interactable(detection.kind),
            confidence: clamp_confidence(detection.confidence),
            source: ElementSource::Detector,
            state: detection.state,
        })
    });
    let boxes = without_duplicates(boxes.collect());
    let is_part = |part: &MergedElement| boxes.iter().any(|whole| is_icon_of(part, whole));
    let (parts, mut controls): (Vec<_>, Vec<_>) = boxes.iter().cloned().partition(is_part);
    for control in &mut controls {
        if control.content.is_empty() {
            control.content = icon_name(control, &parts);
        }
    }
    controls
}

fn without_captioned_panels(
    controls: Vec<MergedElement>,
    lines: &[CaptureRect],
) -> Vec<MergedElement> {
    let is_kept = |control: &&MergedElement| !is_captioned_panel(control, &controls, lines);
    controls.iter().filter(is_kept).cloned().collect()
}

/// Returns the name of the only icon on a control; empty if there are none or several.
fn icon_name(control: &MergedElement, parts: &[MergedElement]) -> String {
    let mut icons = parts.iter().filter(|part| is_icon_of(part, control));
    match (icons.next(), icons.next()) {
        (Some(icon), None) => icon.content.clone(),
        _ => String::new(),
    }
}

/// Returns the lines of text, without empty ones and duplicates.
fn texts(lines: &[TextLine], frame: CaptureRect) -> Vec<MergedElement> {
    let texts = lines.iter().filter_map(|line| {
        let content = line.text.trim();
        let bounds = line.bounds.intersection(&frame)?.to_non_empty()?;
        (!content.is_empty()).then(|| MergedElement {
            kind: ElementKind::Label,
            content: content.to_owned(),
            bounds,
            click_point: None,
            interactable: false,
            confidence: clamp_confidence(line.confidence),
            source: ElementSource::Ocr,
            state: ElementState::default(),
        })
    });
    without_duplicates(texts.collect())
}

/// Keeps the most confident of duplicate boxes.
fn without_duplicates(mut found: Vec<MergedElement>) -> Vec<MergedElement> {
    found.sort_by(canonical_order);
    found.sort_by_key(|found| Reverse(thousandths(found.confidence)));
    let mut kept: Vec<MergedElement> = Vec::with_capacity(found.len());
    for candidate in found {
        if !kept
            .iter()
            .any(|other| iou(other.bounds, candidate.bounds) > DUPLICATE_IOU)
        {
            kept.push(candidate);
        }
    }
    kept
}

/// Returns whether a box is the icon of a control that acts only as a whole. The close button of a tab or a field is
/// excluded: it acts by itself.
fn is_icon_of(part: &MergedElement, whole: &MergedElement) -> bool {
    let is_icon_or_image = matches!(part.kind, ElementKind::Icon | ElementKind::Image);
    let acts_as_a_whole = matches!(
        whole.kind,
        ElementKind::Button
            | ElementKind::MenuItem
            | ElementKind::Link
            | ElementKind::Checkbox
            | ElementKind::Radio
    );
    is_icon_or_image
        && acts_as_a_whole
        && fraction_inside(part.bounds, whole.bounds) > MIN_TEXT_INSIDE
        && area(part.bounds) < area(whole.bounds)
}

/// Returns the smallest control that contains a line of text.
fn owner(line: &MergedElement, controls: &[MergedElement]) -> Option<usize> {
    let holds = |control: &MergedElement| {
        let is_inside = fraction_inside(line.bounds, control.bounds) > MIN_TEXT_INSIDE;
        has_label(control.kind)
            && (is_inside || iou(line.bounds, control.bounds) > TEXT_CONTROL_IOU)
    };
    let holders = controls
        .iter()
        .enumerate()
        .filter(|(_, control)| holds(control));
    holders
        .min_by_key(|(index, control)| (area(control.bounds), *index))
        .map(|(index, _)| index)
}

/// Returns whether a supposed field contains a more certain one: it is a pane or a dialog that looks like a field, and the texts in
/// it belong to its parts. One of the same height is a field with a part, such as a list of countries before a number; a less
/// certain one may be a line of an editor.
fn is_pane(control: &MergedElement, controls: &[MergedElement]) -> bool {
    let is_field = |kind: ElementKind| {
        matches!(
            kind,
            ElementKind::TextField | ElementKind::SpinBox | ElementKind::DropDown
        )
    };
    let is_field_in_it = |part: &MergedElement| {
        is_field(part.kind)
            && part.confidence > control.confidence
            && control.bounds.contains_box(&part.bounds)
            && control.bounds.height() > MIN_PANE_HEIGHT_RATIO * part.bounds.height()
    };
    control.kind == ElementKind::TextField && controls.iter().any(is_field_in_it)
}

/// Groups label texts into rows, in reading order.
fn label_rows<'a>(labels: &[&'a MergedElement]) -> Vec<Vec<&'a MergedElement>> {
    let mut labels = labels.to_vec();
    labels.sort_by(|a, b| canonical_order(a, b));
    let bounds: Vec<CaptureRect> = labels.iter().map(|label| label.bounds).collect();
    rows(&bounds)
        .into_iter()
        .map(|row| row.into_iter().map(|index| labels[index]).collect())
        .collect()
}

/// Returns whether rows of text in a supposed field are the entries of a list, each of which is clicked by itself: they stand far
/// apart, at equal distances, and fill the box.
fn are_entries(rows: &[Vec<&MergedElement>], bounds: CaptureRect) -> bool {
    let boxes = rows.iter().filter_map(|row| row.first());
    let boxes: Vec<CaptureRect> = boxes.map(|label| label.bounds).collect();
    let centres: Vec<i32> = boxes.iter().map(|label| label.center().y).collect();
    let distances: Vec<i32> = centres.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let ([first, .., last], Some(&least), Some(&greatest)) = (
        centres.as_slice(),
        distances.iter().min(),
        distances.iter().max(),
    ) else {
        return false;
    };
    let height = boxes.iter().map(CaptureRect::height).max().unwrap_or(0);
    let height_of_text = f64::from(height);
    let are_apart = f64::from(least) > MIN_ENTRY_DISTANCE * height_of_text
        && f64::from(greatest) < MAX_ENTRY_DISTANCE * height_of_text;
    // Boxes of words with and without descenders have centres a quarter of a height apart.
    let are_even = greatest - least <= height / 2;
    let fill = first - bounds.min.y <= greatest && bounds.max.y - last <= greatest;
    are_apart && are_even && fill
}

/// Returns true for what a bordered row of a table is taken for. A field that is certain may show two texts, such as two dates.
fn may_be_table_row(control: &MergedElement) -> bool {
    match control.kind {
        ElementKind::TextField => control.confidence < MIN_CERTAIN_FIELD,
        kind => matches!(kind, ElementKind::SpinBox | ElementKind::Control),
    }
}

/// Returns whether the texts of a box are cells of a row: far apart, and the last one not at the right edge, where a field has its unit
/// or its symbol.
fn are_cells(rows: &[Vec<&MergedElement>], bounds: CaptureRect) -> bool {
    let [row] = rows else {
        return false;
    };
    let boxes: Vec<CaptureRect> = row.iter().map(|label| label.bounds).collect();
    let Some(last) = boxes.last() else {
        return false;
    };
    let height = boxes.iter().map(CaptureRect::height).max().unwrap_or(0);
    let is_apart =
        |pair: &[CaptureRect]| pair[1].min.x - pair[0].max.x > MIN_CELL_DISTANCE * height;
    boxes.windows(2).any(is_apart) && bounds.max.x - last.max.x > MIN_ROOM_AFTER_CELL * height
}

fn labelled(control: MergedElement, rows: &[Vec<&MergedElement>]) -> MergedElement {
    if rows.is_empty() {
        return control;
    }
    // Rows of a field are lines of its text; rows of a button form one name.
    let between_rows = if control.kind == ElementKind::TextField {
        "\n"
    } else {
        " "
    };
    let row_text = |row: &Vec<&MergedElement>| {
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
    MergedElement {
        content,
        source: ElementSource::Both,
        click_point: point_in_row(&control, rows),
        ..control
    }
}

/// Returns the point to click in a row of a table or a list that has no text in its middle; `None` for others. The box of a row may be as
/// wide as its window, and end in an empty page; where its text is, there is the row.
fn point_in_row(control: &MergedElement, rows: &[Vec<&MergedElement>]) -> Option<CapturePoint> {
    let is_row = matches!(control.kind, ElementKind::TableRow | ElementKind::ListItem);
    let texts = || rows.iter().flatten().map(|label| label.bounds);
    let middle = control.bounds.center();
    let has_middle = texts().any(|text| text.min.x <= middle.x && middle.x < text.max.x);
    let first = texts().next().filter(|_| is_row && !has_middle)?;
    Some(first.center())
}

/// Returns whether text on this kind of control is its label. Dialogs, images and scroll bars contain elements instead.
fn has_label(kind: ElementKind) -> bool {
    !matches!(
        kind,
        ElementKind::Dialog | ElementKind::Image | ElementKind::ScrollBar
    )
}

/// Returns whether the label of this kind of control is beside it. A letter recognised on such a control is its own
/// drawing.
fn has_external_label(kind: ElementKind) -> bool {
    use ElementKind::{Checkbox, Icon, Radio, Slider, Switch};
    matches!(kind, Checkbox | Radio | Switch | Slider | Icon)
}

fn is_interactable(kind: ElementKind) -> bool {
    !matches!(
        kind,
        ElementKind::Label | ElementKind::Image | ElementKind::Dialog
    )
}

/// Clamps a model's confidence to 0 to 1; NaN becomes 0.
fn clamp_confidence(confidence: f32) -> f32 {
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

    /// Checks kind, content and source of the merged elements, sorted.
    fn check(
        detections: &[Detection],
        lines: &[TextLine],
        expected: &[(ElementKind, &str, ElementSource)],
    ) {
        let mut found = merge(detections, lines, FRAME);
        found.sort_by(canonical_order);
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
    fn empty_input_gives_no_elements() {
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

    /// Boxes of a list of suggestions below a field, on a real screen.
    #[test]
    fn entries_of_a_list_that_looks_like_a_field_are_elements_of_their_own() {
        let list = seen(TextField, rect(401, 402, 821, 477));
        let lines = |distance: i32| {
            [
                read("Lisbon", rect(406, 407, 462, 435)),
                read("Lisburn", rect(406, 407 + distance, 468, 435 + distance)),
            ]
        };
        let entries = [
            (Control, "", Detector),
            (Label, "Lisbon", Ocr),
            (Label, "Lisburn", Ocr),
        ];
        check(std::slice::from_ref(&list), &lines(37), &entries);
        // The same list in smaller letters.
        let small = seen(TextField, rect(400, 375, 822, 435));
        let small_lines = [
            read("Lisbon", rect(406, 379, 452, 399)),
            read("Lisburn", rect(406, 413, 456, 433)),
        ];
        check(&[small], &small_lines, &entries);
        let editor = [(TextField, "Lisbon\nLisburn", Both)];
        check(std::slice::from_ref(&list), &lines(24), &editor);
        // Lines at the end of a higher editor, however far apart.
        let high = seen(TextField, rect(401, 200, 821, 477));
        check(&[high], &lines(37), &editor);
    }

    /// Boxes of a table with borders, on a real screen: a row was detected as a field that may be counted up.
    #[test]
    fn cells_of_a_row_that_looks_like_a_field_are_elements_of_their_own() {
        let row = seen(ElementKind::SpinBox, rect(393, 387, 851, 438));
        let name = read("Apples", rect(402, 400, 470, 426));
        check(
            std::slice::from_ref(&row),
            &[name.clone(), read("12", rect(632, 400, 660, 426))],
            &[
                (ElementKind::TableRow, "", Detector),
                (Label, "Apples", Ocr),
                (Label, "12", Ocr),
            ],
        );
        // A field with its unit at the edge.
        check(
            &[seen(TextField, rect(393, 387, 851, 438))],
            &[name, read("kg", rect(820, 400, 846, 426))],
            &[(TextField, "Apples kg", Both)],
        );
    }

    /// Boxes of a table without borders, on a real screen: its rows were as wide as the window.
    #[test]
    fn a_row_without_text_in_its_middle_is_clicked_at_its_text() {
        let row = seen(ElementKind::TableRow, rect(4, 202, 996, 235));
        let (name, guest) = (
            read("Room 1", rect(42, 208, 104, 230)),
            read("Ann", rect(290, 208, 328, 230)),
        );
        let point = |lines: &[TextLine]| {
            let found = merge(std::slice::from_ref(&row), lines, FRAME);
            found
                .iter()
                .find(|it| it.kind == row.kind)
                .unwrap()
                .click_point
        };
        let of_name = Some(CapturePoint::new(73, 219));
        assert_eq!(point(&[guest, name]), of_name);
        let long = read("A line across the row", rect(42, 208, 900, 230));
        assert_eq!(point(&[long]), None);
        let button = seen(Button, rect(4, 202, 996, 235));
        let lines = [read("Room 1", rect(42, 208, 104, 230))];
        assert_eq!(merge(&[button], &lines, FRAME)[0].click_point, None);
    }

    #[test]
    fn text_in_a_pane_that_looks_like_a_field_is_that_of_its_parts() {
        let pane = Detection::new(rect(100, 100, 700, 460), TextField, 0.5);
        let field = seen(TextField, rect(130, 160, 570, 205));
        let city = read("City", rect(130, 130, 165, 150));
        check(
            &[pane, field],
            &[city, read("Lisbon", rect(140, 170, 200, 190))],
            &[
                (Control, "", Detector),
                (Label, "City", Ocr),
                (TextField, "Lisbon", Both),
            ],
        );
        // A number with its country before it.
        let number = Detection::new(rect(100, 160, 700, 205), TextField, 0.5);
        let country = seen(ElementKind::DropDown, rect(105, 162, 160, 203));
        check(
            &[number, country],
            &[read("555 0100", rect(200, 170, 300, 190))],
            &[
                (TextField, "555 0100", Both),
                (ElementKind::DropDown, "", Detector),
            ],
        );
    }

    #[test]
    fn text_in_a_control_is_its_label() {
        let save = seen(Button, rect(100, 100, 200, 130));
        check(
            std::slice::from_ref(&save),
            &[read("Save", rect(130, 107, 170, 123))],
            &[(Button, "Save", Both)],
        );
        // A text box slightly larger than the box of the link.
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
            &[seen(TextField, rect(100, 100, 200, 190))],
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
    fn control_without_text_is_named_by_its_icon() {
        let named = |kind, bounds, name: &str| Detection {
            name: Some(name.into()),
            ..seen(kind, bounds)
        };
        let button = rect(100, 100, 140, 130);
        let icon = named(Icon, rect(112, 107, 128, 123), "search");
        check(
            &[named(Button, button, "menu")],
            &[],
            &[(Button, "menu", Detector)],
        );
        // Visible text takes precedence.
        check(
            &[named(Button, button, "menu")],
            &[read("Find", rect(105, 107, 135, 123))],
            &[(Button, "Find", Both)],
        );
        check(
            &[seen(Button, button), icon.clone()],
            &[],
            &[(Button, "search", Detector)],
        );
        let other = named(Icon, rect(128, 107, 139, 123), "down");
        check(
            &[seen(Button, button), icon, other],
            &[],
            &[(Button, "", Detector)],
        );
    }

    #[test]
    fn detected_state_is_kept_on_the_element() {
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
            char_positions: (0..11).map(|at| (at as f32 + 0.5) / 11.0).collect(),
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

    /// Boxes of a Tk form on a real screen: everything below the first field was detected as a field.
    #[test]
    fn rest_of_a_form_is_no_field_with_the_captions_as_its_text() {
        let rest = seen(TextField, rect(64, 163, 886, 460));
        let second = seen(TextField, rect(169, 163, 886, 193));
        let caption = read("Second", rect(81, 168, 151, 190));
        check(
            &[rest.clone(), second.clone()],
            std::slice::from_ref(&caption),
            &[(TextField, "", Detector), (Label, "Second", Ocr)],
        );
        // An editor, of which one line was detected as a field as well, or a field that contains its own text only.
        let line = read("total = 0", rect(175, 168, 260, 190));
        check(
            &[rest.clone(), second],
            std::slice::from_ref(&line),
            &[(TextField, "", Detector), (TextField, "total = 0", Both)],
        );
        check(&[rest], &[caption], &[(TextField, "Second", Both)]);
    }

    #[test]
    fn duplicate_boxes_are_dropped_and_nested_boxes_kept() {
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
    fn text_on_an_image_stays_a_label() {
        check(
            &[seen(Image, rect(0, 0, 300, 200))],
            &[read("Exit", rect(10, 10, 60, 26))],
            &[(Image, "", Detector), (Label, "Exit", Ocr)],
        );
    }

    #[test]
    fn boxes_are_clipped_to_the_frame() {
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
