//! What models say, read: leniently as text, strictly as actions. Pure.
//!
//! - [`commands`]: actions and points as a model names them
//! - [`json`]: the object in a text
//! - [`keys`]: names of keys
//! - [`pyautogui`]: Python, parsed and never run
//! - [`said`]: the text in a provider's answer
//! - [`som`]: the answer to a numbered picture and its list of elements
//! - [`tool_calls`]: calls in JSON and XML within text
//! - [`validate`]: whether what a model names is there

pub mod commands;
pub mod json;
pub mod keys;
pub mod pyautogui;
pub mod said;
pub mod som;
pub mod tool_calls;
pub mod validate;
