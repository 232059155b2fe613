//! Changes that void an approval, and changes that do not.

use std::time::SystemTime;

use motorium_messages::Language;
use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState, Scene};
use motorium_proto::domain::frame::{Cursor, Frame, Window};
use motorium_proto::domain::geometry::{
    CapturePoint, CaptureSize, NormalisedPoint, NormalisedRect,
};
use motorium_proto::domain::id::{DisplayId, ElementId, FrameId};

use super::*;

const BUTTON: (&str, [i32; 4]) = ("Pay now", [600, 500, 700, 530]);

fn rect([x1, y1, x2, y2]: [i32; 4]) -> CaptureRect {
    CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
}

fn frame(title: &str) -> Frame {
    let size = CaptureSize::new(1280, 800);
    Frame {
        id: FrameId::new("f"),
        display: DisplayId::new(":1"),
        origin: CapturePoint::zero(),
        size,
        scale: 1.0,
        captured_at: SystemTime::UNIX_EPOCH,
        cursor: None,
        monitors: Vec::new(),
        windows: vec![Window {
            id: "7".to_owned(),
            title: title.to_owned(),
            application: "chromium".to_owned(),
            process: None,
            bounds: CaptureRect::from_size(size),
            active: true,
            minimised: false,
            modal: false,
        }],
    }
}

fn scene(texts: &[(&str, [i32; 4])]) -> Scene {
    let numbered = (1..).zip([BUTTON].iter().chain(texts));
    let elements = numbered.map(|(number, (content, bounds))| {
        let place =
            |x: i32, y: i32| NormalisedPoint::new(f64::from(x) / 1280.0, f64::from(y) / 800.0);
        let [x1, y1, x2, y2] = *bounds;
        Element {
            id: ElementId(number),
            kind: ElementKind::Label,
            content: (*content).to_owned(),
            bounds: NormalisedRect::new(place(x1, y1), place(x2, y2)),
            interactable: false,
            confidence: 0.9,
            centre: rect(*bounds).center(),
            source: ElementSource::Ocr,
            state: ElementState::default(),
        }
    });
    Scene {
        frame: FrameId::new("f"),
        elements: elements.collect(),
        relations: Vec::new(),
    }
}

fn context(texts: &[(&str, [i32; 4])]) -> ApprovalContext {
    context_in("Checkout", "https://shop.example", texts)
}

fn context_in(title: &str, origin: &str, texts: &[(&str, [i32; 4])]) -> ApprovalContext {
    let place = JudgedTarget {
        area: Some(rect(BUTTON.1)),
        page_origin: origin.to_owned(),
        question: Vec::new(),
        with_toggles: true,
    };
    ApprovalContext::of(&scene(texts), &frame(title), &place, &[])
}

/// Near the button, and within its dialog but outside of the screenshot for the approver.
const NEAR: [i32; 4] = [500, 440, 760, 460];
const FAR: [i32; 4] = [560, 200, 760, 220];

#[track_caller]
fn voids(before: &ApprovalContext, now: &ApprovalContext, words: &str) {
    let change = before.difference(now, Comparison::Full);
    let text = change.expect("a difference").text(Language::English);
    assert!(text.contains(words), "{text}");
}

#[track_caller]
fn holds(before: &ApprovalContext, now: &ApprovalContext) {
    assert_eq!(before.difference(now, Comparison::Full), None);
}

#[test]
fn another_amount_or_recipient_in_the_dialog_voids() {
    for place in [NEAR, FAR] {
        let shown = context(&[("Total 100 EUR", place)]);
        let now = context(&[("Total 1000 EUR", place)]);
        voids(&shown, &now, "an amount has changed");
        let shown = context(&[("To: Ann", place)]);
        voids(
            &shown,
            &context(&[("To: Eve", place)]),
            "\"ann\", now \"eve\"",
        );
    }
    let with = |name, iban| {
        context(&[
            ("收款人", [400, 200, 480, 220]),
            (name, [500, 200, 560, 220]),
            ("IBAN", [400, 240, 480, 260]),
            (iban, [500, 240, 760, 260]),
        ])
    };
    let shown = with("张三", "DE89 3704 0044 0532 0130 00");
    voids(
        &shown,
        &with("李四", "DE89 3704 0044 0532 0130 00"),
        "recipient",
    );
    voids(
        &shown,
        &with("张三", "DE02 1203 0000 0000 2020 51"),
        "account",
    );
    let amount = |number| {
        context(&[
            ("Amount", [400, 200, 480, 220]),
            (number, [500, 200, 560, 220]),
        ])
    };
    voids(&amount("100"), &amount("1000"), "\"100\", now \"1000\"");
}

#[test]
fn another_window_page_or_text_voids() {
    let shown = context(&[("Delete the draft?", NEAR)]);
    voids(
        &shown,
        &context(&[("Delete the account?", NEAR)]),
        "a text beside the target",
    );
    let other = context_in(
        "Phishing",
        "https://shop.example",
        &[("Delete the draft?", NEAR)],
    );
    voids(&shown, &other, "the window has changed");
    let other = context_in(
        "Checkout",
        "https://sh0p.example",
        &[("Delete the draft?", NEAR)],
    );
    voids(&shown, &other, "the page has changed");
    let mut other = shown.clone();
    other.target_texts = vec!["Cancel".to_owned()];
    voids(&shown, &other, "the text of the target");
}

#[test]
fn values_that_change_places_void() {
    let with = |from, to| context(&[(from, [500, 420, 600, 440]), (to, [500, 450, 600, 470])]);
    voids(
        &with("Ann gets", "Eve pays"),
        &with("Eve pays", "Ann gets"),
        "a text beside",
    );
}

