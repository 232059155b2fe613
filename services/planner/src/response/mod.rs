//! Parses model responses: leniently as text, strictly as actions. Pure.
//!
//! - [`model_actions`]: actions and points as a model names them
//! - [`json`]: the JSON object in a text
//! - [`keys`]: key names
//! - [`parsed`]: a parsed decision, and the error of a response that is none
//! - [`pyautogui`]: Python, parsed and never run
//! - [`text`]: the text of a provider's response
//! - [`som`]: the response to an annotated screenshot and its list of elements
//! - [`tool_calls`]: tool calls in JSON and XML inside text
//! - [`validate`]: checks that what a model names exists

pub mod json;
pub mod keys;
pub mod model_actions;
pub mod parsed;
pub mod pyautogui;
pub mod som;
pub mod text;
pub mod tool_calls;
pub mod validate;

pub use parsed::{ParsedDecision, ResponseError};
