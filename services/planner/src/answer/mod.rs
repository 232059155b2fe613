//! What models say, read: leniently as text, strictly as actions. Pure.
//!
//! - [`json`]: the object in a text
//! - [`said`]: the text in a provider's answer
//! - [`som`]: the answer to a numbered picture and its list of elements
//! - [`validate`]: whether what a model names is there

pub mod json;
pub mod said;
pub mod som;
pub mod validate;
