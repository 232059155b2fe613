//! Fuzz targets. They are shared with the Planner's tests: `tests/planner/fuzz/parsers.rs`, with the request that
//! responses refer to.

#[expect(dead_code, reason = "the tests ask more of them")]
#[path = "../../tests/planner/fuzz/parsers.rs"]
mod parsers;
#[path = "../../tests/planner/request.rs"]
mod request;

/// Complete provider responses.
pub fn bodies(text: &str) {
    parsers::bodies(text);
}

/// Responses to an annotated screenshot.
pub fn numbered(text: &str) {
    parsers::numbered(text);
}

/// Python code.
pub fn pyautogui(text: &str) {
    parsers::pyautogui(text);
}

/// Answers to questions.
pub fn questions(text: &str) {
    parsers::questions(text);
}

/// Tool calls in JSON and XML.
pub fn tool_calls(text: &str) {
    parsers::tool_calls(text);
}
