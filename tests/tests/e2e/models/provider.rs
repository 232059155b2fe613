//! A provider on a real socket whose model sees: it decides by the texts and the screenshot of each request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use image::Rgb;
use motorium_tests::page_server::serve_application;
use serde_json::{Value, json};

use super::dialect::{Dialect, Move};
use super::sight::{Form, Sight};

/// Fault of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// HTTP status 429 with a time to wait.
    Busy,
    /// An action that the protocol does not have.
    Unknown,
    /// A click where nothing is.
    Nowhere,
    /// An answer that breaks off.
    BrokenOff,
    /// A decision with a safety check, where the protocol has them.
    SafetyCheck,
}

#[derive(Debug)]
struct Record {
    dialect: Dialect,
    faults: VecDeque<Fault>,
    requests: Vec<Value>,
    /// Decisions about the file in the editor so far.
    editing: usize,
    /// Decisions about the page in the browser so far.
    browsing: usize,
    /// Corrections of the pointer that are still to be given: distances to the right.
    corrections: Vec<i32>,
    /// Texts and attached image of the conversation, where the provider keeps it.
    remembered: (String, Option<Rgb<u8>>),
}

/// A provider.
#[derive(Debug)]
pub(super) struct Provider {
    pub(super) url: String,
    record: Arc<Mutex<Record>>,
}

impl Provider {
    pub(super) async fn start(dialect: Dialect) -> Self {
        let record = Arc::new(Mutex::new(Record {
            dialect,
            faults: VecDeque::new(),
            requests: Vec::new(),
            editing: 0,
            browsing: 0,
            corrections: Vec::new(),
            remembered: (String::new(), None),
        }));
        let application = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&record));
        let (address, _) = serve_application(application).await;
        let url = format!("http://{address}/v1");
        Self { url, record }
    }

    /// Makes the next responses faulty, one after the other.
    pub(super) fn inject<const N: usize>(&self, faults: [Fault; N]) {
        locked(&self.record).faults = faults.into();
    }

    /// Makes the model correct the pointer by this distance to the right once, when it is asked.
    pub(super) fn correct_pointer(&self, pixels: i32) {
        locked(&self.record).corrections.push(pixels);
    }

    /// Returns the requests so far.
    pub(super) fn requests(&self) -> Vec<Value> {
        locked(&self.record).requests.clone()
    }
}

impl Record {
    /// Returns the answer to a request that asks for no decision: whether the pointer is on its target, or a summary.
    fn answer_to_question(&mut self, request: &str) -> Option<String> {
        if request.contains("You check where the mouse pointer is") {
            let dx = self.corrections.pop().unwrap_or_default();
            return Some(json!({"on_target": dx == 0, "dx": dx, "dy": 0}).to_string());
        }
        let is_summary = request.contains("You tell a person in");
        is_summary.then(|| super::options::SUMMARY.to_owned())
    }
}

fn locked(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(State(record): State<Arc<Mutex<Record>>>, uri: Uri, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let mut record = locked(&record);
    let dialect = record.dialect;
    assert!(uri.path().ends_with(dialect.path()), "{uri}");
    record.requests.push(request.clone());
    if let Some(text) = record.answer_to_question(&String::from_utf8_lossy(&body)) {
        return Json(dialect.text_response(&text)).into_response();
    }
    let fault = record.faults.pop_front();
    if fault == Some(Fault::Busy) {
        let error =
            json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
        let wait = [("retry-after", "1")];
        return (StatusCode::TOO_MANY_REQUESTS, wait, Json(error)).into_response();
    }
    let mut sight = Sight::of(&request);
    if request["previous_response_id"].is_string() {
        let (text, attached) = &record.remembered;
        sight.text.insert_str(0, text);
        assert_eq!(sight.attached, None, "an image is sent once");
        sight.attached = *attached;
    }
    record.remembered = (sight.text.clone(), sight.attached);
    let decision = match fault {
        Some(Fault::Unknown) => Move::Fly,
        Some(Fault::Nowhere) => Move::ClickNowhere,
        Some(Fault::BrokenOff) => Move::BreakOff,
        _ if sight.text.contains(super::EDITOR_GOAL) => {
            record.editing += 1;
            edit(record.editing)
        }
        _ if sight.text.contains(super::browser::GOAL) => {
            record.browsing += 1;
            browse(record.browsing, &sight)
        }
        _ => decide(&sight),
    };
    let mut response = dialect.response(&decision, &sight, record.requests.len());
    if fault == Some(Fault::SafetyCheck) {
        let check = json!({"id": "sc_1", "code": "sensitive_domain", "message": "This page is about members."});
        response["output"][0]["pending_safety_checks"] = json!([check]);
    }
    Json(response).into_response()
}

/// Decides about the file that is open in an editor, which has the focus: its window looks the same at each step but for a sign
/// in its title.
fn edit(step: usize) -> Move {
    match step {
        1 => Move::Type(super::LINES.to_owned()),
        2 => Move::Control('s'),
        _ => Move::Done("return a + b"),
    }
}

/// Decides in a browser: goes to the address of the goal, and reads the page.
fn browse(step: usize, sight: &Sight) -> Move {
    let goal = sight.text.split(super::browser::GOAL).nth(1);
    let url = goal.and_then(|text| text.split_whitespace().next());
    let url = url.expect("the goal has an address").trim_matches('"');
    match step {
        1 => Move::Call("go_to_url", json!({"url": url})),
        2 => Move::Call("read_page", json!({})),
        _ => Move::Done("About tides"),
    }
}

/// Decides by what is seen: fills the field, saves, and ends once it is saved.
fn decide(sight: &Sight) -> Move {
    match sight.form() {
        Form::Empty(centre) => Move::Click("Your name", centre),
        Form::Focused => Move::Type(wanted(sight)),
        Form::Filled(centre) => Move::Click("Save", centre),
        Form::Saved => Move::Done("Saved"),
        Form::NotThere => panic!("no form is on the screenshot:\n{}", sight.text),
    }
}

/// Returns the text that the goal asks for: the path of the attached file, as the request tells it, with the colour of the
/// attached image; or a name.
fn wanted(sight: &Sight) -> String {
    let text = sight.text.as_str();
    if !text.contains(super::FOLLOW_UP) {
        return super::NAME.to_owned();
    }
    assert!(
        text.contains(super::GOAL),
        "the earlier task is told:\n{text}"
    );
    let is_path = |word: &&str| word.starts_with('/') && word.ends_with(super::FILE);
    let mut words = text.split(|c: char| c.is_whitespace() || "\"'`(),;:".contains(c));
    let path = words.find(is_path);
    let path = path.unwrap_or_else(|| panic!("the path of the file is not told:\n{text}"));
    let colour = match sight.attached {
        Some(super::IMAGE_COLOUR) => "violet",
        other => panic!("the attached image is {other:?}:\n{text}"),
    };
    format!("{path} {colour}")
}
