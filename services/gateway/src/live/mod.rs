//! Live screens: one stream of Perception for all viewers of a desktop, and an image of fitting size for each.
//!
//! - `snapshot`: the screen at one time, and its encodings
//! - `screen`: follows a desktop
//! - `viewer`: one WebSocket
//!
//! Viewers share a stream only if they call with the same token: what a caller may see, the services decide.

mod screen;
mod snapshot;
mod viewer;

pub(crate) use screen::Screens;
pub(crate) use viewer::watch_screen;
