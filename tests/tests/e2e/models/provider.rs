//! A provider on a real socket whose model sees: it decides by the texts and the screenshot of each request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::{Json, Router};
use image::RgbImage;
use motorium_tests::page_server::serve_application;
use serde_json::{Value, json};

use super::dialect::{Dialect, Move};
use super::sight::{Form, Sight};
use super::spellings::Spelling;

/// Fault of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// HTTP status 429 with a time to wait.
    Busy,
    /// HTTP status 529 of a provider that says nothing about when to come back.
    Overloaded,
    /// An action that the protocol does not have.
    Unknown,
    /// A click where nothing is.
    Nowhere,
    /// An answer that breaks off.
    BrokenOff,
    /// A decision with a safety check, where the protocol has them.
    SafetyCheck,
    /// Reasoning without an answer, where the protocol has it.
    Pondering,
}

#[derive(Debug)]
struct Record {
    dialect: Dialect,
    faults: VecDeque<Fault>,
    requests: Vec<Value>,
    /// The file in the editor, as it was seen so far.
    editing: Option<Editing>,
    /// States of the form that were seen at each decision about the page in the browser so far.
    browsing: Vec<&'static str>,
    /// Corrections of the pointer that are still to be given: distances to the right.
    corrections: Vec<i32>,
    /// The last request with those before it in its conversation, where the provider keeps that.
    remembered: Option<Sight>,
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
            editing: None,
            browsing: Vec::new(),
            corrections: Vec::new(),
            remembered: None,
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

    /// Returns whether a request so far has this text.
    pub(super) fn was_told(&self, text: &str) -> bool {
        let requests = &locked(&self.record).requests;
        requests
            .iter()
            .any(|request| request.to_string().contains(text))
    }

    /// Returns the states of the form that were seen at each decision about the page in the browser so far.
    pub(super) fn browsed(&self) -> Vec<&'static str> {
        locked(&self.record).browsing.clone()
    }
}

impl Record {
    /// Returns the answer to a request that asks for no decision: whether the pointer is on its target, data of a page, or a
    /// summary.
    fn answer_to_question(&mut self, request: &str) -> Option<String> {
        if request.contains("You check where the mouse pointer is") {
            let dx = self.corrections.pop().unwrap_or_default();
            return Some(json!({"on_target": dx == 0, "dx": dx, "dy": 0}).to_string());
        }
        if request.contains("You take data from a screen") {
            return Some(super::browser::extracted(request));
        }
        let is_summary = request.contains("You tell a person in");
        is_summary.then(|| super::options::SUMMARY.to_owned())
    }
}

fn locked(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(
    State(record): State<Arc<Mutex<Record>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
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
    if fault == Some(Fault::Overloaded) {
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        let overloaded = StatusCode::from_u16(529).unwrap();
        return (overloaded, Json(error)).into_response();
    }
    let is_continued = request["previous_response_id"].is_string();
    let earlier = record.remembered.take().filter(|_| is_continued);
    let sight = Sight::of(&request, earlier.as_ref());
    record.remembered = Some(sight.clone());
    let mut response = record.decision(fault, &sight);
    if fault == Some(Fault::SafetyCheck) {
        let check = json!({"id": "sc_1", "code": "sensitive_domain", "message": "This page is about members."});
        response["output"][0]["pending_safety_checks"] = json!([check]);
    }
    // Some providers repeat the key of a request.
    if let Some(key) = headers.get("authorization") {
        response["authorization"] = json!(key.to_str().unwrap());
    }
    Json(response).into_response()
}

impl Record {
    /// Returns the response with the next decision. A request tells the earlier tasks of its session as well, so that the latest
    /// goals are looked for first.
    fn decision(&mut self, fault: Option<Fault>, sight: &Sight) -> Value {
        let has = |goal: &str| sight.text.contains(goal);
        let decision = match fault {
            Some(Fault::Unknown) => Move::Fly,
            Some(Fault::Nowhere) => Move::ClickNowhere,
            Some(Fault::BrokenOff) => Move::BreakOff,
            Some(Fault::Pondering) => Move::Ponder,
            _ if has(super::EDITOR_GOAL) => edit(&mut self.editing, sight),
            _ if has(super::browser::GOAL) => {
                self.browsing.push(sight.form().state());
                super::browser::decide(self.browsing.len(), sight)
            }
            _ if has(super::IMPOSSIBLE_GOAL) => {
                return self.spelled(&Spelling::Fail(super::OBSTACLE), sight);
            }
            _ if has(super::FOLLOW_UP) => return self.spelled(&follow_up(sight), sight),
            _ if has(super::UNCLEAR_GOAL) && !has(super::ANSWER) => Move::Ask(super::QUESTION),
            _ => decide(sight),
        };
        self.dialect.response(&decision, sight, self.requests.len())
    }

    fn spelled(&self, spelling: &Spelling, sight: &Sight) -> Value {
        self.dialect.spelled(spelling, sight, self.requests.len())
    }
}

/// Sight of a file that is open in an editor, which has the focus.
#[derive(Debug)]
enum Editing {
    /// The screen with the empty file.
    Empty(RgbImage),
    /// The screen with the text, and a sign in the title that it is not saved.
    Written(RgbImage),
}

/// Maximum number of rows of a title bar, with the numbers that are drawn beside its parts.
const TITLE_ROWS: u32 = 60;

/// Decides about the file by what is seen: types into the empty one, saves once the text is there, and ends when nothing but the
/// title has changed since.
fn edit(editing: &mut Option<Editing>, sight: &Sight) -> Move {
    let seen = sight.screen.clone();
    match editing {
        None => {
            *editing = Some(Editing::Empty(seen));
            Move::Type(super::LINES.to_owned())
        }
        Some(Editing::Empty(empty)) => {
            let written = sight.rows_unlike(empty);
            written.expect("the text is on the screen");
            *editing = Some(Editing::Written(seen));
            Move::Control('s')
        }
        Some(Editing::Written(written)) => match sight.rows_unlike(written) {
            Some((first, last)) if last - first < TITLE_ROWS => Move::Done("return a + b"),
            _ => Move::Control('s'),
        },
    }
}

/// Decides by what is seen: fills the field, saves, and ends once it is saved.
fn decide(sight: &Sight) -> Move {
    match sight.form() {
        Form::Empty(centre) => Move::Click("Your name", centre),
        Form::Focused => Move::Type(super::NAME.to_owned()),
        Form::Filled(centre) => Move::Click("Save", centre),
        Form::Saved => Move::Done("Saved"),
        Form::NotThere => panic!("no form is on the screenshot:\n{}", sight.text),
    }
}

/// Decides by what is seen in the spellings of other tools: looks for the form, types with a letter too many, corrects that and
/// saves with keys.
fn follow_up(sight: &Sight) -> Spelling {
    match sight.form() {
        Form::NotThere => Spelling::ScrollDown,
        Form::Empty(centre) => {
            Spelling::TypeInto("Your name", centre, format!("x{}", wanted(sight)))
        }
        Form::Filled(_) => Spelling::CorrectAndEnter,
        Form::Saved => Spelling::Done,
        Form::Focused => panic!("the field has the focus and no text:\n{}", sight.text),
    }
}

/// Returns the text that the goal of a follow-up asks for: the path of the attached file, as the request tells it, with the colour
/// of the attached image.
fn wanted(sight: &Sight) -> String {
    let text = sight.text.as_str();
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
