//! Fuzz targets. They are shared with the Planner's tests: `tests/planner/fuzz/parsers.rs`, with the screen that
//! responses refer to.

#[expect(dead_code, reason = "the tests ask more of them")]
#[path = "../../tests/planner/fuzz/readers.rs"]
mod readers;
#[path = "../../tests/planner/request.rs"]
mod request;
#[path = "../../tests/planner/screens.rs"]
mod screens;

/// Complete provider responses.
pub fn bodies(text: &str) {
    readers::bodies(text);
}

/// Responses to an annotated screenshot.
pub fn numbered(text: &str) {
    readers::numbered(text);
}

/// Python code.
pub fn pyautogui(text: &str) {
    readers::pyautogui(text);
}

/// Answers to questions.
pub fn questions(text: &str) {
    readers::questions(text);
}

/// Tool calls in JSON and XML.
pub fn tool_calls(text: &str) {
    readers::tool_calls(text);
}
