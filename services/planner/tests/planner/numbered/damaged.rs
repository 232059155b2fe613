//! Damaged answers in JSON: reading them neither panics nor makes an action out of what is not there.

use motorium_planner::answer::validate::Ground;
use motorium_planner::answer::{json, som};
use motorium_planner::models::{Api, Models};
use motorium_planner::picture::SentPicture;
use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::Next;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::PlanRequest;
use proptest::prelude::*;

use crate::dialogue::request;

/// Answers that are understood, to be damaged.
const ANSWERS: &[&str] = &[
    r#"{"thought": "t", "progress": "p", "suspected_injections": [], "next": "act", "actions": [{"intent": "save", "action": "click", "element_id": 1, "x": -1, "y": -1, "count": 1, "keys": "ctrl"}]}"#,
    r#"{"next": "act", "actions": [{"action": "drag", "path": [{"element_id": 1}, {"x": 500, "y": 400}]}, {"action": "scroll_down", "amount": 3}]}"#,
    r#"{"next": "act", "actions": [{"action": "press_keys", "keys": "ctrl+s", "amount": 2}, {"action": "wait", "amount": 500}]}"#,
    r#"{"next": "done", "message": "saved", "evidence": ["Saved"]}"#,
    r#"{"next": "extract", "json_schema": "{\"type\": \"object\"}", "message": "the total"}"#,
];
/// What damage is made of, beside single characters.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    ",",
    ":",
    "null",
    "-",
    "1e999",
    "99999999999",
    "0.5",
    "\\u0000",
    "\\ud800",
    "element_id",
    "é",
    "\u{feff}",
    "\0",
];

fn damaged() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        proptest::sample::select(PIECES).prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    let damage = (any::<prop::sample::Index>(), 0..12_usize, piece);
    let answer = proptest::sample::select(ANSWERS);
    (answer, prop::collection::vec(damage, 0..5)).prop_map(|(answer, damages)| {
        let mut text: Vec<char> = answer.chars().collect();
        for (at, taken, piece) in damages {
            let at = at.index(text.len() + 1);
            let end = (at + taken).min(text.len());
            text.splice(at..end, piece.chars());
        }
        text.into_iter().collect()
    })
}

fn is_there(target: &Target, request: &PlanRequest) -> bool {
    match target {
        Target::Element(id) => request.scene.element(*id).is_some(),
        Target::Point(point) => CaptureRect::from_size(request.frame.size).contains(*point),
        Target::Text(_) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_damaged_answer_is_read_or_refused(text in damaged()) {
        let request = request("save the file", "button 20,40 80x30 \"Save\"");
        let taste = Models::default().get("local-vl", Api::OpenaiChat).taste;
        let view = SentPicture::whole(request.frame.size, taste.rule, taste.convention).unwrap();
        let ground = Ground { request: &request, view: Some(view) };
        let reading = json::object(&text).and_then(|object| som::read(&object, &ground).ok());
        if let Some(Next::Act(actions)) = reading.map(|reading| reading.next) {
            prop_assert!(!actions.is_empty() && actions.len() <= som::MOST_ACTIONS);
            for planned in actions {
                prop_assert!(planned.action.check_limits().is_ok());
                if let Action::Click { at: Some(target), .. } = &planned.action {
                    prop_assert!(is_there(target, &request), "{target:?}");
                }
            }
        }
    }
}