#[test]
fn a_change_without_meaning_voids_nothing() {
    let shown = context(&[
        ("Total 100 EUR", NEAR),
        ("12:30", [700, 400, 740, 420]),
        ("Name: Ann", [500, 400, 600, 420]),
    ]);
    // A clock, a caret beside a name, a countdown, and a line that was read in two parts.
    let now = context(&[
        ("Total", [500, 440, 560, 460]),
        ("100 EUR", [570, 440, 760, 460]),
        ("12:31", [700, 400, 740, 420]),
        ("Name: Ann|", [500, 400, 600, 420]),
    ]);
    holds(&shown, &now);
    holds(
        &context_in("(3) Inbox", "", &[]),
        &context_in("(4) Inbox", "", &[]),
    );
    let left = |text| context(&[(text, NEAR)]);
    holds(&left("Expires in 59 s"), &left("Expires in 41 s"));
    // Far away from the button.
    let advertisement = |text| context(&[(text, [1100, 10, 1270, 30])]);
    holds(
        &advertisement("Shoes 20 EUR"),
        &advertisement("Hats 30 EUR"),
    );
}

#[test]
fn a_tooltip_of_the_pointer_voids_nothing_but_another_amount_does() {
    let shown = context(&[("Total 100 EUR", NEAR)]);
    let with = |text| context(&[("Total 100 EUR", NEAR), (text, [600, 540, 760, 560])]);
    let differs = |now: &ApprovalContext| shown.difference(now, Comparison::WithPointer).is_some();
    assert!(!differs(&with("Sends your order")));
    assert!(differs(&with("plus 900 EUR")));
    assert!(differs(&context(&[("Something else", NEAR)])));
}

#[test]
fn only_motion_without_words_is_harmless() {
    let areas = [rect(NEAR), rect([900, 300, 930, 330]), rect(BUTTON.1)];
    let harmless = |text| {
        let scene = scene(&[(text, NEAR), ("○", [900, 300, 930, 330])]);
        harmless_motion(&areas, &scene, &frame("a"), Some(rect(BUTTON.1)))
    };
    let spinner = rect([900, 300, 930, 330]);
    assert_eq!(harmless("Delete the draft?"), [spinner]);
    assert_eq!(harmless("5 €"), [spinner]);
}

#[test]
fn differences_are_told_in_chinese_as_well() {
    let shown = context(&[("Total 100 EUR", NEAR)]);
    let now = context(&[("Total 1000 EUR", NEAR)]);
    let change = shown.difference(&now, Comparison::Full).unwrap();
    let text = change.text(Language::Chinese);
    assert!(
        text.contains("金额已发生变化") && text.contains("1000"),
        "{text}"
    );
}

#[test]
fn a_context_survives_storage() {
    let context = context(&[("Total 100 EUR", NEAR), ("To: Ann", FAR)]);
    let message = motorium_proto::v1::orchestrator::ApprovalContext::from(context.clone());
    assert_eq!(ApprovalContext::try_from(message), Ok(context));
}

#[test]
fn a_tooltip_of_the_pointer_voids_nothing_unless_it_has_a_value() {
    let pointed = Frame {
        cursor: Some(Cursor {
            position: CapturePoint::new(650, 515),
            drawn: false,
        }),
        ..frame("Shop")
    };
    let place = JudgedTarget {
        area: Some(rect(BUTTON.1)),
        ..JudgedTarget::default()
    };
    let shown = ApprovalContext::of(&scene(&[]), &pointed, &place, &[]);
    let change = |text: &str, at: [i32; 4]| {
        let scene = scene(&[(text, at)]);
        let moving = tooltip(&scene, &pointed, &shown);
        let now = ApprovalContext::of(&scene, &pointed, &place, &moving);
        shown.difference(&now, Comparison::Full)
    };
    let below = [655, 535, 860, 555];
    assert_eq!(change("Pays for everything in the cart", below), None);
    assert!(change("Pays 900 EUR", below).is_some());
    // Farther from the pointer than any tooltip, and a text of another size.
    assert!(change("For all users", [655, 600, 860, 620]).is_some());
    assert!(change("For all users", [655, 520, 860, 600]).is_some());
    // Without the pointer on the target there is no tooltip.
    let unpointed = ApprovalContext {
        pointer_on_target: false,
        ..shown.clone()
    };
    assert_eq!(
        tooltip(&scene(&[("Pays", below)]), &pointed, &unpointed),
        []
    );
}

#[test]
fn a_box_that_is_ticked_beside_the_target_voids_the_approval() {
    let place = JudgedTarget {
        area: Some(rect(BUTTON.1)),
        with_toggles: true,
        ..JudgedTarget::default()
    };
    let read = |checked: Option<bool>, at: [i32; 4]| {
        let mut scene = scene(&[("Each month", at)]);
        let ticked = scene.elements.last_mut().unwrap();
        ticked.state.checked = checked;
        ApprovalContext::of(&scene, &frame("Shop"), &place, &[])
    };
    let change = |at| read(Some(false), at).difference(&read(Some(true), at), Comparison::Full);
    // Beside it, and farther away in its dialog.
    assert!(change([600, 460, 700, 480]).is_some());
    assert!(change([300, 300, 400, 320]).is_some());
    // Of another part of a large page.
    assert_eq!(change([20, 20, 80, 40]), None);
    let at = [600, 460, 700, 480];
    assert_eq!(
        read(None, at).difference(&read(None, at), Comparison::Full),
        None
    );
}
