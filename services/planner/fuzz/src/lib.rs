//! The targets, which are those of the tests of the Planner: `tests/planner/fuzz/readers.rs`, with the screen that they
//! read answers on.

#[expect(dead_code, reason = "the tests ask more of them")]
#[path = "../../tests/planner/fuzz/readers.rs"]
mod readers;
#[path = "../../tests/planner/request.rs"]
mod request;
#[path = "../../tests/planner/screens.rs"]
mod screens;

/// Whole answers of providers.
pub fn bodies(text: &str) {
    readers::bodies(text);
}

/// Answers to a numbered screen.
pub fn numbered(text: &str) {
    readers::numbered(text);
}

/// Python.
pub fn pyautogui(text: &str) {
    readers::pyautogui(text);
}

/// Answers to questions.
pub fn questions(text: &str) {
    readers::questions(text);
}

/// Calls in JSON and XML.
pub fn tool_calls(text: &str) {
    readers::tool_calls(text);
}
