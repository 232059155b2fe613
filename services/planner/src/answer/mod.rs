//! What models say, read: leniently as text, strictly as actions. Pure.
//!
//! - [`commands`]: actions and points as a model names them
//! - [`pyautogui`]: Python, parsed and never run
//! - [`tool_calls`]: calls in JSON and XML within text

pub mod commands;
pub mod pyautogui;
pub mod tool_calls;
